"""Who holds some paths now, in any channel of a root: what the edit guard asks, without a lock and in a hurry."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.leases import time_left
from agent_chat.operations.lock_views import check, paths_text
from agent_chat.records.lease import EXPIRED
from agent_chat.records.locked_path import covers, meets
from agent_chat.records.value import Value
from agent_chat.storage import work_tree
from agent_chat.storage.channel import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.operations.lock_records import StoredLock
    from agent_chat.records.locked_path import Located, LockedPath
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
    locator = _Locator(workspace, folder, variable)
    for name in lockable.channels:
        channel = Channel(workspace, name)
        asked: list[tuple[str, Located, bool]] = []
        for path in paths:
            try:
                located, is_above = locator.locate(channel, path)
                if located is not None:
                    asked.append((path, located, is_above))
            except (ChatError, OSError) as error:
                faults.append(f"{name}: {_said(error)}")
        try:
            # All at once: each lock is read once, however many paths a patch has.
            found = check(channel, tuple(located for _, located, _ in asked), None) if asked else None
        except (ChatError, OSError) as error:
            faults.append(f"{name}: {_said(error)}")
            continue
        for stored in found.locks if found is not None else ():
            on = [path for path, located, is_above in asked if _is_on(located, stored.paths, is_above=is_above)]
            if on and stored.lock is None:
                # What its bytes say is somebody else's text; the doctor shows it to who asks.
                faults.append(f"lock {stored.id} on {', '.join(on[:1])} is damaged: {workspace.call(f'doctor {name}')}")
            elif stored.lock is not None and stored.lock.lease.standing(workspace.clock.moment()) != EXPIRED:
                held += [_held(channel, path, stored) for path in on]
    held.sort(key=lambda each: paths.index(each.asked))
    return Guarded(held=tuple(held), faults=tuple(dict.fromkeys(faults)))


def _held(channel: Channel, path: str, stored: StoredLock) -> Held:
    assert stored.lock is not None
    return Held(
        asked=path,
        paths=paths_text(stored.paths),
        channel=channel.name,
        owner=stored.owner,
        left=time_left(stored.lock.lease, channel.workspace.clock.moment()),
        reason=stored.lock.reason or "",
    )


def _is_on(located: Located, paths: Sequence[LockedPath], *, is_above: bool) -> bool:
    """Tells whether a lock is on a path; of one that only a folder above it could be found, whether it is on that."""
    if is_above:
        return covers(paths, located)
    return any(meets(located, each, certain=True) for each in paths)


def _said(error: ChatError | OSError) -> str:
    return str(error) if isinstance(error, ChatError) else error.strerror or str(error)


class _Locator:
    """Finds paths in the work tree that a channel's locks are on, else anywhere on this machine."""

    def __init__(self, workspace: Workspace, folder: str, variable: str) -> None:
        self._workspace = workspace
        self._folder = folder
        self._variable = variable
        self._found: dict[tuple[str, str], tuple[Located | None, bool]] = {}
        self._trees: dict[str, list[work_tree.WorkTree]] = {}

    def locate(self, channel: Channel, path: str) -> tuple[Located | None, bool]:
        """Returns where a path lies for the locks of a channel, None for what no lock can be on.

        Of a path that no lock can name, such as `aux.c`, the nearest folder above is returned, and True.
        """
        try:
            recorded = channel.meta.workspace or ""
        except ChatError:
            recorded = ""  # the locks of a channel count, whatever became of its record
        if (recorded, path) not in self._found:
            self._found[recorded, path] = self._locate(recorded, path)
        return self._found[recorded, path]

    def _locate(self, recorded: str, path: str) -> tuple[Located | None, bool]:
        if recorded not in self._trees:
            self._trees[recorded] = self._all(recorded)
        for tree in self._trees[recorded]:
            place, is_above = path, False
            while True:
                try:
                    return tree.locate(place), is_above
                except ChatError as error:
                    above = place.rstrip("/").rpartition("/")[0]
                    if error.code == "PATH_LOCK_PATH_OUTSIDE_WORKSPACE":
                        break
                    if error.code != "PATH_LOCK_INVALID_PATH" or not above:
                        raise
                    place, is_above = above, True
        return None, False

    def _all(self, recorded: str) -> list[work_tree.WorkTree]:
        """Returns the trees to look in: the one that a command would take here, then the whole file system."""
        trees: list[work_tree.WorkTree] = []
        for option, variable, named in ((None, self._variable, recorded), (work_tree.top_of(self._folder), "", "")):
            try:
                trees.append(
                    work_tree.find(
                        self._workspace, option=option, variable=variable, recorded=named, folder=self._folder
                    )
                )
            except ChatError:
                # What a record or a variable names need not be here; by its absolute path a file is found anyway.
                if option is not None:
                    raise
        return trees
