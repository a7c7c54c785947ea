"""Files that others named: ordinary ones alone are read in parts, nothing waits, and a change is seen."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.storage import file_digest
from agent_chat.storage.file_digest import DigestError, TooLargeError, sha256_of
from agent_chat.storage.filesystem import FileSystem, NotOrdinaryError
from agent_chat.storage.named_files import is_unchanged
from tests.support.cli import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes and devices of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="a look at Linux's own files")


@pytest.fixture
def files(tmp_path: Path) -> FileSystem:
    return FileSystem(str(tmp_path / "root"), FakeClock())


def test_a_part_is_read_anywhere(files: FileSystem, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(range(256)) * 10)
    for offset, size in ((0, 0), (0, 9), (250, 20), (2550, 20), (2560, 1), (9999, 1), (0, 9999)):
        data, status = files.read_part(str(path), offset, size)
        assert data == path.read_bytes()[offset : offset + size]
        assert status.st_size == 2560
    assert files.read_part(str(path), 0, -1)[0] == b""


@posix
def test_a_link_is_followed(files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "to").symlink_to("f")
    assert files.read_part(str(tmp_path / "to"), 0, 9)[0] == b"x"


@posix
@pytest.mark.parametrize("kind", ["folder", "fifo", "socket", "/dev/zero", "/dev/null", "/dev/tty", "link to fifo"])
def test_what_is_no_ordinary_file_is_refused_at_once(files: FileSystem, tmp_path: Path, kind: str) -> None:
    path = kind if kind.startswith("/") else str(tmp_path / "f")
    if kind == "folder":
        os.mkdir(path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    elif kind == "link to fifo":
        os.mkfifo(tmp_path / "pipe")
        os.symlink("pipe", path)
    with pytest.raises(NotOrdinaryError):
        files.read_part(path, 0, 1)


@posix
def test_a_pipe_is_not_even_opened_so_that_its_writer_sees_nothing(files: FileSystem, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    opened: list[int] = []
    writer = threading.Thread(target=lambda: opened.append(os.open(tmp_path / "pipe", os.O_WRONLY)), daemon=True)
    writer.start()
    with pytest.raises(NotOrdinaryError):
        files.read_part(str(tmp_path / "pipe"), 0, 1)
    writer.join(0.05)
    assert opened == []
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer.join(10)
    for descriptor in (reader, *opened):
        os.close(descriptor)


@posix
def test_a_file_that_becomes_a_pipe_is_refused_all_the_same(
    files: FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    ordinary = os.stat(__file__)
    monkeypatch.setattr(os, "stat", lambda path: ordinary)
    with pytest.raises(NotOrdinaryError):
        files.read_part(str(tmp_path / "pipe"), 0, 1)


@posix
def test_what_is_no_path_or_leads_nowhere_is_an_error_of_its_own(files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "f").write_bytes(b"x")
    for path, error in (("none", FileNotFoundError), ("f/x", NotADirectoryError), ("loop", OSError), ("x\0", OSError)):
        with pytest.raises(error):
            files.read_part(f"{tmp_path}/{path}", 0, 1)
    with pytest.raises(OSError, match="Invalid"):
        files.read_named(f"{tmp_path}/x\0", 1)


def test_a_change_is_told_by_size_time_and_number(files: FileSystem, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    before = os.stat(path)
    assert is_unchanged(before, os.stat(path))
    os.utime(path, ns=(0, before.st_mtime_ns + 1000))
    assert not is_unchanged(before, os.stat(path))
    path.write_bytes(b"xy")
    os.utime(path, ns=(0, before.st_mtime_ns))
    assert not is_unchanged(before, os.stat(path))


# -- the hash ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 19, 20, 21, 1000])
def test_the_hash_is_that_of_the_whole_file(
    files: FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(file_digest, "PIECE", 10)
    data = bytes(number % 251 for number in range(size))
    (tmp_path / "f").write_bytes(data)
    assert sha256_of(files, str(tmp_path / "f"), size) == (hashlib.sha256(data).hexdigest(), size)
    if size:
        with pytest.raises(TooLargeError):
            sha256_of(files, str(tmp_path / "f"), size - 1)


def test_a_huge_file_is_refused_before_it_is_read(files: FileSystem, tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(TooLargeError):
        sha256_of(files, str(tmp_path / "f"), 1 << 30)


@pytest.mark.parametrize("change", ["grows", "shrinks", "is rewritten", "is another one"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_file_that_changes_while_it_is_read_has_no_hash(
    files: FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, at: int
) -> None:
    monkeypatch.setattr(file_digest, "PIECE", 10)
    path = tmp_path / "f"
    path.write_bytes(b"x" * 20)
    calls = 0
    read_part = files.read_part

    def changing(*arguments: Any) -> tuple[bytes, os.stat_result]:
        nonlocal calls
        result = read_part(*arguments)
        calls += 1
        if calls == at:
            if change == "is another one":
                path.unlink()
            path.write_bytes(b"y" * {"grows": 21, "shrinks": 5}.get(change, 20))
            os.utime(path, (1, 1))
        return result

    monkeypatch.setattr(files, "read_part", changing)
    if at == 3:  # all was read by then, and it was what it was
        assert sha256_of(files, str(path), 100) == (hashlib.sha256(b"x" * 20).hexdigest(), 20)
    else:
        with pytest.raises(DigestError, match="changes"):
            sha256_of(files, str(path), 100)


@linux
def test_a_file_without_a_size_has_no_hash(files: FileSystem) -> None:
    with pytest.raises(DigestError):
        sha256_of(files, "/proc/self/status", 1 << 30)
