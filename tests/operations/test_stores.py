"""The library: claims and path locks of one channel by the codes that the commands have, and no more than is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import pytest

import agent_chat
from agent_chat.operations import claims, path_locks
from agent_chat.operations.leases import Actor
from agent_chat.operations.stores import LeaseStore, PathLockStore
from agent_chat.records.task import DONE, IN_PROGRESS, OPEN
from tests.operations.lock_room import ANNOUNCED, LEGACY_ID, UNANNOUNCED, LockRoom, legacy_lock
from tests.operations.task_room import next_of, refused
from tests.support.cli import REPOSITORY, START
from tests.support.leases import base64_of, lease_marker, legacy_claim, legacy_task, lock_marker, marker_bytes

if TYPE_CHECKING:
    from pathlib import Path

    Store = Callable[..., Any]


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    room = LockRoom(tmp_path)
    room.create("T-1")
    return room


@pytest.fixture
def leases(room: LockRoom) -> LeaseStore:
    return LeaseStore(room.folder, workspace=room.workspace)


@pytest.fixture
def locks(room: LockRoom) -> PathLockStore:
    return PathLockStore(room.folder, work_tree=room.tree, workspace=room.workspace)


# --- opening --------------------------------------------------------------------------------------------------------


def test_importing_the_package_loads_no_operation() -> None:
    code = "import sys, agent_chat; print(*[name for name in sys.modules if name.startswith('agent_chat.')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == []
    assert agent_chat.LeaseStore is LeaseStore
    assert agent_chat.PathLockStore is PathLockStore
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        agent_chat.Nothing  # noqa: B018


STORES: list[tuple[Store, str]] = [
    (LeaseStore, "LEASE_INVALID_CHANNEL"),
    (PathLockStore, "PATH_LOCK_INVALID_CHANNEL"),
]


@pytest.mark.parametrize(("store", "code"), STORES)
def test_a_folder_that_is_no_channel_is_refused(room: LockRoom, store: Store, code: str) -> None:
    (room.root / "file").write_bytes(b"")
    (room.root / "empty").mkdir()
    (room.root / "link").symlink_to(room.folder)
    wrong = ("file", "file/x", "empty", "link", "none", "none/x", ".cache", "a b", "", "a\0b", "dev/tasks")
    for name in wrong:
        error = refused(code, lambda name=name: store(f"{room.root}/{name}"), room)  # type: ignore[misc]
        assert repr(f"{room.root}/{name}")[1:-1] in error.message or "\0" in name
    refused(code, lambda: store(os.sep))


@pytest.mark.parametrize(("store", "code"), STORES)
def test_a_channel_is_its_folder_however_it_is_written(
    room: LockRoom, store: Store, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room.root)
    for path in (room.folder, str(room.folder), f"{room.folder}/", "dev", "./dev", f"../{room.root.name}/dev", "DEV"):
        assert store(path).channel.name == "dev"
    gone = room.root / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    refused(code, lambda: store("dev"))


@pytest.mark.parametrize("store", [LeaseStore, PathLockStore])
def test_a_damaged_channel_is_told_as_the_commands_tell_it(room: LockRoom, store: Store) -> None:
    (room.folder / "_meta.json").write_bytes(b"{")
    refused("CHANNEL_DAMAGED", lambda: store(room.folder))


# --- claims ---------------------------------------------------------------------------------------------------------


def test_a_task_is_taken_renewed_and_given_back(room: LockRoom, leases: LeaseStore) -> None:
    assert (leases.load("T-1"), leases.list()) == (None, {})
    claim = leases.claim("T-1", "bob", lease_seconds=60, session="s-1").claim
    assert claim is not None
    assert (claim.lease.seconds, claim.session, claim.owner) == (60, "s-1", "bob")
    assert leases.load("t-1") == claim
    assert leases.list() == {"T-1": claim}
    room.clock.turn(10)
    renewed = leases.renew("T-1", "bob", fence=claim.fence, lease_seconds=0.5).claim
    assert renewed is not None
    assert (renewed.lease.seconds, renewed.lease.granted) == (0.5, START + 10)
    assert leases.release("T-1", "bob", session="s-1").task.status == OPEN
    leases.claim("T-1", "bob")
    assert leases.complete("T-1", "bob").task.status == DONE
    assert leases.list() == {}


def test_a_lapsed_claim_is_recovered(room: LockRoom, leases: LeaseStore) -> None:
    leases.claim("T-1", "bob", lease_seconds=60)
    refused("LEASE_NOT_EXPIRED", lambda: leases.recover("T-1", "carol", "gone"), room)
    room.clock.turn(61)
    refused("LEASE_RECOVERY_REQUIRED", lambda: leases.complete("T-1", "bob"), room)
    taken = leases.recover("T-1", "carol", "gone", lease_seconds=90, session="s-2").claim
    assert taken is not None
    assert (taken.owner, taken.previous_owner, taken.session, taken.lease.seconds) == ("carol", "bob", "s-2", 90)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 2592001, True])
def test_lengths_are_those_of_the_commands(
    room: LockRoom, leases: LeaseStore, locks: PathLockStore, seconds: float
) -> None:
    refused("LEASE_INVALID_DURATION", lambda: leases.claim("T-1", "bob", lease_seconds=seconds), room)
    refused("PATH_LOCK_INVALID_DURATION", lambda: locks.lock(["a"], "bob", lease_seconds=seconds), room)


def test_it_refuses_by_the_codes_of_the_commands(room: LockRoom, leases: LeaseStore) -> None:
    refused("TASK_NOT_FOUND", lambda: leases.load("T-9"))
    refused("TASK_INVALID_ARGUMENT", lambda: leases.load("a b"))
    refused("LEASE_NOT_FOUND", lambda: leases.renew("T-1", "bob"), room)
    leases.claim("T-1", "bob")
    refused("LEASE_CONFLICT", lambda: leases.claim("T-1", "carol"), room)
    refused("LEASE_OWNER_MISMATCH", lambda: leases.complete("T-1", "bob", fence=9), room)
    refused("LEASE_INVALID_OWNER", lambda: leases.release("T-1", "a b"), room)
    room.put("claims/T-1.bob.json", b"{")
    refused("LEASE_INVALID_RECORD", lambda: leases.load("T-1"))
    refused("LEASE_INVALID_RECORD", leases.list)


# --- locks ----------------------------------------------------------------------------------------------------------


def test_paths_are_locked_checked_and_given_back(room: LockRoom, locks: PathLockStore) -> None:
    taken = locks.lock(["src/", room.tree / "a.py"], "bob", lease_seconds=60, session="s-1", reason="x").lock
    assert [path.normalized_path for path in taken.paths] == ["src", "a.py"]
    assert (taken.lease.seconds, taken.session, taken.reason) == (60, "s-1", "x")
    assert locks.list() == locks.check(["src/b.py"]) == locks.check(["."], owner="carol") == (taken,)
    assert locks.check(["src/b.py"], owner="bob") == locks.check(["b.py"]) == ()
    refused("PATH_LOCK_CONFLICT", lambda: locks.lock(["src/x"], "carol"), room)
    refused("PATH_LOCK_OWNER_MISMATCH", lambda: locks.unlock("a.py", "bob"), room)
    room.clock.turn(10)
    assert locks.renew("a.py", "bob", fence=taken.fence, lease_seconds=90).lock.lease.expires == START + 100
    room.clock.turn(91)
    recovered = locks.recover(taken.lock_id, "carol", "gone", lease_seconds=5).lock
    assert (recovered.owner, recovered.lease.seconds) == ("carol", 5)
    assert locks.unlock("src", "carol", fence=recovered.fence).lock == recovered
    assert locks.list() == ()


def test_a_damaged_lock_is_none_in_a_check_and_in_the_list(room: LockRoom, locks: PathLockStore) -> None:
    room.put(f"locks/{LEGACY_ID}.json", legacy_lock("a.py", expires_at="soon"))
    sound = locks.lock(["b.py"], "bob").lock
    assert locks.check(["a.py", "b.py"]) in ((None, sound), (sound, None))
    assert locks.list() == (None, sound)


def test_one_text_is_no_list_of_paths(locks: PathLockStore) -> None:
    for act in (lambda: locks.lock("src", "bob"), lambda: locks.check("src")):
        with pytest.raises(TypeError):
            act()


def test_relative_paths_begin_at_the_current_folder(
    room: LockRoom, locks: PathLockStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = room.tree / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    assert locks.locate("x.py").path.normalized_path == "inside/x.py"
    monkeypatch.chdir(room.root)
    assert locks.locate("x.py").path.normalized_path == "x.py"
    refused("PATH_LOCK_PATH_OUTSIDE_WORKSPACE", lambda: locks.locate("/etc/passwd"))
    gone = room.tree / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for act in (lambda: locks.locate("x.py"), lambda: locks.lock(["x"], "bob"), lambda: locks.check(["x"])):
        refused("PATH_LOCK_INVALID_PATH", act)


def test_the_work_tree_is_the_one_named_else_the_one_recorded_else_the_current_folder(
    room: LockRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = PathLockStore(room.folder, work_tree=room.tree / "none", workspace=room.workspace)
    refused("PATH_LOCK_INVALID_PATH", lambda: missing.lock(["a"], "bob"), room)
    monkeypatch.chdir(room.tree)
    plain = PathLockStore(room.folder, workspace=room.workspace)
    assert plain.locate(str(room.tree / "d" / "a.py")).path.normalized_path == "d/a.py"
    refused("PATH_LOCK_PATH_OUTSIDE_WORKSPACE", lambda: plain.locate(".."))


# --- interrupted changes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "outcome"), [(UNANNOUNCED, "undone"), (ANNOUNCED, "finished")])
def test_an_interrupted_change_is_settled(
    room: LockRoom, leases: LeaseStore, locks: PathLockStore, at: int, outcome: str
) -> None:
    room.die(at, lambda channel: claims.claim(channel, "T-1", Actor(name="bob")))
    room.die(at, lambda channel: path_locks.lock(channel, Actor(name="bob"), [room.locate("a.py")]))
    refused("LEASE_TRANSACTION_PENDING", lambda: leases.claim("T-1", "carol"), room)
    refused("PATH_LOCK_TRANSACTION_PENDING", lambda: locks.lock(["b"], "carol"), room)
    assert leases.recover_pending(actor="carol").outcome == outcome
    refused("PATH_LOCK_TRANSACTION_PENDING", lambda: locks.lock(["b"], "carol"), room)  # the journals are apart
    assert locks.recover_pending().outcome == outcome
    for store in (leases, locks):
        assert store.recover_pending().outcome == "nothing pending"
    assert (leases.load("T-1") is not None, len(locks.list())) == ((True, 1) if at == ANNOUNCED else (False, 0))


def test_with_nothing_pending_there_is_nothing_to_resolve(
    room: LockRoom, leases: LeaseStore, locks: PathLockStore
) -> None:
    for how in ("rollback", "published"):
        error = refused("LEASE_TRANSACTION_NOT_FOUND", partial(leases.recover_pending, publication_resolution=how))
        assert next_of(error).startswith("task recover-pending dev --as ")
        error = refused("PATH_LOCK_NOT_FOUND", partial(locks.recover_pending, publication_resolution=how))
        assert next_of(error).startswith("recover-pending dev --as ")
    refused("LEASE_TRANSACTION_INVALID", lambda: leases.recover_pending(publication_resolution="x"), room)
    refused("PATH_LOCK_TRANSACTION_INVALID", lambda: locks.recover_pending(publication_resolution=""), room)


@pytest.mark.parametrize(
    ("how", "outcome", "status"), [("rollback", "undone", OPEN), ("published", "finished", IN_PROGRESS)]
)
def test_what_nothing_proves_is_resolved_by_whoever_looked(
    room: LockRoom, leases: LeaseStore, how: str, outcome: str, status: str
) -> None:
    fields: dict[str, Any] = {"status": IN_PROGRESS, "owner": "bob", "lease_expires_at": "2026-01-02T03:09:05+00:00"}
    changes = [{"file": "T-1.bob.json", "next": base64_of(legacy_claim()), "previous": None}]
    before, after = legacy_task(), legacy_task(**fields)
    marker = lease_marker(1, phase="applied", claim_changes=changes, task_before=base64_of(before))
    room.put("tasks/T-1.json", after)
    room.put("claims/T-1.bob.json", legacy_claim())
    room.put("claims/.lease-transaction.json", marker_bytes(marker))
    refused("LEASE_TRANSACTION_PUBLICATION_UNKNOWN", leases.recover_pending, room)
    assert leases.recover_pending(publication_resolution=how, actor="carol").outcome == outcome
    assert room.task().status == status
    assert (leases.load("T-1") is not None) == (how == "published")


def test_what_is_damaged_is_kept_when_that_is_asked_for(
    room: LockRoom, leases: LeaseStore, locks: PathLockStore
) -> None:
    room.put("tasks/audit/.pending.md", b"torn")
    room.put("locks/.path-lock-transaction.json", marker_bytes({**lock_marker(), "version": 9}))
    refused("LEASE_TRANSACTION_INVALID", leases.recover_pending, room)
    refused("PATH_LOCK_TRANSACTION_INVALID", locks.recover_pending, room)
    for store in (leases, locks):
        kept = store.recover_pending(actor="carol", keep=True)
        assert (kept.outcome, room.audit().seq, room.audit().sender) == ("kept", kept.seq, "carol")
        assert store.recover_pending().outcome == "nothing pending"
