"""Claim files as they are found: of the other program, damaged, gone, several on one task, and pending changes."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Callable

import pytest

from agent_chat.operations import claims
from agent_chat.operations import recovery as recovering
from agent_chat.operations.leases import Actor
from agent_chat.records.task import DONE, IN_PROGRESS, OPEN
from agent_chat.storage.channel import Channel
from agent_chat.storage.journal import OF_TASKS
from tests.operations.room import refused as refused_by_code
from tests.operations.task_room import TaskRoom, next_of, refused
from tests.support.cli import Crash, FaultyFiles, workspace_on
from tests.support.leases import legacy_claim, legacy_task

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.errors import ChatError

UNTIL = "2026-01-02T03:09:05.000000+00:00"


@pytest.fixture
def room(tmp_path: Path) -> TaskRoom:
    return TaskRoom(tmp_path)


def legacy(room: TaskRoom, id: str = "T-1", owner: str = "bob", *, claim: bool = True) -> None:
    """Puts a claimed task there as the other program leaves it."""
    room.put(f"tasks/{id}.json", legacy_task(id, status=IN_PROGRESS, owner=owner, lease_expires_at=UNTIL))
    if claim:
        room.put(f"claims/{id}.{owner}.json", legacy_claim(id, owner))


# --- of the other program -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [True, False], ids=["with its file", "only the task tells of it"])
def test_a_lease_of_the_other_program_runs_by_wall_time_and_its_holder_goes_on(room: TaskRoom, claim: bool) -> None:
    legacy(room, claim=claim)
    refused("LEASE_CONFLICT", lambda: room.claim(actor="carol"), room)
    refused("LEASE_OWNER_MISMATCH", lambda: room.act("done", actor="carol"), room)
    refused("LEASE_NOT_EXPIRED", lambda: room.act("recover", actor="carol"), room)
    refused("LEASE_OWNER_MISMATCH", lambda: room.act("done", fence=1), room)
    assert room.ready() == []
    renewed = room.act("renew").claim
    assert renewed is not None
    assert (renewed.fence, renewed.lease.seconds, list(room.claims())) == (None, 300, ["T-1.bob.json"])
    assert json.loads((room.folder / "claims" / "T-1.bob.json").read_bytes())["schema_version"] == 1
    assert json.loads((room.folder / "tasks" / "T-1.json").read_bytes())["schema_version"] == 1
    assert room.act("done").task.status == DONE
    assert room.claims() == {}


@pytest.mark.parametrize("claim", [True, False])
@pytest.mark.parametrize(("command", "status"), [("done", DONE), ("release", OPEN)])
def test_it_is_ended_as_ours_are(room: TaskRoom, claim: bool, command: str, status: str) -> None:
    legacy(room, claim=claim)
    changed = room.act(command)
    assert (changed.task.status, changed.task.lease_expires_at, room.claims()) == (status, None, {})


@pytest.mark.parametrize("claim", [True, False])
def test_when_it_has_run_out_it_is_recovered(room: TaskRoom, claim: bool) -> None:
    legacy(room, claim=claim)
    room.clock.turn(359)
    refused("LEASE_CONFLICT", lambda: room.claim(actor="carol"), room)
    room.clock.turn(1)
    refused("LEASE_RECOVERY_REQUIRED", lambda: room.claim(actor="carol"), room)
    taken = room.act("recover", actor="carol").claim
    assert taken is not None
    assert (taken.previous_owner, list(room.claims())) == ("bob", ["T-1.carol.json"])


def test_an_owner_with_a_dot_keeps_its_file_until_it_is_written_anew(room: TaskRoom) -> None:
    legacy(room, "v1", "2.bot")
    legacy(room, "v1.2", "bot", claim=False)
    assert [(view.task.id, view.claim and view.claim.owner) for view in room.every().values()] == [
        ("v1", "2.bot"),
        ("v1.2", "bot"),
    ]
    room.act("renew", "v1", "2.bot")
    assert list(room.claims()) == ["v1.2%2Ebot.json"]
    room.act("renew", "v1.2", "bot")
    assert sorted(room.claims()) == ["v1.2%2Ebot.json", "v1.2.bot.json"]
    assert {claim.task_id: claim.owner for claim in room.claims().values()} == {"v1": "2.bot", "v1.2": "bot"}
    room.act("done", "v1", "2.bot")
    assert list(room.claims()) == ["v1.2.bot.json"]


def test_a_claim_spelled_in_another_case_keeps_its_file(room: TaskRoom) -> None:
    """On some disks the two names are one file: writing one and removing the other would lose the claim."""
    room.create()
    room.put("tasks/T-1.json", legacy_task(status=IN_PROGRESS, owner="bob", lease_expires_at=UNTIL))
    room.put("claims/t-1.Bob.json", legacy_claim())
    room.act("renew", actor="BOB")
    assert list(room.claims()) == ["t-1.Bob.json"]
    room.clock.turn(301)
    room.act("recover", actor="bob")
    assert list(room.claims()) == ["t-1.Bob.json"]


# --- damaged --------------------------------------------------------------------------------------------------------

DAMAGED = {
    "garbage": (b"\xff\0", "LEASE_INVALID_RECORD"),
    "empty": (b"", "LEASE_INVALID_RECORD"),
    "no list": (b"[]", "LEASE_INVALID_RECORD"),
    "a field missing": (legacy_claim().replace(b'"owner"', b'"over"'), "LEASE_REQUIRED_FIELD_MISSING"),
    "a field more": (legacy_claim(fence=1), "LEASE_UNKNOWN_FIELD"),
    "a time": (legacy_claim(lease_expires_at="soon"), "LEASE_INVALID_TIMESTAMP"),
    "another owner": (legacy_claim(owner="carol"), "LEASE_RECORD_ID_MISMATCH"),
    "another channel": (legacy_claim(channel="ops"), "LEASE_RECORD_ID_MISMATCH"),
    "another task": (legacy_claim("T-9"), "LEASE_RECORD_ID_MISMATCH"),
    "a later version": (b'{"schema_version": 2}', "RECORD_VERSION"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_claim_stops_only_its_task(room: TaskRoom, kind: str) -> None:
    data, code = DAMAGED[kind]
    room.create("T-1")
    room.create("T-2")
    room.claim("T-1")
    room.put("claims/T-1.bob.json", data)
    acts: list[Callable[[], object]] = [
        *(partial(room.act, command) for command in ("renew", "done", "release", "block", "recover")),
        *(partial(room.claim, actor=name) for name in ("bob", "carol")),
        partial(room.act, "cancel", actor="alice"),
    ]
    for act in acts:
        error = refused(code, act, room)
        # What a later version wrote is no damage: there is nothing to mend here.
        assert error.next == (None if code == "RECORD_VERSION" else "agent-chat doctor dev")
        assert "dev/claims/T-1.bob.json" in error.message
    for view in (room.view("T-1"), room.every()["T-1"]):
        assert (view.ready, view.claim, view.fault[: len(code)]) == (False, None, code)
    (warning,) = room.warnings()
    assert warning.startswith(code)
    assert room.ready() == ["T-2"]
    assert room.claim("T-2").task.status == IN_PROGRESS


def test_what_lies_among_the_claims_and_is_none_stops_nobody(room: TaskRoom) -> None:
    room.create()
    for name in ("x.json", "T-1.json", "T-1.bob.json~", ".T-1.bob.json", "T-1.bob.txt", "T-10.bob.json"):
        room.put(f"claims/{name}", b"garbage")
    assert room.claim().seq == 2
    assert room.act("done").task.status == DONE


# --- several on one task --------------------------------------------------------------------------------------------


def test_several_claims_on_one_task_are_inconsistent_until_all_ran_out(room: TaskRoom) -> None:
    legacy(room)
    room.put("claims/T-1.carol.json", legacy_claim(owner="carol", lease_expires_at="2026-01-02T03:19:05+00:00"))
    for actor in ("bob", "carol", "dave"):
        acts: list[Callable[[], object]] = [partial(room.claim, actor=actor)]
        acts += [partial(room.act, each, actor=actor) for each in ("renew", "done", "release", "block")]
        for act in acts:
            error = refused("LEASE_INCONSISTENT", act, room)
            assert next_of(error) == "doctor dev"
            assert "has the owner bob, and is claimed by bob, carol" in error.message
    view = room.view()
    assert (view.ready, view.claim, view.fault.partition(":")[0]) == (False, None, "LEASE_INCONSISTENT")
    room.clock.turn(400)
    refused("LEASE_NOT_EXPIRED", lambda: room.act("recover", actor="dave"), room)
    room.clock.turn(600)
    taken = room.act("recover", actor="dave").claim
    assert taken is not None
    assert (taken.previous_owner, list(room.claims())) == ("carol", ["T-1.dave.json"])
    assert room.act("done", actor="dave").task.status == DONE


@pytest.mark.parametrize("owner", [None, "carol"])
def test_a_claim_of_another_owner_than_the_task_has_is_inconsistent(room: TaskRoom, owner: str | None) -> None:
    room.put("tasks/T-1.json", legacy_task(status=IN_PROGRESS, owner=owner))
    room.put("claims/T-1.bob.json", legacy_claim())
    for act in (lambda: room.act("done"), lambda: room.act("done", actor="carol"), room.claim):
        refused("LEASE_INCONSISTENT", act, room)
    room.clock.turn(361)
    assert room.act("recover", actor="bob").task.owner == "bob"


# --- pending --------------------------------------------------------------------------------------------------------


def leave_pending(room: TaskRoom, at: int) -> None:
    """Claims T-1 as bob and dies before the at-th phase is noted."""
    files = FaultyFiles(str(room.root), room.clock, at=at, only=("append",))
    channel = Channel(workspace_on(room.root, clock=room.clock, files=files), "dev")
    with pytest.raises(Crash):
        claims.claim(channel, "T-1", Actor(name="bob"))


@pytest.mark.parametrize(("at", "outcome", "owner"), [(1, "undone", None), (2, "finished", "bob")])
def test_while_a_claim_is_pending_nothing_changes_and_reads_show_what_will_be(
    room: TaskRoom, at: int, outcome: str, owner: str | None
) -> None:
    room.create("T-1")
    room.create("T-2")
    leave_pending(room, at)
    acts: list[Callable[[], object]] = [
        partial(room.create, "T-3"),
        partial(room.update, "T-2", title="x"),
        partial(room.claim, "T-2"),
    ]
    acts += [partial(room.act, command, "T-2") for command in ("renew", "done", "cancel", "recover")]
    for act in acts:
        error: ChatError = refused("LEASE_TRANSACTION_PENDING", act, room)
        assert next_of(error).startswith("task recover-pending dev --as ")
    view = room.every()["T-1"]
    assert (view.task.owner, view.claim is not None, view.pending, view.ready) == (
        owner,
        owner is not None,
        True,
        False,
    )
    assert room.view("T-1") == view
    assert (room.ready(), len(room.warnings())) == (["T-2"], 1)
    assert room.post("alice").seq > 0
    assert recovering.recover_pending(room.reopened(), OF_TASKS, "carol").outcome == outcome
    assert (room.view("T-1").task.owner, room.warnings()) == (owner, ())
    assert recovering.recover_pending(room.reopened(), OF_TASKS, "carol").outcome == "nothing pending"
    error = refused_by_code(
        "LEASE_TRANSACTION_NOT_FOUND",
        lambda: recovering.recover_pending(room.reopened(), OF_TASKS, "carol", resolution="rollback"),
    )
    assert next_of(error) == "task recover-pending dev --as carol"
    assert room.claim("T-2", "carol").task.status == IN_PROGRESS
