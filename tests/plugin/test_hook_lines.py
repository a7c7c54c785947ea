"""The lines of hooks.json are those that users have trusted, and end with 0 where a Python or a script is missing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.plugin.manifests import HOOKS, document, hook_lines
from tests.tidy import tree

SCRIPTS = {
    "SessionStart": "session_inbox",
    "UserPromptSubmit": "prompt_inbox",
    "PreToolUse": "edit_guard",
    "PostToolBatch": "batch_inbox",
    "Stop": "stop_inbox",
}
LINE = (
    'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/hooks/{0}.py"'
    ' || python -I -S "${{CLAUDE_PLUGIN_ROOT}}/hooks/{0}.py" || exit 0'
)
MATCHER = "Edit|Write|MultiEdit|NotebookEdit|apply_patch|Bash|PowerShell|mcp__.*"

posix = pytest.mark.skipif(sys.platform == "win32", reason="hosts run the lines by Git Bash there, which is not tried")


def test_the_lines_are_what_users_have_trusted() -> None:
    """Codex trusts a hook by the hash of its definition: whoever changes one takes it from every user, in silence.

    So what is wanted of a hook is changed behind its line. This test is changed only where there is no other way, and
    the changelog tells users to trust the hooks anew.
    """
    expected = {
        event: [
            {
                **({"matcher": MATCHER} if event == "PreToolUse" else {}),
                "hooks": [{"type": "command", "command": LINE.format(script), "timeout": 10}],
            }
        ]
        for event, script in SCRIPTS.items()
    }
    assert document(HOOKS)["hooks"] == expected


def test_the_lines_are_in_shell_form() -> None:
    """Codex and Copilot know no `args`: they would run the bare command, and no hook at all without a word."""
    assert set(document(HOOKS)) == {"description", "hooks"}
    assert '"args"' not in tree.text_of(HOOKS)


def test_each_line_names_a_script_and_each_script_has_a_line() -> None:
    scripts = {name for name in tree.files() if name.startswith("hooks/") and name.endswith(".py")}
    assert {f"hooks/{script}.py" for script in SCRIPTS.values()} == scripts
    for event, line in hook_lines().items():
        words = [word for word in shlex.split(line) if word.startswith("${CLAUDE_PLUGIN_ROOT}/")]
        assert words == [f"${{CLAUDE_PLUGIN_ROOT}}/hooks/{SCRIPTS[event]}.py"] * 2


# --- run by a shell, as hosts do ------------------------------------------------------------------------------------

STUB = "import sys\n\ndef run_from_console(event):\n    print(event, sys.stdin.read(), *sys.argv[1:], flush=True)\n"
NO_PYTHON = "exit 49"  # as the alias of the Windows store does


class Place(NamedTuple):
    """A plugin in a folder of an unpleasant name, and what a shell finds on its path."""

    plugin: Path
    tools: Path

    def put(self, name: str, script: str) -> None:
        """Puts a tool on the path."""
        tool = self.tools / name
        tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        tool.chmod(0o755)

    def run(self, line: str, *, exported: bool) -> tuple[int, str, str]:
        """Runs a line with the root of the plugin exported, or put into its text as some hosts do."""
        variables = {"PATH": str(self.tools), "LC_ALL": "C.UTF-8"}
        if exported:
            variables["CLAUDE_PLUGIN_ROOT"] = str(self.plugin)
        else:
            line = line.replace("${CLAUDE_PLUGIN_ROOT}", str(self.plugin))
        call = ["/bin/sh", "-c", line]
        done = subprocess.run(
            call, env=variables, input="{}", capture_output=True, encoding="utf-8", timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path / "My Plug (x) & 'y' \u0456" / "agent-chat", tmp_path / "tools")
    (found.plugin / "hooks").mkdir(parents=True)
    (found.plugin / "agent_chat" / "hooks").mkdir(parents=True)
    found.tools.mkdir()
    for script in SCRIPTS.values():
        (found.plugin / "hooks" / f"{script}.py").write_bytes((tree.ROOT / "hooks" / f"{script}.py").read_bytes())
    for name, text in (("__init__.py", ""), ("hooks/__init__.py", ""), ("hooks/entry.py", STUB)):
        (found.plugin / "agent_chat" / name).write_text(text, encoding="utf-8")
    found.put("python3", NO_PYTHON)
    found.put("python", f'exec {shlex.quote(sys.executable)} -B "$@"')
    return found


@posix
@pytest.mark.parametrize("exported", [True, False], ids=["exported", "substituted"])
def test_without_python3_the_lines_fall_through_to_python(place: Place, *, exported: bool) -> None:
    said = {event: place.run(line, exported=exported) for event, line in hook_lines().items()}
    events = ("session-start", "prompt", "pre-tool-use", "post-tool-batch", "stop")
    assert said == {event: (0, f"{name} {{}}\n", "") for event, name in zip(SCRIPTS, events)}


@posix
def test_a_missing_script_never_blocks(place: Place) -> None:
    """Python ends with 2 where it cannot open a file, and 2 is "block" in most hosts."""
    place.put("python3", f'exec {shlex.quote(sys.executable)} -B "$@"')
    for script in SCRIPTS.values():
        (place.plugin / "hooks" / f"{script}.py").unlink()
    for exported, line in zip((True, False), hook_lines().values()):
        status, out, _ = place.run(line, exported=exported)
        assert (status, out) == (0, "")


@posix
@pytest.mark.parametrize("python", [NO_PYTHON, "exit 2", None], ids=["alias", "two", "none"])
def test_without_any_python_nothing_is_blocked(place: Place, python: str | None) -> None:
    for name in ("python3", "python"):
        if python is None:
            (place.tools / name).unlink()
        else:
            place.put(name, python)
    status, out, _ = place.run(hook_lines()["PreToolUse"], exported=True)
    assert (status, out) == (0, "")


@posix
def test_a_python_that_works_is_run_once(place: Place) -> None:
    log = place.plugin / "log"
    for name in ("python3", "python"):
        place.put(name, f'echo {name} >>{shlex.quote(str(log))}; exec {shlex.quote(sys.executable)} -B "$@"')
    (place.plugin / "agent_chat" / "hooks" / "entry.py").write_text("raise RuntimeError", encoding="utf-8")
    assert place.run(hook_lines()["Stop"], exported=True)[0] == 0
    assert log.read_text(encoding="utf-8") == "python3" + os.linesep
