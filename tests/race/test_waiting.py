"""Waking: no message falls between a look and a sleep, and a wait neither oversleeps nor burns the processor."""

from __future__ import annotations

import random
import statistics
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli, Worker, finish
from tests.support.roots import Root, make_root

if TYPE_CHECKING:
    from pathlib import Path

INTERVAL = 0.2
WAIT = ("wait", "dev", "--as", "bob", "--timeout", "8", "--json")


def _rounds(root: Root, rounds: int, *, wait_first: bool, interval: float = INTERVAL) -> None:
    """Runs rounds of one wait and one post, a random instant apart, and checks how long each wait took to wake."""
    wait = (*WAIT, "--interval", str(interval))
    with Worker(root.path) as waiter, Worker(root.path) as poster:
        wakes = _wakes(waiter, poster, rounds, wait, wait_first=wait_first)
    assert max(wakes) < interval + 1
    assert statistics.median(wakes) < 0.3


def _wakes(waiter: Worker, poster: Worker, rounds: int, wait: tuple[str, ...], *, wait_first: bool) -> list[float]:
    delays = random.Random(f"{rounds} {wait_first}")
    wakes: list[float] = []
    for number in range(rounds):
        post = ("post", "dev", "--from", "alice", "--title", f"round {number}", "--json")
        first, second, given = (waiter, poster, (wait, post)) if wait_first else (poster, waiter, (post, wait))
        first.give(*given[0])
        time.sleep(delays.uniform(0, 0.04))
        second.give(*given[1])
        posted = poster.take()
        after = time.monotonic()
        woken = waiter.take()
        wakes.append(time.monotonic() - after)
        assert (posted.status, woken.status) == (0, 0), (posted, woken)
        assert [message["title"] for message in woken.json["messages"]] == [f"round {number}"]
    return wakes


@pytest.mark.parametrize("wait_first", [True, False], ids=["wait-then-post", "post-then-wait"])
def test_no_wake_up_is_lost_between_a_wait_and_a_post(tmp_path: Path, wait_first: bool) -> None:
    root = make_root(tmp_path / "root")
    _rounds(root, 6, wait_first=wait_first, interval=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("wait_first", [True, False], ids=["wait-then-post", "post-then-wait"])
def test_no_wake_up_is_lost_in_two_hundred_rounds(tmp_path: Path, wait_first: bool) -> None:
    root = make_root(tmp_path / "root")
    _rounds(root, 120 if wait_first else 80, wait_first=wait_first)


@pytest.mark.slow
def test_no_wake_up_is_lost_between_whole_commands(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    cli = Cli(root.path)
    delays = random.Random(1)
    for number in range(20):
        waiter = cli.start(*WAIT)
        time.sleep(delays.uniform(0, 0.08))
        cli.must("post", "dev", "--from", "alice", "--title", f"round {number}")
        after = time.monotonic()
        woken = finish(waiter)
        assert woken.status == 0, woken
        assert [message["title"] for message in woken.json["messages"]] == [f"round {number}"]
        assert time.monotonic() - after < INTERVAL + 1


def test_messages_that_came_between_two_waits_are_all_given_to_the_second(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    with Worker(root.path) as waiter:
        waiter.give(*WAIT)
        time.sleep(0.05)
        root.post("first", sender="carol")
        assert [message["title"] for message in waiter.take().json["messages"]] == ["first"]
        for sender in ("dave", "erin", "frank"):
            root.post("answer", sender=sender)
        woken = waiter.call(*WAIT)
        assert woken.seconds < 0.2
        assert [message["from"] for message in woken.json["messages"]] == ["dave", "erin", "frank"]


@pytest.mark.parametrize("interval", ["5", pytest.param("0.2", marks=pytest.mark.slow)])
def test_a_wait_ends_at_its_deadline_with_status_1(tmp_path: Path, interval: str) -> None:
    root = make_root(tmp_path / "root")
    done = root.run("wait", "dev", "--as", "bob", "--timeout", "0.4", "--interval", interval, "--json")
    assert (done.status, done.json["timed_out"], done.json["messages"]) == (1, True, [])
    assert 0.4 <= done.seconds < 0.7


@pytest.mark.slow
def test_whole_commands_end_within_half_a_second_of_their_deadline(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    done = Cli(root.path).run("wait", "dev", "--as", "bob", "--timeout", "1", "--interval", "30")
    assert done.status == 1
    assert "call again" in done.out
    assert 1 <= done.seconds < 1.5


def test_a_wait_is_woken_in_a_busy_channel_by_what_is_for_it_alone(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    with Worker(root.path) as waiter:
        waiter.give(*WAIT)
        time.sleep(0.05)
        for number in range(5):
            root.must("post", "dev", "--from", "alice", "--to", "carol", "--title", f"not for bob {number}")
        time.sleep(INTERVAL + 0.1)
        root.post("for all")
        woken = waiter.take().json
    assert [message["title"] for message in woken["messages"]] == ["for all"]
    assert woken["cursor"] == 6


def test_an_own_message_and_an_audit_message_wake_nobody(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.plant("task-1.md", "a task\n")
    with Worker(root.path) as waiter:
        waiter.give(*WAIT[:5], "0.3", "--interval", "0.05", "--json")
        time.sleep(0.05)
        root.post("mine", sender="bob")
        root.must("claim", "dev", "task-1.md", "--as", "alice")
        assert waiter.take().status == 1
    assert [message["status"] for message in root.read()["messages"]] == ["marker.claimed"]


@pytest.mark.slow
def test_an_idle_wait_costs_hardly_more_processor_time_than_its_start(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    root = make_root(tmp_path / "root")
    for number in range(300):
        root.post(f"message {number}")
    root.must("ack", "dev", "300", "--as", "bob")
    cli = Cli(root.path)

    def cost(timeout: str, runs: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(runs):
            assert cli.run("wait", "dev", "--as", "bob", "--timeout", timeout).status == 1
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / runs

    cost("0", 2)
    start, idle = cost("0", 5), cost("3", 2)
    assert idle < start * 1.6 + 0.02, (start, idle)
