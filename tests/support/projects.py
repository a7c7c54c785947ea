"""A project with files of hosts: set up and cleaned by the real operations, on a disk that works, fails or dies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent_chat.operations import setup, wiring
from agent_chat.operations.file_changes import Place
from agent_chat.operations.setup import Wish
from agent_chat.records.hook_line import Program
from agent_chat.storage import filesystem, project_files
from agent_chat.storage.project_files import ProjectFiles
from tests.support.cli import FakeClock, FaultyFiles, tree_of
from tests.support.workspaces import CountedIds

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.operations.setup import Outcome

PRIMITIVES = (*filesystem.READING, *filesystem.WRITING, *project_files.WRITING)
SCRIPT = Program(script="/opt/agent-chat/chat.py")


class FaultyProject(FaultyFiles, ProjectFiles):
    """The files of a project, until the n-th primitive of those counted fails or kills the process."""

    def __init__(self, root: str, clock: Any = None, **faults: Any) -> None:
        super().__init__(root, clock, **{"only": PRIMITIVES, **faults})


class Project:
    """A folder in which hosts are set up."""

    def __init__(self, folder: Path, *, clock: FakeClock | None = None, start: str = "") -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.clock, self.start = folder, clock or FakeClock(), start

    def place(self, files: ProjectFiles | None = None) -> Place:
        """The folder as the operations know it."""
        files = files or ProjectFiles(str(self.folder), self.clock)
        return Place(files, self.clock, CountedIds(), start=self.start, manual="agent-chat setup x --print")

    def wish(self, host: str, *, root_here: bool = False, user: bool = False, **more: Any) -> Wish:
        """What is to be set up."""
        row = wiring.HOSTS[host]
        path = f"{row.user[1]}/{row.user[2]}".lstrip("/") if user else row.project
        own = os.path.join(self.folder, ".agent-chat")
        root = own if root_here else ""
        return Wish(host=row, path=path, in_project=not user, own_root=own, root=root, **{"program": SCRIPT, **more})

    def set_up(self, host: str, *, files: ProjectFiles | None = None, **options: Any) -> Outcome:
        """Wires a host."""
        return setup.set_up(self.place(files), self.wish(host, **options))

    def take_out(self, host: str, *, files: ProjectFiles | None = None, **options: Any) -> Outcome:
        """Takes out what was wired."""
        return setup.take_out(self.place(files), self.wish(host, **options))

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """Every path of the project, with its mode and bytes."""
        return tree_of(self.folder)

    def text(self, name: str) -> str:
        """The text of a file."""
        return (self.folder / name).read_bytes().decode("utf-8")


def words(outcome: Outcome) -> dict[str, str]:
    """What became of each file."""
    return {change.path: change.word for change in outcome.changes if (change.before, change.after) != (None, None)}
