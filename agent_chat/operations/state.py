"""The state of a channel: decisions, open tasks, blockers, who holds what, evidence, and what could not be read.

It is derived from the messages and records each time, and depends on nothing but those files and the moment by which
leases are judged. A source that cannot be read is named, and what would come from it is not shown as empty.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.operations.lock_records import StoredLock
from agent_chat.operations.state_sources import CHANNEL, LOCK, MESSAGE, TASK, Sources
from agent_chat.operations.task_records import Dependency, waits_text
from agent_chat.operations.task_views import TaskView
from agent_chat.operations.witness import Witness
from agent_chat.records import highlight
from agent_chat.records.lease import Moment
from agent_chat.records.task import BLOCKED, CANCELLED, DONE, FINAL
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.highlight import Highlight
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_index import Known, Progress

# What each section is made of.
SOURCES = {
    "topic": (CHANNEL,),
    "decisions": (MESSAGE, TASK),
    "open_tasks": (TASK,),
    "blockers": (MESSAGE, TASK),
    "resolved_blockers": (MESSAGE,),
    "owners": (TASK, LOCK),
    "path_locks": (LOCK,),
    "verification": (MESSAGE, TASK),
}
OF_STATUS = "task_status"
OF_DEPENDENCY = "task_dependency"


class Item(Value):
    """One decision or piece of evidence: from a message, with its number and file, or from a task, with its id.

    `created` is as the message says it, of a task when it was last changed, in POSIX seconds. `length` is how many
    characters the whole text has of which `details` may be a part. `session` is the one that a message names, or its
    connection; `verified` tells whether it comes from there.
    """

    source: str
    title: str
    author: str
    created: str | float
    details: str
    length: int
    seq: int | None = None
    file: str = ""
    task: str = ""
    status: str = ""
    session: str = ""
    verified: bool = True


class Blocker(Item):
    """What keeps work from going on: a message, the status of a task, or what a task waits for.

    `resolved_by` is the number of the reply that resolved it.
    """

    kind: str
    waiting_for: tuple[Dependency, ...] = ()
    resolved_by: int | None = None


class Owner(Value):
    """What one agent has: tasks that are not finished, and path locks."""

    name: str
    tasks: tuple[TaskView, ...]
    locks: tuple[StoredLock, ...]


class State(Value):
    """The state of a channel at a moment. `topic`, `tasks`, `owners` and `locks` are None where none could be read.

    `count` and `latest` are how many messages there are and the highest number. `tasks` are those that are not
    finished, `finished` counts the others by status. `warnings` name what was left out, `partial` the sources from
    which it was: CHANNEL, MESSAGE, TASK, LOCK. `notes` are about this call alone: caches that could not be used.
    """

    channel: str
    topic: str | None
    now: Moment
    count: int
    latest: int
    decisions: tuple[Item, ...]
    tasks: tuple[TaskView, ...] | None
    finished: dict[str, int]
    blockers: tuple[Blocker, ...]
    resolved: tuple[Blocker, ...]
    owners: tuple[Owner, ...] | None
    locks: tuple[StoredLock, ...] | None
    verification: tuple[Item, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    partial: frozenset[str] = frozenset()

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The sections from which something was left out, by their names in replies."""
        return tuple(name for name, sources in SOURCES.items() if self.partial.intersection(sources))


