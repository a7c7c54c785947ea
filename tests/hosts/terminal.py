"""A program in a terminal at which nobody looks: it is typed to, and what it draws is kept for a failure's report."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING

from tests.hosts.stage import end_group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

ROWS, COLUMNS = 50, 160
CONTROL = re.compile(r"\x1b\[[0-9;?<>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")


class Terminal:
    """A terminal with one program in it, as a context manager that ends the program."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._drawn = b""
        self.process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_group(self.process)
        self._reader.join(1)
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Types a line; return comes a moment later, or it would count as pasted."""
        os.write(self._ours, text.encode())
        time.sleep(0.5)
        os.write(self._ours, b"\r")

    def drawn(self) -> str:
        """Returns what was drawn so far, without the orders to the terminal."""
        return CONTROL.sub("", self._drawn.decode(errors="replace"))

    def _read(self) -> None:
        # Linux tells the end of the program by an error.
        with contextlib.suppress(OSError):
            while part := os.read(self._ours, 65536):
                self._drawn += part
