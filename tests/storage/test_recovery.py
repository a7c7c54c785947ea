"""Recovery on real disks: every row of the table, what is kept as it is, and the markers of the other program."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.errors import ChatError
from agent_chat.records import journal_entry, json_codec, message
from agent_chat.records.journal_entry import APPLIED, PHASES, PREPARED, PUBLISHED, Change
from agent_chat.storage import recovery
from agent_chat.storage.journal import OF_LOCKS, OF_TASKS, Journal
from agent_chat.storage.recovery import FINISHED, KEPT, NOTHING, UNDONE, Settled
from tests.storage.journal_room import CLAIM, HISTORY, ID, MESSAGE, TAKEN, TASK, JournalRoom, announcement
from tests.support.leases import foreign_audit, lease_marker, lock_marker, marker_bytes
from tests.support.recording import BEFORE, Killed, KillingFileSystem, RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

PENDING = "tasks/audit/.pending.md"
FOREIGN, FOREIGN_LOCK = "claims/.lease-transaction.json", "locks/.path-lock-transaction.json"
LOCK = "locks/b667d998167b482fae2d50e6fddf7eec.json"
LEASE_ID, LOCK_TRANSACTION = "448056a8753e4f4bb27968939d08d85a", "ce93fc81f9ad4e4eb44b0d6e90c386b1"


@pytest.fixture
def room(tmp_path: Path) -> JournalRoom:
    return JournalRoom(tmp_path)


def refused(room: JournalRoom, code: str, **options: Any) -> ChatError:
    """The error of a recovery that must be refused, and must change nothing."""
    before = room.disk()
    with pytest.raises(ChatError) as caught:
        room.settle(**options)
    assert caught.value.code == code, caught.value
    assert room.disk() == before
    return caught.value


# --- the table ------------------------------------------------------------------------------------------------------

ROWS = [
    (phase, visible, "".join(states))
    for phase, visible, states in itertools.product(PHASES, (False, True), itertools.product("ban", repeat=2))
]


def decision_of(phase: str, visible: bool, states: str) -> str | None:
    """What the contract says of a row; None where it is refused."""
    if "n" in states:
        return None
    if not visible:
        return UNDONE if phase in (PREPARED, APPLIED) else None
    return FINISHED if phase in (APPLIED, PUBLISHED) and states == "aa" else None


@pytest.mark.parametrize(("phase", "visible", "states"), ROWS)
def test_every_row_of_the_table(room: JournalRoom, phase: str, visible: bool, states: str) -> None:
    room.leave(phase, visible=visible, states=states)
    before = room.disk()
    decision = decision_of(phase, visible, states)
    if decision is None:
        error = refused(room, "LEASE_TRANSACTION_INVALID")
        assert error.next == "agent-chat task recover-pending dev --as carol --keep"
        return
    assert room.settle() == Settled(outcome=decision, transaction=ID)
    if decision == UNDONE:
        assert room.disk() == {"_meta.json": before["_meta.json"], TASK: b"open\n"}
    else:
        filed = room.disk().pop(f"tasks/audit/{HISTORY}.md")
        assert filed == before[PENDING] + b"recovered by carol\n"
        assert journal_entry.parse(filed).phase == phase
        rest = {place: data for place, data in before.items() if place != PENDING}
        assert room.disk() == {**rest, f"tasks/audit/{HISTORY}.md": filed}
    assert room.settle() == Settled(outcome=NOTHING)


def test_a_file_that_goes_comes_back_when_it_is_undone(room: JournalRoom) -> None:
    changes = (Change(path=TASK, before=b"taken\n", after=b"open\n"), Change(path=CLAIM, before=b"claim\n", after=None))
    room.leave(APPLIED, *changes)
    assert room.get(CLAIM) is None
    assert room.settle().outcome == UNDONE
    assert (room.get(TASK), room.get(CLAIM)) == (b"taken\n", b"claim\n")


def test_another_message_of_that_name_is_no_proof(room: JournalRoom) -> None:
    room.leave(APPLIED)
    room.put(MESSAGE, message.render(announcement(transaction="00000000000000bb")))
    assert room.settle().outcome == UNDONE
    assert message.parse(room.get(MESSAGE) or b"").transaction == "00000000000000bb"


def test_a_message_is_proof_by_its_transaction_whatever_else_was_changed_in_it(room: JournalRoom) -> None:
    room.leave(APPLIED)
    room.put(MESSAGE, message.render(announcement().replace(body="edited\n")))
    assert room.settle().outcome == FINISHED


def test_a_damaged_message_proves_nothing(room: JournalRoom) -> None:
    room.leave(APPLIED)
    room.put(MESSAGE, b"---\nseq: 1\n")
    refused(room, "LEASE_TRANSACTION_INVALID")
    refused(room, "LEASE_TRANSACTION_INVALID", resolution="published")


@pytest.mark.parametrize("tail", [b"publi", b"published", b"\0\0\0\0", b"recovered by bo"])
def test_after_a_torn_line_the_entry_is_finished_and_stays_readable(room: JournalRoom, tail: bytes) -> None:
    data = room.leave(APPLIED, visible=True, tail=tail)
    assert room.settle().outcome == FINISHED
    filed = room.get(f"tasks/audit/{HISTORY}.md") or b""
    assert filed == data + b"\nrecovered by carol\n"
    assert not journal_entry.parse(filed).torn


def test_a_finished_entry_never_replaces_another(room: JournalRoom) -> None:
    room.put(f"tasks/audit/{HISTORY}.md", b"another\n")
    room.leave(PUBLISHED, visible=True)
    assert room.settle().outcome == FINISHED
    assert room.names("tasks/audit") == [f"{HISTORY}-{ID}.md", f"{HISTORY}.md"]
    assert room.get(f"tasks/audit/{HISTORY}.md") == b"another\n"


@pytest.mark.parametrize(("phase", "visible"), [(APPLIED, False), (APPLIED, True), (PUBLISHED, True)])
def test_everything_relied_on_is_synced_before_the_entry_goes(room: JournalRoom, phase: str, visible: bool) -> None:
    room.leave(phase, visible=visible)
    files = RecordingFileSystem(str(room.root), room.clock)
    room.settle(files=files)
    steps = [(step.name, os.path.relpath(str(step.args[0]), room.folder)) for step in files.log if step.args]
    gone = steps.index(("replace" if visible else "remove", PENDING.replace("/", os.sep)))
    synced = {path.replace(os.sep, "/") for name, path in steps[:gone] if name == "sync_folder"}
    assert synced == {"tasks", "claims", "tasks/audit", "."}
    assert ("sync_folder", os.path.join("tasks", "audit")) in steps[gone:]


@pytest.mark.parametrize(
    ("phase", "visible"), [(PREPARED, False), (APPLIED, False), (APPLIED, True), (PUBLISHED, True)]
)
def test_a_recovery_that_dies_is_carried_on_by_the_next(tmp_path: Path, phase: str, visible: bool) -> None:
    for n in range(1, 100):
        path = tmp_path / str(n)
        path.mkdir()
        room = JournalRoom(path)
        room.leave(phase, visible=visible, states="aa" if visible else "ab")
        files = KillingFileSystem(str(path), room.clock, n=n, when=BEFORE)
        try:
            outcome = room.settle(files=files).outcome
        except Killed:
            outcome = room.settle(actor="dave").outcome
            filed = any(name == f"{HISTORY}.md" for name in room.names("tasks/audit"))
            assert outcome in ((FINISHED, NOTHING) if visible else (UNDONE, NOTHING))
            assert filed == visible
            assert (room.get(TASK), room.get(CLAIM)) == ((b"taken\n", b"claim\n") if visible else (b"open\n", None))
        else:
            break
    assert 10 < n < 99


# --- damaged --------------------------------------------------------------------------------------------------------

DAMAGED = [
    b"",
    b"\0" * 400,
    b"# by hand\n",
    journal_entry.render(journal_entry.Entry(
        id="1", operation="o", actor="a", target="t", created="c", changes=(), message_file="0001-a-t.md"
    ))[:-1],
]  # fmt: skip


def elsewhere() -> bytes:
    """An entry that would change a file which is none of its journal's."""
    entry = journal_entry.Entry(
        id=ID,
        operation="claim",
        actor="bob",
        target="T-1",
        created="2026-01-02T03:04:05+00:00",
        changes=(Change(path="locks/a.json", before=None, after=b"x"),),
        message_file=MESSAGE,
    )
    return journal_entry.render(entry)


