"""Whatever a kill or a power loss leaves is whole, old or new, and leads on: for every row of the table."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli.commands import COMMANDS
from tests.crash.loops import (
    check_kills,
    check_kills_of_the_repeat,
    check_power_losses,
    complain,
    kills,
    limit_of,
    trial_of,
)
from tests.crash.row import Row
from tests.crash.rows import QUICK, ROWS, name_of
from tests.support import tally
from tests.support.disks import ALL_SUBSETS_UP_TO, crash_points

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.disks import Disk

REST = [row for row in ROWS if not row.quick]
SECOND_KILLS = 40
INDEX = b"2 "  # how the index of the locks begins, which tells of numbers that the system gives to files


# What changes files of hosts and no chat root; tests/operations/test_file_changes.py fails and kills it.
OF_HOSTS = {("setup",)}


def test_every_command_that_changes_files_has_a_row() -> None:
    assert {command.path for command in COMMANDS if command.mutates} - OF_HOSTS <= {row.command for row in ROWS}


@pytest.mark.parametrize("row", QUICK, ids=name_of)
def test_a_kill_leaves_a_sound_root(row: Row, folder: Path) -> None:
    before = tally.COUNTED["kill states"]
    complain(check_kills(trial_of(row, folder)))
    assert tally.COUNTED["kill states"] > before


@pytest.mark.parametrize("row", [row for row in QUICK if not row.journal], ids=name_of)
def test_a_power_loss_leaves_a_sound_root(row: Row, folder: Path) -> None:
    """Here what is lost is the end of the changes, or one of them; in the slow lane it is any of them."""
    before = tally.COUNTED["power-loss states"]
    complain(check_power_losses(trial_of(row, folder), limit=0))
    assert tally.COUNTED["power-loss states"] > before


@pytest.mark.slow
@pytest.mark.parametrize("row", REST, ids=name_of)
def test_a_kill_of_any_command_leaves_a_sound_root(row: Row, folder: Path) -> None:
    complain(check_kills(trial_of(row, folder)))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_power_loss_that_keeps_any_of_the_changes_leaves_a_sound_root(row: Row, folder: Path) -> None:
    complain(check_power_losses(trial_of(row, folder), limit=limit_of(row)))


@pytest.mark.nightly
@pytest.mark.parametrize("row", [row for row in ROWS if row.journal], ids=name_of)
def test_a_power_loss_that_keeps_any_of_the_changes_of_records_leaves_a_sound_root(row: Row, folder: Path) -> None:
    complain(check_power_losses(trial_of(row, folder), limit=ALL_SUBSETS_UP_TO))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_second_kill_leaves_a_sound_root(row: Row, folder: Path) -> None:
    before = tally.COUNTED["states of a second kill"]
    has_many_steps = row.journal or row.command[0] in ("state", "compact")
    complain(check_kills_of_the_repeat(trial_of(row, folder), at_most=8 if has_many_steps else SECOND_KILLS))
    assert tally.COUNTED["states of a second kill"] > before


@pytest.mark.parametrize("row", QUICK, ids=name_of)
def test_the_model_of_the_disk_leaves_what_a_kill_leaves(row: Row, folder: Path) -> None:
    """The power losses are worked out by a model; that it is no fancy shows where the real disk can be asked."""
    trial = trial_of(row, folder)
    really = {contents(left.disk) for left in kills(trial, trial.start)}
    points = crash_points(trial.before, trial.undisturbed.files.log, trial.stage.root)
    assert really == {contents(point.alive) for point in points}


def contents(disk: Disk) -> tuple[frozenset[str], tuple[tuple[str, bytes], ...]]:
    """A disk with its temporaries numbered, since each call gives them other names, and without the index."""
    names = sorted(_numbered({name: INDEX if data.startswith(INDEX) else data for name, data in disk.files.items()}))
    return disk.folders, tuple((name, data) for name, data in names)


def _numbered(files: dict[str, bytes]) -> Iterable[tuple[str, bytes]]:
    seen: Counter[str] = Counter()
    for name, data in sorted(files.items()):
        plain = re.sub(r"tmp[-.][0-9a-f]{16}$", "tmp", name)
        seen[plain] += 1
        yield f"{plain}{os.sep}{seen[plain]}", data
