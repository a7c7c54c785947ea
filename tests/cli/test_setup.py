"""The command setup: where it writes, how hooks start the program, what it says, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli import own_program as own_program_module
from agent_chat.cli import setup_commands
from agent_chat.cli.host_table import HOSTS
from agent_chat.operations import wiring
from tests.support.cli import REPOSITORY, Result, plant, run, tree_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CHECKOUT = str(REPOSITORY / "chat.py")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the command is called, and a home folder beside it."""
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [CHECKOUT])
    return folder


def call(project: Path, *words: str, status: int = 0, variables: Mapping[str, str] | None = None) -> Result:
    """Calls `setup`."""
    environment = {"HOME": str(project.parent / "home"), **(variables or {})}
    result = run(["setup", *words], project.parent / "root", environment=environment)
    assert result.status == status, result
    return result


def files_of(result: Result) -> list[tuple[str, str]]:
    """What became of each file."""
    return [(each["path"], each["change"]) for each in result.json["files"]]


def test_the_hosts_of_the_table_are_those_that_can_be_set_up() -> None:
    assert tuple(wiring.HOSTS) == HOSTS


@pytest.mark.parametrize("host", HOSTS)
def test_the_answer_is_a_line_for_each_file(project: Path, host: str) -> None:
    path = wiring.HOSTS[host].project
    first, second = call(project, host).stdout.splitlines(), call(project, host).stdout.splitlines()
    assert first[0] == f"wrote {path}"
    assert all(line.startswith("next: ") for line in first[1:])
    assert second == [f"unchanged {path}"]
    assert call(project, host, "--remove").stdout.splitlines() == [f"deleted {path}"]
    assert call(project, host, "--remove").stdout.splitlines() == [f"nothing of ours is set up for {host}"]
    assert not (project.parent / "root").exists(), "setting up makes no root"
    assert tree_of(project.parent).keys() == {"project", "home"}


def test_the_json_reply(project: Path) -> None:
    assert call(project, "codex", "--root-here", "--json").json == {
        "root": str(project.parent / "root"),
        "root_from": "variable",
        "host": "codex",
        "files": [
            {"path": ".agent-chat/", "change": "created"},
            {"path": ".codex/hooks.json", "change": "created"},
        ],
        "next": [
            "codex runs a hook only once it is trusted: start codex here and trust ours in /hooks",
            "add to ~/.codex/config.toml, under [shell_environment_policy.set]: AGENT_CHAT_ROOT = "
            + json.dumps(str(project / ".agent-chat")),
        ],
    }
    plant(project / ".codex" / "hooks.json", '{"hooks": {}}')
    assert files_of(call(project, "codex", "--json")) == [(".codex/hooks.json", "changed")]
    assert files_of(call(project, "codex", "--json")) == [(".codex/hooks.json", "unchanged")]
    assert files_of(call(project, "codex", "--remove", "--json")) == [
        (".codex/hooks.json", "removed"),
        (".agent-chat/", "deleted"),
    ]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("options", [[], ["--user"], ["--root-here"]])
def test_printing_writes_nothing_and_shows_what_would_be_there(project: Path, host: str, options: list[str]) -> None:
    before = tree_of(project.parent)
    text = call(project, host, "--print", *options).stdout
    files = call(project, host, "--print", *options, "--json").json["files"]
    assert tree_of(project.parent) == before
    assert text == "\n".join(f"{each['path']}:\n{each['text']}" for each in files)
    assert [each["change"] for each in files] == ["printed"] * len(files)
    call(project, host, *options)
    for each in files:
        path = each["path"].replace("~", str(project.parent / "home"))
        assert (project / path).read_bytes().decode() == each["text"]


