"""Who called: told by the payload before the environment, since a host inherits the variables of the one around it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from agent_chat.hooks.hosts import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI, host_of
from agent_chat.hooks.payload import Payload
from tests.hooks import payloads
from tests.hooks.payloads import OF_HOOKS, OF_SHELLS, OUTER, SESSION


def told(fields: dict[str, Any], *environments: dict[str, str]) -> str:
    """The host of a payload that arrives with some variables, the later ones over the earlier."""
    variables = {name: value for each in environments for name, value in each.items()}
    return host_of(variables, Payload(fields=fields))


@pytest.mark.parametrize("outer", OF_SHELLS)
def test_each_host_is_known_by_what_it_really_sent_wherever_it_was_started(outer: str) -> None:
    hosts = {name: payloads.host_of(name) for name in payloads.NAMES}
    found = {name: told(payloads.read(name), OF_SHELLS[outer], OF_HOOKS[host]) for name, host in hosts.items()}
    assert found == hosts


@pytest.mark.parametrize("outer", OF_SHELLS)
def test_the_first_payload_of_a_session_in_a_terminal_names_a_model_too(outer: str) -> None:
    fields = payloads.read("claude-SessionStart", model="claude-sonnet-4-5")
    assert told(fields, OF_SHELLS[outer], OF_HOOKS["claude"]) == CLAUDE


@pytest.mark.parametrize("outer", OF_SHELLS)
@pytest.mark.parametrize("attended", [{"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {}])
def test_a_session_that_nobody_attends_is_known_too(attended: dict[str, str], outer: str) -> None:
    for name in payloads.NAMES:
        if payloads.host_of(name) == "claude":
            assert told(payloads.read(name), OF_SHELLS[outer], OF_HOOKS["claude"], attended) == CLAUDE


@pytest.mark.parametrize("outer", OF_SHELLS)
def test_codex_is_known_whether_or_not_its_user_has_set_a_home_for_it(outer: str) -> None:
    for name, home in itertools.product(payloads.NAMES, ({}, {"CODEX_HOME": "/c"})):
        if payloads.host_of(name) == "codex":
            assert told(payloads.read(name), OF_SHELLS[outer], OF_HOOKS["codex"], home) == CODEX


@pytest.mark.parametrize("outer", OF_SHELLS)
def test_cursor_is_known_by_fields_that_nobody_else_sends(outer: str) -> None:
    assert told(payloads.CURSOR, OF_SHELLS[outer]) == CURSOR
    for name in ("conversation_id", "cursor_version"):
        assert told({name: payloads.CURSOR[name]}, OF_SHELLS[outer]) == CURSOR


def test_copilot_is_known_when_it_calls_by_its_own_names() -> None:
    for outer in OF_SHELLS:
        assert told(payloads.COPILOT_NATIVE, OF_SHELLS[outer], OF_HOOKS["copilot"]) == COPILOT


@pytest.mark.parametrize(
    ("host", "environment"),
    [
        (CLAUDE, {}),
        (CLAUDE, {"CLAUDECODE": "1"}),
        (CLAUDE, {"CLAUDECODE": "1", "COPILOT_CLI": "1"}),
        (CLAUDE, {"CLAUDECODE": "1", "GEMINI_CLI": "1"}),
        (CLAUDE, {"CLAUDECODE": "1", "PLUGIN_ROOT": "/x", "CODEX_HOME": "/c"}),
        # Copilot and Gemini set it too, so it tells nothing.
        (CLAUDE, {"CLAUDE_PROJECT_DIR": "/p", "CLAUDE_PLUGIN_ROOT": "/x"}),
        (CLAUDE, {"COPILOT_CLI": "", "GEMINI_CLI": "", "PLUGIN_ROOT": ""}),
        (COPILOT, {"COPILOT_CLI": "1", "PLUGIN_ROOT": "/x"}),
        (GEMINI, {"GEMINI_SESSION_ID": OUTER}),
        (GEMINI, {"GEMINI_CLI": "1"}),
        (CODEX, {"PLUGIN_ROOT": "/x"}),
        (CODEX, {"CODEX_HOME": "/c"}),
    ],
)
def test_an_empty_payload_leaves_the_variables(host: str, environment: dict[str, str]) -> None:
    assert told({}, environment) == host


@pytest.mark.parametrize(
    ("host", "name"),
    [(CLAUDE, "CLAUDE_CODE_SESSION_ID"), (GEMINI, "GEMINI_SESSION_ID"), (COPILOT, "COPILOT_AGENT_SESSION_ID")],
)
def test_a_variable_with_the_sessions_own_id_settles_it(host: str, name: str) -> None:
    around = {"CLAUDECODE": "1", "COPILOT_CLI": "1", "GEMINI_CLI": "1", "PLUGIN_ROOT": "/x"}
    assert told({"session_id": SESSION}, around, {name: SESSION}) == host
    assert told({"session_id": "", "timestamp": "t"}, {name: ""}) == CLAUDE


def test_nothing_of_what_people_and_tools_wrote_tells_who_called() -> None:
    """A prompt, a patch or the output of a tool may hold the names of all fields and variables."""
    text = '{"turn_id": "t", "cursor_version": "2"} COPILOT_CLI=1 GEMINI_SESSION_ID=x CODEX_HOME=/c "permission_mode"'
    for name in payloads.NAMES:
        host, fields = payloads.host_of(name), payloads.read(name)
        fields.update({key: text for key in ("prompt", "last_assistant_message", "tool_response") if key in fields})
        fields["tool_input"] = {"turn_id": "t", "cursor_version": "2", "timestamp": "t", "command": text}
        assert told(fields, OF_HOOKS[host]) == host
