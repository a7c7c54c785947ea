"""Presence: who waits now, who was seen when, and what is said of a recipient that is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import messages, reading, waiting
from agent_chat.operations.presence import Presence
from agent_chat.storage.channel import Channel
from agent_chat.storage.seen_store import AWAY_SECONDS, GRAIN_SECONDS, Absent, Seen
from tests.operations.room import Room, bounds
from tests.support.cli import START, FaultyFiles, workspace_on

if TYPE_CHECKING:
    from agent_chat.errors import ChatError
    from agent_chat.storage.message_store import Stored


def waits(room: Room) -> list[str]:
    failures: list[tuple[str, ChatError | OSError]] = []
    found = room.reopened().cursors.waiting(failures)
    assert failures == []
    return found


def request(room: Room, timeout: float = 1.0, reply_to: Stored | None = None) -> waiting.Request:
    return waiting.Request(
        channels=(room.reopened(),),
        agents=("bob",),
        timeout=timeout,
        interval=0.2,
        bounds=bounds(),
        reply_to=reply_to,
    )


def test_an_agent_waits_until_it_ends(room: Room) -> None:
    there = Presence((room.reopened(),), ("bob",), "messages")
    assert waits(room) == ["bob"]
    assert room.channel.seen.load("bob") == Seen(at=START, waits="messages")
    there.end()
    assert waits(room) == []


def test_two_waits_of_one_name_share_the_lock(room: Room) -> None:
    first, second = (Presence((room.reopened(),), ("bob",), "messages") for _ in range(2))
    first.end()
    assert waits(room) == ["bob"]
    second.end()
    assert waits(room) == []


def test_what_it_waits_on_is_told(room: Room) -> None:
    room.post("bob", title="q")
    channel = room.reopened()
    asked = messages.find(channel, channel.messages.numbers(), "1")
    assert request(room).waits == "messages"
    assert request(room, reply_to=asked).waits == "a reply to #1"


def test_a_wait_writes_once_a_minute_that_it_is_there(room: Room) -> None:
    assert waiting.wait(request(room, timeout=150)).timed_out
    seen = room.channel.seen.load("bob")
    assert seen is not None
    assert seen.at >= START + 2 * GRAIN_SECONDS - 2


def test_reading_posting_and_acknowledging_are_seen_and_looking_is_not(room: Room) -> None:
    room.post("alice", to="bob")
    assert room.channel.seen.load("alice") == Seen(at=START)
    room.page()
    room.message(1)
    assert room.channel.seen.load("bob") is None
    room.read()
    assert room.channel.seen.load("bob") == Seen(at=START)
    room.clock.turn(3600)
    reading.acknowledge(room.reopened(), "bob", 1)
    assert room.channel.seen.load("bob") == Seen(at=START + 3600)


def test_what_others_do_refreshes_nobody(room: Room) -> None:
    room.read()
    room.clock.turn(3600)
    room.post("alice", title="for @bob", to="bob")
    room.read("carol")
    assert room.channel.seen.load("bob") == Seen(at=START)


@pytest.mark.parametrize("away", [0, AWAY_SECONDS, AWAY_SECONDS + 1])
def test_who_was_not_seen_within_a_day_is_absent(room: Room, away: float) -> None:
    room.read()
    room.clock.turn(away)
    expected = (Absent(name="bob", since=START),) if away > AWAY_SECONDS else ()
    assert room.reopened().seen.absent(["bob"]) == expected
    assert room.post(to="bob,carol").absent == (*expected, Absent(name="carol", since=None))
    assert room.post().absent == ()


def test_a_clock_that_was_ahead_tells_nothing_and_is_put_right_by_the_next_act(room: Room) -> None:
    room.read()
    room.clock.turn(-10 * AWAY_SECONDS)
    assert room.post(to="bob").absent == (Absent(name="bob", since=None),)
    room.read()
    room.clock.turn(AWAY_SECONDS + 1)
    assert room.post(to="bob").absent == (Absent(name="bob", since=START - 10 * AWAY_SECONDS),)


def test_a_seen_file_that_cannot_be_read_is_a_warning_of_a_post_that_was_made(room: Room) -> None:
    (room.folder / ".cache").mkdir(exist_ok=True)
    (room.folder / ".cache" / "seen-bob").mkdir()
    posted = room.post(to="bob")
    assert (posted.seq, posted.absent) == (1, ())
    assert [text.partition(":")[0] for text in posted.warnings] == ["when its recipients were seen cannot be told"]


@pytest.mark.parametrize("code", [5, 13, 28, 30])
def test_nothing_about_presence_fails_a_post_that_was_made(room: Room, code: int) -> None:
    n = 0
    while True:
        n += 1
        files = FaultyFiles(str(room.root), room.clock, at=n, code=code, where="seen-")
        channel = Channel(workspace_on(room.root, clock=room.clock, files=files), "dev")
        room.clock.turn(100)
        posted = messages.post(channel, messages.Draft(sender="alice", title=f"t{n}", body="", to="bob"))
        assert posted.seq == n
        if not files.fired:
            return


@pytest.mark.parametrize("code", [13, 28, 30, 95])
def test_a_wait_that_cannot_be_shown_says_so_and_waits(room: Room, code: int) -> None:
    files = FaultyFiles(str(room.root), room.clock, at=1, code=code, where=".waiting", forever=True)
    channel = Channel(workspace_on(room.root, clock=room.clock, files=files), "dev")
    room.post()
    outcome = waiting.wait(request(room).replace(channels=(channel,)))
    assert len(outcome.pages) == 1
    assert [text.partition(":")[0] for text in outcome.warnings] == ["dev does not show bob as waiting"]


def test_a_lock_that_cannot_be_looked_at_hides_no_other(room: Room) -> None:
    there = Presence((room.reopened(),), ("bob",), "messages")
    (room.folder / ".cursors" / "alice.waiting").mkdir()
    failures: list[tuple[str, ChatError | OSError]] = []
    assert room.channel.cursors.waiting(failures) == ["bob"]
    assert [what for what, _ in failures] == ["whether alice waits"]
    there.end()


def test_several_rounds_open_each_message_once_and_show_what_another_session_read(room: Room) -> None:
    wait = waiting.Waiting(request(room))
    try:
        room.post(title="one")
        first = wait.round(1)
        assert [item.message.seq for item in first.pages[0].stored] == [1]
        reading.advance(first.pages[0], "bob")
        wait.go_on(first)
        room.post(title="two")
        assert room.read() == [2]
        second = wait.round(1)
        assert [item.message.seq for item in second.pages[0].stored] == [2]
        reading.advance(second.pages[0], "bob")
        wait.go_on(second)
        assert wait.round(1).timed_out
        reading.acknowledge(room.reopened(), "bob", 0, reset=True)
        again = wait.round(10)
        assert [item.message.seq for item in again.pages[0].stored] == [1, 2]
        assert waits(room) == ["bob"]
    finally:
        wait.end()
    assert waits(room) == []
