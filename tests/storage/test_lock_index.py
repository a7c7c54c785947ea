"""The index of locks is believed only of files that are still those that were read; its failures cost time only."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from binascii import crc32
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records.journal_entry import Change
from agent_chat.storage import cache_file
from agent_chat.storage.damaged_locks import paths_of
from agent_chat.storage.journal import OF_LOCKS
from agent_chat.storage.lock_index import LockIndex
from agent_chat.storage.record_store import RecordStore
from tests.storage.journal_room import JournalRoom
from tests.storage.lock_records import file_entry, id_of, lock_bytes, path, place_of
from tests.support.cli import FaultyFiles
from tests.support.recording import InterveningFileSystem, RecordingFileSystem

if TYPE_CHECKING:
    from agent_chat.errors import ChatError
    from agent_chat.storage.filesystem import FileSystem

INDEX = ".cache/locks.index"
ALL = {1: ["src/", "a.py"], 2: ["b c.py"], 3: ["."]}


@pytest.fixture
def room(tmp_path: Path) -> JournalRoom:
    """A channel with three locks, and no index yet."""
    room = JournalRoom(tmp_path)
    (room.folder / ".cache").mkdir()
    for number, paths in ALL.items():
        room.put(place_of(number), lock_bytes(number, *paths))
    return room


def as_text(paths: Any) -> list[str]:
    """Stored paths, folders with a slash."""
    return [each.normalized_path + ("/" if each.kind == "directory" else "") for each in paths]


def index_of(room: JournalRoom, files: FileSystem | None = None) -> LockIndex:
    """The index as a call under the channel's lock would use it."""
    return LockIndex(RecordStore(room.channel(files), OF_LOCKS, locked=True))


def looked(room: JournalRoom) -> tuple[dict[str, list[str]], list[str], LockIndex]:
    """What the index says, the names of the records that were opened for it, and itself."""
    files = RecordingFileSystem(str(room.root), room.clock)
    index = index_of(room, files)
    found = {place: as_text(paths) for place, paths in index.paths()}
    opened = [os.path.basename(step.args[0]) for step in files.log if step.name == "read_file"]
    return found, [name for name in opened if name != "locks.index"], index


def stored(room: JournalRoom) -> None:
    """Stores an index of what is there."""
    index = index_of(room)
    list(index.paths())
    index.store()
    assert index.warnings == []


EXPECTED = {place_of(number): paths for number, paths in ALL.items()}
EVERY = [f"{id_of(number)}.json" for number in ALL]


def test_without_an_index_every_record_is_read_once(room: JournalRoom) -> None:
    assert looked(room)[:2] == (EXPECTED, EVERY)
    assert not (room.folder / INDEX).exists()


def test_a_fresh_index_opens_no_record(room: JournalRoom) -> None:
    stored(room)
    found, opened, index = looked(room)
    assert (found, opened, index.warnings) == (EXPECTED, [], [])
    index.store()
    assert looked(room)[:2] == (EXPECTED, [])


def test_a_fresh_index_costs_one_look_at_each_record_and_no_more(room: JournalRoom) -> None:
    for number in range(10, 60):
        room.put(place_of(number), lock_bytes(number, f"{number}.py"))
    stored(room)
    files = RecordingFileSystem(str(room.root), room.clock)
    assert len(list(index_of(room, files).paths())) == 53
    names = [step.name for step in files.log]
    assert {name: names.count(name) for name in names} == {"read_file": 1, "list_folder": 1, "status": 53}


@pytest.mark.parametrize("what", ["time", "size", "number"])
def test_a_line_is_believed_only_of_the_file_that_was_read(room: JournalRoom, what: str) -> None:
    stored(room)
    file = room.folder / place_of(2)
    status = file.stat()
    text = "b c.py/" if what == "size" else "x y.py"
    data = lock_bytes(2, text)
    if what == "number":
        other = file.with_suffix(".new")
        other.write_bytes(data)
        os.replace(other, file)
    else:
        file.write_bytes(data)
    moved = 1 if what == "time" else 0
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + moved))
    if what != "size":
        assert file.stat().st_size == status.st_size
    assert looked(room)[:2] == ({**EXPECTED, place_of(2): [text]}, [f"{id_of(2)}.json"])


