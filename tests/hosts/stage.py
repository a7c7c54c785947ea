"""Where a check takes place: an empty home, a project, a chat root, and the product's own command line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CALL_SECONDS = 60
TEXT = "one\ntwo\nthree\n"
EDITED = "one\nTWO\nthree\n"
# Says in whose name the tested session acts, and who the other agent is.
SELF, OTHER = "alice", "bob"
CHANNEL = "dev"


@dataclass(frozen=True)
class Done:
    """A process that has ended; `status` is None if it had to be ended because its time was up."""

    words: Sequence[str]
    status: int | None
    output: str
    errors: str

    def __str__(self) -> str:
        said = (self.output + self.errors).strip()
        status = "took too long" if self.status is None else f"status {self.status}"
        return f"$ {' '.join(self.words)}\n{status}\n{said[-2000:]}"


class Stage:
    """A folder of its own for one client; each scene in it has a new project and a new chat root."""

    def __init__(self, folder: Path, plugin: Path, paths: Sequence[Path]) -> None:
        self.plugin = plugin
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        tools = folder / "bin"
        tools.mkdir()
        for name in ("python3", "python"):
            _script(tools / name, f'exec {_quoted(sys.executable)} "$@"')
        self._path = os.pathsep.join([str(tools), *map(str, paths), "/usr/local/bin", "/usr/bin", "/bin"])
        self._scenes = 0
        self.new_scene()

    def new_scene(self) -> None:
        """Starts anew: a project with one file, a chat root with one empty channel."""
        self._scenes += 1
        scene = self.folder / f"сцена {self._scenes}"
        self.project = scene / "project"
        self.root = scene / "chat root"
        (self.project / "src").mkdir(parents=True)
        self.file.write_text(TEXT, encoding="utf-8")
        self.chat("init", CHANNEL)

    @property
    def file(self) -> Path:
        """The file that agents edit."""
        return self.project / "src" / "a.txt"

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Returns all that a process gets to know; what is not named here, it does not.

        The proxy is one that refuses: whatever does not go to this machine fails at once.
        """
        nowhere = "http://127.0.0.1:9"
        return {
            "PATH": self._path,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "HTTP_PROXY": nowhere,
            "HTTPS_PROXY": nowhere,
            "http_proxy": nowhere,
            "https_proxy": nowhere,
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "AGENT_CHAT_ROOT": str(self.root),
            "AGENT_CHAT_NAME": SELF,
            **(more or {}),
        }

    def run(self, words: Sequence[str], more: Mapping[str, str] | None = None) -> Done:
        """Runs a program in the project with nothing on its standard input."""
        process = subprocess.Popen(
            words,
            cwd=self.project,
            env=self.environment(more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        shown = [Path(words[0]).name, *words[1:]]
        status: int | None = None
        try:
            output, errors = process.communicate(timeout=CALL_SECONDS)
            status = process.returncode
        except subprocess.TimeoutExpired:
            end_group(process)
            output, errors = process.communicate()
        finally:
            if process.returncode is None:
                end_group(process)
        return Done(shown, status, output.decode(errors="replace"), errors.decode(errors="replace"))

    def chat(self, *words: str) -> str:
        """Runs the product's command line in the project and returns what it printed."""
        done = self.run([sys.executable, str(self.plugin / "chat.py"), *words])
        if done.status != 0:
            raise RuntimeError(str(done))
        return done.output

    def lock(self) -> None:
        """The other agent locks the file."""
        self.chat("lock", CHANNEL, "src/a.txt", "--as", OTHER, "--reason", "rewriting it")

    def unlock(self) -> None:
        """The other agent gives the file back."""
        self.chat("unlock", CHANNEL, "src/a.txt", "--as", OTHER)

    def post(self, title: str) -> None:
        """The other agent posts a message for all."""
        self.chat("post", CHANNEL, "--from", OTHER, "--title", title)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads a session, and all that it started in there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
