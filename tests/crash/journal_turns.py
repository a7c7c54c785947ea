"""The loops over interleavings of changes of records: two who claim or lock the same, and one who looks meanwhile."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

from tests.crash import lock_rows, task_rows
from tests.crash.journal_checks import held_twice
from tests.support import tally
from tests.support.recording import CHANGES, InterveningFileSystem
from tests.support.staging import Stage, screens
from tests.support.stepping import Player
from tests.support.views import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crash.row import Row
    from tests.support.disks import Disk
    from tests.support.recording import Step
    from tests.support.staging import Answer

# Who comes second, and how it may be told that it was too late, or too early.
RIVALS = {
    "task claim": ("task", "claim", "dev", "T", "--as", "carol"),
    "lock, several paths": ("lock", "dev", "a.txt", "b.txt", "--as", "dave"),
}
ALL = 1000
TOLD = ("LEASE_CONFLICT", "PATH_LOCK_CONFLICT", "TASK_LOCK_TIMEOUT", "PATH_LOCK_TIMEOUT")


def row_named(name: str) -> Row:
    """Returns a row by its name."""
    return next(row for row in (*task_rows.ROWS, *lock_rows.ROWS) if row.name == name)


def check_rivals(folder: Path, name: str) -> list[str]:
    """A call that is held up at each of its steps while another wants the same: exactly one gets it."""
    row = row_named(name)
    stage = Stage(str(folder / "root"))
    row.prepare(stage)
    disk = stage.disk()
    found: list[str] = []
    for n in itertools.count(1):
        stage.put(disk)
        other: list[Answer] = []
        act = lambda step: other.append(stage.call(*RIVALS[name]))  # noqa: E731, B023
        one = stage.call(*row.argv, files=functools.partial(InterveningFileSystem, n=n, act=act))
        if not one.files.intervened:
            return found
        tally.count("interleavings")
        found += [f"{name}, held up at {n}: {text}" for text in _of_rivals([one, *other], stage.disk())]
    raise AssertionError("never comes here")


def _of_rivals(answers: list[Answer], disk: Disk) -> list[str]:
    view = view_of(disk)
    won = [answer for answer in answers if answer.status == 0]
    found = [f"{a.status} {a.out}{a.err}" for a in answers if a.status and a.code not in TOLD]
    if len(won) != 1:
        found.append(f"{len(won)} have it")
    if view.channels["dev"].records.pending:
        found.append("something is left pending")
    numbers = [item.seq for item in view.channels["dev"].messages.values()]
    if len(numbers) != len(set(numbers)):
        found.append(f"the numbers are {sorted(numbers)}")
    return found + held_twice(view) + list(view.broken)


def check_looks_beside_a_change(folder: Path, name: str, *, every: bool) -> list[str]:
    """Who looks is held up at each of its steps, while a change goes some way: shown is the old state or the new.

    As long as the message is not out the change can still be undone, so shown is the old state then. With `every` the
    change stops after each of its own changes too, else it is made from its beginning to its end.
    """
    row = row_named(name)
    stage = Stage(str(folder / "root"))
    row.prepare(stage)
    disk = stage.disk()
    found: list[str] = []
    for words in row.looks:
        stage.put(disk)
        old = stage.call(*words)
        stage.call(*row.argv)
        new = stage.call(*words)
        for where, answer, told in _held_up(stage, disk, words, row.argv, every=every):
            tally.count("interleavings")
            # A task that could be claimed is not offered while a change of it is pending.
            either = told or words == task_rows.READY
            allowed = [shown_of(old), shown_of(new)] if either else [shown_of(old)]
            if shown_of(answer, pending=told) not in allowed or answer.status == 2 != old.status:
                found.append(f"{name}, {' '.join(words)}, {where}: {answer.out}")
            odd = [text for text in answer.data.get("warnings", ()) if "pending" not in text]
            found += [f"{name}, {' '.join(words)}, {where}: it warns: {text}" for text in odd]
    return found


def shown_of(answer: Answer, *, pending: bool = True) -> list[str]:
    """Returns whose each shown record is, and its status; without what is in the way because it is pending."""
    data = answer.data
    items: list[dict[str, Any]] = data.get("tasks") or data.get("locks") or data.get("conflicts") or []
    if "conflicts" in data and not pending:
        items = [item for item in items if not item.get("pending")]
    items = [item for item in (*items, data.get("task"), data.get("claim")) if item]
    return sorted(f"{item['owner']} {item.get('status')}" for item in items)


def _held_up(
    stage: Stage, disk: Disk, words: tuple[str, ...], change: tuple[str, ...], *, every: bool
) -> Iterator[tuple[str, Answer, bool]]:
    for i in itertools.count():
        for j in itertools.count() if every else (ALL,):
            ended, answer, told = _look(stage, disk, words, change, i, j)
            yield f"held up at {i} while {j} things change", answer, told
            if ended[1]:
                break
        if ended[0]:
            return


def _look(
    stage: Stage, disk: Disk, words: tuple[str, ...], change: tuple[str, ...], i: int, j: int
) -> tuple[tuple[bool, bool], Answer, bool]:
    """Returns whether each of the two was at its end, what was shown, and whether the message was out by then."""
    stage.put(disk)
    with screens():
        reader = Player(stage, words)
        ended = not all(reader.step() for _ in range(i))
        writer = Player(stage, change)
        done = not all(writer.run_until(_is_change) for _ in range(j))
        reader.finish()
        told = len(view_of(stage.disk()).channels["dev"].messages) > len(view_of(disk).channels["dev"].messages)
        writer.finish()
    for player in (reader, writer):
        player.join()
    return (ended, done), reader.answers[0], told


def _is_change(step: Step) -> bool:
    return step.name in CHANGES
