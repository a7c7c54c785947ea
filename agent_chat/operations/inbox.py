"""The inbox: how much is unread for an agent in every channel, without moving a cursor."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations import reading
from agent_chat.records.value import Value
from agent_chat.storage.channel import Channel, channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    from agent_chat.storage.workspace import Workspace

    Failure = tuple[str, Union[ChatError, OSError]]


class Entry(Value):
    """One channel with unread messages."""

    channel: str
    unread: int
    senders: tuple[str, ...]
    oldest: int


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
    """Returns what is unread for an agent in one channel; None when nothing is, or the channel is closed to it."""
    meta = channel.meta
    agent = meta.spelled(name)
    if agent is None and meta.closed:
        return None
    found = reading.unread(channel, agent or name)
    if not found:
        return None
    senders: list[str] = []
    for stored in found:
        if not names.contains(senders, stored.message.sender):
            senders.append(stored.message.sender)
    return Entry(channel=channel.name, unread=len(found), senders=tuple(senders), oldest=found[0].message.seq)