@pytest.mark.parametrize("data", [*DAMAGED, elsewhere()], ids=itertools.count())
def test_a_damaged_entry_is_refused_and_kept_when_that_is_asked_for(room: JournalRoom, data: bytes) -> None:
    room.open()
    room.put(PENDING, data)
    error = refused(room, "LEASE_TRANSACTION_INVALID")
    assert error.next == "agent-chat task recover-pending dev --as carol --keep"
    refused(room, "LEASE_TRANSACTION_INVALID", resolution="rollback")
    refused(room, "LEASE_TRANSACTION_INVALID", resolution="published")
    before = room.disk()
    settled = room.settle(keep=True)
    (told,) = room.messages()
    transaction = settled.transaction or ""
    assert settled == Settled(outcome=KEPT, transaction=transaction, seq=told.seq)
    assert transaction.startswith("damaged-")
    kept = f"tasks/audit/20260102T030405Z-carol-kept-{transaction}.md"
    assert room.get(kept) == data
    assert {
        p: d for p, d in room.disk().items() if p not in (kept, f"0001-carol-task-recovery-kept-{transaction}.md")
    } == {p: d for p, d in before.items() if p != PENDING}
    assert (told.sender, told.status, told.transaction) == ("carol", "task.recovery.kept", transaction)
    assert told.title == f"task.recovery.kept {transaction}"
    body = json_codec.object_of(json_codec.decode(told.body.encode()))
    assert list(body) == sorted(body) == ["channel", "event", "fault", "transaction_id"]
    assert (body["event"], body["transaction_id"]) == ("task.recovery.kept", transaction)
    assert room.settle() == Settled(outcome=NOTHING)


