"""A message that got a new number is still answered, found and followed by its old one."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import doctor
from agent_chat.operations.mending import mend
from agent_chat.storage.channel import Channel
from tests.support.cli import message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """#2 is there twice; #3 answers it; zed's #2 will be renumbered."""
    root = tmp_path / "root"
    run(["init", "dev"], root)
    plant(root / "dev" / "0001-alice-m.md", message_file(1))
    plant(root / "dev" / "0002-alice-m.md", message_file(2))
    plant(root / "dev" / "0002-zed-m.md", message_file(2, sender="zed"))
    plant(root / "dev" / "0003-alice-m.md", message_file(3, reply_to="2"))
    return root


def fix(root: Path) -> None:
    """Renumbers zed's message to #4, and takes the other #2 away, so that #2 means the renumbered one."""
    run(["doctor", "--fix"], root)
    (root / "dev" / "0002-alice-m.md").unlink()


def seqs(root: Path, *argv: str) -> list[int]:
    return [message["seq"] for message in run([*argv, "--json"], root).json["messages"]]


def test_its_thread_has_the_answers_to_the_old_number(root: Path) -> None:
    fix(root)
    assert seqs(root, "thread", "dev", "2") == [3, 4]


def test_a_thread_goes_on_below_a_renumbered_answer(root: Path) -> None:
    plant(root / "dev" / "0002-zed-m.md", message_file(2, sender="zed", reply_to="1"))
    fix(root)
    assert seqs(root, "thread", "dev", "1") == [1, 3, 4]


def test_a_wait_for_its_replies_ends_on_an_answer_to_the_old_number(root: Path) -> None:
    fix(root)
    result = run(["wait", "dev", "--as", "bob", "--reply-to", "2", "--timeout", "0", "--json"], root)
    assert result.status == 0


def test_a_wait_follows_a_message_that_is_renumbered_meanwhile(root: Path) -> None:
    (root / "dev" / "0003-alice-m.md").unlink()
    results: list[int] = []
    argv = ["wait", "dev", "--as", "bob", "--reply-to", "0002-zed-m.md", "--timeout", "10"]

    def later() -> None:
        time.sleep(0.4)
        channel = Channel(workspace_on(root), "dev")
        mend(channel, doctor.examine(channel))
        plant(root / "dev" / "0005-alice-m.md", message_file(5, reply_to="3"))

    other = threading.Thread(target=later)
    other.start()
    results.append(run(argv, root).status)
    other.join()
    assert results == [0]


def test_a_keyed_retry_of_an_answer_to_it_is_the_same_post(root: Path) -> None:
    (root / "dev" / "0002-alice-m.md").unlink()
    post = ["post", "dev", "--from", "bob", "--title", "re", "--reply", "2", "--key", "k", "--json"]
    plant(root / "dev" / ".cursors" / "carol.txt", "3")
    first = run(post, root).json
    plant(root / "dev" / "0002-alice-m.md", message_file(2))
    fix(root)
    again = run(post, root).json
    assert (first["repeated"], again["repeated"], again["seq"]) == (False, True, first["seq"])


def test_two_fixes_at_once_double_nothing(root: Path) -> None:
    """The second examined before the first had done its work, and died before it had removed the old file."""
    channel = Channel(workspace_on(root), "dev")
    examined = doctor.examine(channel)
    data = (root / "dev" / "0002-zed-m.md").read_bytes()
    mend(channel, examined)
    plant(root / "dev" / "0002-zed-m.md", data)
    mend(channel, examined)
    zeds = sorted(path.name for path in (root / "dev").glob("*-zed-*"))
    assert zeds == ["0004-zed-by-hand.md"]


def test_a_message_that_was_renumbered_twice_is_answered_by_each_of_its_numbers(root: Path) -> None:
    fix(root)
    plant(root / "dev" / "0004-carol-m.md", message_file(4, sender="carol"))
    run(["doctor", "--fix"], root)
    (root / "dev" / "0004-carol-m.md").unlink()
    for number in ("2", "4"):
        assert run(["show", "dev", number, "--json"], root).json["message"]["seq"] == 5
    assert run(["doctor", "--json"], root).json["findings"] == []


def test_a_wait_for_one_of_two_is_not_ended_by_an_answer_to_the_other(root: Path) -> None:
    (root / "dev" / "0003-alice-m.md").unlink()
    run(["doctor", "--fix"], root)
    plant(root / "dev" / "0004-alice-m.md", message_file(4, reply_to="3"))
    argv = ["wait", "dev", "--as", "bob", "--timeout", "0", "--reply-to"]
    assert run([*argv, "0002-alice-m.md"], root).status == 1
    assert run([*argv, "3"], root).status == 0


def test_a_file_name_that_no_message_had_is_no_message(root: Path) -> None:
    fix(root)
    assert run(["show", "dev", "0002-zed-by-hand.md", "--json"], root).json["message"]["seq"] == 4
    for name in ("0002-typo.md", "0002-zed-typo.md"):
        assert run(["show", "dev", name, "--json"], root).json["error"]["code"] == "MESSAGE_NOT_FOUND"


def test_a_keyed_post_is_not_repeated_by_one_that_answers_nothing_that_is_there(root: Path) -> None:
    post = ["post", "dev", "--from", "bob", "--title", "x", "--key", "k", "--json"]
    assert run(post, root).status == 0
    assert run([*post, "--reply", "zzz"], root).json["error"]["code"] == "MESSAGE_NOT_FOUND"
