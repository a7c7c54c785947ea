"""Watches as processes: signals, readers that go or are slow, two of one name; and who is shown as there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.processes import Cli, finish
from tests.support.roots import Root, make_root, tree

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")]
QUICK = ("--interval", "0.05")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return make_root(tmp_path / "root")


def start(root: Root, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    # Whoever runs the tests in the background has them ignore SIGINT, and a child takes that over.
    def obey() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    given = words or ("watch", "dev", "--as", "bob", "--json", *QUICK)
    return Cli(root.path).start(*given, preexec_fn=obey, **options)


def presence(root: Root) -> dict[str, str | None]:
    """Who waits now, and on what."""
    found = root.must("roster", "dev", "--json").json["presence"]
    return {each["name"]: each["waits_for"] for each in found if each["waiting"]}


def until(root: Root, expected: dict[str, str | None]) -> None:
    deadline = time.monotonic() + 10
    while presence(root) != expected:
        assert time.monotonic() < deadline, presence(root)
        time.sleep(0.01)


def take(child: subprocess.Popen[bytes], count: int) -> list[str]:
    """The titles of the next lines."""
    assert child.stdout is not None
    return [json.loads(child.stdout.readline())["title"] for _ in range(count)]


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP), (signal.SIGKILL, -9)],
)
def test_a_signal_ends_it_and_nothing_is_lost(root: Root, number: int, status: int) -> None:
    child = start(root)
    until(root, {"bob": "messages"})
    root.post("one")
    assert take(child, 1) == ["one"]
    deadline = time.monotonic() + 5
    while not (root.channel() / ".cursors" / "bob.txt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = tree(root.path)
    child.send_signal(number)
    done = finish(child, timeout=5)
    assert (done.status, done.out, done.err) == (status, "", "")
    assert tree(root.path) == before
    assert presence(root) == {}
    root.post("two")
    assert root.titles() == ["two"]


def test_a_reader_that_has_gone_ends_it_and_what_it_did_not_see_is_unread(root: Root) -> None:
    child = start(root)
    until(root, {"bob": "messages"})
    root.post("one")
    assert take(child, 1) == ["one"]
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    time.sleep(0.1)
    root.post("two")
    assert finish(child, timeout=10).status == 141
    assert root.titles() == ["two"]


def test_an_idle_one_whose_reader_has_gone_ends_and_is_not_shown_as_there(root: Root) -> None:
    child = start(root)
    until(root, {"bob": "messages"})
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    assert finish(child, timeout=10).status == 141
    assert presence(root) == {}


def test_a_slow_reader_gets_everything_and_a_killed_watch_has_passed_nothing_unwritten(root: Root) -> None:
    for number in range(6):
        root.post(f"large {number}", body="x" * 100_000)
    child = start(root)
    assert take(child, 2) == ["large 0", "large 1"]
    time.sleep(0.3)  # it writes more than the pipe holds, and stands
    child.kill()
    child.communicate()
    titles = root.titles()
    assert titles == [f"large {number}" for number in range(6 - len(titles), 6)]
    assert len(titles) >= 3
    whole = start(root, "watch", "dev", "--as", "carol", "--json", *QUICK)
    for number in range(6):
        time.sleep(0.05)
        assert take(whole, 1) == [f"large {number}"]
    whole.kill()
    whole.communicate()


def test_two_of_one_name_both_show_everything(root: Root) -> None:
    children = [start(root) for _ in range(2)]
    time.sleep(0.5)
    until(root, {"bob": "messages"})
    wanted = [f"message {number}" for number in range(30)]
    for title in wanted:
        root.post(title)
    assert [take(child, 30) for child in children] == [wanted, wanted]
    children[0].kill()
    children[0].communicate()
    assert presence(root) == {"bob": "messages"}
    children[1].kill()
    children[1].communicate()
    assert presence(root) == {}


@pytest.mark.parametrize(
    ("words", "waits"),
    [
        (("wait", "dev", "--as", "bob"), "messages"),
        (("wait", "dev", "--as", "bob", "--reply-to", "1"), "a reply to #1"),
        (("wait", "dev", "--as", "bob", "--task", "t1"), "task t1"),
        (("wait", "dev", "--as", "bob", "--path", "a.py", "--workspace", "{root}"), "path a.py"),
        (("watch", "--as", "bob"), "messages"),
    ],
)
def test_who_waits_is_shown_with_what_until_its_process_is_killed(
    root: Root, words: tuple[str, ...], waits: str
) -> None:
    root.post("question", sender="bob")
    tree_of_work = root.path.parent / "work"
    tree_of_work.mkdir()
    root.must("task", "create", "dev", "t1", "--title", "t", "--as", "alice")
    root.must("task", "claim", "dev", "t1", "--as", "alice")
    root.must("lock", "dev", "a.py", "--as", "alice", "--workspace", str(tree_of_work), "--reason", "r")
    root.must("ack", "dev", str(root.must("peek", "dev", "--json").json["latest_seq"]), "--as", "bob")
    child = start(root, *(word.replace("{root}", str(tree_of_work)) for word in words))
    until(root, {"bob": waits})
    child.kill()
    child.communicate()
    assert presence(root) == {}


def test_rosters_at_the_same_time_see_nobody_who_is_not_there(root: Root) -> None:
    child = start(root)
    until(root, {"bob": "messages"})
    child.kill()
    child.communicate()
    words = ("-c", "import sys\nfrom tests.race.test_watch import look; look(sys.argv[1])", str(root.path))
    lookers = [subprocess.Popen([sys.executable, *words], env=Cli(root.path).environment) for _ in range(3)]
    assert [looker.wait(30) for looker in lookers] == [0, 0, 0]


def look(path: str) -> None:
    """Looks five hundred times who waits, which is nobody."""
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.workspace import Workspace

    channel = Channel(Workspace(path, root_from="option"), "dev")
    for _ in range(500):
        assert channel.cursors.waiting([]) == []
