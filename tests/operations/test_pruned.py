"""After retention: replying, retrying, reading and looking on, where messages went."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import doctor, glance, messages, reading
from agent_chat.operations.lost import Lost
from tests.operations.keeping_room import DAY, DAYS, KeepingRoom
from tests.operations.room import bounds, refused
from tests.support.cli import START, ArrivalFiles, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.message_numbers import Numbers


@pytest.fixture
def kept(tmp_path: Path) -> KeepingRoom:
    """A room from which three of alice's messages went, the second of a topic; the last number used was 3."""
    room = KeepingRoom(tmp_path)
    room.post("alice", "one", "text", key="k-1")
    room.post("alice", "two", "text", topic="api", key="k-2")
    room.post("alice", "three", "text", reply="2", key="k-3")
    room.clock.turn((DAYS + 1) * DAY)
    assert room.gone() == [1, 2, 3]
    return room


def numbers_of(room: KeepingRoom) -> Numbers:
    return room.reopened().messages.numbers()


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_numbers_go_on_after_all_messages_went(kept: KeepingRoom) -> None:
    assert numbers_of(kept).latest == 3
    assert kept.post("bob").seq == 4


def test_the_latest_number_is_that_of_what_went(kept: KeepingRoom) -> None:
    assert kept.page().latest == 3
    assert refused("CURSOR_AHEAD", lambda: reading.acknowledge(kept.reopened(), "bob", 4)).details["latest_seq"] == 3
    assert reading.acknowledge(kept.reopened(), "bob", 3) == (3, 0)
    assert kept.page().ahead == ""
    assert doctor.examine(kept.reopened()).findings == ()
    refused("CHANNEL_MOVED", lambda: kept.post("bob", if_seq=2))
    assert kept.post("bob", if_seq=3).seq == 4


# -- replies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["2", "#2", "0002-alice-two.md"])
def test_a_reply_inherits_the_topic_of_a_tombstone(kept: KeepingRoom, parent: str) -> None:
    refused("MESSAGE_TOPIC_MISMATCH", lambda: kept.post("bob", reply=parent, topic="ui"))
    kept.post("bob", reply=parent, topic="api")
    message = kept.message(kept.post("bob", reply=parent).seq)
    assert (message.reply_to, message.topic) == (2, "api")
    assert doctor.examine(kept.reopened()).findings == ()


def test_what_was_never_there_cannot_be_answered(kept: KeepingRoom) -> None:
    refused("MESSAGE_NOT_FOUND", lambda: kept.post("bob", reply="9"))
    refused("MESSAGE_NOT_FOUND", lambda: kept.post("bob", reply="0002-alice-other.md"))


def test_looking_for_what_went_says_so(kept: KeepingRoom) -> None:
    error = refused("MESSAGE_PRUNED", lambda: messages.find(kept.reopened(), numbers_of(kept), "2"))
    entry = kept.tombstones()[1]
    assert {name: error.details[name] for name in ("seq", "from", "topic", "created", "sha256")} == {
        "seq": 2,
        "from": "alice",
        "topic": "api",
        "created": entry.created,
        "sha256": entry.sha256,
    }
    assert error.next is not None
    assert error.next.endswith("thread dev 2")


def test_the_thread_of_what_went_is_what_answers_it(kept: KeepingRoom) -> None:
    kept.post("bob", "yes", reply="2")
    kept.post("carol", "no", reply="4")
    kept.post("carol", "else")
    root = messages.pruned(kept.reopened(), numbers_of(kept), "2")
    assert root is not None
    page = reading.thread(kept.reopened(), root, numbers_of(kept), bounds())
    assert [item.message.seq for item in page.stored] == [4, 5]
    done = run(["thread", "dev", "2"], kept.root, workspace=kept.workspace)
    assert done.stdout.startswith("#2 of alice was pruned; what answers it:\n#4 bob -> all")


def test_a_renumbered_message_is_found_by_its_old_number_after_it_went(tmp_path: Path) -> None:
    room = KeepingRoom(tmp_path)
    room.sent(1, DAYS + 1, topic="api", was="[8, 9]")
    room.sent(2, 1, reply_to="9")
    assert room.gone() == [1]
    assert doctor.examine(room.reopened()).findings == ()
    assert room.message(room.post("bob", reply="9").seq).topic == "api"
    refused("MESSAGE_PRUNED", lambda: room.message("0009-alice-m.md"))
    refused("MESSAGE_NOT_FOUND", lambda: room.message("0009-alice-other.md"))


def test_a_renumbered_message_that_stays_is_found_by_its_old_number(tmp_path: Path) -> None:
    room = KeepingRoom(tmp_path)
    room.sent(1, DAYS + 1)
    room.sent(2, 1, was="[9]")
    assert room.gone() == [1]
    assert room.message("9").seq == 2


