"""Hooks under a token: they ask for its agent; a bad one is told, and no hook ends otherwise than with 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.hooks.call import EVENTS
from agent_chat.hooks.hosts import HOSTS
from tests.hooks.desk import Desk
from tests.support.tokens import plant_session, secret_of

if TYPE_CHECKING:
    from pathlib import Path

SENT = {"session_id": "s-1", "prompt_id": "p-1", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
UNKNOWN = f"0123456789abcdef-1.{secret_of(1).hex()}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.post("alice", "for all")
    return made


def test_a_hook_asks_for_the_agent_of_the_token_whatever_the_name_says(desk: Desk) -> None:
    token = plant_session(desk.root, agent="carol")
    for name in ("bob", "not a name", None):
        heard = desk.hook("session-start", SENT, AGENT_CHAT_TOKEN=token, AGENT_CHAT_NAME=name)
        assert heard.context.startswith("agent-chat: 1 unread for carol: dev 1 (alice).")


def bad_token(desk: Desk, kind: str) -> str:
    token = {"unknown": UNKNOWN, "malformed": secret_of(1).hex()}.get(kind) or plant_session(desk.root, ended=1.0)
    if kind == "damaged":
        for path in (desk.root / "_sessions").iterdir():
            path.write_bytes(b"{")
    return token


KINDS = ("ended", "unknown", "malformed", "damaged")


@pytest.mark.parametrize("event", [event for event in EVENTS if event != "wait"])
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_bad_token_every_hook_ends_with_0_and_tells_no_secret(desk: Desk, event: str, kind: str) -> None:
    token = bad_token(desk, kind)
    for host in HOSTS:
        heard = desk.hook(event, SENT, host=host, AGENT_CHAT_TOKEN=token)
        assert heard.status == 0
        assert secret_of(1).hex()[:8] not in f"{heard.output} {heard.notes}"
        assert "unread" not in heard.output


@pytest.mark.parametrize("event", ["session-start", "prompt"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_token_is_told_to_the_model_once_in_a_session(desk: Desk, event: str, kind: str) -> None:
    token = bad_token(desk, kind)
    first = desk.hook(event, SENT, AGENT_CHAT_TOKEN=token).context
    assert "has no name (" in first
    assert "start a session with agent-chat session start --as NAME" in first
    assert desk.hook("prompt", {**SENT, "prompt_id": "p-2"}, AGENT_CHAT_TOKEN=token).output == ""


def test_a_token_that_ends_in_the_middle_of_a_session_is_told_with_the_next_prompt(desk: Desk) -> None:
    token = plant_session(desk.root)
    assert "1 unread for bob" in desk.hook("prompt", SENT, AGENT_CHAT_TOKEN=token).context
    plant_session(desk.root, ended=1.0)
    heard = desk.hook("prompt", {**SENT, "prompt_id": "p-2"}, AGENT_CHAT_TOKEN=token)
    assert "has ended" in heard.context


@pytest.mark.parametrize("token", [UNKNOWN, "x"])
def test_the_waiter_ends_at_once_on_a_bad_token(desk: Desk, token: str) -> None:
    heard = desk.hook("wait", SENT, AGENT_CHAT_TOKEN=token)
    assert (heard.status, "AGENT_CHAT_TOKEN" in "".join(heard.notes)) == (0, True)
