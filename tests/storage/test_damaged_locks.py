"""A damaged lock holds what its own bytes tell and what the journal does; nothing else is opened for it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.records.journal_entry import Change
from agent_chat.storage.damaged_locks import paths_of
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.journal import OF_LOCKS
from tests.storage.journal_room import JournalRoom
from tests.storage.lock_records import file_entry, id_of, lock_bytes, path, place_of
from tests.support.cli import FaultyFiles
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Clock

PLACE = place_of(1)
SOUND = lock_bytes(1, "src/", "a.py")
TAKEN = Change(path=PLACE, before=None, after=SOUND)


@pytest.fixture
def room(tmp_path: Path) -> JournalRoom:
    return JournalRoom(tmp_path)


def told(room: JournalRoom, data: bytes, files: FileSystem | None = None) -> list[str]:
    """The paths that are told of the first lock, folders with a slash."""
    found = paths_of(room.store(files, OF_LOCKS), PLACE, data)
    return [each.normalized_path + ("/" if each.kind == "directory" else "") for each in found]


def test_of_a_sound_lock_its_own_paths_count_and_the_journal_is_not_opened(room: JournalRoom) -> None:
    file_entry(room, 1, Change(path=PLACE, before=None, after=lock_bytes(1, "other.py")))
    files = RecordingFileSystem(str(room.root), room.clock)
    assert told(room, SOUND, files) == ["src/", "a.py"]
    assert files.log == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", SOUND[:-9], b"\xef\xbb\xbf" + SOUND])
def test_of_one_without_readable_bytes_the_journal_tells(room: JournalRoom, data: bytes) -> None:
    assert told(room, data) == []
    file_entry(room, 1, TAKEN)
    assert told(room, data) == ["src/", "a.py"]


def test_what_the_bytes_tell_and_what_the_journal_tells_both_count(room: JournalRoom) -> None:
    data = SOUND.replace(b'"normalized_path": "a.py"', b'"normalized_path": "../a.py"')
    assert told(room, data) == ["src/"]
    file_entry(room, 1, TAKEN)
    assert told(room, data) == ["src/", "a.py"]
    more = lock_bytes(1, "b.py", "src/").replace(b'"owner"', b'"over"')
    assert told(room, more) == ["b.py", "src/", "a.py"]


@pytest.mark.parametrize("operation", ["lock", "renew-lock", "recover", "unlock"])
def test_any_entry_about_it_will_do(room: JournalRoom, operation: str) -> None:
    """The paths of a lock never change; what was given back was there before."""
    before = None if operation == "lock" else SOUND
    file_entry(
        room, 1, Change(path=PLACE, before=before, after=None if operation == "unlock" else SOUND), operation=operation
    )
    assert told(room, b"") == ["src/", "a.py"]


def test_an_entry_that_tells_nothing_is_passed_over(room: JournalRoom) -> None:
    other = Change(path=place_of(2), before=None, after=lock_bytes(2, "other.py"))
    file_entry(room, 1, data=b"torn", name=f"1-{id_of(1)}")
    file_entry(room, 1, other, name=f"2-{id_of(1)}")
    file_entry(room, 1, Change(path=PLACE, before=None, after=b"{"), name=f"3-{id_of(1)}")
    (room.folder / "locks" / "audit" / f"4-{id_of(1)}.md").mkdir()
    (room.folder / "locks" / "audit" / f"5-{id_of(1)}.md").symlink_to(room.folder / "_meta.json")
    file_entry(room, 1, TAKEN, name="of-another-name")
    assert told(room, b"") == []
    file_entry(room, 1, TAKEN, name=f"6-{id_of(1)}")
    assert told(room, b"") == ["src/", "a.py"]


def test_only_entries_whose_names_tell_of_it_are_opened(room: JournalRoom) -> None:
    for number in range(2, 30):
        file_entry(room, number, Change(path=place_of(number), before=None, after=lock_bytes(number, "x")))
    mine = file_entry(room, 1, TAKEN)
    files = RecordingFileSystem(str(room.root), room.clock)
    assert told(room, b"", files) == ["src/", "a.py"]
    opened = [step.args[0] for step in files.log if step.name == "read_file"]
    assert opened == [str(room.folder / mine)]


class Forbidden(FileSystem):
    """A disk on which the entries may not be read."""

    def __init__(self, root: str, clock: Clock) -> None:
        super().__init__(root, clock)

    def read_file(self, path: str, limit: int) -> bytes:
        if "audit" in path:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return super().read_file(path, limit)


def test_an_entry_that_may_not_be_read_tells_nothing(room: JournalRoom) -> None:
    file_entry(room, 1, TAKEN)
    assert told(room, b"", Forbidden(str(room.root), room.clock)) == []
    assert told(room, b"") == ["src/", "a.py"]


@pytest.mark.parametrize("primitive", ["list_folder", "read_file"])
def test_a_disk_that_fails_is_not_taken_for_a_journal_that_tells_nothing(room: JournalRoom, primitive: str) -> None:
    file_entry(room, 1, TAKEN)
    files = FaultyFiles(str(room.root), room.clock, at=1, code=errno.EIO, only=(primitive,), where="audit")
    with pytest.raises(ChatError) as caught:
        told(room, b"", files)
    assert caught.value.code == "PATH_LOCK_STORAGE_ERROR"


def test_the_kinds_are_kept(room: JournalRoom) -> None:
    file_entry(room, 1, TAKEN)
    assert paths_of(room.store(journal=OF_LOCKS), PLACE, b"") == (path("src/"), path("a.py"))
