"""Which folders of a root are channels, or may be by their names, and which of those may hold locks."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records.value import Value
from agent_chat.storage import layout, publication
from agent_chat.storage.filesystem import is_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from agent_chat.storage.workspace import Workspace

LOCKS = "locks"


class Lockable(Value):
    """The channels in which something is locked or may be; `faults` say why others could not be looked at."""

    channels: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def names_like_channels(workspace: Workspace, only: Container[str] | None = None) -> list[str]:
    """Returns the names in a root that may be channels, or those of `only`, which are folded; none where it is missing.

    Whether a channel is there is told by who looks into it.
    """
    there = workspace.files.list_if_there(workspace.root)
    if only is not None:
        there = [name for name in there if names.fold(name) in only]
    return sorted(name for name in there if names.fault_of_name(name) is None)


def may_hold_locks(workspace: Workspace, channels: Iterable[str]) -> Lockable:
    """Returns the channels that have the record of a lock, or a change of one that is pending."""
    found: list[str] = []
    faults: list[str] = []
    for name in channels:
        folder = layout.join(layout.join(workspace.root, name), LOCKS)
        try:
            there = workspace.files.list_if_there(folder)
            if any(each.endswith(".json") for each in there) or (
                layout.AUDIT_FOLDER in there and _is_pending(workspace, folder)
            ):
                found.append(name)
        except NotADirectoryError:
            continue  # a file among the channels is none
        except OSError as error:
            faults.append(f"the locks of {name} cannot be read: {error.strerror or error}")
    return Lockable(channels=tuple(found), faults=tuple(faults))


def _is_pending(workspace: Workspace, folder: str) -> bool:
    try:
        workspace.files.status(layout.join(layout.join(folder, layout.AUDIT_FOLDER), layout.PENDING))
    except FileNotFoundError:
        return False
    return True


def channel_names(workspace: Workspace) -> list[str]:
    """Returns the names of all channels of a root, in order; fails with ROOT_NOT_FOUND.

    A folder that cannot be looked into counts: whoever opens it is told why, and the others are not hidden by it.
    """
    workspace.require_root()
    names_there = workspace.files.list_folder(workspace.root)
    found = [name for name in names_there if names.fault_of_name(name) is None and may_be_channel(workspace, name)]
    return sorted(found, key=lambda name: (names.fold(name), name))


def may_be_channel(workspace: Workspace, name: str) -> bool:
    """Tells whether a folder of the root is a channel, or cannot be looked into, so that it may be one."""
    places = layout.ChannelLayout(workspace.root, name)
    try:
        if not is_folder(workspace.files.status(places.folder)):
            return False
    except FileNotFoundError:
        return False
    try:
        return publication.exists(workspace.files, places.meta)
    except PermissionError:
        return True
