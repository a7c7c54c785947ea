"""Setting up a host: what it writes, that it can be repeated, and that it goes without a trace."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import setup, wiring
from agent_chat.records.hook_line import Program
from agent_chat.storage import layout
from tests.support.cli import plant
from tests.support.projects import Project, words

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = tuple(wiring.HOSTS)
WITH_LINES = tuple(name for name, host in wiring.HOSTS.items() if host.events)
ROOT_FILES = {f".agent-chat/{name}" for name in layout.GIT_FILES}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "пр $o'jé`ct")


# -- what is written ---------------------------------------------------------------------------------------------------

LINE = 'python3 -I -S "/opt/agent-chat/chat.py" hook {} --host {} || exit 0'
EVENTS = {
    "claude": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "pre-tool-use",
        "PostToolBatch": "post-tool-batch",
        "Stop": "stop",
    },
    "codex": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "pre-tool-use",
        "Stop": "stop",
    },
    "copilot": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "pre-tool-use",
        "Stop": "stop",
    },
    "gemini": {
        "SessionStart": "session-start",
        "BeforeAgent": "prompt",
        "BeforeTool": "pre-tool-use",
        "AfterAgent": "stop",
    },
    "cursor": {"sessionStart": "session-start", "preToolUse": "pre-tool-use", "stop": "stop"},
}
TIMEOUTS = {
    "claude": {"timeout": 10},
    "codex": {"timeout": 10},
    "copilot": {"timeoutSec": 10},
    "gemini": {"timeout": 10000},
    "cursor": {},
}
MATCHERS = {
    "claude": "Edit|Write|MultiEdit|NotebookEdit|apply_patch|Bash|PowerShell|mcp__.*",
    "codex": "apply_patch|Edit|Write|Bash|mcp__.*",
    "copilot": "Edit|Write|MultiEdit|NotebookEdit|apply_patch|Bash|PowerShell|mcp__.*",
    "gemini": "write_file|replace|run_shell_command|mcp_.*",
    "cursor": "Write|Delete|Shell|MCP:.*",
}


def expected(host: str) -> dict[str, object]:
    """A new file of a host, written out: a changed line here is a hook that users have to trust anew."""
    events: dict[str, object] = {}
    for event, ours in EVENTS[host].items():
        handler: dict[str, object] = {} if host == "cursor" else {"type": "command"}
        handler |= {"command": LINE.format(ours, host), **TIMEOUTS[host]}
        if host == "cursor" and event == "stop":
            handler["loop_limit"] = 3
        matcher = {"matcher": MATCHERS[host]} if ours == "pre-tool-use" else {}
        group = {**matcher, **handler} if host in ("cursor", "copilot") else {**matcher, "hooks": [handler]}
        events[event] = [group]
    return {"hooks": events, **({"version": 1} if host in ("cursor", "copilot") else {})}


@pytest.mark.parametrize("host", WITH_LINES)
def test_a_new_file_holds_just_this(project: Project, host: str) -> None:
    outcome = project.set_up(host)
    path = wiring.HOSTS[host].project
    assert words(outcome) == {path: "created"}
    assert json.loads(project.text(path)) == expected(host)
    assert project.text(path) == json.dumps(expected(host), indent=2) + "\n"


@pytest.mark.parametrize("host", HOSTS)
def test_it_can_be_repeated_and_undone(project: Project, host: str) -> None:
    before = project.tree()
    project.set_up(host)
    once = project.tree()
    assert set(words(project.set_up(host)).values()) == {"unchanged"}
    assert project.tree() == once
    assert set(words(project.take_out(host)).values()) == {"deleted"}
    assert project.tree() == before
    assert words(project.take_out(host)) == {}


@pytest.mark.parametrize("host", HOSTS)
def test_what_each_host_is_told_does_not_depend_on_the_others(project: Project, host: str) -> None:
    for each in HOSTS:
        project.set_up(each)
    alone = Project(project.folder.parent / "alone")
    alone.set_up(host)
    path = wiring.HOSTS[host].project
    assert project.text(path) == alone.text(path)
    for each in HOSTS:
        project.take_out(each)
    assert project.tree() == {}


def test_the_waiter_is_wired_on_request_and_gone_without(project: Project) -> None:
    path = ".claude/settings.json"
    project.set_up("claude", wake=True)
    hooks = json.loads(project.text(path))["hooks"]
    script = "/opt/agent-chat/chat.py"
    waiter = {
        "type": "command",
        "command": f'test ! -f "{script}" || exec python3 -I -S "{script}" hook wait --host claude',
        "asyncRewake": True,
        "timeout": 3600,
    }
    assert [group["hooks"] for group in hooks["SessionStart"]][1:] == [[waiter]]
    assert [group["hooks"] for group in hooks["Stop"]][1:] == [[waiter]]
    assert words(project.set_up("claude")) == {path: "changed"}
    assert json.loads(project.text(path)) == expected("claude")
    project.set_up("claude", wake=True)
    project.take_out("claude")
    assert project.tree() == {}


@pytest.mark.parametrize("host", WITH_LINES)
def test_a_line_of_another_place_gives_way(project: Project, host: str) -> None:
    path = wiring.HOSTS[host].project
    project.set_up(host)
    wanted = project.text(path)
    for program in (Program(), Program(executable="/usr/bin/agent-chat"), Program(script="/old $x/chat.py")):
        project.set_up(host, program=program, root_here=True)
        assert project.text(path) != wanted
        project.set_up(host)
        assert project.text(path) == wanted
    project.take_out(host)
    assert not (project.folder / path).exists()


# -- files that are there ----------------------------------------------------------------------------------------------

THEIRS = '{"command": "their.sh"}'
FORMS = {
    "empty object": "{}",
    "empty object over two lines": "{\n}\n",
    "empty hooks": '{"hooks": {}}',
    "empty hooks over two lines": '{\n  "hooks": {\n  }\n}',
    "empty arrays": '{"hooks": {"Stop": [], "PreToolUse": [ ], "BeforeTool": [\n ], "stop": [/* none */]}}',
    "one line": '{"a": [1, 2], "b": {"c": null}}',
    "one line with hooks": f'{{"hooks": {{"Stop": [{THEIRS}], "preToolUse": [{THEIRS}]}}, "z": 1}}',
    "tabs": f'{{\n\t"hooks": {{\n\t\t"Stop": [\n\t\t\t{THEIRS}\n\t\t]\n\t}},\n\t"theme": "x"\n}}\n',
    "no final newline": '{\n    "theme": "x"\n}',
    "several newlines": '{\n    "theme": "x"\n}\n\n\n',
    "carriage returns": f'{{\r\n  "hooks": {{\r\n    "Stop": [\r\n      {THEIRS}\r\n    ]\r\n  }}\r\n}}\r\n',
    "byte order mark": '\ufeff{"theme": "ї"}\n',
    "comments": f"""\
