"""The doctor on records that change or cannot be read: beside a writer, after a crash, on a failing disk."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import doctor, record_checks
from agent_chat.operations.findings import Finding
from agent_chat.operations.mending import mend
from agent_chat.storage.channel import Channel
from agent_chat.storage.file_lock import FileLock
from tests.operations.room import Room, refused
from tests.operations.test_record_checks import (
    LOCK,
    findings_of,
    found_in,
    furnished,
    put_entry,
    put_held,
    put_lock,
    put_marker,
    put_task,
    without_history,
)
from tests.support.cli import START, Crash, FakeClock, FaultyFiles, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sound(room: Room) -> Room:
    """A channel that nothing is wrong with."""
    return furnished(room)


# -- beside a writer, and after one ------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [
    ["task", "create", "dev", "new", "--from", "bob", "--title", "t"],
    ["task", "update", "dev", "one", "--as", "bob", "--title", "new"],
    ["task", "claim", "dev", "ready", "--as", "bob"],
    ["task", "done", "dev", "mine", "--as", "alice"],
], ids=lambda argv: argv[1])  # fmt: skip
def test_after_a_crash_the_pending_entry_is_the_only_finding(tmp_path: Path, argv: list[str]) -> None:
    seen = set()
    for at in range(1, 200):
        room = Room(tmp_path / str(at))
        without_history(room)
        put_task(room, "one")
        put_task(room, "ready")
        for words in (
            ["create", "dev", "mine", "--from", "alice", "--title", "t"],
            ["claim", "dev", "mine", "--as", "alice"],
        ):
            assert run(["task", *words], workspace=workspace_on(room.root)).status == 0
        clock = FakeClock()
        files = FaultyFiles(str(room.root), clock, at=at, only=("write_new", "append", "link", "replace", "remove"))
        try:
            run(argv, workspace=workspace_on(room.root, clock=clock, files=files))
        except Crash:
            found = found_in(room)
            assert found in ([], [("journal.pending", "tasks/audit/.pending.md")]), (files.calls, found)
            seen.add(len(found))
            settled = run(["task", "recover-pending", "dev", "--as", "bob"], workspace=workspace_on(room.root))
            assert settled.status == 0
            assert found_in(room) == []
        else:
            break
    assert not files.fired
    assert seen == {0, 1}


def test_a_change_that_is_under_way_is_no_finding(sound: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry goes away while the doctor waits for the lock."""
    pending = put_entry(sound, "locks")

    def acquire(lock: FileLock, timeout: float, **options: bool) -> bool:
        assert timeout < 1
        if pending.exists():
            pending.unlink()
        return False

    plant(sound.folder / ".lock")
    monkeypatch.setattr("agent_chat.operations.journal_checks.FileLock.acquire", acquire)
    assert [id for id, _ in found_in(sound) if id != "channel.lock"] == []


