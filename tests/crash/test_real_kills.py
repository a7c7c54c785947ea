"""Processes that are really killed (SIGKILL) at a primitive: what is left is what the model of a kill says."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.crash.loops import complain, trial_of
from tests.crash.row import Row
from tests.crash.rows import ROWS
from tests.support import tally
from tests.support.killed_cli import command, was_killed
from tests.support.processes import PATIENCE, environment
from tests.support.recording import AFTER, BEFORE, HALF

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.checks import Trial

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no such signal")

NAMES = ("post, a reply", "read, from a cursor", "task create, with dependencies")
CRASHED = {row.name: row for row in ROWS if row.name in NAMES}


class Ended(NamedTuple):
    """A child that ended: whether by its own hand, and what reached the pipe before."""

    killed: bool
    shown: str
    primitives: int


def run_child(trial: Trial, n: int, when: str) -> Ended:
    """Runs a row's call in a child whose standard output is a pipe."""
    done = subprocess.run(
        command(trial.stage.root, n, when, *trial.row.argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(os.path.dirname(trial.stage.root)),
        timeout=PATIENCE,
        check=False,
    )
    if was_killed(done):
        return Ended(True, done.stdout, 0)
    assert done.returncode == 0, done
    return Ended(False, done.stdout, int(done.stderr.split()[-1]))


def check_child(trial: Trial, n: int, when: str) -> bool:
    """Kills a child and looks at what it left; False where it had ended before, or there is no such part."""
    trial.start()
    ended = run_child(trial, n, when)
    if ended.killed:
        tally.count("real kills")
        # The child has the real clock, the trial its own: what is new is as old as the trial says.
        disk = trial.stage.disk()._replace(times=trial.before.times)
        faults = trial.faults(disk, ended.shown, kill=True)
        complain([f"{trial.row.name}, really killed {when} {n}: {text}" for text in faults])
    return ended.killed


@pytest.mark.parametrize("row", CRASHED.values(), ids=CRASHED)
def test_a_process_killed_near_its_end_leaves_a_sound_root(row: Row, folder: Path) -> None:
    """Around the last change and the reply: the primitives where most is at stake."""
    trial = trial_of(row, folder)
    names = [step.name for step in trial.undisturbed.files.log]
    assert check_child(trial, names.index("write_new") + 1, HALF)
    assert check_child(trial, names.index("print") + 1, AFTER)


@pytest.mark.slow
@pytest.mark.parametrize("row", CRASHED.values(), ids=CRASHED)
def test_a_process_killed_anywhere_leaves_a_sound_root(row: Row, folder: Path) -> None:
    trial = trial_of(row, folder)
    trial.start()
    primitives = run_child(trial, 0, BEFORE).primitives
    killed = [check_child(trial, n, when) for n in range(1, primitives + 1) for when in (BEFORE, AFTER)]
    assert all(killed)
    assert len(killed) > 20
