"""What wires a host, found in the files that hosts and `setup` leave."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import wiring
from agent_chat.operations.host_plugins import sections
from agent_chat.operations.host_sources import SourceError, Sources
from agent_chat.operations.host_wirings import BROKEN, BY_PLUGIN, BY_PROJECT, BY_USER, NOTE, Found, Places, look
from agent_chat.records.hook_line import Program
from tests.support import host_homes
from tests.support.cli import FakeClock
from tests.support.host_homes import write
from tests.support.projects import Project

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = ["session-start", "prompt", "pre-tool-use", "post-tool-batch", "stop"]
CODEX_EVENTS = ["session-start", "prompt", "pre-tool-use", "stop"]
HOSTS = list(wiring.HOSTS)


class Desk:
    """A home folder, a project, and a program that hooks call."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        for each in (self.home, self.project):
            each.mkdir()
        script = write(folder / "tools" / "chat.py", "")
        self.program = Program(script=str(script))
        self.variables: dict[str, str] = {}

    def found(self, host: str) -> Found:
        """What is found of a host."""
        places = Places(home=str(self.home), project=str(self.project), variables=self.variables)
        return look(Sources(FakeClock()), wiring.HOSTS[host], places)

    def set_up(self, host: str, **options: Any) -> str:
        """Wires a host as `setup` does; returns the path of its file."""
        user = options.get("user", False)
        project = Project(self.home if user else self.project)
        options = {"program": self.program, **options}
        project.set_up(host, **options)
        return os.path.join(project.folder, project.wish(host, **options).path)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def wired(found: Found) -> list[tuple[str, str, list[str]]]:
    """By what a host is wired, where, and for which events; nothing may be wrong with it."""
    assert [fault for each in found.wirings for fault in each.faults] == []
    return [(each.by, each.path, [line.event for line in each.lines]) for each in found.wirings]


def told(found: Found) -> list[str]:
    """What is wrong, as it is told."""
    return [fault.text for fault in (*found.faults, *(fault for each in found.wirings for fault in each.faults))]


# -- the plugin --------------------------------------------------------------------------------------------------------


def test_claude_reads_a_local_marketplace_where_it_lies(desk: Desk, tmp_path: Path) -> None:
    folder = host_homes.plugin(tmp_path / "checkout")
    host_homes.claude(desk.home, folder)
    assert wired(desk.found("claude")) == [(BY_PLUGIN, str(folder), EVENTS)]


def test_claude_copies_what_comes_from_elsewhere(desk: Desk, tmp_path: Path) -> None:
    host_homes.claude(desk.home, tmp_path, source="git")
    copy = desk.home / ".claude" / "plugins" / "cache" / "agent-chat" / "agent-chat" / "0.1.0"
    assert wired(desk.found("claude")) == [(BY_PLUGIN, str(copy), EVENTS)]


def test_claude_has_a_plugin_of_one_project(desk: Desk, tmp_path: Path) -> None:
    folder = host_homes.plugin(tmp_path / "checkout")
    host_homes.claude(desk.home, folder, project=desk.project)
    assert wired(desk.found("claude")) == [(BY_PLUGIN, str(folder), EVENTS)]
    host_homes.claude(desk.home, folder, project=tmp_path / "other")
    assert desk.found("claude").wirings == ()


@pytest.mark.parametrize("enabled", [False, None])
def test_a_plugin_that_is_switched_off_is_told(desk: Desk, tmp_path: Path, enabled: bool | None) -> None:
    host_homes.claude(desk.home, host_homes.plugin(tmp_path / "checkout"), enabled=enabled)
    found = desk.found("claude")
    assert found.wirings == ()
    (fault,) = found.faults
    assert (fault.weight, fault.next) == (NOTE, "claude plugin enable agent-chat@agent-chat")


def test_the_personal_settings_of_a_project_go_before_others(desk: Desk, tmp_path: Path) -> None:
    host_homes.claude(desk.home, host_homes.plugin(tmp_path / "checkout"))
    write(desk.project / ".claude" / "settings.local.json", {"enabledPlugins": {host_homes.ID: False}})
    assert desk.found("claude").wirings == ()


