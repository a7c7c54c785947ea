"""Lock files as they are found: of the other program, damaged, unreadable, no files at all, and pending changes."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.operations import path_locks
from agent_chat.operations import recovery as recovering
from agent_chat.operations.leases import Actor
from agent_chat.records.locked_path import DIRECTORY, LockedPath
from agent_chat.storage.channel import Channel
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.journal import OF_LOCKS
from tests.operations.lock_room import ANNOUNCED, LEGACY_ID, UNANNOUNCED, LockRoom, legacy_lock
from tests.operations.task_room import next_of, refused
from tests.support.cli import START, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Clock

PLACE = f"locks/{LEGACY_ID}.json"


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    return LockRoom(tmp_path)


# --- of the other program -------------------------------------------------------------------------------------------


def test_a_lock_of_the_other_program_runs_by_wall_time_and_its_holder_goes_on(room: LockRoom) -> None:
    room.put(PLACE, legacy_lock("src/a.py", "docs/"))
    assert room.check("docs/x.md", "other") == [LEGACY_ID]
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("src/", actor="carol"), room)
    refused("PATH_LOCK_OWNER_MISMATCH", lambda: room.unlock("docs", "carol"), room)
    refused("PATH_LOCK_OWNER_MISMATCH", lambda: room.unlock("docs", fence=1), room)
    refused("PATH_LOCK_NOT_STALE", lambda: room.recover("docs"), room)
    renewed = room.renew("src/a.py", "BOB").lock
    assert (renewed.fence, renewed.lease.seconds, renewed.session) == (None, 300, None)
    assert room.record(LEGACY_ID)["schema_version"] == 1
    assert room.records() == {LEGACY_ID: renewed}
    assert room.unlock(LEGACY_ID).lock == renewed
    assert room.records() == {}


def test_asking_again_for_what_it_covers_renews_it(room: LockRoom) -> None:
    room.put(PLACE, legacy_lock("src/a.py"))
    again = room.lock("src/a.py", session="s-1", lease="60")
    assert (again.renewed, again.lock.lock_id, again.lock.lease.expires) == (True, LEGACY_ID, START + 60)


def test_when_it_has_run_out_it_is_recovered(room: LockRoom) -> None:
    room.put(PLACE, legacy_lock("src/a.py"))
    room.clock.turn(359)
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("src/a.py", actor="carol"), room)
    room.clock.turn(1)
    for name in ("bob", "carol"):
        refused("PATH_LOCK_RECOVERY_REQUIRED", lambda name=name: room.lock("src/", actor=name), room)  # type: ignore[misc]
    refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.unlock("src/a.py"), room)
    refused("PATH_LOCK_OWNER_MISMATCH", lambda: room.recover("src/a.py", fence=1), room)
    taken = room.recover("src/a.py").lock
    assert (taken.previous_owner, taken.previous_expires_at, taken.fence) == ("bob", START + 300, 1)
    assert room.records() == {LEGACY_ID: taken}


# --- damaged --------------------------------------------------------------------------------------------------------

LATER = legacy_lock("src/a.py", "docs/", schema_version=2)
DAMAGED = {
    "garbage": (b"\xff\0", "PATH_LOCK_INVALID_RECORD"),
    "empty": (b"", "PATH_LOCK_INVALID_RECORD"),
    "no list": (b"[]", "PATH_LOCK_INVALID_RECORD"),
    "cut off": (legacy_lock("src/a.py", "docs/")[:-9], "PATH_LOCK_INVALID_RECORD"),
    "a merge": (
        b"<<<<<<< ours\n" + legacy_lock("src/a.py") + b"=======\n" + legacy_lock("docs/") + b">>>>>>> theirs\n",
        "PATH_LOCK_INVALID_RECORD",
    ),
    "a mark": (b"\xef\xbb\xbf" + legacy_lock("src/a.py", "docs/"), "PATH_LOCK_INVALID_RECORD"),
    "a key twice": (b'{"owner": "x",' + legacy_lock("src/a.py", "docs/")[1:], "PATH_LOCK_INVALID_RECORD"),
    "a field missing": (legacy_lock("src/a.py", "docs/").replace(b'"owner"', b'"over"'), "PATH_LOCK_INVALID_RECORD"),
    "a field more": (legacy_lock("src/a.py", "docs/", fence=1), "PATH_LOCK_INVALID_RECORD"),
    "a time": (legacy_lock("src/a.py", "docs/", expires_at="soon"), "PATH_LOCK_INVALID_TIMESTAMP"),
    "an owner": (legacy_lock("src/a.py", "docs/", owner="a b"), "PATH_LOCK_INVALID_RECORD"),
    "another channel": (legacy_lock("src/a.py", "docs/", channel="ops"), "PATH_LOCK_INVALID_RECORD"),
    "another id": (legacy_lock("src/a.py", "docs/", lock_id="f" * 16), "PATH_LOCK_INVALID_LOCK_ID"),
    "no paths": (legacy_lock("src/a.py", paths=[]), "PATH_LOCK_INVALID_RECORD"),
    "a path out": (
        legacy_lock("src/a.py", "docs/").replace(b'"normalized_path": "docs"', b'"normalized_path": "../docs"'),
        "PATH_LOCK_INVALID_RECORD",
    ),
    "too large": (legacy_lock("src/a.py", "docs/", recovery_reason="x" * (1 << 20)), "PATH_LOCK_INVALID_RECORD"),
    "a later version": (LATER, "RECORD_VERSION"),
}


@pytest.fixture
def damaged(room: LockRoom) -> Callable[[bytes], str]:
    """Damages the lock that bob took on src/a.py and docs/; dora's is beside it."""
    id = room.held("src/a.py", "docs/")
    room.held("lib/", actor="dora")

    def damage(data: bytes) -> str:
        room.damage(id, data.replace(LEGACY_ID.encode(), id.encode()))
        return id

    return damage


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_lock_holds_its_paths_and_stops_nobody_elsewhere(
    room: LockRoom, damaged: Callable[[bytes], str], kind: str
) -> None:
    data, code = DAMAGED[kind]
    id = damaged(data)
    for path in ("src/a.py", "docs/x.md", "src/", "docs"):
        for actor in (None, "bob", "carol"):
            checked = room.checked(path, actor=actor)
            assert [(each.id, each.lock, each.fault[: len(code)]) for each in checked.locks] == [(id, None, code)]
            (warning,) = checked.warnings
            assert f"dev/locks/{id}.json" in warning
        for actor in ("bob", "carol"):
            error = refused("PATH_LOCK_CONFLICT", partial(room.lock, "free", path, actor=actor), room)
            assert error.message.endswith(f": held by a damaged lock, {id}")
    for act in (room.renew, room.unlock, room.recover):
        for target in (id, "docs", "src/a.py"):
            error = refused(code, lambda act=act, target=target: act(target), room)  # type: ignore[misc]
            assert error.next == (None if code == "RECORD_VERSION" else "agent-chat doctor dev")
    assert (room.check("src/b.py"), room.checked("src/b.py").warnings) == ([], ())
    assert len(room.listed()) == 2
    assert room.lock("src/b.py", actor="carol").warnings == ()
    assert room.unlock("lib", "dora").lock.owner == "dora"