def test_a_line_of_a_lock_that_is_gone_or_new_is_of_no_account(room: JournalRoom) -> None:
    stored(room)
    room.put(place_of(1), None)
    room.put(place_of(7), lock_bytes(7, "new.py"))
    want = {place_of(2): ALL[2], place_of(3): ALL[3], place_of(7): ["new.py"]}
    assert looked(room)[:2] == (want, [f"{id_of(7)}.json"])
    stored(room)
    assert id_of(1).encode() not in (room.folder / INDEX).read_bytes()


def test_what_was_just_written_is_noted_without_being_read(room: JournalRoom) -> None:
    index = index_of(room)
    list(index.paths())
    room.put(place_of(9), lock_bytes(9, "new/"))
    index.add(place_of(9), (path("new/"),))
    index.store()
    assert looked(room)[:2] == ({**EXPECTED, place_of(9): ["new/"]}, [])


def test_only_what_may_matter_is_told_and_all_is_noted(room: JournalRoom) -> None:
    index = index_of(room)
    asked: list[str] = []

    def may_matter(tree: str, normalized: str) -> bool:
        assert tree == ""
        asked.append(normalized)
        return normalized == "a.py"

    assert [place for place, _ in index.paths(may_matter)] == [place_of(1)]
    assert asked == ["src", "a.py", "b c.py", "."]
    index.store()
    assert looked(room)[:2] == (EXPECTED, [])


# --- an index that is none ------------------------------------------------------------------------------------------


def sealed(text: bytes, version: bytes = b"2") -> bytes:
    """An index whose sum is right, whatever it says."""
    return version + b" %08x\n" % crc32(text) + text


def damage(data: bytes, kind: str) -> bytes:
    """An index that is damaged in some way."""
    text = data.partition(b"\n")[2]
    return {
        "empty": b"",
        "garbage": b"\xff\0\n\n\t",
        "torn": data[:-3],
        "torn in its head": data[:5],
        "one bit": data.replace(b"a.py", b"b.py"),
        "of a later version": sealed(text, b"3"),
        "without a sum": b"2\n" + text,
        "no text": sealed(b"\xff\xfe\t\xff"),
        "no lines": sealed(b"\n\nno tab\n"),
        "of another day": sealed(text.replace(b" ", b"  ")),
        "lines of nobody": sealed(
            b"\n".join(b"%s\tfile a.py" % line.partition(b"\t")[0] for line in text.split(b"\n"))
        ),
        "more after it": data + b"\nx",
    }[kind]