def test_with_keep_what_can_be_decided_is_decided(room: JournalRoom) -> None:
    room.leave(APPLIED)
    assert room.settle(keep=True).outcome == UNDONE
    assert room.settle(keep=True).outcome == NOTHING


def test_files_that_are_neither_stay_as_they_are_when_the_entry_is_kept(room: JournalRoom) -> None:
    data = room.leave(APPLIED, states="an")
    settled = room.settle(keep=True)
    assert settled == Settled(outcome=KEPT, transaction=ID, seq=1)
    assert (room.get(TASK), room.get(CLAIM)) == (b"taken\n", b"neither\n")
    assert room.get(f"tasks/audit/20260102T030405Z-carol-kept-{ID}.md") == data


def test_an_entry_of_a_later_version_is_never_touched(room: JournalRoom) -> None:
    data = room.leave(APPLIED)
    room.put(PENDING, data.replace(b"schema_version: 1", b"schema_version: 2"))
    for options in ({}, {"keep": True}, {"resolution": "rollback"}):
        refused(room, "RECORD_VERSION", **options)


def test_what_is_kept_is_announced_once_though_the_recovery_dies(tmp_path: Path) -> None:
    for n in range(1, 100):
        path = tmp_path / str(n)
        path.mkdir()
        room = JournalRoom(path)
        room.put(PENDING, b"garbage\n")
        files = KillingFileSystem(str(path), room.clock, n=n, when=BEFORE)
        try:
            room.settle(files=files, keep=True)
        except Killed:
            room.settle(keep=True)
        assert [each.status for each in room.messages()] == ["task.recovery.kept"], n
        assert len(room.names("tasks/audit")) == 1
        if files.killed is None:
            break
    assert 10 < n < 99