@pytest.mark.parametrize("make", ["folder", "link", "dangling", "pipe"])
def test_what_stands_in_the_place_of_a_lock_holds_what_its_journal_tells(
    room: LockRoom, damaged: Callable[[bytes], str], make: str
) -> None:
    id = damaged(b"")
    path = room.folder / "locks" / f"{id}.json"
    path.unlink()
    if make == "folder":
        path.mkdir()
    elif make == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere" if make == "dangling" else room.folder / "_meta.json")
    assert room.check("src/a.py") == room.check("docs/x") == [id]
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("src/", actor="carol"), room)
    error = refused("PATH_LOCK_INVALID_RECORD", lambda: room.unlock("docs"), room)
    assert "is no ordinary file" in error.message
    assert room.lock("src/b.py", actor="carol").warnings == ()


class Forbidden(FileSystem):
    """A disk on which some files may not be read."""

    def __init__(self, root: str, clock: Clock, name: str) -> None:
        super().__init__(root, clock)
        self._name = name

    def read_file(self, path: str, limit: int) -> bytes:
        if path.endswith(self._name):
            raise PermissionError(13, "Permission denied", path)
        return super().read_file(path, limit)


def test_a_record_that_may_not_be_read_holds_what_its_journal_tells(room: LockRoom) -> None:
    id = room.held("src/a.py")
    room.workspace = workspace_on(
        room.root, clock=room.clock, files=Forbidden(str(room.root), room.clock, f"{id}.json")
    )
    assert room.check("src/") == [id]
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("src/", actor="carol"), room)
    error = refused("PATH_LOCK_INVALID_RECORD", lambda: room.unlock("src/a.py"), room)
    assert "may not be read" in error.message
    assert room.lock("lib", actor="carol").seq == 2


