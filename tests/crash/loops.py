"""The loops: each interrupts an operation in every way of one kind, until it completes undisturbed."""

from __future__ import annotations

import errno
import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_chat.errors import CODES
from tests.crash.checks import FIRST_IDS, SECOND_IDS, Trial
from tests.crash.journal_checks import faults_of_code
from tests.support import tally
from tests.support.disks import ALL_SUBSETS_UP_TO, crash_points
from tests.support.recording import BEFORE, WHENS, FailingFileSystem, KillingFileSystem
from tests.support.staging import Stage
from tests.support.views import temporaries, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.crash.row import Row
    from tests.support.disks import Disk
    from tests.support.staging import Answer

CODES_OF_DISKS = (errno.EIO, errno.ENOSPC, errno.EACCES)
# What is counted of what is shown in a field of a state.
_COUNTED = {"open_tasks": ("finished_tasks",)}
_UNDONE = ("MESSAGE_PUBLICATION_UNKNOWN", "OUTPUT_FAILED")  # codes that do not say that nothing was done


class Left(NamedTuple):
    """What an interrupted call left: where it was interrupted, the disk, and what it had shown."""

    where: str
    disk: Disk
    shown: str


def complain(found: list[str]) -> None:
    """Fails with what was found, each thing once."""
    tally.count(tally.VIOLATIONS, len(found))
    assert not found, f"{len(found)} violations:\n" + "\n".join(list(dict.fromkeys(found))[:20])


def trial_of(row: Row, folder: Path) -> Trial:
    """Sets up a row in a folder of the test's own."""
    return Trial(row, Stage(str(folder / "root")))


def kills(
    trial: Trial, start: Callable[[], object], argv: tuple[str, ...] = (), *, ids: str = FIRST_IDS
) -> Iterator[Left]:
    """Kills the row's call, or another one, before, in and after each of its primitives."""
    for n in itertools.count(1):
        for when in WHENS:
            start()
            dying = functools.partial(KillingFileSystem, n=n, when=when)
            answer = trial.call(*(argv or trial.row.argv), files=dying, ids=ids)
            if answer.files.killed is not None:
                yield Left(f"killed {when} {n}: {answer.files.killed}", trial.stage.disk(), answer.out)
            elif when == BEFORE:
                return


def limit_of(row: Row) -> int:
    """Of how many changes all subsets are tried: a journal's call leaves more of them, most of temporaries."""
    return 4 if row.journal else ALL_SUBSETS_UP_TO


def power_losses(trial: Trial, *, limit: int = ALL_SUBSETS_UP_TO) -> Iterator[Left]:
    """Yields what a power loss at each moment of the row's call may leave."""
    for point in crash_points(trial.before, trial.undisturbed.files.log, trial.stage.root, limit=limit):
        for disk in point.lost:
            yield Left(f"power lost {point.where}", disk, point.shown)


def check_kills(trial: Trial) -> list[str]:
    """Checks every state that a kill leaves."""
    found: list[str] = []
    for left in kills(trial, trial.start):
        tally.count("kill states")
        found += [f"{trial.row.name}, {left.where}: {text}" for text in trial.faults(left.disk, left.shown, kill=True)]
    return found


def check_power_losses(trial: Trial, *, limit: int = ALL_SUBSETS_UP_TO) -> list[str]:
    """Checks every state that a power loss leaves."""
    found: list[str] = []
    for left in power_losses(trial, limit=limit):
        tally.count("power-loss states")
        found += [f"{trial.row.name}, {left.where}: {text}" for text in trial.faults(left.disk, left.shown, kill=False)]
    return found


