"""Claims: one agent holds a task for as long as its lease runs; what each command writes and tells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import claims as operations
from agent_chat.operations import task_views
from agent_chat.operations.leases import Actor
from agent_chat.records.claim import Claim
from agent_chat.records.lease import Lease
from agent_chat.records.task import BLOCKED, CANCELLED, DONE, IN_PROGRESS, OPEN
from agent_chat.storage.channel import Channel
from agent_chat.storage.workspace import Workspace
from tests.operations.task_room import TaskRoom, next_of, refused
from tests.support.cli import START
from tests.support.leases import BOOTED, STAMP
from tests.support.recording import InterveningFileSystem

if TYPE_CHECKING:
    from pathlib import Path

END = "2026-01-02T03:09:05+00:00"


@pytest.fixture
def room(tmp_path: Path) -> TaskRoom:
    room = TaskRoom(tmp_path)
    room.create()
    return room


def told(event: str, room: TaskRoom, **fields: Any) -> dict[str, Any]:
    """What an audit message of a lease tells, with the fields that differ."""
    return {
        "channel": "dev",
        "event": event,
        "lease_expires_at": END,
        "owner": "bob",
        "status": IN_PROGRESS,
        "previous_status": IN_PROGRESS,
        "task_id": "T-1",
        "transaction_id": room.audit().transaction,
        "updated_at": STAMP,
        **fields,
    }


def test_a_claim_writes_the_task_and_the_claim_and_tells_of_both(room: TaskRoom) -> None:
    changed = room.claim(session="s-1")
    claim = Claim(
        task_id="T-1",
        channel="dev",
        owner="bob",
        lease=Lease(expires=START + 300, granted=START, seconds=300, boot_id="0b00-one", boot_expires=BOOTED + 300),
        claimed_at=START,
        fence=2,
        session="s-1",
    )
    assert (changed.claim, changed.seq) == (claim, 2)
    assert room.claims() == {"T-1.bob.json": claim}
    task = room.task()
    assert changed.task == task
    assert (task.status, task.owner, task.lease_expires_at, task.created_by) == (
        IN_PROGRESS,
        "bob",
        START + 300,
        "alice",
    )
    audit = room.audit()
    assert (audit.seq, audit.sender, audit.status, audit.title) == (2, "bob", "lease.claimed", "lease.claimed T-1")
    changes = ["lease_expires_at", "owner", "status"]
    more = {"previous_status": OPEN, "lease_owner": "bob", "fence": 2, "changed_fields": changes}
    assert room.told() == told("lease.claimed", room, **more)
    assert audit.body == json.dumps(room.told(), indent=2, sort_keys=True) + "\n"
    assert room.view().claim == claim


def test_renewing_makes_the_lease_run_anew_and_keeps_the_fence(room: TaskRoom) -> None:
    first = room.claim(session="s-1").claim
    room.clock.turn(200)
    renewed = room.act("renew", session="s-1").claim
    assert first is not None
    lease = Lease(expires=START + 500, granted=START + 200, seconds=300, boot_id="0b00-one", boot_expires=BOOTED + 500)
    assert renewed == first.replace(lease=lease)
    assert room.claims() == {"T-1.bob.json": renewed}
    assert room.task().lease_expires_at == START + 500
    end, now = "2026-01-02T03:12:25+00:00", "2026-01-02T03:07:25+00:00"
    more = {"lease_expires_at": end, "updated_at": now, "changed_fields": ["lease_expires_at", "updated_at"]}
    assert room.told() == told("lease.renewed", room, lease_owner="bob", fence=2, **more)


def test_a_renewal_is_as_long_as_the_lease_was_unless_it_says_otherwise(room: TaskRoom) -> None:
    room.claim(lease="7200")
    room.clock.turn(1000)
    assert room.act("renew").task.lease_expires_at == START + 1000 + 7200
    assert room.act("renew", lease="60").task.lease_expires_at == START + 1000 + 60
    assert room.act("renew").task.lease_expires_at == START + 1000 + 60


@pytest.mark.parametrize(
    ("command", "event", "status", "owner"),
    [
        ("done", "lease.completed", DONE, "bob"),
        ("release", "lease.released", OPEN, None),
        ("cancel", "task.updated", CANCELLED, "bob"),
    ],
)
def test_what_ends_a_claim_clears_it_in_the_same_change(
    room: TaskRoom, command: str, event: str, status: str, owner: str | None
) -> None:
    room.claim()
    changed = room.act(command)
    assert (changed.task, changed.claim, changed.seq) == (room.task(), None, 3)
    task = room.task()
    assert (task.status, task.owner, task.lease_expires_at) == (status, owner, None)
    assert room.claims() == {}
    assert (room.audit().status, room.audit().title) == (event, f"{event} T-1")
    fields = ["lease_expires_at", *(["owner"] if owner is None else []), "status"]
    more = {"lease_expires_at": None, "owner": owner, "status": status, "changed_fields": fields}
    assert room.told() == told(event, room, **more)
    assert room.view().claim is None


def test_a_block_keeps_the_claim_and_its_holder_may_claim_on(room: TaskRoom) -> None:
    first = room.claim().claim
    changed = room.act("block")
    assert (changed.task.status, changed.task.owner, changed.claim) == (BLOCKED, "bob", first)
    assert room.claims() == {"T-1.bob.json": first}
    assert room.told()["event"] == "task.updated"
    assert (room.act("block").seq, room.ready()) == (None, [])
    refused("LEASE_CONFLICT", lambda: room.claim(actor="carol"), room)
    room.clock.turn(100)
    again = room.claim().claim
    assert again is not None
    assert (again.fence, again.lease.expires, room.task().status) == (4, START + 400, IN_PROGRESS)


@pytest.mark.parametrize("command", ["done", "release", "cancel"])
def test_again_changes_nothing_and_posts_nothing(room: TaskRoom, command: str) -> None:
    room.claim()
    room.act(command)
    before = room.state()
    changed = room.act(command)
    assert (changed.seq, changed.task) == (None, room.task())
    assert room.state() == before


# --- who gets it ----------------------------------------------------------------------------------------------------


def test_somebody_elses_task_is_told_with_the_time_left(room: TaskRoom) -> None:
    room.claim()
    room.clock.turn(100)
    error = refused("LEASE_CONFLICT", lambda: room.claim(actor="carol"), room)
    assert error.message == "task T-1 is held by bob, 3 min left"
    assert (error.details["owner"], next_of(error)) == ("bob", "task ready dev --as carol")


def test_ones_own_task_is_not_claimed_twice(room: TaskRoom) -> None:
    room.claim()
    error = refused("LEASE_CONFLICT", room.claim, room)
    assert (error.details["fence"], next_of(error)) == (2, "task renew dev T-1 --as bob")
    assert "you hold task T-1 already" in error.message


def test_a_task_that_is_assigned_is_for_its_owner(room: TaskRoom) -> None:
    room.update(owner="bob")
    for name in ("carol", "bob-2", "bo", "bobb", "b"):
        error = refused("LEASE_CONFLICT", lambda name=name: room.claim(actor=name), room)  # type: ignore[misc]
        assert error.message == "task T-1 is assigned to bob"
    assert room.claim(actor="BOB").task.status == IN_PROGRESS


@pytest.mark.parametrize("status", [DONE, CANCELLED])
def test_a_final_task_is_not_claimed(room: TaskRoom, status: str) -> None:
    room.at(status, "T-2")
    refused("TASK_INVALID_TRANSITION", lambda: room.claim("T-2"), room)
    for command in ("renew", "recover"):
        error = refused("LEASE_NOT_FOUND", lambda command=command: room.act(command, "T-2"), room)  # type: ignore[misc]
        assert next_of(error) == "task show dev T-2"


def test_without_a_claim_there_is_nothing_to_renew_or_recover(room: TaskRoom) -> None:
    for command in ("renew", "recover"):
        error = refused("LEASE_NOT_FOUND", lambda command=command: room.act(command), room)  # type: ignore[misc]
        assert next_of(error) == "task claim dev T-1 --as bob"
        assert str(room.root) in error.message
    for command in ("done", "release", "block", "cancel"):
        error = refused("LEASE_NOT_FOUND", lambda command=command: room.act(command, actor="alice", fence=2), room)  # type: ignore[misc]
        assert next_of(error) == "task show dev T-1"


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e9", "2592001", "", "x", "1_000", "٣", "5m", "0x10"])
def test_what_is_no_length_of_a_lease_is_refused(room: TaskRoom, text: str) -> None:
    refused("LEASE_INVALID_DURATION", lambda: room.claim(lease=text), room)
    room.claim()
    refused("LEASE_INVALID_DURATION", lambda: room.act("renew", lease=text), room)
    room.clock.turn(10_000)
    refused("LEASE_INVALID_DURATION", lambda: room.act("recover", lease=text), room)


@pytest.mark.parametrize("text", ["0.5", "1", "2592000", "1e3"])
def test_a_lease_is_positive_and_at_most_thirty_days(room: TaskRoom, text: str) -> None:
    claim = room.claim(lease=text).claim
    assert claim is not None
    assert claim.lease.seconds == float(text)
    assert room.claims()["T-1.bob.json"] == claim


@pytest.mark.parametrize("name", ["", "a b", "all", "system", "../x", "a\0", "x" * 65, "e\u0301\u0301" * 30])
def test_a_bad_name_is_told_by_the_code_of_leases(room: TaskRoom, name: str) -> None:
    refused("LEASE_INVALID_OWNER", lambda: room.claim(actor=name), room)
    for command in ("renew", "done", "release", "block", "cancel", "recover"):
        refused("LEASE_INVALID_OWNER", lambda command=command: room.act(command, actor=name), room)  # type: ignore[misc]


def test_a_stranger_to_a_closed_channel_is_told_to_join(tmp_path: Path) -> None:
    room = TaskRoom(tmp_path / "closed", members="alice,Bob")
    room.create()
    error = refused("AGENT_UNKNOWN", lambda: room.claim(actor="eve"), room)
    assert next_of(error) == "join dev --as eve"
    assert room.claim(actor="bob").task.owner == "Bob"


# --- at the same time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claimed", [False, True])
def test_a_reader_meanwhile_sees_the_task_before_or_after_and_no_damage(room: TaskRoom, claimed: bool) -> None:
    """Somebody claims, or gives back, while all tasks are listed."""
    if claimed:
        room.claim()
    seen = set()
    for n in range(1, 200):
        act = (lambda step: room.act("release")) if claimed else (lambda step: room.claim())
        files = InterveningFileSystem(str(room.root), room.clock, n=n, act=act)
        channel = Channel(Workspace(str(room.root), clock=room.clock, files=files), "dev")
        listed = task_views.every(channel, room.clock.moment())
        (view,), warnings = listed.views, listed.told.warnings
        assert warnings == (), n
        assert (view.task.owner, view.claim is not None) in ((None, False), ("bob", True)), n
        seen.add(view.task.owner)
        if not files.intervened:
            break
        room.claim() if claimed else room.act("release")
    else:
        pytest.fail("the listing never ended")
    assert seen == {"bob", None}


@pytest.mark.parametrize("late", [0, 1])
def test_of_two_who_looked_at_once_one_wins(room: TaskRoom, late: int) -> None:
    """Both opened the channel and saw the task ready before either claimed."""
    channels = [room.reopened(), room.reopened()]
    for channel in channels:
        assert task_views.show(channel, "T-1", room.clock.moment())[0].ready
    operations.claim(channels[1 - late], "T-1", Actor(name="carol"))
    refused("LEASE_CONFLICT", lambda: operations.claim(channels[late], "T-1", Actor(name="bob")), room)
    assert list(room.claims()) == ["T-1.carol.json"]


def test_a_late_write_does_not_bring_a_finished_task_back(room: TaskRoom) -> None:
    """Whoever read a task before it was finished acts on what it is under the lock."""
    channel = room.reopened()
    assert task_views.show(channel, "T-1", room.clock.moment())[0].ready
    room.claim()
    room.act("done")
    refused("TASK_INVALID_TRANSITION", lambda: operations.claim(channel, "T-1", Actor(name="carol")), room)
    assert room.task().status == DONE