@pytest.mark.parametrize("project", [False, True])
def test_claude_takes_a_folder_among_the_skills_for_a_plugin(desk: Desk, *, project: bool) -> None:
    config = (desk.project if project else desk.home) / ".claude"
    folder = host_homes.plugin(config / "skills" / "chat")
    write(config / "skills" / "other" / "SKILL.md", "")
    found = desk.found("claude")
    assert wired(found) == [(BY_PLUGIN, str(folder), EVENTS)]
    assert found.wirings[0].in_project is project


def test_a_marketplace_goes_before_the_skills(desk: Desk, tmp_path: Path) -> None:
    host_homes.plugin(desk.home / ".claude" / "skills" / "agent-chat")
    host_homes.claude(desk.home, host_homes.plugin(tmp_path / "checkout"), enabled=False)
    assert desk.found("claude").wirings == ()


def test_codex_has_one_copy_and_runs_its_own_events(desk: Desk) -> None:
    folder = host_homes.codex(desk.home)
    found = desk.found("codex")
    assert wired(found) == [(BY_PLUGIN, str(folder), CODEX_EVENTS)]
    assert found.wirings[0].id == host_homes.ID
    newer = host_homes.codex(desk.home, version="0.10.0")
    assert wired(desk.found("codex")) == [(BY_PLUGIN, str(newer), CODEX_EVENTS)]
    host_homes.codex(desk.home, enabled=False)
    assert told(desk.found("codex")) == [f"the plugin {host_homes.ID} is switched off"]


@pytest.mark.parametrize("live", [True, False])
def test_copilot_reads_a_folder_live_or_has_a_copy(desk: Desk, tmp_path: Path, *, live: bool) -> None:
    folder = host_homes.copilot(desk.home, host_homes.plugin(tmp_path / "checkout"), live=live)
    assert wired(desk.found("copilot")) == [(BY_PLUGIN, str(folder), CODEX_EVENTS)]
    host_homes.copilot(desk.home, folder, live=live, enabled=False)
    assert told(desk.found("copilot")) == [f"the plugin {host_homes.ID} is switched off"]


def test_copilot_takes_a_folder_without_a_marketplace(desk: Desk) -> None:
    copy = host_homes.plugin(desk.home / ".copilot" / "installed-plugins" / "_direct" / "plug")
    entry = {"name": "agent-chat", "marketplace": "", "cache_path": str(copy), "enabled": True}
    write(desk.home / ".copilot" / "config.json", {"installedPlugins": [entry, {"name": "other"}]})
    assert wired(desk.found("copilot")) == [(BY_PLUGIN, str(copy), CODEX_EVENTS)]


@pytest.mark.parametrize("host", ["claude", "codex", "copilot"])
def test_a_folder_that_a_variable_names_is_looked_at(desk: Desk, tmp_path: Path, host: str) -> None:
    folder = host_homes.plugin(tmp_path / "checkout")
    if host == "codex":
        folder = host_homes.codex(desk.home)
    else:
        (host_homes.claude if host == "claude" else host_homes.copilot)(desk.home, folder)
    variable = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "copilot": "COPILOT_HOME"}[host]
    desk.variables[variable] = str(desk.home / f".{host}")
    desk.home = tmp_path / "elsewhere"
    assert [each[:2] for each in wired(desk.found(host))] == [(BY_PLUGIN, str(folder))]


def test_a_plugin_whose_files_are_gone_is_told(desk: Desk, tmp_path: Path) -> None:
    folder = host_homes.plugin(tmp_path / "checkout")
    host_homes.claude(desk.home, folder)
    (folder / "hooks" / "edit_guard.py").unlink()
    assert told(desk.found("claude")) == [f"{folder / 'hooks' / 'edit_guard.py'} is missing"]
    (folder / "hooks" / "hooks.json").unlink()
    assert told(desk.found("claude")) == [f"{folder / 'hooks' / 'hooks.json'} is missing"]
    for text, said in (("{", "line 1"), ('{"hooks": {"Stop": [{"hooks": [{"command": "evil"}]}]}}', "no line of ours")):
        write(folder / "hooks" / "hooks.json", text)
        found = desk.found("claude")
        assert said in told(found)[0]
        assert found.wirings[0].lines == ()
        assert found.wirings[0].faults[0].next.endswith("claude plugin install agent-chat@agent-chat")


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("user", [False, True])
def test_what_setup_wrote_is_found(desk: Desk, host: str, *, user: bool) -> None:
    path = desk.set_up(host, user=user)
    events = [event.ours for event in wiring.HOSTS[host].events] or CODEX_EVENTS
    found = desk.found(host)
    assert wired(found) == [(BY_USER if user else BY_PROJECT, path, events)]
    assert found.there is (user or host != "copilot"), "a project's .github is not copilot's own"
    assert found.wirings[0].in_project is not user
    assert all(line.known is not None and line.known.program == desk.program for line in found.wirings[0].lines)


