"""The inbox: how much is unread for an agent in every channel, without moving a cursor."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations import reading
from agent_chat.operations.late import arrivals, is_for
from agent_chat.records.value import Value
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    from agent_chat.storage.workspace import Workspace

    Failure = tuple[str, Union[ChatError, OSError]]


class Entry(Value):
    """One channel with unread messages, or with something else to say of the agent's cursor."""

    channel: str
    unread: int = 0
    senders: tuple[str, ...] = ()
    oldest: int = 0
    warning: str = ""


def inbox(workspace: Workspace, agent: str) -> tuple[list[Entry], list[Failure]]:
    """Returns the channels with something unread, and those that could not be looked at: never taken for empty."""
    name = names.agent_name(agent)
    entries: list[Entry] = []
    failures: list[Failure] = []
    for channel_name in channel_names(workspace):
        channel = Channel(workspace, channel_name)
        try:
            entry = look(channel, name)
        except (ChatError, OSError) as error:
            failures.append((channel_name, error))
            continue
        if entry is not None:
            entries.append(entry)
    return entries, failures


def look(channel: Channel, name: str) -> Entry | None:
    """Returns what there is to say of one channel; None when nothing is unread, or the channel is closed to it."""
    meta = channel.meta
    agent = meta.spelled(name)
    if agent is None and meta.closed:
        return None
    reader = agent or name
    found = reading.unread(channel, reader)
    senders: list[str] = []
    for stored in found:
        if not names.contains(senders, stored.message.sender):
            senders.append(stored.message.sender)
    warning = _warning(channel, reader)
    if not found and not warning:
        return None
    oldest = found[0].message.seq if found else 0
    return Entry(channel=channel.name, unread=len(found), senders=tuple(senders), oldest=oldest, warning=warning)


def _warning(channel: Channel, agent: str) -> str:
    """Returns what is odd about an agent's cursor: that it is past the end, or that messages arrived below it."""
    numbers = channel.messages.numbers()
    cursor = channel.cursors.load(agent)
    ahead = reading.why_ahead(channel, agent, cursor.seq if cursor else 0, numbers)
    if not ahead and arrivals(channel, is_for(agent), cursor, numbers).wakes:
        look = channel.workspace.call(f"read {channel.name} --as {agent}")
        return f"messages arrived below the cursor of {agent} in {channel.name}: {look}"
    return ahead
