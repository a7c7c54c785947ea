"""A channel is deleted while others write and read in it: they are told that it is gone, and bring nothing back."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import ownership
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Clock, Workspace
from tests.support.processes import Cli, finish

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path
    from typing import Callable

pytestmark = pytest.mark.slow

POST = ("post", "dev", "--from", "alice", "--title", "t", "--body", "b")


class PausingFiles(FileSystem):
    """Does something just before the folder of a channel is renamed: the locks are held then."""

    def __init__(self, root: str, act: Callable[[], object]) -> None:
        super().__init__(root, Clock())
        self._act = act

    def replace(self, source: str, target: str) -> None:
        """Renames."""
        if ".deleted-" in target and source.endswith("dev"):
            self._act()
        super().replace(source, target)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "root")
    made.must("init", "dev", "--humans", "carol")
    made.must(*POST)
    made.must("task", "create", "dev", "T", "--from", "alice", "--title", "t")
    (tmp_path / "tree").mkdir()
    return made


def delete(cli: Cli, act: Callable[[], object] = lambda: None) -> ownership.Deleted:
    files = PausingFiles(str(cli.root), act)
    return ownership.delete_channel(Workspace(str(cli.root), files=files), "dev", "carol")


@pytest.mark.parametrize(
    "words",
    [
        POST,
        ("join", "dev", "--as", "bob"),
        ("task", "claim", "dev", "T", "--as", "bob"),
        ("lock", "dev", "a.txt", "--as", "bob", "--workspace", "{tree}"),
        ("compact", "dev", "--as", "bob"),
    ],
    ids=lambda words: words[0],
)
def test_who_waits_for_the_lock_is_told_that_the_channel_is_gone(cli: Cli, words: tuple[str, ...]) -> None:
    started: list[subprocess.Popen[bytes]] = []
    call = [word.format(tree=cli.root.parent / "tree") for word in words]

    def start() -> None:
        started.append(cli.start(*call, "--json"))
        time.sleep(1.0)
        assert started[0].poll() is None, "it must wait for the lock"

    delete(cli, start)
    done = finish(started[0])
    wanted = "STATE_CHANNEL_NOT_FOUND" if words[0] == "compact" else "CHANNEL_NOT_FOUND"
    assert (done.status, done.json["error"]["code"]) == (2, wanted)
    assert not (cli.root / "dev").exists()


def test_whoever_comes_meanwhile_waits_or_is_told_and_a_new_channel_is_empty(cli: Cli) -> None:
    """Writers and a reader, over and over, while it is deleted and made anew."""
    stop = threading.Event()
    codes: list[str] = []

    def call(*words: str) -> None:
        while not stop.is_set():
            done = cli.run(*words, "--json")
            codes.append("" if done.status == 0 else str(done.json["error"]["code"]))

    calls = (POST, POST, ("read", "dev", "--as", "bob", "--peek"), ("search", "dev", "b"))
    writers = [threading.Thread(target=call, args=words) for words in calls]
    for writer in writers:
        writer.start()
    try:
        for _ in range(6):
            time.sleep(0.3)
            delete(cli)
            time.sleep(0.2)
            cli.must("init", "dev", "--humans", "carol")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert set(codes) <= {"", "CHANNEL_NOT_FOUND"}
    assert "" in codes
    numbers = sorted(int(path.name[:4]) for path in (cli.root / "dev").glob("0*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
    assert cli.run("doctor").out == "no findings\n"


def test_two_who_delete_it_at_once_delete_it_once(cli: Cli) -> None:
    ends: list[object] = []

    def act() -> None:
        try:
            ends.append(delete(cli).messages)
        except ChatError as error:
            ends.append(error.code)

    threads = [threading.Thread(target=act) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, ends)) == ["2", *["CHANNEL_NOT_FOUND"] * 3]
    assert not [name for name in os.listdir(cli.root) if name.startswith(".deleted-")]
