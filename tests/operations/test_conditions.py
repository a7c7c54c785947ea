"""Waiting for a task or a path: what ends it, what can never end it, and that no wait outlives its time."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse
from agent_chat.operations import conditions, path_locks
from agent_chat.operations import recovery as recovering
from agent_chat.operations.leases import Actor
from agent_chat.records.task import BLOCKED, CANCELLED, DONE, IN_PROGRESS, OPEN
from agent_chat.storage.channel import Channel
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.journal import OF_LOCKS
from tests.operations.lock_room import ANNOUNCED, LEGACY_ID, UNANNOUNCED, LockRoom, legacy_lock
from tests.operations.task_room import next_of, refused
from tests.support.cli import START, workspace_on
from tests.support.leases import BootClock
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.errors import ChatError
    from agent_chat.operations.conditions import PathOutcome, TaskOutcome

INTERVAL = 0.25
LATEST = INTERVAL + conditions.LONGEST_TRUST_SECONDS


class SleepingClock(BootClock):
    """A clock that sleeping turns; what others do meanwhile happens while it sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[float, Callable[[], object]]] = []

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Lets something happen so many seconds after the start."""
        self._due.append((START + seconds, act))

    def sleep(self, seconds: float) -> None:
        """Turns both clocks, and lets happen what is due."""
        self.slept.append(seconds)
        self.turn(seconds)
        due = [act for when, act in self._due if when <= self.now()]
        self._due = [each for each in self._due if each[0] > self.now()]
        for act in due:
            act()

    @property
    def waited(self) -> float:
        """How long was slept."""
        return sum(self.slept)


class WaitingRoom(LockRoom):
    """A room whose clock is turned by waiting."""

    clock: SleepingClock

    def __init__(self, base: Path, **fields: Any) -> None:
        super().__init__(base, **fields)
        self.clock = SleepingClock()
        files = RecordingFileSystem(str(self.root), self.clock)
        self.workspace = workspace_on(self.root, clock=self.clock, files=files)

    def wait_task(self, id: str = "T-1", *, timeout: float = 110.0, interval: float = INTERVAL) -> TaskOutcome:
        """Waits for a task as carol."""
        return conditions.wait_for_task(self.reopened(), "carol", id, timeout=timeout, interval=interval)

    def wait_path(
        self, path: str = "a.py", agent: str = "carol", *, timeout: float = 110.0, interval: float = INTERVAL
    ) -> PathOutcome:
        """Waits for a path."""
        located = self.locate(path)
        return conditions.wait_for_path(self.reopened(), agent, located, timeout=timeout, interval=interval)


@pytest.fixture
def room(tmp_path: Path) -> WaitingRoom:
    return WaitingRoom(tmp_path)


def stopped(room: WaitingRoom, code: str, act: Callable[[], object], least: float, most: float) -> ChatError:
    """The refusal that ends a wait after some time; what it says to do next can be run."""
    error = refused(code, act)
    assert least <= room.clock.waited <= most
    assert error.next is not None
    parse(shlex.split(next_of(error)), COMMANDS)
    return error


# --- a task ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [DONE, CANCELLED, OPEN])
def test_what_is_so_already_ends_the_wait_at_once(room: WaitingRoom, status: str) -> None:
    room.at(status)
    outcome = room.wait_task()
    assert (outcome.view.task.status, outcome.timed_out, outcome.warnings) == (status, False, ())
    assert outcome.view.ready == (status == OPEN)
    assert room.clock.slept == []


@pytest.mark.parametrize(
    ("command", "status", "ready"), [("done", DONE, False), ("cancel", CANCELLED, False), ("release", OPEN, True)]
)
def test_it_ends_when_the_task_does_or_is_given_back(room: WaitingRoom, command: str, status: str, ready: bool) -> None:
    room.create()
    room.claim()
    room.clock.after(7, lambda: room.act(command))
    outcome = room.wait_task()
    assert (outcome.view.task.status, outcome.view.ready, outcome.timed_out) == (status, ready, False)
    assert 7 <= room.clock.waited <= 7 + LATEST


def test_it_ends_when_the_last_dependency_is_done(room: WaitingRoom) -> None:
    room.at(IN_PROGRESS, "A")
    room.at(IN_PROGRESS, "B")
    room.create(depends_on=("A", "B"))
    room.clock.after(3, lambda: room.update("A", status=DONE))
    room.clock.after(9, lambda: room.update("B", status=DONE))
    outcome = room.wait_task()
    assert (outcome.view.ready, outcome.view.waiting_for) == (True, ())
    assert 9 <= room.clock.waited <= 9 + LATEST


def test_a_lease_that_runs_out_ends_it_though_no_file_changes(room: WaitingRoom) -> None:
    room.create()
    room.claim(lease="40")
    outcome = room.wait_task()
    assert (outcome.view.ready, outcome.timed_out, outcome.view.claim is not None) == (True, False, True)
    assert 40 <= room.clock.waited <= 40 + LATEST


@pytest.mark.parametrize("status", [IN_PROGRESS, BLOCKED])
def test_what_is_under_way_or_blocked_is_waited_for(room: WaitingRoom, status: str) -> None:
    room.at(status)
    outcome = room.wait_task(timeout=5)
    assert (outcome.timed_out, outcome.view.task.status) == (True, status)


@pytest.mark.parametrize(("id", "code"), [("T-9", "TASK_NOT_FOUND"), ("a b", "TASK_INVALID_ARGUMENT")])
def test_an_unknown_task_is_refused_at_once(room: WaitingRoom, id: str, code: str) -> None:
    refused(code, lambda: room.wait_task(id), room)
    assert room.clock.slept == []


def test_a_task_that_goes_is_not_waited_for(room: WaitingRoom) -> None:
    room.at(IN_PROGRESS)
    room.clock.after(3, (room.folder / "tasks" / "T-1.json").unlink)
    refused("TASK_NOT_FOUND", room.wait_task)
    assert 3 <= room.clock.waited <= 3 + LATEST


@pytest.mark.parametrize("how", ["cancelled", "missing"])
@pytest.mark.parametrize("when", [0, 6])
def test_a_dependency_that_will_not_be_done_is_refused(room: WaitingRoom, how: str, when: int) -> None:
    room.at(IN_PROGRESS, "A")
    room.create(depends_on=("A",))

    def end() -> None:
        if how == "cancelled":
            room.update("A", status=CANCELLED)
        else:
            (room.folder / "tasks" / "A.json").unlink()

    if when:
        room.clock.after(when, end)
    else:
        end()
    error = stopped(room, "TASK_DEPENDENCY_NOT_READY", room.wait_task, when, when + LATEST if when else 0)
    assert error.details["waiting_for"] == [{"id": "A", "status": how}]
    assert next_of(error) == "task show dev T-1"
    if not when:
        refused("TASK_DEPENDENCY_NOT_READY", room.wait_task, room)  # and nothing is made for it


def test_what_is_under_way_is_waited_for_whatever_became_of_its_dependencies(room: WaitingRoom) -> None:
    room.at(DONE, "A")
    room.create(depends_on=("A",))
    room.claim()
    (room.folder / "tasks" / "A.json").unlink()
    assert room.wait_task(timeout=3).timed_out


def test_a_pending_change_is_told_and_waited_for(room: WaitingRoom) -> None:
    room.create()
    room.put("tasks/audit/.pending.md", b"torn")
    outcome = room.wait_task(timeout=3)
    assert (outcome.timed_out, outcome.view.ready, outcome.view.pending) == (True, False, True)
    (warning,) = outcome.warnings
    assert "a damaged entry is pending" in warning


# --- a path ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["carol", "bob", "BOB"])
def test_a_free_path_and_ones_own_end_the_wait_at_once(room: WaitingRoom, agent: str) -> None:
    room.held("other.py" if agent == "carol" else "a.py")
    outcome = room.wait_path(agent=agent)
    assert (outcome.checked.locks, outcome.timed_out, outcome.warnings) == ((), False, ())
    assert room.clock.slept == []


@pytest.mark.parametrize("held", ["a.py", "."])
def test_it_ends_when_the_path_is_given_back(room: WaitingRoom, held: str) -> None:
    id = room.held(held)
    room.clock.after(7, lambda: room.unlock(id))
    outcome = room.wait_path()
    assert (outcome.checked.locks, outcome.timed_out) == ((), False)
    assert 7 <= room.clock.waited <= 7 + LATEST


def test_whoever_is_quicker_is_waited_for_too(room: WaitingRoom) -> None:
    first = room.held("a.py")
    room.clock.after(3, lambda: (room.unlock(first), room.lock("a.py", actor="dora")))
    room.clock.after(8, lambda: room.unlock("a.py", "dora"))
    assert not room.wait_path().timed_out
    assert 8 <= room.clock.waited <= 8 + LATEST


@pytest.mark.parametrize("lease", ["0.5", "40"])
def test_a_lock_that_runs_out_is_to_be_recovered_and_ends_by_nothing_else(room: WaitingRoom, lease: str) -> None:
    id = room.held("a.py", lease=lease)
    error = stopped(room, "PATH_LOCK_RECOVERY_REQUIRED", room.wait_path, float(lease), float(lease) + LATEST)
    assert next_of(error) == f"recover dev {id} --as carol --reason 'taking over'"
    refused("PATH_LOCK_RECOVERY_REQUIRED", room.wait_path, room)  # at once, and nothing is made for it
    own = refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.wait_path(agent="bob"), room)
    assert next_of(own) == f"recover dev {id} --as bob --reason 'taking over'"  # its owner can do no less


def test_a_suspect_lock_is_to_be_recovered(room: WaitingRoom) -> None:
    room.held("a.py")
    room.clock.reboot()
    room.clock.step(-86400)
    error = stopped(room, "PATH_LOCK_RECOVERY_REQUIRED", room.wait_path, 0, 0)
    assert "is suspect" in error.message


def test_a_damaged_lock_ends_by_nothing_that_others_do(room: WaitingRoom) -> None:
    room.put(f"locks/{LEGACY_ID}.json", legacy_lock("a.py", expires_at="soon"))
    error = stopped(room, "PATH_LOCK_INVALID_RECORD", room.wait_path, 0, 0)
    assert next_of(error) == "doctor dev"
    assert f"dev/locks/{LEGACY_ID}.json" in error.message
    assert room.wait_path("b.py").timed_out is False


def test_while_another_runs_what_ran_out_or_is_damaged_can_wait(room: WaitingRoom) -> None:
    id = room.held("src/")
    room.clock.after(10, lambda: room.unlock(id))
    room.put(f"locks/{LEGACY_ID}.json", legacy_lock("src/a.py", expires_at="soon"))
    stopped(room, "PATH_LOCK_INVALID_RECORD", lambda: room.wait_path("src"), 10, 10 + LATEST)


@pytest.mark.parametrize(("at", "ends"), [(UNANNOUNCED, True), (ANNOUNCED, False)])
def test_a_pending_lock_is_waited_for_until_it_is_settled(room: WaitingRoom, at: int, ends: bool) -> None:
    room.leave_pending(at, "a.py")
    room.clock.after(4, lambda: recovering.recover_pending(room.reopened(), OF_LOCKS, "dora"))
    outcome = room.wait_path(timeout=20)
    assert outcome.timed_out is not ends
    assert len(outcome.checked.locks) == (0 if ends else 1)
    assert room.clock.waited <= (4 + LATEST if ends else 20)
    early = room.wait_path("b.py")
    assert early.warnings == ()


@pytest.mark.parametrize(("at", "owner"), [(UNANNOUNCED, "bob"), (ANNOUNCED, "dora")])
def test_a_lock_that_ran_out_and_is_being_recovered_is_waited_for(room: WaitingRoom, at: int, owner: str) -> None:
    id = room.held("a.py")
    room.clock.turn(301)
    dora = Actor(name="dora")
    room.die(at, lambda channel: path_locks.recover(channel, dora, id, room.locate, "gone", lease_seconds="3"))
    outcome = room.wait_path(timeout=2)
    assert (outcome.timed_out, [each.owner for each in outcome.checked.locks]) == (True, [owner])
    recovering.recover_pending(room.reopened(), OF_LOCKS, "dora")
    refused("PATH_LOCK_RECOVERY_REQUIRED", room.wait_path)


def test_a_pending_lock_that_nobody_settles_is_told(room: WaitingRoom) -> None:
    room.leave_pending(UNANNOUNCED, "a.py")
    outcome = room.wait_path(timeout=3)
    (conflict,) = outcome.checked.locks
    assert (outcome.timed_out, conflict.pending) == (True, True)
    assert "is pending" in outcome.warnings[0]


# --- the time -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [0.0, 0.1, 1.0, 3.3, 110.0])
@pytest.mark.parametrize("interval", [0.01, 0.2, 2.0, 500.0])
def test_no_wait_outlives_its_time(room: WaitingRoom, timeout: float, interval: float) -> None:
    if timeout / interval > 1000:
        interval = 0.2
    room.held("a.py", lease="7200")
    room.at(IN_PROGRESS)
    for wait in (room.wait_path, room.wait_task):
        room.clock.slept.clear()
        assert wait(timeout=timeout, interval=interval).timed_out
        assert room.clock.waited == pytest.approx(timeout)
        assert max(room.clock.slept, default=0) <= interval


def test_it_is_not_looked_again_while_nothing_moves(room: WaitingRoom) -> None:
    """One look a second is made all the same: a lease runs out without a trace."""
    room.held("a.py")
    files = room.workspace.files
    assert isinstance(files, RecordingFileSystem)
    files.log.clear()
    room.wait_path(timeout=20, interval=0.1)
    opened = [step for step in files.log if step.name == "read_file" and str(step).endswith(".json")]
    assert len([step for step in opened if "_meta" not in str(step)]) <= 2 * (20 + 2)


def test_whoever_waits_is_shown_as_waiting_until_it_ends(room: WaitingRoom) -> None:
    channel = room.reopened()

    def is_waiting() -> bool:
        lock = FileLock(channel.workspace.files, channel.layout.waiting("carol"), channel.workspace.clock)
        if not lock.acquire(0):
            return True
        lock.release()
        return False

    room.held("a.py")
    seen: list[bool] = []
    room.clock.after(2, lambda: seen.append(is_waiting()))
    room.clock.after(4, lambda: room.unlock("a.py"))
    room.wait_path()
    room.at(IN_PROGRESS)
    room.wait_task(timeout=1)
    assert (seen, is_waiting()) == ([True], False)


def test_where_waiting_cannot_be_shown_that_is_a_warning(room: WaitingRoom) -> None:
    (room.folder / ".cursors").write_bytes(b"")
    (warning,) = room.wait_path().warnings
    assert warning.startswith("dev does not show carol as waiting: ")


def test_an_error_on_the_way_leaves_nobody_waiting(room: WaitingRoom) -> None:
    room.held("a.py")
    channel: Channel = room.reopened()
    room.clock.after(2, lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        room.wait_path()
    lock = FileLock(channel.workspace.files, channel.layout.waiting("carol"), channel.workspace.clock)
    assert lock.acquire(0)
    lock.release()