def test_a_reply_to_what_went_can_be_waited_for(kept: KeepingRoom) -> None:
    wait = ["wait", "dev", "--as", "bob", "--reply-to", "2", "--timeout", "0", "--json"]
    waited = run(wait, kept.root, workspace=kept.workspace)
    assert (waited.status, waited.json["timed_out"]) == (1, True)
    kept.post("carol", "an answer", "text", reply="2")
    ended = run(wait, kept.root, workspace=kept.workspace)
    assert (ended.status, [message["title"] for message in ended.json["messages"]]) == (0, ["an answer"])


# -- keys --------------------------------------------------------------------------------------------------------------


def test_a_retry_finds_what_went(kept: KeepingRoom) -> None:
    first = kept.post("alice", "one", "text", key="k-1")
    assert (first.seq, first.file, first.repeated) == (1, "0001-alice-one.md", True)
    assert kept.post("alice", "two", "text", topic="api", key="k-2").seq == 2
    assert kept.post("alice", "three", "text", reply="2", key="k-3").seq == 3
    assert kept.post("ALICE", "three", "text", reply="2", topic="api", key="k-3").repeated
    assert kept.there() == []


@pytest.mark.parametrize(
    "change",
    [{"body": "else"}, {"title": "else"}, {"reply": None, "topic": "api"}, {"status": "done"}, {"to": "bob"}],
)
def test_another_content_under_the_key_of_what_went_is_refused(kept: KeepingRoom, change: dict[str, str]) -> None:
    same = {"title": "three", "body": "text", "reply": "2", "key": "k-3"}
    error = refused("MESSAGE_KEY_CONFLICT", lambda: kept.post("alice", **{**same, **change}))
    assert error.details["seq"] == 3


def test_a_key_counts_for_its_sender_alone_after_it_went_too(kept: KeepingRoom) -> None:
    assert not kept.post("bob", "one", "text", key="k-1").repeated


# -- what a cursor lost ------------------------------------------------------------------------------------------------


def test_a_reader_is_told_once_what_it_lost(kept: KeepingRoom) -> None:
    kept.post("carol", "new")
    page = kept.page("bob")
    assert page.lost == Lost(count=3, first=1, last=3)
    assert kept.read("bob") == [4]
    assert kept.page("bob").lost is None


def test_the_cursor_goes_over_what_went_where_nothing_else_is_there(kept: KeepingRoom) -> None:
    assert kept.read("bob") == []
    assert kept.cursor("bob") == 3
    assert kept.page("bob").lost is None


def test_ones_own_messages_are_no_loss(kept: KeepingRoom) -> None:
    assert kept.page("alice").lost is None
    assert kept.read("alice") == []
    assert kept.cursor("alice") == 3


def test_audit_messages_are_no_loss(tmp_path: Path) -> None:
    room = KeepingRoom(tmp_path)
    room.sent(1, DAYS + 1, status="task.updated")
    assert room.gone() == [1]
    assert room.page("bob").lost is None


def test_a_page_that_ends_early_tells_only_what_lies_below_its_end(tmp_path: Path) -> None:
    room = KeepingRoom(tmp_path)
    for seq in range(1, 8):
        room.sent(seq, 1 if seq in (2, 5) else DAYS + 1)
    assert room.gone() == [1, 3, 4, 6, 7]
    told = []
    for _ in range(3):
        page = room.page("bob", limit=1)
        reading.advance(page, "bob")
        told.append((page.passed, page.lost))
    assert told == [(2, Lost(count=1, first=1, last=1)), (7, Lost(count=4, first=3, last=7)), (7, None)]


def test_a_page_that_is_held_says_nothing_of_what_lies_above(tmp_path: Path) -> None:
    room = KeepingRoom(tmp_path)
    room.sent(1, DAYS + 1)
    room.sent(3, DAYS + 1)
    room.gone()
    plant(room.folder / "0002-alice-m.md", b"---\nseq: 2\n", at=room.clock.now())
    page = room.page("bob")
    assert page.held
    assert (page.passed, page.lost) == (0, None)


def test_the_line_and_its_json(kept: KeepingRoom) -> None:
    read = ["read", "dev", "--as", "bob", "--peek"]
    done = run(read, kept.root, workspace=kept.workspace)
    assert done.stdout == "lost to retention: 3 messages, #1 to #3\n"
    reply = run([*read, "--json"], kept.root, workspace=kept.workspace).json
    assert (reply["lost"], reply["cursor"], reply["latest_seq"]) == ({"count": 3, "first": 1, "last": 3}, 0, 3)


def test_several_channels_tell_it_by_name(kept: KeepingRoom) -> None:
    run(["init", "ops"], kept.root, workspace=kept.workspace)
    run(["post", "ops", "--from", "carol", "--title", "t"], kept.root, workspace=kept.workspace)
    wait = ["wait", "dev", "ops", "--as", "bob", "--timeout", "0", "--json"]
    reply = run(wait, kept.root, workspace=kept.workspace).json
    assert reply["lost"] == {"dev": {"count": 3, "first": 1, "last": 3}}
    assert reply["cursor"] == {"dev": 3, "ops": 1}


def test_waiting_does_not_end_for_what_went(kept: KeepingRoom) -> None:
    reply = run(["wait", "dev", "--as", "bob", "--timeout", "0", "--json"], kept.root, workspace=kept.workspace)
    assert (reply.status, reply.json["timed_out"], reply.json["latest_seq"]) == (1, True, 3)


