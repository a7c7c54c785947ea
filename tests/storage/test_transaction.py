"""The transaction: its steps in order, what a failure or a death at any of them leaves, and history that stays."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.errors import ChatError
from agent_chat.records import journal_entry, message
from agent_chat.records.journal_entry import APPLIED, PUBLISHED, Change
from agent_chat.storage import recovery
from agent_chat.storage.journal import OF_LOCKS
from tests.storage.journal_room import CLAIM, HISTORY, MESSAGE, TAKEN, TASK, JournalRoom
from tests.support.cli import FaultyFiles
from tests.support.recording import (
    AFTER,
    BEFORE,
    HALF,
    FailingFileSystem,
    InterveningFileSystem,
    Killed,
    KillingFileSystem,
    RecordingFileSystem,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem

PENDING = "tasks/audit/.pending.md"
OLD = {"_meta.json", TASK}
WAY_OUT = "agent-chat task recover-pending dev --as bob"


@pytest.fixture
def room(tmp_path: Path) -> JournalRoom:
    room = JournalRoom(tmp_path)
    room.open()
    return room


def steps(room: JournalRoom, files: RecordingFileSystem, *leaving_out: str) -> list[str]:
    """What was written, in order, with paths below the channel and temporaries as what becomes of them."""
    found = []
    for step in files.log:
        if step.name in ("list_folder", "read_file", "status", "root_status", "open_lock", *leaving_out):
            continue
        paths = [os.path.relpath(arg, room.folder).replace(os.sep, "/") for arg in step.args if isinstance(arg, str)]
        words = ["tmp" if path.startswith(".cache/tmp-") else path for path in paths]
        data = step.args[1].decode() if step.name == "append" else ""
        found.append(" ".join([step.name, *words, data]).strip())
    return found


def test_the_steps_in_their_order(room: JournalRoom) -> None:
    files = RecordingFileSystem(str(room.root), room.clock)
    room.commit()  # so that the folders are there
    for place in (TASK, CLAIM):
        room.put(place, b"open\n" if place == TASK else None)
    assert room.commit(files=files) == 2
    assert steps(room, files) == [
        "write_new tmp",
        f"link tmp {PENDING}",
        "remove tmp",
        "sync_folder tasks/audit",
        "write_new tmp",
        f"replace tmp {TASK}",
        "write_new tmp",
        f"replace tmp {CLAIM}",
        "sync_folder tasks",
        "sync_folder claims",
        f"append {PENDING} applied",
        "write_new tmp",
        "link tmp 0002-bob-lease-claimed-t-1.md",
        "remove tmp",
        "sync_folder .",
        f"append {PENDING} published",
        f"replace {PENDING} tasks/audit/{room.names('tasks/audit')[0]}",
        "sync_folder tasks/audit",
    ]
    assert all(step.args[2] for step in files.log if step.name == "write_new")  # each is synced before it is named


def test_what_it_leaves(room: JournalRoom) -> None:
    seq = room.commit()
    assert seq == 1
    disk = room.disk()
    history = f"tasks/audit/{HISTORY}.md"
    assert set(disk) == {*OLD, CLAIM, MESSAGE, history}
    assert (disk[TASK], disk[CLAIM]) == (b"taken\n", b"claim\n")
    entry = journal_entry.parse(disk[history])
    assert (entry.phase, entry.torn, entry.changes, entry.message_file) == (PUBLISHED, False, TAKEN, MESSAGE)
    assert (entry.message, message.parse(disk[MESSAGE]).transaction) == (disk[MESSAGE], entry.id)


def test_folders_are_made_durably_before_anything_is_put_in_them(tmp_path: Path) -> None:
    room = JournalRoom(tmp_path)
    files = RecordingFileSystem(str(tmp_path), room.clock)
    room.commit(Change(path=TASK, before=None, after=b"open\n"), files=files)
    done = steps(room, files)
    entry = done.index(f"link tmp {PENDING}")
    for folder, above in (("tasks", "."), ("tasks/audit", "tasks"), ("claims", ".")):
        made = done.index(f"make_folder {folder}")
        assert made < done.index(f"sync_folder {above}", made) < entry
    again = RecordingFileSystem(str(tmp_path), room.clock)
    room.commit(Change(path=TASK, before=b"open\n", after=b"x\n"), files=again)
    assert not [step for step in steps(room, again) if step.startswith("make_folder")]
    assert "sync_folder tasks" not in steps(room, again)[:3]


def test_a_file_that_stays_as_it_is_is_no_part_of_the_change(room: JournalRoom) -> None:
    room.put(CLAIM, b"claim\n")
    room.commit(TAKEN[0], Change(path=CLAIM, before=b"claim\n", after=b"claim\n"))
    entry = journal_entry.parse(room.disk()[f"tasks/audit/{HISTORY}.md"])
    assert entry.changes == TAKEN[:1]


def test_a_file_may_be_taken_away(room: JournalRoom) -> None:
    room.commit()
    room.commit(
        Change(path=TASK, before=b"taken\n", after=b"open\n"), Change(path=CLAIM, before=b"claim\n", after=None)
    )
    assert (room.get(TASK), room.get(CLAIM)) == (b"open\n", None)


def test_history_is_never_replaced_a_clash_takes_the_id(room: JournalRoom) -> None:
    states = [b"open\n", b"1\n", b"2\n", b"3\n"]
    for before, after in zip(states, states[1:]):
        room.commit(Change(path=TASK, before=before, after=after))
    found = {name: room.get(f"tasks/audit/{name}") or b"" for name in room.names("tasks/audit")}
    assert [journal_entry.parse(data).changes[0].after for data in found.values()].count(b"1\n") == 1
    by_id = {journal_entry.parse(data).id: name for name, data in found.items()}
    assert len(by_id) == 3
    assert f"{HISTORY}.md" in found
    assert set(found) - {f"{HISTORY}.md"} == {
        f"{HISTORY}-{id}.md" for id, name in by_id.items() if name != f"{HISTORY}.md"
    }


@pytest.mark.parametrize("fields", [{"target": "t" * 200}, {"operation": "o" * 200}, {"actor": "ї" * 100}])
def test_names_are_checked_before_anything_is_written(room: JournalRoom, fields: dict[str, Any]) -> None:
    before = room.disk()
    with pytest.raises(AssertionError):
        room.commit(**fields)
    assert room.disk() == before


def test_a_record_of_another_journal_is_not_changed(room: JournalRoom) -> None:
    before = room.disk()
    for path in ("locks/x.json", "tasks/audit/x.json", "_meta.json", "tasks/T-1.md"):
        with pytest.raises(AssertionError):
            room.commit(Change(path=path, before=None, after=b"x"))
    with pytest.raises(AssertionError):
        room.commit(journal=OF_LOCKS)
    assert room.disk() == before


def test_the_name_of_the_message_is_that_of_its_number_and_never_replaces(room: JournalRoom) -> None:
    room.put("0007-bob-lease-claimed-t-1.md", b"by another program\n")
    assert room.commit() == 8
    assert room.get("0007-bob-lease-claimed-t-1.md") == b"by another program\n"


# --- pending --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [PENDING, "claims/.lease-transaction.json"])
def test_nothing_begins_while_something_is_pending(room: JournalRoom, place: str) -> None:
    room.put(place, b"anything")
    before = room.disk()
    with pytest.raises(ChatError) as caught:
        room.commit()
    error = caught.value
    assert (error.code, error.next) == ("LEASE_TRANSACTION_PENDING", WAY_OUT)
    assert room.disk() == before


def test_what_is_pending_in_one_journal_does_not_stop_the_other(room: JournalRoom) -> None:
    room.put("locks/audit/.pending.md", b"anything")
    room.put("locks/.path-lock-transaction.json", b"anything")
    assert room.commit() == 1
    room.put(PENDING, b"anything")
    lock = Change(path="locks/a.json", before=None, after=b"lock\n")
    with pytest.raises(ChatError) as caught:
        room.commit(lock, journal=OF_LOCKS)
    assert caught.value.code == "PATH_LOCK_TRANSACTION_PENDING"
    for place in ("locks/audit/.pending.md", "locks/.path-lock-transaction.json"):
        room.put(place, None)
    assert room.commit(lock, journal=OF_LOCKS) == 2


# --- failures and deaths --------------------------------------------------------------------------------------------


def old_or_new(room: JournalRoom) -> str:
    """Tells whether all is as before the change, or as after it; nothing may be pending."""
    disk = {place: data for place, data in room.disk().items() if not place.startswith("tasks/audit/")}
    filed = room.names("tasks/audit")
    assert not [name for name in filed if name.startswith(".")]
    if set(disk) == OLD and disk[TASK] == b"open\n" and not filed:
        return "old"
    assert set(disk) == {*OLD, CLAIM, MESSAGE}
    assert (disk[TASK], disk[CLAIM], filed) == (b"taken\n", b"claim\n", [f"{HISTORY}.md"])
    return "new"


def failure(room: JournalRoom, files: FileSystem) -> Exception | None:
    """How the change fails, None when it does not; an error of the system comes only before the lock is held."""
    try:
        room.commit(files=files)
    except (ChatError, OSError) as error:
        return error
    return None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_whatever_fails_once_the_change_is_made_or_undone_and_said_so(tmp_path: Path, code: int) -> None:
    codes = set()
    for n in range(1, 200):
        path = tmp_path / str(n)
        path.mkdir()
        room = JournalRoom(path)
        room.open()
        files = FailingFileSystem(str(path), room.clock, n=n, code=code)
        error = failure(room, files)
        assert old_or_new(room) == ("new" if error is None else "old"), (n, files.failed)
        codes.add(error.code if isinstance(error, ChatError) else "")
        if not files.failed:
            break
    assert 30 < n < 100, n
    assert codes == {"", "TASK_IO_ERROR", "LEASE_AUDIT_FAILED"}


def test_when_it_cannot_be_undone_either_it_is_pending_and_a_recovery_settles_it(tmp_path: Path) -> None:
    codes = set()
    for n in range(1, 200):
        path = tmp_path / str(n)
        path.mkdir()
        room = JournalRoom(path)
        room.open()
        files = FailingFileSystem(str(path), room.clock, n=n, code=errno.EIO, for_good=True)
        error = failure(room, files)
        if isinstance(error, ChatError):
            codes.add(error.code)
        elif not files.failed:
            break
        pending, visible = (room.folder / PENDING).exists(), (room.folder / MESSAGE).exists()
        settled = room.settle()
        assert (settled.outcome == recovery.FINISHED) == (visible and pending), (n, error)
        assert old_or_new(room) == ("new" if visible else "old"), (n, error)
        if pending:
            assert isinstance(error, ChatError)
            assert (error.next, error.code == "TASK_IO_ERROR") == (WAY_OUT, False)
        if isinstance(error, ChatError) and error.code == "LEASE_TRANSACTION_CLEANUP_FAILED":
            assert visible
    assert codes == {"TASK_IO_ERROR", "LEASE_AUDIT_ROLLBACK_FAILED", "LEASE_TRANSACTION_CLEANUP_FAILED"}


@pytest.mark.parametrize("when", [BEFORE, HALF, AFTER])
def test_wherever_it_dies_a_recovery_makes_it_the_old_state_or_the_new(tmp_path: Path, when: str) -> None:
    outcomes = []
    for n in range(1, 200):
        path = tmp_path / str(n)
        path.mkdir()
        room = JournalRoom(path)
        room.open()
        files = KillingFileSystem(str(path), room.clock, n=n, when=when)
        try:
            room.commit(files=files)
        except Killed:
            visible = (room.folder / MESSAGE).exists()
            outcomes.append(room.settle().outcome)
            assert old_or_new(room) == ("new" if visible else "old"), (n, files.killed)
            assert room.settle().outcome == recovery.NOTHING
            room.commit(Change(path=TASK, before=room.get(TASK), after=b"next\n"))
        else:
            if files.count < n:
                break
    assert set(outcomes) == {recovery.NOTHING, recovery.UNDONE, recovery.FINISHED}
    ranks = [(recovery.NOTHING, recovery.UNDONE, recovery.FINISHED).index(outcome) for outcome in outcomes]
    assert ranks[: ranks.index(2) + 1] == sorted(ranks[: ranks.index(2) + 1])


def test_an_interruption_goes_on_after_it_was_settled(room: JournalRoom) -> None:
    def interrupt(step: object) -> None:
        raise KeyboardInterrupt

    for n in range(1, 200):
        for leftover in (room.folder / ".cache").glob("tmp-*"):
            leftover.unlink()
        before, told = room.get(TASK), len(room.messages())
        files = InterveningFileSystem(str(room.root), room.clock, n=n, act=interrupt)
        change = Change(path=TASK, before=before, after=b"%d\n" % n)
        try:
            room.commit(change, files=files)
        except KeyboardInterrupt:
            assert not (room.folder / PENDING).exists(), n
            # Where it had been announced it is made.
            assert (room.get(TASK) != before) == (len(room.messages()) > told), n
        else:
            break
    assert 20 < n < 100, n
    assert not files.intervened


def test_a_lock_that_was_deleted_meanwhile_stops_the_change_before_it_is_announced(room: JournalRoom) -> None:
    def delete(step: object) -> None:
        (room.folder / ".lock").unlink()

    files = InterveningFileSystem(str(room.root), room.clock, n=0, act=delete)
    room.commit(TAKEN[0], files=files)
    total = files.count
    room.put(TASK, b"open\n")
    codes = []
    for n in range(5, total):
        if room.get(PENDING) is not None:
            room.settle()
        files = InterveningFileSystem(str(room.root), room.clock, n=n, act=delete)
        change = Change(path=TASK, before=room.get(TASK), after=b"%d\n" % n)
        seqs = [each.seq for each in room.messages()]
        try:
            room.commit(change, files=files)
        except ChatError as error:
            codes.append(error.code)
            assert [each.seq for each in room.messages()] == seqs
    assert set(codes) == {"TASK_IO_ERROR", "LEASE_AUDIT_ROLLBACK_FAILED"}  # before the entry has its name, and after


def test_a_torn_phase_is_no_phase(room: JournalRoom) -> None:
    """The line `applied` reaches the disk in part and the writer dies."""
    files = FaultyFiles(str(room.root), room.clock, at=1, only=("append",))
    with pytest.raises(BaseException):  # noqa: B017 - the process dies
        room.commit(files=files)
    with open(room.folder / PENDING, "ab") as stream:
        stream.write(b"appl")
    entry = journal_entry.parse(room.get(PENDING) or b"")
    assert (entry.phase, entry.torn) == (journal_entry.PREPARED, True)
    assert room.settle().outcome == recovery.UNDONE
    assert old_or_new(room) == "old"
    assert APPLIED not in entry.phase
