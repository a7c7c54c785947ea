"""Two processes at one journal, since its lock file was deleted: each is told the truth, all records are told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.deleted_locks import PAIRS, check_deleted_lock
from tests.crash.loops import complain
from tests.support import tally

if TYPE_CHECKING:
    from pathlib import Path

# The program compares what it read with what is there before its entry has its name, and not after it.
IDS = [" then ".join((name, " ".join(second[:3]))) for name, second in PAIRS]
CASES = [pytest.param(name, second, id=id) for (name, second), id in zip(PAIRS, IDS)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "second"), CASES)
def test_whoever_comes_after_a_deleted_lock_settles_nobody_elses_change(
    name: str, second: tuple[str, ...], folder: Path
) -> None:
    before = tally.COUNTED["interleavings"]
    complain(check_deleted_lock(folder, name, second))
    assert tally.COUNTED["interleavings"] > before


@pytest.mark.slow
@pytest.mark.parametrize(("name", "second"), CASES)
def test_two_that_hold_each_other_up_after_a_deleted_lock_settle_their_own_changes(
    name: str, second: tuple[str, ...], folder: Path
) -> None:
    complain(check_deleted_lock(folder, name, second, stride=3))
