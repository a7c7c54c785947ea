"""What tests of leases need: a work tree beside the root, and a process that dies between two phases of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Crash, FakeClock, FaultyFiles, Result, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem
    from agent_chat.storage.workspace import Ids

# Where a killed change stops: before it is announced, before that is noted, and before it is filed.
UNANNOUNCED, ANNOUNCED, UNFILED = 1, 2, 3


def tree_beside(root: Path) -> dict[str, str]:
    """The variables that name a work tree beside a root, which is made."""
    tree = root.parent / "tree"
    tree.mkdir(exist_ok=True)
    return {"AGENT_CHAT_WORKSPACE": str(tree)}


def call(
    root: Path,
    *argv: str,
    clock: FakeClock | None = None,
    files: FileSystem | None = None,
    ids: Ids | None = None,
) -> Result:
    """Runs a command on a root with a clock that stands still, and a work tree beside it."""
    workspace = workspace_on(root, clock=clock, files=files)
    workspace.ids = ids or workspace.ids
    return run(argv, root, workspace=workspace, environment=tree_beside(root))


def killed(root: Path, where: int, *argv: str, clock: FakeClock | None = None, ids: Ids | None = None) -> None:
    """Runs a command that is killed at some point of its change, and so leaves it pending."""
    clock = clock or FakeClock()
    if where == UNFILED:
        files = FaultyFiles(str(root), clock, at=1, only=("replace",), where="/audit/")
    else:
        files = FaultyFiles(str(root), clock, at=where, only=("append",))
    with pytest.raises(Crash):
        call(root, *argv, clock=clock, files=files, ids=ids)
