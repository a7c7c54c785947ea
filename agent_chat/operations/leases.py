"""What claims and path locks have in common: how long, why, and who may touch a lease that somebody has."""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.errors import ChatError
from agent_chat.operations.participants import known_as
from agent_chat.records.lease import ACTIVE, EXPIRED, MAX_SECONDS, SUSPECT
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.lease import Lease, Moment
    from agent_chat.storage.channel import Channel

MAX_REASON_BYTES = 4096


class Noun(Value):
    """What is leased: the words and codes for it in messages."""

    word: str
    owner_mismatch: str
    recovery_required: str
    invalid_owner: str
    invalid_reason: str
    invalid_duration: str


CLAIM = Noun(
    word="task",
    owner_mismatch="LEASE_OWNER_MISMATCH",
    recovery_required="LEASE_RECOVERY_REQUIRED",
    invalid_owner="LEASE_INVALID_OWNER",
    invalid_reason="LEASE_INVALID_REASON",
    invalid_duration="LEASE_INVALID_DURATION",
)
PATH_LOCK = Noun(
    word="lock",
    owner_mismatch="PATH_LOCK_OWNER_MISMATCH",
    recovery_required="PATH_LOCK_RECOVERY_REQUIRED",
    invalid_owner="PATH_LOCK_INVALID_OWNER",
    invalid_reason="PATH_LOCK_INVALID_REASON",
    invalid_duration="PATH_LOCK_INVALID_DURATION",
)


class Actor(Value):
    """Who acts: the agent, the session that it acts under, and the fence that it gives, each None when absent."""

    name: str
    session: str | None = None
    fence: int | None = None


class Holding(Value):
    """What is known of a lease that somebody has; `id` names what is leased."""

    id: str
    owner: str
    lease: Lease
    since: float
    fence: int | None
    session: str | None
    previous_owner: str | None


def actor_name(noun: Noun, text: str) -> str:
    """Returns the checked name of who acts on a lease; a bad one is refused with the noun's code."""
    try:
        return names.agent_name(text)
    except ChatError as error:
        raise ChatError(noun.invalid_owner, error.message, name=text) from error


def known_actor(channel: Channel, noun: Noun, actor: Actor) -> Actor:
    """Returns who acts as the channel spells it; refuses a bad name by the noun's code, and a bad session."""
    fault = names.fault_of_session(actor.session) if actor.session is not None else None
    if fault:
        raise ChatError("SESSION_TOKEN_INVALID", f"{names.quoted(str(actor.session))} is no session: {fault}")
    return actor.replace(name=known_as(channel, channel.read_meta(), actor_name(noun, actor.name)))


def duration(noun: Noun, text: str | None, default: float) -> float:
    """Returns the seconds of a lease; refuses what is not positive, not finite or over 30 days."""
    if text is None:
        return min(default, MAX_SECONDS)
    plain = text.isascii() and "_" not in text
    try:
        seconds = float(text) if plain else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= MAX_SECONDS:
        raise ChatError(
            noun.invalid_duration,
            f"{names.quoted(text)} is no length of a lease: seconds, more than 0, at most {MAX_SECONDS:.0f}",
        )
    return int(seconds) if seconds == int(seconds) else seconds


def reason(noun: Noun, text: str) -> str:
    """Returns a checked reason: one line that says something."""
    good = bool(text.strip()) and len(text.encode("utf-8", "replace")) <= MAX_REASON_BYTES
    if not good or any(sign < " " or "\x7f" <= sign <= "\x9f" or "\ud800" <= sign <= "\udfff" for sign in text):
        raise ChatError(
            noun.invalid_reason, f"a reason is one line of text, not empty, at most {MAX_REASON_BYTES} bytes"
        )
    return text.strip()


def time_left(lease: Lease, now: Moment) -> str:
    """Returns how a lease stands, as messages say it: `4 min left`, `ran out 2 h ago`, `suspect`."""
    standing = lease.standing(now)
    left = lease.left(now)
    if standing == SUSPECT:
        return "suspect"
    if standing == EXPIRED:
        return f"ran out {timestamps.format_age(-left)} ago"
    return f"{timestamps.format_age(-(-left // 1))} left"


def require_holder(channel: Channel, noun: Noun, holding: Holding, actor: Actor, *, call: str) -> None:
    """Refuses whoever is not the holder: another agent, an old fence, or another session without the fence.

    `call` are the words of a command that shows what is leased.
    """
    what = f"{noun.word} {holding.id}"
    if not names.same(holding.owner, actor.name):
        lost = holding.previous_owner is not None and names.same(holding.previous_owner, actor.name)
        when = timestamps.format_utc(holding.since)
        how = f"was recovered from you by {holding.owner} at" if lost else f"is held by {holding.owner} since"
        raise channel.refusal(noun.owner_mismatch, f"{what} {how} {when}", call=call, owner=holding.owner)
    if actor.fence is not None and actor.fence != holding.fence:
        raise channel.refusal(
            noun.owner_mismatch,
            f"the fence of {what} is {holding.fence}, not {actor.fence}: it was granted anew"
            if holding.fence is not None
            else f"{what} has no fence to compare {actor.fence} with",
            call=call,
            owner=holding.owner,
        )
    if holding.session is not None and holding.session != actor.session and actor.fence is None:
        raise channel.refusal(
            noun.owner_mismatch,
            f"{what} was taken by {holding.owner} in another session; give its --fence to act for it",
            call=call,
            owner=holding.owner,
        )


def require_running(channel: Channel, noun: Noun, holding: Holding, now: Moment, *, call: str) -> None:
    """Refuses a lease that has run out; `call` are the words of the recovery. A suspect one runs on for its owner."""
    if holding.lease.standing(now) == EXPIRED:
        raise lapsed(channel, noun, holding, now, call=call)


def require_recoverable(channel: Channel, noun: Noun, code: str, holding: Holding, now: Moment, *, call: str) -> None:
    """Refuses to recover a lease that runs."""
    if holding.lease.standing(now) == ACTIVE:
        raise channel.refusal(
            code,
            f"{noun.word} {holding.id} is held by {holding.owner}, {time_left(holding.lease, now)}",
            call=call,
            owner=holding.owner,
        )


def lapsed(channel: Channel, noun: Noun, holding: Holding, now: Moment, *, call: str) -> ChatError:
    """Returns the refusal of a lease that only a recovery can give to somebody."""
    until = f"it was to end at {timestamps.format_utc(holding.lease.expires)}"
    how = f"{time_left(holding.lease, now)}; {until}"
    if holding.lease.standing(now) == SUSPECT:
        how = f"is suspect: more is left of it than its whole length ({until})"
    return channel.refusal(
        noun.recovery_required,
        f"the lease of {holding.owner} on {noun.word} {holding.id} {how}",
        call=call,
        owner=holding.owner,
        expires_at=timestamps.format_utc(holding.lease.expires),
    )