@pytest.mark.parametrize("data", [b"{", b"", b"[]", b'{"paths": [{}]}'])
def test_a_damaged_lock_of_which_nothing_tells_is_warned_of(room: LockRoom, data: bytes) -> None:
    room.put(PLACE, data)
    text = f"dev/{PLACE} is damaged, and nothing tells what it holds; see doctor dev"
    assert (room.check("a.py"), room.checked("a.py").warnings) == ([], (text,))
    assert room.lock("a.py").warnings == (text,)
    (stored, _) = room.listed()
    assert (stored.id, stored.lock, stored.paths) == (LEGACY_ID, None, ())


def test_a_path_that_cannot_be_read_among_others_is_held_by_the_journal(room: LockRoom) -> None:
    id = room.held("a.py", "b.py")
    fields = room.record(id)
    fields["paths"][1]["kind"] = "socket"
    room.damage(id, json.dumps(fields).encode())
    assert room.check("b.py") == room.check("a.py") == [id]


def test_ones_own_sound_lock_is_given_back_though_a_damaged_one_is_on_the_path(room: LockRoom) -> None:
    own = room.held("a.py")
    room.put(PLACE, legacy_lock("a.py", expires_at="soon"))
    assert room.renew("a.py").lock.lock_id == own
    assert room.unlock("a.py").lock.lock_id == own
    refused("PATH_LOCK_INVALID_TIMESTAMP", lambda: room.unlock("a.py"), room)


def test_a_lock_is_not_recovered_while_a_damaged_one_holds_one_of_its_paths(room: LockRoom) -> None:
    id = room.held("a.py", "b.py")
    room.put(PLACE, legacy_lock("b.py", expires_at="soon"))
    room.clock.turn(301)
    error = refused("PATH_LOCK_CONFLICT", lambda: room.recover(id), room)
    assert error.message == f"b.py: held by a damaged lock, {LEGACY_ID}"


@pytest.mark.parametrize("name", [b"\xff.json", b"a\tb.json", b"a\nb.json", b"x.json", b"UPPER.json", b"x.y.json"])
def test_a_file_with_a_name_of_its_own_stops_nobody(room: LockRoom, name: bytes) -> None:
    """A copy of a lock that somebody made holds its paths, as every damaged one does."""
    id = room.held("a.py")
    shutil.copy(room.folder / "locks" / f"{id}.json", room.folder / "locks" / os.fsdecode(name))
    for n in range(2):
        assert room.lock(f"{n}.py").warnings == ()
        assert len(room.check("a.py")) == 2
    assert room.unlock("a.py").lock.lock_id == id


def test_what_lies_among_the_locks_and_is_none_is_left_alone(room: LockRoom) -> None:
    for name in ("x.json~", ".hidden.json", "x.txt", "readme.md"):
        room.put(f"locks/{name}", b"garbage")
    assert room.listed() == ()
    assert room.lock("a.py").warnings == ()


