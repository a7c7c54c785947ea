"""A desk: a root with a channel, a work tree beside it, and hooks that are called in the test's own process."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from agent_chat.hooks.call import Call
from tests.operations.lock_room import LockRoom
from tests.support.cli import Special, stdin_of, workspace_on
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

Sent = Union["dict[str, Any]", bytes, Special]
REFUSAL = "permissionDecisionReason"


class Heard(NamedTuple):
    """What a hook answered: what the host reads, what is said on stderr, its status, and who it took for the host."""

    output: str
    notes: tuple[str, ...] = ()
    status: int = 0
    host: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON object that it printed, all of it on one line."""
        assert self.output.count("\n") == 1, self
        return dict(json.loads(self.output))

    @property
    def context(self) -> str:
        """What Claude Code shows the model, "" where that is nothing."""
        return str(self._nested.get("additionalContext", "")) if self.output.startswith("{") else self.output

    @property
    def refusal(self) -> str:
        """Why Claude Code does not run the tool, "" where it does."""
        refused = self._nested.get("permissionDecision") == "deny"
        return str(self._nested[REFUSAL]) if refused else ""

    @property
    def hold(self) -> str:
        """Why Claude Code does not stop, "" where it does."""
        fields = self.fields if self.output else {}
        return str(fields["reason"]) if fields.get("decision") == "block" else ""

    @property
    def _nested(self) -> dict[str, Any]:
        return dict(self.fields.get("hookSpecificOutput", {})) if self.output.startswith("{") else {}


class Desk(LockRoom):
    """A room in which bob's session calls hooks; nobody but the test's clock tells the time."""

    def hook(
        self,
        event: str,
        sent: Sent | None = None,
        *,
        host: str = "claude",
        options: tuple[str, ...] = (),
        workspace: Workspace | None = None,
        **more: Any,
    ) -> Heard:
        """Calls a hook, for bob unless `more` gives him another name; `more` are variables, None takes one away."""
        given = {"AGENT_CHAT_NAME": "bob", "HOME": str(self.root.parent), **more}
        variables = {name: value for name, value in given.items() if value is not None}
        words = [event, *(["--host", host] if host else []), *options]
        data = json.dumps(sent or {}).encode() if not sent or isinstance(sent, dict) else sent
        with stdin_of(data) as stream, stdin(stream):
            call = Call(words, variables, workspace=workspace or self.fresh())
            answer = call.answer()
        return Heard(answer.output, answer.notes, answer.status, call.host)

    def fresh(self) -> Workspace:
        """The root as the next process would open it."""
        return workspace_on(self.root, clock=self.clock, files=RecordingFileSystem(str(self.root), self.clock))

    def stop(self, session: str = "s-1", *, workspace: Workspace | None = None, **fields: Any) -> Heard:
        """Ends a turn of a session that asked to be held for mail."""
        sent = {"session_id": session, "stop_hook_active": False, **fields}
        return self.hook("stop", sent, workspace=workspace, AGENT_CHAT_STOP="block")

    def edit(
        self, path: str, *, tool: str = "Edit", host: str = "claude", cwd: str | None = None, **more: Any
    ) -> Heard:
        """Edits a path, from the work tree unless another folder is given."""
        sent = {"cwd": cwd or str(self.tree), "tool_name": tool, "tool_input": {"file_path": path}}
        return self.hook("pre-tool-use", sent, host=host, **more)


@contextlib.contextmanager
def stdin(stream: Any) -> Iterator[None]:
    """Makes a stream standard input."""
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


@contextlib.contextmanager
def left_open(data: bytes) -> Iterator[Any]:
    """A standard input that holds some bytes and does not end."""
    reading, writing = os.pipe()
    with open(reading, encoding="ascii") as stream, open(writing, "wb") as end:
        end.write(data)
        end.flush()
        yield stream


def print_of(root: Path) -> dict[str, str]:
    """What hooks must leave alone: all that lies in the channels of a root, with kinds, modes, times and bytes."""
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root).as_posix()
        if not place.startswith("_hooks"):
            status = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            stamp = f"{status.st_mode:o} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
            found[place] = f"{stamp} {hashlib.sha256(data).hexdigest()}"
    return found