def test_the_waiter_is_a_line_too(desk: Desk) -> None:
    desk.set_up("claude", wake=True)
    assert [line.event for line in desk.found("claude").wirings[0].lines].count("wait") == 2


def test_lines_name_the_projects_own_root(desk: Desk) -> None:
    for host in ("claude", "opencode"):
        desk.set_up(host, root_here=True)
        assert desk.found(host).wirings[0].root == str(desk.project / ".agent-chat")


def test_lines_of_others_and_of_other_events_are_passed_over(desk: Desk) -> None:
    theirs = {"type": "command", "command": "their.sh"}
    ours = {"type": "command", "command": "agent-chat hook stop --host claude"}
    hooks = {
        "Stop": [{"hooks": [theirs, 1, None, ours]}, "x", ours],
        "Other": [{"hooks": [ours]}],
        "PreToolUse": {"hooks": [ours]},
    }
    path = write(desk.project / ".claude" / "settings.json", {"hooks": hooks})
    found = desk.found("claude")
    assert wired(found) == [(BY_PROJECT, str(path), ["stop"])]
    assert [(line.group, line.handler) for line in found.wirings[0].lines] == [(0, 3)]
    nothing: list[Any] = [{"hooks": []}, [], "", {"hooks": {"Stop": [{"hooks": [theirs]}]}}]
    for settings in nothing:
        write(path, settings)
        assert desk.found("claude").wirings == ()


@pytest.mark.parametrize("host", ["gemini", "opencode"])
def test_a_program_that_is_gone_is_told(desk: Desk, host: str) -> None:
    path = desk.set_up(host)
    os.remove(desk.program.script)
    (fault,) = desk.found(host).wirings[0].faults
    assert (fault.text, fault.weight) == (f"{path} calls {desk.program.script}, which is missing", BROKEN)
    assert fault.next == f"agent-chat setup {host}"


def test_a_line_that_was_changed_is_told(desk: Desk) -> None:
    hooks = {"Stop": [{"hooks": [{"command": "/tmp/evil|/agent-chat hook stop --host claude"}]}]}
    write(desk.home / ".claude" / "settings.json", {"hooks": hooks})
    (fault,) = desk.found("claude").wirings[0].faults
    assert "its line for Stop was changed" in fault.text
    assert fault.next == "agent-chat setup claude --user"


def test_milliseconds_that_were_meant_as_seconds_are_told(desk: Desk) -> None:
    path = desk.set_up("gemini")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    write(desk.project / ".gemini" / "settings.json", text.replace("10000", "10"))
    assert "SessionStart gets 10 milliseconds" in told(desk.found("gemini"))[0]


def test_an_extension_that_is_not_as_it_was_made_is_told(desk: Desk) -> None:
    path = desk.set_up("opencode")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for changed in (text.replace("3000", "9000"), "export const Theirs = 1;\n"):
        write(desk.project / ".opencode" / "plugins" / "agent-chat.js", changed)
        found = desk.found("opencode").wirings[0]
        assert found.lines == ()
        assert found.faults[0].next == "move it away, then agent-chat setup opencode"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_are_followed_as_hosts_do(desk: Desk, tmp_path: Path) -> None:
    desk.set_up("claude", user=True)
    os.rename(desk.home / ".claude", tmp_path / "dotfiles")
    (desk.home / ".claude").symlink_to(tmp_path / "dotfiles")
    assert len(desk.found("claude").wirings) == 1


# -- what cannot be read, and what switches hooks off ------------------------------------------------------------------


