"""The command wait with --task or --path: it ends on a task or a path, and shows no messages."""

from __future__ import annotations

from agent_chat.cli.acting import guard_of
from agent_chat.cli.command import Reply
from agent_chat.errors import ChatError
from agent_chat.operations.participants import participant
from agent_chat.records.shown_text import safe_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_chat.cli.command import Request
    from agent_chat.storage.channel import Channel

MAX_TIMEOUT = 7 * 86400.0


def wait(request: Request, channels: list[Channel], named: str) -> Reply:
    """Blocks until the task or the path is as it is waited for."""
    task, path = request.optional_text("task"), request.optional_text("path")
    others = [name for name in ("after", "reply_to") if request.values[name] is not None]
    others += [name for name in ("skip_topic", "skip_from") if request.texts(name)]
    if len(channels) != 1 or others or (task is not None and path is not None):
        raise ChatError(
            "USAGE",
            "--task and --path go with one channel, and neither with each other nor with --after, --reply-to or a skip",
        )
    channel = channels[0]
    agent = participant(channel, named)
    timeout = min(request.seconds("timeout"), MAX_TIMEOUT)
    interval = max(request.seconds("interval"), 0.01)
    if task is not None:
        return _for_task(channel, agent, task, timeout, interval, guard_of(request))
    return _for_path(request, channel, agent, path or "", timeout, interval)


def _for_task(
    channel: Channel, agent: str, task_id: str, timeout: float, interval: float, guard: Callable[[], None]
) -> Reply:
    from agent_chat.cli.task_commands import shown_fields, shown_text
    from agent_chat.operations.conditions import wait_for_task

    outcome = wait_for_task(channel, agent, task_id, timeout=timeout, interval=interval, guard=guard)
    text = shown_text(outcome.view, channel.workspace.clock.moment())
    if outcome.timed_out:
        text = f"{text.partition(chr(10))[0]}\nnot done or ready within {timeout:g} s; call again"
    return _reply(channel, agent, shown_fields(outcome.view), text, outcome.warnings, timed_out=outcome.timed_out)


def _for_path(request: Request, channel: Channel, agent: str, path: str, timeout: float, interval: float) -> Reply:
    from agent_chat.cli.locating import Locator
    from agent_chat.operations.conditions import wait_for_path
    from agent_chat.operations.lock_views import conflict_fields, conflict_text

    located = Locator(request, channel)(path)
    outcome = wait_for_path(channel, agent, located, timeout=timeout, interval=interval, guard=guard_of(request))
    now = channel.workspace.clock.moment()
    conflicts = outcome.checked.locks
    lines = [safe_line(conflict_text(each, now)) for each in conflicts] or ["free"]
    if outcome.timed_out:
        lines.append(f"not free within {timeout:g} s; call again")
    fields: dict[str, object] = {
        "path": located.path.normalized_path,
        "conflicts": [conflict_fields(each, now) for each in conflicts],
    }
    return _reply(channel, agent, fields, "\n".join(lines), outcome.warnings, timed_out=outcome.timed_out)


def _reply(
    channel: Channel, agent: str, fields: dict[str, object], text: str, warnings: tuple[str, ...], *, timed_out: bool
) -> Reply:
    """Returns the reply: what every wait says, and no messages; the cursor stays."""
    cursor = channel.cursors.seq(agent)
    data: dict[str, object] = {
        **channel.where(),
        "messages": [],
        "latest_seq": channel.messages.numbers().latest,
        "has_more": False,
        "next_after": cursor,
        "cursor": cursor,
        **fields,
        "timed_out": timed_out,
    }
    return Reply(data=data, text=text, status=1 if timed_out else 0, warnings=warnings)
