"""Every code of the table can be met from the command line, in both forms, and the call that met it changed nothing."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.cli import standard_input
from agent_chat.errors import CODES, KINDS
from agent_chat.storage import channel, file_lock
from agent_chat.storage.file_lock import FileLock
from tests.support.cli import (
    SILENT,
    FakeClock,
    FaultyFiles,
    Result,
    message_file,
    plant,
    run,
    tree_of,
    workspace_on,
)

if TYPE_CHECKING:
    from pathlib import Path

POST = ["post", "dev", "--from", "alice", "--title", "t"]


class Case:
    """A root to make a mistake in: an open channel with messages and markers, a closed one, one of a later version."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, form: list[str]) -> None:
        self.root, self.patch, self.form = root, patch, form
        folder = root / "dev"
        run(["init", "dev"], root)
        run(["init", "ops", "--members", "alice,bob"], root)
        run([*POST, "--key", "k", "--topic", "api"], root)
        plant(folder / "0002-alice-a.md", message_file(2))
        plant(folder / "0002-bob-b.md", message_file(2, "bob"))
        plant(folder / "0003-alice-c.md", b"no header")
        plant(folder / "task-1.md")
        plant(folder / "task-2.CLAIMED-bob.md")
        plant(folder / ".cursors" / "carol.txt", "x")
        plant(root / "new" / "_meta.json", '{"schema_version": 2}')
        plant(root / "bad" / "_meta.json", "{")
        (root / "odd").mkdir()
        (root / "odd" / "_meta.json").symlink_to("../dev/_meta.json")
        (root / "link").symlink_to("dev")
        plant(root / "file")

    def __call__(self, *argv: str, **options: Any) -> Result:
        return run([*argv, *self.form], self.root, **options)

    def failing(self, *argv: str, **faults: Any) -> Result:
        clock = FakeClock()
        faults.setdefault("code", errno.EIO)
        files = FaultyFiles(str(self.root), clock, **{"at": 1, **faults})
        return self(*argv, workspace=workspace_on(self.root, clock=clock, files=files))

    def busy(self) -> Result:
        clock = FakeClock()
        workspace = workspace_on(self.root, clock=clock)
        lock = FileLock(workspace.files, str(self.root / "dev" / ".lock"), clock)
        assert lock.acquire(0)
        try:
            result = self(*POST, workspace=workspace)
        finally:
            lock.release()
        assert sum(clock.slept) >= channel.LOCK_SECONDS
        return result

    def without_locks(self) -> Result:
        def lock(descriptor: int, *, shared: bool) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        self.patch.setattr(file_lock, "_lock", lock)
        return self(*POST)

    def silent(self) -> Result:
        self.patch.setattr(standard_input, "SILENT_SECONDS", 0.01)
        return self(*POST, stdin=SILENT)


