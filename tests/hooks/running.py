"""Hooks as hosts run them: processes of the scripts and of chat.py, with odd streams, folders, limits and users."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.hooks import payloads
from tests.hooks.desk import Desk, print_of
from tests.hooks.envelopes import is_one
from tests.support import verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
# The promise is two seconds; a machine that does other things at the same time needs some for starting a process.
PROMISED = 6.0
SCRIPTS = {
    "session-start": "session_inbox",
    "prompt": "prompt_inbox",
    "pre-tool-use": "edit_guard",
    "post-tool-batch": "batch_inbox",
    "stop": "stop_inbox",
}
# A payload of each host for each event; those that have no such event get one of their own form.
SENT = {
    "claude": dict(zip(SCRIPTS, ("SessionStart", "UserPromptSubmit", "PreToolUse-Edit", "PostToolBatch", "Stop"))),
    "codex": dict(zip(SCRIPTS, ("SessionStart", "UserPromptSubmit", "PreToolUse-apply_patch", "Stop", "Stop"))),
    "copilot": dict(zip(SCRIPTS, ("SessionStart", "UserPromptSubmit", "PreToolUse-Edit", "Stop", "Stop"))),
    "gemini": dict(zip(SCRIPTS, ("SessionStart", "BeforeAgent", "BeforeTool-replace", "AfterAgent", "AfterAgent"))),
}
FOLDER = "/home/user/project"


class Case(NamedTuple):
    """What a hook meets: what is on its standard input, how a shell starts it, and in which environment."""

    sent: bytes | None = None  # the host's own payload
    stays_open: bool = False
    shell: str = 'exec "$@"'
    variables: Mapping[str, Any] = MappingProxyType({})
    cwd: Path | None = None


class Ended(NamedTuple):
    """How a hook ended."""

    status: int
    out: str
    err: str
    seconds: float


def payload_of(host: str, event: str, tree: Path) -> bytes:
    """The bytes that a host sends, about a project that is here."""
    text = json.dumps(payloads.read(f"{host}-{SENT[host][event]}"), ensure_ascii=False)
    return text.replace(FOLDER, str(tree)).encode()


def command(event: str, *, script: bool, host: str = "") -> list[str]:
    """The words by which a hook is run."""
    # Compiled modules of an isolated Python lie where those of all tests do.
    cached = [f"-Xpycache_prefix={os.environ['PYTHONPYCACHEPREFIX']}"] if "PYTHONPYCACHEPREFIX" in os.environ else []
    python = [sys.executable, "-I", "-S", *cached]
    if script:
        return [*python, str(REPOSITORY / "hooks" / f"{SCRIPTS[event]}.py")]
    return [*python, str(REPOSITORY / "chat.py"), "hook", event, *(["--host", host] if host else [])]


class Started:
    """A hook that is running; `finish` waits for its end."""

    def __init__(self, words: Sequence[str], variables: dict[str, str], sent: bytes, case: Case) -> None:
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed at its end
        self._began = time.monotonic()
        self._case = case
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", case.shell, "sh", *words],
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=self._err,
            env=variables,
            cwd=case.cwd,
        )
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a hook need not read all
            self.process.stdin.write(sent)
            self.process.stdin.flush()
        if not case.stays_open:
            self._close()

    def _close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def abandon(self) -> None:
        """Ends it, whatever it does, and asks nothing."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._close()
        for file in (self._out, self._err):
            file.close()

    def finish(self) -> Ended:
        """Waits for the end, and ends what does not end by itself."""
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{self.process.args!r} did not end") from None
        seconds = time.monotonic() - self._began
        self._close()
        texts = []
        for file in (self._out, self._err):
            with file:
                file.seek(0)
                texts.append(file.read().decode("utf-8"))
        return Ended(status, texts[0], texts[1], seconds)


class Office(Desk):
    """A desk whose hooks are processes: bob has mail from alice, and carol holds a file of the project."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        (self.tree / "src").mkdir()
        (self.tree / "src" / "a.txt").write_text("two\n")
        self.clock.turn(time.time() - self.clock.now())  # processes have no other clock
        self.post("alice", title="TITLE", body="BODY\n")
        self.clock.boot_id = ""  # a lease of another boot: wall time decides
        self.held("src/", actor="carol", lease="86400")

    def variables(self, host: str = "", **changes: str | None) -> dict[str, str]:
        """The environment of a hook."""
        given: dict[str, str | None] = {
            **payloads.OF_HOOKS.get(host, {}),
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.root.parent),
            "LC_ALL": "C.UTF-8",
            "AGENT_CHAT_ROOT": str(self.root),
            "AGENT_CHAT_NAME": "bob",
            "AGENT_CHAT_STOP": "block",
            "CLAUDE_PLUGIN_ROOT": str(REPOSITORY),
            **changes,
        }
        return {name: value for name, value in given.items() if value is not None}

    def start(self, event: str, host: str, case: Case, *, script: bool) -> Started:
        """Starts the hook of a host."""
        sent = payload_of(host, event, self.tree) if case.sent is None else case.sent
        return Started(command(event, script=script), self.variables(host, **case.variables), sent, case)

    def run(
        self, event: str, host: str = "claude", *, script: bool = True, case: Case | None = None, **more: Any
    ) -> Ended:
        """Runs the hook of a host to its end; `more` are variables, None takes one away."""
        given = case or Case()
        given = given._replace(variables={**given.variables, **more})
        with verdicts.judged_files(self.root):
            return self.start(event, host, given, script=script).finish()


def require_promise(ended: Ended, event: str, host: str) -> None:
    """Fails unless a hook kept its promise, and its answer is one that the host reads."""
    assert ended.status == 0, ended
    assert ended.seconds < PROMISED, ended
    assert len(ended.out.encode()) <= 1000, ended
    assert is_one(host, event, ended.out), ended
    assert "Traceback" not in ended.err, ended
    assert "TITLE" not in ended.out + ended.err
    assert "BODY" not in ended.out + ended.err
    assert '"allow"' not in ended.out


__all__ = ["Case", "Ended", "Office", "command", "print_of", "require_promise"]
