"""The state of a channel: what each section is made of, and in which order."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import channels
from agent_chat.operations.state import Blocker, Item, Owner, State, summarize
from agent_chat.operations.state_text import markdown
from agent_chat.operations.task_records import Dependency
from agent_chat.records.highlight import MAX_DETAILS
from agent_chat.records.message import AUDIT_PREFIXES
from agent_chat.storage.channel import Channel
from agent_chat.storage.workspace import Workspace
from tests.operations.lock_room import ANNOUNCED, UNANNOUNCED
from tests.operations.state_room import StateRoom
from tests.support.cli import START
from tests.support.leases import STAMP
from tests.support.roots import tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def room(tmp_path: Path) -> StateRoom:
    """An open channel beside a work tree."""
    return StateRoom(tmp_path)


def of_message(seq: int, title: str, details: str = "", author: str = "alice", **fields: Any) -> dict[str, Any]:
    """The fields of an item that is a message of START."""
    file = fields.pop("file", f"{seq:04d}-{author}-{fields.pop('slug', 't')}.md")
    return {
        "source": "message",
        "title": title,
        "author": author,
        "created": STAMP,
        "details": details,
        "length": len(details),
        "seq": seq,
        "file": file,
        **fields,
    }


def of_task(id: str, title: str = "t", details: str = "", author: str = "alice", **fields: Any) -> dict[str, Any]:
    """The fields of an item that is a task of START."""
    return {
        "source": "task",
        "title": title,
        "author": author,
        "created": START,
        "details": details,
        "length": len(details),
        "task": id,
        "status": "open",
        **fields,
    }


def test_an_empty_channel_has_an_empty_state(room: StateRoom) -> None:
    assert room.summary() == State(
        channel="dev",
        topic="",
        now=room.clock.moment(),
        count=0,
        latest=0,
        decisions=(),
        tasks=(),
        finished={"done": 0, "cancelled": 0},
        blockers=(),
        resolved=(),
        owners=(),
        locks=(),
        verification=(),
        warnings=(),
    )


def test_files_that_are_set_aside_count_as_lists_count_them(room: StateRoom) -> None:
    room.say()
    room.put("0007-bob-x.md", b"damaged")
    room.put("20260102-notes.md", b"a date is no number")
    found = room.summary()
    assert (found.count, found.latest) == (2, 7)
    listed = channels.overview(room.reopened())
    assert (found.count, found.latest) == (listed.count, listed.latest)


def test_topic_and_numbers_are_those_of_the_channel(tmp_path: Path) -> None:
    room = StateRoom(tmp_path, topic="parser: é\n# two lines")
    room.say()
    room.plant(7)
    found = room.summary()
    assert (found.topic, found.count, found.latest) == ("parser: é\n# two lines", 2, 7)


# --- decisions ------------------------------------------------------------------------------------------------------


def test_decisions_are_messages_by_title_or_status_and_tasks_by_title(room: StateRoom) -> None:
    room.say("Decision: one", "because\n")
    room.say("talk", "Decision: two\n")
    room.say("t", "why\n", "bob", status="decision")
    room.say("[DECISION] three", status="discussion")
    room.create("T-1", title="(decision) four", acceptance=("a", "b"))
    room.create("T-2", title="five")
    room.at("done", "T-3")
    room.update("T-3", title="Decision: six")
    room.say("Re: Decision: one", reply="1")
    assert room.summary().decisions == (
        Item(**of_task("T-1", "four", "a\nb\n")),
        Item(**of_task("T-3", "six", author="bob", status="done")),
        Item(**of_message(1, "one", "because\n", slug="decision-one")),
        Item(**of_message(3, "t", "why\n", "bob")),
        Item(**of_message(4, "three", slug="decision-three")),
    )


def test_tasks_come_first_in_order_of_their_last_change(room: StateRoom) -> None:
    room.say("Decision: x")
    room.say("Evidence: y")
    for id in ("T-3", "T-1", "T-2", "T-4"):
        room.create(id, title="Decision: t", acceptance=("a",))
    room.clock.turn(60)
    for id in ("T-4", "T-1"):
        room.claim(id)
        room.act("done", id)
    room.clock.turn(60)
    for id in ("T-2",):
        room.claim(id)
        room.act("done", id)
    found = room.summary()
    assert [item.task or item.seq for item in found.decisions] == ["T-3", "T-1", "T-4", "T-2", 1]
    assert [item.task or item.seq for item in found.verification] == ["T-1", "T-4", "T-2", 2]
    room.clock.step(-9999)
    room.update("T-2", title="Decision: earlier, by a clock that was set back")
    assert [item.task for item in room.summary().decisions[:-1]] == ["T-2", "T-3", "T-1", "T-4"]


def test_order_is_by_number_and_never_by_time(room: StateRoom) -> None:
    for step in (600, -1200, 300):
        room.clock.step(step)
        room.say("Decision: x")
        room.say("Blocker: y")
    found = room.summary()
    assert [item.seq for item in found.decisions] == [1, 3, 5]
    assert [item.seq for item in found.blockers] == [2, 4, 6]
    created = [item.created for item in found.decisions]
    assert created != sorted(map(str, created))


def test_a_long_body_is_kept_in_part(room: StateRoom) -> None:
    room.say("Decision: x", "y" * MAX_DETAILS * 2)
    fields = of_message(1, "x", "y" * MAX_DETAILS, slug="decision-x")
    assert room.summary().decisions == (Item(**{**fields, "length": 2 * MAX_DETAILS + 1}),)


def test_audit_messages_and_files_of_others_are_no_source(room: StateRoom) -> None:
    room.say("Decision: x")
    before = room.summary()
    for seq, prefix in enumerate(AUDIT_PREFIXES, start=2):
        room.plant(seq, title="Decision: forged", status=prefix + "decision")
    texts = {"notes.md": "# Decision: x\n---\nseq: 90\n---\n", "README.md": "Blocker: y\n", "tasks/notes.md": "---\n"}
    for name, text in texts.items():
        room.put(name, text.encode())
    found = room.summary()
    assert found.replace(count=1, latest=1) == before
    assert {name: (room.folder / name).read_text() for name in texts} == texts


def test_two_messages_of_one_number_are_both_shown(room: StateRoom) -> None:
    room.plant(4, title="Decision: a")
    room.plant(4, sender="bob", title="Decision: b")
    found = room.summary()
    assert [(item.seq, item.file) for item in found.decisions] == [(4, "0004-alice-m.md"), (4, "0004-bob-m.md")]
    assert (found.count, found.latest) == (2, 4)


# --- blockers -------------------------------------------------------------------------------------------------------


def test_blockers_are_messages_until_they_are_resolved(room: StateRoom) -> None:
    room.say("Blocker: one", "see\n")
    room.say("t", status="Blocker")
    room.say("Blocker: three")
    room.say("t", reply="1")
    room.say("t", reply="4", status="resolved")
    room.say("t", reply="3", status="Done")
    room.say("t", reply="2")
    found = room.summary()
    assert found.blockers == (Blocker(**of_message(2, "t"), kind="message"),)
    assert found.resolved == (
        Blocker(**of_message(1, "one", "see\n", slug="blocker-one"), kind="message", resolved_by=5),
        Blocker(**of_message(3, "three", slug="blocker-three"), kind="message", resolved_by=6),
    )


def test_a_reply_that_repeats_the_title_of_a_blocker_ends_it_and_is_none(room: StateRoom) -> None:
    room.say("Blocker: db down")
    room.say("Blocker: db down", reply="1", status="resolved")
    found = room.summary()
    assert (found.blockers, [(each.seq, each.resolved_by) for each in found.resolved]) == ((), [(1, 2)])
    room.say("Blocker: db down", reply="2")
    assert [each.seq for each in room.summary().blockers] == [3]


def test_of_two_that_had_one_number_neither_is_resolved_by_it(room: StateRoom) -> None:
    """A merge brings two messages under one number, then a reply comes, then the doctor gives one a new number."""
    room.plant(1, title="Blocker: one")
    room.plant(1, sender="bob", title="Blocker: two")
    room.plant(2, reply_to="1", status="resolved")
    assert [each.file for each in room.summary().blockers] == ["0001-alice-m.md", "0001-bob-m.md"]
    (room.folder / "0001-bob-m.md").unlink()
    room.plant(3, sender="bob", title="Blocker: two", was="1")
    assert [each.seq for each in room.summary().blockers] == [1, 3]
    room.plant(4, reply_to="3", status="resolved")
    room.plant(5, reply_to="1", status="done")
    found = room.summary()
    assert (found.blockers, [(each.seq, each.resolved_by) for each in found.resolved]) == ((), [(1, 5), (3, 4)])


def test_one_that_was_renumbered_stays_resolved(room: StateRoom) -> None:
    room.plant(9, title="Blocker: x", was="2")
    room.plant(3, reply_to="2", status="resolved")
    found = room.summary()
    assert [(each.seq, each.resolved_by) for each in found.resolved] == [(9, 3)]
    assert found.blockers == ()


def test_blockers_are_tasks_that_are_blocked_or_wait_for_others(room: StateRoom) -> None:
    room.create("T-1")
    room.create("T-2", title="Blocker: all", owner="bob", depends_on=("T-1",))
    room.create("T-3", actor="carol")
    room.update("T-3", "carol", status="blocked")
    room.create("T-4", title="both", depends_on=("T-3", "T-2"))
    room.update("T-4", status="blocked")
    room.at("cancelled", "T-5")
    waits = (Dependency(id="T-3", status="blocked"), Dependency(id="T-2", status="open"))
    found = room.summary()
    assert found.resolved == ()
    assert found.blockers == (
        Blocker(
            **of_task("T-2", "Blocker: all", "waits for T-1 (open)", "bob"),
            kind="task_dependency",
            waiting_for=(Dependency(id="T-1", status="open"),),
        ),
        Blocker(**of_task("T-3", "t", "its status is blocked", "carol", status="blocked"), kind="task_status"),
        Blocker(**of_task("T-4", "both", "its status is blocked", status="blocked"), kind="task_status"),
        Blocker(
            **of_task("T-4", "both", "waits for T-3 (blocked), T-2 (open)", status="blocked"),
            kind="task_dependency",
            waiting_for=waits,
        ),
    )


@pytest.mark.parametrize("end", ["done", "cancelled"])
def test_a_task_that_is_over_blocks_nothing(room: StateRoom, end: str) -> None:
    room.create("T-1")
    room.create("T-2", depends_on=("T-1",))
    room.update("T-2", status="cancelled")
    room.at(end, "T-3")
    assert room.summary().blockers == ()


# --- tasks, owners, locks -------------------------------------------------------------------------------------------


def test_open_tasks_are_shown_as_lists_show_them_and_the_others_counted(room: StateRoom) -> None:
    for id, status in (("T-9", "open"), ("T-1", "done"), ("T-2", "cancelled"), ("T-3", "blocked"), ("T-4", "done")):
        room.at(status, id)
    room.create("T-5", depends_on=("T-9",))
    room.create("T-6")
    room.claim("T-6", lease="60")
    room.clock.turn(600)
    found, every = room.summary(), room.every()
    assert found.tasks == tuple(every[id] for id in ("T-3", "T-5", "T-6", "T-9"))
    assert found.finished == {"done": 2, "cancelled": 1}


def test_owners_have_tasks_and_locks_whatever_the_case_of_their_names(room: StateRoom) -> None:
    room.create("T-1", owner="carol")
    room.create("T-2")
    room.create("T-3", owner="Bob")
    room.at("done", "T-4", "dora")
    room.claim("T-3", "bob")
    room.lock("a.py", actor="bob")
    room.lock("b.py", actor="alice", lease="60")
    room.lock("c.py", actor="BOB")
    room.clock.turn(120)
    every, (a, b, c) = room.every(), room.listed()
    assert room.summary().owners == (
        Owner(name="alice", tasks=(), locks=(b,)),
        Owner(name=every["T-3"].task.owner or "", tasks=(every["T-3"],), locks=(a, c)),
        Owner(name="carol", tasks=(every["T-1"],), locks=()),
    )


def test_locks_are_shown_as_lists_show_them_damaged_and_pending_ones_included(room: StateRoom) -> None:
    first = room.held("a.py")
    room.held("b.py", actor="alice", lease="60")
    room.clock.turn(120)
    room.leave_pending(ANNOUNCED, "c.py", actor="carol")
    room.damage(first, b"{")
    found, listed = room.summary(), room.listed()
    assert found.locks == listed
    assert [(lock.owner, lock.pending) for lock in listed] == [("?", False), ("alice", False), ("carol", True)]
    assert [owner.name for owner in found.owners or ()] == ["alice", "carol"]
    pending, damaged = found.warnings
    assert pending.startswith("lock of ")
    assert damaged.startswith(f"PATH_LOCK_INVALID_RECORD: dev/locks/{first}.json is damaged")


# --- evidence -------------------------------------------------------------------------------------------------------


def test_evidence_is_what_done_tasks_had_to_meet_and_what_messages_say(room: StateRoom) -> None:
    room.say("Evidence: one", "12 passed\n")
    room.create("T-1", acceptance=("fast", "small"))
    for id, end in (("T-2", "done"), ("T-3", "done"), ("T-4", "cancelled")):
        room.at(end, id)
        if id != "T-3":
            room.update(id, acceptance=("met",))
    room.say("t", "seen\n", "bob", status="verification")
    room.say("(Verification): three")
    found = room.summary().verification
    assert found == (
        Item(**of_task("T-2", "t", "met\n", "bob", status="done")),
        Item(**of_message(1, "one", "12 passed\n", slug="evidence-one")),
        Item(**of_message(found[2].seq or 0, "t", "seen\n", "bob")),
        Item(**of_message(found[3].seq or 0, "three", slug="verification-three")),
    )


# --- the same files, the same state ---------------------------------------------------------------------------------


def test_it_depends_on_the_files_alone_but_for_leases(room: StateRoom, tmp_path: Path) -> None:
    room.say("Decision: x", "y\n")
    room.create("T-1", title="Decision: z", acceptance=("a",))
    room.claim("T-1", lease="60")
    lock = room.held("a.py", lease="600")
    first = room.summary()
    text = markdown(first)
    assert (room.summary(), room.text()) == (first, text)
    room.forget_caches()
    assert room.summary() == first
    room.clock.turn(30)
    later = room.summary()
    assert later.replace(now=first.now) == first
    room.clock.turn(60)
    expired = room.text().split("\n")
    assert [line for line in expired if line not in text.split("\n")] == [
        f"As of 2026-01-02T03:05:35+00:00; {first.count} messages, the last is #{first.latest}.",
        "- T-1 in_progress, bob, expired 2026-01-02T03:05:05+00:00, ready: Decision: z",
        f"- bob: task T-1 (expired 2026-01-02T03:05:05+00:00); lock {lock} (until 2026-01-02T03:14:05+00:00)",
    ]


def test_who_wants_nothing_stored_gets_the_same_state(room: StateRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_chat.storage.message_index.READ_DIRECTLY", 0)
    room.say("Decision: x")
    room.lock("a.py")
    room.clock.turn(60)
    before = tree(room.root)
    found = room.summary(store=False)
    assert tree(room.root) == before
    assert room.summary() == room.summary(exact=True) == found
    assert tree(room.root) != before


def test_it_is_the_same_however_the_root_was_named(room: StateRoom, tmp_path: Path) -> None:
    """Who compacts it elsewhere must not change a file that git has."""
    room.say("Decision: x")
    room.create("T-1")
    room.put("tasks/T-2.json", b"{")
    room.put("0099-bob-x.md", b"")
    room.leave_pending(UNANNOUNCED, "a.py")
    text = room.text()
    for root_from in ("option", "default"):
        named = Workspace(str(room.root), root_from=root_from, clock=room.clock)
        assert markdown(summarize(Channel(named, "dev"))) == text
    shutil.move(room.root, tmp_path / "elsewhere")
    moved = Workspace(str(tmp_path / "elsewhere"), clock=room.clock)
    assert markdown(summarize(Channel(moved, "dev"))) == text
