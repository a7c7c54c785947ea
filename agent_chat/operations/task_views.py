"""Tasks as they are shown: whether each is ready, what it waits for, who holds it; read without a lock."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import DAMAGED, ChatError
from agent_chat.operations import task_records
from agent_chat.operations.task_records import Dependency, StoredTask
from agent_chat.operations.tasks import checked_id
from agent_chat.records import task as task_record
from agent_chat.records.claim import Claim
from agent_chat.records.lease import ACTIVE
from agent_chat.records.task import CANCELLED, FINAL, OPEN, Task
from agent_chat.records.value import Value
from agent_chat.storage.journal import CLAIMS, OF_TASKS
from agent_chat.storage.record_store import RecordStore, Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.lease import Moment
    from agent_chat.storage.channel import Channel


class TaskView(Value):
    """A task as it is shown: whether it can be claimed, what it waits for, its claim, and a warning about that.

    `pending` tells that a pending change is about it: it counts as held. `lapsed` tells that its lease ran out or is
    suspect, so that it has to be recovered rather than claimed.
    """

    task: Task
    ready: bool
    waiting_for: tuple[Dependency, ...]
    claim: Claim | None = None
    pending: bool = False
    lapsed: bool = False
    fault: str = ""


def show(channel: Channel, task_id: str, now: Moment) -> tuple[TaskView, tuple[str, ...]]:
    """Returns one task as it is shown, and warnings."""
    records = RecordStore(channel, OF_TASKS)
    checked_id(task_id)
    stored = task_records.load_task(records, task_id)
    view = _view(records, stored, now, None, None)
    return view, records.warnings() + ((view.fault,) if view.fault else ())


class Listed(Value):
    """All tasks as they are shown, in order of their ids, and what is told beside them."""

    views: tuple[TaskView, ...]
    told: Told


def every(channel: Channel, now: Moment) -> Listed:
    """Returns all tasks as they are shown."""
    records = RecordStore(channel, OF_TASKS)
    stored, warnings = task_records.every_task(records)
    known = {names.fold(each.task.id): each.task.status for each in stored}
    for damaged in warnings:
        known.setdefault(damaged, "damaged")
    claims: dict[str, list[str]] = {}
    for name in records.names(CLAIMS):
        end = name.find(".")
        while 0 < end < len(name) - len(task_records.END):
            claims.setdefault(names.fold(name[:end]), []).append(name)
            end = name.find(".", end + 1)
    views = [_view(records, each, now, known, claims.get(names.fold(each.task.id), [])) for each in stored]
    faults = dict.fromkeys((*warnings.values(), *(view.fault for view in views if view.fault)))
    return Listed(views=tuple(views), told=records.told(faults))


def _view(
    records: RecordStore, stored: StoredTask, now: Moment, known: dict[str, str] | None, listed: list[str] | None
) -> TaskView:
    """Returns a task as it is shown; where it and its claims do not fit, it may have changed since it was read."""
    while True:
        view, fits = _looked_at(records, stored, now, known, listed)
        data = None if fits else records.read(stored.place)
        if data is None or data == stored.data:
            return view
        try:
            stored, listed = task_records.parse_task(records, stored.place, data), None
        except ChatError as error:
            if error.kind != DAMAGED:
                raise
            return view.replace(ready=False, fault=f"{error.code}: {error.message}")


def _looked_at(
    records: RecordStore, stored: StoredTask, now: Moment, known: dict[str, str] | None, listed: list[str] | None
) -> tuple[TaskView, bool]:
    """Returns a task as it is shown, and whether its claim, by a file of its own, is the one that it tells of."""
    task = stored.task
    waits = task_records.waiting_for(records, task, known)
    pending = records.concerns(stored.place)
    claim, fault, fits = None, "", True
    try:
        found = task_records.the_claim(records, task, listed)
        claim = found.claim if found is not None else None
        fits = found is None or found.data is not None
    except ChatError as error:
        if error.code not in task_records.DAMAGED_CLAIM:
            raise
        fault, fits = f"{error.code}: {error.message}", False
    ready = not (waits or pending or fault) and task.status not in (*FINAL, task_record.BLOCKED)
    lapsed = claim is not None and claim.lease.standing(now) != ACTIVE
    ready = ready and (task.status == OPEN if claim is None else lapsed)
    return TaskView(
        task=task, ready=ready, waiting_for=tuple(waits), claim=claim, pending=pending, lapsed=lapsed, fault=fault
    ), fits


def is_open_to(view: TaskView, agent: str) -> bool:
    """Tells whether a ready task is for an agent: it is assigned to nobody else, or its lease ran out."""
    return view.lapsed or view.task.owner is None or names.same(view.task.owner, agent)


def can_end(view: TaskView) -> bool:
    """Tells whether a wait for a task ends: it is done, cancelled, or ready to be claimed (or recovered)."""
    return view.task.status in FINAL or view.ready


def require_end(channel: Channel, view: TaskView) -> None:
    """Refuses to wait for a task that cannot become ready as it is: what it waits for was cancelled or is missing."""
    never = [each for each in view.waiting_for if each.status in (CANCELLED, "missing")]
    if never and view.task.status == OPEN:
        raise channel.refusal(
            "TASK_DEPENDENCY_NOT_READY",
            f"task {view.task.id} waits for {task_records.waits_text(never)}, which will not be done",
            call=f"task show {channel.name} {view.task.id}",
            waiting_for=[{"id": each.id, "status": each.status} for each in never],
        )


def standing(view: TaskView, lease: str) -> str:
    """Returns how a task stands, in words: id, status, owner, `lease` as its caller tells it, and what is special."""
    task = view.task
    pending = "held by a pending change" if view.pending else ""
    return ", ".join(filter(None, (f"{task.id} {task.status}", task.owner, lease, "ready" * view.ready, pending)))


def readiness(view: TaskView) -> dict[str, object]:
    """Returns how a task stands, as replies show it beside the record."""
    return {
        "ready": view.ready,
        "waiting_for": [{"id": each.id, "status": each.status} for each in view.waiting_for],
        **({"pending": True} if view.pending else {}),
        **({"expired": True} if view.lapsed else {}),
    }


def listed_fields(view: TaskView) -> dict[str, object]:
    """Returns a task as lists have it: its record, and how it stands."""
    return {**task_record.to_json(view.task), **readiness(view)}
