"""The state of a channel as Markdown: what `state` prints and `state.md` holds.

Each line that begins at the left edge is ours: a heading, an item, or the remark that something is left out. What
others wrote stands within a line, or quoted below one, so that no title and no body can pass for a heading or an item.
"""

from __future__ import annotations

from agent_chat.operations.lock_views import paths_text
from agent_chat.operations.state import SOURCES
from agent_chat.operations.state_sources import LOCK, MESSAGE, TASK
from agent_chat.operations.task_records import waits_text
from agent_chat.operations.task_views import standing
from agent_chat.records.lease import EXPIRED, SUSPECT
from agent_chat.records.shown_text import inline, quoted
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.operations.lock_records import StoredLock
    from agent_chat.operations.state import Blocker, Item, Owner, State
    from agent_chat.operations.task_views import TaskView
    from agent_chat.records.lease import Lease, Moment

# Of what a message says, and of what is over, a summary shows so much; it says what it leaves out.
QUOTED_LINES = 8
QUOTED_CHARACTERS = 600
LATEST = 10
DETAILED = 30


def markdown(state: State) -> str:
    """Returns the state of a channel as text; for one state and moment always the same."""
    lines = [
        f"# State of {state.channel}",
        f"As of {format_utc(state.now.wall)}; {state.count} messages, the last is #{state.latest}.",
    ]
    lines += ["", "## Topic", *_topic(state.topic)]
    partial = _remarks(state)
    decisions = _groups(state.decisions)
    lines += _section("Decisions", (item for group in decisions for item in _decisions(group)), partial["decisions"])
    older = sum(max(len(group) - DETAILED, 0) for group in decisions)
    lines += _remark(f"Not shown: what the first {older} say.") if older else ()
    lines += _section("Open tasks", ([_task(view, state.now)] for view in state.tasks or ()), partial["open_tasks"])
    finished = [f"{count} {status}" for status, count in state.finished.items() if count]
    lines += _remark(f"Not shown: {', '.join(finished)}.") if finished else ()
    lines += _section("Blockers", (_blocker(each) for each in state.blockers), partial["blockers"])
    if state.resolved:
        lines += _latest("Resolved blockers", [[[_resolved(each)] for each in state.resolved]])
    lines += _section(
        "Owners and leases", ([_owner(each, state.now)] for each in state.owners or ()), partial["owners"]
    )
    lines += _section("Path locks", ([_lock(each, state.now)] for each in state.locks or ()), partial["path_locks"])
    groups = [[_item(item) for item in group] for group in _groups(state.verification)]
    lines += _latest("Verification", groups, partial["verification"])
    if state.warnings:
        lines += _section("Warnings", ([f"- {inline(text)}"] for text in state.warnings))
    return "\n".join(lines) + "\n"


def _remarks(state: State) -> dict[str, str]:
    """Returns, by the name of a section, the remark that it is not whole, "" where it is."""
    unread = {TASK: "the tasks", LOCK: "the path locks"}
    if state.tasks is not None:
        del unread[TASK]
    if state.locks is not None:
        del unread[LOCK]
    remarks = dict.fromkeys(SOURCES, "")
    for name in state.incomplete:
        gone = [what for source, what in unread.items() if source in SOURCES[name]]
        remarks[name] = f"incomplete: {' and '.join(gone)} cannot be read" if gone else "incomplete: see the warnings"
    return remarks


def _groups(items: tuple[Item, ...]) -> tuple[list[Item], list[Item]]:
    """Returns those of tasks and those of messages: each has an order of its own, the latest last."""
    return [item for item in items if item.source != MESSAGE], [item for item in items if item.source == MESSAGE]


def _topic(topic: str | None) -> list[str]:
    if topic is None:
        return ["not known: _meta.json cannot be read"]
    return quoted(topic, most_lines=len(topic) + 1, most_characters=len(topic))[0] or ["none"]


