"""Retention: what is due goes and leaves a tombstone; what anything waits for stays, and says why."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import doctor, keeping, markers, retention
from agent_chat.operations.mending import mend
from agent_chat.records.message import Message
from agent_chat.storage.message_store import Stored
from tests.operations.keeping_room import DAY, DAYS, KeepingRoom
from tests.operations.room import refused
from tests.support.cli import START, Crash, FaultyFiles, failing, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def kept(tmp_path: Path) -> KeepingRoom:
    return KeepingRoom(tmp_path)


# -- the term ----------------------------------------------------------------------------------------------------------


def test_what_is_older_than_the_term_goes_and_leaves_a_tombstone(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1, topic="api")
    kept.sent(2, DAYS - 1)
    assert kept.gone() == [1]
    assert kept.there() == [2]
    (entry,) = kept.tombstones()
    assert (entry.seq, entry.file, entry.sender, entry.topic) == (1, "0001-alice-m.md", "alice", "api")
    assert (entry.key, entry.content, entry.status) == ("", "", "")


def test_the_term_itself_is_not_over(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS)
    assert kept.gone() == []
    kept.clock.turn(1)
    assert kept.gone() == [1]


def test_what_was_sent_in_the_future_is_not_due(kept: KeepingRoom) -> None:
    kept.sent(1, -1)
    kept.sent(2, DAYS + 1)
    kept.clock.turn(-400 * DAY)  # the clock goes back
    assert kept.gone() == []


def test_the_time_of_the_file_counts_where_the_header_tells_none(kept: KeepingRoom) -> None:
    for seq, created in ((1, ""), (2, "yesterday"), (3, "")):
        path = kept.plant(seq, created=created)
        os.utime(path, (START - (DAYS + 1) * DAY,) * 2)
    os.utime(path, (START, START))
    assert kept.gone() == [1, 2]


def test_a_dry_run_changes_nothing(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    before = kept.names()
    assert kept.prune(dry_run=True).removed == (1,)
    assert kept.names() == before


def test_more_than_a_batch_goes_in_several_holds_of_the_lock(kept: KeepingRoom) -> None:
    for seq in range(1, 2 * retention.BATCH + 2):
        kept.sent(seq, DAYS + 1)
    assert len(kept.gone()) == 2 * retention.BATCH + 1
    assert (kept.folder / "tombstones.md").read_text("utf-8").count("\n## ") == 3
    assert kept.there() == []


# -- what stays --------------------------------------------------------------------------------------------------------


def test_what_a_member_that_was_seen_has_not_read_stays(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    kept.sent(2, DAYS + 1)
    kept.seen("bob", DAYS)
    kept.channel.cursors.store("bob", 1, kept.channel.messages.numbers())
    assert kept.reasons() == {2: "unread by bob"}
    assert kept.there() == [2]


def test_of_whom_nobody_saw_within_the_term_nothing_stays(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    kept.seen("bob", DAYS + 1)
    assert kept.gone() == [1]


def test_a_member_that_was_never_seen_keeps_nothing(tmp_path: Path) -> None:
    kept = KeepingRoom(tmp_path, members="alice,bob", humans="carol")
    kept.sent(1, DAYS + 1)
    assert kept.gone() == [1]


def test_a_person_keeps_what_it_has_not_read(tmp_path: Path) -> None:
    kept = KeepingRoom(tmp_path, members="alice,Bob", humans="Carol")
    kept.sent(1, DAYS + 1)
    kept.seen("carol")
    kept.seen("bob")
    assert kept.reasons() == {1: "unread by Bob, Carol"}


def test_unread_messages_stay_for_two_terms_at_the_most(kept: KeepingRoom) -> None:
    kept.sent(1, 2 * DAYS)
    kept.seen("bob")
    assert kept.gone() == []
    kept.clock.turn(1)
    kept.seen("bob")
    assert kept.gone() == [1]


def test_ones_own_and_what_is_for_others_is_not_unread(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1, sender="bob")
    kept.sent(2, DAYS + 1, to="[carol]")
    kept.sent(3, DAYS + 1, to="[carol]", mentions="[bob]")
    kept.sent(4, DAYS + 1, status="task.updated")
    kept.seen("bob")
    assert kept.reasons() == {3: "unread by bob"}
    assert kept.there() == [3]


def test_a_damaged_cursor_has_read_nothing(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    plant(kept.folder / ".cursors" / "bob.txt", "x", at=START)
    assert kept.reasons() == {1: "unread by bob"}


def test_the_clock_that_went_back_takes_nobody_for_gone(kept: KeepingRoom) -> None:
    kept.seen("bob")
    kept.clock.turn(-DAY)
    kept.sent(1, DAYS + 1)
    assert kept.reasons() == {1: "unread by bob"}


def test_files_under_one_number_stay_until_they_are_mended(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    kept.sent(1, DAYS + 1, sender="carol")
    assert kept.reasons() == {1: "several files under #1"}
    assert len(mend(kept.reopened(), doctor.examine(kept.reopened()))) > 0
    assert kept.gone() == [1, 2]
    assert kept.tombstones()[1].was == (1,)


def test_what_arrived_below_a_cursor_stays_until_it_has_a_number_above(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    kept.sent(3, 1)
    kept.read("bob")
    late = kept.sent(2, DAYS + 1, sender="carol")
    os.utime(late, (kept.clock.now() + 60,) * 2)
    kept.clock.turn(120)
    assert kept.reasons() == {2: "late for bob"}
    kept.read("bob")
    assert kept.reasons() == {2: "late for bob"}
    assert kept.there() == [2, 3]


def test_what_is_no_message_is_never_touched(kept: KeepingRoom) -> None:
    plant(kept.folder / "0001-alice-m.md", b"no header", at=START - 100 * DAY)
    plant(kept.folder / "0002-alice-m.md", b"---\nseq: 2\n", at=START)
    (kept.folder / "0003-alice-m.md").mkdir()
    kept.sent(4, DAYS + 1)
    assert kept.gone() == [4]
    assert len([name for name in kept.names() if name[0].isdigit()]) == 3


def test_what_cannot_be_read_stays_and_is_an_error(kept: KeepingRoom) -> None:
    for seq in (1, 2, 3):
        kept.sent(seq, DAYS + 1)
    kept.workspace = failing(kept.root, errno.EACCES, at=1, only=("read_file",), where="0002", forever=True)
    pruned = kept.prune()
    assert pruned.removed == (1, 3)
    assert isinstance(pruned.error, PermissionError)
    assert kept.there() == [2]


def test_the_audit_message_of_a_claimed_marker_stays(kept: KeepingRoom) -> None:
    plant(kept.folder / "task-12.md")
    markers.claim(kept.reopened(), "task-12.md", "bob")
    kept.clock.turn((DAYS + 1) * DAY)
    assert kept.reasons() == {1: "audit message of task-12.CLAIMED-bob.md"}
    (kept.folder / "task-12.CLAIMED-bob.md").unlink()
    assert kept.gone() == [1]


def grounds(**changes: object) -> keeping.Grounds:
    """Grounds that keep nothing but what is given."""
    return keeping.Grounds(fences={}, audits={}, late={}, damaged={}).replace(**changes)


@pytest.mark.parametrize(
    ("message", "change", "reason"),
    [
        ({"status": "lease.claimed"}, {"fences": {7: "fence of task t-1"}}, "fence of task t-1"),
        ({"status": "lease.claimed"}, {"fences": {8: "fence of task t-1"}}, ""),
        ({"status": "lease.claimed"}, {"damaged": {"lease.": "claims/x.json is damaged"}}, "claims/x.json is damaged"),
        ({"status": "task.updated"}, {"damaged": {"lease.": "claims/x.json is damaged"}}, ""),
        ({}, {"fences": {7: "fence of task t-1"}}, ""),
        ({}, {"late": {"0007-alice-m.md": "late for bob"}}, "late for bob"),
        ({}, {"readers": (keeping.Reader(name="bob", cursor=7),)}, ""),
        ({}, {"readers": (keeping.Reader(name="bob", cursor=6),)}, "unread by bob"),
    ],
)
def test_the_rule_by_itself(message: dict[str, Any], change: dict[str, object], reason: str) -> None:
    stored = Stored(message=Message(seq=7, sender="alice", title="m", body="", **message), file="0007-alice-m.md")
    aged = keeping.Aged(stored=stored, at=START - 20 * DAY)
    plan = keeping.plan_prune([aged], keeping.Term(days=DAYS, now=START), grounds(**change))
    assert (plan.goes == (stored,), [each.reason for each in plan.kept]) == (not reason, [reason] if reason else [])


# -- tasks and locks ---------------------------------------------------------------------------------------------------


def worked(kept: KeepingRoom) -> None:
    """Makes tasks and locks, some of them given back; nothing of it is pruned by the way."""
    (kept.root / "_owner.json").unlink()
    tree = kept.root.parent / "tree"
    tree.mkdir(exist_ok=True)
    environment = {"AGENT_CHAT_WORKSPACE": str(tree), "AGENT_CHAT_NAME": "bob"}
    for words in (
        "task create dev t-1 --title one",
        "task create dev t-2 --title two",
        "task claim dev t-1 --lease-seconds 2000000",
        "task claim dev t-2",
        "task done dev t-2",
        "lock dev a.py --lease-seconds 2000000",
        "lock dev b.py",
        "unlock dev b.py",
        "event post dev --type status --harness x --status busy",
        "compact dev",
    ):
        done = run(words.split(" "), kept.root, workspace=kept.workspace, environment=environment)
        assert done.status == 0, done


def test_the_fences_of_what_is_held_stay(kept: KeepingRoom) -> None:
    worked(kept)
    kept.clock.turn((DAYS + 1) * DAY)
    reasons = kept.reasons()
    assert reasons[3] == "fence of task t-1"
    assert reasons[6].startswith("fence of path lock ")
    assert kept.there() == [3, 6]


def test_the_doctor_is_silent_after_audit_messages_went(kept: KeepingRoom) -> None:
    worked(kept)
    kept.post("carol", "Decision: go", "text")
    before = doctor.examine(kept.reopened()).findings
    assert before == ()
    kept.clock.turn((DAYS + 1) * DAY)
    before = doctor.examine(kept.reopened()).findings
    assert len(kept.gone()) == 9
    assert doctor.examine(kept.reopened()).findings == before == ()


def test_the_doctor_still_sees_what_the_entries_tell(kept: KeepingRoom) -> None:
    worked(kept)
    kept.clock.turn((DAYS + 1) * DAY)
    kept.gone()
    path = kept.folder / "tasks" / "t-2.json"
    path.write_text(path.read_text("utf-8").replace('"title": "two"', '"title": "2"'), "utf-8")
    assert [each.id for each in doctor.examine(kept.reopened()).findings] == ["task.replay"]


def test_without_entries_removed_audit_messages_are_a_gap_of_which_nothing_is_claimed(kept: KeepingRoom) -> None:
    worked(kept)
    kept.clock.turn((DAYS + 1) * DAY)
    kept.gone()
    for entry in (kept.folder / "tasks" / "audit").glob("*.md"):
        entry.unlink()
    assert doctor.examine(kept.reopened()).findings == ()


def test_work_goes_on_after_audit_messages_went(kept: KeepingRoom) -> None:
    worked(kept)
    kept.clock.turn((DAYS + 1) * DAY)
    kept.gone()
    for words in (
        "task done dev t-1",
        "task create dev t-3 --title three",
        "unlock dev a.py",
        "state dev",
        "compact dev",
    ):
        done = run(
            words.split(" "),
            kept.root,
            workspace=kept.workspace,
            environment={"AGENT_CHAT_WORKSPACE": str(kept.root.parent / "tree"), "AGENT_CHAT_NAME": "bob"},
        )
        assert done.status == 0, done
    assert doctor.examine(kept.reopened()).findings == ()
    assert min(kept.there()) == 3


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("tasks/audit/.pending.md", "LEASE_TRANSACTION_PENDING"),
        ("locks/audit/.pending.md", "PATH_LOCK_TRANSACTION_PENDING"),
        ("claims/.lease-transaction.json", "LEASE_TRANSACTION_PENDING"),
        ("locks/.path-lock-transaction.json", "PATH_LOCK_TRANSACTION_PENDING"),
    ],
)
def test_nothing_goes_while_a_change_is_pending(kept: KeepingRoom, place: str, code: str) -> None:
    kept.sent(1, DAYS + 1)
    plant(kept.folder / place, "x")
    refused(code, kept.prune)
    refused(code, lambda: kept.prune(dry_run=True))
    assert kept.hourly() is None
    assert kept.there() == [1]


# -- where text may be left --------------------------------------------------------------------------------------------


def test_no_text_of_what_went_is_left_in_the_channel(kept: KeepingRoom) -> None:
    secret = "Decision: the-secret-word"
    for seq in range(1, 50):
        kept.sent(seq, DAYS + 1 if seq < 40 else 1, title=secret if seq < 40 else "Decision: other")
    os.utime(kept.folder, (START - DAY,) * 2)
    kept.clock.turn(4e9 - START)  # past every time of the real disk
    for path in kept.folder.glob("00*"):
        if int(path.name[:4]) >= 40:
            kept.sent(int(path.name[:4]), 1, title="Decision: other")
    (kept.root / "_owner.json").unlink()
    run(["state", "dev"], kept.root, workspace=kept.workspace)
    assert b"the-secret-word" in (kept.folder / ".cache" / "messages.index").read_bytes()
    plant(kept.folder / ".cache" / "taken-back-0050", secret, at=START - 100 * DAY)
    plant(kept.folder / ".cache" / "tmp-dead", secret, at=START - 100 * DAY)
    assert len(kept.gone()) == 39
    left = [path for path in kept.folder.rglob("*") if path.is_file() and b"the-secret-word" in path.read_bytes()]
    assert left == []
    assert b"0041-alice-m.md" in (kept.folder / ".cache" / "messages.index").read_bytes()
    assert (kept.folder / ".cache" / "taken-back-0050").read_bytes() == b""
    with kept.channel.mutation() as mutation:
        assert mutation.next_seq() == 51


# -- interrupted -------------------------------------------------------------------------------------------------------


def test_killed_anywhere_nothing_is_gone_without_its_tombstone(kept: KeepingRoom) -> None:
    for at in range(1, 200):
        for seq in (1, 2, 3):
            kept.sent(seq, DAYS + 1)
        kept.sent(4, 1)
        files = FaultyFiles(str(kept.root), kept.clock, at=at)
        healthy, kept.workspace = kept.workspace, workspace_on(kept.root, clock=kept.clock, files=files)
        with contextlib.suppress(Crash):
            kept.prune()
        kept.workspace = healthy
        told = {each.file for each in kept.tombstones()}
        gone = {1, 2, 3, 4} - set(kept.there())
        assert {int(file[:4]) for file in told} >= gone
        assert 4 not in gone
        assert kept.page("bob").numbers.latest == 4
        kept.prune()
        assert kept.there() == [4]
        lines = (kept.folder / "tombstones.md").read_text("utf-8").count("- {")
        assert lines <= 3 + len(told)
        if not files.fired:
            break
        (kept.folder / "tombstones.md").unlink()
    assert at > 20


def test_a_removal_that_was_interrupted_is_finished_without_new_tombstones(kept: KeepingRoom) -> None:
    path = kept.sent(1, DAYS + 1)
    data = path.read_bytes()
    kept.gone()
    path.write_bytes(data)
    assert kept.gone() == [1]
    assert (kept.folder / "tombstones.md").read_text("utf-8").count("- {") == 1
