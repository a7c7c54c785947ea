"""Which lines are run: those that are ours to the last byte, and no line that only looks like one."""

from __future__ import annotations

import pytest

from agent_chat.operations import host_extensions
from agent_chat.records.hook_line import EVENTS, Program, event_of, line
from agent_chat.records.known_line import event_of_plugin, known, known_in_extension
from tests.plugin.manifests import hook_lines

ROOT = "/p/my project/.agent-chat"
PROGRAMS = [
    Program(),
    Program(executable="/opt/my tools/agent-chat"),
    Program(executable="C:/tools/agent-chat.exe"),
    Program(script="/opt/`$my tools/chat.py"),
    Program(script="C:/tools/chat.py", python="py -3"),
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("root", ["", ROOT])
@pytest.mark.parametrize("event", EVENTS)
def test_a_line_of_ours_is_taken_apart(program: Program, root: str, event: str) -> None:
    found = known(line(program, event, "codex", root), "codex")
    assert found is not None
    assert (found.event, found.program, found.root) == (event, program, root)
    assert found.on("codex", "/other") == line(program, event, "codex", "/other" if root else "")
    assert found.pythons == ((program.python,) if program.script else ())


@pytest.mark.parametrize(
    "text",
    [
        "/tmp/evil|/agent-chat hook stop --host codex",
        "/repo/python3 -I -S /opt/chat.py hook stop --host codex || exit 0",
        "python3 -S /opt/chat.py hook stop --host codex || exit 0",
        'python3 -I -S "/opt/chat.py" hook stop --host codex',
        "'agent-chat' hook stop --host codex",
        "agent-chat  hook stop --host codex",
        "agent-chat hook stop --host codex ",
    ],
)
def test_what_setup_takes_for_ours_and_did_not_write_is_not_run(text: str) -> None:
    assert event_of(text, "codex") == "stop"
    assert known(text, "codex") is None


@pytest.mark.parametrize("text", ["", "their.sh", "agent-chat hook stop --host claude", "agent-chat inbox"])
def test_what_is_not_ours_is_not_known(text: str) -> None:
    assert known(text, "codex") is None


def test_the_lines_of_the_plugin_are_those_of_its_file() -> None:
    names = ("session-start", "prompt", "pre-tool-use", "post-tool-batch", "stop")
    assert tuple(event_of_plugin(text) for text in hook_lines().values()) == names
    for text in hook_lines().values():
        assert event_of_plugin(text + " && evil") == ""
        assert event_of_plugin(text.replace("${CLAUDE_PLUGIN_ROOT}", "/evil")) == ""
    assert event_of_plugin(None) == ""


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("root", ["", ROOT])
def test_an_extension_tells_how_it_starts_us(program: Program, root: str) -> None:
    found = known_in_extension(host_extensions.text("opencode", program, root))
    assert found is not None
    assert (found.program, found.root) == (program, root)


@pytest.mark.parametrize(
    "command",
    ['["sh", "-c", "evil"]', '["python3", "-c", "evil"]', '["python3", "-I", "-S", "evil.py"]', "[]", "{", '[1, "x"]'],
)
def test_an_extension_that_starts_something_else_tells_nothing(command: str) -> None:
    assert known_in_extension(f"const COMMAND = {command};\n") is None
    assert known_in_extension("") is None