# --- pending --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "outcome"), [(UNANNOUNCED, "undone"), (ANNOUNCED, "finished")])
def test_while_a_lock_is_pending_its_paths_are_held_and_nothing_changes(room: LockRoom, at: int, outcome: str) -> None:
    other = room.held("lib/")
    room.leave_pending(at, "src/", "docs/")
    acts: tuple[Callable[[], object], ...] = (
        lambda: room.lock("free"),
        lambda: room.renew(other),
        lambda: room.unlock("lib"),
        lambda: room.recover("lib"),
    )
    for act in acts:
        error = refused("PATH_LOCK_TRANSACTION_PENDING", act, room)
        assert next_of(error).startswith("recover-pending dev --as ")
    (stored,) = room.checked("src/a.py", actor="carol").locks
    assert (stored.pending, stored.owner) == (True, "bob")
    assert [each.pending for each in room.checked("lib/x").locks] == [False]
    assert (room.check("free"), len(room.checked("free").warnings)) == ([], 1)
    assert len(room.listed()) == (1 if outcome == "undone" else 2)
    assert room.post("alice").seq > 0
    assert recovering.recover_pending(room.reopened(), OF_LOCKS, "carol").outcome == outcome
    assert (room.check("src/a.py") == []) == (outcome == "undone")
    assert room.lock("free", actor="carol").seq > 0


@pytest.mark.parametrize("change", ["unlock", "renew", "recover"])
@pytest.mark.parametrize("at", [UNANNOUNCED, ANNOUNCED])
def test_a_lock_with_a_pending_change_is_held_before_and_after(room: LockRoom, change: str, at: int) -> None:
    id = room.held("src/")
    room.clock.turn(301 if change == "recover" else 1)
    acts: dict[str, Callable[[Channel], object]] = {
        "unlock": lambda channel: path_locks.unlock(channel, Actor(name="bob"), id, room.locate),
        "renew": lambda channel: path_locks.renew(channel, Actor(name="bob"), id, room.locate),
        "recover": lambda channel: path_locks.recover(channel, Actor(name="carol"), id, room.locate, "gone"),
    }
    room.die(at, acts[change])
    for actor in (None, "dora"):
        (stored,) = room.checked("src/a.py", actor=actor).locks
        assert (stored.id, stored.pending) == (id, True)
    settled = recovering.recover_pending(room.reopened(), OF_LOCKS, "dora")
    assert settled.outcome == ("undone" if at == UNANNOUNCED else "finished")
    there: dict[str, Any] = {each.lock_id: each.owner for each in room.records().values()}
    if change == "unlock" and at == ANNOUNCED:
        assert there == {}
    else:
        assert there == {id: "carol" if change == "recover" and at == ANNOUNCED else "bob"}


@pytest.mark.parametrize("data", [b"{torn", b""])
def test_a_damaged_entry_holds_every_lock_that_is_there(room: LockRoom, data: bytes) -> None:
    id = room.held("src/")
    room.put("locks/audit/.pending.md", data)
    (stored,) = room.checked("src/a.py").locks
    assert (stored.id, stored.pending) == (id, True)
    assert room.check("free") == []
    assert "damaged" in room.checked("free").warnings[0]


def test_a_pending_lock_that_is_damaged_is_held_by_its_paths(room: LockRoom) -> None:
    """Another program, or a person, may have written the entry."""
    room.leave_pending(UNANNOUNCED, "src/")
    (entry,) = (room.folder / "locks" / "audit").glob(".pending.md")
    entry.write_bytes(entry.read_bytes().replace(b'\\"owner\\": \\"bob\\"', b'\\"owner\\": \\"b b\\"'))
    for record in (room.folder / "locks").glob("*.json"):
        record.unlink()  # as if it had died before it wrote it
    (stored,) = room.checked("src/a.py").locks
    assert (stored.lock, stored.pending, stored.fault[:24]) == (None, True, "PATH_LOCK_INVALID_RECORD")
    tree = str(room.tree)
    assert stored.paths == (LockedPath(normalized_path="src", display_path="src/", kind=DIRECTORY, tree=tree),)
