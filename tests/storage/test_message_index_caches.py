"""The caches of the index of messages: one that is damaged counts as none, one that cannot be used is a warning."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.storage.channel import Channel
from agent_chat.storage.message_index import HIGHLIGHTS_FILE, MESSAGES_FILE, Fault, MessageIndex
from tests.storage.index_room import CACHES, EVERY, SETTLED, SHOWN, IndexRoom, Looked, sealed
from tests.support.cli import LATER, FakeClock, FaultyFiles, plant
from tests.support.recording import CHANGES, InterveningFileSystem, RecordingFileSystem
from tests.support.roots import tree
from tests.support.workspaces import make_workspace

if TYPE_CHECKING:
    from pathlib import Path

# --- a cache that is none -------------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "garbage": lambda data: b"\xff\0\n\n\t{}",
    "torn": lambda data: data[:-3],
    "torn in its head": lambda data: data[:7],
    "one bit": lambda data: data.replace(b"one", b"ond"),
    "of a later version": lambda data: sealed(data.partition(b"\n")[2], b"4"),
    "without a sum": lambda data: b"1\n" + data.partition(b"\n")[2],
    "more after it": lambda data: data + b"\nx",
    "twice": lambda data: data + data,
}


@pytest.mark.parametrize("name", CACHES)
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_cache_counts_as_none(large: IndexRoom, kind: str, name: str) -> None:
    large.look()
    large.cache(name).write_bytes(DAMAGE[kind](large.cache(name).read_bytes()))
    looked = large.look(exact=name == MESSAGES_FILE)
    assert (looked.known, looked.warnings) == (large.reading(), [])
    assert looked.opened == (EVERY if name == MESSAGES_FILE else [])
    assert large.look().cost == SETTLED


def test_the_caches_of_another_channel_are_believed_of_nothing(large: IndexRoom, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = IndexRoom(tmp_path / "elsewhere")
    other.fill(9, n1="decision", n9="blocker")
    other.look()
    for name in CACHES:
        shutil.copy(other.cache(name), large.cache(name))
    looked = large.look()
    assert (looked.known, looked.opened, looked.warnings) == (large.reading(), EVERY, [])


@pytest.mark.parametrize("name", CACHES)
@pytest.mark.parametrize("make", ["folder", "link"])
def test_what_stands_in_its_place_is_told_and_costs_nothing_else(large: IndexRoom, make: str, name: str) -> None:
    target = large.folder / "_meta.json"
    before = target.read_bytes()
    path = large.cache(name)
    path.mkdir() if make == "folder" else path.symlink_to(target)
    looked = large.look()
    assert looked.known == large.reading()
    (told, *more) = looked.warnings
    assert told.startswith(f".cache/{name} cannot be read, so calls are slower: ")
    assert [text.partition(":")[0] for text in more] == (
        [f".cache/{name} cannot be stored, so calls are slower"] if make == "folder" else []
    )
    assert large.caches() == sorted(CACHES)
    assert target.read_bytes() == before


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("primitive", ["read_file", "write_new", "replace", "make_folder"])
def test_a_cache_that_cannot_be_read_or_stored_is_a_warning(large: IndexRoom, primitive: str, code: int) -> None:
    if primitive == "make_folder":
        (large.folder / ".cache").rmdir()
    looked = faulty(large, code, only=(primitive,), where=".cache")
    verb = "read" if primitive == "read_file" else "stored"
    assert looked.known == large.reading()
    assert looked.warnings == [
        f".cache/{name} cannot be {verb}, so calls are slower: {os.strerror(code)}" for name in CACHES
    ]
    left = sorted(path.name for path in large.folder.glob(".cache/*"))
    assert left == (sorted(CACHES) if primitive == "read_file" else [])
    assert large.look().known == large.reading()


def faulty(room: IndexRoom, code: int, **options: Any) -> Looked:
    """What the index says on a disk that fails for good, long after everything was written."""
    clock = FakeClock(LATER)
    files = FaultyFiles(str(room.root), clock, at=1, code=code, forever=True, **options)
    index = MessageIndex(Channel(make_workspace(room.root, files=lambda root, clock: files, clock=clock), "dev"))
    looked = Looked(index.load(), [], index.warnings)
    assert files.fired
    return looked


@pytest.mark.parametrize("there", [True, False])
def test_who_may_not_write_is_told_nothing(large: IndexRoom, there: bool) -> None:
    """A reader cannot help it, and is not slower than it was."""
    if not there:
        (large.folder / ".cache").rmdir()
    before = tree(large.root)
    for _ in range(2):
        disk = ReadOnly(str(large.root), large.clock)
        looked = large.look(disk)
        assert (looked.known, looked.warnings) == (large.reading(), [])
        assert not set(looked.cost) & set(CHANGES)
    assert tree(large.root) == before


class ReadOnly(RecordingFileSystem):
    """A root that its reader may not write."""

    def writable(self, path: str) -> bool:
        """Never."""
        return False


# --- messages that cannot be read -----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize("file", [SHOWN[0], EVERY[0]])
def test_a_message_that_cannot_be_read_is_a_fault_of_this_time_alone(large: IndexRoom, file: str, code: int) -> None:
    whole = large.reading()
    looked = faulty(large, code, only=("read_file",), where=file)
    assert looked.known.faults == (Fault(file=file, reason=os.strerror(code), passing=True),)
    assert looked.known.highlights == tuple(pair for pair in whole.highlights if pair[0] != file)
    assert (looked.known.count, looked.known.latest, looked.warnings) == (9, 9, [])
    assert large.caches() == [MESSAGES_FILE]
    assert large.look().known == whole


def test_a_file_that_cannot_be_looked_at_is_read(large: IndexRoom) -> None:
    assert faulty(large, errno.EIO, only=("status",), where=SHOWN[0]).known == large.reading()
    assert HIGHLIGHTS_FILE not in large.caches()


def test_of_files_under_one_number_that_cannot_be_read_all_are_named(large: IndexRoom) -> None:
    large.write(4, "talk", sender="bob")
    looked = faulty(large, errno.EIO, only=("read_file",), where="0004-bob")
    assert looked.known.faults == tuple(
        Fault(file=file, reason=os.strerror(errno.EIO), passing=True) for file in ("0004-alice-m.md", "0004-bob-m.md")
    )


@pytest.mark.parametrize("primitive", ["list_folder", "status"])
def test_a_channel_that_cannot_be_listed_is_an_error(large: IndexRoom, primitive: str) -> None:
    where = "dev" if primitive == "list_folder" else ""
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        faulty(large, errno.EIO, only=(primitive,), where=where)
    assert large.caches() == []


def test_one_that_is_not_complete_yet_is_told_and_read_again(large: IndexRoom) -> None:
    plant(large.folder / EVERY[5], b"---\nseq: 6\n", at=large.clock.now() - 1)
    large.age_folder()
    for _ in range(2):
        looked = large.look()
        assert looked.known == large.reading()
        assert [(fault.file, fault.passing) for fault in looked.known.faults] == [(EVERY[5], True)]
        assert EVERY[5] in looked.opened
    assert HIGHLIGHTS_FILE not in large.caches()
    large.write(6, "decision")
    assert large.look().known == large.reading()


def test_one_that_vanishes_while_the_channel_is_read_is_told_and_not_remembered(large: IndexRoom) -> None:
    def vanish(step: object) -> None:
        (large.folder / EVERY[5]).unlink(missing_ok=True)
        large.age_folder()

    told: list[Fault] = []
    for n in range(1, 40):
        large.write(6, "decision")
        for name in large.caches():
            large.cache(name).unlink()
        looked = large.look(InterveningFileSystem(str(large.root), large.clock, n=n, act=vanish))
        told += looked.known.faults
        assert large.look().known == large.reading(), n
    assert set(told) == {Fault(file=EVERY[5], reason="it vanished while the channel was read", passing=True)}
