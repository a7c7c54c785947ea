"""The loop over a `.lock` that is deleted while a change is made, so that a second process can be at it too.

That both are at it cannot be prevented. But no entry is settled by a process that made another, nobody says wrongly
that nothing was changed, and no record is written without an entry that tells of it.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from typing import TYPE_CHECKING

from agent_chat.records import journal_entry
from tests.crash.journal_checks import held_twice
from tests.crash.journal_turns import row_named
from tests.support import tally
from tests.support.staging import Stage, screens
from tests.support.stepping import SLEEP, Player
from tests.support.views import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crash.row import Row
    from tests.support.disks import Disk
    from tests.support.staging import Answer

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
# What says that a call found no way to begin.
REFUSED = ("LEASE_CONFLICT", "PATH_LOCK_CONFLICT", "LEASE_TRANSACTION_PENDING", "PATH_LOCK_TRANSACTION_PENDING")
PAIRS = [(name, second) for name, seconds in SECONDS.items() for second in seconds]


class _Watched:
    """One of two calls, watched before each step: whose entry it settles, and what tells of the records it writes."""

    def __init__(self, stage: Stage, row: Row, argv: tuple[str, ...]) -> None:
        self.player = Player(stage, argv)
        self.faults: list[str] = []
        self.own = ""
        self._channel = os.path.join(stage.root, "dev")
        self._entry = os.path.join(self._channel, row.journal, "audit", ".pending.md")

    def step(self) -> bool:
        """Carries out the next step; False when there is none left."""
        if self.player.next is not None and self.player.next.name in ("replace", "remove", "link"):
            self._look(*self.player.next.args)
        return self.player.step()

    def go_on(self) -> None:
        """Goes on to the end, or to where it waits for the other."""
        waits = False
        while not waits and self.player.next is not None:
            waits = self.player.next == SLEEP
            self.step()

    def _look(self, *paths: str) -> None:
        step, target = self.player.next, paths[-1]
        folder, name = os.path.split(os.path.relpath(target, self._channel).replace(os.sep, "/"))
        pending = _id_and_records(self._entry)
        if target == self._entry and len(paths) > 1:
            self.own = _id_and_records(paths[0])[0]
        elif self._entry in paths and pending[0] != self.own:
            self.faults.append(f"{step}: it settles the entry of another")
        elif folder in ("tasks", "claims", "locks") and (
            pending[0] != self.own or f"{folder}/{name}" not in pending[1]
        ):
            self.faults.append(f"{step}: no entry of its own tells of it")


def _id_and_records(path: str) -> tuple[str, tuple[str, ...]]:
    """Returns the id of an entry and the records that it tells of; empty where there is none."""
    try:
        with open(path, "rb") as stream:
            entry = journal_entry.parse(stream.read())
    except FileNotFoundError:
        return "", ()
    return entry.id, tuple(change.path for change in entry.changes)


def check_deleted_lock(folder: Path, name: str, second: tuple[str, ...], *, stride: int = 0) -> list[str]:
    """Deletes the lock before each step of a call, and makes a second one.

    The second is made at once; with a `stride` it is also held up at every so many of its steps until the first ended.
    """
    row = row_named(name)
    stage = Stage(str(folder / "root"))
    row.prepare(stage)
    disk = stage.disk()
    found: list[str] = []
    for n in itertools.count():
        for m in _hold_ups(stride):
            stage.put(disk)
            one, other, ended = _play(stage, row, second, n, m)
            tally.count("interleavings")
            where = f"{name}, then {' '.join(second[:2])}, at {n} and {m}"
            texts = [*one.faults, *other.faults]
            answers = {_actor(row.argv): one.player.answers[0], _actor(second): other.player.answers[0]}
            texts += _of_end(stage, row, disk, answers)
            found += [f"{where}: {text}" for text in texts]
            if ended[1]:
                break
        if ended[0]:
            return found
    raise AssertionError("never comes here")


def _actor(argv: tuple[str, ...]) -> str:
    return argv[argv.index("--as") + 1]


def _hold_ups(stride: int) -> Iterator[int]:
    return itertools.count(0, stride) if stride else iter((10**6,))


def _play(
    stage: Stage, row: Row, second: tuple[str, ...], n: int, m: int
) -> tuple[_Watched, _Watched, tuple[bool, bool]]:
    """Returns the two calls, and whether each had ended when it was held up."""
    with screens():
        one = _Watched(stage, row, row.argv)
        ended = not all(one.step() for _ in range(n))
        lock = os.path.join(stage.root, "dev", ".lock")
        if os.path.exists(lock):
            os.unlink(lock)
        other = _Watched(stage, row, second)
        done = not all(other.step() for _ in range(m))
        while one.player.next is not None or other.player.next is not None:
            one.go_on()
            other.go_on()
    for each in (one, other):
        each.player.join()
    return one, other, (ended, done)


def _of_end(stage: Stage, row: Row, start: Disk, answers: dict[str, Answer]) -> list[str]:
    """What each was told is true, and one recovery settles what is left; then nothing is two agents'."""
    found: list[str] = []
    before, after = (_deeds(disk, row.journal) for disk in (start, stage.disk()))
    for actor, answer in answers.items():
        made = after.get(actor, 0) - before.get(actor, 0)
        if answer.status not in (0, 2) or (answer.status == 0) > made:
            found.append(f"{actor} is answered with {answer.status}: {answer.out}{answer.err}, and {made} are told")
        if made and ("nothing was changed" in answer.out or answer.code in REFUSED):
            found.append(f"{actor} is told {answer.out}, and {made} are told of")
    settled = stage.call(*row.settle)
    if settled.status != 0:
        found.append(f"the recovery ends with {settled.status}: {settled.out}")
    end = view_of(stage.disk())
    return [*found, *held_twice(end), *(f"partial: {text}" for text in end.broken)]


def _deeds(disk: Disk, journal: str) -> Counter[str]:
    """Returns how many entries of each actor, pending or filed, and how many of its messages there are."""
    channel = view_of(disk).channels["dev"]
    filed = [deed for name, deed in channel.records.filed if name == journal]
    pending = [deed for name, deed in channel.records.pending.items() if name == journal]
    found = Counter(deed.actor for deed in (*filed, *pending))
    found.update(message.sender for message in channel.messages.values() if message.transaction)
    return found
