"""What a host hears in an answer, and the judgement on a canary: strict as the hosts are (docs/hosts.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_chat.records.hook_answer import FAILED, OK, Canary, Ran, Verdict, first_line, heard, judged

CANARY = Canary(agent="canary-1", unread=1, holder="holder-2")
MAIL = "agent-chat: 1 unread for canary-1: canary 1 (holder-2). Read: `agent-chat read`."
HELD = "agent-chat: canary.txt is locked by holder-2 in canary, 9 min left."
HOSTS = ("claude", "codex", "copilot", "gemini", "cursor", "opencode", "omp", "pi")
EXTENSIONS = ("opencode", "omp", "pi")


def nested(name: str, **fields: str) -> dict[str, Any]:
    """The form of Claude Code, which others took over."""
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


def denied(reason: str = HELD) -> dict[str, Any]:
    """A refusal in that form."""
    return nested("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


# Host, event, and an answer that the host obeys.
OBEYED: list[tuple[str, str, str | dict[str, Any]]] = [
    ("claude", "session-start", MAIL),
    ("claude", "session-start", nested("SessionStart", additionalContext=MAIL)),
    ("claude", "prompt", MAIL),
    ("claude", "post-tool-batch", nested("PostToolBatch", additionalContext=MAIL)),
    ("claude", "pre-tool-use", {**denied(), "unknown": 1}),
    ("claude", "stop", {"decision": "block", "reason": MAIL, "systemMessage": "x"}),
    ("codex", "session-start", MAIL),
    ("codex", "prompt", nested("UserPromptSubmit", additionalContext=MAIL)),
    ("codex", "pre-tool-use", denied()),
    ("codex", "stop", {"decision": "block", "reason": MAIL}),
    ("copilot", "session-start", {"additionalContext": MAIL}),
    ("copilot", "prompt", {"additionalContext": MAIL}),
    ("copilot", "pre-tool-use", denied()),
    ("copilot", "stop", {"decision": "block", "reason": MAIL}),
    ("gemini", "session-start", nested("SessionStart", additionalContext=MAIL)),
    ("gemini", "prompt", nested("BeforeAgent", additionalContext=MAIL)),
    ("gemini", "pre-tool-use", {"decision": "deny", "reason": HELD}),
    ("gemini", "stop", {"decision": "deny", "reason": MAIL}),
    ("cursor", "session-start", {"additional_context": MAIL}),
    ("cursor", "pre-tool-use", {"permission": "deny", "agent_message": HELD, "user_message": HELD}),
    ("cursor", "stop", {"followup_message": MAIL}),
    *[(host, "session-start", MAIL) for host in EXTENSIONS],
    *[(host, "pre-tool-use", {"block": True, "reason": HELD}) for host in EXTENSIONS],
    *[(host, "stop", {"block": True, "reason": MAIL}) for host in EXTENSIONS],
]


def ran(answer: str | dict[str, Any], status: int | None = 0, errors: str = "") -> Ran:
    """How a hook ended that gave an answer."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Ran(status=status, output=text.encode(), errors=errors.encode())


def verdict(host: str, event: str, result: Ran) -> Verdict:
    """The judgement on it."""
    return judged(host, event, result, CANARY, seconds=10)


@pytest.mark.parametrize(("host", "event", "answer"), OBEYED)
def test_what_a_host_obeys_is_ok(host: str, event: str, answer: str | dict[str, Any]) -> None:
    detail = "refused the canary edit" if event == "pre-tool-use" else ""
    assert verdict(host, event, ran(answer)) == Verdict(outcome=OK, detail=detail)


@pytest.mark.parametrize(("host", "event", "answer"), OBEYED)
def test_the_same_about_another_agent_or_lock_is_none(host: str, event: str, answer: str | dict[str, Any]) -> None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    other = text.replace("canary-1", "canary-x").replace("holder-2", "holder-x")
    assert verdict(host, event, ran(other)).outcome == FAILED


