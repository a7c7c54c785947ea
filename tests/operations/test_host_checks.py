"""What is tried with a host's hooks, what is known of its trust, and what is said of it all."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import host_checks, wiring
from agent_chat.operations.canary import CanaryRoom
from agent_chat.operations.hook_traces import Trace
from agent_chat.operations.host_checks import NEVER, NOT_WIRED, Hook, Report, is_inherited, trial_of, try_root
from agent_chat.operations.host_sources import Sources
from agent_chat.operations.host_wirings import BROKEN, NOTE, UNSURE, Fault, Places, look
from agent_chat.records.hook_answer import FAILED, GUARD, NOT_RUN, OK
from agent_chat.records.hook_line import Program, line
from agent_chat.storage.workspace import Ids
from tests.support import host_homes
from tests.support.cli import FakeClock, FaultyFiles, workspace_on
from tests.support.host_homes import write
from tests.support.projects import Project

if TYPE_CHECKING:
    from agent_chat.operations.host_wirings import Found

LONG_AGO = "2026-01-02T03:04:05+00:00"
LATER = "2999-01-02T03:04:05+00:00"


class Desk:
    """A home folder and a project, and all that is said of a host there."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.folder = folder / "home", folder / "project", folder
        for each in (self.home, self.project):
            each.mkdir()
        self.script = str(write(folder / "tools" / "chat.py", ""))
        self.variables: dict[str, str] = {}

    @property
    def places(self) -> Places:
        """Where to look."""
        return Places(home=str(self.home), project=str(self.project), variables=self.variables)

    def found(self, host: str) -> Found:
        """What is found of a host in files."""
        return look(Sources(FakeClock()), wiring.HOSTS[host], self.places)

    def set_up(self, host: str, *, user: bool = False, **options: Any) -> None:
        """Wires a host as `setup` does."""
        Project(self.home if user else self.project).set_up(
            host, user=user, **{"program": Program(script=self.script), **options}
        )

    def report(self, host: str, *, at: str = "", outcome: str = OK, **more: Any) -> Report:
        """What is said of a host all of whose hooks ended alike; `at` is when it last ran."""
        found = self.found(host)
        hooks = [
            Hook(event=each.event, outcome=outcome, detail="", path=wired.path)
            for wired in found.wirings
            for each in wired.lines
        ]
        last = Trace(host=host, at=at, agent="alice", version="1") if at else None
        options = {"on_path": True, "root": "/root", "plugin": "", **more}
        return host_checks.report(Sources(FakeClock()), self.places, found, host, hooks, last=last, **options)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def weights(report: Report) -> list[str]:
    """How bad what is told is."""
    return [fault.weight for fault in report.faults]


# -- trials ------------------------------------------------------------------------------------------------------------


def test_a_line_of_settings_is_run_as_it_stands_in_the_project_with_the_canarys_root(desk: Desk) -> None:
    desk.set_up("codex", user=True)
    room = CanaryRoom("/tmp", FakeClock(), Ids())
    (wired,) = desk.found("codex").wirings
    trial = trial_of("codex", wired, wired.lines[2], room, token="7", time="T", pid=1)
    assert trial.line == line(Program(script=desk.script), "pre-tool-use", "codex")
    assert trial.folder == room.project
    assert trial.variables["AGENT_CHAT_ROOT"] == room.root
    assert trial.variables["AGENT_CHAT_NAME"] == room.canary.agent
    assert trial.variables["AGENT_CHAT_STOP"] == "block"
    assert "CLAUDE_PLUGIN_ROOT" not in trial.variables
    payload = json.loads(trial.payload)
    assert (payload["session_id"], payload["cwd"]) == ("canary-7", room.project)


def test_a_line_that_names_a_root_is_run_with_the_canarys(desk: Desk) -> None:
    desk.set_up("claude", root_here=True)
    room = CanaryRoom("/tmp", FakeClock(), Ids())
    (wired,) = desk.found("claude").wirings
    for each in wired.lines:
        trial = trial_of("claude", wired, each, room, token="7", time="T", pid=1)
        assert trial.line == line(Program(script=desk.script), each.event, "claude", room.root)


