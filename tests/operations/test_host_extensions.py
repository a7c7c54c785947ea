"""The extensions in a JavaScript engine, between a host that is played and a program that gives scripted answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_chat.operations import host_extensions
from agent_chat.operations.host_extensions import ExtensionError, require_ours, text
from agent_chat.records.hook_line import Program

HOSTS = ("opencode", "omp", "pi")
DRIVER = Path(__file__).with_name("extension_driver.mjs")
PROGRAMS = (
    Program(),
    Program(executable="/opt/a b/agent-chat"),
    Program(script="/пр $o'j`\"\\/chat.py", python="py -3"),
)
node = pytest.mark.skipif(shutil.which("node") is None, reason="needs a JavaScript engine")

# Answers as the hooks do to these hosts, and writes down what it was asked.
FAKE = """\
import json, sys
data = sys.stdin.read()
arguments = sys.argv[1:]
with open(LOG, "a") as log:
    log.write(json.dumps([arguments, json.loads(data)]) + "\\n")
event = arguments[arguments.index("hook") + 1]
asked = json.loads(data)
if event in ("session-start", "prompt"):
    print(event.upper())
elif event == "pre-tool-use":
    locked = "locked" in json.dumps(asked["tool_input"])
    print(json.dumps({"block": True, "reason": "held by bob"} if locked else {"note": "look out"}))
elif not asked["stop_hook_active"]:
    print(json.dumps({"block": True, "reason": "2 unread"}))
else:
    print(json.dumps({"message": "still 2 unread"}))
