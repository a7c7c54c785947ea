"""A root of the project's own: made, wired, named to the shells where a host has a way, and gone when it is unused."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import wiring
from agent_chat.storage import layout
from tests.support.cli import plant
from tests.support.projects import Project, words

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = tuple(wiring.HOSTS)
ROOT_FILES = {f".agent-chat/{name}" for name in layout.GIT_FILES}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "пр $o'jé`ct")


def commands_in(value: Any) -> list[str]:
    """Every line of ours in the settings of a host."""
    if isinstance(value, dict):
        own = [value["command"]] if "chat" in str(value.get("command", "")) else []
        return own + [line for each in value.values() for line in commands_in(each)]
    return [line for each in value for line in commands_in(each)] if isinstance(value, list) else []


@pytest.mark.parametrize("host", HOSTS)
def test_a_root_of_the_project_is_made_and_wired(project: Project, host: str) -> None:
    before = project.tree()
    root = os.path.join(project.folder, ".agent-chat")
    outcome = project.set_up(host, root_here=True)
    for name, text in layout.GIT_FILES.items():
        assert project.text(f".agent-chat/{name}") == text
    text = project.text(wiring.HOSTS[host].project)
    if wiring.HOSTS[host].events:
        assert all(' --root "' in line for line in commands_in(json.loads(text)))
    else:
        assert f"const ROOT = {json.dumps(root, ensure_ascii=False)};" in text
        assert outcome.next == ()
    assert set(words(project.set_up(host, root_here=True)).values()) == {"unchanged"}
    project.take_out(host)
    assert project.tree() == before


def test_claude_names_the_root_to_its_shells_in_the_personal_file(project: Project) -> None:
    path = ".claude/settings.local.json"
    root = os.path.join(project.folder, ".agent-chat")
    outcome = project.set_up("claude", root_here=True)
    assert json.loads(project.text(path)) == {"env": {"AGENT_CHAT_ROOT": root}}
    assert outcome.next == ()
    assert words(project.set_up("claude"))[path] == "deleted"
    assert (project.folder / ".agent-chat").is_dir(), "only --remove takes a root away"
    data = b'{"env": {"A": "b"}, // mine\n "x": 1}'
    plant(project.folder / path, data)
    project.set_up("claude", root_here=True)
    assert project.text(path).count(".agent-chat") == 1
    project.take_out("claude")
    assert (project.folder / path).read_bytes() == data


def test_gemini_gets_a_line_in_its_file_of_variables_only_where_it_has_one(project: Project) -> None:
    path = ".gemini/.env"
    outcome = project.set_up("gemini", root_here=True)
    assert not (project.folder / path).exists(), "a new one would hide the one that holds the user's key"
    assert [step.partition(": ")[0] for step in outcome.next] == ["before you start gemini"]
    for data in (b"", b"GEMINI_API_KEY=x", b"\xef\xbb\xbfA=1\r\nB=2\r\n"):
        plant(project.folder / path, data)
        outcome = project.set_up("gemini", root_here=True)
        assert (words(outcome)[path], outcome.next) == ("changed", ())
        assert words(project.set_up("gemini", root_here=True))[path] == "unchanged"
        assert data.lstrip(b"\xef\xbb\xbf") in (project.folder / path).read_bytes()
        project.take_out("gemini")
        assert (project.folder / path).read_bytes() == data
    plant(project.folder / path, "AGENT_CHAT_ROOT=/theirs\n")
    before = project.tree()
    with pytest.raises(ChatError) as caught:
        project.set_up("gemini", root_here=True)
    assert caught.value.code == "SETUP_FILE_CONFLICT"
    assert project.tree() == before


@pytest.mark.parametrize(("host", "step"), [("codex", "add to ~/.codex/config.toml"), ("copilot", "before you start")])
def test_other_hosts_leave_the_variable_to_the_user(project: Project, host: str, step: str) -> None:
    root = os.path.join(project.folder, ".agent-chat")
    outcome = project.set_up(host, root_here=True)
    assert outcome.next[-1].startswith(step)
    assert json.dumps(root, ensure_ascii=False) in outcome.next[-1] or "export AGENT_CHAT_ROOT='" in outcome.next[-1]
    assert project.set_up(host, root_here=True).next[-1] == outcome.next[-1]


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        (".lock", True),
        ("_hooks/alice.s.session", True),
        ("dev/_meta.json", False),
        ("notes.txt", False),
        ("_hooks/.cache/x", False),
        (".gitignore", False),
    ],
)
def test_a_root_goes_only_with_nothing_in_it_but_what_was_made(project: Project, name: str, goes: bool) -> None:
    project.set_up("cursor", root_here=True)
    plant(project.folder / ".agent-chat" / name, "x")
    outcome = project.take_out("cursor")
    assert not (project.folder / ".cursor").exists()
    assert (project.folder / ".agent-chat").exists() is not goes
    assert bool(outcome.next) is not goes
    if not goes:
        assert (project.folder / ".agent-chat" / name).read_text() == "x"
        assert set(project.tree()) >= ROOT_FILES


def test_a_root_that_another_host_is_wired_to_stays(project: Project) -> None:
    project.set_up("claude", root_here=True)
    project.set_up("codex", root_here=True)
    project.take_out("codex")
    assert (project.folder / ".agent-chat" / ".gitignore").is_file()
    project.take_out("claude")
    assert project.tree() == {}


def test_a_later_call_without_the_root_says_that_it_is_wired_no_more(project: Project) -> None:
    project.set_up("claude", root_here=True)
    assert project.set_up("claude", wake=True).next == (
        ".agent-chat/ is wired no more; if it should be, add --root-here",
    )
    assert project.set_up("claude", wake=True).next == ()
