"""The index of messages opens only what it must, believes only what still holds, and its failures cost time only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_chat.records.highlight import Highlight
from agent_chat.storage import message_index
from agent_chat.storage.message_index import HIGHLIGHTS_FILE, MESSAGES_FILE, READ_DIRECTLY
from tests.storage.index_room import CACHES, EVERY, MEANING, MEANT, SETTLED, SHOWN, IndexRoom, names_of
from tests.support.cli import START, message_file, plant
from tests.support.recording import InterveningFileSystem, RecordingFileSystem
from tests.support.roots import tree

if TYPE_CHECKING:
    from agent_chat.storage.workspace import Clock

# --- what it costs --------------------------------------------------------------------------------------------------


def test_a_small_channel_is_read_and_has_no_cache(tmp_path: Path) -> None:
    room = IndexRoom(tmp_path)
    room.fill(READ_DIRECTLY, **MEANING)
    looked = room.look()
    assert (looked.known, len(looked.opened), looked.warnings) == (room.reading(), READ_DIRECTLY, [])
    assert set(looked.cost) == {"status", "read_file", "list_folder"}
    assert room.caches() == []
    room.write(READ_DIRECTLY + 1)
    room.look()
    assert room.caches() == [MESSAGES_FILE]


def test_each_message_is_opened_once(nine: IndexRoom) -> None:
    first, second = nine.look(), nine.look()
    assert first.known == second.known == nine.reading()
    assert [name for name, _ in first.known.highlights] == MEANT
    assert (first.known.resolved, first.known.count, first.known.latest) == ({2: 8}, 9, 9)
    assert (first.opened, second.opened) == (EVERY, [])
    assert second.cost == {"status": 10, "list_folder": 2, "read_file": 1}
    assert (first.warnings, second.warnings, nine.caches()) == ([], [], [MESSAGES_FILE])


def test_a_new_message_is_all_that_is_opened(nine: IndexRoom) -> None:
    nine.look()
    nine.write(10, "decision")
    looked = nine.look()
    assert (looked.known, looked.opened) == (nine.reading(), names_of(10))


def test_in_a_settled_large_channel_nothing_is_opened_and_only_what_is_shown_is_looked_at(large: IndexRoom) -> None:
    large.look()
    assert large.caches() == sorted(CACHES)
    looked = large.look()
    assert (looked.known, looked.opened, looked.warnings) == (large.reading(), [], [])
    assert looked.cost == SETTLED


def test_what_is_believed_of_a_large_channel_can_be_asked_for_alone(large: IndexRoom) -> None:
    """By the same rule as `load` has, and nothing is opened or stored where it does not hold."""
    assert large.believed() == (None, {"list_folder": 1, "status": 1, "read_file": 1})
    assert large.caches() == []
    large.look()
    assert large.believed() == (large.reading(), SETTLED)
    large.write(4, "decision", at=START - 3000)
    assert large.believed() == (None, {"list_folder": 1, "status": 1, "read_file": 1})
    large.look()
    folder = large.folder.stat()
    large.write(4, "talk", at=START - 2000)
    os.utime(large.folder, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    assert large.believed()[0] is None


def test_of_a_channel_in_which_each_file_is_looked_at_nothing_is_believed_unseen(
    large: IndexRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.look()
    monkeypatch.setattr(message_index, "LOOK_AT_EACH", len(list(large.folder.iterdir())))
    assert large.believed() == (None, {"list_folder": 1, "status": 1})


def test_an_exact_look_looks_at_every_file_of_a_large_channel(large: IndexRoom) -> None:
    large.look()
    looked = large.look(exact=True)
    assert (looked.known, looked.opened) == (large.reading(), [])
    assert looked.cost["status"] >= 1 + 9
    assert looked.cost["list_folder"] == 2


@pytest.mark.parametrize("seq", [6, 5], ids=["talk", "event"])
def test_who_edits_a_message_of_a_large_channel_that_is_not_shown_is_noticed_by_an_exact_look(
    large: IndexRoom, seq: int
) -> None:
    large.look()
    before = large.reading()
    folder = large.folder.stat()
    large.write(seq, "decision", at=START - 3000)
    os.utime(large.folder, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    assert large.look().known == before
    assert large.look(exact=True, store=False).known == large.reading()
    assert large.look().known == before
    exact = large.look(exact=True)
    assert (exact.known, exact.opened) == (large.reading(), names_of(seq))
    assert large.look().known == large.reading()


def test_who_edits_a_message_that_is_shown_is_noticed_at_once(large: IndexRoom) -> None:
    large.look()
    folder = large.folder.stat()
    large.write(4, "talk", at=START - 3000)
    os.utime(large.folder, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    looked = large.look()
    assert (looked.known, looked.opened) == (large.reading(), names_of(4))


def test_progress_is_told_of_each_number(nine: IndexRoom) -> None:
    nine.write(4, sender="bob")
    told: list[tuple[str, int, int]] = []
    nine.look(progress=lambda *done: told.append(done))
    assert told == [("dev", done, 10) for done in range(9)]


@pytest.mark.parametrize("exact", [False, True])
def test_who_wants_nothing_changed_changes_nothing(large: IndexRoom, exact: bool) -> None:
    (large.folder / ".cache").rmdir()
    before = tree(large.root)
    looked = large.look(exact=exact, store=False)
    assert (looked.known, looked.warnings) == (large.reading(), [])
    assert set(looked.cost) == {"status", "read_file", "list_folder"}
    assert tree(large.root) == before


def test_a_cache_folder_is_made_where_it_is_missing(large: IndexRoom) -> None:
    (large.folder / ".cache").rmdir()
    assert large.look().warnings == []
    large.age_folder()
    assert large.look().opened == []
    assert large.caches() == sorted(CACHES)


# --- what is believed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["time", "change", "size", "number"])
def test_a_line_is_believed_only_of_the_file_that_was_read(large: IndexRoom, what: str) -> None:
    """A folder that is as it was tells nothing of the files whose text is shown."""
    large.look()
    folder, file = large.folder.stat(), large.folder / SHOWN[2]
    status = file.stat()
    data = message_file(4, title="Decision: two" if what != "size" else "Decision: three")
    if what == "number":
        other = file.with_suffix(".new")
        other.write_bytes(data)
        os.replace(other, file)
    else:
        file.write_bytes(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + (what == "time")))
    os.utime(large.folder, ns=(folder.st_atime_ns, folder.st_mtime_ns))
    assert (file.stat().st_size == status.st_size) == (what != "size")
    disk = ChangedLater(file, large.clock) if what == "change" else None
    looked = large.look(disk)
    assert (looked.known, looked.opened) == (large.reading(), names_of(4))


class ChangedLater(RecordingFileSystem):
    """A file system on which one file was changed a nanosecond after it was written."""

    def __init__(self, file: Path, clock: Clock) -> None:
        super().__init__(str(file.parent.parent), clock)
        self._file = str(file)

    def status(self, path: str) -> os.stat_result:
        """The status, with another time of change for that file."""
        real = super().status(path)
        times = {name: getattr(real, name) for name in ("st_atime", "st_mtime", "st_atime_ns", "st_mtime_ns")}
        late = path == self._file
        return os.stat_result(real[:10], {**times, "st_ctime": real.st_ctime, "st_ctime_ns": real.st_ctime_ns + late})


@pytest.mark.parametrize(("age", "opened"), [(2.0, []), (1.75, names_of(6)), (0.0, names_of(6)), (-9.0, names_of(6))])
def test_a_file_younger_than_two_seconds_is_never_believed(nine: IndexRoom, age: float, opened: list[str]) -> None:
    """Within one tick of a coarse clock it may be written over with as many other bytes."""
    nine.write(6, "talk", at=START - age)
    nine.look()
    nine.write(6, "chat", at=START - age)
    assert nine.look().opened == opened
    nine.clock.turn(20)
    nine.look()
    assert nine.look().opened == []


@pytest.mark.parametrize("age", [2.0, 1.75, 0.0, -9.0])
def test_a_folder_younger_than_two_seconds_is_never_believed(large: IndexRoom, age: float) -> None:
    large.age_folder(age)
    large.look()
    assert (HIGHLIGHTS_FILE in large.caches()) == (age >= 2)
    new = plant(large.folder.parent / "new", message_file(6, title="Decision: new"), at=START - 3000)
    os.replace(new, large.folder / EVERY[5])
    large.age_folder(age)
    noticed = large.look().known == large.reading()
    assert noticed == (age < 2)
    large.clock.turn(20)
    large.write(11)
    large.look()
    assert large.look().cost == {**SETTLED, "status": 2 + len(SHOWN)}


def test_one_that_had_another_number_is_known_though_it_means_nothing(large: IndexRoom) -> None:
    """Whoever answered it may have named that number, which a blocker may have now."""
    large.write(6, "moved talk")
    for _ in range(2):
        looked = large.look()
        assert looked.known == large.reading()
        assert [found for file, found in looked.known.highlights if file == EVERY[5]] == [
            Highlight(seq=6, kinds=(), was=(2,))
        ]
    assert looked.opened == []
    large.write(5, "done")
    assert large.look().known.resolved == {2: 8}, "the reply was written while two had that number"
    large.write(7, "done")
    assert large.look().known.resolved == {2: 7}


def test_a_message_that_has_gone_is_forgotten(large: IndexRoom) -> None:
    large.look()
    (large.folder / SHOWN[0]).unlink()
    large.age_folder()
    looked = large.look()
    assert (looked.known, looked.opened) == (large.reading(), [])
    assert SHOWN[0].encode() not in b"".join(large.cache(name).read_bytes() for name in CACHES)


def test_a_file_that_is_replaced_while_it_is_read_is_not_noted(nine: IndexRoom) -> None:
    """What was seen of two files must not be taken for one."""

    def replace(step: object) -> None:
        new = plant(nine.folder / "new", message_file(4, title="Decision: new"), at=START - 3600)
        os.replace(new, nine.folder / SHOWN[2])
        nine.age_folder()

    for n in range(1, 40):
        nine.write(4, "talk")
        for name in nine.caches():
            nine.cache(name).unlink()
        nine.look(InterveningFileSystem(str(nine.root), nine.clock, n=n, act=replace))
        assert nine.look().known == nine.reading(), n


class EditedWhileRead(RecordingFileSystem):
    """A file system on which somebody writes over a file in place as soon as it was read."""

    def __init__(self, room: IndexRoom, name: str) -> None:
        super().__init__(str(room.root), room.clock)
        self._room, self._path = room, str(room.folder / name)

    def read_file(self, path: str, limit: int) -> bytes:
        """The bytes before the edit."""
        data = super().read_file(path, limit)
        if path == self._path:
            plant(Path(path), message_file(6, title="Decision: new"), at=START - 3000)
        return data


def test_what_is_edited_while_it_is_read_is_no_ground_for_looking_at_nothing_else(large: IndexRoom) -> None:
    assert large.look(EditedWhileRead(large, EVERY[5])).known != large.reading()
    assert large.caches() == [MESSAGES_FILE]
    assert large.look().known == large.reading()


# --- what is no message, and odd names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"x", message_file(99), b"---\nseq: 6\nfrom: alice\n---\n\xff", b"---\nseq: 6\na\tb\x1b\n---\n"]
)
def test_what_is_no_message_is_told_without_being_read_again(large: IndexRoom, data: bytes) -> None:
    plant(large.folder / EVERY[5], data)
    large.age_folder()
    first, second = large.look(), large.look()
    assert first.known == second.known == large.reading()
    assert [(fault.file, fault.passing) for fault in second.known.faults] == [(EVERY[5], False)]
    assert (second.opened, second.cost["status"]) == ([], 2 + len(SHOWN))


@pytest.mark.parametrize("name", [b"0006-\xff.md", b"0006-a\tb.md", b"0006-\xd1\x97.md", b"0006-a\rb.md", b"0006- .md"])
def test_a_name_may_hold_anything(large: IndexRoom, name: bytes) -> None:
    os.rename(large.folder / EVERY[5], os.path.join(os.fsencode(large.folder), name))
    for form in ("decision", "damaged"):
        if form == "decision":
            large.write(6, form, name=os.fsdecode(name))
        else:
            plant(large.folder / os.fsdecode(name), b"damaged")
            large.age_folder()
        for _ in range(3):
            looked = large.look()
            assert (looked.known, looked.warnings) == (large.reading(), [])