def test_what_is_kept_never_replaces_what_was_kept_and_has_a_message_of_its_own(room: JournalRoom) -> None:
    kept = []
    for _ in range(3):
        room.put(PENDING, b"garbage\n")
        kept.append(room.settle(keep=True))
    assert [(each.outcome, each.seq) for each in kept] == [(KEPT, 1), (KEPT, 2), (KEPT, 3)]
    assert [each.transaction for each in room.messages()] == [each.transaction for each in kept]
    assert len({each.transaction for each in kept}) == 3
    assert [room.get(f"tasks/audit/{name}") for name in room.names("tasks/audit")] == [b"garbage\n"] * 3


# --- markers of agent-chat-plugin -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "visible", "states", "decision"),
    [
        (PREPARED, False, "bb", UNDONE),
        (PREPARED, False, "ab", UNDONE),
        (PREPARED, False, "aa", UNDONE),
        (PREPARED, True, "aa", None),
        (APPLIED, False, "aa", UNDONE),
        (APPLIED, True, "aa", FINISHED),
        (APPLIED, True, "ab", None),
        (APPLIED, False, "an", None),
        (PUBLISHED, True, "aa", FINISHED),
        (PUBLISHED, False, "aa", None),
    ],
)
def test_a_lease_marker_of_version_2_is_proved_by_the_body_of_its_message(
    room: JournalRoom, phase: str, visible: bool, states: str, decision: str | None
) -> None:
    room.put(FOREIGN, marker_bytes(lease_marker(2, phase=phase)))
    for change, state in zip(TAKEN, states):
        there = {"b": change.before, "a": change.after, "n": b"neither\n"}[state]
        if there is not None:
            room.put(change.path, there)
    room.put("0001-bob-lease-claimed-t-1.md", foreign_audit(1, "lease.claimed", LEASE_ID if visible else "f" * 32))
    room.put("0002-bob-task-created-t-1.md", foreign_audit(2, "task.created", LEASE_ID))
    if decision is None:
        refused(room, "LEASE_TRANSACTION_INVALID")
        return
    assert room.settle() == Settled(outcome=decision, transaction=LEASE_ID)
    after = (b"taken\n", b"claim\n") if decision == FINISHED else (b"open\n", None)
    assert (room.get(TASK), room.get(CLAIM), room.get(FOREIGN)) == (*after, None)
    assert room.names("tasks/audit") == []  # nothing of the other program's is filed


@pytest.mark.parametrize(("phase", "decision"), [(PREPARED, UNDONE), (PUBLISHED, FINISHED)])
def test_a_lease_marker_of_version_1_is_settled_by_its_phase(room: JournalRoom, phase: str, decision: str) -> None:
    room.put(FOREIGN, marker_bytes(lease_marker(1, phase=phase)))
    room.put(TASK, b"taken\n")
    room.put(CLAIM, b"claim\n")
    assert room.settle().outcome == decision
    after = (b"taken\n", b"claim\n") if decision == FINISHED else (b"open\n", None)
    assert (room.get(TASK), room.get(CLAIM), room.get(FOREIGN)) == (*after, None)


def test_a_marker_whose_publication_cannot_be_proved_asks_the_operator(room: JournalRoom) -> None:
    room.put(FOREIGN, marker_bytes(lease_marker(1, phase=APPLIED)))
    room.put(TASK, b"taken\n")
    room.put(CLAIM, b"claim\n")
    error = refused(room, "LEASE_TRANSACTION_PUBLICATION_UNKNOWN")
    assert error.next == "agent-chat search dev T-1"
    assert room.settle(resolution="rollback").outcome == UNDONE
    assert (room.get(TASK), room.get(CLAIM), room.get(FOREIGN)) == (b"open\n", None, None)