KINDS = (
    *("empty", "garbage", "torn", "torn in its head", "one bit", "of a later version", "without a sum"),
    *("no text", "no lines", "of another day", "lines of nobody", "more after it"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_index_counts_as_none(room: JournalRoom, kind: str) -> None:
    stored(room)
    file = room.folder / INDEX
    file.write_bytes(damage(file.read_bytes(), kind))
    found, opened, index = looked(room)
    assert (found, opened, index.warnings) == (EXPECTED, EVERY, [])
    index.store()
    assert looked(room)[:2] == (EXPECTED, [])


def test_the_index_of_another_channel_is_believed_of_nothing(room: JournalRoom, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    there = JournalRoom(other)
    (there.folder / ".cache").mkdir()
    for number in ALL:
        there.put(place_of(number), lock_bytes(number, "elsewhere.py"))
    stored(there)
    shutil.copy(there.folder / INDEX, room.folder / INDEX)
    assert looked(room)[:2] == (EXPECTED, EVERY)


def test_a_huge_index_counts_as_none(room: JournalRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(room)
    monkeypatch.setattr(cache_file, "MAX_BYTES", (room.folder / INDEX).stat().st_size - 2)
    assert looked(room)[:2] == (EXPECTED, EVERY)


@pytest.mark.parametrize("make", ["folder", "link"])
def test_what_stands_in_its_place_is_told_and_costs_nothing_else(room: JournalRoom, make: str) -> None:
    file = room.folder / INDEX
    file.mkdir() if make == "folder" else file.symlink_to(room.folder / "_meta.json")
    found, opened, index = looked(room)
    assert (found, opened) == (EXPECTED, EVERY)
    (warning,) = index.warnings
    assert warning.startswith(".cache/locks.index cannot be read, so calls are slower: ")
    index.store()
    if make == "folder":
        assert len(index.warnings) == 2
        assert "cannot be stored" in index.warnings[1]
    assert sorted(path.name for path in file.parent.iterdir()) == ["locks.index"]


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("primitive", ["read_file", "write_new", "replace"])
def test_an_index_that_cannot_be_read_or_stored_is_a_warning(room: JournalRoom, primitive: str, code: int) -> None:
    stored(room)
    files = FaultyFiles(str(room.root), room.clock, at=1, code=code, only=(primitive,), where=".cache")
    index = index_of(room, files)
    assert {place: as_text(paths) for place, paths in index.paths()} == EXPECTED
    index.store()
    assert files.fired
    verb = "read" if primitive == "read_file" else "stored"
    assert index.warnings == [f".cache/locks.index cannot be {verb}, so calls are slower: {os.strerror(code)}"]
    assert sorted(path.name for path in (room.folder / ".cache").iterdir()) == ["locks.index"]
    assert looked(room)[0] == EXPECTED


# --- records that are none ------------------------------------------------------------------------------------------


def test_a_damaged_lock_is_asked_for_each_time_since_its_journal_may_come_later(room: JournalRoom) -> None:
    """Git may bring a record before the journal that tells of it."""
    room.put(place_of(1), lock_bytes(1, *ALL[1]).replace(b'"a.py"', b'"../a.py"'))
    index = index_of(room)
    assert {place: as_text(paths) for place, paths in index.paths()} == {**EXPECTED, place_of(1): ["src/"]}
    index.store()
    file_entry(room, 1, Change(path=place_of(1), before=None, after=lock_bytes(1, *ALL[1])))
    found, opened, _ = looked(room)
    assert found == EXPECTED
    assert not set(opened) & {f"{id_of(2)}.json", f"{id_of(3)}.json"}


def test_one_of_which_nothing_tells_is_warned_of_each_time(room: JournalRoom) -> None:
    room.put(place_of(1), b"{")
    for _ in range(2):
        found, opened, index = looked(room)
        assert found == {**EXPECTED, place_of(1): []}
        assert f"{id_of(1)}.json" in opened
        assert index.warnings == [f"dev/{place_of(1)} is damaged, and nothing tells what it holds; see doctor dev"]
        index.store()


def test_a_record_that_goes_while_it_is_looked_for_is_none(room: JournalRoom) -> None:
    for n in range(1, 12):
        room.put(place_of(2), lock_bytes(2, *ALL[2]))
        act = lambda step: room.put(place_of(2), None)  # noqa: E731
        index = index_of(room, InterveningFileSystem(str(room.root), room.clock, n=n, act=act))
        found = {place: as_text(paths) for place, paths in index.paths() if paths}
        assert found in (EXPECTED, {place_of(1): ALL[1], place_of(3): ALL[3]})
        assert index.warnings == []


def test_a_record_that_is_replaced_while_it_is_read_is_not_noted(room: JournalRoom) -> None:
    """Readers of the index have no lock; what they saw of two files must not be taken for one."""

    def replace(step: object) -> None:
        new = room.folder / "locks" / "new"
        new.write_bytes(lock_bytes(2, "x y.py"))
        os.replace(new, room.folder / place_of(2))

    for n in range(1, 16):
        room.put(place_of(2), lock_bytes(2, *ALL[2]))
        index = index_of(room, InterveningFileSystem(str(room.root), room.clock, n=n, act=replace))
        list(index.paths())
        index.store()
        there = "x y.py" if b"x y.py" in (room.folder / place_of(2)).read_bytes() else ALL[2][0]
        assert looked(room)[0][place_of(2)] == [there], n
        (room.folder / INDEX).unlink()


def test_a_record_that_cannot_be_looked_at_fails_by_the_code_of_locks(room: JournalRoom) -> None:
    files = FaultyFiles(str(room.root), room.clock, at=1, code=errno.EIO, where=place_of(2), forever=True)
    with pytest.raises(Exception, match="Input/output error") as caught:
        list(index_of(room, files).paths())
    error: ChatError = caught.value  # type: ignore[assignment]
    assert error.code == "PATH_LOCK_STORAGE_ERROR"


def test_what_is_pending_is_never_taken_from_the_index(room: JournalRoom) -> None:
    """It is told as recovery will decide, which may not be what its file says."""
    stored(room)
    before = lock_bytes(2, "before.py")
    change = Change(path=place_of(2), before=before, after=lock_bytes(2, *ALL[2]))
    file_entry(room, 2, change, name=".pending", phases=b"applied\n")
    files = RecordingFileSystem(str(room.root), room.clock)
    index = LockIndex(RecordStore(room.channel(files), OF_LOCKS))
    assert {place: as_text(paths) for place, paths in index.paths()} == {**EXPECTED, place_of(2): ["before.py"]}
    opened = {os.path.basename(step.args[0]) for step in files.log if step.name == "read_file"}
    assert not opened & {f"{id_of(1)}.json", f"{id_of(3)}.json"}
    index.store()
    (room.folder / OF_LOCKS.entry).unlink()
    assert looked(room)[0] == EXPECTED


# --- against reading everything -------------------------------------------------------------------------------------

NUMBERS = st.integers(1, 4)
SOME = st.lists(st.sampled_from(["a.py", "b/", "c d", "Ї/", ".", "b/x"]), min_size=1, max_size=3, unique=True)
STEPS = st.one_of(
    st.tuples(st.just("write"), NUMBERS, SOME),
    st.tuples(st.just("in place"), NUMBERS, SOME),
    st.tuples(st.just("remove"), NUMBERS),
    st.tuples(st.just("damage"), NUMBERS, st.sampled_from([b"", b"{", b'{"paths": [{}]}'])),
    st.tuples(st.just("file"), NUMBERS, SOME),
    st.tuples(st.just("copy"), NUMBERS, st.sampled_from([b"\xff.json", b"a\tb.json", b"a\nb.json"])),
    st.tuples(st.just("store")),
    st.tuples(st.just("tear"), st.integers(0, 300)),
    st.tuples(st.just("forget")),
)


def carry_out(room: JournalRoom, step: tuple[Any, ...], count: int) -> None:
    """Does one thing that somebody may do to a channel's locks; each leaves a time of its own."""
    kind, index = step[0], room.folder / INDEX
    file = room.folder / place_of(step[1]) if len(step) > 1 and kind != "tear" else None
    if kind == "store":
        stored_or_warned(room)
    elif kind == "forget":
        index.unlink(missing_ok=True)
    elif kind == "tear" and index.exists():
        index.write_bytes(index.read_bytes()[: step[1]])
    elif kind == "file":
        data = lock_bytes(step[1], *step[2])
        file_entry(room, step[1], Change(path=place_of(step[1]), before=None, after=data))
    elif file is not None and kind == "remove":
        file.unlink(missing_ok=True)
    elif file is not None and kind == "copy" and file.exists():
        other = os.fsencode(file.parent) + b"/" + step[2]
        shutil.copy(file, other)
        os.utime(other, (count, count))
    elif file is not None and kind in ("write", "in place", "damage"):
        data = step[2] if kind == "damage" else lock_bytes(step[1], *step[2])
        if kind == "write":
            file.unlink(missing_ok=True)
        file.write_bytes(data)
        os.utime(file, (count, count))


def stored_or_warned(room: JournalRoom) -> None:
    index = index_of(room)
    list(index.paths())
    index.store()


@given(st.lists(STEPS, max_size=14))
def test_it_always_says_what_reading_every_record_says(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as base:
        room = JournalRoom(Path(base))
        for folder in (".cache", "locks"):
            (room.folder / folder).mkdir()
        for count, step in enumerate(steps):
            carry_out(room, step, 1000 + count)
            records = RecordStore(room.channel(), OF_LOCKS, locked=True)
            want = {}
            for name in records.names("locks"):
                data = records.read(f"locks/{name}")
                assert data is not None
                want[f"locks/{name}"] = as_text(paths_of(records, f"locks/{name}", data))
            assert looked(room)[0] == want
