"""The commands on tasks: create, list, ready, show and update."""

from __future__ import annotations

from agent_chat import names
from agent_chat.cli.acting import agent_text, channel_with_codes, optional_agent
from agent_chat.cli.command import Reply
from agent_chat.operations import task_views, tasks
from agent_chat.operations.leases import time_left
from agent_chat.operations.task_records import waits_text
from agent_chat.operations.task_views import TaskView
from agent_chat.operations.tasks import TaskChanges
from agent_chat.records import claim as claim_record
from agent_chat.records import task as task_record
from agent_chat.records.shown_text import safe_line
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.tasks import Changed
    from agent_chat.records.lease import Moment
    from agent_chat.storage.channel import Channel

CODES = {"CHANNEL_INVALID": "TASK_INVALID_CHANNEL", "CHANNEL_NOT_FOUND": "TASK_CHANNEL_NOT_FOUND"}


def task_channel(request: Request) -> Channel:
    """Opens the channel of a command on tasks."""
    return channel_with_codes(request, CODES)


def changed_reply(channel: Channel, changed: Changed, line: str, *, claim: bool = False) -> Reply:
    """Returns the reply to a change: the record after it, the claim where it is asked for, and the message's number."""
    data: dict[str, object] = {**channel.where(), "task": task_record.to_json(changed.task)}
    if claim and changed.claim is not None:
        data["claim"] = claim_record.to_json(changed.claim)
    data["seq"] = changed.seq
    said = f"{line} (#{changed.seq})" if changed.seq is not None else line
    return Reply(data=data, text=said, summary=said if changed.seq is not None else "")


def fence_text(fence: int | None) -> str:
    """Returns a lease's fence as lines end with it; another program grants leases without."""
    return f", fence {fence}" if fence is not None else ""


def create(request: Request) -> Reply:
    """Makes a task."""
    channel = task_channel(request)
    changed = tasks.create(channel, agent_text(request), request.text("task"), _changes(request))
    return changed_reply(channel, changed, f"created {changed.task.id}")


def update(request: Request) -> Reply:
    """Changes fields of a task."""
    channel = task_channel(request)
    clear = tuple(field for field in ("owner", "branch") if request.flag(f"clear_{field}"))
    changes = _changes(request).replace(status=request.optional_text("status"), clear=clear)
    changed = tasks.update(channel, agent_text(request), request.text("task"), changes)
    line = f"updated {changed.task.id}" if changed.seq is not None else f"{changed.task.id} is so already"
    return changed_reply(channel, changed, line)


def _changes(request: Request) -> TaskChanges:
    """Returns the fields that a request sets."""
    return TaskChanges(
        title=request.optional_text("title"),
        owner=request.optional_text("owner"),
        depends_on=_list(request, "depends_on"),
        files_hint=_list(request, "files_hint"),
        acceptance=_list(request, "acceptance"),
        branch=request.optional_text("branch"),
    )


def _list(request: Request, name: str) -> tuple[str, ...] | None:
    """Returns the items of a list option, None where it was not given; `--depends-on ""` is an empty list.

    An acceptance criterion is prose: only a comma with no space after it separates two.
    """
    if name not in request.given:
        return None
    items: list[str] = []
    for text in request.texts(name):
        parts = text.split(",")
        if name == "acceptance":
            joined: list[str] = []
            for part in parts:
                if joined and (part[:1].isspace() or not part):
                    joined[-1] += "," + part
                else:
                    joined.append(part)
            parts = joined
        items += [part.strip() for part in parts if part.strip()]
    return tuple(items)


def list_all(request: Request) -> Reply:
    """Lists all tasks."""
    channel = task_channel(request)
    now = channel.workspace.clock.moment()
    found = task_views.every(channel, now)
    return _listed(channel, now, found.views, found.told.warnings, nothing="no tasks")


def ready(request: Request) -> Reply:
    """Lists the tasks that can be claimed now, by the agent that asks where it is known."""
    channel = task_channel(request)
    now = channel.workspace.clock.moment()
    found = task_views.every(channel, now)
    named = optional_agent(request)
    agent = names.agent_name(named) if named is not None else None
    views = tuple(view for view in found.views if view.ready and (agent is None or task_views.is_open_to(view, agent)))
    return _listed(channel, now, views, found.told.warnings, nothing="nothing is ready")


def _listed(
    channel: Channel, now: Moment, views: tuple[TaskView, ...], warnings: tuple[str, ...], *, nothing: str
) -> Reply:
    return Reply(
        data={**channel.where(), "tasks": [task_views.listed_fields(view) for view in views]},
        text=lambda: "\n".join(_line(view, now) for view in views) or nothing,
        warnings=warnings,
    )


def _line(view: TaskView, now: Moment) -> str:
    task = view.task
    lease = time_left(view.claim.lease, now) if view.claim is not None else ""
    line = f"{task_views.standing(view, lease)}: {safe_line(task.title)}"
    if view.waiting_for and task.status not in task_record.FINAL:
        line += f" | waits for {waits_text(view.waiting_for)}"
    return line


def show(request: Request) -> Reply:
    """Shows one task."""
    channel = task_channel(request)
    now = channel.workspace.clock.moment()
    view, warnings = task_views.show(channel, request.text("task"), now)
    return Reply(data={**channel.where(), **shown_fields(view)}, text=lambda: shown_text(view, now), warnings=warnings)


def shown_fields(view: TaskView) -> dict[str, object]:
    """Returns the JSON form of one task with its claim."""
    claim = claim_record.to_json(view.claim) if view.claim is not None else None
    return {"task": task_record.to_json(view.task), **task_views.readiness(view), "claim": claim}


def shown_text(view: TaskView, now: Moment) -> str:
    """Returns the text form of one task: a line, then the fields that apply."""
    task = view.task
    lines = [_line(view, now)]
    fields = (
        ("depends on", ", ".join(task.depends_on)),
        ("files", ", ".join(task.files_hint)),
        ("branch", task.branch or ""),
        ("created by", f"{task.created_by}, changed {format_utc(task.updated_at)}"),
    )
    lines += [f"{name}: {safe_line(text)}" for name, text in fields if text]
    lines += [f"acceptance: {safe_line(text)}" for text in task.acceptance]
    claim = view.claim
    if claim is not None:
        lines.append(f"claim: {claim.owner} since {format_utc(claim.claimed_at)}{fence_text(claim.fence)}")
        if claim.recovery_reason:
            lines.append(f"recovered from {claim.previous_owner}: {safe_line(claim.recovery_reason)}")
    return "\n".join(lines)
