"""The commands on the state of a channel: state and compact."""

from __future__ import annotations

from agent_chat.cli.acting import channel_with_codes, optional_agent
from agent_chat.cli.command import Reply
from agent_chat.cli.output import Progress
from agent_chat.errors import ChatError
from agent_chat.operations import compaction, lock_views, task_views
from agent_chat.operations.state import summarize
from agent_chat.operations.state_sources import MESSAGE
from agent_chat.operations.state_text import markdown
from agent_chat.records.shown_text import safe_text
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
    channel = channel_with_codes(request, _CODES, unread=True)
    strict, write = request.flag("strict"), request.flag("write")
    with Progress() as show:
        if write:
            act = lambda: compaction.compact(channel, audit=False, strict=strict, progress=show).state  # noqa: E731
        else:
            act = lambda: summarize(channel, strict=strict, progress=show)  # noqa: E731
        found = _in_codes(channel, act)
    return Reply(
        data={**channel.where(), **_fields(found), **({"file": STATE} if write else {})},
        text=lambda: markdown(found),
        warnings=_warnings(request, found, shown=True),
        summary=f"wrote {STATE} of {channel.name}" if write else "",
    )


def _warnings(request: Request, found: State, *, shown: bool) -> tuple[str, ...]:
    """Returns what is said beside the reply: in JSON all of it, in text what the text does not show."""
    return found.notes if shown and not request.as_json else found.warnings + found.notes


def _saved(request: Request) -> Reply:
    if request.flag("write") or request.flag("strict"):
        raise ChatError("USAGE", "--saved shows what is there; it goes with neither --write nor --strict")
    channel = channel_with_codes(request, _CODES, unread=True)
    text = _in_codes(channel, lambda: compaction.saved(channel))
    return Reply(data={**channel.where(), "file": STATE, "text": text}, text=lambda: safe_text(text))


def compact(request: Request) -> Reply:
    """Writes the state of a channel to its file and posts one message that says so."""
    channel = channel_with_codes(request, _CODES, unread=True)
    strict, audit = request.flag("strict"), not request.flag("no_audit")
    agent = optional_agent(request)
    with Progress() as show:
        written = _in_codes(
            channel, lambda: compaction.compact(channel, agent=agent, audit=audit, strict=strict, progress=show)
        )
    found = written.state
    said = f" (#{written.seq})" if written.seq is not None else ""
    line = f"wrote {STATE} of {channel.name}{said}: {_counts(found)}"
    return Reply(
        data={**channel.where(), **_fields(found), "file": STATE, "seq": written.seq},
        text=line,
        warnings=_warnings(request, found, shown=False),
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


def _in_codes(channel: Channel, act: Callable[[], Done]) -> Done:
    """Does something; what is refused, by us or by the operating system, has the codes that it is known by here."""
    try:
        return act()
    except ChatError as error:
        error.code = _CODES.get(error.code, error.code)
        raise
    except OSError as error:
        where = f": {path_of(error)}" if path_of(error) is not None else ""
        call = f"doctor {channel.name}"
        raise channel.refusal("STATE_IO_ERROR", f"{error.strerror or error}{where}", call=call) from error


# -- the JSON form -----------------------------------------------------------------------------------------------------


def _fields(found: State) -> dict[str, object]:
    """Returns the JSON form of a state; a section of which nothing could be read is null, never empty."""
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
        "owners": None if found.owners is None else {owner.name: _owner(owner, now) for owner in found.owners},
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
    if item.session:
        fields.update(session=item.session, verified=item.verified)
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
        "tasks": [_owned_task(view) for view in owner.tasks],
        "path_locks": [_owned_lock(stored, now) for stored in owner.locks],
    }


def _owned_task(view: TaskView) -> dict[str, object]:
    lease = view.claim.lease if view.claim is not None else None
    return {
        "id": view.task.id,
        "title": view.task.title,
        "status": view.task.status,
        "lease_expires_at": format_utc(lease.expires) if lease is not None else None,
        "expired": view.lapsed,
    }


def _owned_lock(stored: StoredLock, now: Moment) -> dict[str, object]:
    assert stored.lock is not None
    return {
        "lock_id": stored.id,
        "paths": [path.normalized_path for path in stored.paths],
        "expires_at": format_utc(stored.lock.lease.expires),
        "expired": stored.has_run_out(now),
    }
