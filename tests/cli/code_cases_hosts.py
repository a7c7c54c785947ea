"""How each code of `setup` is met: in a project below the root, where the case sees that nothing was changed."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any, Callable

from agent_chat.cli import setup_commands
from agent_chat.storage import real_place
from tests.support.cli import plant, tree_of
from tests.support.projects import FaultyProject

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

SETTINGS = ".claude/settings.json"
CLAUDE = ["setup", "claude"]


def in_project(do: Case, **files: str) -> Case:
    """Goes to a project that holds such files."""
    project = do.root / "project"
    project.mkdir(exist_ok=True)
    for name, text in files.items():
        plant(project / name, text)
    do.patch.chdir(project)
    do.before = tree_of(do.root)
    return do


def with_link(do: Case) -> Result:
    """Sets up a project whose folder of settings is a link."""
    in_project(do, **{"elsewhere/settings.json": "{}"})
    os.symlink("elsewhere", ".claude")
    do.before = tree_of(do.root)
    return do(*CLAUDE)


def failing(do: Case) -> Result:
    """Sets up a project on a disk that is full."""

    def files(root: str, clock: Any) -> FaultyProject:
        return FaultyProject(root, clock, at=1, code=errno.ENOSPC, only=("write_new",))

    do.patch.setattr(setup_commands, "ProjectFiles", files)
    return in_project(do, **{SETTINGS: "{}"})(*CLAUDE)


def without_program(do: Case) -> Result:
    """Sets up a project with a program that lies where no host could start it."""
    do.patch.setattr(sys, "argv", ["-c"])
    do.patch.setattr(real_place, "status_at", lambda path: None)
    return in_project(do)(*CLAUDE)


HOSTS: dict[str, Callable[[Case], Result]] = {
    "SETUP_OPTION_INVALID": lambda do: in_project(do)("setup", "codex", "--wake"),
    "SETUP_PLACE_INVALID": lambda do: in_project(do).with_variable("HOME", "nowhere")(*CLAUDE, "--user"),
    "SETUP_PROGRAM_UNKNOWN": without_program,
    "SETUP_FILE_INVALID": lambda do: in_project(do, **{SETTINGS: '{"hooks": []}'})(*CLAUDE),
    "SETUP_FILE_REFUSED": with_link,
    "SETUP_FILE_CONFLICT": lambda do: in_project(do, **{".pi/extensions/agent-chat.ts": "mine"})("setup", "pi"),
    "SETUP_IO_ERROR": failing,
}