# Who obeys the refusal, the hold and the text of whom; nobody else is served by them.
REFUSALS: dict[str, tuple[str | dict[str, Any], set[str]]] = {
    "nested": (denied(), {"claude", "codex", "copilot"}),
    "gemini": ({"decision": "deny", "reason": HELD}, {"gemini"}),
    "cursor": ({"permission": "deny", "agent_message": HELD}, {"cursor"}),
    "extension": ({"block": True, "reason": HELD}, {*EXTENSIONS}),
    "allow": (nested("PreToolUse", permissionDecision="allow", permissionDecisionReason=HELD), set()),
    "ask": (nested("PreToolUse", permissionDecision="ask", permissionDecisionReason=HELD), set()),
    "note": (nested("PreToolUse", additionalContext=HELD), set()),
    "other event": (nested("PostToolUse", permissionDecision="deny", permissionDecisionReason=HELD), set()),
    "plain": (HELD, set()),
    "list": ("[1]", set()),
}
HOLDS: dict[str, tuple[str | dict[str, Any], set[str]]] = {
    "block": ({"decision": "block", "reason": MAIL}, {"claude", "codex", "copilot"}),
    "deny": ({"decision": "deny", "reason": MAIL}, {"gemini"}),
    "followup": ({"followup_message": MAIL}, {"cursor"}),
    "extension": ({"block": True, "reason": MAIL}, {*EXTENSIONS}),
    "message": ({"systemMessage": MAIL}, set()),
    "plain": (MAIL, set()),
}


@pytest.mark.parametrize("form", REFUSALS)
def test_a_refusal_in_the_form_of_another_host_is_no_refusal(form: str) -> None:
    answer, obeying = REFUSALS[form]
    assert {host for host in HOSTS if verdict(host, "pre-tool-use", ran(answer)).outcome == OK} == obeying


@pytest.mark.parametrize("form", HOLDS)
def test_a_hold_in_the_form_of_another_host_is_none(form: str) -> None:
    answer, obeying = HOLDS[form]
    assert {host for host in HOSTS if verdict(host, "stop", ran(answer)).outcome == OK} == obeying


def test_codex_drops_an_answer_for_one_key() -> None:
    for answer in ({**denied(), "note": 1}, nested("PreToolUse", **denied()["hookSpecificOutput"] | {"x": "y"})):
        found = verdict("codex", "pre-tool-use", ran(answer))
        assert found.outcome == FAILED
        assert "drops the whole answer for the key" in found.detail
    assert heard("codex", "stop", json.dumps({"decision": "block", "reason": "r", **nested("Stop")})).fault
    assert heard("codex", "session-start", f"[agent-chat] {MAIL}").fault


@pytest.mark.parametrize("host", ["copilot", "gemini", "cursor"])
def test_plain_text_tells_the_model_nothing_in_some_hosts(host: str) -> None:
    assert verdict(host, "session-start", ran(MAIL)).outcome == FAILED


@pytest.mark.parametrize(
    ("result", "detail"),
    [
        (ran("", None), "no answer within 10 s"),
        (ran("", 2, "python3: can't open file\n"), "status 2: python3: can't open file"),
        (ran(denied(), 1), "status 1"),
        (ran("", 127, "\nsh: 1: agent-chat: not found\nmore"), "status 127: sh: 1: agent-chat: not found"),
        (ran(""), "said nothing"),
        (ran(" \n", 0, "sh: python3: not found"), "said nothing: sh: python3: not found"),
        (Ran(status=0, output=b"\xff\xfe"), "2 bytes that are no UTF-8"),
        (ran("{"), "is no JSON object, which claude wants here: {"),
        (ran("{}"), "holds nothing that claude obeys here: {}"),
        (ran(nested("PreToolUse", additionalContext="look out")), "did not refuse the canary edit: look out"),
    ],
)
def test_what_came_back_is_told(result: Ran, detail: str) -> None:
    assert verdict("claude", "pre-tool-use", result) == Verdict(outcome=FAILED, detail=detail)


def test_a_stop_hook_that_only_tells_does_not_hold() -> None:
    found = verdict("claude", "stop", ran({"systemMessage": "1 unread"}))
    assert found == Verdict(outcome=FAILED, detail='did not hold the session: {"systemMessage": "1 unread"}')


def test_a_waiter_wakes_by_status_2_and_its_line() -> None:
    assert verdict("claude", "wait", ran("", 2, MAIL)) == Verdict(outcome=OK)
    assert verdict("claude", "wait", ran("", 2, "can't open file")).outcome == FAILED
    assert verdict("claude", "wait", ran(MAIL)).detail == "status 0, which wakes nobody"


def test_what_is_shown_is_one_safe_and_bounded_line() -> None:
    assert first_line(b"\n\x1b[31mred\nmore") == "\\x1b[31mred"
    shown = first_line(b"x" * 5000)
    assert shown.endswith("… (5000 bytes)")
    assert len(shown) < 200
