"""Writers at the same time, and a reader beside them: numbers without a gap, each message seen once, in order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli, Done, Worker
from tests.support.roots import make_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

POSTERS = 8


def _post(poster: int, number: int) -> list[str]:
    return ["post", "dev", "--from", f"agent{poster}", "--title", f"{poster} {number}", "--body", "text", "--json"]


def _check(root: Path, posts: list[Done], seen: list[dict[str, object]], rounds: int) -> None:
    """Checks that every post got a number and a file of its own, and that the reader was shown each once, in order."""
    total = POSTERS * rounds
    assert [done for done in posts if done.status != 0] == []
    replies = [done.json for done in posts]
    assert sorted(reply["seq"] for reply in replies) == list(range(1, total + 1))
    files = sorted(path.name for path in (root / "dev").glob("*.md"))
    assert files == sorted(reply["file"] for reply in replies)
    assert [message["seq"] for message in seen] == list(range(1, total + 1))
    assert {message["file"] for message in seen} == set(files)
    assert max(done.seconds for done in posts) < 10
    for poster in range(POSTERS):
        own = [reply["seq"] for reply in replies if f"-agent{poster}-" in reply["file"]]
        assert own == sorted(own)


def _read_until(done: threading.Event, read: Callable[[], Done]) -> list[dict[str, object]]:
    """Reads in a loop until the posters have ended, and then what is left."""
    seen: list[dict[str, object]] = []
    while True:
        last = done.is_set()
        reply = read()
        assert reply.status == 0, reply
        seen += reply.json["messages"]
        if last and not reply.json["has_more"]:
            return seen


def test_posts_of_eight_processes_are_numbered_without_a_gap_and_read_once_each(tmp_path: Path) -> None:
    rounds = 6
    make_root(tmp_path / "root")
    workers = [Worker(tmp_path / "root") for _ in range(POSTERS + 1)]
    reader = workers.pop()
    posts: list[Done] = []
    over = threading.Event()

    def collect() -> None:
        for worker in workers:
            posts.extend(worker.take() for _ in range(rounds))
        over.set()

    try:
        reader.call("read", "dev", "--as", "reader", "--json")
        for poster, worker in enumerate(workers):
            for number in range(rounds):
                worker.give(*_post(poster, number))
        collector = threading.Thread(target=collect)
        collector.start()
        seen = _read_until(over, lambda: reader.call("read", "dev", "--as", "reader", "--json"))
        collector.join()
    finally:
        for worker in (*workers, reader):
            worker.__exit__()
    _check(tmp_path / "root", posts, seen, rounds)


@pytest.mark.slow
def test_four_hundred_posts_of_whole_processes_are_numbered_without_a_gap_and_read_once_each(tmp_path: Path) -> None:
    rounds = 50
    make_root(tmp_path / "root")
    cli = Cli(tmp_path / "root")
    posts: list[list[Done]] = [[] for _ in range(POSTERS)]
    over = threading.Event()

    def post(poster: int) -> None:
        for number in range(rounds):
            posts[poster].append(cli.run(*_post(poster, number)))

    threads = [threading.Thread(target=post, args=(poster,)) for poster in range(POSTERS)]

    def collect() -> None:
        for thread in threads:
            thread.join()
        over.set()

    for thread in (*threads, threading.Thread(target=collect)):
        thread.start()
    seen = _read_until(over, lambda: cli.run("read", "dev", "--as", "reader", "--json"))
    _check(tmp_path / "root", [done for one in posts for done in one], seen, rounds)


def test_eight_processes_that_make_one_channel_have_one_winner(tmp_path: Path) -> None:
    make_root(tmp_path / "root", channel="other")
    workers = [Worker(tmp_path / "root") for _ in range(POSTERS)]
    try:
        for number, worker in enumerate(workers):
            worker.give("init", "new", "--topic", f"by {number}", "--json")
        ends = [worker.take() for worker in workers]
    finally:
        for worker in workers:
            worker.__exit__()
    assert sorted(done.status for done in ends) == [0] + [2] * (POSTERS - 1)
    assert {done.json["error"]["code"] for done in ends if done.status} == {"CHANNEL_EXISTS"}
    winner = next(number for number, done in enumerate(ends) if done.status == 0)
    roster = make_root(tmp_path / "root", channel="third").must("roster", "new", "--json").json
    assert roster["topic"] == f"by {winner}"


def test_one_of_eight_processes_gets_a_marker(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.plant("task-12.md", "# a task\n")
    workers = [Worker(tmp_path / "root") for _ in range(POSTERS)]
    try:
        for number, worker in enumerate(workers):
            worker.give("claim", "dev", "task-12.md", "--as", f"agent{number}", "--json")
        ends = [worker.take() for worker in workers]
    finally:
        for worker in workers:
            worker.__exit__()
    (winner,) = [number for number, done in enumerate(ends) if done.status == 0]
    assert {done.json["error"]["code"] for done in ends if done.status} == {"MARKER_CLAIMED"}
    assert {done.json["error"]["owner"] for done in ends if done.status} == {f"agent{winner}"}
    assert [path.name for path in (tmp_path / "root" / "dev").glob("task-*")] == [f"task-12.CLAIMED-agent{winner}.md"]


def test_a_retry_with_a_key_posts_once_from_eight_processes(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    workers = [Worker(tmp_path / "root") for _ in range(POSTERS)]
    try:
        for worker in workers:
            worker.give("post", "dev", "--from", "alice", "--title", "once", "--key", "k1", "--json")
        ends = [worker.take() for worker in workers]
    finally:
        for worker in workers:
            worker.__exit__()
    assert {(done.status, done.json["seq"]) for done in ends} == {(0, 1)}
    assert root.titles() == ["once"]
