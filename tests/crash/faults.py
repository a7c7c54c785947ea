"""A deliberate bug, and which check must notice it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Callable, NamedTuple

from tests.crash.loops import check_errors, trial_of
from tests.crash.rows import ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.checks import Trial
    from tests.support.seeding import Edit


def on(name: str, check: Callable[[Trial], list[str]]) -> Callable[[Path], list[str]]:
    """Returns a check of one row of the table, found by its name."""
    (row,) = (row for row in ROWS if row.name == name)
    return lambda folder: check(trial_of(row, folder))


def failing(trial: Trial) -> list[str]:
    """Fails each primitive with EIO."""
    return check_errors(trial, (errno.EIO,))


class Fault(NamedTuple):
    """A bug and the check that must notice it; `sign` stands in what it says."""

    name: str
    edits: tuple[Edit, ...]
    check: Callable[[Path], list[str]]
    sign: str
