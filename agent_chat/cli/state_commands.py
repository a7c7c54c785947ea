"""The commands on the state of a channel: state and compact."""

from __future__ import annotations

from agent_chat.cli.acting import optional_agent
from agent_chat.cli.command import Reply
from agent_chat.cli.output import terminal_progress
from agent_chat.errors import ChatError
from agent_chat.operations import compaction, lock_views, task_views
from agent_chat.operations.state import MESSAGE, summarize
from agent_chat.operations.state_text import markdown
from agent_chat.records.lease import EXPIRED
from agent_chat.records.shown_text import safe_block
from agent_chat.storage.channel import open_channel_unread
from agent_chat.storage.filesystem import path_of
from agent_chat.storage.layout import STATE
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    from agent_chat.cli.command import Request
    from agent_chat.operations.lock_records import StoredLock
    from agent_chat.operations.state import Blocker, Item, Owner, State
    from agent_chat.operations.task_views import TaskView
    from agent_chat.records.lease import Moment
    from agent_chat.storage.channel import Channel

    Done = TypeVar("Done")

SCHEMA_VERSION = 1
_CODES = {"CHANNEL_INVALID": "STATE_INVALID_CHANNEL", "CHANNEL_NOT_FOUND": "STATE_CHANNEL_NOT_FOUND"}


def state(request: Request) -> Reply:
    """Shows the state of a channel, and writes it where that is asked for."""
    if request.flag("saved"):
        return _saved(request)
    channel = _channel(request)
    strict, progress = request.flag("strict"), terminal_progress()
    if request.flag("write"):
        written = _in_codes(channel, lambda: compaction.compact(channel, audit=False, strict=strict, progress=progress))
        reply = _shown(channel, written.state, progress)
        return reply.replace(data={**reply.data, "file": STATE}, summary=f"wrote {STATE} of {channel.name}")
    return _shown(channel, _in_codes(channel, lambda: summarize(channel, strict=strict, progress=progress)), progress)


def _shown(channel: Channel, found: State, progress: Callable[[str, int, int], None] | None) -> Reply:
    if progress is not None:
        progress("", 0, 0)
    return Reply(data={**channel.where(), **_fields(found)}, text=lambda: markdown(found))


def _saved(request: Request) -> Reply:
    if request.flag("write") or request.flag("strict"):
        raise ChatError("USAGE", "--saved shows what is there; it goes with neither --write nor --strict")
    channel = _channel(request)
    text = _in_codes(channel, lambda: compaction.saved(channel))
    return Reply(data={**channel.where(), "file": STATE, "text": text}, text=lambda: _as_text(text))


def _as_text(text: str) -> str:
    """Returns what is in a file that anybody may have written, fit for a terminal."""
    block = safe_block(text)
    return "\n".join(line[2:] for line in block.split("\n"))


def compact(request: Request) -> Reply:
    """Writes the state of a channel to its file and posts one message that says so."""
    channel = _channel(request)
    progress = terminal_progress()
    written = _in_codes(
        channel,
        lambda: compaction.compact(
            channel,
            agent=optional_agent(request),
            audit=not request.flag("no_audit"),
            strict=request.flag("strict"),
            progress=progress,
        ),
    )
    found = written.state
    if progress is not None:
        progress("", 0, 0)
    said = f" (#{written.seq})" if written.seq is not None else ""
    line = f"wrote {STATE} of {channel.name}{said}: {_counts(found)}"
    return Reply(
        data={**channel.where(), **_fields(found), "file": STATE, "seq": written.seq},
        text=line,
        warnings=found.warnings,
        summary=line,
    )


def _counts(found: State) -> str:
    """Returns how much of each there is, in words."""
    counts = (
        (len(found.decisions), "decision"),
        (None if found.tasks is None else len(found.tasks), "open task"),
        (len(found.blockers), "blocker"),
        (None if found.locks is None else len(found.locks), "path lock"),
    )
    return ", ".join(f"{'?' if count is None else count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)


def _channel(request: Request) -> Channel:
    """Opens the channel; that its record is damaged keeps nobody from seeing the rest."""
    try:
        return open_channel_unread(request.workspace, request.text("channel"))
    except ChatError as error:
        error.code = _CODES.get(error.code, error.code)
        raise


def _in_codes(channel: Channel, act: Callable[[], Done]) -> Done:
    """Does something, and tells what the operating system refused by the code that it has here."""
    try:
        return act()
    except OSError as error:
        where = f": {path_of(error)}" if path_of(error) is not None else ""
        call = f"doctor {channel.name}"
        raise channel.refusal("STATE_IO_ERROR", f"{error.strerror or error}{where}", call=call) from error


# -- the JSON form -----------------------------------------------------------------------------------------------------


def _fields(found: State) -> dict[str, object]:
    """Returns the JSON form of a state; what could not be read is null, never an empty list."""
    now = found.now
    return {
        "schema_version": SCHEMA_VERSION,
        "topic": found.topic,
        "as_of": format_utc(now.wall),
        "messages": found.count,
        "latest_seq": found.latest,
        "decisions": [_item(item) for item in found.decisions],
        "open_tasks": None if found.tasks is None else [task_views.listed_fields(view) for view in found.tasks],
        "finished_tasks": None if found.tasks is None else found.finished,
        "blockers": [_blocker(each) for each in found.blockers],
        "resolved_blockers": [_blocker(each) for each in found.resolved],
        "owners": {owner.name: _owner(owner, now) for owner in found.owners},
        "path_locks": None if found.locks is None else [lock_views.conflict_fields(each, now) for each in found.locks],
        "verification": [_item(item) for item in found.verification],
        "incomplete": list(found.incomplete),
        "warnings": list(found.warnings),
    }


def _item(item: Item) -> dict[str, object]:
    """Returns a decision or evidence; a text that is not whole says so."""
    fields: dict[str, object] = {"source": item.source}
    if item.source == MESSAGE:
        fields.update(seq=item.seq, file=item.file)
    else:
        fields.update(task=item.task, status=item.status)
    created = item.created if isinstance(item.created, str) else format_utc(item.created)
    fields.update(title=item.title, author=item.author, created=created, details=item.details)
    if item.length > len(item.details):
        fields.update(cut=True, length=item.length)
    return fields


def _blocker(each: Blocker) -> dict[str, object]:
    fields = {"kind": each.kind, **_item(each)}
    if each.waiting_for:
        fields["waiting_for"] = [{"id": below.id, "status": below.status} for below in each.waiting_for]
    if each.resolved_by is not None:
        fields["resolved_by"] = each.resolved_by
    return fields


def _owner(owner: Owner, now: Moment) -> dict[str, object]:
    """Returns what one agent has."""
    return {
        "tasks": [_owned_task(view, now) for view in owner.tasks],
        "path_locks": [_owned_lock(stored, now) for stored in owner.locks],
    }


def _owned_task(view: TaskView, now: Moment) -> dict[str, object]:
    lease = view.claim.lease if view.claim is not None else None
    return {
        "id": view.task.id,
        "title": view.task.title,
        "status": view.task.status,
        "lease_expires_at": format_utc(lease.expires) if lease is not None else None,
        "expired": lease is not None and lease.standing(now) == EXPIRED,
    }


def _owned_lock(stored: StoredLock, now: Moment) -> dict[str, object]:
    assert stored.lock is not None
    return {
        "lock_id": stored.id,
        "paths": [path.normalized_path for path in stored.paths],
        "expires_at": format_utc(stored.lock.lease.expires),
        "expired": stored.has_run_out(now),
    }
