"""Whatever a host sends and an environment holds: no hook fails, and each answer is short and of its host's form."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.hooks.hosts import HOSTS
from tests.hooks import payloads
from tests.hooks.desk import Desk, print_of
from tests.hooks.envelopes import EVENTS, is_one
from tests.support.cli import DANGER

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "|Edit|Bash|apply_patch|src/a.py|..|/|~|s-1|view|rm -rf src|src\n|\0|\ud800".split("|")
PATCH = "cd 'src' && apply_patch <<E\n*** Begin Patch\n*** Update File: a.py\n*** End Patch\nE"
TEXTS = st.text(st.characters(), max_size=40) | st.sampled_from([*WORDS, PATCH, "漢" * 300, "a/" * 200])
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["file_path", "path", "command", "edits", "patch", "uri"]) | TEXTS, VALUES)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "session_id": TEXTS,
        "prompt_id": TEXTS | VALUES,
        "cwd": TEXTS | VALUES,
        "tool_name": st.sampled_from(["Edit", "Bash", "apply_patch", "mcp__x__write", "Read"]) | VALUES,
        "tool_input": ARGUMENTS | VALUES,
        "stop_hook_active": VALUES,
        "background_tasks": VALUES,
        "loop_count": VALUES,
        "agent_id": VALUES,
        "source": VALUES,
        "workspace_roots": VALUES,
        "timestamp": VALUES,
        "turn_id": VALUES,
    },
)
VARIABLES = st.fixed_dictionaries(
    {},
    optional={
        "AGENT_CHAT_NAME": st.sampled_from(["bob", "carol", "CAROL", "", "no name", "漢" * 21]),
        "AGENT_CHAT_CHANNELS": st.sampled_from(["", "dev", "nowhere", "@", "dev,dev,," + "x" * 500]),
        "AGENT_CHAT_STOP": st.sampled_from(["", "block", "no"]),
        "AGENT_CHAT_GUARD": st.sampled_from(["", "strict"]),
        "AGENT_CHAT_WORKSPACE": st.sampled_from(["", "/", "src", "/nowhere", "\0"]),
        "CLAUDECODE": st.just("1"),
        "COPILOT_CLI": st.just("1"),
        "GEMINI_CLI": st.just("1"),
    },
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with mail for all, a lock, and a damaged channel."""
    desk = Desk(tmp_path_factory.mktemp("desk"))
    desk.post("alice", title="TITLE", body="BODY\n")
    desk.held("src/", actor="carol", why="漢" * 60)
    (desk.root / "damaged" / "locks").mkdir(parents=True)
    for name in ("_meta.json", "locks/0123456789abcdef.json"):
        (desk.root / "damaged" / name).write_bytes(b"{")
    return desk


def require_answer(desk: Desk, event: str, host: str, sent: Any, variables: dict[str, Any], tree: Path) -> None:
    """Calls a hook and looks at its answer."""
    before = os.getcwd()
    os.chdir(tree)
    try:
        heard = desk.hook(event, sent, host=host, **variables)
    finally:
        os.chdir(before)
    assert heard.status == 0
    assert len(heard.output.encode()) <= 1000, heard
    assert is_one(heard.host, event, heard.output), heard
    assert not DANGER & set(heard.output)
    assert '"allow"' not in heard.output
    assert "TITLE" not in heard.output
    assert "BODY" not in heard.output


@given(st.sampled_from(EVENTS), st.sampled_from(["", *HOSTS]), FIELDS, VARIABLES)
def test_no_payload_makes_a_hook_fail(
    desk: Desk, event: str, host: str, fields: dict[str, Any], variables: dict[str, Any]
) -> None:
    before = print_of(desk.root)
    require_answer(desk, event, host, fields, variables, desk.tree)
    assert print_of(desk.root) == before


@given(st.sampled_from(EVENTS), st.sampled_from(["", *HOSTS]), st.sampled_from(payloads.NAMES), st.data())
def test_no_damage_to_a_real_payload_makes_a_hook_fail(
    desk: Desk, event: str, host: str, name: str, data: st.DataObject
) -> None:
    text = json.dumps(payloads.read(name)).encode()
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, len(text) - at))
    damaged = text[:at] + data.draw(st.binary(max_size=4)) + text[at + cut :]
    require_answer(desk, event, host, damaged, {}, desk.tree)
