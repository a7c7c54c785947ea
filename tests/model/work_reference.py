"""The reference of work: tasks, who holds them, and what each call must make of them, in dictionaries and few lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_SECONDS = 300.0
FOLLOWS = {
    "open": ("in_progress", "blocked", "cancelled"),
    "in_progress": ("open", "blocked", "done", "cancelled"),
    "blocked": ("open", "in_progress", "cancelled"),
    "done": (),
    "cancelled": (),
}


class Now(NamedTuple):
    """One instant: by the wall clock, which may be set, and by the clock of the boot, which goes on."""

    wall: float
    boot: float


class Who(NamedTuple):
    """Who asks, by the name that the channel knows, and with what."""

    name: str
    session: str | None = None
    fence: int | None = None


class Hold(NamedTuple):
    """Who holds a task or a lock; it ends by the clock of the boot, whatever its record tells by the wall clock."""

    owner: str
    session: str | None
    fence: int
    since: int
    ends: float
    seconds: float
    tells: int
    granted: int
    previous: tuple[str, int, str] | None = None

    def runs(self, now: Now) -> bool:
        """Whether its lease has not run out."""
        return now.boot < self.ends

    def anew(self, now: Now, seconds: float) -> Hold:
        """The same with a lease that begins now."""
        return self._replace(
            ends=now.boot + seconds,
            seconds=seconds,
            tells=math.ceil(now.wall + seconds),
            granted=math.floor(now.wall),
        )


class Task(NamedTuple):
    """One task, with its claim."""

    id: str
    title: str
    creator: str
    updated: int
    status: str = "open"
    owner: str | None = None
    depends_on: tuple[str, ...] = ()
    hold: Hold | None = None


class Lock(NamedTuple):
    """One path lock; its paths with their kinds."""

    id: str
    paths: frozenset[tuple[str, str]]
    hold: Hold
    reason: str | None = None


class Step(NamedTuple):
    """What a call makes of the records: the record afterwards, None when it goes, and the event that is told.

    No event means that nothing changes.
    """

    key: str
    record: Task | Lock | None
    event: str = ""


class RefusedError(Exception):
    """The call must be refused with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Lease(NamedTuple):
    """What a call that grants something gets: the time, the length of the lease, and the number of its message."""

    now: Now
    seconds: float | None
    seq: int

    def granted(self, who: Who, previous: tuple[str, int, str] | None = None) -> Hold:
        """A new hold of whoever asks."""
        hold = Hold(who.name, who.session, self.seq, math.floor(self.now.wall), 0, 0, 0, 0, previous)
        return hold.anew(self.now, self.seconds or DEFAULT_SECONDS)

    def renewed(self, hold: Hold) -> Hold:
        """The same hold, for its own length where none is given."""
        return hold.anew(self.now, self.seconds or hold.seconds)


def key_of(task_id: str) -> str:
    """Two ids that differ in case only are one."""
    return task_id.upper()


def require_holder(hold: Hold, who: Who, noun: str) -> None:
    """Only its owner may touch what is held: in the session of the claim, or with its fence; never with another."""
    strange = hold.session not in (None, who.session) if who.fence is None else who.fence != hold.fence
    if hold.owner != who.name or strange:
        raise RefusedError(f"{noun}_OWNER_MISMATCH")


def require_rights(hold: Hold, who: Who, now: Now, noun: str) -> None:
    """What only the holder may do, and only before the lease has run out."""
    require_holder(hold, who, noun)
    if not hold.runs(now):
        raise RefusedError(f"{noun}_RECOVERY_REQUIRED")


