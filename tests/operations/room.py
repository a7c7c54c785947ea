"""One channel on a temporary root, and the operations on it with the least words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.cli.message_text import text_size
from agent_chat.errors import ChatError
from agent_chat.operations import channels, messages, reading
from agent_chat.operations.messages import Draft, Posted
from agent_chat.operations.reading import Bounds, Page
from agent_chat.storage.channel import Channel
from tests.support.cli import FakeClock, message_file, plant, workspace_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_chat.records.message import Message


def bounds(limit: int = 50, max_bytes: int = 24_000) -> Bounds:
    """The bounds of a page, those of the command line by default."""
    return Bounds(limit=limit, max_bytes=max_bytes, measure=text_size)


class Room:
    """A root with one channel, open unless members are named."""

    def __init__(self, root: Path, *, name: str = "dev", members: str | None = None, **fields: str | None) -> None:
        self.root = root
        self.clock = FakeClock()
        self.workspace = workspace_on(root, clock=self.clock)
        given = {"humans": None, "topic": None, "owner": None, "level": None, **fields}
        self.channel = channels.create(self.workspace, channels.plan_channel(name, members=members, **given))

    def reopened(self) -> Channel:
        """The channel as the next call would open it."""
        return Channel(self.workspace, self.channel.name)

    @property
    def folder(self) -> Path:
        """The channel's folder."""
        return Path(self.channel.layout.folder)

    def post(self, sender: str = "alice", title: str = "t", body: str = "", **fields: Any) -> Posted:
        """Posts one message."""
        return messages.post(self.reopened(), Draft(sender=sender, title=title, body=body, **fields))

    def message(self, seq: int | str) -> Message:
        """The message of a number or file name."""
        channel = self.reopened()
        return messages.find(channel, channel.messages.numbers(), str(seq)).message

    def page(self, agent: str = "bob", *, after: int | None = None, **options: Any) -> Page:
        """What is new for an agent; no cursor moves."""
        everything = options.pop("everything", False)
        return reading.read_page(self.reopened(), agent, bounds(**options), after=after, everything=everything)

    def read(self, agent: str = "bob", **options: Any) -> list[int]:
        """Reads one page as `read` does, and moves the cursor; returns the numbers shown."""
        page = self.page(agent, **options)
        reading.advance(page, agent)
        return [item.message.seq for item in page.stored]

    def cursor(self, agent: str = "bob") -> int:
        """The stored cursor of an agent."""
        return self.channel.cursors.seq(agent)

    def plant(self, seq: int, name: str = "", **fields: str) -> Path:
        """Writes a message by hand."""
        sender = fields.get("sender", "alice")
        return plant(self.folder / (name or f"{seq:04d}-{sender}-m.md"), message_file(seq, **fields))

    def names(self) -> list[str]:
        """The names in the channel's folder."""
        return sorted(path.name for path in self.folder.iterdir())


def refused(code: str, act: Callable[[], object]) -> ChatError:
    """The error of an action that must be refused with a code."""
    with pytest.raises(ChatError) as caught:
        act()
    assert caught.value.code == code, caught.value
    return caught.value
