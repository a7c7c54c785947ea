"""Cursors: what a file of one may hold, and that none goes back or skips by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.errors import ChatError
from agent_chat.storage.channel import Channel
from agent_chat.storage.cursor_store import Cursor, CursorError, parse, render
from agent_chat.storage.message_numbers import Numbers
from tests.support.cli import message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

GARBAGE = [
    *(
        b"garbage",
        b"",
        b"-1",
        b"\0\0\0\0",
        b"1e3",
        b"1.5",
        b"0x10",
        b"+1",
        b"\xff\xfe1",
        b"1 2",
        b"\n1",
        b"99999999999",
    ),
    *(b"1000000000", "٣".encode(), b"1\x00", b"\xef\xbb\xbf5", b"{}", b"1" * 5000),
]


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    assert run(["init", "dev"], tmp_path).status == 0
    for seq in range(1, 6):
        plant(tmp_path / "dev" / f"{seq:04d}-alice-m.md", message_file(seq))
    return Channel(workspace_on(tmp_path), "dev")


def write(channel: Channel, data: bytes, agent: str = "bob") -> Path:
    from pathlib import Path

    path = Path(channel.layout.cursor(agent))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


SEQS = st.integers(0, 999_999_999)


@given(SEQS, SEQS, st.integers(0, 0xFFFFFFFF), SEQS, st.lists(st.sampled_from(["0001-ñ.md", "0002-\udcff.md"])))
def test_what_is_written_is_read_back(seq: int, count: int, total: int, before: int, late: list[str]) -> None:
    cursor = parse(render(seq, (count, total), before, late))
    assert cursor == Cursor(seq=seq, count=count, names_sum=total, listed_before=before, late=tuple(late))


@pytest.mark.parametrize("data", [b"5", b"5\n", b"5\r\n", b" 5 \n", b"0005"])
def test_a_number_alone_is_a_whole_cursor(data: bytes) -> None:
    assert parse(data) == Cursor(seq=5)


@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:12]))
def test_what_is_no_cursor(channel: Channel, data: bytes, tmp_path: Path) -> None:
    """It is refused with the command that mends it: no silent replay, no silent skip to the end."""
    with pytest.raises(CursorError):
        parse(data)
    path = write(channel, data)
    with pytest.raises(ChatError) as caught:
        channel.cursors.load("bob")
    assert caught.value.code == "CURSOR_INVALID"
    assert caught.value.next == "agent-chat ack dev --reset 0 --as bob"
    for argv in (
        ["read", "dev", "--as", "bob"],
        ["wait", "dev", "--as", "bob", "--timeout", "0"],
        ["inbox", "--as", "bob"],
    ):
        result = run(argv, tmp_path)
        assert (result.status, result.stdout, result.code) == (2, "", "CURSOR_INVALID"), argv
    assert run(["ack", "dev", "3", "--as", "bob"], tmp_path).code == "CURSOR_INVALID"
    assert path.read_bytes() == data
    assert run(["ack", "dev", "--reset", "3", "--as", "bob"], tmp_path).status == 0
    assert channel.cursors.seq("bob") == 3


@pytest.mark.parametrize("data", [b"5\nx\ny\n", b"5\n-1\n", b"5\n\n\n", b"5\n\xff\n\xff\n", b"5\n1.5\nzz"])
def test_damage_after_the_number_leaves_the_number(data: bytes) -> None:
    assert parse(data).seq == 5


def test_a_cursor_past_the_end_is_told_with_the_command_that_mends_it(channel: Channel, tmp_path: Path) -> None:
    write(channel, b"99999999\n")
    result = run(["read", "dev", "--as", "bob"], tmp_path)
    assert (result.status, result.stdout) == (0, "nothing new for bob in dev (at #99999999)\n")
    assert "the last message of dev is #5" in result.stderr
    assert "agent-chat ack dev --reset 5" in result.stderr


def test_a_cursor_never_goes_back_but_by_a_reset(channel: Channel) -> None:
    numbers = channel.messages.numbers()
    store = channel.cursors
    assert store.load("bob") is None
    assert store.store("bob", 4, numbers) == 4
    assert store.store("bob", 2, numbers) == 4
    assert store.seq("bob") == 4
    assert store.store("bob", 2, numbers, back=True) == 2
    assert store.seq("bob") == 2


def test_names_that_differ_in_case_share_one_cursor_and_others_do_not(channel: Channel) -> None:
    numbers = channel.messages.numbers()
    channel.cursors.store("Bob", 3, numbers)
    assert channel.cursors.seq("bOB") == 3
    assert channel.cursors.seq("bob.x") == channel.cursors.seq("bo") == 0
    assert set(channel.cursors.every()) == {"bob"}


def test_an_unreadable_cursor_among_all_is_none_and_hides_no_other(channel: Channel) -> None:
    write(channel, b"x", "bob")
    write(channel, b"3", "carol")
    write(channel, b"", "dave").unlink()
    write(channel, b"", "dave").with_suffix(".lock").write_bytes(b"")
    from pathlib import Path

    Path(channel.layout.cursor("eve")).mkdir()
    every = channel.cursors.every()
    assert {name: cursor and cursor.seq for name, cursor in every.items()} == {
        "bob": None,
        "carol": 3,
        "dave": None,
        "eve": None,
    }


def test_announced_files_are_kept_until_they_are_gone(channel: Channel) -> None:
    numbers = channel.messages.numbers()
    channel.cursors.store("bob", 3, numbers, late=["0002-alice-m.md", "0001-alice-m.md"])
    channel.cursors.store("bob", 4, numbers, late=["0002-alice-m.md"])
    cursor = channel.cursors.load("bob")
    assert cursor is not None
    assert cursor.late == ("0002-alice-m.md", "0001-alice-m.md")
    gone = Numbers(["0001-alice-m.md", "0005-alice-m.md"])
    channel.cursors.store("bob", 5, gone)
    cursor = channel.cursors.load("bob")
    assert cursor is not None
    assert cursor.late == ("0001-alice-m.md",)
