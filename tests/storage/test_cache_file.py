"""A file in the cache is what was stored last or nothing; whatever is wrong with it is a warning and no error."""

from __future__ import annotations

import errno
import os
import shutil
from binascii import crc32
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.storage import cache_file
from agent_chat.storage.cache_file import CacheFile
from tests.storage.journal_room import JournalRoom
from tests.support.cli import FaultyFiles
from tests.support.recording import RecordingFileSystem
from tests.support.roots import tree

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem

NAME, VERSION = "some.index", "3"
DATA = b"one\ttwo\nthree \xff\x00\n"


@pytest.fixture
def room(tmp_path: Path) -> JournalRoom:
    """A channel with a cache folder."""
    room = JournalRoom(tmp_path)
    (room.folder / ".cache").mkdir()
    return room


def cache_of(room: JournalRoom, files: FileSystem | None = None, version: str = VERSION) -> CacheFile:
    """The cache as a new process would have it."""
    channel = room.channel(files or RecordingFileSystem(str(room.root), room.clock))
    return CacheFile(channel.workspace, channel.layout.cache, NAME, version)


def place(room: JournalRoom) -> Path:
    return room.folder / ".cache" / NAME


def stored(room: JournalRoom, data: bytes = DATA) -> bytes:
    """Stores something and returns what lies there."""
    cache_of(room).store(data)
    return place(room).read_bytes()


def faulty(room: JournalRoom, code: int, *only: str) -> FaultyFiles:
    return FaultyFiles(str(room.root), room.clock, at=1, code=code, only=only, where=".cache", forever=True)


# --- what is stored -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [DATA, b"", b"\n", b"\n\n", b"no end", b"x" * 100_000, bytes(range(256))])
def test_what_was_stored_is_loaded(room: JournalRoom, data: bytes) -> None:
    assert stored(room, data) == b"3 %08x\n" % crc32(data) + data
    cache = cache_of(room)
    assert (cache.load(), cache.load(), cache.warnings) == (data, data, [])


def test_where_nothing_is_stored_nothing_is_loaded_or_said(room: JournalRoom) -> None:
    for _ in range(2):
        cache = cache_of(room)
        assert (cache.load(), cache.warnings) == (b"", [])
        (room.folder / ".cache").rmdir()
        (room.folder / ".cache").mkdir()
    (room.folder / ".cache").rmdir()
    assert (cache.load(), cache.warnings) == (b"", [])


def test_the_file_is_replaced_as_a_whole_and_not_synced(room: JournalRoom) -> None:
    stored(room)
    before = place(room).stat().st_ino
    files = RecordingFileSystem(str(room.root), room.clock)
    cache_of(room, files).store(b"new")
    changes = [step for step in files.log if step.name not in ("status", "read_file", "list_folder")]
    assert [step.name for step in changes] == ["write_new", "replace"]
    assert changes[0].args[2] is False
    assert changes[0].args[0] != changes[1].args[1] == str(place(room))
    assert (place(room).stat().st_ino != before, cache_of(room).load()) == (True, b"new")
    assert [path.name for path in place(room).parent.iterdir()] == [NAME]


def test_a_cache_folder_is_made_where_it_is_missing(room: JournalRoom) -> None:
    (room.folder / ".cache").rmdir()
    stored(room)
    assert cache_of(room).load() == DATA


# --- what is none ---------------------------------------------------------------------------------------------------


def test_no_part_of_a_file_is_taken_for_one(room: JournalRoom) -> None:
    whole = stored(room)
    for length in range(len(whole)):
        place(room).write_bytes(whole[:length])
        cache = cache_of(room)
        assert (cache.load(), cache.warnings) == (b"", []), length


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_no_flipped_bit_is_taken_for_one(whole_room: JournalRoom, at: int, bit: int) -> None:
    whole = place(whole_room).read_bytes()
    at %= len(whole)
    place(whole_room).write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
    try:
        cache = cache_of(whole_room)
        assert (cache.load(), cache.warnings) == (b"", [])
    finally:
        place(whole_room).write_bytes(whole)


@pytest.fixture(scope="module")
def whole_room(tmp_path_factory: pytest.TempPathFactory) -> JournalRoom:
    """A channel in which something is stored, for all examples."""
    room = JournalRoom(tmp_path_factory.mktemp("whole"))
    stored(room)
    return room


@pytest.mark.parametrize(
    "data",
    [
        DATA,
        b"\n" + DATA,
        b"3\n" + DATA,
        b"3 %d\n" % crc32(DATA) + DATA,
        b"3 %08X\n" % crc32(DATA) + DATA,
        b" 3 %08x\n" % crc32(DATA) + DATA,
        b"3  %08x\n" % crc32(DATA) + DATA,
        b"3 %08x\r\n" % crc32(DATA) + DATA,
        b"2 %08x\n" % crc32(DATA) + DATA,
        b"33 %08x\n" % crc32(DATA) + DATA,
        b"3 %08x\n" % crc32(DATA) + DATA + b"\n",
        2 * (b"3 %08x\n" % crc32(DATA) + DATA),
    ],
)
def test_what_is_not_quite_one_counts_as_none(room: JournalRoom, data: bytes) -> None:
    place(room).write_bytes(data)
    cache = cache_of(room)
    assert (cache.load(), cache.warnings) == (b"", [])
    assert stored(room) != data
    assert cache_of(room).load() == DATA


