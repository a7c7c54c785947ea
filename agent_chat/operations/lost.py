"""What a cursor lost to retention: messages above it that were removed before its agent read them."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.operations.skipping import Skips
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers


class Lost(Value):
    """How many messages of others were removed, and the first and the last number of them."""

    count: int
    first: int
    last: int


def lost_between(channel: Channel, agent: str, numbers: Numbers, above: int, up_to: int, skips: Skips) -> Lost | None:
    """Returns what an agent lost above a number and up to another, None where it lost nothing.

    Its own messages, audit messages and what it skips are no loss; nor is what is there still.
    """
    there = set(numbers.names_up_to(up_to))
    found = [
        each.seq
        for each in channel.messages.tombstones.load()
        if above < each.seq <= up_to
        and not each.status
        and each.file not in there
        and not names.same(each.sender, agent)
        and not skips.leaves_out(each.sender, each.topic)
    ]
    return Lost(count=len(found), first=min(found), last=max(found)) if found else None
