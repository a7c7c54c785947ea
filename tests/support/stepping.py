"""Calls that take turns: each runs on a thread of its own and stops before each of its primitives until it is its turn.

Only one call runs at any time, so an order of turns is one interleaving and runs the same each time.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Callable, NamedTuple, TypeVar

from agent_chat.storage.filesystem import FileSystem
from tests.support.recording import CHANGES, RecordingFileSystem, Step
from tests.support.workspaces import START, FakeClock

if TYPE_CHECKING:
    from agent_chat.storage.workspace import Clock
    from tests.support.staging import Answer, Stage

T = TypeVar("T")
PATIENCE = 20.0
SLEEP = Step("sleep")
LISTED = Step("listed")


class Failing(NamedTuple):
    """Which of a player's changes fails, and with which errno; with `for_good` every later change fails too."""

    nth: int
    code: int
    for_good: bool = False

    def meets(self, count: int) -> bool:
        """Tells whether the change of that number fails."""
        return count == self.nth or (self.for_good and count > self.nth)


class Player:
    """Some command lines, one after the other, that go on only when told to; `next` is what comes on the next turn.

    A listing takes two turns. What others add between them may be listed or missed, each name for itself: it is the
    newest alone that is listed, which is the worst that a file system does.
    """

    def __init__(self, stage: Stage, *calls: tuple[str, ...], failing: Failing | None = None) -> None:
        self.failing = failing
        self.answers: list[Answer] = []
        self.next: Step | None = None
        self.turns = 0
        self._stage = stage
        self._calls = calls
        self._go = threading.Semaphore(0)
        self._reached = threading.Semaphore(0)
        self._failure: BaseException | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._advance()

    def _run(self) -> None:
        self._wait_for_turn()
        try:
            for call in self._calls:
                self.answers.append(self._stage.call(*call, files=self._files, clock=_TurnTaking(self)))
        except BaseException as failure:  # raised again on the thread of the test
            self._failure = failure
        self._ended = True
        self.next = None
        self._reached.release()

    def _files(self, root: str, clock: Clock) -> RecordingFileSystem:
        return SteppingFileSystem(root, clock, self)

    def stop(self, step: Step) -> None:
        """Lets others have their turns; called on the player's own thread, before each step."""
        self.next = step
        self._reached.release()
        self._wait_for_turn()

    def _wait_for_turn(self) -> None:
        if not self._go.acquire(timeout=PATIENCE):
            raise AssertionError("a player was left standing")

    def _advance(self) -> None:
        self._go.release()
        assert self._reached.acquire(timeout=PATIENCE), "a player does not come to its next primitive"
        if self._failure is not None:
            raise self._failure

    def step(self) -> bool:
        """Carries out the next primitive; False when there is none left."""
        if self._ended:
            return False
        self.turns += 1
        self._advance()
        return not self._ended

    def run_until(self, is_met: Callable[[Step], bool]) -> bool:
        """Goes on up to a step that meets a condition, and carries it out; False when the end came first."""
        while self.next is not None:
            met = is_met(self.next)
            self.step()
            if met:
                return True
        return False

    def finish(self) -> None:
        """Goes on to the end."""
        while self.step():
            pass

    def join(self) -> None:
        """Waits for the thread to end."""
        self._thread.join(PATIENCE)


class SteppingFileSystem(RecordingFileSystem):
    """Stops before each primitive until its player has its turn."""

    def __init__(self, root: str, clock: Clock, player: Player) -> None:
        super().__init__(root, clock)
        self._player = player
        self._changes = 0
        self.failed: list[Step] = []

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        self._player.stop(step)
        self._changes += step.name in CHANGES
        failing = self._player.failing
        if failing is not None and step.name in CHANGES and failing.meets(self._changes):
            self.failed.append(step)
            path = next((arg for arg in reversed(step.args) if isinstance(arg, str)), None)
            raise OSError(failing.code, os.strerror(failing.code), path)
        return act()

    def list_folder(self, path: str) -> list[str]:
        early = set(super().list_folder(path))
        self._player.stop(LISTED._replace(args=(path,)))
        late = set(FileSystem.list_folder(self, path))
        return sorted((early & late) | set(sorted(late - early)[-1:]))


class _TurnTaking(FakeClock):
    """A clock whose sleeper lets others have their turns, as one who waits for a lock does."""

    def __init__(self, player: Player) -> None:
        super().__init__(START)
        self._player = player

    def sleep(self, seconds: float) -> None:
        """Sleeps for no time, and lets others go on."""
        self._player.stop(SLEEP)
