"""`doctor --hosts`, carried out: real lines in a shell, real hooks, and whatever may be broken about them."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_chat.cli import hook_runner
from agent_chat.cli.hook_runner import Runner
from agent_chat.operations.canary import CanaryRoom
from agent_chat.records.hook_answer import Ran
from tests.cli.hosts_desk import CHAT, EVENTS, PYTHON, Desk, line_of, outcomes, wire
from tests.support import host_homes
from tests.support.cli import run
from tests.support.host_homes import write
from tests.tidy import tree

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell of Windows is not tried")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


# -- the whole of it ---------------------------------------------------------------------------------------------------


def test_claude_by_the_plugin(desk: Desk) -> None:
    host_homes.claude(desk.home, tree.ROOT)
    desk.put("claude", "exit 1")
    desk.ran("claude")
    done = desk.doctor()
    assert done.stdout.splitlines() == [
        f"claude: found, wired by the plugin ({tree.ROOT}), last ran 2999-11-30 19:00Z as alice",
        "  session-start ok, prompt ok, post-tool-batch ok, stop ok, edit guard: refused the canary edit (guarded)",
        "not found: codex, copilot, gemini, cursor, opencode, omp, pi",
        "identity: alice",
        f"root: {desk.root} (variable), writable",
    ]
    assert (done.status, done.stderr) == (0, "")


@pytest.mark.slow
def test_codex_and_copilot_by_the_plugin(desk: Desk) -> None:
    folder = host_homes.codex(desk.home)
    (folder / "agent_chat").symlink_to(tree.ROOT / "agent_chat")
    host_homes.copilot(desk.home, tree.ROOT)
    for host in ("codex", "copilot"):
        desk.ran(host)
        found = desk.host(host)
        assert outcomes(found) == {event: "ok" for event in EVENTS if event != "post-tool-batch"}
        # What Codex trusts now only Codex knows.
        assert found["guarded"] is (host == "copilot")


@pytest.mark.slow
@pytest.mark.parametrize("host", ["claude", "codex", "copilot", "gemini", "cursor", "opencode", "omp", "pi"])
@pytest.mark.parametrize("options", [(), ("--user",), ("--root-here",)], ids=["project", "user", "root-here"])
def test_a_host_that_setup_has_wired(desk: Desk, host: str, options: tuple[str, ...]) -> None:
    desk.set_up(host, *options)
    found = desk.host(host)
    assert set(outcomes(found).values()) == {"ok"}
    assert "pre-tool-use" in outcomes(found)
    # Where trust is not known, and where an extension was not run, nothing is guarded.
    assert found["guarded"] is (options == ("--user",) and host in ("claude", "copilot", "gemini"))
    assert found["wired"][0]["by"] == ("user" if "--user" in options else "project")
    assert desk.doctor().status == (1 if (host, options) == ("codex", ("--user",)) else 0)


@pytest.mark.slow
def test_the_waiter_is_tried_too(desk: Desk) -> None:
    desk.set_up("claude", "--wake", "--user")
    found = desk.host("claude")
    assert outcomes(found)["wait"] == "ok"
    assert set(outcomes(found).values()) == {"ok"}


# -- what is broken is told, and never called guarded ------------------------------------------------------------------


def refused(desk: Desk, said: str, *, outcome: str = "failed", **more: Any) -> dict[str, Any]:
    """What is said of claude, one of whose hooks does not do its work."""
    found = desk.host("claude", **more)
    (guard,) = [hook for hook in found["hooks"] if hook["event"] == "pre-tool-use"]
    assert guard["outcome"] == outcome
    assert said in guard["detail"]
    assert not found["guarded"]
    done = desk.doctor(**more)
    assert done.status == 1
    assert "guarded" not in done.stdout
    assert said in done.stdout
    return found


def test_a_script_that_is_missing(desk: Desk) -> None:
    gone = desk.folder / "gone" / "chat.py"
    path = wire(desk.home, PreToolUse=line_of("pre-tool-use", script=gone))
    found = refused(desk, "is missing", outcome="not run")
    assert f"{path} calls {gone}, which is missing" in found["faults"]
    assert "agent-chat setup claude --user" in found["next"]


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (None, "python3 does not start (status 127: "),
        ("exit 49", "python3 does not start (status 49)"),
        ("echo Python was not found >&2; exit 9", "python3 does not start (status 9: Python was not found)"),
        ('case "$*" in *" -c "*) echo 3.8;; esac', "python3 is 3.8, and 3.9 is needed"),
    ],
)
def test_a_python_that_does_not_start(desk: Desk, python: str | None, said: str) -> None:
    wire(desk.home, PreToolUse=line_of("pre-tool-use"))
    if python is None:
        (desk.tools / "python3").unlink()
    else:
        desk.put("python3", python)
    refused(desk, said)


def test_the_plugin_needs_one_python_of_two(desk: Desk) -> None:
    host_homes.claude(desk.home, tree.ROOT)
    desk.put("python3", "exit 49")
    refused(desk, "python3 does not start (status 49); python does not start (status 127: ")
    desk.put("python", PYTHON)
    assert desk.host("claude")["guarded"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}, "holds nothing"),
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "go"}}, "did not refuse"),
        ({"decision": "deny", "reason": "locked"}, "holds nothing that claude obeys here"),
        ({"permission": "deny", "agent_message": "locked"}, "holds nothing that claude obeys here"),
        ({"block": True, "reason": "locked"}, "holds nothing that claude obeys here"),
        ("", "said nothing"),
    ],
)
def test_a_hook_that_does_not_refuse(desk: Desk, answer: object, said: str) -> None:
    text = json.dumps(answer) if answer else ""
    script = write(desk.folder / "other" / "chat.py", f"print({text!r})")
    wire(desk.home, PreToolUse=line_of("pre-tool-use", script=script))
    refused(desk, said)


def test_a_hook_that_hangs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_runner, "SECONDS", 0.2)
    script = write(desk.folder / "other" / "chat.py", "import time\ntime.sleep(60)")
    wire(desk.home, PreToolUse=line_of("pre-tool-use", script=script))
    refused(desk, "no answer within")


def test_a_line_that_was_changed_is_not_run(desk: Desk) -> None:
    mark = desk.folder / "mark"
    desk.put("evil", f"echo ran >{shlex.quote(str(mark))}")
    wire(desk.home, PreToolUse=f"{desk.tools}/evil|/agent-chat hook pre-tool-use --host claude")
    refused(desk, "the line is not as setup writes it", outcome="not run")
    assert not mark.exists()


@pytest.mark.parametrize("linked", [False, True])
def test_a_program_in_the_project_is_not_run(desk: Desk, *, linked: bool) -> None:
    """A project may come from anybody, and its host would ask before it runs what stands in its settings."""
    mark = desk.folder / "mark"
    script = write(desk.project / "tools" / "chat.py", f"open({str(mark)!r}, 'w')")
    if linked:
        link = desk.folder / "link"
        link.symlink_to(desk.project / "tools")
        script = link / "chat.py"
    settings = wire(desk.project, PreToolUse=line_of("pre-tool-use", script=script))
    refused(desk, "is named by this project's files, which may come from anybody", outcome="not run")
    assert not mark.exists()
    settings.rename(settings.with_name("settings.local.json"))
    refused(desk, "is named by this project's files, which may come from anybody", outcome="not run")
    host_homes.plugin(desk.project / ".claude" / "skills" / "agent-chat")
    assert "not run" in outcomes(desk.host("claude"))["stop"]


def test_a_program_that_the_project_names_elsewhere_is_not_run(desk: Desk) -> None:
    """A clone may bring its program outside of the folder that one works in."""
    mark = desk.folder / "mark"
    script = write(desk.folder / "beside" / "chat.py", f"open({str(mark)!r}, 'w')")
    wire(desk.project, PreToolUse=line_of("pre-tool-use", script=script))
    refused(desk, "is named by this project's files", outcome="not run")
    host_homes.plugin(desk.folder / "evil")
    (desk.project / ".claude" / "skills").mkdir(parents=True)
    (desk.project / ".claude" / "skills" / "agent-chat").symlink_to(desk.folder / "evil")
    assert "not run" in outcomes(desk.host("claude"))["stop"]
    assert not mark.exists()


@pytest.mark.slow
def test_our_own_program_in_the_project_is_run(desk: Desk) -> None:
    checkout = desk.project / "checkout"
    shutil.copytree(tree.ROOT / "agent_chat", checkout / "agent_chat", ignore=shutil.ignore_patterns("__pycache__"))
    script = write(checkout / "chat.py", tree.text_of("chat.py"))
    wire(desk.project, PreToolUse=line_of("pre-tool-use", script=script))
    call = [sys.executable, "-B", str(script), "--root", str(desk.root), "doctor", "--hosts", "--json"]
    done = subprocess.run(call, cwd=desk.project, env=desk.variables(), capture_output=True, check=False)
    assert outcomes(json.loads(done.stdout)["hosts"][0]) == {"pre-tool-use": "ok"}


def test_a_name_that_is_not_on_the_path(desk: Desk) -> None:
    wire(desk.home, PreToolUse="agent-chat hook pre-tool-use --host claude")
    refused(desk, "agent-chat is not on PATH", outcome="not run")
    desk.put("agent-chat", f'exec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(CHAT))} "$@"')
    assert desk.host("claude")["guarded"]


def test_what_the_caller_has_set_does_not_reach_the_hooks(desk: Desk) -> None:
    wire(desk.home, PreToolUse=line_of("pre-tool-use"))
    more = {
        "AGENT_CHAT_GUARD": "strict",
        "AGENT_CHAT_CHANNELS": "other",
        "AGENT_CHAT_WORKSPACE": "/",
        "CLAUDECODE": "1",
    }
    assert desk.host("claude", more=more)["guarded"]


def test_a_canary_that_cannot_be_made_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(CanaryRoom, "make", full)
    wire(desk.home, PreToolUse=line_of("pre-tool-use"))
    refused(desk, "no place to try it: no space left", outcome="not run")


def test_a_canary_that_cannot_be_removed_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = CanaryRoom.remove

    def stuck(room: CanaryRoom) -> None:
        removed(room)
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(CanaryRoom, "remove", stuck)
    wire(desk.home, PreToolUse=line_of("pre-tool-use"))
    done = desk.doctor()
    assert done.status == 1
    assert "could not be removed: [Errno 16] busy" in done.stderr


def test_an_interrupted_doctor_leaves_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    wire(desk.home, PreToolUse=line_of("pre-tool-use"))

    def interrupt(*_: object) -> Ran:
        assert list(desk.temporary.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupt)
    assert desk.doctor().status == 130
    monkeypatch.setattr(Runner, "run", lambda *_: 1 / 0)
    assert desk.doctor().status == 70


def test_what_hooks_leave_is_removed(desk: Desk) -> None:
    script = write(desk.folder / "other" / "chat.py", "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w')")
    wire(desk.home, Stop=line_of("stop", script=script))
    assert outcomes(desk.host("claude")) == {"stop": "failed"}


# -- identity, root, usage ---------------------------------------------------------------------------------------------


def test_without_hosts_root_and_name_it_says_what_to_do(desk: Desk) -> None:
    desk.root.rmdir()
    done = run(["doctor", "--hosts"], environment={**desk.variables(), "AGENT_CHAT_NAME": ""})
    assert done.stdout.splitlines() == [
        "not found: claude, codex, copilot, gemini, cursor, opencode, omp, pi",
        "identity: none",
        f"root: {desk.home}/agent-chat (default), does not exist yet",
        "next: start the host with a name: AGENT_CHAT_NAME=alice claude",
        "next: agent-chat init CHANNEL",
    ]
    assert done.status == 0
    assert not (desk.home / "agent-chat").exists()


def test_an_invalid_name_is_told(desk: Desk) -> None:
    done = desk.doctor(more={"AGENT_CHAT_NAME": "../alice"})
    assert done.status == 1
    assert "identity: invalid: " in done.stdout
    reply = desk.doctor("--json", more={"AGENT_CHAT_NAME": "all"}).json
    assert reply["identity"] is None
    assert reply["identity_fault"]


def test_a_root_that_is_none_is_told_with_a_way_out(desk: Desk) -> None:
    file = write(desk.folder / "file", "")
    done = desk.doctor(more={"AGENT_CHAT_ROOT": str(file), "CODEX_THREAD_ID": "x"})
    assert done.status == 1
    assert f"root: {file} (variable), not writable: is no folder" in done.stdout
    assert "next: agent-chat setup codex --root-here" in done.stdout


def test_the_trace_is_that_of_the_root_which_hooks_look_at(desk: Desk) -> None:
    desk.set_up("gemini", "--root-here")
    inside = desk.project / ".agent-chat"
    fields = {"schema_version": 1, "host": "gemini", "at": "2026-11-30T19:00:59+00:00", "agent": "", "version": "1"}
    write(inside / "_hooks" / "gemini.ran", fields)
    done = desk.doctor()
    assert "last ran 2026-11-30 19:00Z without a name" in done.stdout
    assert f"its hooks look at {inside}, and not at the root of this call" in done.stdout


def test_settings_that_cannot_be_read_are_told(desk: Desk) -> None:
    path = write(desk.project / ".claude" / "settings.json", "{\n  oops\n}")
    done = desk.doctor()
    assert done.status == 1
    assert f"  {path}: line 2" in done.stdout
    assert "next: mend it, or see agent-chat setup claude --print" in done.stdout


@pytest.mark.parametrize("more", [{"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_the_project_is_looked_at(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    (desk.project / ".cursor").mkdir()
    done = desk.doctor(more=more)
    assert "cursor: found, not wired" in done.stdout
    assert done.status == 0


def test_it_takes_no_channel(desk: Desk) -> None:
    assert desk.doctor("dev").code == "USAGE"
    assert desk.doctor("--fix").code == "USAGE"


def test_a_current_folder_that_is_gone_is_no_project(desk: Desk) -> None:
    wire(desk.home, PreToolUse=line_of("pre-tool-use"))
    desk.project.rmdir()
    done = run(["doctor", "--hosts", "--json"], desk.root, environment=desk.variables())
    assert done.json["hosts"][0]["guarded"]
