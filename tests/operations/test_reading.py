"""Reading: bounded pages that show each message once, and cursors that pass over nothing unseen."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import messages, reading
from agent_chat.storage.channel import Channel
from tests.operations.room import Room, bounds, refused
from tests.support.cli import FakeClock, FaultyFiles, message_file, plant, workspace_on

if TYPE_CHECKING:
    from agent_chat.operations.reading import Page


def seqs(page: Page) -> list[int]:
    return [item.message.seq for item in page.stored]


def pages(room: Room, agent: str = "bob", **options: int) -> list[list[int]]:
    """Reads page after page until nothing more is said to follow."""
    found = []
    while True:
        page = room.page(agent, **options)
        reading.advance(page, agent)
        found.append(seqs(page))
        assert page.latest == 120 or options.get("limit") != 50
        if not page.has_more:
            return found


def test_a_page_has_at_most_fifty_messages_and_paging_shows_each_once(room: Room) -> None:
    for seq in range(1, 121):
        room.plant(seq, title=f"m{seq}")
    found = pages(room, limit=50)
    assert [len(page) for page in found] == [50, 50, 20]
    assert [seq for page in found for seq in page] == list(range(1, 121))
    assert room.page().stored == ()


def test_a_page_has_at_most_its_bytes_and_a_larger_message_comes_alone(room: Room) -> None:
    sizes = [100, 9_000, 9_000, 9_000, 30_000, 100, 24_000, 100]
    for seq, size in enumerate(sizes, 1):
        room.plant(seq, body="x" * size + "\n")
    found = pages(room)
    assert found == [[1, 2, 3], [4], [5], [6], [7], [8]]
    for start, wanted in ((0, [1, 2, 3]), (4, [5]), (6, [7])):
        page = room.page(after=start)
        assert (seqs(page), page.has_more, page.latest, page.passed) == (wanted, True, 8, wanted[-1])


def test_a_limit_of_one_shows_one_at_a_time(room: Room) -> None:
    for seq in range(1, 4):
        room.plant(seq)
    assert pages(room, limit=1) == [[1], [2], [3]]


def test_what_is_not_for_the_reader_is_passed_over(room: Room) -> None:
    room.post("alice", to="carol")
    room.post("bob")
    room.post("alice", to="Bob")
    room.post("alice", to="carol,dave")
    assert room.read() == [3]
    assert room.cursor() == 4
    assert room.read("dave") == [2, 4]
    assert room.read("alice") == [2]


def test_all_shows_everything_from_the_cursor(room: Room) -> None:
    room.post("alice", to="carol")
    assert room.read() == []
    room.post("bob")
    room.post("alice", to="carol")
    assert seqs(room.page(everything=True)) == [2, 3]
    assert room.cursor() == 1
    assert room.read(everything=True) == [2, 3]
    assert room.cursor() == 3


def test_after_reads_from_another_point(room: Room) -> None:
    for _ in range(4):
        room.post()
    assert room.read(limit=2) == [1, 2]
    page = room.page(after=0)
    assert (seqs(page), page.start) == ([1, 2, 3, 4], 0)
    assert seqs(room.page(after=3)) == [4]
    assert seqs(room.page(after=99)) == []
    assert room.cursor() == 2


def test_a_page_that_is_not_advanced_comes_again(room: Room) -> None:
    room.post()
    assert seqs(room.page()) == seqs(room.page()) == [1]
    assert not (room.folder / ".cursors" / "bob.txt").exists()
    assert room.read() == [1]
    assert room.read() == []


def test_audit_messages_count_against_no_limit_and_are_not_unread(room: Room) -> None:
    for seq in range(1, 31):
        room.plant(seq, status="task.created" if seq % 3 else "discussion")
    page = room.page(limit=5)
    assert [item.message.seq for item in page.stored if not item.message.is_audit] == [3, 6, 9, 12, 15]
    assert [item.message.seq for item in reading.unread(room.channel, "bob")] == list(range(3, 31, 3))


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
def test_a_passing_error_stops_the_cursor_before_the_file(room: Room, code: int) -> None:
    for seq in range(1, 4):
        room.plant(seq)
    clock = FakeClock()
    files = FaultyFiles(str(room.root), clock, code=code, only=("read_file",), where="0002", at=1, forever=True)
    channel = Channel(workspace_on(room.root, clock=clock, files=files), "dev")
    page = reading.read_page(channel, "bob", bounds(), after=None)
    reading.advance(page, "bob")
    assert (seqs(page), page.passed, page.has_more) == ([1], 1, True)
    assert page.error is not None
    assert page.error.errno == code
    assert room.read() == [2, 3]


def test_what_is_permanently_no_message_is_set_aside_with_a_warning(room: Room) -> None:
    room.plant(1)
    plant(room.folder / "0002-alice-m.md", b"# no header\n")
    plant(room.folder / "0003-alice-m.md", message_file(7))
    plant(room.folder / "0004-alice-m.md", b"---\nseq: 4\nfrom: alice\ntitle: t\n---\n\xff\n")
    (room.folder / "0005-alice-m.md").mkdir()
    (room.folder / "0006-alice-m.md").symlink_to("nowhere")
    room.plant(7)
    page = room.page()
    assert (seqs(page), page.passed, page.held) == ([1, 7], 7, "")
    assert [text.partition(":")[0] for text in page.set_aside] == [f"000{n}-alice-m.md" for n in (2, 3, 4, 5, 6)]


def test_what_may_be_half_way_there_stops_the_cursor_for_now(room: Room) -> None:
    room.plant(1)
    plant(room.folder / "0002-alice-m.md", b"---\nseq: 2\nfrom: al", at=room.clock.now() - 1)
    room.plant(3)
    page = room.page()
    reading.advance(page, "bob")
    assert (seqs(page), page.passed, page.has_more) == ([1], 1, True)
    assert page.held.startswith("0002-alice-m.md: it is not complete yet")
    assert not room.page().speaks
    room.clock.turn(2)
    assert room.read() == [3]
    assert room.cursor() == 3


def test_a_young_file_without_its_last_newline_may_be_half_way_there(room: Room) -> None:
    plant(room.folder / "0001-alice-m.md", message_file(1, body="half"), at=room.clock.now())
    assert room.page().held
    room.clock.turn(3)
    assert room.read() == [1]


def test_files_of_one_number_come_together(room: Room) -> None:
    room.plant(1)
    room.plant(2, "0002-alice-m.md")
    room.plant(2, "0002-bob-m.md", sender="bob")
    room.plant(2, "0002-alice-m-copy.md")
    page = room.page("carol", limit=2)
    assert [item.file for item in page.stored] == ["0001-alice-m.md"]
    page = room.page("carol", after=1, limit=1)
    assert [item.file for item in page.stored] == ["0002-alice-m-copy.md", "0002-bob-m.md"]
    assert page.set_aside == ("0002-alice-m.md: it is a copy of another file of that number",)


def test_reading_with_nothing_new_opens_no_message(room: Room) -> None:
    for _ in range(3):
        room.post()
    room.read()
    clock = FakeClock()
    files = FaultyFiles(str(room.root), clock, only=("read_file",))
    channel = Channel(workspace_on(room.root, clock=clock, files=files), "dev")
    assert seqs(reading.read_page(channel, "bob", bounds(), after=None)) == []
    assert [call for call in files.calls if ".md" in call] == []


# --- the cursor -----------------------------------------------------------------------------------------------------


def test_ack_moves_forward_and_reset_moves_back(room: Room) -> None:
    for _ in range(5):
        room.post()
    assert reading.acknowledge(room.channel, "bob", 3) == (3, 0)
    assert reading.acknowledge(room.channel, "bob", 2) == (3, 3)
    assert room.read() == [4, 5]
    assert reading.acknowledge(room.channel, "bob", 1, reset=True) == (1, 5)
    assert room.read() == [2, 3, 4, 5]
    assert reading.acknowledge(room.channel, "bob", 0, reset=True) == (0, 5)


@pytest.mark.parametrize("reset", [False, True])
def test_ack_past_the_end_is_refused(room: Room, reset: bool) -> None:
    room.post()
    error = refused("CURSOR_AHEAD", lambda: reading.acknowledge(room.channel, "bob", 2, reset=reset))
    assert error.details["latest_seq"] == 1
    assert room.cursor() == 0


def test_a_cursor_that_cannot_be_stored_is_told_and_the_messages_come_again(room: Room) -> None:
    room.post()
    clock = FakeClock()
    files = FaultyFiles(str(room.root), clock, code=errno.ENOSPC, only=("replace",), where="bob.txt", at=1)
    page = reading.read_page(
        Channel(workspace_on(room.root, clock=clock, files=files), "dev"), "bob", bounds(), after=None
    )
    error = refused("CURSOR_NOT_STORED", lambda: reading.advance(page, "bob"))
    assert error.next == "agent-chat ack dev 1 --as bob"
    assert room.read() == [1]


# --- views that move no cursor --------------------------------------------------------------------------------------


def test_the_last_messages_whoever_they_are_for(room: Room) -> None:
    for number in range(1, 6):
        room.post("alice", to="carol" if number % 2 else "dave", body="x" * 100)
    assert seqs(reading.last(room.channel, 3, bounds())) == [3, 4, 5]
    assert seqs(reading.last(room.channel, 99, bounds())) == [1, 2, 3, 4, 5]
    assert seqs(reading.last(room.channel, 3, bounds(max_bytes=1))) == [5]
    assert room.names().count(".cursors") == 0


def test_a_thread_is_a_message_and_its_replies_at_any_depth(room: Room) -> None:
    for number, parent in enumerate([None, None, "1", "2", "3", "4", "5"], 1):
        room.post("alice" if number % 2 else "bob", reply=parent, to="zoe" if number == 3 else None)
    numbers = room.channel.messages.numbers()

    def thread(seq: int, **options: int) -> list[int]:
        root = messages.find(room.channel, numbers, str(seq))
        return seqs(reading.thread(room.channel, root, numbers, bounds(), **options))

    assert thread(1) == [1, 3, 5, 7]
    assert thread(2) == [2, 4, 6]
    assert thread(3) == [3, 5, 7]
    assert thread(7) == [7]
    assert thread(1, after=3) == [5, 7]


def test_search_finds_what_holds_every_word(room: Room) -> None:
    room.post("alice", title="Schema draft", body="id is a UUID\n", topic="api")
    room.post("Bob", title="Re: schema", body="why a UUID?\n")
    room.post("alice", title="Lunch", body="СХЕМА и straße\n")
    room.post("alice", title="e\u0301clair")

    def search(*words: str, **filters: str) -> list[int]:
        return seqs(reading.search(room.channel, words, bounds(), **filters))  # type: ignore[arg-type]

    assert search("schema") == [1, 2]
    assert search("SCHEMA", "uuid", "why") == [2]
    assert search("схема") == [3]
    assert search("STRASSE") == [3]
    assert search("éclair") == search("E\u0301CLAIR") == [4]
    assert search("schema", sender="bob") == [2]
    assert search("schema", topic="api") == [1]
    assert search("schema", topic="general") == [2]
    assert search("api") == [1]
    assert search("nowhere") == []
    assert seqs(reading.search(room.channel, ["uuid"], bounds(), after=1)) == [2]
    assert seqs(reading.search(room.channel, ["uuid"], bounds(), since=lambda created: False)) == []
    page = reading.search(room.channel, ["a"], bounds(limit=1))
    assert (seqs(page), page.has_more) == ([1], True)
