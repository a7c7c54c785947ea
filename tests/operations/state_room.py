"""A room whose state is derived: talk, tasks and path locks under fixed ids, so that one state is always the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_chat.operations.state import State, summarize
from agent_chat.operations.state_text import markdown
from agent_chat.storage.channel import Channel
from agent_chat.storage.workspace import Ids
from tests.operations.lock_room import LockRoom
from tests.support.cli import Crash, FaultyFiles, workspace_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem


class OrderedIds(Ids):
    """Ids in order, from one."""

    def __init__(self) -> None:
        self._last = 0

    def fresh(self) -> str:
        """Returns the next one."""
        self._last += 1
        return f"{self._last:016x}"


class StateRoom(LockRoom):
    """A root with one channel and a work tree; the same steps always give the same files."""

    def __init__(self, base: Path, **fields: Any) -> None:
        super().__init__(base, **fields)
        self.workspace.ids = OrderedIds()

    def say(self, title: str = "t", body: str = "", sender: str = "alice", **fields: Any) -> int:
        """Posts a message and returns its number."""
        return self.post(sender, title, body, **fields).seq

    def summary(self, files: FileSystem | None = None, **options: Any) -> State:
        """The state, as the next call would see it."""
        channel = self.reopened() if files is None else self.on(files)
        return summarize(channel, **options)

    def die(self, at: int, act: Callable[[Channel], object]) -> None:
        """Does something, under ids of this room, and dies before the at-th phase of its change is noted."""
        files = FaultyFiles(str(self.root), self.clock, at=at, only=("append",))
        channel = self.on(files)
        channel.workspace.ids = self.workspace.ids
        try:
            act(channel)
        except Crash:
            return
        raise AssertionError("it did not die")

    def on(self, files: FileSystem) -> Channel:
        """The channel on another file system."""
        return Channel(workspace_on(self.root, clock=self.clock, files=files), "dev")

    def text(self, **options: Any) -> str:
        """The state as text."""
        return markdown(self.summary(**options))

    def section(self, title: str, **options: Any) -> list[str]:
        """The lines of one section of the text."""
        return sections(self.text(**options))[title]

    def forget_caches(self) -> None:
        """Takes away what nothing depends on."""
        for path in (self.folder / ".cache").glob("*.index"):
            path.unlink()


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section by its title; those above the first by an empty one."""
    found: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.split("\n")[:-1]:
        if line.startswith("## "):
            title = line[3:]
            assert title not in found, f"two sections {title}"
            found[title] = []
        else:
            found[title].append(line)
    blank = {title: lines.pop() for title, lines in list(found.items())[:-1]}
    assert set(blank.values()) <= {""}, "each section is followed by an empty line"
    return found
