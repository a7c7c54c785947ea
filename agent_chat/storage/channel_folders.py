"""Which folders of a root may be channels, and which of those may hold locks: a first look, by names."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records.value import Value
from agent_chat.storage import layout

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
