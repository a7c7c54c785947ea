"""The arguments of a hook: what is not understood is noted and passed over, and keeps no hook from answering."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.cli import host_table
from agent_chat.hooks.call import EVENTS, HANDLERS, WAIT_SECONDS, Call
from agent_chat.hooks.entry import hook_words
from agent_chat.hooks.hosts import HOSTS
from tests.hooks.desk import Desk, stdin
from tests.support.cli import NULL, run, stdin_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def told(words: Sequence[str]) -> tuple[str, str, float, bool, int]:
    """The event, host, time, form and number of notes of a call."""
    call = Call(words, {})
    return call.event, call.host, call.timeout, call.as_json, len(call.notes)


@pytest.mark.parametrize("event", EVENTS)
def test_each_event_has_a_handler_that_is_there(event: str) -> None:
    module, _, name = HANDLERS[event].partition(":")
    assert callable(getattr(__import__(module, fromlist=[name]), name))
    assert told([event]) == (event, "", WAIT_SECONDS, False, 0)


@pytest.mark.parametrize(
    ("word", "event"),
    [
        *[(name, "session-start") for name in ("SessionStart", "sessionStart", "session_start", "session")],
        *[
            (name, "prompt")
            for name in ("UserPromptSubmit", "userPromptSubmitted", "beforeSubmitPrompt", "BeforeAgent")
        ],
        *[(name, "stop") for name in ("Stop", "STOP", "agentStop", "AfterAgent")],
        *[(name, "pre-tool-use") for name in ("PreToolUse", "preToolUse", "BeforeTool", "guard", "edit")],
        *[(name, "pre-tool-use") for name in ("beforeShellExecution", "beforeMCPExecution", "pre_tool_use")],
        *[(name, "post-tool-batch") for name in ("PostToolBatch", "postToolBatch")],
    ],
)
def test_an_event_is_known_by_the_name_that_its_host_has_for_it(word: str, event: str) -> None:
    assert told([word])[0] == event


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["stop", "--host", "codex"], ("stop", "codex", WAIT_SECONDS, False, 0)),
        (["--host=CODEX", "stop"], ("stop", "codex", WAIT_SECONDS, False, 0)),
        (["stop", "--json"], ("stop", "", WAIT_SECONDS, True, 0)),
        (["wait", "--timeout", "2.5"], ("wait", "", 2.5, False, 0)),
        (["wait", "--timeout=0"], ("wait", "", 0.0, False, 0)),
        (["stop", "--root", "/x"], ("stop", "", WAIT_SECONDS, False, 0)),
        (["stop", "--host"], ("stop", "", WAIT_SECONDS, False, 1)),
        (["stop", "--host", "emacs"], ("stop", "", WAIT_SECONDS, False, 1)),
        (["stop", "again", "--frobnicate", "-x"], ("stop", "", WAIT_SECONDS, False, 3)),
        (["--", "stop"], ("stop", "", WAIT_SECONDS, False, 1)),
        *[
            (["wait", f"--timeout={odd}"], ("wait", "", WAIT_SECONDS, False, 1))
            for odd in ("", "x", "-1", "nan", "inf")
        ],
        ([], ("", "", WAIT_SECONDS, False, 1)),
        ([""], ("", "", WAIT_SECONDS, False, 1)),
        (["no-such-event"], ("", "", WAIT_SECONDS, False, 1)),
    ],
)
def test_what_is_not_understood_is_noted_and_passed_over(words: list[str], wanted: tuple[Any, ...]) -> None:
    assert told(words) == wanted


def test_a_host_that_is_none_is_told_by_what_it_sends(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    heard = desk.hook("stop", {"turn_id": "t"}, host="emacs")
    assert (heard.host, heard.status) == ("codex", 0)
    assert "claude, codex, copilot" in heard.notes[0]


@given(
    st.lists(st.sampled_from([*EVENTS, *HOSTS, "--host", "--root", "--timeout", "--json", "="]) | st.text(), max_size=5)
)
def test_no_words_make_it_fail(words: list[str]) -> None:
    call = Call(words, {"AGENT_CHAT_ROOT": "/nowhere/at/all"})
    with stdin_of(NULL) as stream, stdin(stream):
        # Given a time a waiter would take it.
        answer = call.answer() if call.event != "wait" else None
    if answer is not None:
        assert answer.status == 0
        assert all("\n" not in note.rstrip("\n") for note in answer.notes)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["hook", "stop"], ["stop"]),
        (["hook"], []),
        (["--root", "/x", "hook", "stop"], ["stop", "--root", "/x"]),
        (["--root=/x", "--json", "hook", "stop"], ["stop", "--root=/x", "--json"]),
        (["--root", "hook", "hook", "stop"], ["stop", "--root", "hook"]),
        (["--as", "alice", "hook", "stop"], ["stop"]),
        (["--as=alice", "hook", "stop"], ["stop"]),
        (["--quiet", "hook", "stop"], ["stop"]),
        (["hook", "stop", "--host", "codex"], ["stop", "--host", "codex"]),
        (["hook", "--help"], None),
        (["hook", "stop", "-h"], None),
        (["--help", "hook"], None),
        (["post", "dev", "--title", "hook"], None),
        (["--root", "hook", "post", "dev"], None),
        (["hooks"], None),
        (["-x"], None),
        ([], None),
    ],
)
def test_a_command_line_is_a_hooks_whatever_stands_before_it(words: list[str], wanted: list[str] | None) -> None:
    assert hook_words(words) == wanted


# -- the answer in JSON ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", EVENTS)
def test_in_json_it_tells_what_would_be_printed_and_noted(tmp_path: Path, event: str) -> None:
    desk = Desk(tmp_path)
    desk.post("alice")
    desk.held("a.py", actor="carol")
    sent = {"session_id": "s-1", "cwd": str(desk.tree), "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
    variables = {"AGENT_CHAT_NAME": "bob", "AGENT_CHAT_ROOT": str(desk.root)}
    plain = desk.hook(event, sent)
    asked = desk.hook(event, {**sent, "session_id": "s-2"}, options=("--json", "--timeout=0"))
    assert asked.fields == {
        "root": str(desk.root),
        "root_from": "variable",
        "event": event,
        "host": "claude",
        "output": plain.output,
        "notes": list(plain.notes),
    }
    words = ["hook", event, "--host", "claude", "--json", "--timeout", "0"]
    data = json.dumps({**sent, "session_id": "s-3"}).encode()
    done = run(words, desk.root, stdin=data, environment=variables, workspace=desk.fresh())
    assert (done.status, done.json) == (plain.status, asked.fields)


def test_the_command_lists_the_events_and_hosts_that_there_are() -> None:
    assert (set(host_table.EVENTS), host_table.HOSTS) == (set(EVENTS), HOSTS)
    assert run(["hook", "--help"]).status == 0