def check_kills_of_the_repeat(trial: Trial, *, at_most: int) -> list[str]:
    """Kills the call that comes after an interrupted one, too; from about so many of the different states."""
    found: list[str] = []
    first: dict[object, Left] = {}
    for left in itertools.chain(kills(trial, trial.start), power_losses(trial, limit=limit_of(trial.row))):
        # What is done by a journal and calling again does once more is another change: a row of its own.
        if not trial.row.journal or trial.row.settles or view_of(left.disk) != trial.new:
            first.setdefault((left.disk.key, left.shown), left)
    states = list(first.values())
    for left in states[:: max(1, len(states) // at_most)]:
        for again in kills(trial, functools.partial(trial.stage.put, left.disk), ids=SECOND_IDS):
            tally.count("states of a second kill")
            faults = trial.faults(again.disk, f"{left.shown}\n{again.shown}", kill=True)
            found += [f"{trial.row.name}, {left.where}, then {again.where}: {text}" for text in faults]
    return found


def check_errors(trial: Trial, codes: tuple[int, ...] = CODES_OF_DISKS, *, for_good: bool = False) -> list[str]:
    """Lets each primitive of the row's call fail with each errno; with `for_good`, every change after it too."""
    found: list[str] = []
    for n in itertools.count(1):
        failed = False
        for code in codes:
            trial.start()
            failing = functools.partial(FailingFileSystem, n=n, code=code, for_good=for_good)
            answer = trial.call(*trial.row.argv, files=failing, ids=FIRST_IDS)
            if not answer.files.failed:
                break
            failed = True
            tally.count("error points")
            where = f"{trial.row.name}, {errno.errorcode[code]} at {n}: {answer.files.failed[0]}"
            found += [f"{where}: {text}" for text in _faults_of_error(trial, answer)]
        if not failed:
            return found
    raise AssertionError("never comes here")


def _faults_of_error(trial: Trial, answer: Answer) -> list[str]:
    """Returns what is wrong with a call whose disk failed: with its answer, and with what it left."""
    disk = trial.stage.disk()
    view = view_of(disk)
    found = faults_of_answer(answer, trial.undisturbed)
    same = _without_warnings(answer) == _without_warnings(trial.undisturbed)
    absorbed = answer.status == trial.undisturbed.status and same
    if not any(step.name == "remove" for step in answer.files.failed):
        before = set(temporaries(trial.before))
        found += [f"left behind: {path}" for path in temporaries(disk) if path not in before]
    if trial.row.journal:
        found += faults_of_code(trial, view, answer, "" if absorbed else answer.code)
    elif trial.row.keeps_messages and not absorbed and answer.status != 0 and answer.code not in _UNDONE:
        messages = {name: channel.messages for name, channel in view.channels.items() if channel.messages}
        were = {name: channel.messages for name, channel in trial.old.channels.items() if channel.messages}
        if messages != were:
            found.append(f"published, though it says {answer.code}")
    is_page = isinstance(answer.data.get("messages"), list)
    shown = answer.out if absorbed or is_page else ""
    return found + trial.faults(disk, shown, kill=True)


def _without_warnings(answer: Answer) -> dict[str, Any]:
    return {key: value for key, value in answer.data.items() if key != "warnings"}


def faults_of_answer(answer: Answer, healthy: Answer) -> list[str]:
    """Returns what is wrong with the answer of a call whose disk failed.

    It is an error with a stable code, or the very answer of a healthy disk, where the failure did not matter.
    """
    text = answer.out + answer.err
    if "Traceback" in text or answer.status not in (0, 1, 2):
        return [f"it ends with {answer.status}: {text}"]
    if answer.status == 2:
        return [] if answer.code in CODES else [f"it fails without a code: {text}"]
    if answer.status == healthy.status and answer.out == healthy.out:
        return []
    if "findings" in answer.data and answer.status == 1 and answer.data["findings"]:
        return []  # the doctor names what cannot be read
    warned = set(answer.data.get("warnings", ())) > set(healthy.data.get("warnings", ()))
    if answer.status == healthy.status and _without_warnings(answer) == _without_warnings(healthy) and warned:
        return []  # what failed was no part of what was asked, and is said all the same
    more = set(answer.data.get("warnings", ())) - set(healthy.data.get("warnings", ()))
    if answer.status == healthy.status and more and shows_only_less(answer.data, healthy.data):
        return []
    return [f"a failing disk is answered with {answer.status}: {text}"]


def shows_only_less(shown: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Tells whether a state that could not be read in full shows of the whole one only less, and null for "not read".

    What is less is named. Of an item whose record could not be read it may show less too, and a blocker is open again
    where its resolution could not be read.
    """
    if "as_of" not in whole or set(shown) != set(whole):
        return False
    told = {name for field in shown["incomplete"] for name in (field, *_COUNTED.get(field, ()))}
    if any(shown[name] != whole[name] for name in set(whole) - told - {"incomplete", "warnings"}):
        return False
    whole = {**whole, "blockers": whole["blockers"] + whole["resolved_blockers"]}
    return all(_is_part(shown[name], whole[name]) for name in told)


def _is_part(value: object, whole: object) -> bool:
    if isinstance(value, list) and isinstance(whole, list):
        return {_name_of_item(item) for item in value} <= {_name_of_item(item) for item in whole}
    if isinstance(value, dict) and isinstance(whole, dict):
        return all(name in whole and _is_part(value[name], whole[name]) for name in value)
    if isinstance(value, int) and isinstance(whole, int):
        return value <= whole
    return value is None or value == whole


def _name_of_item(item: dict[str, Any]) -> object:
    return next(item[key] for key in ("seq", "task", "id", "lock_id") if key in item)
