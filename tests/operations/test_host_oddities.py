"""What keeps a host from a hook though its line is there, and where else hosts look for lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import wiring
from agent_chat.operations.host_sources import SourceError, Sources
from agent_chat.operations.host_wirings import Found, Places, look
from agent_chat.records.hook_line import Program
from tests.support.cli import FakeClock
from tests.support.host_homes import write
from tests.support.projects import Project

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.operations.setup import Wish


class Wired(Project):
    """A project whose hooks call a program that is there."""

    def wish(self, host: str, **options: Any) -> Wish:
        return super().wish(
            host, program=Program(script=str(write(self.folder.parent / "tools" / "chat.py", ""))), **options
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Wired(tmp_path / "project")


def found(folder: Path, host: str) -> Found:
    """What is found of a host by who works in a folder."""
    places = Places(home=str(folder / "nowhere"), project=str(folder), variables={})
    return look(Sources(FakeClock()), wiring.HOSTS[host], places)


ODD = {
    "async": ({"async": True}, {}),
    "if": ({"if": "Bash(git *)"}, {}),
    "args": ({"args": ["x"]}, {}),
    "a prompt": ({"type": "prompt"}, {}),
    "a time-out of nearly nothing": ({"timeout": 0.001}, {}),
    "a time-out that is no number": ({"timeout": "10"}, {}),
    "a matcher that is a list": ({}, {"matcher": ["Bash"]}),
    "a key that nobody knows": ({}, {"enabled": False}),
}


@pytest.mark.parametrize("name", [*ODD, "another event", "no type"])
def test_what_stands_around_a_line_is_told_if_we_did_not_write_it(project: Project, name: str) -> None:
    """Seen with Claude Code 2.1.332: with each of these an edit of a locked file goes through."""
    project.set_up("claude")
    path = project.folder / ".claude" / "settings.json"
    assert broken(project) == []
    settings = json.loads(path.read_text())
    hooks = settings["hooks"]
    group = hooks["PreToolUse"][0]
    if name == "another event":
        hooks["Stop"].append(hooks.pop("PreToolUse")[0])
    elif name == "no type":
        del group["hooks"][0]["type"]
    else:
        handler, around = ODD[name]
        group["hooks"][0].update(handler)
        group.update(around)
    path.write_text(json.dumps(settings))
    assert len(broken(project)) == 1


def broken(project: Project) -> list[str]:
    (wired,) = found(project.folder, "claude").wirings
    return [fault.text for fault in wired.faults]


def test_what_is_above_the_folder_counts_for_hosts_that_look_there(project: Project) -> None:
    project.set_up("codex")
    (project.folder / ".git").mkdir()
    below = project.folder / "a" / "b"
    below.mkdir(parents=True)
    (wired,) = found(below, "codex").wirings
    assert (wired.by, wired.path) == ("project", str(project.folder / ".codex" / "hooks.json"))
    (below / ".git").mkdir()
    assert found(below, "codex").wirings == ()


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800x/\0"])
def test_what_is_no_path_is_told(path: str) -> None:
    with pytest.raises(SourceError, match="is no path"):
        Sources(FakeClock()).real(path)


@pytest.mark.parametrize("host", ["claude", "copilot"])
@pytest.mark.parametrize("end", ["// mine\n", "/* mine */"])
def test_a_file_that_its_host_drops_as_a_whole_is_told(project: Project, host: str, end: str) -> None:
    project.set_up(host)
    path = project.folder / project.wish(host).path
    path.write_text(path.read_text() + end)
    (wired,) = found(project.folder, host).wirings
    assert [fault.text for fault in wired.faults] == [
        f"{path} has comments, or a comma too many, so {host} drops it as a whole"
    ]
    (step,) = project.set_up(host).next
    assert step.startswith("take the comments out of ")


def test_gemini_may_have_comments(project: Project) -> None:
    project.set_up("gemini")
    path = project.folder / project.wish("gemini").path
    path.write_text(path.read_text() + "// mine\n")
    assert found(project.folder, "gemini").wirings[0].faults == ()


@pytest.mark.parametrize("host", ["claude", "copilot", "gemini"])
@pytest.mark.parametrize("value", [True, "true", 1])
def test_hooks_that_are_switched_off_are_told(project: Project, host: str, value: object) -> None:
    project.set_up(host)
    path = project.folder / project.wish(host).path
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": value}))
    assert [fault.text for fault in found(project.folder, host).faults] == [f"{path} has disableAllHooks"]


def test_the_root_that_the_settings_set_is_known(project: Project) -> None:
    project.set_up("claude")
    assert found(project.folder, "claude").wirings[0].root == ""
    write(project.folder / ".claude" / "settings.local.json", {"env": {"AGENT_CHAT_ROOT": "/other"}})
    assert found(project.folder, "claude").wirings[0].root == "/other"


def test_lines_that_look_at_different_roots_are_told(project: Project) -> None:
    project.set_up("claude")
    path = project.folder / ".claude" / "settings.json"
    path.write_text(path.read_text().replace(" hook stop", ' --root \\"/other\\" hook stop'))
    assert broken(project) == [f"{path}: its lines look at different roots"]