def test_changes_that_follow_each_other_are_no_finding(sound: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a busy channel something is pending at each look, and others hold the lock: but not the same, and in turn."""
    pending = put_entry(sound, "locks")

    def acquire(*_: object, **__: object) -> bool:
        pending.rename(pending.with_name("20260102T030405Z-bob-lock-f.md"))
        put_entry(sound, "locks")
        return False

    plant(sound.folder / ".lock")
    monkeypatch.setattr("agent_chat.operations.journal_checks.FileLock.acquire", acquire)
    found = [id for id, _ in found_in(sound) if id not in ("channel.lock", "journal.filed")]
    assert found == []


def test_what_two_looks_see_of_a_task_that_is_sound_is_no_finding(sound: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents claim and release one task in turn; each look meets the task in one state and the claims in another."""
    put_held(sound, "held")
    real = record_checks._load

    def without_claims(records: Any, folder: str, *rest: Any) -> Any:
        loaded = real(records, folder, *rest)
        return ({}, []) if folder == "claims" else loaded

    monkeypatch.setattr(record_checks, "_load", without_claims)
    assert findings_of(sound) == []


def test_what_only_one_look_sees_is_no_finding(sound: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a task and its claim a writer changes both; the next look sees that they agree."""
    put_task(sound, "held")
    real = record_checks._check_locks

    def and_then(*arguments: Any) -> list[Finding]:
        put_held(sound, "held")
        return real(*arguments)

    monkeypatch.setattr(record_checks, "_check_locks", and_then)
    assert findings_of(sound) == []


@pytest.mark.parametrize(
    ("place", "primitive"),
    [
        ("dev/tasks", "list_folder"),
        ("dev/claims", "list_folder"),
        ("dev/locks", "list_folder"),
        ("dev/tasks/audit", "list_folder"),
        ("dev/tasks/one.json", "read_file"),
        ("dev/tasks/audit/1.md", "read_file"),
        ("dev/tasks", "status"),
        ("dev/claims/held.alice.json", "status"),
        ("dev/locks", "status"),
        ("audit/.pending.md", "status"),
    ],
)
def test_a_disk_that_fails_is_a_finding_and_no_end(sound: Room, place: str, primitive: str) -> None:
    put_task(sound, "bad", depends_on=("gone",))
    put_entry(sound, "tasks", "1.md", "applied", "published")
    put_lock(sound, "3", "src", "carol")
    clock = FakeClock()
    files = FaultyFiles(str(sound.root), clock, at=1, code=errno.EIO, only=(primitive,), where=place, forever=True)
    sound.workspace = workspace_on(sound.root, clock=clock, files=files)
    sound.channel = Channel(sound.workspace, "dev")
    found = found_in(sound)
    assert files.fired
    assert "record.file" in {id for id, _ in found}
    if place.startswith("dev/locks"):
        assert ("task.dependency", "tasks/bad.json") in found
    elif place.startswith("dev/"):
        assert ("lock.overlap", LOCK) in found
    assert len(set(found)) == len(found)


@pytest.mark.slow
def test_many_tasks_in_a_row_and_in_a_ring_are_quick(room: Room) -> None:
    """By recursion or a search from each task this would not end."""
    count = 5_000
    without_history(room)
    for number in range(count):
        put_task(room, f"t{number}", depends_on=(f"t{(number + 1) % count}", f"t{(number + 2) % count}"))
    begin = time.process_time()
    found = findings_of(room)
    assert time.process_time() - begin < 20
    assert {finding.id for finding in found} == {"task.cycle"}
    assert all(len(finding.message) < 200 for finding in found)


# -- renumbering beside a pending entry --------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["tasks", "locks"])
def test_no_message_is_renumbered_while_an_entry_is_pending_and_the_rest_is_mended(sound: Room, folder: str) -> None:
    sound.plant(1, "0001-bob-m.md", sender="bob")
    stale = plant(sound.folder / ".cache" / "tmp-0", at=START - 3601)
    (sound.root / ".gitignore").unlink()
    pending = put_entry(sound, folder)
    channel = sound.reopened()
    codes = {"tasks": "LEASE_TRANSACTION_PENDING", "locks": "PATH_LOCK_TRANSACTION_PENDING"}
    error = refused(codes[folder], lambda: mend(channel, doctor.examine(channel)))
    assert error.next is not None
    assert "recover-pending dev" in error.next
    assert (sound.root / ".gitignore").exists()
    assert not stale.exists()
    assert (sound.folder / "0001-bob-m.md").exists()
    pending.unlink()
    assert mend(channel, doctor.examine(channel)) == ["#1 0001-bob-m.md is now #2 0002-bob-by-hand.md"]


def test_what_is_pending_does_not_stop_a_mending_that_renumbers_nothing(sound: Room) -> None:
    put_marker(sound, "applied")
    plant(sound.folder / ".cache" / "tmp-0", at=START - 3601)
    channel = sound.reopened()
    assert len(mend(channel, doctor.examine(channel))) == 1