USER_FILES = {
    "claude": ("CLAUDE_CONFIG_DIR", "settings.json", "~/.claude/settings.json"),
    "codex": ("CODEX_HOME", "hooks.json", "~/.codex/hooks.json"),
    "copilot": ("COPILOT_HOME", "hooks/agent-chat.json", "~/.copilot/hooks/agent-chat.json"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini/settings.json", "~/.gemini/settings.json"),
    "cursor": ("", "", "~/.cursor/hooks.json"),
    "opencode": ("XDG_CONFIG_HOME", "opencode/plugins/agent-chat.js", "~/.config/opencode/plugins/agent-chat.js"),
    "omp": ("PI_CODING_AGENT_DIR", "extensions/agent-chat.ts", "~/.omp/agent/extensions/agent-chat.ts"),
    "pi": ("PI_CODING_AGENT_DIR", "extensions/agent-chat.ts", "~/.pi/agent/extensions/agent-chat.ts"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_users_own_settings(project: Path, host: str) -> None:
    named, below, path = USER_FILES[host]
    home = project.parent / "home"
    assert files_of(call(project, host, "--user", "--json")) == [(path, "created")]
    assert (home / path[2:]).is_file()
    assert tree_of(project) == {}
    plant(home / ".agent-chat" / "kept", "not a root of ours")
    assert files_of(call(project, host, "--user", "--remove", "--json")) == [(path, "deleted")]
    assert tree_of(home).keys() == {".agent-chat", ".agent-chat/kept"}
    if named:
        chosen = project.parent / "chosen"
        (chosen if named == "GEMINI_CLI_HOME" else chosen.parent).mkdir(exist_ok=True)
        variables = {named: str(chosen)}
        shown = str(chosen / below)
        assert files_of(call(project, host, "--user", "--json", variables=variables)) == [(shown, "created")]
        assert (chosen / below).is_file()
        call(project, host, "--user", "--remove", variables=variables)
        assert not (chosen / below).exists()


def test_the_users_settings_and_the_projects_do_not_touch_each_other(project: Path) -> None:
    call(project, "claude", "--root-here")
    before = tree_of(project)
    call(project, "claude", "--user", "--wake")
    call(project, "claude", "--user", "--remove")
    assert tree_of(project) == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["codex", "--wake"], "codex cannot be woken"),
        (["claude", "--user", "--root-here"], "--user and --root-here do not go together"),
        (["claude", "--print", "--remove"], "--print and --remove do not go together"),
    ],
)
def test_options_that_do_not_fit_are_refused(project: Path, words: list[str], why: str) -> None:
    error = call(project, *words, "--json", status=2).error
    assert error["code"] == "SETUP_OPTION_INVALID"
    assert why in error["message"]
    assert tree_of(project) == {}


def test_a_host_that_nobody_knows_is_refused(project: Path) -> None:
    error = call(project, "cluade", "--json", status=2).error
    assert error["code"] == "USAGE"
    assert "claude" in error["message"]
    assert call(project, "--json", status=2).error["code"] == "USAGE"


