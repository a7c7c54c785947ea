"""A home folder, a project, a root and a path of tools, in which `doctor --hosts` is called."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from tests.support.cli import Result, run
from tests.support.host_homes import write
from tests.tidy import tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

EVENTS = ["session-start", "prompt", "pre-tool-use", "post-tool-batch", "stop"]
CHAT = tree.ROOT / "chat.py"
PYTHON = f'exec {shlex.quote(sys.executable)} "$@"'


class Desk:
    """A home folder, a project, a root, a folder for temporary files, and what a shell finds on its path."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.home, self.project, self.root = folder / "home", folder / "my project", folder / "root"
        self.tools, self.temporary = folder / "tools", folder / "temporary"
        for each in (self.home, self.project, self.root, self.tools, self.temporary):
            each.mkdir()
        patch.chdir(self.project)
        patch.setenv("HOME", str(self.home))
        patch.setattr(sys, "argv", [str(CHAT)])
        self.put("python3", PYTHON)
        for name in ("sh", "sleep", "cat"):
            (self.tools / name).symlink_to(self._system(name))

    @staticmethod
    def _system(name: str) -> str:
        return next(path for path in (f"/bin/{name}", f"/usr/bin/{name}") if os.path.exists(path))

    def put(self, name: str, script: str) -> None:
        """Puts a tool on the path."""
        (self.tools / name).unlink(missing_ok=True)
        write(self.tools / name, f"#!/bin/sh\n{script}\n").chmod(0o755)

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a call."""
        place = {"PATH": str(self.tools), "HOME": str(self.home), "TMPDIR": str(self.temporary)}
        kept = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
        return {**kept, **place, "AGENT_CHAT_NAME": "alice", **(more or {})}

    def doctor(self, *words: str, more: Mapping[str, str] | None = None) -> Result:
        """Calls it; nothing may be left behind."""
        before = self.left()
        done = run(["doctor", "--hosts", *words], self.root, environment=self.variables(more))
        assert self.left() == before
        return done

    def left(self) -> list[str]:
        """What lies in the root, in the project and in the folder for temporary files."""
        places = (self.root, self.project, self.temporary)
        return sorted(str(path) for place in places for path in place.rglob("*"))

    def host(self, name: str, **more: Any) -> dict[str, Any]:
        """What is said of one host in JSON."""
        (found,) = [each for each in self.doctor("--json", **more).json["hosts"] if each["host"] == name]
        return dict(found)

    def set_up(self, host: str, *options: str) -> None:
        """Wires a host by the command itself."""
        done = run(["setup", host, *options], self.root, environment=self.variables())
        assert done.status == 0, done.stderr

    def ran(self, host: str) -> None:
        """Leaves a trace, as a session of the host does."""
        at = "2999-11-30T19:00:59+00:00"
        fields = {"schema_version": 1, "host": host, "at": at, "agent": "alice", "version": "0.1.0"}
        write(self.root / "_hooks" / f"{host}.ran", fields)


def outcomes(host: Mapping[str, Any]) -> dict[str, str]:
    """Event -> what became of its hook."""
    return {hook["event"]: hook["outcome"] for hook in host["hooks"]}


def line_of(event: str, host: str = "claude", script: object = CHAT) -> str:
    """A line as `setup` writes it."""
    return f'python3 -I -S "{script}" hook {event} --host {host} || exit 0'


def wire(folder: Path, **lines: str) -> Path:
    """Puts lines into the settings of Claude Code in a folder: the user's, or a project."""
    hooks = {name: [{"hooks": [{"type": "command", "command": text}]}] for name, text in lines.items()}
    return write(folder / ".claude" / "settings.json", {"hooks": hooks})
