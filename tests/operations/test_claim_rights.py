"""Whose a claim is: expired, suspect and displaced; fences and sessions; who may cancel and who may recover."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.records.task import BLOCKED, CANCELLED, DONE, IN_PROGRESS
from tests.operations.task_room import TaskRoom, next_of, refused
from tests.support.cli import START, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.errors import ChatError

HELD = ("renew", "done", "release", "block")
DAY = 86400.0
RECOVERY = "task recover dev T-1 --as {} --reason "


@pytest.fixture
def room(tmp_path: Path) -> TaskRoom:
    room = TaskRoom(tmp_path)
    room.create()
    room.claim()
    return room


def refused_acts(room: TaskRoom, code: str, *commands: str, **who: Any) -> list[Any]:
    """The errors of commands each of which must be refused and change nothing."""
    return [refused(code, lambda command=command: room.act(command, **who), room) for command in commands]  # type: ignore[misc]


# --- running --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alice", "bob-2", "bo", "bobb", "b.ob", "carol", "вob"])
def test_under_a_running_lease_only_its_holder_acts(room: TaskRoom, name: str) -> None:
    for error in refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", actor=name):
        assert error.message == "task T-1 is held by bob since 2026-01-02T03:04:05+00:00"
        assert (error.details["owner"], next_of(error)) == ("bob", "task show dev T-1")
    (error,) = refused_acts(room, "LEASE_NOT_EXPIRED", "recover", actor=name)
    assert "held by bob, 5 min left" in error.message
    refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", actor=name, fence=2)


@pytest.mark.parametrize("command", [*HELD, "cancel"])
@pytest.mark.parametrize(
    "who", [{}, {"actor": "BOB"}, {"fence": 2}, {"fence": 2, "session": "any"}, {"session": "any"}]
)
def test_its_holder_may_do_all_of_them(room: TaskRoom, command: str, who: dict[str, Any]) -> None:
    assert room.act(command, **who).seq == 3


@pytest.mark.parametrize("fence", [0, 1, 3, 999_999_999])
def test_a_fence_must_match_exactly(room: TaskRoom, fence: int) -> None:
    for error in refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", fence=fence):
        assert error.message == f"the fence of task T-1 is 2, not {fence}: it was granted anew"
        assert next_of(error) == "task show dev T-1"


def test_a_holder_cannot_recover_what_runs(room: TaskRoom) -> None:
    refused_acts(room, "LEASE_NOT_EXPIRED", "recover")


# --- sessions -------------------------------------------------------------------------------------------------------


def test_a_claim_under_a_session_is_for_that_session_or_whoever_gives_the_fence(room: TaskRoom) -> None:
    room.act("release")
    fence = room.claim(session="s-1").seq
    for who in ({}, {"session": "s-2"}):
        for error in refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", **who):
            assert error.message.endswith("in another session; give its --fence to act for it")
            assert next_of(error) == "task show dev T-1"
    room.act("renew", session="s-1")
    room.act("block", fence=fence)
    refused("LEASE_OWNER_MISMATCH", room.claim, room)
    assert room.claim(session="s-1").seq == room.task_fence()
    assert room.act("done", fence=room.task_fence(), session="s-2").task.status == DONE


def test_a_renewal_by_fence_leaves_the_claim_to_its_session(room: TaskRoom) -> None:
    room.act("release")
    fence = room.claim(session="s-1").seq
    claim = room.act("renew", fence=fence, session="s-2").claim
    assert claim is not None
    assert (claim.session, claim.fence) == ("s-1", fence)


# --- expired --------------------------------------------------------------------------------------------------------


def test_an_expired_lease_ends_its_owners_rights_and_is_never_taken_in_silence(room: TaskRoom) -> None:
    room.clock.turn(300)
    for error in refused_acts(room, "LEASE_RECOVERY_REQUIRED", *HELD):
        assert error.message.startswith("the lease of bob on task T-1 ran out 0 s ago")
        assert error.details["expires_at"] == "2026-01-02T03:09:05+00:00"
        assert next_of(error).startswith(RECOVERY.format("bob"))
    refused_acts(room, "LEASE_RECOVERY_REQUIRED", *HELD, fence=2)
    refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, actor="carol")
    for name in ("bob", "carol"):
        error = refused("LEASE_RECOVERY_REQUIRED", lambda name=name: room.claim(actor=name), room)  # type: ignore[misc]
        assert "the lease of bob" in error.message
        assert (error.details["owner"], error.details["expires_at"]) == ("bob", "2026-01-02T03:09:05+00:00")
        assert next_of(error).startswith(RECOVERY.format(name))
    assert room.ready() == ["T-1"]


def test_a_recovery_says_who_lost_it_when_and_why(room: TaskRoom) -> None:
    room.clock.turn(301)
    changed = room.act("recover", actor="carol", why=" the session  ended ", lease="60", session="s-9")
    claim = changed.claim
    assert claim is not None
    assert {**claim.__dict__, "lease": claim.lease.seconds} == {
        "task_id": "T-1",
        "channel": "dev",
        "owner": "carol",
        "lease": 60,
        "claimed_at": START + 301,
        "previous_owner": "bob",
        "previous_lease_expires_at": START + 300,
        "recovery_reason": "the session  ended",
        "fence": 3,
        "session": "s-9",
    }
    assert room.claims() == {"T-1.carol.json": claim}
    assert (room.task(), room.task().status, room.task().owner) == (changed.task, IN_PROGRESS, "carol")
    told = room.told()
    assert room.audit().title == "lease.recovered T-1"
    names = ("event", "lease_owner", "owner", "fence", "previous_owner", "previous_lease_expires_at", "recovery_reason")
    assert [told[name] for name in names] == [
        *("lease.recovered", "carol", "carol", 3),
        *("bob", "2026-01-02T03:09:05+00:00", "the session  ended"),
    ]


def test_a_displaced_owner_is_refused_and_told_who_has_it(room: TaskRoom) -> None:
    room.clock.turn(301)
    room.act("recover", actor="carol")
    held = room.claims()
    for who in ({}, {"fence": 2}, {"fence": 3}, {"session": "s-1"}):
        for error in refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", **who):
            assert error.message.startswith("task T-1 was recovered from you by carol ")
            assert error.message.endswith(" 2026-01-02T03:09:06+00:00")
            assert error.details["owner"] == "carol"
    refused("LEASE_CONFLICT", room.claim, room)
    refused_acts(room, "LEASE_NOT_EXPIRED", "recover")
    assert room.claims() == held


@pytest.mark.parametrize("who", [{"fence": 2}, {"fence": 2, "session": "s-1"}, {}, {"session": "s-2"}])
def test_under_the_same_name_the_old_fence_and_another_session_are_displaced_too(
    room: TaskRoom, who: dict[str, Any]
) -> None:
    room.clock.turn(301)
    assert room.act("recover", session="s-1").task.owner == "bob"  # the former owner included
    assert room.task_fence() == 3
    if who.get("fence") == 2 or who.get("session") != "s-1":
        refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", **who)
    assert room.act("done", session="s-1").task.status == DONE


def test_a_blocked_task_stays_blocked_when_it_is_recovered(room: TaskRoom) -> None:
    room.act("block")
    room.clock.turn(301)
    assert room.ready() == []
    refused("LEASE_RECOVERY_REQUIRED", room.claim, room)
    assert room.act("recover", actor="carol").task.status == BLOCKED
    assert room.claim(actor="carol").task.status == IN_PROGRESS


@pytest.mark.parametrize("why", ["", " ", "a\nb", "a\tb", "\x1b[2J", "x" * 4097, "ї" * 2049, "\ud800"])
def test_a_recovery_needs_a_reason_of_one_line(room: TaskRoom, why: str) -> None:
    room.clock.turn(301)
    refused("LEASE_INVALID_REASON", lambda: room.act("recover", actor="carol", why=why), room)


@pytest.mark.parametrize(
    "why", ["x", "x" * 4096, "дуже довго", "終わった\u3000ので", "👨\u200d👩", "fini\u00a0!", "'\"$(x)"]
)
def test_a_reason_may_be_in_any_language(room: TaskRoom, why: str) -> None:
    room.clock.turn(301)
    claim = room.act("recover", actor="carol", why=why).claim
    assert claim is not None
    assert claim.recovery_reason == room.told()["recovery_reason"] == why


def test_a_recovery_with_a_fence_is_of_that_claim(room: TaskRoom) -> None:
    room.clock.turn(301)
    (error,) = refused_acts(room, "LEASE_OWNER_MISMATCH", "recover", actor="carol", fence=1)
    assert "the fence of task T-1 is 2, not 1" in error.message
    assert room.act("recover", actor="carol", fence=2).task.owner == "carol"


def test_what_the_refusal_says_to_run_next_runs(room: TaskRoom) -> None:
    def run_next(error: ChatError) -> None:
        result = run(shlex.split(next_of(error)), workspace=workspace_on(room.root, clock=room.clock))
        assert result.status == 0, result

    run_next(refused("LEASE_CONFLICT", room.claim))
    room.clock.turn(301)
    run_next(refused("LEASE_RECOVERY_REQUIRED", lambda: room.act("done")))
    assert (room.task().owner, room.task_fence()) == ("bob", 4)
    room.clock.turn(301)
    run_next(refused("LEASE_RECOVERY_REQUIRED", lambda: room.claim(actor="carol")))
    assert room.task().owner == "carol"
    for error in refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD):
        run_next(error)
    room.act("release", actor="carol")
    run_next(refused("LEASE_NOT_FOUND", lambda: room.act("renew")))
    assert room.task().owner == "bob"


# --- clocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 3 * DAY, -3 * DAY])
def test_a_step_of_the_wall_clock_neither_ends_a_lease_nor_makes_it_longer(room: TaskRoom, jump: float) -> None:
    room.clock.step(jump)
    refused("LEASE_CONFLICT", lambda: room.claim(actor="carol"), room)
    refused_acts(room, "LEASE_NOT_EXPIRED", "recover", actor="carol")
    assert room.act("renew").seq == 3
    room.clock.turn(300)
    refused_acts(room, "LEASE_RECOVERY_REQUIRED", *HELD)


def test_after_a_boot_a_lease_runs_by_wall_time_with_a_minute_of_grace(room: TaskRoom) -> None:
    room.clock.reboot()
    room.clock.turn(359)
    refused("LEASE_CONFLICT", lambda: room.claim(actor="carol"), room)
    room.clock.turn(1)
    refused("LEASE_RECOVERY_REQUIRED", lambda: room.claim(actor="carol"), room)
    assert room.act("recover", actor="carol").task.owner == "carol"


def test_a_suspect_lease_is_told_open_to_recovery_and_still_its_owners(room: TaskRoom) -> None:
    room.clock.reboot()
    room.clock.step(-3 * DAY)
    for name in ("bob", "carol"):
        error = refused("LEASE_RECOVERY_REQUIRED", lambda name=name: room.claim(actor=name), room)  # type: ignore[misc]
        assert "is suspect: more is left of it than its whole length" in error.message
        assert "it was to end at 2026-01-02T03:09:05+00:00" in error.message
    refused_acts(room, "LEASE_OWNER_MISMATCH", *HELD, "cancel", actor="carol")
    assert room.ready() == ["T-1"]
    assert room.act("renew").seq == 3
    room.clock.reboot()
    room.clock.step(-3 * DAY)
    assert room.act("recover", actor="carol").task.owner == "carol"


# --- cancelling -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bob", "alice"])
def test_when_the_lease_is_over_owner_and_creator_may_cancel(room: TaskRoom, name: str) -> None:
    room.clock.turn(301)
    refused_acts(room, "LEASE_OWNER_MISMATCH", "cancel", actor="carol")
    (error,) = refused_acts(room, "LEASE_OWNER_MISMATCH", "cancel", actor=name, fence=7)
    assert "the fence of task T-1 is 2, not 7" in error.message
    assert room.act("cancel", actor=name, fence=2).task.status == CANCELLED
    assert room.claims() == {}


def test_without_a_claim_owner_and_creator_may_cancel(room: TaskRoom) -> None:
    room.create("T-2", owner="carol")
    error = refused("LEASE_OWNER_MISMATCH", lambda: room.act("cancel", "T-2", "bob"), room)
    assert (error.message, next_of(error)) == ("task T-2 can be cancelled by carol or alice", "task show dev T-2")
    assert room.act("cancel", "T-2", "Carol").task.status == CANCELLED
    refused("LEASE_OWNER_MISMATCH", lambda: room.act("cancel", "T-2", "bob"), room)
    room.create("T-3")
    assert room.act("cancel", "T-3", "alice").task.status == CANCELLED


def test_the_creator_does_not_cancel_what_somebody_works_on(room: TaskRoom) -> None:
    refused_acts(room, "LEASE_OWNER_MISMATCH", "cancel", actor="alice")
