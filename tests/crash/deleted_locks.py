"""The loop over a `.lock` that is deleted while a change is made, so that a second process can be at it too.

That both are at it cannot be prevented. But no entry is settled by a process that made another, nobody says wrongly that
nothing was changed, and no record is written without an entry that tells of it.
"""

from __future__ import annotations

import functools
import itertools
import os
from typing import TYPE_CHECKING, Callable, NamedTuple, TypeVar

from agent_chat.records import journal_entry
from tests.crash.journal_turns import row_named
from tests.support import tally
from tests.support.journal_views import JOURNALS
from tests.support.recording import RecordingFileSystem, Step
from tests.support.staging import Stage
from tests.support.views import view_of

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.records.journal_entry import Entry
    from agent_chat.storage.workspace import Clock
    from tests.crash.row import Row
    from tests.support.staging import Answer

T = TypeVar("T")

# Who comes second: who wants the same, and who changes something else of the same journal.
SECONDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "task claim": (
        ("task", "claim", "dev", "T", "--as", "carol"),
        ("task", "update", "dev", "U", "--as", "alice", "--title", "Better"),
    ),
    "lock, several paths": (
        ("lock", "dev", "a.txt", "b.txt", "--as", "dave"),
        ("lock", "dev", "quite/another.txt", "--as", "dave"),
    ),
}
RECOVERIES = {"task claim": "task recover-pending", "lock, several paths": "recover-pending"}


class _Watching(RecordingFileSystem):
    """Tells of each record that is written whether the pending entry tells of it, and of each entry whose it is."""

    def __init__(self, root: str, clock: Clock, *, n: int, act: Callable[[], object], journal: str) -> None:
        super().__init__(root, clock)
        self._n, self._act = n, act
        self._entry = os.path.join(root, "dev", JOURNALS_ENTRIES[journal])
        self.own: str = ""
        self.intervened = False
        self.faults: list[str] = []

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if self.count == self._n:
            self.intervened = True
            self._act()
        if step.name in ("replace", "remove", "link"):
            self._look(step)
        return act()

    def _look(self, step: Step) -> None:
        target = step.args[0] if step.name == "remove" else step.args[1]
        pending = _pending(self._entry)
        if step.name == "link" and target == self._entry:
            with open(step.args[0], "rb") as stream:
                self.own = journal_entry.parse(stream.read()).id
        elif self._entry in step.args:  # undone, or filed
            if pending is None or pending.id != self.own:
                self.faults.append(f"{step}: it settles the entry of another")
        elif target.endswith(".json") and os.path.basename(os.path.dirname(target)) in ("tasks", "claims", "locks"):
            place = os.path.relpath(target, os.path.join(self.root, "dev")).replace(os.sep, "/")
            if pending is None or pending.id != self.own or place not in [each.path for each in pending.changes]:
                self.faults.append(f"{step}: no entry of its own tells of it")


JOURNALS_ENTRIES = {name: f"{name}/audit/.pending.md" for name in JOURNALS}


def _pending(path: str) -> Entry | None:
    try:
        with open(path, "rb") as stream:
            return journal_entry.parse(stream.read())
    except FileNotFoundError:
        return None


class _Played(NamedTuple):
    """What two calls came to: each with its answer and what its file system saw."""

    one: Answer
    other: Answer


def check_deleted_lock(folder: Path, name: str, second: tuple[str, ...], *, stride: int = 0) -> list[str]:
    """Deletes the lock before each step of a call, and makes a second one.

    The second is made at once, or, with a `stride`, it is itself held up at every so many of its steps until the first
    has ended.
    """
    row = row_named(name)
    stage = Stage(str(folder / "root"))
    row.prepare(stage)
    disk = stage.disk()
    found: list[str] = []
    for n in itertools.count(1):
        for m in itertools.count(1, stride) if stride else (0,):
            stage.put(disk)
            played = _play(stage, row, second, n, m)
            if played is None:
                break
            tally.count("interleavings")
            where = f"{name}, {' '.join(second[:3])}, the lock deleted before {n}{f', held up at {m}' if m else ''}"
            found += [f"{where}: {text}" for text in _of_both(stage, row, played)]
        if played is None and m <= 1:
            return found
    raise AssertionError("never comes here")
