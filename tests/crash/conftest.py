"""The crash lane: a folder for its roots, and how much it looked at, said at its end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import tally

MEMORY = "/dev/shm"

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is such a place: thousands of roots are made, and none needs to last."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="agent-chat-crash.", dir=MEMORY) as place:
        yield Path(place)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts, if anything was counted."""
    if tally.COUNTED:
        terminalreporter.write_line(tally.summary())
