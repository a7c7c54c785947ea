"""Path locks as they are shown: who is in the way of whom, in which order and in which words; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import lock_views
from agent_chat.records import path_lock
from tests.operations.lock_room import LEGACY_ID, UNANNOUNCED, LockRoom, legacy_lock
from tests.support.cli import tree_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    return LockRoom(tmp_path)


def texts(room: LockRoom, *paths: str, actor: str | None = None) -> list[str]:
    """What `check` says of each conflict."""
    now = room.clock.moment()
    return [lock_views.conflict_text(each, now) for each in room.checked(*paths, actor=actor).locks]


# --- in the way -----------------------------------------------------------------------------------------------------


def test_ones_own_locks_are_in_nobody_elses_words_in_ones_way(room: LockRoom) -> None:
    id = room.held("a.py", "b/")
    for actor, found in ((None, [id]), ("carol", [id]), ("bob", []), ("BOB", []), ("bo", [id])):
        assert room.check("a.py", "free", actor=actor) == found
    assert room.check("free", "b.py") == []


def test_a_lock_that_ran_out_is_in_its_owners_way_too_and_says_so(room: LockRoom) -> None:
    id = room.held("a.py")
    room.clock.turn(420)
    for actor in (None, "bob", "carol"):
        assert texts(room, "a.py", actor=actor) == [f"a.py: bob, lock {id}, ran out 2 min ago"]


def test_a_suspect_lock_says_so(room: LockRoom) -> None:
    id = room.held("a.py")
    room.clock.reboot()
    room.clock.step(-86400)
    assert texts(room, "a.py", actor="carol") == [f"a.py: bob, lock {id}, suspect"]
    assert texts(room, "a.py", actor="bob") == []


def test_a_pending_lock_is_in_the_way_of_others(room: LockRoom) -> None:
    room.leave_pending(UNANNOUNCED, "a.py")
    (text,) = texts(room, "a.py", actor="carol")
    assert text.endswith("5 min left, in a pending change")
    assert room.check("a.py", actor="bob") == []


def test_a_check_writes_nothing(room: LockRoom) -> None:
    room.held("a.py")
    room.put(f"locks/{LEGACY_ID}.json", b"{")
    before = tree_of(room.root)
    room.checked("a.py", "b.py", actor="bob")
    room.listed()
    assert tree_of(room.root) == before


# --- listed ---------------------------------------------------------------------------------------------------------


def test_locks_are_listed_as_they_were_taken(room: LockRoom) -> None:
    first = [room.held(f"{n}.py") for n in range(4)]
    room.clock.turn(1)
    later = [room.held(f"later-{n}.py") for n in range(4)]
    room.put(f"locks/{LEGACY_ID}.json", b"{")
    assert [each.id for each in room.listed()] == [LEGACY_ID, *sorted(first), *sorted(later)]
    room.clock.turn(1)
    room.renew(first[0])
    assert [each.id for each in room.listed()] == [LEGACY_ID, *sorted(first), *sorted(later)]
    room.clock.turn(600)
    room.recover(first[0])
    assert [each.id for each in room.listed()] == [LEGACY_ID, *sorted(first[1:]), *sorted(later), first[0]]


def test_a_damaged_lock_is_listed_with_a_warning(room: LockRoom) -> None:
    id = room.held("a.py")
    room.damage(id, b"{")
    checked = lock_views.every(room.reopened())
    assert [each.id for each in checked.locks] == [id]
    (warning,) = checked.warnings
    assert warning.startswith(f"PATH_LOCK_INVALID_RECORD: dev/locks/{id}.json is damaged: ")


# --- words and fields -----------------------------------------------------------------------------------------------


def test_the_words_name_paths_owner_reason_and_time(room: LockRoom) -> None:
    id = room.held("src/", "a.py", "./b.py", why="a rewrite", lease="7200")
    assert texts(room, "src/x") == [f"src/, a.py, b.py: bob (a rewrite), lock {id}, 2 h left"]
    room.damage(id, b'{"paths": [')
    assert texts(room, "src/x") == [f"src/, a.py, b.py: held by a damaged lock, {id}"]
    room.put(f"locks/{LEGACY_ID}.json", b"{")
    (listed, _) = sorted(room.listed(), key=lambda each: each.id != LEGACY_ID)
    assert lock_views.conflict_text(listed, room.clock.moment()) == f"?: held by a damaged lock, {LEGACY_ID}"


def test_the_fields_are_those_of_the_record_and_how_it_stands(room: LockRoom) -> None:
    lock = room.lock("a.py").lock
    (stored,) = room.checked("a.py").locks
    shown = lock_views.conflict_fields(stored, room.clock.moment())
    assert shown == {**path_lock.to_json(lock), "expired": False}
    room.clock.turn(300)
    assert lock_views.conflict_fields(stored, room.clock.moment())["expired"] is True
    pending = stored.replace(pending=True)
    assert lock_views.conflict_fields(pending, room.clock.moment())["pending"] is True


def test_the_fields_of_a_damaged_lock_are_those_that_can_be_read(room: LockRoom) -> None:
    room.put(f"locks/{LEGACY_ID}.json", legacy_lock("a.py", expires_at="soon"))
    (stored,) = room.checked("a.py").locks
    shown = lock_views.conflict_fields(stored, room.clock.moment())
    assert shown == {
        "lock_id": LEGACY_ID,
        "owner": None,
        "paths": [{"display_path": "a.py", "kind": "file", "normalized_path": "a.py"}],
        "damaged": stored.fault,
        "expired": False,
    }
    assert stored.fault.startswith("PATH_LOCK_INVALID_TIMESTAMP: ")
    assert not stored.has_run_out(room.clock.moment())
