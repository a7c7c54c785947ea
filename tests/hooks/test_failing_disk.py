"""Hooks on a disk that fails: the status is 0 whichever primitive does, and "could not look" is not "nothing there"."""

from __future__ import annotations

import errno
import functools
import itertools
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.hooks import hosts
from agent_chat.hooks.call import Call
from agent_chat.hooks.payload import Payload
from agent_chat.operations import glance
from agent_chat.storage.layout import hooks_folder
from tests.crash.interrupted import ALL_APPLIED
from tests.crash.lock_rows import interrupted_lock, locked
from tests.crash.rows import conversation
from tests.support.recording import FailingFileSystem, RecordingFileSystem
from tests.support.staging import Stage
from tests.support.workspaces import make_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_chat.hooks.call import Answer

CODES = (errno.EIO, errno.EACCES, errno.ENOSPC)
NOT_LOOKED = ("could not look", "did not check", "at least", "not all was looked at")
HOLDING = {"AGENT_CHAT_STOP": "block"}
STRICT = {"AGENT_CHAT_GUARD": "strict"}


def ask(
    stage: Stage, event: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch, **more: Any
) -> tuple[Answer, Any]:
    """What a hook answers on the stage's root, and the file system that it used."""
    files = more.pop("files", RecordingFileSystem)
    workspace = make_workspace(stage.root, files=files)
    payload = Payload(fields={"session_id": "s-1", "cwd": stage.work_tree, **fields})
    monkeypatch.setattr("agent_chat.hooks.payload.read", lambda monotonic: payload)
    environment = {"AGENT_CHAT_NAME": "alice", "HOME": stage.root, **more.pop("variables", {})}
    return Call([event, "--host", hosts.CLAUDE], environment, workspace=workspace).answer(), workspace.files


def edit(stage: Stage, path: str) -> dict[str, Any]:
    return {"tool_name": "Edit", "tool_input": {"file_path": f"{stage.work_tree}/{path}"}}


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
@pytest.mark.parametrize("kept", [True, False], ids=["with a cache", "without a cache"])
@pytest.mark.parametrize("event", [hosts.SESSION_START, hosts.PROMPT, hosts.STOP, hosts.POST_TOOL_BATCH])
def test_what_is_unread_is_told_or_it_is_told_that_nobody_could_look(
    event: str, kept: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glance, "WORTH_KEEPING", 0 if kept else 1 << 30)
    stage = Stage(str(tmp_path / "root"))
    conversation(stage)
    healthy, _ = ask(stage, event, {"session_id": "another"}, monkeypatch)
    assert "1 unread for alice" in healthy.output
    for n in itertools.count(1):
        files = functools.partial(FailingFileSystem, n=n, code=code)
        shutil.rmtree(hooks_folder(stage.root), ignore_errors=True)
        answer, used = ask(stage, event, {}, monkeypatch, files=files)
        if not used.failed:
            break
        assert answer.status == 0
        told = answer.output == healthy.output or any(text in answer.output for text in NOT_LOOKED)
        # Before it stops, or between tools, a session is not bothered with what went wrong: stderr has it.
        assert told or (event in (hosts.STOP, hosts.POST_TOOL_BATCH) and not answer.output), (n, used.failed, answer)
    assert n > 5


@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize("code", CODES[:2], ids=errno.errorcode.get)
@pytest.mark.parametrize(
    ("prepare", "path"),
    [(locked, "src/main.py"), (interrupted_lock(ALL_APPLIED), "src/main.py")],
    ids=["held", "pending"],
)
def test_the_edit_of_a_held_path_is_refused_or_it_is_told_that_nobody_could_look(
    prepare: Callable[[Stage], None],
    path: str,
    code: int,
    strict: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(str(tmp_path / "root"))
    prepare(stage)
    variables = STRICT if strict else {}
    healthy, _ = ask(stage, hosts.PRE_TOOL_USE, edit(stage, path), monkeypatch, variables=variables)
    assert refusal_in(healthy), healthy
    for n in itertools.count(1):
        files = functools.partial(FailingFileSystem, n=n, code=code)
        answer, used = ask(stage, hosts.PRE_TOOL_USE, edit(stage, path), monkeypatch, files=files, variables=variables)
        if not used.failed:
            break
        assert answer.status == 0
        assert refusal_in(answer) or (not strict and "did not check" in answer.output), (n, used.failed, answer)
    assert n > 5


def refusal_in(answer: Answer) -> str:
    """The reason of a refusal, in the form that Claude Code obeys; empty where there is none."""
    specific = json.loads(answer.output or "{}").get("hookSpecificOutput", {})
    return str(specific.get("permissionDecisionReason", "")) if specific.get("permissionDecision") == "deny" else ""


def test_a_session_is_held_once_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(str(tmp_path / "root"))
    conversation(stage)
    for n in itertools.count(1):
        holds = 0
        shutil.rmtree(hooks_folder(stage.root), ignore_errors=True)
        fields = {"stop_hook_active": False}
        files = functools.partial(FailingFileSystem, n=n, code=errno.ENOSPC, for_good=True)
        first, used = ask(stage, hosts.STOP, fields, monkeypatch, files=files, variables=HOLDING)
        holds += '"block"' in first.output
        for _ in range(2):
            holds += '"block"' in ask(stage, hosts.STOP, fields, monkeypatch, variables=HOLDING)[0].output
        assert holds == 1, (n, used.failed)
        if not used.failed:
            break
    assert n > 5