def test_settings_that_cannot_be_read_are_told_and_hide_nothing_else(desk: Desk) -> None:
    path = desk.set_up("claude", user=True)
    for broken in ("{\n  x", b"\xff".decode("latin-1")):
        write(desk.project / ".claude" / "settings.json", broken)
        found = desk.found("claude")
        assert [each.path for each in found.wirings] == [path]
        assert str(desk.project / ".claude" / "settings.json") in told(found)[0]
    (desk.project / ".claude" / "settings.json").unlink()
    (desk.project / ".claude" / "settings.json").mkdir()
    assert "is no ordinary file" in told(desk.found("claude"))[0]


def test_a_list_of_plugins_that_cannot_be_read_is_told(desk: Desk, tmp_path: Path) -> None:
    host_homes.claude(desk.home, host_homes.plugin(tmp_path / "checkout"))
    write(desk.home / ".claude" / "plugins" / "installed_plugins.json", "{")
    assert "installed_plugins.json" in told(desk.found("claude"))[0]


@pytest.mark.skipif(sys.platform == "win32" or not os.geteuid(), reason="the superuser may read everything")
def test_a_folder_that_may_not_be_entered_is_told(desk: Desk) -> None:
    desk.set_up("claude", user=True)
    (desk.home / ".claude").chmod(0)
    try:
        found = desk.found("claude")
        assert found.there
        assert "Permission denied" in told(found)[0]
    finally:
        (desk.home / ".claude").chmod(0o700)


@pytest.mark.parametrize(
    ("host", "file", "settings", "said"),
    [
        ("claude", ".claude/settings.local.json", {"disableAllHooks": True}, "has disableAllHooks"),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "has hooksConfig.enabled false"),
        (
            "gemini",
            ".gemini/settings.json",
            {"hooksConfig": {"disabled": ["x", "agent-chat hook stop --host gemini"]}},
            "has hooks of ours in hooksConfig.disabled",
        ),
    ],
)
def test_what_switches_all_hooks_off_is_told(desk: Desk, host: str, file: str, settings: object, said: str) -> None:
    folder = desk.project if host == "claude" else desk.home
    write(folder / file, settings)
    assert told(desk.found(host)) == [], "nothing is wired"
    desk.set_up(host)
    (text,) = told(desk.found(host))
    assert text == f"{folder / file} {said}"


def test_codex_without_hooks_is_told(desk: Desk) -> None:
    host_homes.codex(desk.home)
    config = desk.home / ".codex" / "config.toml"
    write(config, config.read_text(encoding="utf-8") + "\n[features]\nhooks = false\n")
    assert told(desk.found("codex")) == [f"{config} has hooks = false"]


# -- places ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_is_found_where_nothing_is(desk: Desk, host: str) -> None:
    assert desk.found(host) == Found(there=False)
    places = Places(home="", project="", variables={})
    assert look(Sources(FakeClock()), wiring.HOSTS[host], places) == Found(there=False)


def test_a_home_folder_is_no_project(desk: Desk) -> None:
    path = desk.set_up("claude", user=True)
    desk.project = desk.home
    assert [each[:2] for each in wired(desk.found("claude"))] == [(BY_USER, path)]


def test_a_host_is_found_by_its_folder(desk: Desk) -> None:
    (desk.project / ".cursor").mkdir()
    (desk.home / ".config" / "opencode").mkdir(parents=True)
    write(desk.home / ".pi", "a file")
    there = {host: (desk.found(host).there, desk.found(host).at_home) for host in HOSTS if desk.found(host).there}
    assert there == {"cursor": (True, False), "opencode": (True, True)}


def test_tables_of_toml_are_told_apart() -> None:
    text = 'a = 1\n[x] # c\nb = "2"\n\n[ y."k.l" ]\n# n = 1\n[[z]]\nc=3'
    assert list(sections(text)) == [("x", {"b": '"2"'}), ('y."k.l"', {}), ("z", {"c": "3"})]


def test_a_file_that_is_too_large_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "large.json", " " * ((4 << 20) + 1))
    with pytest.raises(SourceError, match="larger than 4 MiB"):
        Sources(FakeClock()).fields(str(path))
