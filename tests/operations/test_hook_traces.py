"""The trace that a host leaves when it calls the hook of a session's start."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat import __version__
from agent_chat.operations import hook_traces
from agent_chat.operations.hook_traces import Trace
from tests.support.cli import FakeClock, FaultyFiles, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

AT = "2026-01-02T03:04:05+00:00"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def left(root: Path) -> list[str]:
    """The names among what hooks remember."""
    folder = root / "_hooks"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_trace_is_found_again(root: Path) -> None:
    workspace = workspace_on(root)
    assert hook_traces.last(workspace, "claude") is None
    assert hook_traces.leave(workspace, "claude", "alice") == []
    assert hook_traces.last(workspace, "claude") == Trace(host="claude", at=AT, agent="alice", version=__version__)
    assert hook_traces.last(workspace, "codex") is None
    assert left(root) == ["claude.ran"]


def test_it_is_left_once_a_minute(root: Path) -> None:
    clock = FakeClock()
    workspace = workspace_on(root, clock=clock)
    hook_traces.leave(workspace, "claude", "alice")
    path = root / "_hooks" / "claude.ran"
    for late, agent in ((0, "alice"), (59, "alice"), (60, "bob"), (-1, "carol")):
        os.utime(path, (clock.now() - late, clock.now() - late))
        hook_traces.leave(workspace, "claude", "bob" if late == 60 else "carol")
        found = hook_traces.last(workspace, "claude")
        assert found is not None
        assert found.agent == agent, "one from the future is none"
    hook_traces.leave(workspace, "codex", "alice")
    assert left(root) == ["claude.ran", "codex.ran"]


def test_no_trace_without_a_root_or_without_anybody(root: Path) -> None:
    nowhere = workspace_on(root / "nowhere")
    assert hook_traces.leave(nowhere, "claude", "alice") == []
    assert hook_traces.last(nowhere, "claude") is None
    assert not (root / "nowhere").exists()
    assert hook_traces.leave(workspace_on(root), "claude", "") == []
    assert left(root) == []


def test_a_session_without_a_name_leaves_one_where_channels_are(root: Path) -> None:
    workspace = workspace_on(root)
    assert run(["init", "dev"], root).status == 0
    assert hook_traces.leave(workspace, "claude", "", frozenset({"other"})) == []
    assert left(root) == []
    assert hook_traces.leave(workspace, "claude", "") == []
    assert hook_traces.last(workspace, "claude") == Trace(host="claude", at=AT, version=__version__)


def faulty(root: Path, at: int, code: int) -> tuple[Workspace, FaultyFiles]:
    clock = FakeClock()
    files = FaultyFiles(str(root), clock, at=at, code=code)
    return workspace_on(root, clock=clock, files=files), files


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EACCES])
def test_whatever_fails_is_a_note_and_leaves_the_old_trace(root: Path, code: int) -> None:
    hook_traces.leave(workspace_on(root, clock=FakeClock()), "claude", "alice")
    os.utime(root / "_hooks" / "claude.ran", (1, 1))
    for at in range(1, 20):
        workspace, _ = faulty(root, at, code)
        said = hook_traces.leave(workspace, "claude", "bob")
        found = hook_traces.last(workspace_on(root), "claude")
        assert found is not None
        if not said:
            assert found.agent == "bob"
            assert left(root) == ["claude.ran"]
            return
        assert said[0].startswith("hooks cannot note that they ran: ")
        assert (found.agent, left(root)) == ("alice", ["claude.ran"])
    raise AssertionError("it never ended")


@pytest.mark.parametrize(
    "fields",
    [
        {"schema_version": 2},
        {"host": "codex"},
        {"at": "yesterday"},
        {"agent": "../x"},
        {"at": 1},
        {"version": None, "agent": "a b"},
    ],
)
def test_a_damaged_trace_is_told(root: Path, fields: dict[str, Any]) -> None:
    sound = {"schema_version": 1, "host": "claude", "at": AT, "agent": "alice", "version": "1"}
    for text in (json.dumps({**sound, **fields}), "", "{", "[]", json.dumps({"schema_version": 1, "host": "claude"})):
        plant(root / "_hooks" / "claude.ran", text)
        found = hook_traces.last(workspace_on(root), "claude")
        assert found is not None
        assert found.fault.startswith("its trace is damaged: "), text


def test_a_trace_that_cannot_be_read_is_told(root: Path) -> None:
    (root / "_hooks" / "claude.ran").mkdir(parents=True)
    found = hook_traces.last(workspace_on(root), "claude")
    assert found is not None
    assert found.fault.startswith("its trace cannot be read: ")