"""
FAILING = {
    "missing": None,
    "status": 'import sys\nprint(\'{"block": true, "reason": "x"}\')\nsys.exit(1)\n',
    "no JSON": "print('{')\n",
    "a list": "print('[]')\n",
    "null": "print('null')\n",
}


def play(folder: Path, host: str, program: str | None, *, root: str = "", slow: bool = False) -> tuple[Any, Any]:
    """What the host was told, and what the program was asked."""
    log = folder / "log"
    script = folder / "чат бот.py"
    if program is not None:
        script.write_text(f"LOG = {str(log)!r}\n{program}", encoding="utf-8")
    extension = folder / "extension.mjs"
    made = text(host, Program(script=str(script), python=sys.executable), root)
    extension.write_text(made.replace("3000", "300") if slow else made, encoding="utf-8")
    done = subprocess.run(
        ["node", str(DRIVER), host, str(extension)], capture_output=True, timeout=60, check=True, cwd=folder
    )
    assert done.stderr == b""
    asked = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return json.loads(done.stdout), asked


@pytest.mark.slow
@node
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_valid_javascript_and_small(tmp_path: Path, host: str, program: Program) -> None:
    made = text(host, program, '/r "$x`\u2028/.agent-chat')
    path = tmp_path / "extension.mjs"
    path.write_text(made, encoding="utf-8")
    subprocess.run(["node", "--check", str(path)], check=True, capture_output=True)
    assert len(made.encode()) < 6000
    assert "\u2028" not in made
    require_ours(made)


@pytest.mark.parametrize("host", HOSTS)
def test_its_first_line_tells_whether_it_is_as_it_was(host: str) -> None:
    made = text(host, Program())
    for same in (made, made.replace("\n", "\r\n"), made.rstrip("\n"), made + "\n\n"):
        require_ours(same)
    for other in (
        "",
        "x",
        made.replace("3000", "1"),
        made + "x",
        made.partition("\n")[2],
        made.replace("ext", "Ext", 1),
    ):
        with pytest.raises(ExtensionError):
            require_ours(other)


PROMPT_TEXT = "SESSION-START\nPROMPT"
PAYLOAD = {"session_id": "s", "cwd": "/project"}


@pytest.mark.slow
@node
def test_opencode(tmp_path: Path) -> None:
    told, asked = play(tmp_path, "opencode", FAKE, root="/r/.agent-chat")
    part = {"id": "prt_1z", "sessionID": "s", "messageID": "msg_1", "type": "text", "synthetic": True}
    prompt = {"path": {"id": "s"}, "body": {"parts": [{"type": "text", "text": "2 unread"}]}}
    assert told == [
        ["chat.message", None],
        ["parts", [{**part, "text": PROMPT_TEXT}]],
        ["chat.message", None],
        ["parts", [{**part, "text": "PROMPT"}]],
        ["before read", None],
        ["after read", "done"],
        ["before write", {"thrown": "held by bob"}],
        ["after write", "done"],
        ["before bash", None],
        ["after bash", "done\n\nlook out"],
        ["promptAsync", prompt],
        ["idle", None],
        ["chat.message", None],
        ["parts", []],
        ["toast", "still 2 unread"],
        ["idle", None],
        ["chat.message", None],
        ["parts", [{**part, "text": "PROMPT"}]],
        ["promptAsync", prompt],
        ["idle", None],
        ["chat.message", None],
        ["parts", []],
        ["idle", None],
        ["env", {"A": "1", "AGENT_CHAT_ROOT": "/r/.agent-chat"}],
        ["odd", None],
        ["odd", None],
        ["odd", None],
    ]
    assert all(arguments[:2] == ["--root", "/r/.agent-chat"] for arguments, _ in asked)
    assert [payload for arguments, payload in asked if "pre-tool-use" in arguments] == [
        {
            "hook_event_name": "PreToolUse",
            **PAYLOAD,
            "tool_name": "write",
            "tool_input": {"filePath": "/project/locked"},
        },
        {"hook_event_name": "PreToolUse", **PAYLOAD, "tool_name": "bash", "tool_input": {"command": "true"}},
    ]
    assert [payload["stop_hook_active"] for arguments, payload in asked if "stop" in arguments] == [False, True, False]


@pytest.mark.slow
@node
@pytest.mark.parametrize("host", ["omp", "pi"])
def test_omp_and_pi(tmp_path: Path, host: str) -> None:
    told, asked = play(tmp_path, host, FAKE)
    stop = "session_stop" if host == "omp" else "agent_before_settle"
    message = {"customType": "agent-chat", "display": True}
    entry = {"type": "custom_message", **message, "content": "2 unread"}
    held: dict[str, object] = {"decision": "block", "reason": "2 unread"}
    if host == "pi":
        held = {"entries": [{"type": "custom"}, entry], "continue": True}
    result = {"content": [{"type": "text", "text": "done"}, {"type": "text", "text": "look out"}]}
    assert told == [
        ["session_start", None],
        ["before_agent_start", {"message": {**message, "content": PROMPT_TEXT}}],
        ["before_agent_start", {"message": {**message, "content": "PROMPT"}}],
        ["tool_call", None],
        ["tool_result", None],
        ["tool_call", {"block": True, "reason": "held by bob"}],
        ["tool_result", None],
        ["tool_call", None],
        ["tool_result", result],
        [stop, held],
        ["before_agent_start", None],
        ["notify", "still 2 unread"],
        [stop, None],
        ["before_agent_start", {"message": {**message, "content": "PROMPT"}}],
        *([["notify", "still 2 unread"]] if host == "omp" else []),
        [stop, None],
        ["before_agent_start", None],
        [stop, None],
        ["session_start", None],
        ["env", None],
    ]
    assert all(arguments[0] == "hook" and arguments[2:] == ["--host", host] for arguments, _ in asked)
    assert asked[0][1] == {"hook_event_name": "SessionStart", **PAYLOAD}
    assert {"hook_event_name": "Stop", **PAYLOAD, "stop_hook_active": False} in [payload for _, payload in asked]


@pytest.mark.slow
@node
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("failure", FAILING)
def test_what_fails_keeps_nobody_from_working(tmp_path: Path, host: str, failure: str) -> None:
    told, _ = play(tmp_path, host, FAILING[failure])
    texts = {"parts", "before_agent_start"}  # what a program prints at a prompt is text, whatever it is
    quiet = {name: value for name, value in told if name not in texts and not name.startswith(("after", "env"))}
    assert all(value is None for value in quiet.values())


@pytest.mark.slow
@node
def test_a_program_that_hangs_is_left_alone(tmp_path: Path) -> None:
    told, _ = play(tmp_path, "pi", "import time\ntime.sleep(60)\n", slow=True)
    assert {json.dumps(value) for name, value in told if name != "env"} == {"null"}


def test_the_root_is_named_to_the_shells_of_pi() -> None:
    assert "process.env.AGENT_CHAT_ROOT = ROOT" in text("pi", Program(), "/r/.agent-chat")
    assert host_extensions.text("pi", Program()) != text("pi", Program(), "/r/.agent-chat")
