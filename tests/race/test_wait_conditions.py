"""What ends a wait, what it prints then, and what it leaves behind when it is ended from outside."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli, Trap, Worker, finish
from tests.support.roots import Root, make_root, message_text, tree

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

WAIT = ("wait", "dev", "--as", "bob", "--timeout", "5", "--interval", "0.05", "--json")


def _titles(reply: dict[str, list[dict[str, str]]]) -> list[str]:
    return [message["title"] for message in reply["messages"]]


def _until_waiting(root: Root, agent: str = "bob") -> None:
    """Returns once the roster shows the agent as waiting."""
    deadline = time.monotonic() + 10
    while agent not in root.must("roster", "dev", "--json").json["waiting"]:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_two_waits_under_one_name_both_show_the_message(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("not for bob", sender="bob")
    # The slower of the two has looked once, and is still asleep when the other has read the message.
    with Worker(root.path) as one, Worker(root.path, Trap("list_folder", "dev", after=True)) as two:
        two.give(*WAIT)
        two.wait_until_stopped()
        one.give(*WAIT)
        root.post("for both")
        assert _titles(one.take().json) == ["for both"]
        root.post("after that")
        two.resume()
        assert _titles(two.take().json) == ["for both", "after that"]
    assert root.titles() == []


def test_a_wait_on_several_channels_shows_each_message_with_its_channel_and_cursors_by_channel(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.must("init", "ops")
    root.must("init", "quiet")
    with Worker(root.path) as waiter:
        waiter.give("wait", "dev", "ops", "quiet", "--as", "bob", "--timeout", "5", "--interval", "0.05", "--json")
        _until_waiting(root)
        root.post("in ops", channel="ops")
        reply = waiter.take().json
    assert [(message["channel"], message["title"]) for message in reply["messages"]] == [("ops", "in ops")]
    assert reply["cursor"] == {"dev": 0, "ops": 1, "quiet": 0}
    root.post("in dev")
    root.post("again", channel="ops")
    reply = root.must("wait", "dev", "ops", "quiet", "--as", "bob", "--timeout", "0", "--json").json
    assert sorted((message["channel"], message["title"]) for message in reply["messages"]) == [
        ("dev", "in dev"),
        ("ops", "again"),
    ]
    assert root.run("wait", "dev", "ops", "--as", "bob", "--timeout", "0").status == 1


def test_a_wait_for_a_reply_ends_on_a_reply_only_and_prints_all_that_is_unread(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("question", sender="bob")
    with Worker(root.path) as waiter:
        waiter.give(*WAIT, "--reply-to", "1")
        _until_waiting(root)
        root.post("something else")
        root.must("post", "dev", "--from", "carol", "--to", "dave", "--reply", "1", "--title", "not for bob")
        time.sleep(0.2)
        root.must("post", "dev", "--from", "alice", "--reply", "1", "--title", "answer")
        reply = waiter.take().json
    assert _titles(reply) == ["something else", "answer"]
    assert reply["cursor"] == root.cursor() == 4
    assert root.titles() == []


def test_a_wait_for_a_reply_that_runs_out_leaves_everything_unread(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("question", sender="bob")
    root.post("something else")
    done = root.run("wait", "dev", "--as", "bob", "--timeout", "0.1", "--reply-to", "1", "--json")
    assert (done.status, done.json["messages"], done.json["cursor"]) == (1, [], 0)
    assert root.titles() == ["something else"]


def test_a_wait_for_a_reply_that_was_read_already_prints_it_again_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("question", sender="bob")
    root.must("post", "dev", "--from", "alice", "--reply", "1", "--title", "answer", "--body", "yes")
    assert root.titles() == ["answer"]
    root.post("new")
    again = root.must("wait", "dev", "--as", "bob", "--timeout", "5", "--reply-to", "1")
    assert again.seconds < 1
    assert [line.split(" | ")[1] for line in again.out.splitlines() if line.startswith("#")] == ["answer", "new"]
    once_more = root.must("wait", "dev", "--as", "bob", "--timeout", "5", "--reply-to", "1", "--json").json
    assert _titles(once_more) == ["answer"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nosuch", "--as", "bob"), "CHANNEL_NOT_FOUND"),
        (("dev", "nosuch", "--as", "bob"), "CHANNEL_NOT_FOUND"),
        (("closed", "--as", "bob"), "AGENT_UNKNOWN"),
        (("dev", "--as", "bob", "--reply-to", "9"), "MESSAGE_NOT_FOUND"),
        (("dev", "closed", "--as", "carol", "--reply-to", "1"), "USAGE"),
        (("dev",), "AGENT_MISSING"),
        (("dev", "--as", "all"), "AGENT_RESERVED"),
        (("dev", "--as", "bob", "--timeout", "soon"), "USAGE"),
    ],
)
def test_what_can_never_come_true_is_refused_at_once(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    root = make_root(tmp_path / "root")
    root.must("init", "closed", "--members", "carol,alice")
    before = tree(root.path)
    done = root.run("wait", *arguments, "--json")
    assert (done.status, done.json["error"]["code"]) == (2, code)
    assert done.seconds < 1
    assert tree(root.path) == before


@pytest.mark.parametrize("condition", [(), ("--reply-to", "1")], ids=["any", "reply"])
def test_a_wait_sees_a_file_that_comes_where_it_has_looked_before(tmp_path: Path, condition: tuple[str, ...]) -> None:
    root = make_root(tmp_path / "root")
    root.post("question", sender="bob")
    root.must("post", "dev", "--from", "alice", "--to", "carol", "--title", "not for bob")
    with Worker(root.path) as waiter:
        waiter.give(*WAIT, *condition)
        _until_waiting(root)
        time.sleep(0.1)
        root.plant("0002-zoe-merged.md", message_text(2, "zoe", "merged").replace("created:", "reply_to: 1\ncreated:"))
        done = waiter.take()
    assert done.seconds < 4
    assert _titles(done.json) == ["merged"]


def test_a_wait_on_a_channel_that_is_deleted_ends(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    with Worker(root.path) as waiter:
        waiter.give(*WAIT)
        _until_waiting(root)
        root.channel().rename(root.path / "gone.old")
        done = waiter.take()
    assert (done.status, done.json["error"]["code"]) == (2, "CHANNEL_NOT_FOUND")


def _wait_in_a_process(root: Root) -> subprocess.Popen[bytes]:
    # Whoever runs the tests in the background has them ignore SIGINT, and a child takes that over.
    def obey() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    child = Cli(root.path).start("wait", "dev", "--as", "bob", "--timeout", "20", preexec_fn=obey)
    _until_waiting(root)
    return child


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -9)],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
def test_a_signal_ends_a_wait_and_leaves_nothing_behind(tmp_path: Path, number: int, status: int) -> None:
    root = make_root(tmp_path / "root")
    root.run(*WAIT[:4], "--timeout", "0")
    before = tree(root.path)
    child = _wait_in_a_process(root)
    child.send_signal(number)
    done = finish(child, timeout=5)
    assert (done.status, done.out, done.err) == (status, "", "")
    assert root.must("roster", "dev", "--json").json["waiting"] == []
    assert tree(root.path) == before
    root.post("after")
    assert root.titles() == ["after"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
def test_a_hang_up_ends_a_wait_by_signal(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    child = _wait_in_a_process(root)
    child.send_signal(signal.SIGHUP)
    assert finish(child, timeout=5).status == -signal.SIGHUP
