"""Watches as processes: what was not shown is unread, whatever ends them, and a dead one waits no more."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.processes import Cli
from tests.support.roots import make_root

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them"),
]
PATIENCE = 20.0


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(make_root(tmp_path / "root").path)


def post(cli: Cli, title: str, channel: str = "dev") -> None:
    cli.must("post", channel, "--from", "alice", "--title", title)


def next_line(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next line that a watch prints."""
    assert child.stdout is not None
    assert select.select([child.stdout], [], [], PATIENCE)[0], "nothing came"
    return dict(json.loads(child.stdout.readline()))


def until(cli: Cli, what: str, *, there: bool) -> None:
    """Returns once the roster says something, or no longer says it."""
    deadline = time.monotonic() + PATIENCE
    while (what in cli.must("roster", "dev").out) != there:
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_it_goes_on_until_it_is_interrupted(cli: Cli, number: signal.Signals, status: int) -> None:
    child = cli.start("watch", "dev", "--as", "bob", "--json")
    try:
        for title in ("one", "two"):
            post(cli, title)
            assert next_line(child)["title"] == title
        until(cli, "bob (waits for messages)", there=True)
        child.send_signal(number)
        assert child.wait(PATIENCE) == status
    finally:
        child.kill()
        child.communicate()
    until(cli, "bob (waits", there=False)
    assert cli.must("read", "dev", "--as", "bob", "--json").json["messages"] == []


def test_after_a_number_it_goes_on_behind_what_it_showed(cli: Cli) -> None:
    for title in ("one", "two"):
        post(cli, title)
    child = cli.start("watch", "dev", "--as", "bob", "--json", "--after", "1")
    try:
        assert next_line(child)["title"] == "two"
        post(cli, "three")
        assert next_line(child)["title"] == "three"
    finally:
        child.kill()
        out, _ = child.communicate()
    assert out == b""


def test_a_killed_one_waits_no_more_and_loses_nothing(cli: Cli) -> None:
    child = cli.start("watch", "dev", "--as", "bob", "--json")
    until(cli, "bob (waits for messages)", there=True)
    child.kill()
    child.communicate()
    until(cli, "bob (waits", there=False)
    post(cli, "after")
    shown = cli.must("read", "dev", "--as", "bob", "--json").json["messages"]
    assert [message["title"] for message in shown] == ["after"]


def test_a_reader_that_has_gone_ends_it_and_nothing_is_passed_over(cli: Cli) -> None:
    reading, writing = os.pipe()
    child = cli.start("watch", "dev", "--as", "bob", "--json", stdout=writing)
    os.close(writing)
    until(cli, "bob (waits for messages)", there=True)
    os.close(reading)
    post(cli, "unseen")
    assert child.wait(PATIENCE) == 141
    child.communicate()
    assert [m["title"] for m in cli.must("read", "dev", "--as", "bob", "--json").json["messages"]] == ["unseen"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_an_output_that_is_full_ends_it_and_nothing_is_passed_over(cli: Cli) -> None:
    post(cli, "unseen")
    with open("/dev/full", "wb") as full:
        child = cli.start("watch", "dev", "--as", "bob", stdout=full)
        assert child.wait(PATIENCE) == 2
        child.communicate()
    assert [m["title"] for m in cli.must("read", "dev", "--as", "bob", "--json").json["messages"]] == ["unseen"]


def test_a_channel_that_is_made_meanwhile_is_watched_too(cli: Cli) -> None:
    child = cli.start("watch", "--as", "bob", "--json")
    try:
        until(cli, "bob (waits for messages)", there=True)
        cli.must("init", "late")
        post(cli, "in late", "late")
        line = next_line(child)
        assert (line["channel"], line["title"]) == ("late", "in late")
    finally:
        child.kill()
        child.communicate()


def test_two_watches_of_one_name_show_every_message_to_somebody(cli: Cli) -> None:
    children = [cli.start("watch", "dev", "--as", "bob", "--json") for _ in range(2)]
    until(cli, "bob (waits for messages)", there=True)
    wanted = {f"m{number}" for number in range(20)}
    for title in sorted(wanted):
        post(cli, title)
    time.sleep(2)
    shown: set[str] = set()
    for child in children:
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=PATIENCE)
        shown |= {json.loads(line)["title"] for line in out.splitlines()}
    shown |= {message["title"] for message in cli.must("read", "dev", "--as", "bob", "--json").json["messages"]}
    assert shown == wanted
