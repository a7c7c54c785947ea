"""The commands of a person at a real terminal, as processes: what is typed decides, and nothing else can."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli, finish
from tests.support.terminals import CTRL_C, CTRL_D, Terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no such terminals"),
]

OFF = ("owner", "access", "off", "--as", "carol")
ON = ("owner", "access", "on", "--as", "carol")


class Desk(Cli):
    """A root with a channel in which carol is a person, and a terminal to sit at."""

    def at_terminal(self, *words: str, elsewhere: str = "", **variables: str) -> Terminal:
        """Starts a command at a terminal."""
        return Terminal([*self.command, *words], {**self.environment, **variables}, elsewhere=elsewhere)

    def decides(self, *words: str, types: str) -> tuple[int, str]:
        """Runs a command at a terminal, answers its question, and returns its status and output."""
        with self.at_terminal(*words) as terminal:
            terminal.until(": ")
            terminal.type(types)
            return terminal.end()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path / "root")
    made.must("init", "dev", "--humans", "carol")
    made.must("post", "dev", "--from", "alice", "--title", "t", "--body", "b")
    return made


def files_of(desk: Desk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in desk.root.glob("_owner*")}


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--interval", "60"),
        ("--task", "T"),
        ("--path", "a.txt", "--workspace", "{tree}", "--interval", "60"),
    ],
    ids=["messages", "long interval", "task", "path"],
)
def test_a_wait_ends_within_a_second_of_the_switch(desk: Desk, tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "tree").mkdir()
    tree = str(tmp_path / "tree")
    desk.must("task", "create", "dev", "T", "--from", "alice", "--title", "t")
    desk.must("task", "claim", "dev", "T", "--as", "alice")
    desk.must("lock", "dev", "a.txt", "--as", "alice", "--workspace", tree)
    desk.must("read", "dev", "--as", "bob")
    cursor = desk.must("ack", "dev", "--as", "bob", "--reset", "1", "--json").json["cursor"]
    waiting = desk.start("wait", "dev", "--as", "bob", *(word.format(tree=tree) for word in more))
    time.sleep(1.2)
    assert waiting.poll() is None
    status, out = desk.decides(*OFF, types="off\n")
    switched = time.monotonic()
    done = finish(waiting)
    assert time.monotonic() - switched < 1.2
    assert (status, out.startswith("chat is off in root ")) == (0, True)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("agent-chat: ACCESS_DISABLED: ")
    assert desk.run("read", "dev", "--as", "bob").err.startswith("agent-chat: ACCESS_DISABLED: ")
    assert desk.decides(*ON, types="on\n")[0] == 0
    assert desk.must("ack", "dev", "--as", "bob", "--reset", "1", "--json").json["previous"] == cursor
    desk.must("post", "dev", "--from", "alice", "--title", "u", "--body", "b")
    assert "u" in desk.must("wait", "dev", "--as", "bob").out


def test_a_wait_on_a_channel_that_is_deleted_is_told_so(desk: Desk) -> None:
    waiting = desk.start("wait", "dev", "--as", "bob", "--after", "1")
    time.sleep(0.5)
    status, out = desk.decides("channel", "delete", "dev", "--as", "carol", types="dev\n")
    done = finish(waiting)
    assert (status, out) == (0, "deleted dev with 1 messages\n")
    assert (done.status, done.err.startswith("agent-chat: CHANNEL_NOT_FOUND: ")) == (2, True)


def test_the_reply_can_go_elsewhere_than_the_question(desk: Desk) -> None:
    with desk.at_terminal("owner", "retention", "--as", "carol", "--json") as terminal:
        asked = terminal.until(": ")
        terminal.type("14\n")
        status, out = terminal.end()
    assert asked == f"type 14 to remove messages that are older than 14 days in {desk.root}: "
    assert (status, json.loads(out)["retention_days"]) == (0, 14)


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("on\n", "'on' was typed, not off"),
        ("offf\n", "'offf' was typed, not off"),
        ("OFF\n", "'OFF' was typed, not off"),
        ("yes\n", "'yes' was typed, not off"),
        ("\n", "'' was typed, not off"),
        (CTRL_D, "the input ended"),
    ],
)
def test_what_is_not_typed_again_changes_nothing(desk: Desk, typed: str, why: str) -> None:
    with desk.at_terminal(*OFF) as terminal:
        terminal.until(": ")
        terminal.type(typed)
        status, out = terminal.end()
        drawn = terminal.until("next: ")
    assert (status, out) == (2, "")
    assert f"\nagent-chat: ACCESS_NOT_CONFIRMED: {why}; nothing was changed\n" in drawn
    assert "  next: agent-chat owner access off --as carol\n" in drawn
    assert files_of(desk) == {}


def test_an_interrupt_at_the_question_changes_nothing(desk: Desk) -> None:
    for words in (OFF, ("owner", "retention", "3", "--as", "carol"), ("channel", "delete", "dev", "--as", "carol")):
        with desk.at_terminal(*words) as terminal:
            terminal.until(": ")
            terminal.type(CTRL_C)
            assert terminal.end() == (130, "")
            assert terminal.drawn.endswith("\nagent-chat: nothing was changed\n")
    assert files_of(desk) == {}
    assert desk.must("peek", "dev").out


@pytest.mark.parametrize(("elsewhere", "stream"), [("stdin", "standard input"), ("stderr", "standard error")])
def test_at_half_a_terminal_nobody_is_a_person(desk: Desk, elsewhere: str, stream: str) -> None:
    with desk.at_terminal(*OFF, elsewhere=elsewhere) as terminal:
        assert terminal.end() == (2, "")
        assert f"agent-chat: ACCESS_NOT_A_PERSON: {stream} is no terminal, so nobody can be asked" in terminal.drawn
    assert files_of(desk) == {}


@pytest.mark.parametrize("token", ["s-1.secret", "no token", "."])
def test_under_a_token_nobody_is_a_person(desk: Desk, token: str) -> None:
    with desk.at_terminal(*OFF, AGENT_CHAT_TOKEN=token) as terminal:
        assert terminal.end() == (2, "")
        assert "agent-chat: ACCESS_NOT_A_PERSON: AGENT_CHAT_TOKEN is set" in terminal.drawn
    assert files_of(desk) == {}


def test_an_empty_token_counts_as_none_and_the_name_may_come_from_the_environment(desk: Desk) -> None:
    with desk.at_terminal(*OFF[:3], AGENT_CHAT_TOKEN="", AGENT_CHAT_NAME="Carol") as terminal:
        terminal.until(": ")
        terminal.type("off\n")
        assert terminal.end()[0] == 0
    assert b'"who": "carol"' in files_of(desk)["_owner.log"]


def test_an_agent_is_no_person_at_a_terminal_either(desk: Desk) -> None:
    with desk.at_terminal(*OFF[:3], "--as", "alice") as terminal:
        assert terminal.end() == (2, "")
        assert "ACCESS_NOT_A_PERSON: 'alice' is not in the humans of any channel" in terminal.drawn
        assert "next: agent-chat join dev --as alice --role human" in terminal.drawn


def test_a_name_is_typed_as_it_is_shown_in_any_script(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "root")
    desk.must("init", "ключ-é", "--humans", "carol")
    status, out = desk.decides("channel", "delete", "КЛЮЧ-é", "--as", "carol", types="ключ-e\u0301\n")
    assert (status, out) == (0, "deleted ключ-é with 0 messages\n")
