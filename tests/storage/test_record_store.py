"""Readers take no lock: they see a change as its recovery will decide, and look again when that moved meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, Optional, TypeVar

import pytest

from agent_chat.errors import ChatError
from agent_chat.records.journal_entry import APPLIED, PREPARED, PUBLISHED, Change
from agent_chat.storage.channel import Channel
from agent_chat.storage.journal import OF_LOCKS, OF_TASKS, Journal
from agent_chat.storage.record_store import RecordStore
from tests.storage.journal_room import CLAIM, TAKEN, TASK, JournalRoom, entry_of
from tests.support.leases import foreign_audit, lease_marker, lock_marker, marker_bytes
from tests.support.recording import InterveningFileSystem, RecordingFileSystem, Step

if TYPE_CHECKING:
    from pathlib import Path

    Seen = tuple[Optional[bytes], Optional[bytes], list[str], list[str]]
    Look = Callable[[RecordStore], object]

PENDING = "tasks/audit/.pending.md"
FOREIGN = "claims/.lease-transaction.json"
OLD: Seen = (b"open\n", None, [], ["T-1.json"])
NEW: Seen = (b"taken\n", b"claim\n", ["T-1.bob.json"], ["T-1.json"])
T = TypeVar("T")


@pytest.fixture
def room(tmp_path: Path) -> JournalRoom:
    room = JournalRoom(tmp_path)
    room.open()
    return room


def seen(records: RecordStore) -> tuple[bytes | None, bytes | None, list[str], list[str]]:
    """The task and the claim as a reader sees them, and the names of the claims and tasks."""
    return records.read(TASK), records.read(CLAIM), records.names("claims"), records.names("tasks")


def test_with_nothing_pending_the_files_are_what_is_seen(room: JournalRoom) -> None:
    assert seen(room.store()) == OLD
    room.commit()
    records = room.store()
    assert seen(records) == NEW
    assert (records.warnings(), records.pending_bytes(), records.concerns(TASK)) == ((), [], False)


@pytest.mark.parametrize("phase", [PREPARED, APPLIED])
@pytest.mark.parametrize("states", ["bb", "ab", "ba", "aa"])
def test_until_the_message_is_out_the_state_before_is_seen(room: JournalRoom, phase: str, states: str) -> None:
    room.leave(phase, states=states)
    records = room.store()
    assert seen(records) == OLD
    (warning,) = records.warnings()
    assert "claim of T-1 by bob is pending" in warning
    assert "the state before" in warning
    assert warning.endswith("agent-chat task recover-pending dev --as NAME")
    assert [records.concerns(place) for place in (TASK, CLAIM, "tasks/T-2.json")] == [True, True, False]
    assert records.pending_bytes() == [(TASK, b"open\n"), (TASK, b"taken\n"), (CLAIM, None), (CLAIM, b"claim\n")]


@pytest.mark.parametrize("phase", [APPLIED, PUBLISHED])
def test_once_the_message_is_out_the_state_after_is_seen(room: JournalRoom, phase: str) -> None:
    room.leave(phase, visible=True)
    records = room.store()
    assert seen(records) == NEW
    (warning,) = records.warnings()
    assert "the state after" in warning
    assert records.concerns(TASK)


def test_a_new_file_is_not_seen_before_and_one_that_goes_is(room: JournalRoom) -> None:
    changes = (
        Change(path="tasks/T-2.json", before=None, after=b"new\n"),
        Change(path=TASK, before=b"open\n", after=None),
    )
    room.put(TASK, None)
    room.leave(APPLIED, *changes)
    records = room.store()
    assert records.names("tasks") == ["T-1.json"]
    assert (records.read(TASK), records.read("tasks/T-2.json")) == (b"open\n", None)
    room.put(entry_of().message_file, entry_of().message)
    records = room.store()
    assert records.names("tasks") == ["T-2.json"]
    assert (records.read(TASK), records.read("tasks/T-2.json")) == (None, b"new\n")


@pytest.mark.parametrize(
    ("phase", "visible", "states"),
    [(APPLIED, False, "an"), (PREPARED, True, "aa"), (PUBLISHED, False, "aa"), (APPLIED, True, "ab")],
)
def test_where_a_person_must_decide_the_files_are_seen_as_they_are(
    room: JournalRoom, phase: str, visible: bool, states: str
) -> None:
    room.leave(phase, visible=visible, states=states)
    records = room.store()
    assert (records.read(TASK), records.read(CLAIM)) == (room.get(TASK), room.get(CLAIM))
    (warning,) = records.warnings()
    assert "the files as they are; recovery needs a person" in warning
    assert records.concerns(TASK)


@pytest.mark.parametrize("place", [PENDING, FOREIGN])
def test_a_damaged_entry_holds_every_record(room: JournalRoom, place: str) -> None:
    room.put(place, b"{torn")
    records = room.store()
    assert seen(records) == OLD
    (warning,) = records.warnings()
    assert "a damaged entry" in warning
    assert "recovery needs a person" in warning
    assert (records.concerns(TASK), records.pending_bytes()) == (True, [])


@pytest.mark.parametrize(
    ("phase", "visible", "state"),
    [(APPLIED, False, OLD), (APPLIED, True, NEW), (PUBLISHED, True, NEW), (PREPARED, False, OLD)],
)
def test_a_marker_of_the_other_program_is_seen_as_it_will_be_decided(
    room: JournalRoom, phase: str, visible: bool, state: object
) -> None:
    room.put(FOREIGN, marker_bytes(lease_marker(2, phase=phase)))
    room.put(TASK, b"taken\n")
    room.put(CLAIM, b"claim\n")
    if visible:
        room.put("0001-bob-x.md", foreign_audit(1, "lease.claimed", "448056a8753e4f4bb27968939d08d85a"))
    records = room.store()
    assert seen(records) == state
    assert "lease.claimed of T-1 by another program is pending" in records.warnings()[0]


def test_a_marker_that_proves_nothing_leaves_the_files_as_they_are(room: JournalRoom) -> None:
    room.put(FOREIGN, marker_bytes(lease_marker(1, phase=APPLIED)))
    room.put(TASK, b"taken\n")
    room.put(CLAIM, b"claim\n")
    assert seen(room.store()) == NEW
    assert "recovery needs a person" in room.store().warnings()[0]


def test_a_marker_of_a_path_lock_is_of_the_other_journal(room: JournalRoom) -> None:
    room.put("locks/.path-lock-transaction.json", marker_bytes(lock_marker(phase=APPLIED)))
    lock = "locks/b667d998167b482fae2d50e6fddf7eec.json"
    room.put(lock, b"lock\n")
    assert room.store().warnings() == ()
    records = room.store(journal=OF_LOCKS)
    assert (records.read(lock), records.names("locks"), records.concerns(lock)) == (None, [], True)
    assert records.warnings()[0].endswith("agent-chat recover-pending dev --as NAME")


def test_names_that_are_none_of_records_are_left_out(room: JournalRoom) -> None:
    for name in (".hidden.json", "x.txt", "T-2.json~", "T-3.json.tmp", "audit.md"):
        room.put(f"tasks/{name}", b"")
    assert room.store().names("tasks") == ["T-1.json"]
    assert room.store().names("claims") == []


# --- what happens meanwhile -----------------------------------------------------------------------------------------


def watched(room: JournalRoom, act: Callable[[], object], look: Callable[[RecordStore], object]) -> set[object]:
    """What a reader may see when something happens before any one of its primitives."""
    found: set[object] = set()
    for n in range(1, 200):
        files = InterveningFileSystem(str(room.root), room.clock, n=n, act=lambda step: act())
        found.add(look(room.store(files)))
        if not files.intervened:
            return found
        while room.get(PENDING) is not None or room.get(TASK) != b"open\n":
            if room.get(PENDING) is not None:
                room.settle()
            else:
                room.commit(*(Change(path=each.path, before=each.after, after=each.before) for each in TAKEN))
    raise AssertionError("the reader never ended")


def test_a_change_that_is_undone_later_is_never_seen(room: JournalRoom) -> None:
    """A writer prepares and applies a change while the record is read, and dies."""
    looked = watched(room, lambda: room.leave(APPLIED), lambda records: records.read(TASK))
    assert looked == {b"open\n"}


class BegunAndUndone(RecordingFileSystem):
    """Before the n-th primitive of a reader a change is begun and applied, and undone before the next one."""

    def __init__(self, room: JournalRoom, n: int) -> None:
        super().__init__(str(room.root), room.clock)
        self._room, self._n = room, n

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if self.count == self._n:
            self._room.leave(APPLIED)
        elif self.count == self._n + 1:
            self._room.settle()
        return act()


def test_a_change_that_is_begun_and_undone_while_one_file_is_read_is_not_seen(room: JournalRoom) -> None:
    room.put("tasks/audit/x.md", b"")
    for n in range(1, 12):
        time.sleep(0.02)  # the clock of the file system is coarse
        assert room.store(BegunAndUndone(room, n)).read(TASK) == b"open\n", n
        if room.get(PENDING) is not None:
            room.settle()


def test_a_whole_change_meanwhile_is_seen_before_or_after(room: JournalRoom) -> None:
    assert watched(room, room.commit, lambda records: records.read(TASK)) == {b"open\n", b"taken\n"}
    assert watched(room, room.commit, lambda records: records.read(CLAIM)) == {None, b"claim\n"}
    assert watched(room, room.commit, lambda records: tuple(records.names("claims"))) == {(), ("T-1.bob.json",)}


def test_the_message_that_comes_out_meanwhile_moves_the_reader_on(room: JournalRoom) -> None:
    """Between two reads of one reader the pending change is announced: each sees a state, the later one the new."""
    room.leave(APPLIED)
    records = room.store()
    assert records.read(TASK) == b"open\n"
    room.put(entry_of().message_file, entry_of().message)
    room.leave(PUBLISHED, visible=True)
    assert (records.read(TASK), records.read(CLAIM)) == (b"taken\n", b"claim\n")
    assert "the state after" in records.warnings()[0]


def test_an_entry_that_vanishes_or_comes_between_two_reads_is_noticed(room: JournalRoom) -> None:
    records = room.store()
    assert records.read(TASK) == b"open\n"
    room.leave(APPLIED)
    assert (records.read(TASK), records.concerns(TASK)) == (b"open\n", True)
    room.settle()
    assert (records.read(TASK), records.concerns(TASK), records.warnings()) == (b"open\n", False, ())


def test_under_the_lock_no_entry_is_looked_for(room: JournalRoom) -> None:
    channel = room.channel()
    files = channel.workspace.files
    records = RecordStore(channel, OF_TASKS, locked=True)
    assert records.read(TASK) == b"open\n"
    assert records.names("tasks") == ["T-1.json"]
    assert [step.name for step in files.log if step.name == "status"] == []  # type: ignore[attr-defined]


# --- what stands in the way -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "make", "code"),
    [
        ("tasks", "link", "TASK_PATH_OUTSIDE_WORKSPACE"),
        ("tasks", "file", "TASK_PATH_OUTSIDE_WORKSPACE"),
        ("claims", "link", "LEASE_PATH_OUTSIDE_WORKSPACE"),
        ("claims", "file", "LEASE_STORAGE_INVALID"),
        ("locks", "link", "PATH_LOCK_STORAGE_INVALID"),
        ("locks", "file", "PATH_LOCK_STORAGE_INVALID"),
    ],
)
def test_a_folder_that_is_none_is_refused(tmp_path: Path, folder: str, make: str, code: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    room = JournalRoom(root)
    if make == "file":
        room.put(folder, b"")
    else:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "x.json").write_bytes(b"{}")
        (room.folder / folder).symlink_to(tmp_path / "elsewhere")
    journal: Journal = OF_LOCKS if folder == "locks" else OF_TASKS
    looks: list[Look] = [lambda records: records.names(folder), lambda records: records.read(f"{folder}/x.json")]
    for look in looks:
        with pytest.raises(ChatError) as caught:
            look(room.store(journal=journal))
        assert caught.value.code == code


def test_a_record_that_is_no_file_is_told_by_the_code_of_its_journal(room: JournalRoom) -> None:
    (room.folder / "tasks" / "T-2.json").mkdir()
    (room.folder / "tasks" / "T-3.json").symlink_to(room.folder / TASK)
    for name in ("T-2.json", "T-3.json"):
        with pytest.raises(ChatError):
            room.store().read(f"tasks/{name}")
    assert isinstance(room.store().channel, Channel)
