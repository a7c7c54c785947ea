"""How a file gets its final name: written and synced beside it first, then named in one step."""

from __future__ import annotations

from agent_chat.storage import layout
from agent_chat.storage.filesystem import FileSystem, LinksUnsupportedError, is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.workspace import Workspace

STALE_TEMPORARY_SECONDS = 3600.0


def exists(files: FileSystem, path: str) -> bool:
    """Tells whether anything stands at a path."""
    try:
        files.status(path)
    except FileNotFoundError:
        return False
    return True


def write_temporary(workspace: Workspace, places: ChannelLayout, data: bytes) -> str:
    """Writes and syncs a temporary in a channel's cache, which is made where it is missing; returns its path."""
    path = places.temporary(workspace.ids.fresh())
    try:
        workspace.files.write_new(path, data)
    except FileNotFoundError:
        workspace.files.make_folder(places.cache)
        workspace.files.write_new(path, data)
    return path


def name_new(
    files: FileSystem,
    temporary: str,
    target: str,
    *,
    aside: str | None = None,
    stays: bool = False,
    holds_lock: Callable[[], bool] | None = None,
) -> None:
    """Gives a temporary its final name, never replacing: by a link, else by a checked rename.

    The caller holds the lock that keeps others from that name. Fails with FileExistsError when it is taken. After any
    failure neither the temporary nor the name is left; where even that fails, the failure is a `NotTakenBackError`. A
    file that had its name already, and may have been seen, is moved `aside` rather than removed, if that is given; with
    `stays` it keeps its name, and its caller decides.
    With `holds_lock` the lock is looked at once more at the last moment; LockLostError when it is no longer held.
    """
    try:
        if holds_lock is not None and not holds_lock():
            raise LockLostError(f"the lock of {target} was deleted while it was held")
        try:
            files.link(temporary, target)
        except LinksUnsupportedError:
            if exists(files, target):
                raise FileExistsError(f"{target} exists already") from None
            files.replace(temporary, target)
        else:
            files.remove(temporary)
        folder = target.rpartition(layout.SEPARATOR)[0]
        files.sync_folder(folder)
    except OSError as error:
        _take_back(files, temporary, None if stays else target, aside, error)
        raise


def replace(files: FileSystem, temporary: str, target: str) -> None:
    """Renames a temporary over its target; when that fails the temporary is removed and the target is as it was."""
    try:
        files.replace(temporary, target)
    except OSError:
        files.remove(temporary)
        raise


class LockLostError(OSError):
    """The lock file is no longer the one that was locked, so another process may hold the new one."""


class NotTakenBackError(OSError):
    """A publication failed half-way and could not be undone: whether it stays is not known."""


def _take_back(files: FileSystem, temporary: str, target: str | None, aside: str | None, cause: OSError) -> None:
    """Undoes a publication that failed half-way; without a target only the temporary goes."""
    try:
        if target is not None and not isinstance(cause, FileExistsError) and _is_ours(files, temporary, target):
            if aside is None:
                files.remove(target)
            else:
                files.replace(target, aside)
        if exists(files, temporary):
            files.remove(temporary)
    except OSError as error:
        reason = f"{cause.strerror or cause}, then {error.strerror or error}"
        raise NotTakenBackError(error.errno, reason, target or temporary) from error


def _is_ours(files: FileSystem, temporary: str, target: str) -> bool:
    """Tells whether what stands at the target is the temporary under its new name."""
    try:
        there = files.status(target)
    except FileNotFoundError:
        return False
    try:
        mine = files.status(temporary)
    except FileNotFoundError:
        return True
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def taken_back(names: list[str]) -> list[int]:
    """Returns the numbers of messages that were taken back, by the names in a cache: they may have been seen."""
    start = layout.TAKEN_BACK_PREFIX
    digits = [name[len(start) :] for name in names if name.startswith(start)]
    return [int(text) for text in digits if text.isascii() and text.isdigit() and len(text) <= 9]


def stale_temporaries(workspace: Workspace, places: ChannelLayout, *, derived: bool = False) -> list[str]:
    """Returns the paths of temporaries in a channel's cache that are older than an hour: their writers are dead.

    With `derived` also those of derived files, which lie beside them; that costs a listing of the channel.
    """
    found = stale_in(workspace, places.cache)
    if derived:
        listed = workspace.files.list_folder(places.folder)
        paths = sorted(places.file(name) for name in listed if layout.is_derived_temporary(name))
        found += [path for path in paths if is_stale(workspace, path)]
    return found


def stale_in(workspace: Workspace, folder: str) -> list[str]:
    """Returns the paths of temporaries in a folder, which need not be there, that are older than an hour."""
    names = workspace.files.list_if_there(folder)
    paths = [layout.join(folder, name) for name in names if name.startswith(layout.TEMPORARY_PREFIX)]
    return [path for path in paths if is_stale(workspace, path)]


def is_stale(workspace: Workspace, path: str) -> bool:
    """Tells whether a temporary is older than an hour."""
    try:
        status = workspace.files.status(path)
    except FileNotFoundError:
        return False
    return is_file(status) and workspace.clock.now() - status.st_mtime > STALE_TEMPORARY_SECONDS
