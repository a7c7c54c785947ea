"""Calls that run at the same time, at every point of each other: nobody skips, repeats, or sees a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.journal_turns import RIVALS, check_looks_beside_a_change, check_rivals
from tests.crash.loops import complain
from tests.crash.turns import check_intruder, check_reader_and_writer, check_two_readers, check_two_writers
from tests.support import tally

if TYPE_CHECKING:
    from pathlib import Path


def test_a_reader_neither_skips_nor_repeats_while_two_messages_are_published(folder: Path) -> None:
    before = tally.COUNTED["interleavings"]
    complain(check_reader_and_writer(folder, every=False))
    assert tally.COUNTED["interleavings"] > before


@pytest.mark.slow
def test_a_reader_is_right_wherever_the_two_messages_are_published(folder: Path) -> None:
    complain(check_reader_and_writer(folder, every=True))


def test_two_readers_of_one_name_never_move_the_cursor_back(folder: Path) -> None:
    complain(check_two_readers(folder, every=False))


@pytest.mark.slow
def test_two_readers_of_one_name_that_are_both_held_up_never_move_the_cursor_back(folder: Path) -> None:
    complain(check_two_readers(folder, every=True))


def test_two_writers_never_give_the_same_number(folder: Path) -> None:
    complain(check_two_writers(folder))


def test_a_file_that_appears_under_the_name_of_a_message_is_never_replaced(folder: Path) -> None:
    complain(check_intruder(folder))


@pytest.mark.parametrize("name", RIVALS)
def test_of_two_who_want_the_same_exactly_one_gets_it(name: str, folder: Path) -> None:
    complain(check_rivals(folder, name))


@pytest.mark.parametrize("name", RIVALS)
def test_whoever_looks_while_a_change_is_made_sees_the_old_state_or_the_new(name: str, folder: Path) -> None:
    complain(check_looks_beside_a_change(folder, name, every=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["task claim", pytest.param("lock, several paths", marks=pytest.mark.nightly)])
def test_whoever_looks_while_a_change_is_half_made_sees_the_old_state_or_the_new(name: str, folder: Path) -> None:
    complain(check_looks_beside_a_change(folder, name, every=True))
