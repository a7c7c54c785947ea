"""The loop over changes of records that meet an error of the disk while somebody looks.

What was shown as made is never undone; what was shown as not made may be made later. One who looks begins at each
moment of the change, is held up there at some step of its own, and goes on when the change has ended.
"""

from __future__ import annotations

import errno
import itertools
from typing import TYPE_CHECKING, NamedTuple

from tests.crash.journal_turns import row_named, shown_of
from tests.support import tally
from tests.support.recording import CHANGES
from tests.support.staging import Stage, screens
from tests.support.stepping import Failing, Player

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crash.row import Row
    from tests.support.disks import Disk
    from tests.support.recording import Step
    from tests.support.staging import Answer

# What is looked at while a change fails: what tells the state before it from the one after it.
LOOKS = {
    "task claim": ("task", "show", "dev", "T"),
    "task done": ("task", "show", "dev", "T"),
    "lock, several paths": ("check", "dev", "a.txt"),
    "unlock": ("locks", "dev"),
}
# An error that passes, and a disk that takes nothing any more.
ERRORS = ((errno.EIO, False), (errno.ENOSPC, True))


class _Scene(NamedTuple):
    """A row on its stage, what is looked at, and what is shown before the change and after it."""

    row: Row
    stage: Stage
    start: Disk
    words: tuple[str, ...]
    old: list[str]
    new: list[str]


def check_looks_beside_a_failing_change(folder: Path, name: str, *, stride: int) -> list[str]:
    """Fails each change of a call in turn, for those who look: at every `stride`-th of their steps they are held up."""
    scene = _scene(folder, name)
    found: list[str] = []
    for n in itertools.count(1):
        failed = False
        for code, for_good in ERRORS:
            failing = Failing(n, code, for_good)
            faults, step = _play(scene, failing, stride)
            failed = failed or step is not None
            how = f"{errno.errorcode[code]}{' for good' if for_good else ''} at change {n}: {step}"
            found += [f"{name}, {how}: {text}" for text in faults]
        if not failed:
            return found
    raise AssertionError("never comes here")


def _scene(folder: Path, name: str) -> _Scene:
    row = row_named(name)
    stage = Stage(str(folder / "root"))
    row.prepare(stage)
    start, words = stage.disk(), LOOKS[name]
    old = shown_of(stage.call(*words), pending=False)
    stage.call(*row.argv)
    new = shown_of(stage.call(*words), pending=False)
    assert old != new
    return _Scene(row, stage, start, words, old, new)


def _play(scene: _Scene, failing: Failing, stride: int) -> tuple[list[str], Step | None]:
    """Returns what is wrong, and the first change that failed, None when there are not so many."""
    scene.stage.put(scene.start)
    with screens():
        writer = Player(scene.stage, scene.row.argv, failing=failing)
        looks = list(_looks(scene, writer, stride))
        for _, player in looks:
            player.finish()
    for player in (writer, *(player for _, player in looks)):
        player.join()
    (answer,) = writer.answers
    shown = [(where, player.answers[0]) for where, player in looks]
    failed = answer.files.failed
    return _of_looks(scene, answer, shown), failed[0] if failed else None


def _looks(scene: _Scene, writer: Player, stride: int) -> Iterator[tuple[str, Player]]:
    """Carries out the change; at each of its moments some begin to look, and each is held up at another step."""
    for moment in itertools.count():
        for steps in itertools.count(0, stride):
            player = Player(scene.stage, scene.words)
            ended = not all(player.step() for _ in range(steps))
            tally.count("interleavings")
            yield f"begun at {moment} and held up at {steps}", player
            if ended:
                break
        if not writer.run_until(lambda step: step.name in CHANGES):
            return


def _of_looks(scene: _Scene, answer: Answer, shown: list[tuple[str, Answer]]) -> list[str]:
    """What was shown is the old state or the new; once it was the new one, it stays, after a recovery too."""
    after = scene.stage.call(*scene.words)
    settled = scene.stage.call(*scene.row.settle)
    end = scene.stage.call(*scene.words)
    found = [f"the recovery ends with {settled.status}: {settled.out}"] if settled.status else []
    states = [shown_of(each, pending=False) for each in (after, end)]
    if states[1] != (scene.new if states[0] == scene.new or answer.status == 0 else states[1]):
        found.append(f"{answer.out} was told and {states[0]} shown, and the recovery made {states[1]}")
    if "nothing was changed" in answer.out and states[1] != scene.old:
        found.append(f"it says {answer.out}, and the state is {states[1]}")
    for where, each in shown:
        text = shown_of(each, pending=False)
        if text not in (scene.old, scene.new) or each.status not in (0, 1):
            found.append(f"{where}: shown is {each.status} {each.out}")
        elif text == scene.new != states[1]:
            found.append(f"{where}: {text} was shown as made, and was undone: {answer.out}")
    return found
