"""The lines that hosts run: pinned, since hosts trust them by their hash; right for a shell; known again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import hook_line
from agent_chat.records.hook_line import EVENTS, Program, event_of, line, quoted, words_of

if TYPE_CHECKING:
    from pathlib import Path

NAMED, FILE = Program(), Program(executable="/opt/my tools/agent-chat")
SCRIPT = Program(script="/opt/my tools/chat.py")
ON_WINDOWS = Program(script="C:/my tools/chat.py", python="py -3")
PROGRAMS = (NAMED, FILE, SCRIPT, ON_WINDOWS, Program(executable="C:/x/agent-chat.exe"))
ROOT = "/пр $o'j`é\"\\ct/.agent-chat"
OF_SCRIPT = '"/opt/my tools/chat.py"'
OF_ROOT = '"/пр "\'$\'"o\'j\\`é\\"\\\\ct/.agent-chat"'

PINNED = [
    (NAMED, "stop", "", "agent-chat hook stop --host gemini"),
    (NAMED, "stop", "/p/.agent-chat", 'agent-chat --root "/p/.agent-chat" hook stop --host gemini'),
    (NAMED, "wait", "", "agent-chat hook wait --host gemini"),
    (FILE, "prompt", "", '"/opt/my tools/agent-chat" hook prompt --host gemini'),
    (SCRIPT, "stop", "", 'python3 -I -S "/opt/my tools/chat.py" hook stop --host gemini || exit 0'),
    (
        SCRIPT,
        "pre-tool-use",
        ROOT,
        f"python3 -I -S {OF_SCRIPT} --root {OF_ROOT} hook pre-tool-use --host gemini || exit 0",
    ),
    (
        SCRIPT,
        "wait",
        "",
        'test ! -f "/opt/my tools/chat.py" || exec python3 -I -S "/opt/my tools/chat.py" hook wait --host gemini',
    ),
    (ON_WINDOWS, "stop", "", 'py -3 -I -S "C:/my tools/chat.py" hook stop --host gemini || exit 0'),
]


@pytest.mark.parametrize(("program", "event", "root", "text"), PINNED)
def test_the_line_is_this_one(program: Program, event: str, root: str, text: str) -> None:
    assert line(program, event, "gemini", root) == text


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("root", ["", ROOT])
@pytest.mark.parametrize("event", EVENTS)
def test_a_line_of_ours_is_known_again(program: Program, root: str, event: str) -> None:
    text = line(program, event, "codex", root)
    assert event_of(text, "codex") == event
    assert event_of(text, "claude") == ""
    assert event_of(text + " && echo", "codex") == ""
    assert event_of("X=1 " + text, "codex") == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        1,
        ["agent-chat"],
        "their.sh",
        "agent-chat inbox --as bob",
        "agent-chat hook stop",
        "agent-chat hook later --host codex",
        "my-agent-chat hook stop --host codex",
        "python3 other.py hook stop --host codex",
        "python3 -m agent_chat hook stop --host codex",
        "agent-chat hook stop --host codex; rm x",
        "agent-chat hook stop --host codex > log",
        "agent-chat hook stop --host $(x)",
        'agent-chat --root "$X" hook stop --host codex',
        'agent-chat "hook stop --host codex',
        "agent-chat --root hook stop --host codex",
    ],
)
def test_what_somebody_else_wrote_is_not_ours(text: object) -> None:
    assert event_of(text, "codex") == ""


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20))
def test_words_are_read_as_they_were_quoted(text: str) -> None:
    assert words_of(f"a {quoted(text)} b") == ["a", text, "b"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sh")
@pytest.mark.parametrize("path", [ROOT, "a b", "x'$HOME'y", "$(touch x)`id`", "!{}[]*?~#&;|<>()", "тека\n2", "\\$\\\\"])
def test_a_shell_passes_a_path_on_as_it_is(path: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf %s {quoted(path)}"], capture_output=True, check=True)
    assert done.stdout.decode("utf-8") == path


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sh")
def test_a_shell_runs_the_lines(tmp_path: Path) -> None:
    folder = tmp_path / "пр $o'j`é\"ct"
    folder.mkdir()
    script = folder / "chat.py"
    program = Program(script=str(script), python="python3")
    root = str(folder / ".agent-chat")
    status = {}
    for event in ("stop", "wait"):
        words = line(program, event, "claude", root)
        status[event, "missing"] = subprocess.run(["sh", "-c", words], capture_output=True, check=False).returncode
    script.write_text("import json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(2)\n")
    for event in ("stop", "wait"):
        done = subprocess.run(["sh", "-c", line(program, event, "claude", root)], capture_output=True, check=False)
        assert json.loads(done.stdout) == ["--root", root, "hook", event, "--host", "claude"]
        status[event, "there"] = done.returncode
    assert status == {
        ("stop", "missing"): 0,
        ("wait", "missing"): 0,
        ("stop", "there"): 0,
        ("wait", "there"): 2,
    }, "only the waiter's 2 reaches the host"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs a JavaScript engine")
def test_a_host_that_puts_variables_in_their_place_leaves_the_path_alone() -> None:
    """Gemini CLI does that in its settings, before any shell sees them; this is its pattern."""
    script = r"""
const text = require("fs").readFileSync(0, "utf8");
process.stdout.write(text.replace(/\$(?:(\w+)|{([^}]+)})/g, "REPLACED"));
"""
    text = hook_line.line(SCRIPT, "stop", "gemini", "/a/$HOME/${x}/.agent-chat")
    assert subprocess.run(["node", "-e", script], input=text, capture_output=True, text=True, check=True).stdout == text
