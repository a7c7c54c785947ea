"""The commands on channels: init, channels, join and leave."""

from __future__ import annotations

from agent_chat import names
from agent_chat.cli.acting import after_failures, agent_text, channel_of
from agent_chat.cli.command import Reply
from agent_chat.cli.message_text import doubt, short_time
from agent_chat.cli.page_reply import message_fields, vouched
from agent_chat.errors import ChatError
from agent_chat.operations import channels as operations
from agent_chat.operations.access import is_on
from agent_chat.records.shown_text import safe_line
from agent_chat.storage import layout
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.channels import Overview
    from agent_chat.records.channel_meta import ChannelMeta
    from agent_chat.storage.message_store import Stored


def init(request: Request) -> Reply:
    """Makes a channel."""
    meta = operations.plan_channel(
        request.text("channel"),
        members=request.optional_text("members"),
        humans=request.optional_text("humans"),
        topic=request.optional_text("topic"),
        owner=request.optional_text("owner"),
        level=request.optional_text("level"),
        work_tree=_work_tree(request),
    )
    channel = operations.create(request.workspace, meta)
    line = f"made {channel.name} in {channel.layout.folder}"
    return Reply(
        data={**channel.where(), "path": channel.layout.folder, "members": list(meta.members)},
        text=line,
        summary=line,
    )


def _work_tree(request: Request) -> str | None:
    """Returns the real path of the work tree that a new channel records, None where none was named."""
    named = request.optional_text("workspace")
    if named is None:
        return None
    from agent_chat.cli.acting import expanded
    from agent_chat.storage import work_tree
    from agent_chat.storage.work_tree import current_folder

    return work_tree.find(
        request.workspace, option=expanded(named), variable=None, recorded=None, folder=current_folder()
    ).root


def channels(request: Request) -> Reply:
    """Lists the channels of the root; while chat is off, or that cannot be told, without their last messages."""
    found: list[Overview] = []
    failures: list[tuple[str, ChatError | OSError]] = []
    there = channel_names(request.workspace)
    speaks = False
    try:
        speaks = is_on(request.workspace)
    except (ChatError, OSError) as error:
        failures.append((layout.OWNER, error))
    for name in there:
        channel = Channel(request.workspace, name)
        try:
            channel.require_meta()
            overview = operations.overview(channel, speaks=speaks)
            if overview.last is not None:
                overview = overview.replace(last=vouched(channel.workspace, (overview.last,))[0][0])
            found.append(overview)
        except (ChatError, OSError) as error:
            failures.append((name, error))
    reply = Reply(
        data={**request.workspace.where(), "channels": [_overview_fields(item) for item in found]},
        text="\n".join(_overview_line(item) for item in found)
        or ("" if failures else f"no channels in {request.workspace.describe()}"),
    )
    return after_failures(reply, failures)


def _overview_fields(item: Overview) -> dict[str, object]:
    meta = item.channel.meta
    return {
        "channel": item.channel.name,
        "messages": item.count,
        "members": list(meta.members),
        "topic": meta.topic,
        "latest_seq": item.latest,
        "last": None if item.last is None else _last_fields(item.last),
    }


def _last_fields(stored: Stored) -> dict[str, object]:
    """Returns what a list tells of a channel's last message."""
    fields = message_fields(stored)
    return {name: fields[name] for name in ("seq", "from", "title", "created", "verified") if name in fields}


def _overview_line(item: Overview) -> str:
    meta = item.channel.meta
    parts = [f"{item.channel.name}: {item.count} messages"]
    if meta.members:
        parts.append(", ".join(meta.members))
    if meta.topic:
        parts.append(safe_line(meta.topic))
    if item.last is not None:
        last = item.last.message
        who = last.sender + doubt(item.last)
        parts.append(f"last #{last.seq} {who}: {safe_line(last.title)}, {short_time(last.created)}")
    return " | ".join(parts)


def join(request: Request) -> Reply:
    """Adds an agent to a channel, and says how much lies before it."""
    channel = channel_of(request)
    meta = operations.join(channel, agent_text(request), request.optional_text("role"))
    name = meta.spelled(names.agent_name(agent_text(request))) or ""
    numbers = channel.messages.numbers()
    line = f"{name} is in {channel.name}"
    before = 0
    warnings: tuple[str, ...] = ()
    try:
        before = len(numbers) if channel.cursors.load(name) is None else 0
    except ChatError as error:
        warnings = (f"{error.message}; {error.next}",)
    if before:
        skip = channel.workspace.call(f"ack {channel.name} {numbers.latest} --as {name}")
        line += f"; {before} messages lie before, to skip them: {skip}"
    if any(sign in name for sign in ".-"):
        line += f"\nnote: people cannot reach {name} by @ for certain, since a dot or hyphen ends a mention"
    data = {**_membership(channel, meta), "unread_before": before}
    return Reply(data=data, text=line, summary=line, warnings=warnings)


def leave(request: Request) -> Reply:
    """Takes an agent out of a channel."""
    channel = channel_of(request)
    agent = names.agent_name(agent_text(request))
    name = channel.meta.spelled(agent) or agent
    meta = operations.leave(channel, name)
    line = f"{name} has left {channel.name}"
    return Reply(data=_membership(channel, meta), text=line, summary=line, warnings=_still_held(channel, name))


def _still_held(channel: Channel, name: str) -> tuple[str, ...]:
    """Returns a warning about what an agent that has left still holds."""
    from agent_chat.operations import lock_views, task_views

    try:
        views = task_views.every(channel, channel.workspace.clock.moment()).views
        locks = lock_views.every(channel).locks
    except (ChatError, OSError) as error:
        return (f"what {name} still holds cannot be told: {error}",)
    held = [f"task {view.task.id}" for view in views if view.claim is not None and names.same(view.claim.owner, name)]
    held += [f"lock {lock.id}" for lock in locks if names.same(lock.owner, name)]
    return (f"{name} still holds {', '.join(held)} until it runs out",) if held else ()


def _membership(channel: Channel, meta: ChannelMeta) -> dict[str, object]:
    return {
        **channel.where(),
        "members": list(meta.members),
        "humans": list(meta.humans),
        "open": not meta.closed,
        "roles": dict(meta.roles),
    }