REACHED: dict[str, Callable[[Case], Result]] = {
    "USAGE": lambda do: do("raed", "dev"),
    "IO_ERROR": lambda do: do.failing("read", "dev", "--as", "bob", only=("list_folder",)),
    "OUTPUT_FAILED": lambda do: do("channels", stdout_closed=True),
    "ROOT_NOT_FOUND": lambda do: do("channels", "--root", str(do.root / "none")),
    "ROOT_INVALID": lambda do: do("channels", "--root", str(do.root / "file")),
    "PATH_REFUSED": lambda do: do("read", "link", "--as", "bob"),
    "CHANNEL_INVALID": lambda do: do("read", "../dev", "--as", "bob"),
    "CHANNEL_NOT_FOUND": lambda do: do("read", "dve", "--as", "bob"),
    "CHANNEL_EXISTS": lambda do: do("init", "DEV"),
    "CHANNEL_BUSY": lambda do: do.busy(),
    "CHANNEL_LOCK_UNAVAILABLE": lambda do: do.without_locks(),
    "CHANNEL_DAMAGED": lambda do: do("read", "odd", "--as", "bob"),
    "CHANNEL_VERSION": lambda do: do("read", "new", "--as", "bob"),
    "CHANNEL_MOVED": lambda do: do(*POST, "--if-seq", "0"),
    "AGENT_MISSING": lambda do: do("read", "dev"),
    "AGENT_INVALID": lambda do: do("read", "dev", "--as", "b b"),
    "AGENT_RESERVED": lambda do: do("read", "dev", "--as", "all"),
    "AGENT_UNKNOWN": lambda do: do("read", "ops", "--as", "bobb"),
    "MESSAGE_NOT_FOUND": lambda do: do("show", "dev", "77"),
    "MESSAGE_AMBIGUOUS": lambda do: do("show", "dev", "2"),
    "MESSAGE_DAMAGED": lambda do: do("show", "dev", "3"),
    "MESSAGE_EMPTY": lambda do: do(*POST, "--body", ""),
    "MESSAGE_TOO_LARGE": lambda do: do(*POST, "--body", "x" * (1 << 20) + "y"),
    "MESSAGE_NOT_TEXT": lambda do: do(*POST, stdin=b"\xff"),
    "MESSAGE_INVALID": lambda do: do(*POST, "--ref", "src/a.py"),
    "MESSAGE_BODY_SILENT": lambda do: do.silent(),
    "MESSAGE_FILE_UNREADABLE": lambda do: do(*POST, "--body-file", "no-such-file"),
    "MESSAGE_NO_RECIPIENT": lambda do: do(*POST, "--to", "alice"),
    "MESSAGE_KEY_CONFLICT": lambda do: do(*POST, "--key", "k", "--body", "other"),
    "MESSAGE_STATUS_RESERVED": lambda do: do(*POST, "--status", "task.done"),
    "MESSAGE_TOPIC_MISMATCH": lambda do: do(*POST, "--reply", "1", "--topic", "ui"),
    "MESSAGE_PUBLICATION_UNKNOWN": lambda do: do.failing(
        *POST, only=("sync_folder", "replace", "remove"), forever=True
    ),
    "CURSOR_INVALID": lambda do: do("read", "dev", "--as", "carol"),
    "CURSOR_AHEAD": lambda do: do("ack", "dev", "77", "--as", "bob"),
    "CURSOR_NOT_STORED": lambda do: do.failing("read", "dev", "--as", "bob", only=("replace",), where="bob.txt"),
    "MARKER_INVALID": lambda do: do("claim", "dev", "0002-alice-a.md", "--as", "bob"),
    "MARKER_NOT_FOUND": lambda do: do("claim", "dev", "task-11.md", "--as", "bob"),
    "MARKER_CLAIMED": lambda do: do("claim", "dev", "task-2.md", "--as", "carol"),
    "MARKER_AUDIT_FAILED": lambda do: do.failing("claim", "dev", "task-1.md", "--as", "bob", only=("link",)),
}
# These did part of their work, which their messages say.
NOT_NOTHING = {"MESSAGE_PUBLICATION_UNKNOWN", "CURSOR_NOT_STORED", "MARKER_AUDIT_FAILED"}
# These come after the reply was printed, or could not be: a line on stderr, whatever the form.
LATE = {"OUTPUT_FAILED", "CURSOR_NOT_STORED"}


def test_every_code_is_reached() -> None:
    assert list(REACHED) == list(CODES)


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("code", CODES)
def test_the_code_is_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, form: list[str]) -> None:
    case = Case(tmp_path / "root", monkeypatch, form)
    before = tree_of(case.root)
    result = REACHED[code](case)
    assert result.status == 2
    kept = {name: data for name, data in tree_of(case.root).items() if not name.endswith(".lock")}
    assert code in NOT_NOTHING or kept == {name: data for name, data in before.items() if not name.endswith(".lock")}
    if form and code not in LATE:
        assert result.stderr == ""
        error = result.json.pop("error")
        assert (error["code"], error["kind"]) == (code, CODES[code][0])
        assert error["kind"] in KINDS
        assert error["message"]
        assert (error["next"] or "agent-chat").startswith("agent-chat")
        assert error["next"] or error["message"].endswith(CODES[code][2])
        if error["kind"] == "not found":
            assert error["root"]
            assert error["root_from"] in ("option", "variable")
        return
    lines = result.stderr.splitlines()
    if lines[-1].endswith(f"; {CODES[code][2]}"):
        lines.append("  next: agent-chat help")  # no command would help, so the line itself says what would
    assert [line for line in lines if line.startswith("agent-chat: warning: ")] == lines[:-2]
    assert lines[-2].startswith(f"agent-chat: {code}: ")
    assert lines[-1].startswith("  next: agent-chat ")
    assert code in LATE or result.stdout == ""
    if CODES[code][0] == "not found":
        assert str(case.root) in lines[-2]


def test_a_reply_that_is_followed_by_an_error_is_one_document_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(tmp_path / "root", monkeypatch, ["--json"])
    for argv in (["inbox", "--as", "carol"], ["channels"]):
        result = case(*argv)
        assert (result.status, result.stderr) == (2, "")
        assert result.json["channels"] is not None
        assert result.json["error"]["code"] in CODES
    result = case.failing("read", "dev", "--as", "bob", only=("read_file",), where="0002")
    assert (result.status, result.json["error"]["code"]) == (2, "IO_ERROR")
    assert [message["seq"] for message in result.json["messages"]] == [1]