def test_copilot_runs_the_plugins_lines_in_the_plugins_folder(desk: Desk, tmp_path: Path) -> None:
    folder = host_homes.plugin(tmp_path / "checkout")
    host_homes.copilot(desk.home, folder)
    host_homes.claude(desk.home, folder)
    room = CanaryRoom("/tmp", FakeClock(), Ids())
    for host, wanted in (("copilot", str(folder)), ("claude", room.project)):
        (wired,) = desk.found(host).wirings
        trial = trial_of(host, wired, wired.lines[0], room, token="7", time="T", pid=1)
        assert (trial.folder, trial.variables["CLAUDE_PLUGIN_ROOT"]) == (wanted, str(folder))


def test_nothing_of_another_session_is_inherited() -> None:
    assert is_inherited("PATH")
    assert is_inherited("CODEX_HOME")
    for name in ("AGENT_CHAT_ROOT", "AGENT_CHAT_GUARD", "CLAUDECODE", "CLAUDE_PLUGIN_ROOT", "GEMINI_SESSION_ID"):
        assert not is_inherited(name)


# -- what may be called guarded ----------------------------------------------------------------------------------------


def guards(host: str, outcome: str = OK, weight: str = "", event: str = GUARD) -> bool:
    """Whether a host with one hook and one fault is guarded."""
    hook = Hook(event=event, outcome=outcome, detail="", path="/p")
    faults = (Fault(text="x", weight=weight),) if weight else ()
    return Report(host=host, found=True, wirings=(), hooks=(hook,), faults=faults).guarded


def test_guarded_is_said_of_a_refusal_that_was_seen_and_of_nothing_less() -> None:
    assert guards("claude")
    assert guards("claude", weight=NOTE)
    assert not guards("claude", weight=BROKEN)
    assert not guards("claude", weight=UNSURE)
    assert not guards("claude", outcome=FAILED)
    assert not guards("claude", outcome=NOT_RUN)
    assert not guards("claude", event="stop")
    assert not guards("opencode"), "its extension was not run"


# -- trust -------------------------------------------------------------------------------------------------------------


def test_codex_that_trusts_nothing_is_broken(desk: Desk) -> None:
    for trusted, few in (((), "none"), (host_homes.CODEX_EVENTS[:3], "3 of 4")):
        folder = host_homes.codex(desk.home, trusted=trusted)
        report = desk.report("codex", at=LATER)
        assert (report.works, report.guarded) == (False, False)
        assert report.faults[0].text == f"codex trusts {few} of the hooks in {folder}"
        assert report.next == ("start codex here and trust the hooks of agent-chat: /hooks",)


ONCE = "codex trusted these hooks once; whether it does as they are now only codex knows: /hooks"


def test_codex_is_never_called_guarded_since_only_it_knows_what_it_trusts(desk: Desk) -> None:
    host_homes.codex(desk.home)
    for at in ("", LONG_AGO, LATER):
        report = desk.report("codex", at=at)
        assert (report.works, report.guarded) == (True, False)
        assert ONCE in [fault.text for fault in report.faults]


def test_codex_trusts_a_line_of_settings_by_its_place(desk: Desk) -> None:
    desk.set_up("codex")
    keys = [f"{desk.project}/.codex/hooks.json:{event}:0:0" for event in host_homes.CODEX_EVENTS]
    states = "".join(f"[hooks.state.{json.dumps(key)}]\ntrusted_hash = 'x'\n" for key in keys)
    write(desk.home / ".codex" / "config.toml", states)
    report = desk.report("codex", at=LATER)
    untrusted = "codex reads the hooks of a project only where it trusts the project"
    assert [fault.text for fault in report.faults] == [ONCE, untrusted]
    for folder in (desk.project, desk.folder):
        for end in ("", "  # mine"):
            level = f"[projects.'{folder}']\ntrust_level = \"trusted\"{end}\n"
            write(desk.home / ".codex" / "config.toml", f"{states}{level}")
            assert [fault.text for fault in desk.report("codex", at=LATER).faults] == [ONCE]


def test_a_project_is_trusted_as_copilot_notes_it(desk: Desk) -> None:
    desk.set_up("copilot")
    assert weights(desk.report("copilot", at=LATER)) == [UNSURE]
    for key in ("trusted_folders", "trustedFolders"):
        write(desk.home / ".copilot" / "config.json", {key: [str(desk.project)]})
        assert desk.report("copilot", at=LATER).guarded
    write(desk.home / ".copilot" / "config.json", {"trusted_folders": ["/elsewhere", 3]})
    assert not desk.report("copilot", at=LATER).guarded


