"""The answer in each host's own form: one golden table, and what no answer may ever hold."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.hooks.hosts import HOSTS, Said, answer
from tests.hooks.envelopes import EVENTS, GOLDEN, KINDS, PROMPT, SPOKEN, START, STOP, TOOL, keys, parsed
from tests.support.cli import DANGER

ROWS = [(form, event, kind) for form in GOLDEN for event in EVENTS for kind in KINDS[event]]


def answered(form: str, event: str, said: Said) -> str:
    """The answer in a form of the table."""
    host, _, how = form.partition(", ")
    return answer(host, event, said, native=how == "native")


def test_the_table_names_every_host_and_all_that_can_be_said() -> None:
    assert {form.partition(",")[0] for form in GOLDEN} == set(HOSTS)
    assert [set(table) for table in GOLDEN.values()] == [
        {(event, kind) for event in EVENTS for kind in KINDS[event]}
    ] * len(GOLDEN)


@pytest.mark.parametrize(("form", "event", "kind"), ROWS, ids=[" ".join(row) for row in ROWS])
def test_each_host_is_answered_in_the_form_that_it_obeys(form: str, event: str, kind: str) -> None:
    assert parsed(answered(form, event, SPOKEN[kind])) == GOLDEN[form][event, kind]


def test_nothing_to_say_is_no_output_at_all() -> None:
    assert {answered(form, event, Said()) for form in GOLDEN for event in (*EVENTS, "wait")} == {""}


SAYINGS = [
    Said(context=context, message=message, refusal=refusal, hold=hold)
    for context, message, refusal, hold in itertools.product(("", "C"), ("", "M"), ("", "R"), ("", "H"))
]


@pytest.mark.parametrize("form", GOLDEN)
def test_whatever_is_said_no_answer_allows_anything_or_ends_the_hosts_loop(form: str) -> None:
    for said, event in itertools.product(SAYINGS, EVENTS):
        text = answered(form, event, said)
        found = parsed(text)
        for word in ("allow", "approve", "ask", "continue", "stopReason", "suppressOutput", "updatedInput", "exit"):
            assert word not in text
        verdicts = {"decision": {"block", "deny"}, "permissionDecision": {"deny"}, "permission": {"deny"}}
        for key, values in verdicts.items():
            assert not isinstance(found, dict) or found.get(key) in (None, *values)


# What Codex 0.171 knows: one other key, and it drops the whole answer without a word.
CODEX_TOP = {"decision", "reason", "systemMessage", "hookSpecificOutput"}
CODEX_NESTED = {"hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"}


@pytest.mark.parametrize("event", EVENTS)
def test_codex_gets_no_key_that_its_schema_does_not_know(event: str) -> None:
    for said in SAYINGS:
        found = parsed(answer("codex", event, said))
        if isinstance(found, dict):
            assert set(found) <= CODEX_TOP
            assert set(found.get("hookSpecificOutput", {})) <= CODEX_NESTED
            assert event != STOP or "hookSpecificOutput" not in found
            assert event not in (START, PROMPT)
        else:
            # At its start and before a prompt text is context; at a stop it would be "Stop Failed".
            assert found == "" or event in (START, PROMPT)


def test_a_refusal_is_one_key_of_copilot_either_nested_or_at_the_top_never_both() -> None:
    for native in (False, True):
        found = parsed(answer("copilot", TOOL, Said(refusal="R"), native=native))
        assert ("permissionDecision" in found) == native
        assert ("hookSpecificOutput" in found) != native


@pytest.mark.parametrize("form", GOLDEN)
def test_a_refusal_goes_before_a_note_and_a_hold_before_a_message(form: str) -> None:
    refused = answered(form, TOOL, Said(refusal="R", context="C"))
    assert parsed(refused) == GOLDEN[form][TOOL, "refusal"]
    held = answered(form, STOP, Said(hold="H", message="M", context="C"))
    assert parsed(held) == GOLDEN[form][STOP, "hold and message"]


@given(st.text(st.characters()), st.sampled_from(list(GOLDEN)), st.sampled_from(EVENTS))
def test_whatever_text_it_is_the_answer_stays_one_document(text: str, form: str, event: str) -> None:
    for kind in KINDS[event]:
        said = Said(**{name: text for name, value in vars(SPOKEN[kind]).items() if value})
        shown = answered(form, event, said)
        wanted = GOLDEN[form][event, kind]
        if not isinstance(wanted, dict) or not text:
            continue
        assert keys(parsed(shown)) == keys(wanted)
        assert not DANGER & set(shown)
        shown.encode("utf-8")
