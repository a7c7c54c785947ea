"""Cursors that several processes move: never back, and never over what nobody was shown."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Trap, Worker
from tests.support.roots import Root, make_root, message_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no SIGSTOP here")
READ = ("read", "dev", "--as", "bob", "--json")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = make_root(tmp_path / "root")
    for number in range(1, 6):
        made.post(f"message {number}")
    return made


@pytest.mark.parametrize("other", [READ, ("ack", "dev", "10", "--as", "bob", "--json")], ids=["read", "ack"])
def test_a_slow_reader_does_not_move_the_cursor_of_a_faster_one_back(root: Root, other: tuple[str, ...]) -> None:
    with Worker(root.path, Trap("open_lock", "bob.lock")) as slow:
        slow.give(*READ)
        slow.wait_until_stopped()
        for number in range(6, 11):
            root.post(f"message {number}")
        assert root.must(*other).json["cursor"] == 10
        slow.resume()
        reply = slow.take()
    assert (reply.status, len(reply.json["messages"])) == (0, 5)
    assert root.cursor() == 10
    assert root.titles() == []


def test_a_reader_that_was_killed_before_its_cursor_moved_is_shown_everything_again(root: Root) -> None:
    with Worker(root.path, Trap("replace", "bob.txt")) as reader:
        reader.give(*READ)
        reader.wait_until_stopped()
        reader.kill()
    assert len(root.titles()) == 5


def test_readers_of_one_name_beside_a_writer_leave_nothing_unread_and_the_cursor_only_rises(root: Root) -> None:
    pauses = random.Random(5)
    traps = [Trap("open_lock", "bob.lock", nth, "pause", pauses.uniform(0, 0.02)) for nth in (1, 2)]
    readers = [Worker(root.path, trap) for trap in traps]
    seen = {message["seq"] for message in root.read()["messages"]}
    try:
        cursors = [0]
        for number in range(6, 18):
            for reader in readers:
                reader.give(*READ)
            root.post(f"message {number}")
            cursors.append(root.cursor())
            for reader in readers:
                seen |= {message["seq"] for message in reader.take().json["messages"]}
            cursors.append(root.cursor())
    finally:
        for reader in readers:
            reader.__exit__()
    assert cursors == sorted(cursors)
    assert seen | {message["seq"] for message in root.read()["messages"]} == set(range(1, 18))


def test_a_message_that_becomes_visible_during_a_look_is_not_passed_over(root: Root) -> None:
    # The reader's first listing misses #6 and sees #7, as a listing beside two writers may.
    root.post("message 6")
    root.post("message 7")
    hidden = root.channel() / "0006-alice-message-6.md"
    aside = root.path / "aside.md"
    hidden.rename(aside)
    with Worker(root.path, Trap("list_folder", "dev", nth=2)) as reader:
        reader.give(*READ)
        reader.wait_until_stopped()
        aside.rename(hidden)
        root.post("message 8")
        reader.resume()
        reply = reader.take().json
    assert [message["seq"] for message in reply["messages"]] == [1, 2, 3, 4, 5, 6, 7]
    assert root.titles() == ["message 8"]


def test_a_file_that_comes_below_what_was_shown_between_two_looks_is_announced(root: Root) -> None:
    (root.channel() / "0003-alice-message-3.md").unlink()
    with Worker(root.path, Trap("list_folder", "dev", nth=2)) as reader:
        reader.give(*READ)
        reader.wait_until_stopped()
        root.plant("0001-zoe-merged.md", message_text(1, "zoe", "merged"))
        reader.resume()
        assert [message["seq"] for message in reader.take().json["messages"]] == [1, 2, 4, 5]
    assert root.read()["late"] == ["0001-zoe-merged.md"]


def test_a_file_that_comes_below_the_cursor_before_an_ack_is_announced_all_the_same(root: Root) -> None:
    root.read()
    root.post("message 6")
    root.plant("0002-zoe-merged.md", message_text(2, "zoe", "merged"))
    (warning,) = root.must("ack", "dev", "6", "--as", "bob", "--json").json["warnings"]
    assert warning.startswith("late: arrived below the cursor: 0002-zoe-merged.md;")
    assert "late" not in root.read()
    assert "message.late" in [finding["id"] for finding in root.doctor()["0002-zoe-merged.md"]]


@pytest.mark.parametrize("content", [b"", b"garbage", b"-1", b"9" * 30, b"\0\0\0\0", b"\xff\xfe1\0", b"5" * 2_000_000])
def test_a_cursor_that_cannot_be_understood_is_refused_and_neither_replayed_nor_skipped(
    root: Root, content: bytes
) -> None:
    root.read()
    (root.channel() / ".cursors" / "bob.txt").write_bytes(content)
    for command in (READ, ("wait", *READ[1:], "--timeout", "0"), ("ack", "dev", "5", "--as", "bob", "--json")):
        done = root.run(*command)
        assert (done.status, done.json["error"]["code"]) == (2, "CURSOR_INVALID")
    assert [finding["id"] for finding in root.doctor()["bob.txt"]] == ["cursor.valid"]
    root.must("ack", "dev", "--reset", "4", "--as", "bob")
    assert root.titles() == ["message 5"]


def test_a_cursor_of_the_number_alone_is_a_whole_cursor(root: Root) -> None:
    root.read()
    (root.channel() / ".cursors" / "bob.txt").write_bytes(b"3")
    assert root.titles() == ["message 4", "message 5"]
