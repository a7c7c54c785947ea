"""The memory of sessions on one root, opened anew for each call as each hook does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_chat.operations.glance import Count
from agent_chat.operations.session_memory import HELD, SessionMemory
from tests.support.cli import FakeClock, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem


class Memory:
    """The memory of one root."""

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.clock = FakeClock()
        self.faults: list[str] = []

    def open(self, session: str = "s-1", agent: str = "bob", *, files: FileSystem | None = None) -> SessionMemory:
        """A memory of a session; what fails is added to ours."""
        memory = SessionMemory(workspace_on(self.root, clock=self.clock, files=files), agent, session)
        memory.faults = self.faults = []
        return memory

    def note(self, *counts: Count, what: str = HELD, **options: Any) -> bool:
        """Whether some of what is unread is new to the session."""
        return self.open(**options).note(what, counts)

    @property
    def names(self) -> list[str]:
        """The files that are there."""
        hooks = self.root / "_hooks"
        return sorted(path.name for path in hooks.iterdir()) if hooks.exists() else []

    @property
    def path(self) -> Path:
        """The file of bob's session s-1."""
        return self.root / "_hooks" / "bob.id-s-1.session"


def unread(highest: int, channel: str = "dev", **fields: Any) -> Count:
    """So many messages are there, all of them unread."""
    return Count(channel=channel, **{"unread": highest, "latest": highest, "highest": highest, **fields})
