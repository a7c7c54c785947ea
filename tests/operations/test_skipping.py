"""Skips: what a reader leaves out is stored, passed over, and wakes nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.cli.commands import COMMANDS
from agent_chat.operations import messages, reading, waiting
from agent_chat.operations.skipping import Skips
from tests.operations.room import Room, bounds
from tests.support.cli import LATER, plant

if TYPE_CHECKING:
    from agent_chat.operations.waiting import Outcome

SKIPS = Skips(topics=("ci",), senders=("bot",))


def page(room: Room, **options: Any) -> reading.Page:
    given = {"after": None, "skips": SKIPS, **options}
    return reading.read_page(room.reopened(), "bob", bounds(**given.pop("bounds", {})), **given)


def seqs(found: reading.Page) -> list[int]:
    return [item.message.seq for item in found.stored]


def wait(room: Room, *, timeout: float = 1.0, **options: Any) -> Outcome:
    reply = options.pop("reply", None)
    channel = room.reopened()
    awaited = None if reply is None else messages.find(channel, channel.messages.numbers(), str(reply))
    return waiting.wait(
        waiting.Request(
            channels=(channel,),
            agents=("bob",),
            timeout=timeout,
            interval=0.2,
            bounds=bounds(),
            skips=SKIPS,
            reply_to=awaited,
            **options,
        )
    )


@pytest.fixture
def noisy(room: Room) -> Room:
    """Four messages that bob skips: by topic, by sender, by a reply's topic, by session."""
    room.post(title="build", topic="ci")
    room.post("Bot", title="beep")
    room.post("carol", title="fixed", reply="1")
    room.plant(4, sender="erin", session="bot")
    return room


def test_what_is_skipped_is_passed_over_and_counted(noisy: Room) -> None:
    found = page(noisy)
    assert (seqs(found), found.passed, found.skipped, found.has_more) == ([], 4, 4, False)
    reading.advance(found, "bob")
    assert noisy.cursor() == 4
    assert page(noisy).skipped == 0


def test_what_is_skipped_is_stored_and_there_with_all(noisy: Room) -> None:
    assert seqs(page(noisy, skips=Skips())) == [1, 2, 3, 4]
    shown = page(noisy, everything=True)
    assert (seqs(shown), shown.skipped) == ([1, 2, 3, 4], 0)
    assert seqs(page(noisy, everything=True, after=2)) == [3, 4]


def test_what_is_not_skipped_is_shown(noisy: Room) -> None:
    noisy.post(title="help", topic="ci/urgent")
    noisy.post("bots", title="another name")
    noisy.post(title="no topic")
    assert seqs(page(noisy)) == [5, 6, 7]
    general = Skips(topics=("general",))
    assert seqs(page(noisy, skips=general)) == [1, 3, 5]


def test_what_is_for_others_does_not_count_as_skipped(noisy: Room) -> None:
    noisy.post(title="x", topic="ci", to="dave")
    assert page(noisy).skipped == 4


def test_an_audit_message_is_skipped_by_its_sender_alone(room: Room) -> None:
    room.plant(1, sender="alice", status="task.created")
    room.plant(2, sender="bot", status="task.created")
    assert seqs(page(room, skips=Skips(topics=("general",), senders=("bot",)))) == [1]


def test_many_that_are_skipped_fill_no_page(room: Room) -> None:
    for seq in range(1, 200):
        room.plant(seq, sender="bot")
    room.plant(200)
    found = page(room, bounds={"limit": 1, "max_bytes": 10})
    assert (seqs(found), found.passed, found.skipped, found.has_more) == ([200], 200, 199, False)


@pytest.mark.parametrize("reply", [None, 1])
def test_a_wait_is_not_ended_by_what_is_skipped(noisy: Room, reply: int | None) -> None:
    outcome = wait(noisy, reply=reply)
    assert (outcome.timed_out, outcome.pages, round(sum(noisy.clock.slept), 6)) == (True, (), 1.0)
    noisy.post("carol", title="Re", reply="1")
    assert wait(noisy, reply=reply).timed_out
    noisy.post("dave", title="for bob")
    outcome = wait(noisy)
    assert [seqs(shown) for shown in outcome.pages] == [[6]]
    assert outcome.pages[0].skipped == 5


def test_a_reply_under_a_topic_that_is_not_skipped_ends_a_wait_for_it(noisy: Room) -> None:
    noisy.post("bob", title="question")
    noisy.post("bot", title="beep", reply="5")
    assert wait(noisy, reply=5).timed_out
    noisy.post("carol", title="answer", reply="5")
    assert [seqs(shown) for shown in wait(noisy, reply=5).pages] == [[7]]


def test_what_arrives_late_and_is_skipped_is_not_announced(noisy: Room) -> None:
    noisy.post("dave", title="seen")
    reading.advance(page(noisy), "bob")
    plant(noisy.folder / "0002-bot-late.md", b"---\nseq: 2\nfrom: bot\ntitle: x\n---\n", at=LATER)
    plant(noisy.folder / "0003-alice-late.md", b"---\nseq: 3\nfrom: alice\ntitle: x\ntopic: ci\n---\n", at=LATER)
    late = page(noisy).late
    assert (late.files, late.unnamed, late.wakes) == ((), 0, False)
    assert wait(noisy).timed_out
    assert set(page(noisy, skips=Skips()).late.files) == {"0002-bot-late.md", "0003-alice-late.md"}
    assert set(page(noisy, everything=True).late.files) >= {"0002-bot-late.md", "0003-alice-late.md"}


def test_a_wait_opens_what_it_has_skipped_only_once(noisy: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_chat.storage.message_store import MessageStore

    opened: list[int] = []
    load = MessageStore.load_unit

    def watched(store: MessageStore, seq: int, files: Any) -> Any:
        opened.append(seq)
        return load(store, seq, files)

    monkeypatch.setattr(MessageStore, "load_unit", watched)
    assert wait(noisy, timeout=60).timed_out
    assert opened == [1, 2, 3, 4]


def test_nobody_can_follow_a_list_of_topics() -> None:
    """There is deliberately no such option: an extra message is cheaper than a missed call for help."""
    rows = {command.name: command for command in COMMANDS}
    for name in ("read", "wait", "watch"):
        spellings = {spelling for argument in rows[name].options for spelling in argument.spellings}
        assert {"--skip-topic", "--skip-from"} <= spellings
        assert [each for each in spellings if "topic" in each] == ["--skip-topic"]
        assert all(a.repeatable for a in rows[name].options if a.name.startswith("skip_"))
