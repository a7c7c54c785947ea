"""Every code of the table can be met from the command line, in both forms, and the call that met it changed nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat import LeaseStore, PathLockStore
from agent_chat.errors import CODES, KINDS, ChatError
from tests.cli.code_case import CLAIM, POST, Case, make_root
from tests.cli.code_cases_events import EVENTS, REPORTED
from tests.cli.code_cases_hosts import HOSTS
from tests.cli.code_cases_locks import LOCKS
from tests.cli.code_cases_owner import OWNER
from tests.cli.code_cases_refs import REFS
from tests.cli.code_cases_retention import RETENTION
from tests.cli.code_cases_sessions import SESSIONS
from tests.cli.code_cases_state import STATES
from tests.cli.code_cases_tasks import LEASES, TASKS
from tests.support.cli import tree_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Result

VERSION = '"schema_version": '

MESSAGES: dict[str, Callable[[Case], Result]] = {
    "USAGE": lambda do: do("raed", "dev"),
    "IO_ERROR": lambda do: do.failing("read", "dev", "--as", "bob", only=("list_folder",)),
    "OUTPUT_FAILED": lambda do: do("channels", stdout_closed=True),
    "ROOT_NOT_FOUND": lambda do: do("channels", "--root", str(do.root / "none")),
    "ROOT_INVALID": lambda do: do("channels", "--root", str(do.root / "file")),
    "PATH_REFUSED": lambda do: do("read", "link", "--as", "bob"),
    "CHANNEL_INVALID": lambda do: do("read", "../dev", "--as", "bob"),
    "CHANNEL_NOT_FOUND": lambda do: do("read", "dve", "--as", "bob"),
    "CHANNEL_EXISTS": lambda do: do("init", "DEV"),
    "CHANNEL_BUSY": lambda do: do.busy(*POST),
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
    **SESSIONS,
    "RECORD_VERSION": lambda do: do.with_edited("tasks/free.json", VERSION + "1", VERSION + "2")(*CLAIM),
}
REACHED = {**MESSAGES, **TASKS, **LEASES, **LOCKS, **STATES, **EVENTS, **HOSTS, **OWNER, **REFS, **RETENTION}
# These did part of their work, which their messages say.
NOT_NOTHING = {
    "MESSAGE_PUBLICATION_UNKNOWN",
    "CURSOR_NOT_STORED",
    "MARKER_AUDIT_FAILED",
    "LEASE_TRANSACTION_CLEANUP_FAILED",
    "LEASE_TRANSACTION_RECOVERY_FAILED",
    "LEASE_AUDIT_ROLLBACK_FAILED",
    "PATH_LOCK_TRANSACTION_CLEANUP_FAILED",
    "PATH_LOCK_AUDIT_ROLLBACK_FAILED",
    "STATE_AUDIT_FAILED",
}
# These come after the reply was printed, or could not be: a line on stderr, whatever the form.
LATE = {"OUTPUT_FAILED", "CURSOR_NOT_STORED"}
# The command line opens channels by name, so only a program that names a folder can meet this one.
OF_THE_LIBRARY = {"LEASE_INVALID_CHANNEL"}
STORES: dict[str, Any] = {"LEASE_INVALID_CHANNEL": LeaseStore, "PATH_LOCK_INVALID_CHANNEL": PathLockStore}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "root"
    make_root(root)
    return root


def test_every_code_is_reached() -> None:
    assert list(REACHED) == [code for code in CODES if code not in OF_THE_LIBRARY]


def test_the_codes_of_the_library_are_met(tmp_path: Path, made: Path) -> None:
    for folder in (tmp_path, tmp_path / "none", made / "dev" / ".cursors", made / "file"):
        for code, store in STORES.items():
            with pytest.raises(ChatError) as caught:
                store(folder)
            assert caught.value.code == code


def kept(tree: dict[str, Any]) -> dict[str, Any]:
    """What a refusal must leave as it is."""
    return {name: data for name, data in tree.items() if not name.endswith(".lock")}


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("code", REACHED)
def test_the_code_is_met(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, code: str, form: list[str]
) -> None:
    case = Case(made, tmp_path / "root", monkeypatch, form)
    result = REACHED[code](case)
    assert code in NOT_NOTHING or kept(tree_of(case.root)) == kept(case.before)
    if code in REPORTED:
        assert_is_reported(result, code, form)
        return
    assert result.status == 2
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


def assert_is_reported(result: Result, code: str, form: list[str]) -> None:
    """What is read may hold what no call of ours wrote: that is said beside it, and is no error of the call."""
    assert result.status == 0
    if not form:
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith("agent-chat: warning: ")
        assert f": {code}: " in line
        return
    assert result.stderr == ""
    error = result.json["error"]
    assert (error["code"], error["kind"]) == (code, CODES[code][0])
    assert error["message"]
    assert error["next"].startswith("agent-chat")


def test_a_reply_that_is_followed_by_an_error_is_one_document_all_the_same(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(made, tmp_path / "root", monkeypatch, ["--json"])
    for argv in (["inbox", "--as", "carol"], ["channels"]):
        result = case(*argv)
        assert (result.status, result.stderr) == (2, "")
        assert result.json["channels"] is not None
        assert result.json["error"]["code"] in CODES
    result = case.failing("read", "dev", "--as", "bob", only=("read_file",), where="0002")
    assert (result.status, result.json["error"]["code"]) == (2, "IO_ERROR")
    assert [message["seq"] for message in result.json["messages"]] == [1]
