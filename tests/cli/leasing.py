"""What tests of leases need: a clock that turns leases too, a process that dies between two phases, and a work tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.records.lease import Moment
from agent_chat.storage.workspace import Ids, Workspace
from tests.support.cli import START, Crash, FakeClock, FaultyFiles, Result, run

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem

# Where a killed change stops: after its records were written, after its message was published, and before it is filed.
APPLYING, ANNOUNCING, FILING = 1, 2, 3


class LeaseClock(FakeClock):
    """A clock that stands still until it is turned, the clock of its boot with it."""

    def __init__(self, now: float = START, boot: str = "a-boot-of-the-test") -> None:
        super().__init__(now)
        self._boot = boot

    def moment(self) -> Moment:
        """The time that the test has set, by both clocks."""
        return Moment(wall=self.now(), boot_id=self._boot, boot=self.now() - START + 1000)


def lease_workspace(
    root: Path, *, clock: FakeClock | None = None, files: FileSystem | None = None, ids: Ids | None = None
) -> Workspace:
    """The workspace of a root on which leases run by the test's clock."""
    return Workspace(str(root), root_from="variable", clock=clock or LeaseClock(), files=files, ids=ids)


def tree_beside(root: Path) -> dict[str, str]:
    """The variables that name a work tree beside a root, which is made."""
    tree = root.parent / "tree"
    tree.mkdir(exist_ok=True)
    return {"AGENT_CHAT_WORKSPACE": str(tree)}


def call(root: Path, *argv: str, clock: FakeClock | None = None, files: FileSystem | None = None) -> Result:
    """Runs a command on a root, with a work tree beside it."""
    return run(
        argv, root, workspace=lease_workspace(root, clock=clock, files=files), environment=tree_beside(root)
    )


def killed(root: Path, phase: int, *argv: str, clock: FakeClock | None = None) -> None:
    """Runs a command that is killed in a phase of its change, and so leaves it pending."""
    clock = clock or LeaseClock()
    if phase == FILING:
        files = FaultyFiles(str(root), clock, at=1, only=("replace",), where="/audit/")
    else:
        files = FaultyFiles(str(root), clock, at=phase, only=("append",))
    with pytest.raises(Crash):
        call(root, *argv, clock=clock, files=files)
