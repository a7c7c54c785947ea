"""A change of records that was interrupted, and a recovery that is interrupted too; and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.interrupted import ALL_APPLIED, ANNOUNCED
from tests.crash.journal_loops import (
    check_altered_records,
    check_interrupts,
    check_kills_of_the_recovery,
    check_power_losses_after_a_kill,
)
from tests.crash.loops import complain, trial_of
from tests.crash.rows import ROWS, name_of
from tests.support import tally

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.row import Row

JOURNALED = [row for row in ROWS if row.journal]
CHANGES = [row for row in JOURNALED if row.argv[: len(row.settle)] != row.settle]
SECOND_KILLS = 12
# Changes that together have all that can be lost after a kill: a first folder, several records, a name taken away.
TELLING = ("task create, first in a channel", "task done", "unlock")


@pytest.mark.parametrize("row", [row for row in CHANGES if row.quick], ids=name_of)
def test_a_call_that_is_interrupted_at_its_last_changes_settles_what_it_began(row: Row, folder: Path) -> None:
    trial = trial_of(row, folder)
    names = [step.name for step in trial.undisturbed.files.log]
    before = tally.COUNTED["interrupted calls"]
    complain(check_interrupts(trial, first=names.index("append")))
    assert tally.COUNTED["interrupted calls"] > before


@pytest.mark.slow
@pytest.mark.parametrize("row", JOURNALED, ids=name_of)
def test_a_call_that_is_interrupted_anywhere_settles_what_it_began(row: Row, folder: Path) -> None:
    complain(check_interrupts(trial_of(row, folder)))


@pytest.mark.slow
@pytest.mark.parametrize("row", CHANGES, ids=name_of)
def test_a_recovery_that_is_killed_too_is_settled_by_the_next(row: Row, folder: Path) -> None:
    before = tally.COUNTED["states of a killed recovery"]
    complain(check_kills_of_the_recovery(trial_of(row, folder), at_most=SECOND_KILLS))
    assert tally.COUNTED["states of a killed recovery"] > before


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in JOURNALED if row.name in TELLING or row not in CHANGES], ids=name_of)
def test_a_power_loss_takes_back_nothing_that_a_recovery_after_a_kill_relied_on(row: Row, folder: Path) -> None:
    complain(check_power_losses_after_a_kill(trial_of(row, folder), row.settle, limit=0))


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in CHANGES if row.name in TELLING], ids=name_of)
def test_a_power_loss_takes_back_nothing_that_the_same_call_after_a_kill_relied_on(row: Row, folder: Path) -> None:
    complain(check_power_losses_after_a_kill(trial_of(row, folder), row.argv, limit=0))


@pytest.mark.parametrize("at", [ALL_APPLIED, ANNOUNCED], ids=["applied", "announced"])
def test_what_was_changed_by_hand_since_is_never_overwritten(at: tuple[str, int], folder: Path) -> None:
    complain(check_altered_records(folder, at))


@pytest.mark.nightly
@pytest.mark.parametrize("row", JOURNALED, ids=name_of)
def test_a_power_loss_after_a_kill_that_keeps_some_of_the_changes_leaves_a_sound_root(row: Row, folder: Path) -> None:
    trial = trial_of(row, folder)
    complain(check_power_losses_after_a_kill(trial, row.settle, limit=4))
    complain(check_power_losses_after_a_kill(trial, row.argv, limit=4))
