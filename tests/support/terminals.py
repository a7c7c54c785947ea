"""A command at a real terminal, at which a test types; its streams may also go elsewhere. POSIX has such terminals."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

if sys.platform != "win32":
    import fcntl
    import pty
    import termios

PATIENCE = 30.0
CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """A terminal with one command in it, as a context manager that ends the command.

    What of `elsewhere` is named, "stdin" or "stderr", is a pipe; standard output always is.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], *, elsewhere: str = "") -> None:
        self._ours, theirs = pty.openpty()
        modes = termios.tcgetattr(theirs)
        modes[3] |= termios.NOFLSH  # else Ctrl-C drops what the command draws in the same moment
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self._drawn = b""
        self._ended = False

        def take() -> None:
            """Makes the terminal the one that sends Ctrl-C, in the child."""
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.PIPE if elsewhere == "stdin" else theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if elsewhere == "stderr" else theirs,
            start_new_session=True,
            preexec_fn=take,  # noqa: PLW1509 - the tests have no threads
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Types something, return included where there is one."""
        os.write(self._ours, text.encode())

    def until(self, text: str) -> str:
        """Returns what is drawn, as soon as a text is among it."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.drawn:
            assert time.monotonic() < deadline, f"{text!r} was not drawn: {self.drawn!r}"
            self._read(0.05)
        return self.drawn

    def end(self) -> tuple[int, str]:
        """Returns the status of the command, and what it wrote to standard output, once it has ended."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self.drawn!r}"
            self._read(0.02)
        while not self._ended:  # the system hands on what was written a moment later
            assert time.monotonic() < deadline, f"somebody else holds the terminal: {self.drawn!r}"
            self._read(0.05)
        assert self.process.stdout is not None
        if self.process.stderr is not None:
            self._drawn += self.process.stderr.read()
        return self.process.returncode, self.process.stdout.read().decode()

    @property
    def drawn(self) -> str:
        """What was drawn so far."""
        return self._drawn.decode(errors="replace").replace("\r\n", "\n")

    def _read(self, seconds: float) -> None:
        """Reads what is there within some seconds, and notes when nobody can write any more."""
        try:
            while not self._ended and select.select([self._ours], [], [], seconds)[0]:
                part = os.read(self._ours, 65536)
                self._drawn += part
                self._ended = not part
                seconds = 0
        except OSError:
            self._ended = True  # which is how Linux tells that the command has ended
