"""The loops over what only a change of records has: a recovery that is interrupted too, and Ctrl-C.

What a killed call did is visible and not yet durable. So a power loss during the call that comes after it is worked out
from the steps of both: what the first had not synced may still be lost.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, NamedTuple

from agent_chat.cli.main import INTERRUPTED
from tests.crash import task_rows
from tests.crash.checks import FIRST_IDS, SECOND_IDS
from tests.crash.journal_checks import NOTHING, is_pending
from tests.crash.loops import Left, kills, limit_of, power_losses
from tests.support import tally
from tests.support.disks import crash_points
from tests.support.recording import BEFORE, CHANGES, HALF, WHENS, InterruptingFileSystem, KillingFileSystem, Step
from tests.support.staging import Stage
from tests.support.views import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crash.checks import Trial
    from tests.support.disks import Disk
    from tests.support.staging import Answer


def pending_states(trial: Trial) -> list[Left]:
    """Returns the different states of an interrupted call in which something is pending."""
    first: dict[object, Left] = {}
    for left in itertools.chain(kills(trial, trial.start), power_losses(trial, limit=limit_of(trial.row))):
        first.setdefault((left.disk.key, left.shown), left)
    return [left for left in first.values() if is_pending(trial, view_of(left.disk))]


def check_kills_of_the_recovery(trial: Trial, *, at_most: int) -> list[str]:
    """Kills the recovery that comes after an interrupted call; from about so many of the different states."""
    found: list[str] = []
    states = pending_states(trial)
    for left in states[:: max(1, len(states) // at_most)]:
        start = functools.partial(trial.stage.put, left.disk)
        for again in kills(trial, start, trial.row.settle, ids=SECOND_IDS):
            tally.count("states of a killed recovery")
            faults = trial.faults(again.disk, left.shown, kill=True)
            found += [f"{trial.row.name}, {left.where}, then {again.where}: {text}" for text in faults]
    return found


class Second(NamedTuple):
    """A call after one that was killed: where that was, the steps of both, and the answer of the second."""

    where: str
    first: tuple[Step, ...]
    answer: Answer


def second_calls(trial: Trial, argv: tuple[str, ...]) -> Iterator[Second]:
    """Makes a call after the row's call was killed: after each of its changes, and half-way in what it appended."""
    for n in itertools.count(1):
        for when in (BEFORE, HALF):
            trial.start()
            dying = functools.partial(KillingFileSystem, n=n, when=when)
            killed = trial.call(*trial.row.argv, files=dying, ids=FIRST_IDS)
            if killed.files.killed is None:
                break
            steps = [step for step in killed.files.log if not step.failed]
            if when == HALF and killed.files.killed.name == "append":
                path, data = killed.files.killed.args
                steps.append(Step("append", (path, data[: len(data) // 2], False)))
            elif when == HALF or not steps or steps[-1].name not in CHANGES:
                continue
            if not trial.row.settles and view_of(trial.stage.disk()) == trial.new:
                continue  # made once more, which is another change
            where = f"killed {when} {n}: {killed.files.killed}"
            yield Second(where, tuple(steps), trial.call(*argv, ids=SECOND_IDS))
        if killed.files.killed is None and when == BEFORE:
            return


def check_power_losses_after_a_kill(trial: Trial, argv: tuple[str, ...], *, limit: int) -> list[str]:
    """Checks the states of a power loss during, or after, a call that came after a killed one."""
    found: list[str] = []
    decides = argv == trial.row.settle
    for second in second_calls(trial, argv):
        decided = decides and second.answer.data["outcome"] != NOTHING
        for where, disk, shown in _losses(trial, second, limit):
            tally.count("power-loss states after a kill")
            promised = shown
            if decides or second.answer.data.get("seq") is None:  # it found nothing to do, so it promised nothing
                promised = shown.replace(second.answer.out, "")
            faults = trial.faults(disk, promised, kill=False)
            if decided and shown.endswith(second.answer.out) and is_pending(trial, view_of(disk)):
                faults = [*faults, f"the recovery reported {second.answer.out}, and something is pending again"]
            found += [f"{trial.row.name}, {second.where}, then {where}: {text}" for text in faults]
    return found


def _losses(trial: Trial, second: Second, limit: int) -> Iterator[tuple[str, Disk, str]]:
    root = trial.stage.root
    known = sum(1 for _ in crash_points(trial.before, second.first, root, limit=0))
    points = crash_points(trial.before, [*second.first, *second.answer.files.log], root, limit=limit)
    for point in itertools.islice(points, known, None):
        for disk in point.lost:
            yield f"power lost {point.where}", disk, point.shown


def check_interrupts(trial: Trial, *, first: int = 1) -> list[str]:
    """Presses Ctrl-C before, half-way in and after each primitive: the status, the lock, and what is left."""
    found: list[str] = []
    for n in itertools.count(first):
        for when in WHENS:
            trial.start()
            pressed = functools.partial(InterruptingFileSystem, n=n, when=when)
            answer = trial.call(*trial.row.argv, files=pressed, ids=FIRST_IDS)
            if answer.files.interrupted is None:
                if when == BEFORE:
                    return found
                continue
            tally.count("interrupted calls")
            where = f"{trial.row.name}, interrupted {when} {n}: {answer.files.interrupted}"
            disk = trial.stage.disk()
            faults = [*_of_interrupted(trial, disk, answer), *trial.faults(disk, answer.out, kill=True)]
            found += [f"{where}: {text}" for text in faults]
    raise AssertionError("never comes here")


def _of_interrupted(trial: Trial, disk: Disk, answer: Answer) -> list[str]:
    """A call that was interrupted once says so, and has settled what it began: nothing is left pending."""
    found = [] if answer.status == INTERRUPTED else [f"it ends with {answer.status}: {answer.out}{answer.err}"]
    view = view_of(disk)
    if is_pending(trial, view) and not is_pending(trial, trial.old):
        found.append("something is left pending")
    if view not in (trial.old, trial.new) and not is_pending(trial, trial.old):
        found.append("the state is neither the old nor the new one")
    return found


def check_altered_records(folder: Path, at: tuple[str, int]) -> list[str]:
    """A record that was changed by hand while a change of it was pending: a recovery leaves it, and says so."""
    stage = Stage(str(folder / "root"))
    task_rows.interrupted_claim(at)(stage)
    task_rows.alter(stage)
    disk = stage.disk()
    refused = stage.call(*task_rows.SETTLE)
    found = [] if refused.code == "LEASE_TRANSACTION_INVALID" else [f"the recovery answers {refused.out}"]
    if view_of(stage.disk()) != view_of(disk):
        found.append("the recovery changes something")
    stage.put(disk)
    kept = stage.call(*task_rows.SETTLE, "--keep")
    found += [] if kept.data.get("outcome") == "kept" else [f"--keep answers {kept.out}"]
    if any(stage.disk().files.get(path) != data for path, data in disk.files.items() if path.endswith(".json")):
        found.append("--keep changes a record")
    return found
