"""What a canary's hooks are sent looks like what real hosts sent (tests/fixtures/payloads)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_chat.hooks import payload as hook_payload
from agent_chat.hooks.hosts import host_of
from agent_chat.hooks.tool_calls import touched
from agent_chat.operations.wiring import HOSTS
from agent_chat.records.host_payload import OF_SESSIONS, Scene, payload, variables

FOLDER = Path(__file__).parents[1] / "fixtures" / "payloads"
SCENE = Scene(session="canary-1", turn="canary-1-1", folder="/p", file="/p/a.txt", time="2026-01-02T03:04:05Z", pid=7)
EDITS = {
    "PreToolUse": {"claude": "Edit", "codex": "apply_patch", "copilot": "Edit"},
    "BeforeTool": {"gemini": "replace"},
}
EVENTS = [(host.name, event.name, event.ours) for host in HOSTS.values() for event in host.events]


@pytest.mark.parametrize(("host", "name", "event"), EVENTS)
def test_it_has_the_fields_of_a_real_one(host: str, name: str, event: str) -> None:
    tool = EDITS.get(name, {}).get(host)
    sample = FOLDER / f"{host}-{name}{'-' + tool if tool else ''}.json"
    if host == "cursor":
        assert not sample.exists()
        return
    real = json.loads(sample.read_text(encoding="utf-8"))
    made = payload(host, name, event, SCENE)
    assert set(made) <= set(real)
    assert {key for key in real if key.endswith("_id")} - {"tool_use_id"} <= set(made)
    assert [type(made[key]) for key in made] == [type(real[key]) for key in made]
    if tool:
        arguments = made["tool_input"]
        assert isinstance(arguments, dict)
        assert made["tool_name"] == tool
        assert set(arguments) <= set(real["tool_input"])


@pytest.mark.parametrize(("host", "name", "event"), EVENTS)
def test_a_hook_tells_the_host_by_it(host: str, name: str, event: str) -> None:
    read = hook_payload.parse(json.dumps(payload(host, name, event, SCENE)).encode())
    assert (read.event, read.session, read.folder) == (name, "canary-1", "/p")
    assert [read.goes_on_after_a_hold, read.has_background_tasks, read.is_of_a_helper] == [False] * 3
    assert host_of(variables(host, SCENE, "/plugin"), read) == host
    if event == "pre-tool-use":
        (path,) = touched(read.tool, read.tool_input).paths
        assert path in ("/p/a.txt", "a.txt")


@pytest.mark.parametrize("host", ["opencode", "omp", "pi"])
def test_an_extension_sends_the_path_of_an_edit(host: str) -> None:
    read = hook_payload.parse(json.dumps(payload(host, "PreToolUse", "pre-tool-use", SCENE)).encode())
    assert touched(read.tool, read.tool_input).paths == ("/p/a.txt",)


def test_the_variables_of_a_session_are_not_inherited() -> None:
    for host in HOSTS:
        assert set(variables(host, SCENE, "/plugin")) <= {*OF_SESSIONS}
