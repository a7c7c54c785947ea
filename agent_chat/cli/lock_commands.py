"""The commands on path locks: lock, renew-lock, check, unlock, locks, recover and recover-pending."""

from __future__ import annotations

from agent_chat.cli.acting import actor_of, agent_text, channel_with_codes, optional_agent
from agent_chat.cli.claim_commands import settled_reply
from agent_chat.cli.command import Reply
from agent_chat.cli.locating import Locator
from agent_chat.cli.task_commands import fence_text
from agent_chat.operations import lock_views, path_locks, recovery
from agent_chat.operations.leases import time_left
from agent_chat.records import locked_path, path_lock
from agent_chat.records.shown_text import safe_line
from agent_chat.storage.journal import OF_LOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.path_locks import Locked
    from agent_chat.records.locked_path import Located
    from agent_chat.storage.channel import Channel

CODES = {"CHANNEL_INVALID": "PATH_LOCK_INVALID_CHANNEL"}


def lock_channel(request: Request) -> Channel:
    """Opens the channel of a command on path locks."""
    return channel_with_codes(request, CODES)


def _located(request: Request, channel: Channel) -> list[Located]:
    locate = Locator(request, channel)
    return [locate(text) for text in request.texts("paths")]


def _reply(channel: Channel, locked: Locked, verb: str) -> Reply:
    lock = locked.lock
    paths = safe_line(lock_views.paths_text(lock.paths))
    left = ""
    if verb != "unlocked":
        left = f": {time_left(lock.lease, channel.workspace.clock.moment())}{fence_text(lock.fence)}"
    line = f"{verb} {paths}, lock {lock.lock_id}{left} (#{locked.seq})"
    return Reply(
        data={**channel.where(), "lock": path_lock.to_json(lock), "seq": locked.seq},
        text=line,
        summary=line,
        warnings=locked.warnings,
    )


def lock(request: Request) -> Reply:
    """Locks paths."""
    channel = lock_channel(request)
    locate = Locator(request, channel)
    locked = path_locks.lock(
        channel,
        actor_of(request),
        [locate(text) for text in request.texts("paths")],
        tree_words=locate.words,
        lease_seconds=request.optional_text("lease_seconds"),
        why=request.optional_text("reason"),
    )
    reply = _reply(channel, locked, "renewed" if locked.renewed else "locked")
    odd = [text for text in request.texts("paths") if locked_path.has_glob(text) or text.startswith("~")]
    notes = tuple(f"{text}: * ? [ ~ are ordinary characters here, nothing is expanded" for text in odd)
    return reply.replace(warnings=reply.warnings + notes)


def renew(request: Request) -> Reply:
    """Makes a lock's lease run anew."""
    channel = lock_channel(request)
    seconds = request.optional_text("lease_seconds")
    target, locate = request.text("lock"), Locator(request, channel)
    return _reply(
        channel, path_locks.renew(channel, actor_of(request), target, locate, lease_seconds=seconds), "renewed"
    )


def unlock(request: Request) -> Reply:
    """Gives a lock back."""
    channel = lock_channel(request)
    target, locate = request.text("lock"), Locator(request, channel)
    return _reply(channel, path_locks.unlock(channel, actor_of(request), target, locate), "unlocked")


def recover(request: Request) -> Reply:
    """Takes over a lock whose lease ran out."""
    channel = lock_channel(request)
    target, locate = request.text("lock"), Locator(request, channel)
    seconds = request.optional_text("lease_seconds")
    taken = path_locks.recover(
        channel, actor_of(request), target, locate, request.text("reason"), lease_seconds=seconds
    )
    return _reply(channel, taken, "recovered")


def check(request: Request) -> Reply:
    """Tells whether a lock stands in the way of some paths; status 1 when one does."""
    channel = lock_channel(request)
    now = channel.workspace.clock.moment()
    checked = lock_views.check(channel, _located(request, channel), optional_agent(request))
    return Reply(
        data={**channel.where(), "conflicts": [lock_views.conflict_fields(each, now) for each in checked.locks]},
        text=lambda: "\n".join(safe_line(lock_views.conflict_text(each, now)) for each in checked.locks) or "free",
        status=1 if checked.locks else 0,
        warnings=checked.warnings,
    )


def list_all(request: Request) -> Reply:
    """Lists all locks."""
    channel = lock_channel(request)
    now = channel.workspace.clock.moment()
    checked = lock_views.every(channel)
    return Reply(
        data={**channel.where(), "locks": [lock_views.conflict_fields(each, now) for each in checked.locks]},
        text=lambda: "\n".join(safe_line(lock_views.conflict_text(each, now)) for each in checked.locks) or "no locks",
        warnings=checked.warnings,
    )


def recover_pending(request: Request) -> Reply:
    """Settles an interrupted change of locks."""
    channel = lock_channel(request)
    settled = recovery.recover_pending(
        channel,
        OF_LOCKS,
        agent_text(request),
        resolution=request.optional_text("resolve_publication"),
        keep=request.flag("keep"),
    )
    return settled_reply(channel, settled)
