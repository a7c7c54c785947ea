"""The commands on claims: who works on a task, for how long, and what became of it."""

from __future__ import annotations

from agent_chat.cli.acting import actor_of, agent_text
from agent_chat.cli.command import Reply
from agent_chat.cli.task_commands import changed_reply, fence_text, task_channel
from agent_chat.operations import claims, recovery
from agent_chat.operations.leases import time_left
from agent_chat.storage.journal import OF_TASKS
from agent_chat.storage.recovery import NOTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.tasks import Changed
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.recovery import Settled


def _granted(channel: Channel, changed: Changed, verb: str) -> Reply:
    """Returns the reply to whoever holds a task now."""
    assert changed.claim is not None
    left = time_left(changed.claim.lease, channel.workspace.clock.moment())
    line = f"{verb} {changed.task.id}: {left}{fence_text(changed.claim.fence)}"
    return changed_reply(channel, changed, line, claim=True)


def _left(channel: Channel, changed: Changed) -> Reply:
    """Returns the reply to a plain change of status."""
    owner = f" ({changed.task.owner})" if changed.task.owner is not None else ""
    already = "" if changed.seq is not None else f" already{owner}"
    return changed_reply(channel, changed, f"{changed.task.id} is {changed.task.status}{already}")


def claim(request: Request) -> Reply:
    """Takes a task."""
    channel = task_channel(request)
    taken = claims.claim(channel, request.text("task"), actor_of(request), request.optional_text("lease_seconds"))
    return _granted(channel, taken, "claimed")


def renew(request: Request) -> Reply:
    """Makes a lease run anew."""
    channel = task_channel(request)
    renewed = claims.renew(channel, request.text("task"), actor_of(request), request.optional_text("lease_seconds"))
    return _granted(channel, renewed, "renewed")


def done(request: Request) -> Reply:
    """Marks a task as done."""
    channel = task_channel(request)
    return _left(channel, claims.done(channel, request.text("task"), actor_of(request)))


def block(request: Request) -> Reply:
    """Marks a task as blocked."""
    channel = task_channel(request)
    return _left(channel, claims.block(channel, request.text("task"), actor_of(request)))


def release(request: Request) -> Reply:
    """Gives a task back."""
    channel = task_channel(request)
    return _left(channel, claims.release(channel, request.text("task"), actor_of(request)))


def cancel(request: Request) -> Reply:
    """Cancels a task."""
    channel = task_channel(request)
    return _left(channel, claims.cancel(channel, request.text("task"), actor_of(request)))


def recover(request: Request) -> Reply:
    """Takes over a task whose lease ran out."""
    channel = task_channel(request)
    seconds = request.optional_text("lease_seconds")
    taken = claims.recover(channel, request.text("task"), actor_of(request), request.text("reason"), seconds)
    return _granted(channel, taken, "recovered")


def recover_pending(request: Request) -> Reply:
    """Settles an interrupted change of tasks."""
    channel = task_channel(request)
    settled = recovery.recover_pending(
        channel,
        OF_TASKS,
        agent_text(request),
        resolution=request.optional_text("resolve_publication"),
        keep=request.flag("keep"),
    )
    return settled_reply(channel, settled)


def settled_reply(channel: Channel, settled: Settled) -> Reply:
    """Returns the reply to a recovery."""
    transaction = settled.transaction or None  # some markers of another program have no id
    line = settled.outcome if transaction is None else f"{settled.outcome} {transaction}"
    if settled.seq is not None:
        line += f" (#{settled.seq})"
    data: dict[str, object] = {
        **channel.where(),
        "outcome": settled.outcome,
        "transaction": transaction,
    }
    if settled.seq is not None:
        data["seq"] = settled.seq
    return Reply(data=data, text=line, summary=line if settled.outcome != NOTHING else "")
