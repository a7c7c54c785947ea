"""The roster: who waits and on what, who was seen when, who is only counted; and what a post says of who is away."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations.presence import Presence
from agent_chat.storage.channel import Channel
from tests.support.cli import START, FakeClock, FaultyFiles, Result, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0


class Desk:
    """A root with one channel, and a clock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = FakeClock()

    def run(self, *arguments: str, **options: Any) -> Result:
        workspace = workspace_on(self.path, clock=self.clock, **options)
        return run(arguments, self.path, workspace=workspace)

    def must(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert (done.status, done.stderr) == (0, ""), done
        return done.stdout

    def roster(self) -> list[str]:
        return self.must("roster", "dev").splitlines()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.must("init", "dev")
    return made


def test_who_was_seen_is_named_with_the_time(desk: Desk) -> None:
    desk.must("post", "dev", "--from", "alice", "--title", "t")
    desk.clock.turn(120)
    desk.must("read", "dev", "--as", "bob")
    assert "others: alice (seen 2026-01-02 03:04Z), bob (seen 2026-01-02 03:06Z)" in desk.roster()


def test_peeking_and_being_written_to_are_not_being_seen(desk: Desk) -> None:
    desk.must("post", "dev", "--from", "alice", "--to", "bob", "--title", "t")
    for words in (("read", "dev", "--as", "bob", "--peek"), ("inbox", "--as", "bob"), ("peek", "dev")):
        desk.must(*words)
    assert [line for line in desk.roster() if "bob" in line] == []
    desk.must("wait", "dev", "--as", "bob", "--timeout", "0", "--peek")
    assert [line for line in desk.roster() if "bob (seen" in line] != []


def test_who_waits_is_shown_with_what_it_waits_on_until_it_ends(desk: Desk) -> None:
    desk.must("join", "dev", "--as", "Bob")
    there = Presence((Channel(workspace_on(desk.path, clock=desk.clock), "dev"),), ("Bob",), "a reply to #3")
    assert "members: Bob (waits for a reply to #3) (open: anyone may take part)" in desk.roster()
    reply = desk.run("roster", "dev", "--json").json
    assert reply["waiting"] == ["Bob"]
    assert [(each["waiting"], each["waits_for"]) for each in reply["presence"]] == [(True, "a reply to #3")]
    there.end()
    reply = desk.run("roster", "dev", "--json").json
    assert [(each["waiting"], each["waits_for"]) for each in reply["presence"]] == [(False, None)]


def test_what_a_session_said_of_itself_last_is_shown(desk: Desk) -> None:
    for detail in ("reading", "tests"):
        body = ("--status", "busy", "--detail", detail)
        desk.must("event", "post", "dev", "--type", "status", "--from", "alice", "--harness", "x", *body)
    line = next(line for line in desk.roster() if "alice" in line)
    assert "busy: tests)" in line


def test_who_was_not_seen_for_a_week_is_counted(desk: Desk) -> None:
    desk.must("join", "dev", "--as", "member")
    for number in range(30):
        desk.must("read", "dev", "--as", f"session-{number}")
    desk.clock.turn(7 * DAY)
    desk.must("read", "dev", "--as", "alice")
    assert [line for line in desk.roster() if line.startswith("not seen")] == []
    desk.clock.turn(1)
    lines = desk.roster()
    assert "not seen for a week: 30 more" in lines
    assert "members: member (not seen) (open: anyone may take part)" in lines
    assert not any("session-" in line for line in lines)
    assert desk.run("roster", "dev", "--json").json["gone"] == 30


@pytest.mark.parametrize(("away", "said"), [(DAY, ""), (DAY + 1, "stored; bob not seen since 2026-01-02 03:04Z\n")])
def test_a_post_says_who_was_not_seen_within_a_day(desk: Desk, away: float, said: str) -> None:
    desk.must("read", "dev", "--as", "bob")
    desk.clock.turn(away)
    out = desk.must("post", "dev", "--from", "alice", "--to", "bob", "--title", "t")
    assert out == "#1 dev/0001-alice-t.md\n" + said
    assert "delivered" not in out


def test_a_post_names_who_was_never_seen(desk: Desk) -> None:
    out = desk.must("post", "dev", "--from", "alice", "--to", "bob,carol", "--title", "t")
    assert out.splitlines()[1:] == ["stored; bob, carol not seen here yet"]
    reply = desk.run("post", "dev", "--from", "alice", "--to", "bob", "--title", "t", "--json").json
    assert reply["not_seen"] == [{"name": "bob", "since": None}]


@pytest.mark.parametrize("what", [".cache/seen-bob", ".cursors/carol.waiting"])
def test_what_cannot_be_told_is_an_error_and_the_rest_is_shown(desk: Desk, what: str) -> None:
    desk.must("read", "dev", "--as", "alice")
    (desk.path / "dev" / ".cursors").mkdir(exist_ok=True)
    (desk.path / "dev" / what).mkdir()
    done = desk.run("roster", "dev")
    assert (done.status, done.code) == (2, "PATH_REFUSED")
    assert "others: alice (seen 2026-01-02 03:04Z)" in done.stdout
    assert desk.run("read", "dev", "--as", "bob").status == 0


@pytest.mark.parametrize("code", [5, 13])
@pytest.mark.parametrize("json", [(), ("--json",)])
def test_whatever_fails_no_roster_is_wrong_in_silence(desk: Desk, code: int, json: tuple[str, ...]) -> None:
    desk.must("join", "dev", "--as", "bob")
    desk.must("read", "dev", "--as", "bob")
    right = desk.run("roster", "dev", *json).stdout
    n = 0
    while True:
        n += 1
        files = FaultyFiles(str(desk.path), desk.clock, at=n, code=code)
        done = desk.run("roster", "dev", *json, files=files)
        if not files.fired:
            break
        assert done.status == 2 or done.stdout == right, (n, done)
        assert done.status != 70
    assert n > 3


def test_a_time_that_is_none_is_no_crash(desk: Desk) -> None:
    cursor = desk.path / "dev" / ".cursors" / "bob.txt"
    cursor.parent.mkdir(exist_ok=True)
    cursor.write_text("0\n")
    os.utime(cursor, (START * 1000, START * 1000))
    assert desk.run("roster", "dev").status == 0
    assert desk.run("post", "dev", "--from", "alice", "--to", "bob", "--title", "t").status == 0
