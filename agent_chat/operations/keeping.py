"""Which messages retention removes, and why others stay though they are due.

`plan_prune` is the rule, a pure function of what messages, cursors and records say; `load_grounds` reads what it needs
besides the messages. Replies never keep what they answer: a tombstone is enough to reply to.
"""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.errors import DAMAGED, ChatError
from agent_chat.operations import lock_records, markers, task_records
from agent_chat.operations.late import arrivals, is_for
from agent_chat.records.value import Value
from agent_chat.storage.journal import CLAIMS, OF_LOCKS, OF_TASKS
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_chat.records.message import Message
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.message_store import Stored

DAY_SECONDS = 86_400
# Unread messages of who was seen within the term stay for so many terms.
UNREAD_TERMS = 2


class Term(Value):
    """How long messages are kept, and the instant at which that is asked."""

    days: int
    now: float

    @property
    def seconds(self) -> int:
        """The term in seconds."""
        return self.days * DAY_SECONDS

    def is_over(self, at: float, terms: int = 1) -> bool:
        """Tells whether something of an instant is older than so many terms; of the future nothing is."""
        return self.now - at > terms * self.seconds


class Aged(Value):
    """A message that is due, when it was sent, and how many files carry its number."""

    stored: Stored
    at: float
    beside: int = 1


class Reader(Value):
    """Who takes part and was seen within the term; `cursor` is the number up to which it has read."""

    name: str
    cursor: int


class Grounds(Value):
    """What keeps messages.

    `fences` has the reason by the number of an audit message, `audits` by its title, `late` by a file that some reader
    has still to get under a new number, and `damaged` by how the status begins of audit messages that a record may
    refer to which cannot be read.
    """

    readers: tuple[Reader, ...] = ()
    fences: Mapping[int, str]
    audits: Mapping[str, str]
    late: Mapping[str, str]
    damaged: Mapping[str, str]


class Kept(Value):
    """A message that is due and stays, and why."""

    seq: int
    reason: str


class Plan(Value):
    """What goes and what stays."""

    goes: tuple[Stored, ...]
    kept: tuple[Kept, ...]


def plan_prune(due: Iterable[Aged], term: Term, grounds: Grounds, *, limit: int | None = None) -> Plan:
    """Returns which of the messages that are due go, at most `limit` of them, and which before those stay and why."""
    goes: list[Stored] = []
    kept: list[Kept] = []
    for aged in due:
        reason = _reason(aged, term, grounds)
        if reason:
            kept.append(Kept(seq=aged.stored.message.seq, reason=reason))
        else:
            goes.append(aged.stored)
        if len(goes) == limit:
            break
    return Plan(goes=tuple(goes), kept=tuple(kept))


def _reason(aged: Aged, term: Term, grounds: Grounds) -> str:
    """Returns why a message that is due stays, "" where it goes."""
    message = aged.stored.message
    if aged.beside > 1:
        return f"several files under #{message.seq}"
    if aged.stored.file in grounds.late:
        return grounds.late[aged.stored.file]
    if message.is_audit:
        return _reason_of_audit(message, grounds)
    # The place for open questions, once there is a command that asks them.
    if term.is_over(aged.at, UNREAD_TERMS):
        return ""
    readers = [each.name for each in grounds.readers if message.seq > each.cursor and message.is_for(each.name)]
    return f"unread by {', '.join(readers)}" if readers else ""


def _reason_of_audit(message: Message, grounds: Grounds) -> str:
    if message.seq in grounds.fences:
        return grounds.fences[message.seq]
    if message.status == markers.STATUS and message.title in grounds.audits:
        return grounds.audits[message.title]
    return next((why for start, why in grounds.damaged.items() if message.status.startswith(start)), "")


def load_grounds(channel: Channel, numbers: Numbers, term: Term) -> Grounds:
    """Returns what keeps messages of a channel, whose listing is `numbers`.

    Fails with OSError, or the code of a journal, where something cannot be looked at: then nothing may go.
    """
    late: dict[str, str] = {}
    cursors: dict[str, int] = {}
    for name, cursor in channel.cursors.every().items():
        found = arrivals(channel, is_for(name), cursor, numbers)
        if found.error is not None:
            raise found.error
        late.update((file, f"late for {name}") for file in (*found.files, *found.unsettled))
        late.update((file, f"late for {name}") for file in (cursor.late if cursor is not None else ()))
        # Where nobody can tell what came below a cursor, all may have.
        cursors[names.fold(name)] = 0 if cursor is None or found.unnamed else cursor.seq
    readers: list[Reader] = []
    seen_at = {folded: seen.at for folded, seen in channel.seen.every().items()}
    for name in channel.meta.members + channel.meta.humans:
        # Where nothing tells when somebody was seen, since the cache was deleted, what it posted does.
        if names.fold(name) not in seen_at:
            seen_at[names.fold(name)] = _posted_at(channel, numbers, name)
    for folded, at in sorted(seen_at.items()):
        if not term.is_over(at):
            spelled = channel.meta.spelled(folded) or folded
            readers.append(Reader(name=spelled, cursor=cursors.get(folded, 0)))
    fences, damaged = _fences(channel)
    return Grounds(
        readers=tuple(readers),
        fences=fences,
        audits={
            f"{markers.STATUS} {markers.task_of(claimed[0])}": f"audit message of {name}"
            for name in numbers.odd
            for claimed in (markers.parse_claimed(name),)
            if claimed is not None
        },
        late=late,
        damaged=damaged,
    )


def _posted_at(channel: Channel, numbers: Numbers, name: str) -> float:
    """Returns when somebody last posted, as the message says, 0 where that cannot be told."""
    start = names.fold(name) + "-"
    for seq, files in numbers.before(numbers.highest + 1):
        own = [file for file in files if names.fold(file.partition("-")[2]).startswith(start)]
        for stored in channel.messages.stored(seq, own) if own else ():
            if names.same(stored.message.sender, name):
                try:
                    return timestamps.parse(stored.message.created)
                except timestamps.TimestampError:
                    continue
    return 0.0


def _fences(channel: Channel) -> tuple[dict[int, str], dict[str, str]]:
    """Returns the numbers that claims and path locks have as their fences, and what damaged records keep."""
    fences: dict[int, str] = {}
    damaged: dict[str, str] = {}
    claims = RecordStore(channel, OF_TASKS)
    for name in claims.names(CLAIMS):
        place = f"{CLAIMS}/{name}"
        try:
            data = claims.read(place)
            claim = None if data is None else task_records.parse_claim(claims, place, data).claim
        except ChatError as error:
            if error.kind != DAMAGED:
                raise
            damaged["lease."] = f"{place} is damaged"
            continue
        if claim is not None and claim.fence is not None:
            fences[claim.fence] = f"fence of task {claim.task_id}"
    for stored in lock_records.every_lock(RecordStore(channel, OF_LOCKS)):
        if stored.lock is None:
            damaged["path."] = f"{stored.place} is damaged"
        elif stored.lock.fence is not None:
            fences[stored.lock.fence] = f"fence of path lock {stored.id}"
    return fences, damaged
