"""A command line that kills its own process at one of its primitives: `python -m tests.support.killed_cli N WHEN …`.

The file system is given to the program as in any test; the program itself knows nothing of it. With N 0 it runs to its
end. The last line on standard error says how many primitives there were, if it got so far.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, TextIO, cast

from agent_chat.cli.main import main
from agent_chat.storage.workspace import Workspace
from tests.support.recording import KillingFileSystem, Step
from tests.support.workspaces import FakeClock

if TYPE_CHECKING:
    import subprocess


class DeadlyFileSystem(KillingFileSystem):
    """Kills the process where another would only say that it died."""

    def die(self, step: Step) -> None:
        """Ends the process, so that nothing of it can run any more."""
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()  # some kernels deliver it a moment later


class _Watched:
    """Standard output, whose every writing is a primitive like those of the disk."""

    def __init__(self, files: DeadlyFileSystem) -> None:
        self._files = files

    def write(self, text: str) -> None:
        """Writes all of a text, past every buffer."""
        self._files.show(text, lambda part: os.write(1, part.encode()))

    def flush(self) -> None:
        """Has nothing to do."""


def run() -> int:
    """Runs the command line that follows the two numbers."""
    n, when, root, *argv = sys.argv[1:]
    clock = FakeClock()  # the one by which its root was made
    files = DeadlyFileSystem(root, clock, n=int(n), when=when)
    workspace = Workspace(root, root_from="variable", clock=clock, files=files, account="you")
    sys.stdout = cast("TextIO", _Watched(files))
    status = main(argv, {"HOME": root}, workspace=workspace)
    sys.stderr.write(f"\n{files.count}\n")
    return status


def command(root: str, n: int, when: str, *argv: str) -> list[str]:
    """Returns the words that start it."""
    return [sys.executable, "-m", "tests.support.killed_cli", str(n), when, root, *argv, "--json"]


def was_killed(done: subprocess.CompletedProcess[str]) -> bool:
    """Tells whether the process died at its primitive; what one that did not has printed keeps to its schema."""
    from tests.support import verdicts  # not by the child, which starts faster without

    verdicts.judge_words(cast("list[str]", done.args)[6:], done.returncode, done.stdout.encode())
    return done.returncode == -signal.SIGKILL


if __name__ == "__main__":
    sys.exit(run())
