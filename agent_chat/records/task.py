"""A task: a piece of work, what it depends on, and whose it is."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import json_codec
from agent_chat.records.record_fields import INVALID, SCHEMA_VERSION, RecordError, RecordFields, instant_text
from agent_chat.records.value import Value

OPEN = "open"
IN_PROGRESS = "in_progress"
BLOCKED = "blocked"
DONE = "done"
CANCELLED = "cancelled"
STATUSES = (OPEN, IN_PROGRESS, BLOCKED, DONE, CANCELLED)
FINAL = (DONE, CANCELLED)
TRANSITIONS: dict[str, tuple[str, ...]] = {
    OPEN: (IN_PROGRESS, BLOCKED, CANCELLED),
    IN_PROGRESS: (OPEN, BLOCKED, DONE, CANCELLED),
    BLOCKED: (OPEN, IN_PROGRESS, CANCELLED),
    DONE: (),
    CANCELLED: (),
}
NEEDS_DEPENDENCIES = (IN_PROGRESS, DONE)

_REQUIRED = (
    "id",
    "channel",
    "title",
    "status",
    "owner",
    "created_by",
    "depends_on",
    "files_hint",
    "acceptance",
    "lease_expires_at",
    "branch",
    "updated_at",
)


class Task(Value):
    """One task; times are POSIX seconds."""

    id: str
    channel: str
    title: str
    created_by: str
    updated_at: float
    status: str = OPEN
    owner: str | None = None
    depends_on: tuple[str, ...] = ()
    files_hint: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    lease_expires_at: float | None = None
    branch: str | None = None


def parse(data: bytes) -> Task:
    """Returns the task that a file's bytes hold; fails with RecordError."""
    fields = RecordFields(data, "the task", required=_REQUIRED, added=())
    task = Task(
        id=fields.text("id"),
        channel=fields.text("channel"),
        title=fields.text("title"),
        status=fields.text("status"),
        owner=fields.optional_agent("owner"),
        created_by=fields.agent("created_by"),
        depends_on=fields.texts("depends_on"),
        files_hint=fields.texts("files_hint"),
        acceptance=fields.texts("acceptance"),
        lease_expires_at=fields.optional_instant("lease_expires_at"),
        branch=fields.optional_text("branch"),
        updated_at=fields.instant("updated_at"),
    )
    if task.status not in STATUSES:
        raise RecordError(INVALID, f"unknown status {names.quoted(task.status)}")
    for each in (task.id, *task.depends_on):
        fault = names.fault_of_task_id(each)
        if fault:
            raise RecordError(INVALID, f"{names.quoted(each)} is no task id: {fault}")
    return task


def to_json(task: Task) -> dict[str, object]:
    """Returns the fields of a task's record, in their order."""
    return {
        "schema_version": SCHEMA_VERSION,
        "id": task.id,
        "channel": task.channel,
        "title": task.title,
        "status": task.status,
        "owner": task.owner,
        "created_by": task.created_by,
        "depends_on": list(task.depends_on),
        "files_hint": list(task.files_hint),
        "acceptance": list(task.acceptance),
        "lease_expires_at": instant_text(task.lease_expires_at),
        "branch": task.branch,
        "updated_at": instant_text(task.updated_at),
    }


def render(task: Task) -> bytes:
    """Returns the bytes of a task's file."""
    return json_codec.canonical(to_json(task))
