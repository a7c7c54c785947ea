"""Dependencies: readiness from records alone, and no cycle of any length, however many tasks there are."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import claims
from agent_chat.operations.leases import Actor
from agent_chat.records import task as task_record
from agent_chat.records.task import BLOCKED, CANCELLED, DONE, IN_PROGRESS, OPEN, Task
from agent_chat.storage.channel import Channel
from tests.operations.task_room import TaskRoom, next_of, refused
from tests.support.cli import START, workspace_on
from tests.support.leases import legacy_task
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = 5000
QUICK = 20.0  # seconds, on a busy machine; what grows with the square of the chain takes many minutes


@pytest.fixture
def room(tmp_path: Path) -> TaskRoom:
    return TaskRoom(tmp_path)


def waits(room: TaskRoom, id: str) -> list[tuple[str, str]]:
    """What a task waits for, as list and show both say it."""
    shown, listed = room.view(id), room.every()[id]
    assert shown == listed
    return [(each.id, each.status) for each in shown.waiting_for]


def test_a_task_is_ready_when_all_that_it_depends_on_is_done(room: TaskRoom) -> None:
    for id in ("A", "B"):
        room.create(id)
    room.create("T", depends_on=("A", "B"))
    assert (room.view("T").ready, waits(room, "T")) == (False, [("A", OPEN), ("B", OPEN)])
    room.claim("A")
    assert waits(room, "T") == [("A", IN_PROGRESS), ("B", OPEN)]
    room.act("done", "A")
    room.act("block", "B")
    assert waits(room, "T") == [("B", BLOCKED)]
    error = refused("TASK_DEPENDENCY_NOT_READY", lambda: room.claim("T"), room)
    assert (next_of(error), error.details["waiting_for"]) == ("task ready dev", [{"id": "B", "status": BLOCKED}])
    room.claim("B")
    room.act("done", "B")
    assert (room.view("T").ready, waits(room, "T"), room.ready()) == (True, [], ["T"])
    assert room.claim("T").task.status == IN_PROGRESS


@pytest.mark.parametrize("status", [OPEN, IN_PROGRESS, BLOCKED, CANCELLED, "missing", "damaged"])
def test_in_progress_and_done_need_every_dependency_done(room: TaskRoom, status: str) -> None:
    if status in ("missing", "damaged"):
        room.create("A")
    else:
        room.at(status, "A")
    room.create("T", depends_on=("A",))
    if status == "missing":
        (room.folder / "tasks" / "A.json").unlink()
    elif status == "damaged":
        room.put("tasks/A.json", b"{}")
    assert waits(room, "T") == [("A", status)]
    for act in (lambda: room.claim("T"), lambda: room.update("T", status=IN_PROGRESS)):
        error = refused("TASK_DEPENDENCY_NOT_READY", act, room)
        assert f"A ({status})" in error.message
        assert error.details["waiting_for"] == [{"id": "A", "status": status}]
    # Also a task that came to be in progress by another way is not done before its dependencies are.
    room.put("tasks/T.json", legacy_task("T", status=IN_PROGRESS, depends_on=["A"]))
    for act in (lambda: room.act("done", "T"), lambda: room.update("T", status=DONE)):
        refused("TASK_DEPENDENCY_NOT_READY", act, room)
    for command, left in (("block", BLOCKED), ("release", OPEN), ("cancel", CANCELLED)):
        assert room.act(command, "T", "alice").task.status == left


def test_a_message_that_says_done_makes_nothing_ready(room: TaskRoom) -> None:
    room.create("A")
    room.create("T", depends_on=("A",))
    room.post("alice", "task.updated A", '{"event": "task.updated", "task_id": "A", "status": "done"}')
    room.plant(room.channel.messages.numbers().highest + 1, status="task.updated", transaction="x")
    assert waits(room, "T") == [("A", OPEN)]


def test_dependencies_are_found_whatever_their_case(room: TaskRoom) -> None:
    room.create("dep-A")
    room.create("T", depends_on=("DEP-a", "dep-A"))
    assert room.task("T").depends_on == ("dep-A",)
    room.put("tasks/U.json", legacy_task("U", depends_on=["Dep-a"]))
    assert waits(room, "U") == [("Dep-a", OPEN)]
    room.claim("dep-a")
    room.act("done", "dep-a")
    assert (waits(room, "U"), room.ready()) == ([], ["T", "U"])


def test_an_unknown_dependency_is_refused(room: TaskRoom) -> None:
    room.create("T-1")
    error = refused("TASK_UNKNOWN_DEPENDENCY", lambda: room.create("T-2", depends_on=("T-1", "T-3")), room)
    assert (next_of(error), error.near) == ("task list dev", ("T-3", ("T-1",)))
    refused("TASK_UNKNOWN_DEPENDENCY", lambda: room.update("T-1", depends_on=("T-3",)), room)


def test_dependencies_are_replaced_as_a_whole_and_may_be_emptied(room: TaskRoom) -> None:
    for id in ("A", "B"):
        room.create(id)
    room.create("T", depends_on=("A", "B"))
    assert room.update("T", depends_on=("B",)).task.depends_on == ("B",)
    assert room.update("T", depends_on=()).task.depends_on == ()


def test_five_are_named_and_the_others_counted(room: TaskRoom) -> None:
    ids = tuple(f"D{n}" for n in range(7))
    for id in ids:
        room.create(id)
    room.create("T", depends_on=ids)
    error = refused("TASK_DEPENDENCY_NOT_READY", lambda: room.claim("T"), room)
    assert error.message == "task T waits for D0 (open), D1 (open), D2 (open), D3 (open), D4 (open) and 2 more"


# --- cycles ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 10])
def test_a_cycle_of_any_length_is_refused(room: TaskRoom, length: int) -> None:
    ids = [f"T-{n}" for n in range(length)]
    for before, id in zip([None, *ids], ids):
        room.create(id, depends_on=(before,) if before else ())
    for name in (ids[-1], ids[-1].lower()):
        error = refused("TASK_DEPENDENCY_CYCLE", lambda name=name: room.update("t-0", depends_on=(name,)), room)  # type: ignore[misc]
        assert "T-0" in error.message
    refused("TASK_DEPENDENCY_CYCLE", lambda: room.create("new", depends_on=("NEW",)), room)


def test_a_cycle_through_one_of_many_ways_is_refused_and_a_diamond_is_none(room: TaskRoom) -> None:
    room.create("top")
    for id in ("left", "right"):
        room.create(id, depends_on=("top",))
    room.create("bottom", depends_on=("left", "right"))
    refused("TASK_DEPENDENCY_CYCLE", lambda: room.update("top", depends_on=("bottom",)), room)
    room.create("other")
    assert room.update("other", depends_on=("bottom", "top")).seq is not None


def test_a_task_that_others_name_already_closes_no_cycle_when_it_is_made(room: TaskRoom) -> None:
    room.create("A")
    room.create("B", depends_on=("A",))
    (room.folder / "tasks" / "A.json").unlink()
    refused("TASK_DEPENDENCY_CYCLE", lambda: room.create("A", depends_on=("B",)), room)
    assert room.create("A").seq is not None


def test_a_cycle_that_was_written_by_hand_stops_nobody_else(room: TaskRoom) -> None:
    for id, other in (("A", "B"), ("B", "A")):
        room.put(f"tasks/{id}.json", legacy_task(id, depends_on=[other]))
    assert room.create("T", depends_on=("A",)).seq == 1
    assert waits(room, "A") == [("B", OPEN)]
    assert room.update("A", depends_on=()).task.depends_on == ()
    assert room.claim("A").task.status == IN_PROGRESS


# --- size -----------------------------------------------------------------------------------------------------------


def chain(room: TaskRoom, order: str) -> list[str]:
    """Writes a chain of tasks, each of which depends on the one before; returns their ids from its end to its head."""
    ids = [f"T-{n:05d}" for n in range(CHAIN)]
    if order == "falling":
        ids.reverse()
    elif order == "mixed":
        random.Random(7).shuffle(ids)
    (room.folder / "tasks").mkdir()
    for before, id in zip([None, *ids], ids):
        task = Task(
            id=id,
            channel="dev",
            title="t",
            created_by="alice",
            updated_at=START,
            depends_on=(before,) if before else (),
        )
        (room.folder / "tasks" / f"{id}.json").write_bytes(task_record.render(task))
    return ids


@pytest.mark.slow
@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
def test_a_chain_of_five_thousand_tasks_is_walked_quickly_in_any_order(room: TaskRoom, order: str) -> None:
    ids = chain(room, order)
    began = time.monotonic()
    refused("TASK_DEPENDENCY_CYCLE", lambda: room.update(ids[0], depends_on=(ids[-1],)))
    room.create("head", depends_on=(ids[-1],))
    views = room.every()
    assert time.monotonic() - began < QUICK
    assert [id for id, view in views.items() if view.ready] == [ids[0]]
    assert room.claim(ids[0]).task.status == IN_PROGRESS


def test_a_claim_reads_the_task_and_its_dependencies_only(room: TaskRoom) -> None:
    for id in ("A", "B", "C", "other"):
        room.create(id, depends_on={"B": ("A",), "C": ("B",)}.get(id, ()))
    room.claim("A")
    room.act("done", "A")
    files = RecordingFileSystem(str(room.root), room.clock)
    channel = Channel(workspace_on(room.root, clock=room.clock, files=files), "dev")
    claims.claim(channel, "B", Actor(name="bob"))
    tasks = str(room.folder / "tasks")
    steps = [(step.name, *map(str, step.args)) for step in files.log]
    looked = {
        os.path.basename(step[1]) for step in steps if step[0] == "read_file" and os.path.dirname(step[1]) == tasks
    }
    assert looked == {"A.json", "B.json"}
    assert ("list_folder", tasks) not in steps