class Tasks:
    """The rules of tasks and claims, over the tasks by the upper case of their ids."""

    def __init__(self, tasks: dict[str, Task]) -> None:
        self.tasks = tasks

    def task(self, task_id: str) -> Task:
        """The task of an id."""
        if key_of(task_id) not in self.tasks:
            raise RefusedError("TASK_NOT_FOUND")
        return self.tasks[key_of(task_id)]

    def waits(self, task: Task) -> list[tuple[str, str]]:
        """What a task waits for: dependencies that are not done, with their status."""
        found = [(each, self.tasks[key_of(each)].status) for each in task.depends_on]
        return [(each, status) for each, status in found if status != "done"]

    def ready(self, task: Task, now: Now) -> bool:
        """Whether a task can be claimed, or recovered."""
        if self.waits(task) or task.status not in ("open", "in_progress"):
            return False
        return task.status == "open" if task.hold is None else not task.hold.runs(now)

    def create(self, task_id: str, who: Who, now: Now, title: str, depends_on: Sequence[str]) -> Step:
        """Makes a task."""
        if key_of(task_id) in self.tasks:
            raise RefusedError("TASK_ALREADY_EXISTS")
        task = Task(task_id, title, who.name, math.floor(now.wall))
        return Step(key_of(task_id), task._replace(depends_on=self._dependencies(task, depends_on)), "task.created")

    def _dependencies(self, task: Task, wanted: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for each in wanted:
            if key_of(each) == key_of(task.id):
                raise RefusedError("TASK_DEPENDENCY_CYCLE")
            if key_of(each) not in self.tasks:
                raise RefusedError("TASK_UNKNOWN_DEPENDENCY")
            found.append(self.tasks[key_of(each)].id)
        reached = set(found)
        for _ in self.tasks:
            reached |= {below for each in reached for below in self.tasks[key_of(each)].depends_on}
        if task.id in reached:
            raise RefusedError("TASK_DEPENDENCY_CYCLE")
        return tuple(dict.fromkeys(found))

    def _enter(self, task: Task, status: str) -> None:
        """Refuses a status that does not follow, or that has to wait."""
        if status not in (task.status, *FOLLOWS[task.status]):
            raise RefusedError("TASK_INVALID_TRANSITION")

    def _wait(self, task: Task, status: str) -> None:
        if status != task.status and status in ("in_progress", "done") and self.waits(task):
            raise RefusedError("TASK_DEPENDENCY_NOT_READY")

    def update(
        self,
        task_id: str,
        now: Now,
        *,
        title: str | None,
        owner: str | None,
        depends_on: Sequence[str] | None,
        status: str | None,
        clear: bool,
    ) -> Step:
        """Changes fields of a task; `clear` takes its owner away."""
        if (title, owner, depends_on, status, clear) == (None, None, None, None, False) or (clear and owner):
            raise RefusedError("TASK_INVALID_UPDATE")
        task = self.task(task_id)
        changed = task._replace(title=title or task.title, owner=None if clear else owner or task.owner)
        if depends_on is not None:
            changed = changed._replace(depends_on=self._dependencies(task, depends_on))
        if status is not None:
            self._enter(task, status)
            self._wait(changed, status)
            changed = changed._replace(status=status)
        if changed == task:
            return Step(key_of(task_id), task)
        if task.hold is not None and (changed.owner, changed.status) != (task.owner, task.status):
            raise RefusedError("LEASE_MUTATION_REQUIRED")
        return Step(key_of(task_id), changed._replace(updated=math.floor(now.wall)), "task.updated")

    def claim(self, task_id: str, who: Who, lease: Lease) -> Step:
        """Takes a task to in_progress."""
        task = self.task(task_id)
        self._enter(task, "in_progress")
        hold = task.hold
        if hold is not None:
            if not hold.runs(lease.now):
                raise RefusedError("LEASE_RECOVERY_REQUIRED")
            if hold.owner != who.name:
                raise RefusedError("LEASE_CONFLICT")
            require_rights(hold, who, lease.now, "LEASE")
            if task.status != "blocked":
                raise RefusedError("LEASE_CONFLICT")
        elif task.owner not in (None, who.name):
            raise RefusedError("LEASE_CONFLICT")
        if self.waits(task):
            raise RefusedError("TASK_DEPENDENCY_NOT_READY")
        return self._held(task, "in_progress", lease.granted(who), "lease.claimed", lease.now)

    def renew(self, task_id: str, who: Who, lease: Lease) -> Step:
        """Makes the lease run anew."""
        task = self.task(task_id)
        if task.hold is None:
            raise RefusedError("LEASE_NOT_FOUND")
        require_rights(task.hold, who, lease.now, "LEASE")
        return self._held(task, task.status, lease.renewed(task.hold), "lease.renewed", lease.now)

    def recover(self, task_id: str, who: Who, lease: Lease, why: str) -> Step:
        """Gives a task whose lease has run out to whoever asks."""
        task = self.task(task_id)
        if task.hold is None:
            raise RefusedError("LEASE_NOT_FOUND")
        if task.hold.runs(lease.now):
            raise RefusedError("LEASE_NOT_EXPIRED")
        if who.fence not in (None, task.hold.fence):
            raise RefusedError("LEASE_OWNER_MISMATCH")
        hold = lease.granted(who, (task.hold.owner, task.hold.tells, why))
        return self._held(task, task.status, hold, "lease.recovered", lease.now)

    def _held(self, task: Task, status: str, hold: Hold | None, event: str, now: Now) -> Step:
        owner = task.owner if hold is None else hold.owner
        changed = task._replace(status=status, owner=owner, hold=hold, updated=math.floor(now.wall))
        return Step(key_of(task.id), changed, event)

    def leave(self, task_id: str, who: Who, now: Now, command: str) -> Step:
        """Takes a task to the status of done, release, cancel or block; all but block give the claim back."""
        task = self.task(task_id)
        status = {"done": "done", "release": "open", "cancel": "cancelled", "block": "blocked"}[command]
        held = task.hold
        if held is None and who.fence is not None:
            raise RefusedError("LEASE_NOT_FOUND")
        if held is not None and (command != "cancel" or held.runs(now)):
            require_rights(held, who, now, "LEASE")
        elif command == "cancel":
            of_another = held is not None and who.fence not in (None, held.fence)
            if of_another or who.name not in (task.owner, task.creator):
                raise RefusedError("LEASE_OWNER_MISMATCH")
        self._enter(task, status)
        if task.status == status:
            return Step(key_of(task_id), task)
        self._wait(task, status)
        event = {"done": "lease.completed", "release": "lease.released"}.get(command, "task.updated")
        kept = held if command == "block" else None
        left = self._held(task, status, kept, event if held is not None else "task.updated", now)
        assert isinstance(left.record, Task)
        if command == "release" and held is not None:
            return left._replace(record=left.record._replace(owner=None))
        return left
