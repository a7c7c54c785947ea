"""The roster: who waits now and on what, when each was last seen, and what it last said of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations.presence import Presence
from agent_chat.storage.channel import Channel
from tests.support.cli import FakeClock, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Result

DAY = 86_400.0


class Desk:
    """A root whose clock the test turns."""

    def __init__(self, root: Path) -> None:
        self.root, self.clock = root, FakeClock()
        self("init", "dev", "--members", "alice,bob", "--humans", "carol")

    def __call__(self, *words: str) -> Result:
        return run(words, self.root, workspace=workspace_on(self.root, clock=self.clock))

    def person(self, name: str) -> dict[str, Any]:
        """What the roster says of somebody."""
        present = self("roster", "dev", "--json").json["presence"]
        return next(each for each in present if each["name"] == name)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "root")


def test_who_never_came_is_not_seen(desk: Desk) -> None:
    assert "bob (not seen)" in desk("roster", "dev").stdout
    assert desk.person("bob") == {"name": "bob", "waiting": False, "waits_for": None, "seen": None, "status": None}


@pytest.mark.parametrize(
    "words",
    [
        ("post", "dev", "--from", "bob", "--title", "t"),
        ("read", "dev", "--as", "bob"),
        ("wait", "dev", "--as", "bob", "--timeout", "0"),
        ("watch", "dev", "--as", "bob", "--timeout", "0"),
        ("event", "post", "dev", "--from", "bob", "--type", "status", "--harness", "omp", "--status", "busy"),
    ],
    ids=" ".join,
)
def test_reading_posting_and_waiting_is_being_seen(desk: Desk, words: tuple[str, ...]) -> None:
    desk(*words)
    before = desk.person("bob")["seen"]
    assert before is not None
    desk.clock.turn(DAY)
    desk("post", "dev", "--from", "alice", "--to", "bob", "--title", "for bob")
    desk("task", "create", "dev", "t-1", "--from", "alice", "--title", "t", "--owner", "bob")
    assert desk.person("bob")["seen"] == before, "what others do is no sign of bob"
    desk(*words)
    assert desk.person("bob")["seen"] > before


def test_a_look_without_a_cursor_is_not_being_seen(desk: Desk) -> None:
    for words in (("read", "dev", "--as", "bob", "--peek"), ("inbox", "--as", "bob"), ("peek", "dev")):
        desk(*words)
    assert desk.person("bob")["seen"] is None


@pytest.mark.parametrize("what", ["messages", "a reply to #3", "task t-1", "path src/a.py"])
def test_who_waits_is_shown_with_what_it_waits_for(desk: Desk, what: str) -> None:
    there = Presence((Channel(workspace_on(desk.root, clock=desk.clock), "dev"),), ("bob",), what)
    try:
        assert f"bob (waits for {what})" in desk("roster", "dev").stdout
        assert (desk.person("bob")["waiting"], desk.person("bob")["waits_for"]) == (True, what)
    finally:
        there.end()
    assert "bob (seen 2026-01-02 03:04Z)" in desk("roster", "dev").stdout
    assert (desk.person("bob")["waiting"], desk.person("bob")["waits_for"]) == (False, None)


def test_the_last_status_that_somebody_announced_is_shown(desk: Desk) -> None:
    announce = ("event", "post", "dev", "--from", "bob", "--type", "status", "--harness", "omp", "--status")
    desk(*announce, "ready")
    desk(*announce, "busy", "--detail", "tests")
    assert "bob (seen 2026-01-02 03:04Z, busy: tests)" in desk("roster", "dev").stdout
    assert desk.person("bob")["status"]["detail"] == "tests"


def test_who_was_not_seen_for_a_week_is_counted(desk: Desk) -> None:
    desk("init", "open")
    for number in range(5):
        desk("read", "open", "--as", f"helper{number}")
    assert desk("roster", "open", "--json").json["gone"] == 0
    desk.clock.turn(8 * DAY)
    desk("read", "open", "--as", "dora")
    reply = desk("roster", "open", "--json").json
    assert (reply["gone"], [each["name"] for each in reply["presence"]]) == (5, ["dora"])
    assert "not seen for a week: 5 more" in desk("roster", "open").stdout


def test_a_post_to_somebody_who_was_not_seen_says_that_it_is_stored(desk: Desk) -> None:
    post = ("post", "dev", "--from", "alice", "--to", "bob,carol", "--title", "t")
    assert desk(*post).stdout.splitlines()[1:] == ["stored; bob, carol not seen here yet"]
    desk("read", "dev", "--as", "bob")
    assert desk(*post).stdout.splitlines()[1:] == ["stored; carol not seen here yet"]
    desk.clock.turn(DAY + 60)
    shown = desk(*post)
    assert shown.stdout.splitlines()[1:] == [
        "stored; carol not seen here yet",
        "stored; bob not seen since 2026-01-02 03:04Z",
    ]
    assert "delivered" not in shown.stdout
    assert desk("post", "dev", "--from", "alice", "--title", "for all").stdout.count("\n") == 1


def test_after_the_clock_was_set_back_nobody_is_counted_on(desk: Desk) -> None:
    desk.clock.turn(400 * DAY)
    desk("read", "dev", "--as", "bob")
    desk.clock.turn(-400 * DAY)
    shown = desk("post", "dev", "--from", "alice", "--to", "bob", "--title", "t").stdout
    assert shown.splitlines()[1:] == ["stored; bob not seen here yet"]