def test_a_project_is_trusted_as_claude_notes_it(desk: Desk) -> None:
    desk.set_up("claude")
    assert weights(desk.report("claude", at=LATER)) == [UNSURE]
    config = desk.home / ".claude.json"
    for folder, accepted, guarded in (
        (desk.project, True, True),
        (desk.folder, True, True),
        (desk.project, False, False),
        (Path(f"{desk.project}er"), True, False),
    ):
        write(config, {"projects": {str(folder): {"hasTrustDialogAccepted": accepted}}})
        assert desk.report("claude", at=LATER).guarded is guarded
    write(config, "{")
    assert weights(desk.report("claude", at=LATER)) == [UNSURE]
    desk.variables["CLAUDE_CONFIG_DIR"] = str(desk.home / "other")
    write(desk.home / "other" / ".claude.json", {"projects": {str(desk.project): {"hasTrustDialogAccepted": True}}})
    assert desk.report("claude", at=LATER).guarded


@pytest.mark.parametrize(
    ("rules", "guarded"),
    [
        ({}, False),
        ({"{project}": "TRUST_FOLDER"}, True),
        ({"{project}/x": "TRUST_PARENT"}, True),
        ({"{folder}": "TRUST_FOLDER", "{project}": "DO_NOT_TRUST"}, False),
        ({"{folder}": "DO_NOT_TRUST", "{project}": "TRUST_FOLDER"}, True),
        ({"{project}er": "TRUST_FOLDER"}, False),
    ],
)
def test_a_project_is_trusted_as_gemini_notes_it(desk: Desk, rules: dict[str, str], *, guarded: bool) -> None:
    desk.set_up("gemini")
    named = {path.format(project=desk.project, folder=desk.folder): rule for path, rule in rules.items()}
    write(desk.home / ".gemini" / "trustedFolders.json", named)
    assert desk.report("gemini", at=LATER).guarded is guarded
    write(desk.home / ".gemini" / "settings.json", {"security": {"folderTrust": {"enabled": False}}})
    assert desk.report("gemini", at=LATER).guarded


def test_settings_of_the_user_need_no_trust_of_a_folder(desk: Desk) -> None:
    for host in ("claude", "gemini", "copilot"):
        desk.set_up(host, user=True)
        assert desk.report(host, at=LATER).guarded


def test_what_is_not_known_is_not_called_guarded(desk: Desk) -> None:
    desk.set_up("copilot")
    desk.set_up("cursor", user=True)
    for host in ("copilot", "cursor"):
        report = desk.report(host, at=LATER)
        assert (report.works, report.guarded, weights(report)) == (True, False, [UNSURE])


def test_a_host_that_is_not_here_has_nothing_to_trust(desk: Desk) -> None:
    desk.set_up("codex")
    report = desk.report("codex", on_path=False)
    assert (report.works, report.guarded, report.next) == (True, False, ())


def test_codex_that_has_a_hook_switched_off_does_not_trust_it(desk: Desk) -> None:
    host_homes.codex(desk.home)
    config = desk.home / ".codex" / "config.toml"
    write(config, config.read_text(encoding="utf-8") + "enabled = false\n")
    assert desk.report("codex", at=LATER).faults[0].text.startswith("codex trusts 3 of 4 of the hooks")


@pytest.mark.parametrize(
    ("matcher", "guarded"), [("Edit|Write", True), ("*", True), ("", True), ("Bash", False), ("Editor", False)]
)
def test_a_guard_that_is_not_called_for_edits_guards_nothing(desk: Desk, matcher: str, *, guarded: bool) -> None:
    handler = {"type": "command", "command": line(Program(script=desk.script), "pre-tool-use", "claude")}
    hooks = {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}
    path = write(desk.home / ".claude" / "settings.json", {"hooks": hooks})
    report = desk.report("claude", at=LATER)
    assert report.guarded is guarded
    assert guarded or f"{path} names {matcher} as the tools of PreToolUse" in [fault.text for fault in report.faults]


# -- what is said ------------------------------------------------------------------------------------------------------


def test_a_host_that_is_found_and_not_wired_is_told_how_to_wire_it(desk: Desk) -> None:
    assert not desk.report("pi", on_path=False).is_mentioned
    for host in wiring.HOSTS:
        report = desk.report(host)
        assert [fault.text for fault in report.faults] == [NOT_WIRED]
        assert report.next == (f"agent-chat setup {host}",)
        assert report.works
    words = desk.report("codex", plugin="/c").next
    assert words == ("codex plugin marketplace add /c && codex plugin add agent-chat@agent-chat",)
    assert desk.report("gemini", plugin="/c").next == ("agent-chat setup gemini",)


