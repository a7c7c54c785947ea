"""Who holds some paths now, in any channel of a root: what the edit guard asks, without a lock and in a hurry."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.leases import time_left
from agent_chat.operations.lock_views import check, paths_text
from agent_chat.records.lease import EXPIRED
from agent_chat.records.value import Value
from agent_chat.storage import work_tree
from agent_chat.storage.channel import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.records.locked_path import Located
    from agent_chat.storage.channel_folders import Lockable
    from agent_chat.storage.workspace import Workspace


class Held(Value):
    """A path that somebody holds: `asked` as it was asked for, `paths` and `left` what is locked and for how long."""

    asked: str
    paths: str
    channel: str
    owner: str
    left: str
    reason: str = ""


class Guarded(Value):
    """What was found; `faults` say what could not be looked at, so that more may be held."""

    held: tuple[Held, ...] = ()
    faults: tuple[str, ...] = ()


def holders(workspace: Workspace, lockable: Lockable, paths: Sequence[str], *, folder: str, variable: str) -> Guarded:
    """Returns who holds some absolute paths; a lock that ran out is nobody's.

    `folder` is the absolute path of the folder in which the caller works, `variable` the work tree that its environment
    names.
    """
    held: list[Held] = []
    faults = list(lockable.faults)
    for name in lockable.channels:
        channel = Channel(workspace, name)
        locator = _Locator(workspace, channel, folder, variable)
        now = workspace.clock.moment()
        for path in paths:
            try:
                located = locator.locate(path)
                if located is None:
                    continue
                found = check(channel, (located,), None)
            except (ChatError, OSError) as error:
                faults.append(f"{channel.name}: {_said(error)}")
                continue
            for stored in found.locks:
                if stored.lock is None:
                    faults.append(f"{stored.fault}")
                elif stored.lock.lease.standing(now) != EXPIRED:
                    held.append(
                        Held(
                            asked=path,
                            paths=paths_text(stored.paths),
                            channel=channel.name,
                            owner=stored.owner,
                            left=time_left(stored.lock.lease, now),
                            reason=stored.lock.reason or "",
                        )
                    )
    return Guarded(held=tuple(held), faults=tuple(dict.fromkeys(faults)))


def _said(error: ChatError | OSError) -> str:
    return str(error) if isinstance(error, ChatError) else error.strerror or str(error)


class _Locator:
    """Finds paths for one channel: in the work tree that its locks are on, else anywhere on this machine."""

    def __init__(self, workspace: Workspace, channel: Channel, folder: str, variable: str) -> None:
        self._workspace = workspace
        self._channel = channel
        self._folder = folder
        self._variable = variable
        self._trees: list[work_tree.WorkTree] | None = None

    def locate(self, path: str) -> Located | None:
        """Returns where a path lies; None for what no lock can be on, as what lies in the chat root."""
        for tree in self._all():
            try:
                return tree.locate(path)
            except ChatError as error:
                if error.code != "PATH_LOCK_PATH_OUTSIDE_WORKSPACE":
                    raise
        return None

    def _all(self) -> list[work_tree.WorkTree]:
        if self._trees is None:
            try:
                recorded = self._channel.meta.workspace
            except ChatError:
                recorded = None  # the locks of a channel count, whatever became of its record
            self._trees = []
            for option, variable, named in (
                (None, self._variable, recorded),
                (work_tree.top_of(self._folder), "", None),
            ):
                try:
                    self._trees.append(
                        work_tree.find(
                            self._workspace, option=option, variable=variable, recorded=named, folder=self._folder
                        )
                    )
                except ChatError:
                    # What a record or a variable names need not be here; by its absolute path a file is found anyway.
                    if option is not None:
                        raise
        return self._trees