def _section(title: str, items: Iterator[list[str]], missing: str = "") -> Iterator[str]:
    """Yields a section; one that has nothing says so, and one that is not whole says why."""
    yield ""
    yield f"## {title}"
    empty = True
    for item in items:
        empty = False
        yield from item
    if missing:
        yield from _remark(missing) if not empty else (missing,)
    elif empty:
        yield "none"


def _remark(text: str) -> tuple[str, str]:
    """Returns a remark below items; without the empty line Markdown would take it for a part of the last one."""
    return "", text


def _latest(title: str, groups: list[list[list[str]]], missing: str = "") -> Iterator[str]:
    """Yields a section of which only the latest items of each group are shown."""
    yield from _section(title, (item for group in groups for item in group[-LATEST:]), missing)
    left_out = sum(max(len(group) - LATEST, 0) for group in groups)
    if left_out:
        yield from _remark(f"Not shown: {left_out} earlier.")


def _decisions(decisions: list[Item]) -> Iterator[list[str]]:
    """Yields all decisions; of the older ones only the line that names each."""
    older = len(decisions) - DETAILED
    for place, item in enumerate(decisions):
        yield _item(item) if place >= older else [_line(item)]


def _item(item: Item) -> list[str]:
    """Returns a decision or evidence: one line, then what it says, as far as there is room."""
    lines, is_cut = quoted(item.details, most_lines=QUOTED_LINES, most_characters=QUOTED_CHARACTERS)
    is_cut = is_cut or item.length > len(item.details)
    return [_line(item, f"; the beginning of {item.length} characters" if is_cut else ""), *(f"  {q}" for q in lines)]


def _line(item: Item, cut: str = "") -> str:
    title = inline(item.title) or "(no title)"
    if item.source == MESSAGE:
        created = f", {inline(item.created)}" if isinstance(item.created, str) and item.created else ""
        return f"- #{item.seq} {title} ({_author(item)}{created}{cut})"
    return f"- {item.task} {item.status} ({item.author}{cut}): {title}"


def _author(item: Item) -> str:
    return item.author if item.verified else f"{item.author} of the unverified session {inline(item.session)}"


def _blocker(each: Blocker) -> list[str]:
    if each.source != MESSAGE:
        return [f"- {each.task} {inline(each.details)}: {inline(each.title)}"]
    return _item(each)


def _resolved(each: Blocker) -> str:
    return f"- #{each.seq} {inline(each.title)} ({_author(each)}), by #{each.resolved_by}"


def _task(view: TaskView, now: Moment) -> str:
    """Returns an open task: id, status, owner, lease, what it waits for, and what it is about."""
    said = standing(view, _until(view.claim.lease, now) if view.claim is not None else "")
    waits = f", waits for {waits_text(view.waiting_for)}" if view.waiting_for else ""
    return f"- {inline(said + waits)}: {inline(view.task.title)}"


def _until(lease: Lease, now: Moment) -> str:
    """Returns until when a lease runs; how it stands at the moment of the state, not how long from now."""
    end = format_utc(lease.expires)
    return {EXPIRED: f"expired {end}", SUSPECT: f"suspect, until {end}"}.get(lease.standing(now), f"until {end}")


def _owner(owner: Owner, now: Moment) -> str:
    held = [_leased(f"task {view.task.id}", view.claim.lease if view.claim else None, now) for view in owner.tasks]
    held += [_leased(f"lock {lock.id}", lock.lock.lease if lock.lock else None, now) for lock in owner.locks]
    return f"- {owner.name}: {'; '.join(held)}"


def _leased(what: str, lease: Lease | None, now: Moment) -> str:
    return f"{what} ({_until(lease, now)})" if lease is not None else what


def _lock(stored: StoredLock, now: Moment) -> str:
    paths = inline(paths_text(stored.paths)) or "?"
    if stored.lock is None:
        return f"- damaged lock {inline(stored.id)}: {paths}"
    why = f" ({inline(stored.lock.reason)})" if stored.lock.reason else ""
    pending = ", in a pending change" if stored.pending else ""
    return f"- {stored.owner}: {paths}{why}, lock {stored.id}, {_until(stored.lock.lease, now)}{pending}"