def test_the_operator_may_say_that_it_was_published(room: JournalRoom) -> None:
    room.put(FOREIGN, marker_bytes(lease_marker(1, phase=APPLIED)))
    room.put(TASK, b"taken\n")
    room.put(CLAIM, b"claim\n")
    assert room.settle(resolution="published").outcome == FINISHED
    assert (room.get(TASK), room.get(CLAIM), room.get(FOREIGN)) == (b"taken\n", b"claim\n", None)


@pytest.mark.parametrize("resolution", ["rollback", "published"])
def test_what_the_operator_says_counts_only_where_nothing_proves_it(room: JournalRoom, resolution: str) -> None:
    room.leave(APPLIED, visible=resolution == "rollback")
    assert room.settle(resolution=resolution).outcome == (FINISHED if resolution == "rollback" else UNDONE)
    room.put(FOREIGN, marker_bytes(lease_marker(1, phase=APPLIED)))
    room.put(CLAIM, b"neither\n")
    refused(room, "LEASE_TRANSACTION_INVALID", resolution=resolution)


@pytest.mark.parametrize(
    ("phase", "visible", "decision"),
    [(PREPARED, False, UNDONE), (APPLIED, False, UNDONE), (APPLIED, True, FINISHED), (PUBLISHED, True, FINISHED)],
)
def test_a_marker_of_a_path_lock(room: JournalRoom, phase: str, visible: bool, decision: str) -> None:
    room.put(FOREIGN_LOCK, marker_bytes(lock_marker(phase=phase)))
    room.put(LOCK, b"lock\n")
    if visible:
        room.put("0001-bob-path-locked.md", foreign_audit(1, "path.locked", LOCK_TRANSACTION))
    assert room.settle().outcome == NOTHING  # it is none of the tasks' business
    assert room.settle(journal=OF_LOCKS) == Settled(outcome=decision, transaction=LOCK_TRANSACTION)
    assert (room.get(LOCK), room.get(FOREIGN_LOCK)) == (b"lock\n" if decision == FINISHED else None, None)


@pytest.mark.parametrize(
    ("journal", "place", "code"),
    [(OF_TASKS, FOREIGN, "LEASE_TRANSACTION_INVALID"), (OF_LOCKS, FOREIGN_LOCK, "PATH_LOCK_TRANSACTION_INVALID")],
    ids=["tasks", "locks"],
)
def test_a_damaged_marker_is_refused_and_kept(room: JournalRoom, journal: Journal, place: str, code: str) -> None:
    room.put(place, b"{torn")
    error = refused(room, code, journal=journal)
    assert error.next is not None
    assert error.next.endswith("recover-pending dev --as carol --keep")
    settled = room.settle(journal=journal, keep=True)
    assert settled.outcome == KEPT
    assert room.get(place) is None
    (kept,) = room.names(journal.audit)
    assert room.get(f"{journal.audit}/{kept}") == b"{torn"
    assert [each.status for each in room.messages()] == [journal.kept_status]


def test_an_entry_of_ours_comes_before_a_marker(room: JournalRoom) -> None:
    room.leave(APPLIED)
    room.put(FOREIGN, marker_bytes(lease_marker(2)))
    assert room.settle() == Settled(outcome=UNDONE, transaction=ID)
    room.put(TASK, b"taken\n")
    assert room.settle() == Settled(outcome=UNDONE, transaction=LEASE_ID)


def test_what_is_pending_is_looked_at_without_a_lock(room: JournalRoom) -> None:
    assert recovery.opened(room.channel(), OF_TASKS) is None
    room.leave(APPLIED)
    found = recovery.opened(room.channel(), OF_TASKS)
    assert found is not None
    assert (found.place, found.fault, found.later) == (PENDING, "", False)
