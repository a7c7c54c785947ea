"""What hooks remember of a session: each message is held for once, and told of once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.operations.glance import Count
from agent_chat.operations.session_memory import HELD, TOLD
from tests.hooks.memory_room import Memory, unread


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "root")


# -- once for each message ---------------------------------------------------------------------------------------------


def test_a_set_of_messages_is_new_once(memory: Memory) -> None:
    assert [memory.note(unread(3)) for _ in range(10)] == [True] + [False] * 9
    assert memory.faults == []


def test_one_more_message_is_new_once(memory: Memory) -> None:
    found = [memory.note(unread(number)) for number in (1, 1, 2, 2, 3, 3)]
    assert found == [True, False] * 3


def test_what_was_read_and_what_is_left_is_nothing_new(memory: Memory) -> None:
    memory.note(unread(5))
    assert not memory.note(Count(channel="dev", unread=2, latest=5, highest=5))
    assert not memory.note(Count(channel="dev", latest=5))
    assert not memory.note()
    assert memory.note(Count(channel="dev", unread=1, latest=6, highest=6))


def test_another_channel_of_that_name_is_new_from_the_number_on_that_was_noted(memory: Memory) -> None:
    memory.note(unread(5))
    assert not memory.note(unread(5))
    assert memory.note(unread(6))


def test_a_cursor_that_went_back_shows_nothing_new(memory: Memory) -> None:
    memory.note(unread(5))
    memory.note(Count(channel="dev", latest=5))
    assert not memory.note(unread(5))


def test_each_channel_counts_by_itself(memory: Memory) -> None:
    memory.note(unread(5, "dev"))
    assert memory.note(unread(5, "dev"), unread(1, "ops"))
    assert not memory.note(unread(1, "ops"))
    assert not memory.note(unread(5, "dev"), unread(1, "ops"))
    assert memory.note(unread(5, "dev"), unread(2, "ops"))


def test_what_was_told_and_what_was_held_for_are_two_things(memory: Memory) -> None:
    assert memory.note(unread(1), what=TOLD)
    assert memory.note(unread(1), what=HELD)
    assert not memory.note(unread(1), what=TOLD)
    assert not memory.note(unread(1), what=HELD)


def test_late_ones_are_new_once_and_again_when_more_come(memory: Memory) -> None:
    def late(number: int) -> bool:
        return memory.note(Count(channel="dev", late=number, latest=9))

    assert [late(number) for number in (1, 1, 2, 2, 0, 1)] == [True, False, True, False, False, True]


def test_late_ones_that_there_was_no_time_to_look_for_are_not_new_again(memory: Memory) -> None:
    late = Count(channel="dev", late=2, latest=9)
    memory.note(late)
    for cut in (
        Count(channel="dev", latest=9, more=True),
        Count(channel="dev", unread=1, latest=10, highest=10, more=True),
    ):
        memory.note(cut)
        assert not memory.note(late)


def test_a_message_beside_late_ones_is_new(memory: Memory) -> None:
    memory.note(Count(channel="dev", late=2, latest=9))
    assert memory.note(Count(channel="dev", late=2, unread=1, latest=10, highest=10))
    assert not memory.note(Count(channel="dev", late=2, unread=1, latest=10, highest=10))


@pytest.mark.parametrize(
    "flicker",
    [
        Count(channel="dev", unread=2, latest=2, highest=2),
        Count(channel="dev", unread=2, latest=2, highest=2, more=True),
        Count(channel="dev", latest=0, more=True),
        Count(channel="dev"),
    ],
    ids=["an unfinished end", "no time", "no time at all", "nothing"],
)
def test_what_was_not_seen_for_a_while_is_not_new_when_it_is_seen_again(memory: Memory, flicker: Count) -> None:
    """The last message is being written anew, was not reached in time, or went and came back."""
    memory.note(unread(3))
    for _ in range(3):
        assert not memory.note(flicker)
        assert not memory.note(unread(3))
    assert memory.note(unread(4))


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=12))
def test_no_message_is_ever_new_twice(steps: list[tuple[int, bool]]) -> None:
    """Messages come, and now and then a look ends early."""
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(Path(folder) / "root")
        highest = held = 0
        for more, is_cut in steps:
            highest += more
            seen = highest // 2 if is_cut else highest
            assert memory.note(unread(seen)) == (seen > held)
            held = max(held, seen)


# -- once for each turn ------------------------------------------------------------------------------------------------


def test_a_turn_is_new_once(memory: Memory) -> None:
    turns = ["p-1", "p-1", "p-2", "p-2", "p-1"]
    assert [memory.open().note_turn("prompt", turn) for turn in turns] == [True, False, True, False, True]


@pytest.mark.parametrize(
    "turn", ["\ud800", "\0\n", "шлях 🦊", "x" * (2 << 20)], ids=["surrogate", "NUL", "script", "long"]
)
def test_any_text_may_be_a_turn(memory: Memory, turn: str) -> None:
    memory.note(unread(3))
    assert [memory.open().note_turn("prompt", each) for each in (turn, turn, "p-9")] == [True, False, True]
    assert memory.faults == []
    assert not memory.note(unread(3))
    assert memory.note(unread(4))


def test_without_a_turn_everything_is_new_and_nothing_is_stored(memory: Memory) -> None:
    assert [memory.open().note_turn("prompt", "") for _ in range(2)] == [True, True]
    assert memory.names == []


def test_marks_and_turns_do_not_disturb_each_other(memory: Memory) -> None:
    memory.note(unread(1))
    memory.open().note_turn("prompt", "p-1")
    memory.note(unread(1), what=TOLD)
    assert not memory.note(unread(1))
    assert not memory.open().note_turn("prompt", "p-1")


def test_what_did_not_change_is_not_written_again(memory: Memory) -> None:
    memory.note(unread(1))
    memory.open().note_turn("prompt", "p-1")
    before = memory.path.stat()
    memory.note(unread(1))
    memory.open().note_turn("prompt", "p-1")
    assert memory.path.stat() == before
