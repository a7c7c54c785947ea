"""The crash lane ends with how much it looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support import tally

if TYPE_CHECKING:
    import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts, if anything was counted."""
    if tally.COUNTED:
        terminalreporter.write_line(tally.summary())
