"""Workspaces for tests: a root in a temporary folder with a clock, ids and a file system of the test's own."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Callable

from agent_chat.storage.workspace import Clock, Ids, Workspace
from tests.support.cli import START, FakeClock

if TYPE_CHECKING:
    from agent_chat.storage.filesystem import FileSystem

__all__ = ["START", "CountedIds", "FakeClock", "make_workspace"]

_COUNT = itertools.count(1)


class CountedIds(Ids):
    """Ids in order, none twice in a run, whichever object gives them."""

    def fresh(self) -> str:
        """Returns the next one."""
        return f"{next(_COUNT):016x}"


def make_workspace(
    root: str | os.PathLike[str],
    *,
    files: Callable[[str, Clock], FileSystem] | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Workspace:
    """Returns a workspace of a root; `files` makes its file system from the root and the clock."""
    path = os.fspath(root)
    turned = clock or FakeClock()
    return Workspace(
        path, root_from="variable", clock=turned, ids=ids or CountedIds(), files=files(path, turned) if files else None
    )
