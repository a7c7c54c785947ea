"""Tasks: made, changed and listed; every status after every other; what is unchanged posts nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import task_views
from agent_chat.operations.tasks import MAX_TEXT_BYTES, Changed
from agent_chat.records.task import (
    BLOCKED,
    CANCELLED,
    DONE,
    FINAL,
    IN_PROGRESS,
    OPEN,
    STATUSES,
    TRANSITIONS,
    Task,
)
from tests.operations.task_room import TaskRoom, next_of, refused
from tests.support.cli import START
from tests.support.leases import STAMP, legacy_claim, legacy_task

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def room(tmp_path: Path) -> TaskRoom:
    return TaskRoom(tmp_path)


def test_a_new_task_has_what_was_given_and_one_message_tells_of_it(room: TaskRoom) -> None:
    changed = room.create(
        title="Draft: the schema", owner="bob", files_hint=("a.py", "b.py", "a.py"), acceptance=("x, y",), branch="main"
    )
    task = Task(
        id="T-1",
        channel="dev",
        title="Draft: the schema",
        created_by="alice",
        updated_at=START,
        owner="bob",
        files_hint=("a.py", "b.py"),
        acceptance=("x, y",),
        branch="main",
    )
    assert changed == Changed(task=task, seq=1)
    assert room.task() == task
    audit = room.audit()
    assert (audit.seq, audit.sender, audit.status, audit.title) == (1, "alice", "task.created", "task.created T-1")
    assert (audit.is_audit, audit.transaction) == (True, room.told()["transaction_id"])
    assert room.told() == {
        "channel": "dev",
        "event": "task.created",
        "lease_expires_at": None,
        "owner": "bob",
        "status": "open",
        "task_id": "T-1",
        "transaction_id": audit.transaction,
        "updated_at": STAMP,
    }
    assert audit.body == json.dumps(room.told(), indent=2, sort_keys=True) + "\n"


def test_an_update_tells_what_changed(room: TaskRoom) -> None:
    room.create(branch="main")
    room.clock.turn(60)
    changed = room.update(title="new", owner="carol", clear=("branch",), actor="dave")
    assert changed.task == room.task()
    assert (changed.seq, changed.task.title, changed.task.owner, changed.task.branch) == (2, "new", "carol", None)
    audit = room.audit()
    assert (audit.sender, audit.status, audit.title) == ("dave", "task.updated", "task.updated T-1")
    assert room.told() == {
        "changed_fields": ["branch", "owner", "title", "updated_at"],
        "channel": "dev",
        "event": "task.updated",
        "lease_expires_at": None,
        "owner": "carol",
        "previous_status": "open",
        "status": "open",
        "task_id": "T-1",
        "transaction_id": audit.transaction,
        "updated_at": "2026-01-02T03:05:05+00:00",
    }
    assert audit.body == json.dumps(room.told(), indent=2, sort_keys=True) + "\n"


@pytest.mark.parametrize(
    "same",
    [
        {"title": "t"},
        {"owner": "bob"},
        {"owner": "BOB"},
        {"branch": "main"},
        {"files_hint": ("a", "a")},
        {"acceptance": ()},
        {"depends_on": ("t-0", "T-0")},
        {"status": OPEN},
    ],
    ids=str,
)
def test_what_is_so_already_changes_nothing_and_posts_nothing(room: TaskRoom, same: dict[str, Any]) -> None:
    room.post("bob")
    room.create("T-0")
    room.create(owner="bob", branch="main", files_hint=("a",), depends_on=("T-0",))
    room.clock.turn(60)
    before = room.state()
    assert room.update(**same) == Changed(task=room.task(), seq=None)
    assert room.state() == before


@pytest.mark.parametrize("status", FINAL)
def test_the_same_final_status_again_is_allowed(room: TaskRoom, status: str) -> None:
    room.at(status)
    before = room.state()
    assert room.update(status=status).seq is None
    assert room.act("done" if status == DONE else "cancel").seq is None
    assert room.state() == before


@pytest.mark.parametrize("old", STATUSES)
@pytest.mark.parametrize("new", STATUSES)
def test_every_status_after_every_other(room: TaskRoom, old: str, new: str) -> None:
    room.at(old)
    if new == old or new in TRANSITIONS[old]:
        changed = room.update(status=new)
        assert (changed.task.status, changed.seq is None) == (new, new == old)
        assert room.task().status == new
    else:
        error = refused("TASK_INVALID_TRANSITION", lambda: room.update(status=new), room)
        assert next_of(error) == "task show dev T-1"
        assert ("which is final" in error.message) == (old in FINAL)


@pytest.mark.parametrize("old", STATUSES)
@pytest.mark.parametrize(
    ("command", "new", "takes"),
    [
        ("done", DONE, (IN_PROGRESS, DONE)),
        ("block", BLOCKED, (OPEN, IN_PROGRESS, BLOCKED)),
        ("release", OPEN, (BLOCKED, IN_PROGRESS, OPEN)),
        ("cancel", CANCELLED, (OPEN, IN_PROGRESS, BLOCKED, CANCELLED)),
    ],
)
def test_without_a_claim_the_commands_are_plain_transitions(
    room: TaskRoom, old: str, command: str, new: str, takes: tuple[str, ...]
) -> None:
    room.at(old)
    if old not in takes:
        refused("TASK_INVALID_TRANSITION", lambda: room.act(command), room)
        return
    before = room.audit().seq
    changed = room.act(command)
    assert (changed.task.status, changed.task.owner, changed.claim) == (new, "bob", None)
    assert changed.seq == (None if old == new else before + 1)
    if old != new:
        assert (room.audit().status, room.told()["previous_status"]) == ("task.updated", old)


@pytest.mark.parametrize("status", ["closed", "OPEN", "in progress", ""])
def test_what_is_no_status_is_refused(room: TaskRoom, status: str) -> None:
    room.create()
    error = refused("TASK_INVALID_STATUS", lambda: room.update(status=status), room)
    assert all(known in error.message for known in STATUSES)


# --- names and texts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["", "..", "a..b", ".a", "-a", "a b", "a/b", "../x", "ä", "x" * 65, "a\n", "a\0"])
def test_what_is_no_task_id_is_refused(room: TaskRoom, id: str) -> None:
    for act in (room.create, room.view, lambda id: room.update(id, title="x")):
        refused("TASK_INVALID_ARGUMENT", lambda act=act: act(id), room)  # type: ignore[misc]
    refused("TASK_INVALID_ARGUMENT", lambda: room.create("ok", depends_on=(id,)), room)
    for command in ("renew", "done", "release", "block", "cancel", "recover"):
        refused("LEASE_INVALID_TASK_ID", lambda command=command: room.act(command, id), room)  # type: ignore[misc]
    refused("LEASE_INVALID_TASK_ID", lambda: room.claim(id), room)


def test_ids_that_differ_in_case_are_one_task(room: TaskRoom) -> None:
    room.create("Task-a.1")
    error = refused("TASK_ALREADY_EXISTS", lambda: room.create("TASK-A.1"), room)
    assert next_of(error) == "task show dev Task-a.1"
    assert room.view("task-A.1").task.id == "Task-a.1"
    assert room.claim("TASK-a.1").task.id == "Task-a.1"
    assert list(room.claims()) == ["Task-a.1.bob.json"]
    assert room.act("done", "task-a.1").task.status == DONE
    assert [path.name for path in (room.folder / "tasks").glob("*.json")] == ["Task-a.1.json"]
    assert room.create("T-2", depends_on=("TASK-A.1",)).task.depends_on == ("Task-a.1",)


def test_a_task_that_is_not_there(room: TaskRoom) -> None:
    room.create("T-10")
    for act in (lambda: room.view("T-1"), lambda: room.update(title="x"), room.claim, lambda: room.act("done")):
        error = refused("TASK_NOT_FOUND", act, room)
        assert next_of(error) == "task list dev"
        assert error.near == ("T-1", ("T-10",))


@pytest.mark.parametrize(
    "fields",
    [
        {"title": ""},
        {"title": " "},
        {"title": "a\nb"},
        {"title": "a\x1b[2J"},
        {"title": "a\x85b"},
        {"title": "\ud800"},
        {"title": "x" * (MAX_TEXT_BYTES + 1)},
        {"title": "ї" * (MAX_TEXT_BYTES // 2 + 1)},
        {"branch": ""},
        {"branch": "a\nb"},
        {"files_hint": ("a", "")},
        {"files_hint": ("a\tb",)},
        {"acceptance": ("x" * (MAX_TEXT_BYTES + 1),)},
        {"acceptance": tuple(f"{n:04d}" + "x" * 4000 for n in range(80))},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_text_that_breaks_a_rule_is_refused(room: TaskRoom, fields: dict[str, Any]) -> None:
    refused("TASK_INVALID_ARGUMENT", lambda: room.create(**fields), room)
    room.create()
    refused("TASK_INVALID_ARGUMENT", lambda: room.update(**fields), room)


def test_texts_of_every_script_and_the_greatest_size_are_kept(room: TaskRoom) -> None:
    title = "Ї: \u202e#'\"\\{}[]*&!|>%@`- 👨\u200d👩 \u2028"
    room.create(title=title, branch="x" * MAX_TEXT_BYTES)
    assert (room.task().title, room.view().task.title, len(room.task().branch or "")) == (title, title, MAX_TEXT_BYTES)


def test_an_update_of_nothing_and_one_that_contradicts_itself_are_refused(room: TaskRoom) -> None:
    room.create(owner="bob", branch="b")
    refused("TASK_INVALID_UPDATE", room.update, room)
    refused("TASK_INVALID_UPDATE", lambda: room.update(owner="carol", clear=("owner",)), room)
    refused("TASK_INVALID_UPDATE", lambda: room.update(branch="c", clear=("branch",)), room)
    assert room.update(clear=("owner", "branch")).task.owner is None


def test_who_acts_and_who_owns_must_be_names_that_the_channel_knows(tmp_path: Path) -> None:
    room = TaskRoom(tmp_path, members="alice,Bob")
    for name in ("a b", "", "all", "system", "../x"):
        code = "AGENT_RESERVED" if name in ("all", "system") else "AGENT_INVALID"
        refused(code, lambda name=name: room.create(actor=name), room)  # type: ignore[misc]
        refused(code, lambda name=name: room.create(owner=name), room)  # type: ignore[misc]
    error = refused("AGENT_UNKNOWN", lambda: room.create(actor="eve"), room)
    assert next_of(error) == "join dev --as eve"
    refused("AGENT_UNKNOWN", lambda: room.create(owner="eve"), room)
    task = room.create(actor="ALICE", owner="bob").task
    assert (task.created_by, task.owner) == ("alice", "Bob")


def test_who_acts_is_spelled_as_it_was_first(room: TaskRoom) -> None:
    room.post("Bob")
    assert room.create(actor="BOB").task.created_by == "Bob"
    assert room.claim(actor="bob").task.owner == "Bob"
    assert list(room.claims()) == ["T-1.Bob.json"]
    assert room.act("done", actor="bOB").task.status == DONE


# --- records of the other program, and damaged ones -----------------------------------------------------------------


def test_a_task_of_the_other_program_is_read_and_stays_its_own_until_it_is_changed(room: TaskRoom) -> None:
    room.put("tasks/T-1.json", legacy_task(branch="main"))
    before = room.state()
    assert (room.view().ready, room.view().task.branch) == (True, "main")
    assert room.update(branch="main").seq is None
    assert room.state() == before
    assert room.update(title="new").seq == 1
    record = json.loads((room.folder / "tasks" / "T-1.json").read_bytes())
    assert record == {"schema_version": 1, **json.loads(legacy_task(branch="main")), "title": "new"}


DAMAGED = {
    "garbage": b"\xff\0",
    "empty": b"",
    "another id": legacy_task("T-9"),
    "another channel": legacy_task(channel="ops"),
    "a status": legacy_task(status="closed"),
    "a field": legacy_task(more=1),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_task_stops_only_itself(room: TaskRoom, kind: str) -> None:
    room.create("T-1")
    room.create("T-2")
    room.create("T-3", depends_on=("T-1",))
    room.put("tasks/T-1.json", DAMAGED[kind])
    for act in (
        room.view,
        lambda: room.update(title="x"),
        room.claim,
        lambda: room.act("done"),
        lambda: room.act("renew"),
    ):
        error = refused("TASK_INVALID_RECORD", act, room)
        assert next_of(error) == "doctor dev"
        assert "dev/tasks/T-1.json" in error.message
    refused("TASK_ALREADY_EXISTS", room.create, room)
    assert sorted(room.every()) == ["T-2", "T-3"]
    (warning,) = room.warnings()
    assert warning.startswith("TASK_INVALID_RECORD: dev/tasks/T-1.json is damaged")
    for view in (room.view("T-3"), room.every()["T-3"]):
        assert (view.ready, [(each.id, each.status) for each in view.waiting_for]) == (False, [("T-1", "damaged")])
    error = refused("TASK_DEPENDENCY_NOT_READY", lambda: room.claim("T-3"), room)
    assert "T-1 (damaged)" in error.message
    assert room.claim("T-2").task.status == IN_PROGRESS


def test_a_task_of_a_later_version_is_told_as_one(room: TaskRoom) -> None:
    room.create("T-2")
    room.put("tasks/T-1.json", b'{"schema_version": 2}')
    for act in (room.view, room.claim, lambda: room.update(title="x")):
        refused("RECORD_VERSION", act, room)
    assert (list(room.every()), room.warnings()[0][:14]) == (["T-2"], "RECORD_VERSION")


# --- what is claimed ------------------------------------------------------------------------------------------------


def test_a_claimed_task_keeps_its_owner_and_status_whoever_updates_it(room: TaskRoom) -> None:
    room.create()
    room.claim()
    for actor in ("alice", "bob"):
        for fields in ({"owner": "carol"}, {"clear": ("owner",)}, {"status": DONE}, {"status": OPEN}):
            act = lambda actor=actor, fields=fields: room.update(actor=actor, **fields)  # noqa: E731
            error = refused("LEASE_MUTATION_REQUIRED", act, room)
            # The holder is told by which command it gets the status that it wants.
            verb = {DONE: "done", OPEN: "release"}.get(str(fields.get("status"))) if actor == "bob" else None
            assert next_of(error) == (f"task {verb} dev T-1 --as bob" if verb else "task show dev T-1")
            assert error.details["owner"] == "bob"
    before = room.claims()
    task = room.update(title="new", branch="b", status=IN_PROGRESS, owner="bob").task
    assert (task.title, task.status, task.owner, task.lease_expires_at) == ("new", IN_PROGRESS, "bob", START + 300)
    assert (room.claims(), room.view().claim) == (before, before["T-1.bob.json"])
    room.clock.turn(10_000)
    refused("LEASE_MUTATION_REQUIRED", lambda: room.update(owner="carol"), room)


def test_tasks_that_somebody_has_are_not_offered(room: TaskRoom) -> None:
    for id in ("open", "claimed", "lapsed", "blocked", "working", "done", "cancelled", "waiting"):
        room.create(id, depends_on=("open",) if id == "waiting" else ())
    room.claim("lapsed", lease="10")
    room.claim("claimed", lease="86400")
    for id in ("blocked", "cancelled"):
        room.act({"blocked": "block", "cancelled": "cancel"}[id], id, "alice")
    for id in ("working", "done"):
        room.update(id, status=IN_PROGRESS)
    room.act("done", "done")
    assert room.ready() == ["open"]
    room.clock.turn(11)
    assert room.ready() == ["lapsed", "open"]
    views = room.every()
    assert {id: room.view(id) for id in views} == views


def test_many_legacy_claims_are_found_by_the_tasks_that_they_are_on(room: TaskRoom) -> None:
    """A dotted name may be of several tasks by its letters; the record decides."""
    for id in ("v1", "v1.2", "v1.2.3"):
        owner = {"v1": "2.bot", "v1.2": "3.bot"}.get(id)
        room.put(f"tasks/{id}.json", legacy_task(id, status="in_progress" if owner else "open", owner=owner))
        if owner:
            room.put(f"claims/{id}.{owner}.json", legacy_claim(id, owner))
    views = room.every()
    assert {id: view.claim and view.claim.owner for id, view in views.items()} == {
        "v1": "2.bot",
        "v1.2": "3.bot",
        "v1.2.3": None,
    }
    assert [room.view(id) for id in views] == list(views.values())
    assert (room.ready(), room.warnings()) == (["v1.2.3"], ())


def test_how_a_wait_for_a_task_ends(room: TaskRoom) -> None:
    room.create()
    assert task_views.can_end(room.view())
    room.claim()
    assert not task_views.can_end(room.view())
    room.act("cancel")
    assert task_views.can_end(room.view())


def test_what_is_assigned_to_somebody_is_open_to_nobody_else(room: TaskRoom) -> None:
    room.create("T-1", owner="bob")
    room.create("T-2")
    open_to_carol = [view.task.id for view in room.every().values() if task_views.is_open_to(view, "carol")]
    assert open_to_carol == ["T-2"]
    assert task_views.is_open_to(room.view("T-1"), "Bob")
    room.claim("T-1", actor="bob")
    room.clock.turn(301)
    assert task_views.is_open_to(room.view("T-1"), "carol")