# -- cursors, glances and late arrivals --------------------------------------------------------------------------------


class Arriving(KeepingRoom):
    """A room on whose disk a file came to its name when it was last written."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.workspace = workspace_on(root, clock=self.clock, files=ArrivalFiles(str(root), self.clock))
        self.channel = self.reopened()


def test_a_prune_announces_nothing_as_late(tmp_path: Path) -> None:
    room = Arriving(tmp_path)
    for seq in range(1, 30):
        room.sent(seq, DAYS + 1 if seq % 3 else 1)
    room.read("bob")
    assert len(room.gone()) == 20
    page = room.page("bob")
    assert not page.late.stale
    assert page.lost is None
    assert doctor.examine(room.reopened()).findings == ()


def test_what_comes_below_a_cursor_after_a_prune_is_late(tmp_path: Path) -> None:
    room = Arriving(tmp_path)
    for seq in range(1, 10):
        room.sent(seq, DAYS + 1)
    room.read("bob")
    assert len(room.gone()) == 9
    plant(room.folder / "0005-carol-m.md", room.sent(5, 1, sender="carol").read_bytes(), at=4e9)
    page = room.page("bob")
    assert page.late.files == ("0005-carol-m.md",)
    reading.advance(page, "bob")
    assert room.page("bob").late.count == 0
    found = {each.id for each in doctor.examine(room.reopened()).findings}
    assert found == {"message.late", "tombstone.agrees"}


def test_another_message_under_the_very_file_name_of_what_went_is_late_once(kept: KeepingRoom) -> None:
    """As when two clones of a folder give one number to messages of one sender and title, and one is removed first."""
    kept.read("bob")
    kept.sent(2, 1, body="something else entirely").rename(kept.folder / "0002-alice-two.md")
    page = kept.page("bob")
    assert page.late.files == ("0002-alice-two.md",)
    reading.advance(page, "bob")
    assert kept.page("bob").late.count == 0
    assert {each.id for each in doctor.examine(kept.reopened()).findings} == {"message.late", "tombstone.agrees"}
    kept.post("alice", "four", "text")
    assert kept.read("bob") == [4]
    assert kept.page("bob").late.count == 0
    kept.clock.turn((DAYS + 1) * DAY)
    assert kept.gone() == [4]  # what came late stays, until it gets a number at which readers find it


def test_a_file_that_is_restored_is_no_new_one(tmp_path: Path) -> None:
    room = Arriving(tmp_path)
    paths = [room.sent(seq, DAYS + 1) for seq in (1, 2, 3)]
    data = paths[1].read_bytes()
    room.read("bob")
    assert room.gone() == [1, 2, 3]
    plant(paths[1], data, at=4e9)
    assert doctor.examine(room.reopened()).findings == ()
    assert room.page("bob").late.count == 0
    assert room.gone() == [2]
    assert len(room.tombstones()) == 3


def test_a_glance_counts_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "WORTH_KEEPING", 0)
    room = Arriving(tmp_path)
    for seq in range(1, 6):
        room.sent(seq, DAYS + 1 if seq < 4 else 1)
    assert [count.unread for count in glance.glance(room.workspace, "bob").counts] == [5]
    assert room.gone() == [1, 2, 3]
    room.clock.turn(DAY)
    assert [count.unread for count in glance.glance(room.workspace, "bob").counts] == [2]


def test_thousands_of_holes_cost_one_more_listing(tmp_path: Path) -> None:
    room = Arriving(tmp_path)
    line = '- {{"seq": {0}, "file": "{0:04d}-alice-m.md", "from": "alice", "created": "", "sha256": "{1}"}}'
    lines = [line.format(seq, "0" * 64) for seq in range(1, 5001)]
    plant(room.folder / "tombstones.md", "\n## then\n\n" + "\n".join(lines) + "\n")
    room.sent(5001, 1)
    numbers = room.reopened().messages.numbers()
    assert not numbers.has_wide_gap
    assert [seq for seq, _ in numbers.after(0)] == [5001]
    assert room.page("bob").lost == Lost(count=5000, first=1, last=5000)
    assert room.read("bob") == [5001]
    assert room.post("carol").seq == 5002
    assert json.loads(lines[0][2:])["seq"] == 1


def test_the_doctor_names_what_another_clone_removed(kept: KeepingRoom) -> None:
    kept.sent(2, 1, sender="bob")
    (finding,) = doctor.examine(kept.reopened()).findings
    assert finding.id == "tombstone.agrees"
    assert "0002-alice-two.md" in finding.message
    assert kept.clock.now() > START


def test_a_thread_goes_on_below_what_went_in_the_middle(kept: KeepingRoom) -> None:
    kept.post("carol", "an answer to an answer", "text", reply="3")
    shown = run(["thread", "dev", "2", "--json"], kept.root, workspace=kept.workspace).json
    assert [message["title"] for message in shown["messages"]] == ["an answer to an answer"]