// what we need
{{
  /* look */ "theme": "x", // dark
  "hooks": {{ // ours
    "Stop": [
      {THEIRS}, // first
      {THEIRS} // second
      // third: {THEIRS}
    ], // end
    "AfterAgent": [
      {THEIRS}, // comma
    ],
  }},
}} // bye
""",
    "version": '{\n  "version": 1\n}\n',
    "version after hooks": '{\n  "hooks": {},\n  "version": 1\n}\n',
    "only strings that look like it": '{"hooks ": "\\"hooks\\": {", "x": "// no comment"}',
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("host", WITH_LINES)
def test_what_is_there_stays_byte_for_byte(project: Project, host: str, form: str) -> None:
    path = wiring.HOSTS[host].project
    data = FORMS[form].encode("utf-8")
    plant(project.folder / path, data)
    before = project.tree()
    assert words(project.set_up(host)) == {path: "changed"}
    text = project.text(path)
    rest = iter(text)
    assert all(sign in rest for sign in FORMS[form]), "all that was there is there, in its order"
    assert words(project.set_up(host)) == {path: "unchanged"}
    assert words(project.take_out(host)) == {path: "removed"}
    assert project.tree() == before
    assert words(project.take_out(host)) == {path: "unchanged"}


def test_hooks_of_others_keep_their_order_and_ours_come_last(project: Project) -> None:
    """A host may know hooks by their number in the list, and trust them by it."""
    path = ".codex/hooks.json"
    theirs = [{"hooks": [{"type": "command", "command": f"{name}.sh"}]} for name in "ab"]
    plant(project.folder / path, json.dumps({"hooks": {"Stop": theirs}}))
    project.set_up("codex")
    hooks = json.loads(project.text(path))["hooks"]
    assert hooks["Stop"][:2] == theirs
    assert len(hooks["Stop"]) == 3
    assert next(iter(hooks)) == "Stop"


def test_a_change_by_its_user_stays_when_ours_goes(project: Project) -> None:
    path = ".claude/settings.json"
    project.set_up("claude")
    settings = json.loads(project.text(path))
    settings["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine.sh"})
    settings["hooks"]["Notification"] = [{"hooks": [{"type": "command", "command": "other.sh"}]}]
    settings["theme"] = "dark"
    plant(project.folder / path, json.dumps(settings, indent=4))
    assert words(project.take_out("claude")) == {path: "removed"}
    assert json.loads(project.text(path)) == {
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "mine.sh"}]}],
            "Notification": settings["hooks"]["Notification"],
        },
        "theme": "dark",
    }


def test_a_file_keeps_its_modes(project: Project) -> None:
    path = project.folder / ".claude" / "settings.json"
    plant(path, "{}")
    path.chmod(0o640)
    project.set_up("claude")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    project.take_out("claude")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("user", [False, True])
def test_folders_that_were_there_stay_and_those_that_were_made_go(project: Project, host: str, user: bool) -> None:
    row = wiring.HOSTS[host]
    path = f"{row.user[1]}/{row.user[2]}".lstrip("/") if user else row.project
    folders = _parents(path)
    for there in [None, *folders]:
        for full in (False, True):
            place = Project(project.folder / f"{folders.index(there) if there else 'none'}-{full}")
            if there:
                (place.folder / there).mkdir(parents=True)
                if full:
                    plant(place.folder / there / "other.txt", "kept")
            before = place.tree()
            place.set_up(host, user=user)
            assert (place.folder / path).is_file()
            place.set_up(host, user=user, program=Program())
            place.take_out(host, user=user)
            assert place.tree() == before, (there, full)


def _parents(path: str) -> list[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[:length]) for length in range(1, len(names) + 1)]


def test_all_is_refused_together(project: Project) -> None:
    """What is wrong with a later file keeps the first from being written."""
    plant(project.folder / ".claude" / "settings.local.json", '{"env": {"AGENT_CHAT_ROOT": "/theirs"}}')
    before = project.tree()
    with pytest.raises(ChatError) as caught:
        project.set_up("claude", root_here=True)
    assert caught.value.code == "SETUP_FILE_INVALID"
    assert "AGENT_CHAT_ROOT is '/theirs' already" in caught.value.message
    assert project.tree() == before


def test_a_personal_file_that_holds_nothing_of_ours_is_not_even_read_as_json(project: Project) -> None:
    plant(project.folder / ".claude" / "settings.local.json", "{ not yet")
    before = project.tree()
    assert words(project.set_up("claude")) == {".claude/settings.json": "created"}
    project.take_out("claude")
    assert project.tree() == before


def test_the_users_settings_have_no_personal_file_beside_them(project: Project) -> None:
    path = project.folder / ".claude" / "settings.local.json"
    plant(path, '{"env": {"AGENT_CHAT_ROOT": "/home/.agent-chat"}}')
    before = path.read_bytes()
    for act in (project.set_up, project.take_out):
        assert list(words(act("claude", user=True))) == [".claude/settings.json"]
        assert path.read_bytes() == before


def test_what_is_printed_is_what_would_be_made(project: Project) -> None:
    for host in HOSTS:
        for root_here in (False, True):
            wish = project.wish(host, root_here=root_here)
            printed = dict(setup.printed(wish))
            place = Project(project.folder / f"{host}-{root_here}")
            setup.set_up(place.place(), wish)
            made = {name: data.decode() for name, (mode, data) in place.tree().items() if stat.S_ISREG(mode)}
            assert {name: text for name, text in made.items() if name not in ROOT_FILES} == printed