def summarize(
    channel: Channel,
    *,
    strict: bool = False,
    exact: bool = False,
    store: bool = True,
    progress: Progress | None = None,
) -> State:
    """Returns the state of a channel.

    A bad source is left out and named in the warnings; with `strict` it is refused: STATE_MALFORMED_SOURCE for a
    message, STATE_INVALID_RECORD for a record, STATE_IO_ERROR for what cannot be read now. `exact` and `store` are as
    in `MessageIndex.load`. Fails with OSError where the channel cannot be listed, and with CHANNEL_VERSION.
    """
    sources = Sources(channel, strict=strict)
    topic = sources.topic()
    known = sources.messages(exact=exact or strict, store=store, progress=progress)
    tasks = sources.tasks()
    locks = sources.locks()
    views = tasks or ()
    witness = Witness(channel.workspace)
    items = [(found, _of_message(file, found, witness)) for file, found in known.highlights]
    by_change = sorted(views, key=lambda view: (view.task.updated_at, view.task.id))
    decided = [view for view in by_change if highlight.titled(view.task.title)[0] == highlight.DECISION]
    verified = [view for view in by_change if view.task.status == DONE and view.task.acceptance]
    blockers = [_blocker(item, found, known) for found, item in items if highlight.BLOCKER in found.kinds]
    open_tasks = tuple(view for view in views if view.task.status not in FINAL)
    return State(
        channel=channel.name,
        topic=topic,
        now=sources.now,
        count=known.count,
        latest=known.latest,
        decisions=(*map(_of_task, decided), *(item for found, item in items if highlight.DECISION in found.kinds)),
        tasks=open_tasks if tasks is not None else None,
        finished={status: sum(view.task.status == status for view in views) for status in (DONE, CANCELLED)},
        blockers=(*(each for each in blockers if each.resolved_by is None), *_task_blockers(open_tasks)),
        resolved=tuple(each for each in blockers if each.resolved_by is not None),
        owners=_owners(open_tasks, locks or ()) if (tasks, locks) != (None, None) else None,
        locks=locks,
        verification=(
            *map(_of_task, verified),
            *(item for found, item in items if highlight.VERIFICATION in found.kinds),
        ),
        warnings=tuple(sources.warnings),
        notes=tuple(sources.notes),
        partial=frozenset(sources.partial),
    )


def _of_message(file: str, found: Highlight, witness: Witness) -> Item:
    session = found.session or found.connection
    return Item(
        source=MESSAGE,
        title=found.title,
        author=found.author,
        created=found.created,
        details=found.details,
        length=found.length,
        seq=found.seq,
        file=file,
        session=session,
        verified=not session or witness.verifies(found.author, found.session, found.connection),
    )


def _of_task(view: TaskView) -> Item:
    """Returns a task as a decision or as evidence; its details are its acceptance criteria, a line each."""
    task = view.task
    details = "".join(f"{text}\n" for text in task.acceptance)
    return Item(
        source=TASK,
        title=highlight.titled(task.title)[1],
        author=task.owner or task.created_by,
        created=task.updated_at,
        details=details,
        length=len(details),
        task=task.id,
        status=task.status,
    )


def _blocker(item: Item, found: Highlight, known: Known) -> Blocker:
    return Blocker(**item.__dict__, kind=MESSAGE, resolved_by=known.resolved.get(found.seq))


def _task_blockers(open_tasks: tuple[TaskView, ...]) -> list[Blocker]:
    """Returns the tasks that are blocked, and those that wait for others."""
    found: list[Blocker] = []
    for view in open_tasks:
        reasons = [(OF_STATUS, "its status is blocked")] if view.task.status == BLOCKED else []
        if view.waiting_for:
            reasons.append((OF_DEPENDENCY, f"waits for {waits_text(view.waiting_for)}"))
        for kind, details in reasons:
            fields = _of_task(view).replace(title=view.task.title, details=details, length=len(details)).__dict__
            waiting = view.waiting_for if kind == OF_DEPENDENCY else ()
            found.append(Blocker(**fields, kind=kind, waiting_for=waiting))
    return found


def _owners(open_tasks: tuple[TaskView, ...], locks: tuple[StoredLock, ...]) -> tuple[Owner, ...]:
    """Returns what each agent has, in order of their folded names."""
    spelled: dict[str, str] = {}
    tasks: dict[str, list[TaskView]] = {}
    held: dict[str, list[StoredLock]] = {}
    for view in open_tasks:
        if view.task.owner is not None:
            tasks.setdefault(names.fold(view.task.owner), []).append(view)
            spelled.setdefault(names.fold(view.task.owner), view.task.owner)
    for stored in locks:
        if stored.lock is not None:
            held.setdefault(names.fold(stored.owner), []).append(stored)
            spelled.setdefault(names.fold(stored.owner), stored.owner)
    return tuple(
        Owner(name=spelled[key], tasks=tuple(tasks.get(key, ())), locks=tuple(held.get(key, ())))
        for key in sorted(spelled)
    )