def test_a_host_that_never_ran_is_told(desk: Desk) -> None:
    desk.set_up("claude", user=True)
    report = desk.report("claude")
    assert [(fault.text, fault.weight) for fault in report.faults] == [(NEVER, NOTE)]
    assert report.next == ("start claude with AGENT_CHAT_NAME, and give it a prompt",)
    assert desk.report("claude", root="").faults == (), "where there is no root nothing can have been noted"


def test_two_wirings_are_told_with_the_one_to_take_out(desk: Desk, tmp_path: Path) -> None:
    host_homes.claude(desk.home, host_homes.plugin(tmp_path / "checkout"))
    desk.set_up("claude")
    write(desk.home / ".claude.json", {"projects": {str(desk.project): {"hasTrustDialogAccepted": True}}})
    report = desk.report("claude", at=LATER)
    assert [fault.text for fault in report.faults] == ["wired more than once, so all is said so often"]
    assert (report.next, report.works) == (("agent-chat setup claude --remove",), True)
    (desk.home / ".claude" / "settings.json").unlink()
    desk.set_up("claude", user=True)
    assert desk.report("claude", at=LATER).next == ("agent-chat setup claude --remove --user",)


def test_events_that_are_left_out_are_told(desk: Desk) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": line(Program(script=desk.script), "stop", "claude")}]}]}
    path = write(desk.home / ".claude" / "settings.json", {"hooks": hooks})
    (fault,) = desk.report("claude", at=LATER).faults
    assert fault.text == f"{path} has no hook for session-start, prompt, pre-tool-use, post-tool-batch"
    assert (fault.next, fault.weight) == ("agent-chat setup claude --user", NOTE)


def test_hooks_that_look_at_another_root_are_told(desk: Desk) -> None:
    desk.set_up("opencode", root_here=True)
    inside = str(desk.project / ".agent-chat")
    assert desk.report("opencode", at=LATER, root=inside).faults == ()
    (fault,) = desk.report("opencode", at=LATER).faults
    assert fault.text == f"its hooks look at {inside}, and not at the root of this call"


def test_a_trace_that_is_damaged_is_told(desk: Desk) -> None:
    found = desk.found("claude")
    last = Trace(host="claude", fault="its trace is damaged: x")
    report = host_checks.report(
        Sources(FakeClock()), desk.places, found, "claude", [], last=last, on_path=False, root="/r", plugin=""
    )
    assert [(fault.text, fault.weight) for fault in report.faults] == [("its trace is damaged: x", NOTE)]


@pytest.mark.parametrize("outcome", [FAILED, NOT_RUN])
def test_a_hook_that_does_not_do_its_work_fails_the_host(desk: Desk, outcome: str) -> None:
    desk.set_up("claude", user=True)
    assert desk.report("claude", at=LATER).works
    assert not desk.report("claude", at=LATER, outcome=outcome).works


# -- the root ----------------------------------------------------------------------------------------------------------


def test_a_root_is_tried_by_writing_and_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    assert try_root(workspace_on(tmp_path / "root")).writable is True
    assert list((tmp_path / "root").iterdir()) == []


def test_no_root_is_made(tmp_path: Path) -> None:
    found = try_root(workspace_on(tmp_path / "nowhere"))
    assert (found.writable, found.fault) == (None, "does not exist yet")
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "file").write_bytes(b"")
    found = try_root(workspace_on(tmp_path / "file"))
    assert (found.writable, found.fault) == (False, "is no folder")


def test_a_root_that_refuses_is_told(tmp_path: Path) -> None:
    clock = FakeClock()
    (tmp_path / "root").mkdir()
    for at in (1, 2):
        files = FaultyFiles(str(tmp_path / "root"), clock, at=at, code=errno.EROFS)
        found = try_root(workspace_on(tmp_path / "root", clock=clock, files=files))
        assert found.writable is False
        assert found.fault


@pytest.mark.skipif(sys.platform == "win32" or not os.geteuid(), reason="the superuser may write everywhere")
def test_a_root_without_permission_is_told(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir(mode=0o500)
    assert try_root(workspace_on(tmp_path / "root")).fault == "Permission denied"