def test_a_file_that_is_refused_is_named_as_the_user_knows_it(project: Path) -> None:
    plant(project.parent / "home" / ".codex" / "hooks.json", "[")
    error = call(project, "codex", "--user", "--json", status=2).error
    assert error["message"].startswith("~/.codex/hooks.json: line 1: ")
    assert error["next"] == "agent-chat setup codex --print --user"
    assert error["path"] == str(project.parent / "home" / ".codex" / "hooks.json")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_project_whose_name_is_no_text_cannot_have_its_own_root(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = os.fsencode(project) + b"/\xff"
    os.mkdir(odd)
    monkeypatch.chdir(os.fsdecode(odd))
    for host in ("claude", "pi", "codex"):
        assert call(project, host, "--root-here", "--json", status=2).error["code"] == "SETUP_PLACE_INVALID"
    assert os.listdir(odd) == []
    call(project, "claude")


def test_a_folder_that_is_gone(project: Path) -> None:
    gone = project / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert call(project, "claude", "--json", status=2).error["code"] == "SETUP_PLACE_INVALID"


# -- how hooks start the program ---------------------------------------------------------------------------------------


def program(project: Path, started: str, *, path: str = "", **variables: str) -> str:
    """How hooks start the program, or the code of the refusal."""
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setattr(sys, "argv", [started])
        result = run(
            ["setup", "codex", "--print", "--json"], environment={"PATH": path, "HOME": str(project), **variables}
        )
    if result.status:
        return str(result.error["code"])
    settings = json.loads(result.json["files"][0]["text"])
    return str(settings["hooks"]["Stop"][0]["hooks"][0]["command"]).partition(" hook")[0]


def test_the_name_is_taken_where_path_leads_to_it_for_good(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project.parent
    real = plant(folder / "venv" / "bin" / "agent-chat")
    (folder / "bin").mkdir()
    (folder / "bin" / "agent-chat").symlink_to(real)
    plant(folder / "other" / "agent-chat")
    shell, own = str(folder / "bin"), str(folder / "venv" / "bin")
    named, absolute = "agent-chat", f'"{real}"'
    assert program(project, f"{shell}/agent-chat", path=shell) == named
    assert program(project, f"{own}/agent-chat", path=f"/nowhere:{shell}") == named
    assert program(project, "agent-chat", path=shell) == named
    assert program(project, f"{own}/agent-chat", path=own) == named
    assert program(project, f"{own}/agent-chat", path=own, VIRTUAL_ENV=str(folder / "venv")) == absolute
    assert program(project, f"{own}/agent-chat", path="") == absolute
    assert program(project, f"{own}/agent-chat", path=f"{folder / 'other'}:{shell}") == absolute
    assert program(project, f"{own}/agent-chat", path="bin:.") == absolute, "relative folders lead elsewhere tomorrow"
    for cache in ("uv/archive-v0/x/bin", "uv/environments-v2/y/bin", ".cache/pipx/z/bin"):
        once = plant(folder / cache / "agent-chat")
        assert program(project, str(once), path=str(once.parent)) == "SETUP_PROGRAM_UNKNOWN"
        assert program(project, str(once)) == "SETUP_PROGRAM_UNKNOWN"


def test_the_script_is_taken_where_it_was_started(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program(project, CHECKOUT) == f'python3 -I -S "{CHECKOUT}"'
    relative = os.path.relpath(CHECKOUT, os.getcwd())
    assert program(project, relative) == f'python3 -I -S "{CHECKOUT}"'
    link = project / "скіл $x"
    link.symlink_to(REPOSITORY)
    assert program(project, str(link / "chat.py")) == f'python3 -I -S "{project}/скіл "\'$\'"x/chat.py"'
    for started in ("-c", "", str(REPOSITORY / "agent_chat" / "__main__.py")):
        assert program(project, started) == f'python3 -I -S "{CHECKOUT}"', "never as a module"


def test_without_chat_py_the_console_script_is_looked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = plant(project / "site-packages" / "agent_chat" / "cli" / "own_program.py")
    monkeypatch.setattr(own_program_module, "__file__", str(installed))
    assert program(project, "-m") == "SETUP_PROGRAM_UNKNOWN"
    plant(project / "bin" / "agent-chat")
    assert program(project, "-m", path=str(project / "bin")) == "agent-chat"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sh")
def test_what_is_wired_runs(project: Path) -> None:
    """From a checkout in an awkward place, by the very line that a host would run."""
    skill = project.parent / "скіл $HOME o'k`x\""
    skill.symlink_to(REPOSITORY)
    environment = {"PATH": os.environ["PATH"], "HOME": str(project.parent / "home")}
    words = [sys.executable, "-I", "-S", str(skill / "chat.py"), "setup", "gemini", "--root-here"]
    subprocess.run(words, check=True, cwd=project, env=environment, capture_output=True)
    settings = json.loads((project / ".gemini" / "settings.json").read_text("utf-8"))
    for event, groups in settings["hooks"].items():
        payload = json.dumps({"hook_event_name": event, "session_id": "s", "cwd": str(project)})
        line = groups[0]["hooks"][0]["command"]
        done = subprocess.run(
            ["sh", "-c", line], input=payload.encode(), check=False, cwd="/", env=environment, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == b"" or json.loads(done.stdout)


def test_nothing_of_it_costs_other_commands(project: Path) -> None:
    assert setup_commands.__name__ not in json.dumps(sorted(_modules_of("version")))


def _modules_of(*words: str) -> list[str]:
    script = (
        "import sys\nfrom agent_chat.cli.main import main\nmain(sys.argv[1:], {})\n"
        "sys.stderr.write('\\n'.join(name for name in sys.modules if name.startswith('agent_chat')))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=REPOSITORY, capture_output=True, check=True)
    return done.stderr.decode().splitlines()


def test_the_root_of_a_project_can_be_made_without_a_host(project: Path) -> None:
    document = json.loads(call(project, "--root-here", "--json").stdout)
    assert document["host"] is None
    assert document["files"] == [{"path": ".agent-chat/", "change": "created"}]
    assert document["next"] == [f"before you start a host: export AGENT_CHAT_ROOT={project}/.agent-chat"]
    assert call(project, "--root-here").stdout.splitlines()[0] == "unchanged .agent-chat/"
    for words in ((), ("--print", "--root-here"), ("--remove",)):
        assert call(project, *words, status=2).stderr.startswith("agent-chat: USAGE: setup needs a host: claude, "), (
            words
        )


def test_a_root_that_is_given_by_hand_is_not_wired_and_that_is_said(project: Path) -> None:
    answer = call(project, "gemini", "--root", str(project / "there"))
    assert answer.stdout.splitlines()[-1] == f"next: before you start gemini: export AGENT_CHAT_ROOT={project}/there"
