"""Waiting for a task or a path: block until it is done or ready, or until nobody else holds it; messages do not matter.

A look is needed when a folder of records moved or something became pending; and now and then all the same, since a
lease runs out without a trace, and not every file system moves a folder's time.
"""

from __future__ import annotations

from agent_chat.operations import lock_views, task_views
from agent_chat.operations.presence import Presence
from agent_chat.operations.waiting import Guarded
from agent_chat.records.value import Value
from agent_chat.storage.journal import OF_LOCKS, OF_TASKS
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Optional, TypeVar

    from agent_chat.operations.lock_views import Checked
    from agent_chat.operations.task_views import TaskView
    from agent_chat.records.locked_path import Located
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.journal import Journal

    T = TypeVar("T")
    Guard = Optional[Callable[[], None]]

LONGEST_TRUST_SECONDS = 1.0


class TaskOutcome(Value):
    """How a wait for a task ended: the task as it was last seen."""

    view: TaskView
    timed_out: bool
    warnings: tuple[str, ...]


class PathOutcome(Value):
    """How a wait for a path ended: the locks that were last seen in the way."""

    checked: Checked
    timed_out: bool
    warnings: tuple[str, ...]


def wait_for_task(
    channel: Channel, agent: str, task_id: str, *, timeout: float, interval: float, guard: Guard = None
) -> TaskOutcome:
    """Blocks until a task is done, cancelled or ready; `guard` as of `waiting.Request`.

    Fails at once, or as soon as it is so, with TASK_NOT_FOUND for one that is not there, and with
    TASK_DEPENDENCY_NOT_READY for an open one whose dependency was cancelled or is missing.
    """

    def look() -> tuple[TaskView, tuple[str, ...]]:
        seen = task_views.show(channel, task_id, channel.workspace.clock.moment())
        task_views.require_end(channel, seen[0])
        return seen

    (view, told), timed_out, warnings = _wait(
        channel,
        agent,
        f"task {task_id}",
        OF_TASKS,
        look,
        lambda seen: task_views.can_end(seen[0]),
        timeout,
        interval,
        guard,
    )
    return TaskOutcome(view=view, timed_out=timed_out, warnings=warnings + told)


def wait_for_path(
    channel: Channel, agent: str, located: Located, *, timeout: float, interval: float, guard: Guard = None
) -> PathOutcome:
    """Blocks until no lock of another agent holds a path; `guard` as of `waiting.Request`.

    Fails at once, or as soon as it is so, with PATH_LOCK_RECOVERY_REQUIRED when only locks that ran out are left in the
    way, and with PATH_LOCK_INVALID_RECORD for a damaged one: neither ends by itself.
    """

    def look() -> Checked:
        seen = lock_views.check(channel, [located], agent)
        lock_views.require_end(channel, agent, seen)
        return seen

    checked, timed_out, warnings = _wait(
        channel,
        agent,
        f"path {located.path.normalized_path}",
        OF_LOCKS,
        look,
        lambda seen: not seen.locks,
        timeout,
        interval,
        guard,
    )
    return PathOutcome(checked=checked, timed_out=timed_out, warnings=warnings + checked.warnings)


def _wait(
    channel: Channel,
    agent: str,
    waits: str,
    journal: Journal,
    look: Callable[[], T],
    is_over: Callable[[T], bool],
    timeout: float,
    interval: float,
    guard: Guard,
) -> tuple[T, bool, tuple[str, ...]]:
    """Looks until it is over; returns what was seen last, whether the time ran out, and warnings."""
    clock = channel.workspace.clock
    deadline = clock.monotonic() + timeout
    look()  # what is refused is refused before anything is made
    guarded = Guarded(clock, guard)
    there = Presence((channel,), (agent,), waits)
    try:
        while True:
            mark = _mark(channel, journal)
            looked_at = clock.monotonic()
            seen = look()
            if is_over(seen):
                guarded.ask()
                return seen, False, there.warnings
            while True:
                left = deadline - clock.monotonic()
                if left <= 0:
                    return seen, True, there.warnings
                guarded.sleep(min(left, interval))
                there.beat()
                if clock.monotonic() - looked_at >= LONGEST_TRUST_SECONDS or _mark(channel, journal) != mark:
                    break
    except FileNotFoundError:
        channel.read_meta()
        raise
    finally:
        there.end()


def _mark(channel: Channel, journal: Journal) -> object:
    """Returns what changes when a record of a journal does, or something becomes pending."""
    files, places = channel.workspace.files, channel.layout
    times: list[int] = []
    for folder in journal.folders:
        try:
            times.append(files.status(places.record(folder)).st_mtime_ns)
        except FileNotFoundError:
            times.append(0)
    return times, RecordStore(channel, journal).mark()
