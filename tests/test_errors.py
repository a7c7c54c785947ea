"""The table of codes is whole, and the exception carries what a caller needs."""

from __future__ import annotations

import re

import pytest

from agent_chat import errors
from agent_chat.errors import CODES, KINDS, ChatError


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_kind_a_cause_and_a_next_step(code: str) -> None:
    kind, cause, following = CODES[code]
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code)
    assert kind in KINDS
    assert cause.endswith(".")
    assert cause[0].isupper()
    assert following
    assert not following.endswith(".")
    assert "\n" not in cause + following


def test_each_kind_is_used_and_says_what_to_do() -> None:
    named = {errors.INVALID, errors.CONFLICT, errors.NOT_FOUND, errors.RECOVERY, errors.BUSY, errors.DENIED}
    assert {row[0] for row in CODES.values()} == set(KINDS) == {*named, errors.DAMAGED}
    assert all(KINDS.values())


def test_an_error_carries_its_code_kind_and_details() -> None:
    error = ChatError("CHANNEL_MOVED", "moved", next="agent-chat read dev", where={"root": "/r"}, latest_seq=3)
    assert (error.code, error.kind, error.message, str(error)) == ("CHANNEL_MOVED", "conflict", "moved", "moved")
    assert error.next == "agent-chat read dev"
    assert error.details == {"root": "/r", "latest_seq": 3}
    assert error.near is None


def test_a_code_outside_the_table_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        ChatError("NO_SUCH_CODE", "x")
