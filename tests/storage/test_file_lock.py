"""The file lock: one holder at a time, on the file that is on disk now, and never "went on without one"."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.storage import file_lock
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import FileSystem, NotOrdinaryError
from tests.support.cli import FakeClock

if TYPE_CHECKING:
    from pathlib import Path


class Locks:
    """Locks on one file, on one clock."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.files = FileSystem(str(root), self.clock)
        self.path = root / ".lock"

    def one(self) -> FileLock:
        return FileLock(self.files, str(self.path), self.clock)


@pytest.fixture
def locks(tmp_path: Path) -> Locks:
    return Locks(tmp_path)


def test_one_holder_at_a_time(locks: Locks) -> None:
    first, second = locks.one(), locks.one()
    assert first.acquire(0)
    assert (first.held, second.held) == (True, False)
    assert not second.acquire(0)
    first.release()
    assert not first.held
    assert second.acquire(0)
    second.release()


def test_waiting_ends_at_the_deadline_and_does_not_spin(locks: Locks) -> None:
    first, second = locks.one(), locks.one()
    assert first.acquire(0)
    began = locks.clock.monotonic()
    assert not second.acquire(10)
    assert 10 <= locks.clock.monotonic() - began < 10.1
    assert len(locks.clock.slept) < 2000
    first.release()


def test_a_release_in_time_lets_the_next_one_in(locks: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = locks.one(), locks.one()
    assert first.acquire(0)

    def sleep(seconds: float) -> None:
        locks.clock.turn(seconds)
        if first.held and locks.clock.monotonic() > began + 1:
            first.release()

    began = locks.clock.monotonic()
    monkeypatch.setattr(locks.clock, "sleep", sleep)
    assert second.acquire(10)
    assert locks.clock.monotonic() - began < 2
    second.release()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no shared lock here")
def test_shared_holders_exclude_an_exclusive_one(locks: Locks) -> None:
    one, other, alone = locks.one(), locks.one(), locks.one()
    assert one.acquire(0, shared=True)
    assert other.acquire(0, shared=True)
    assert not alone.acquire(0)
    one.release()
    other.release()
    assert alone.acquire(0)
    alone.release()


def test_the_file_is_made_where_it_is_wanted_and_never_deleted(locks: Locks) -> None:
    with pytest.raises(FileNotFoundError):
        locks.one().acquire(0, create=False)
    lock = locks.one()
    assert lock.acquire(0)
    lock.release()
    assert locks.path.read_bytes() == b""
    assert lock.acquire(0, create=False)
    lock.release()


@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no open file")
def test_a_lock_on_a_file_that_was_deleted_and_made_anew_is_taken_again(
    locks: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking somebody deletes the file and another process makes and locks a new one."""
    real = file_lock._lock
    calls: list[int] = []

    def lock(descriptor: int, *, shared: bool) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            locks.path.unlink()
            locks.path.touch()
        if len(calls) == 2:
            locks.path.unlink()
        real(descriptor, shared=shared)

    monkeypatch.setattr(file_lock, "_lock", lock)
    mine = locks.one()
    assert mine.acquire(5)
    assert len(calls) == 3
    assert not locks.one().acquire(0)
    mine.release()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_locks_is_refused(locks: Locks, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def lock(descriptor: int, *, shared: bool) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(file_lock, "_lock", lock)
    mine = locks.one()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(ChatError) as caught:
        mine.acquire(10)
    assert caught.value.code == "CHANNEL_LOCK_UNAVAILABLE"
    assert not mine.held
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EACCES])
def test_a_lock_that_others_hold_is_waited_for(locks: Locks, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def lock(descriptor: int, *, shared: bool) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(file_lock, "_lock", lock)
    assert not locks.one().acquire(1)


def test_what_is_no_ordinary_file_is_no_lock(locks: Locks, tmp_path: Path) -> None:
    locks.path.mkdir()
    with pytest.raises(NotOrdinaryError):
        locks.one().acquire(0)
    locks.path.rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(locks.path)
        with pytest.raises(NotOrdinaryError):
            locks.one().acquire(0)
        locks.path.unlink()
    victim = tmp_path / "victim"
    victim.write_text("kept")
    locks.path.symlink_to(victim)
    with pytest.raises(NotOrdinaryError):
        locks.one().acquire(0)
    assert victim.read_text() == "kept"


def test_the_holder_is_told_where_the_system_tells_it(locks: Locks) -> None:
    lock = locks.one()
    assert lock.acquire(0)
    assert locks.one().holder() in (f" by process {os.getpid()}", "")
    lock.release()
    assert locks.one().holder() == ""