def test_that_of_another_version_counts_as_none_both_ways(room: JournalRoom) -> None:
    stored(room)
    later = cache_of(room, version="4")
    assert (later.load(), later.warnings) == (b"", [])
    later.store(DATA)
    assert (later.load(), cache_of(room).load()) == (DATA, b"")


def test_a_huge_one_counts_as_none(room: JournalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(stored(room))
    monkeypatch.setattr(cache_file, "MAX_BYTES", size)
    assert cache_of(room).load() == DATA
    monkeypatch.setattr(cache_file, "MAX_BYTES", size - 2)
    files = RecordingFileSystem(str(room.root), room.clock)
    cache = cache_of(room, files)
    assert (cache.load(), cache.warnings) == (b"", [])
    assert [step.args[1] for step in files.log if step.name == "read_file"] == [size - 2], "no more of it was read"


# --- what cannot be used --------------------------------------------------------------------------------------------

CODES = [errno.EIO, errno.EACCES, errno.ENOSPC, errno.EROFS]


@pytest.mark.parametrize("code", CODES)
def test_one_that_cannot_be_read_is_a_warning(room: JournalRoom, code: int) -> None:
    stored(room)
    cache = cache_of(room, faulty(room, code, "read_file"))
    assert cache.load() == b""
    assert cache.warnings == [f".cache/{NAME} cannot be read, so calls are slower: {os.strerror(code)}"]
    assert cache_of(room).load() == DATA


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("primitive", ["status", "make_folder", "write_new", "replace"])
def test_one_that_cannot_be_stored_is_a_warning_and_the_old_one_stays(
    room: JournalRoom, primitive: str, code: int
) -> None:
    if primitive == "make_folder":
        (room.folder / ".cache").rmdir()
    else:
        stored(room)
    files = faulty(room, code, primitive)
    cache = cache_of(room, files)
    cache.store(b"new")
    assert files.fired
    assert cache.warnings == [f".cache/{NAME} cannot be stored, so calls are slower: {os.strerror(code)}"]
    assert cache_of(room).load() == (DATA if primitive != "make_folder" else b"")
    assert [path.name for path in room.folder.glob(".cache/*")] == [NAME] * (primitive != "make_folder")


@pytest.mark.parametrize("make", ["folder", "link"])
def test_what_stands_in_its_place_is_not_followed(room: JournalRoom, make: str) -> None:
    target = room.folder / "_meta.json"
    before = target.read_bytes()
    place(room).mkdir() if make == "folder" else place(room).symlink_to(target)
    cache = cache_of(room)
    assert cache.load() == b""
    cache.store(DATA)
    verbs = ["read", "stored"] if make == "folder" else ["read"]
    assert [text.partition(", so")[0] for text in cache.warnings] == [
        f".cache/{NAME} cannot be {verb}" for verb in verbs
    ]
    assert target.read_bytes() == before
    assert cache_of(room).load() == (b"" if make == "folder" else DATA)
    assert [path.name for path in place(room).parent.iterdir()] == [NAME]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_stands_in_the_place_of_the_folder_is_not_followed(room: JournalRoom, tmp_path: Path, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    stored(room)
    shutil.move(room.folder / ".cache", elsewhere)
    cache_folder = room.folder / ".cache"
    cache_folder.write_text("x") if kind == "file" else cache_folder.symlink_to(elsewhere)
    before = tree(elsewhere)
    cache = cache_of(room)
    assert cache.load() == b""
    cache.store(b"new")
    assert cache.warnings[0].startswith(f".cache/{NAME} cannot be read, so")
    assert [text.partition(", so")[0] for text in cache.warnings[1:]] in ([], [f".cache/{NAME} cannot be stored"])
    assert tree(elsewhere) == before


class ReadOnly(RecordingFileSystem):
    """A root that its reader may not write."""

    def writable(self, path: str) -> bool:
        """Never."""
        return False


@pytest.mark.parametrize("there", [True, False])
def test_who_may_not_write_stores_nothing_and_is_told_nothing(room: JournalRoom, there: bool) -> None:
    if there:
        stored(room)
    else:
        (room.folder / ".cache").rmdir()
    before = tree(room.root)
    cache = cache_of(room, ReadOnly(str(room.root), room.clock))
    cache.store(b"new")
    assert (cache.load(), cache.warnings) == (DATA if there else b"", [])
    assert tree(room.root) == before


def test_warnings_are_gathered(room: JournalRoom) -> None:
    stored(room)
    options: dict[str, Any] = {"where": ".cache", "forever": True}
    files = FaultyFiles(str(room.root), room.clock, at=1, code=errno.EIO, only=("read_file", "replace"), **options)
    cache = cache_of(room, files)
    cache.load()
    cache.store(b"new")
    assert [text.split(" ")[3] for text in cache.warnings] == ["read,", "stored,"]
