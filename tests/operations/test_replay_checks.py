"""The doctor's replay: what a finding says, what nobody can tell and is left out, and writers at work beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.operations import replay_checks
from agent_chat.operations.recovery import recover_pending
from agent_chat.storage.journal import JOURNALS, OF_LOCKS, OF_TASKS
from tests.operations.lock_room import LockRoom
from tests.operations.replay_room import (
    REPLAY,
    UNTIL,
    alter,
    claim_it,
    findings,
    lose_journals,
    message,
    on_disk,
    put_untold,
    rebuilt,
    say,
    seq_of_last,
    task_body,
    told,
)
from tests.support.cli import plant
from tests.support.leases import STAMP

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.journal import Journal


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    return LockRoom(tmp_path)


# -- what the finding says ---------------------------------------------------------------------------------------------


def test_the_finding_names_what_differs_and_where_the_last_state_is(room: LockRoom) -> None:
    room.create("T-1", title="Index")
    room.update("T-1", branch="topic/one")
    alter(room, "tasks/T-1.json", title="By hand", owner="bob")
    entry = "tasks/audit/20260102T030405Z-alice-update-T-1.md"
    assert told(room) == (
        f"{entry} tells of title Index, owner none; it says title By hand, owner bob; "
        f"{entry} has what was announced last: restore it from there, or keep it: the record counts"
    )
    room.update("T-1", title="Kept")
    assert findings(room) == []


def test_without_the_journal_the_messages_tell(room: LockRoom) -> None:
    room.create("T-1")
    room.claim("T-1")
    lock_id = room.held("a.py")
    lose_journals(room)
    alter(room, "tasks/T-1.json", title="nobody tells of titles")
    alter(room, "claims/T-1.bob.json", session="nor of sessions")
    assert findings(room) == []
    alter(room, "tasks/T-1.json", status="blocked")
    assert told(room).startswith(
        "#2 tells of status in_progress; it says status blocked; 0002-bob-lease-claimed-t-1.md"
    )
    alter(room, "tasks/T-1.json", status="in_progress")
    alter(room, "claims/T-1.bob.json", lease_expires_at=STAMP)
    assert findings(room) == [("claim.replay", "claims/T-1.bob.json")]
    alter(room, "claims/T-1.bob.json", lease_expires_at=UNTIL)
    alter(room, f"locks/{lock_id}.json", owner="carol")
    assert told(room).startswith("#3 tells of owner bob; it says owner carol; 0003-bob-path-locked")


def test_what_was_given_back_and_is_there_again_is_found(room: LockRoom) -> None:
    room.create("T-1")
    room.claim("T-1")
    lock_id = room.held("a.py")
    before = on_disk(room)
    room.act("done", "T-1")
    room.unlock(lock_id)
    for place, data in before.items():
        room.put(place, data)
    assert findings(room) == [
        ("task.replay", "tasks/T-1.json"),
        ("claim.replay", "claims/T-1.bob.json"),
        ("lock.replay", f"locks/{lock_id}.json"),
    ]


def test_what_is_missing_is_found_a_claim_or_lock_only_while_it_would_run(room: LockRoom) -> None:
    room.create("T-1")
    room.claim("T-1")
    lock_id = room.held("a.py")
    for place in on_disk(room):
        (room.folder / place).unlink()
    wanted = [("task.replay", "tasks/T-1.json")]
    more = [("claim.replay", "claims/T-1.bob.json"), ("lock.replay", f"locks/{lock_id}.json")]
    assert findings(room) == wanted + more
    lose_journals(room)
    assert findings(room) == wanted + more
    room.clock.turn(301)
    assert findings(room) == wanted


# -- what nobody can tell ----------------------------------------------------------------------------------------------


def test_a_record_that_nothing_tells_of_is_found(room: LockRoom) -> None:
    room.post()
    put_untold(room)
    assert [id for id, _ in findings(room)] == list(REPLAY)


@pytest.mark.parametrize(
    "how",
    [
        lambda room: plant(room.folder / "tombstones.md"),
        lambda room: message(room, 2).unlink(),
        lambda room: message(room, 1).unlink(),
        lambda room: message(room, 2).write_bytes(b"\xff"),
        lambda room: plant(room.folder / "0002-bob-x.md", b"no message"),
    ],
)
def test_where_the_history_is_not_whole_it_may_have_been_told(
    room: LockRoom, how: Callable[[LockRoom], object]
) -> None:
    for _ in range(3):
        room.post()
    put_untold(room)
    how(room)
    room.clock.turn(60)
    assert findings(room) == []


def test_a_message_that_people_delete_is_in_the_journal(room: LockRoom) -> None:
    room.create("T-1")
    room.claim("T-1")
    room.post()
    message(room, 2).unlink()
    assert rebuilt(room) == on_disk(room)
    assert findings(room) == []
    alter(room, "claims/T-1.bob.json", session="x")
    assert findings(room) == [("claim.replay", "claims/T-1.bob.json")]


def test_where_message_and_entry_are_gone_what_is_older_is_not_believed(room: LockRoom) -> None:
    room.create("T-1")
    room.claim("T-1")
    room.post()
    room.create("T-2")
    lose_journals(room)
    message(room, 2).unlink()
    assert findings(room) == []
    alter(room, "tasks/T-2.json", status="done")
    assert findings(room) == [("task.replay", "tasks/T-2.json")]


def test_what_was_kept_is_unknown_until_it_is_told_of_again(room: LockRoom) -> None:
    for task in ("T-1", "T-2"):
        room.create(task)
    room.die(1, claim_it)
    alter(room, "tasks/T-1.json", title="by hand")
    alter(room, "tasks/T-2.json", title="by hand")
    recover_pending(room.reopened(), OF_TASKS, "carol", keep=True)
    assert findings(room) == [("task.replay", "tasks/T-2.json")]
    (room.folder / "claims" / "T-1.bob.json").unlink()
    alter(room, "tasks/T-1.json", status="open", owner=None, lease_expires_at=None)
    room.update("T-1", title="told again")
    assert findings(room) == [("task.replay", "tasks/T-2.json")]
    alter(room, "tasks/T-1.json", title="by hand")
    assert findings(room) == [("task.replay", "tasks/T-1.json"), ("task.replay", "tasks/T-2.json")]


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda journal: journal.name)
def test_what_was_kept_and_cannot_be_read_may_be_about_all(room: LockRoom, journal: Journal) -> None:
    room.create("T-1")
    lock_id = room.held("a.py")
    room.put(journal.entry, b"half of an ent")
    alter(room, "tasks/T-1.json", title="by hand")
    alter(room, f"locks/{lock_id}.json", reason="by hand")
    both = [("task.replay", "tasks/T-1.json"), ("lock.replay", f"locks/{lock_id}.json")]
    assert findings(room) == [both[journal is OF_TASKS]]
    recover_pending(room.reopened(), journal, "carol", keep=True)
    put_untold(room)
    ids = {id for id, _ in findings(room)}
    assert ids == ({"lock.replay"} if journal is OF_TASKS else {"task.replay", "claim.replay"})


def test_after_everything_was_unknown_what_is_told_of_counts(room: LockRoom) -> None:
    lock_id = room.held("a.py")
    room.put(OF_LOCKS.entry, b"half of an ent")
    recover_pending(room.reopened(), OF_LOCKS, "carol", keep=True)
    room.clock.turn(5)
    room.renew(lock_id)
    assert findings(room) == []
    alter(room, f"locks/{lock_id}.json", reason="by hand")
    assert findings(room) == [("lock.replay", f"locks/{lock_id}.json")]


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "[]", "null"),
        '{"event": "lease.claimed"}',
        '{"event": "task.updated", "task_id": "T-1", "status": "open"}',
        task_body("task.created"),
        task_body("task.updated", status=1),
        task_body("task.updated", task_id="../x"),
        task_body("task.updated", owner=["bob"]),
        task_body("task.updated", lease_expires_at="noon"),
        task_body("task.updated", event=None),
    ],
)
def test_a_body_that_is_none_makes_its_task_unknown_and_no_other(room: LockRoom, body: str) -> None:
    room.create("T-1")
    room.create("T-2")
    say(room, 3, "task.updated", "T-1", body)
    for task in ("T-1", "T-2"):
        alter(room, f"tasks/{task}.json", title="by hand")
    assert findings(room) == [("task.replay", "tasks/T-2.json")]
    say(room, 4, "task.updated", "no task", body if "../x" in body else "?")
    put_untold(room)
    assert {id for id, _ in findings(room)} == {"lock.replay"}


@pytest.mark.parametrize("body", ["", "[]", '{"event": "path.locked", "lock_id": "1"}', '{"event": "path.locked"}'])
@pytest.mark.parametrize("status", ["path.locked", "path.lock.renewed", "path.of.a.later.version"])
def test_a_body_that_is_none_makes_its_lock_unknown(room: LockRoom, status: str, body: str) -> None:
    one, two = room.held("a.py"), room.held("b.py")
    say(room, 3, status, one, body)
    for lock_id in (one, two):
        alter(room, f"locks/{lock_id}.json", reason="by hand")
    assert findings(room) == [("lock.replay", f"locks/{two}.json")]


def test_only_what_no_post_can_say_counts(room: LockRoom) -> None:
    room.create("T-1")
    room.post(title="task.updated T-1", body=task_body("task.updated", status="done"), status="tasks")
    say(room, 3, "Task.updated", "T-1", task_body("task.updated", status="done"))
    assert findings(room) == []


# -- beside writers ----------------------------------------------------------------------------------------------------


def beside(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], times: int = 1) -> None:
    """Something is done after the messages were read, and again after each look."""
    real, left = replay_checks._Look.doubts, [times]

    def doubts(look: Any) -> list[Any]:
        if left[0]:
            left[0] -= 1
            act()
        return real(look)

    monkeypatch.setattr(replay_checks._Look, "doubts", doubts)


def test_what_changes_while_the_doctor_looks_is_no_finding(room: LockRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.create("T-1")
    room.create("T-2")
    lock_id = room.held("a.py")

    def change() -> None:
        room.claim("T-1")
        room.create("T-3")
        room.unlock(lock_id)

    beside(monkeypatch, change)
    alter(room, "tasks/T-2.json", title="by hand")
    assert findings(room) == [("task.replay", "tasks/T-2.json")]


def test_what_never_stands_still_is_left_out(room: LockRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    room.create("T-1")
    beside(monkeypatch, lambda: room.update("T-1", title=f"t{seq_of_last(room)}"), times=99)
    assert findings(room) == []


def test_what_is_pending_is_as_its_recovery_decides(room: LockRoom) -> None:
    room.create("T-1")
    for at in (1, 2):
        room.die(at, claim_it)
        assert findings(room) == []
        recover_pending(room.reopened(), OF_TASKS, "carol")
        assert findings(room) == []
