"""What the doctor looks at of what persons decide: the owner's settings, their log, and what deleted channels left."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.findings import Finding, unreadable
from agent_chat.storage import deleted_channels, layout, owner_changes, owner_store
from agent_chat.storage.filesystem import is_file, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.storage.workspace import Workspace


def check(workspace: Workspace) -> Iterator[Finding]:
    """Yields what is wrong with them; where it cannot look, that is a finding too."""
    settings = layout.owner_settings(workspace.root)
    try:
        owner_store.load(workspace)
    except ChatError as error:
        message = error.message.removeprefix(f"{settings}: ")
        remedy = "mend the file by hand; removed, it means that chat is on and messages stay"
        yield Finding(id="owner.valid", path=settings, message=message, remedy=remedy)
    except OSError as error:
        yield unreadable(settings, error, id="owner.valid")
    try:
        yield from _check_log(workspace)
        yield from _check_leftovers(workspace)
    except OSError as error:
        yield unreadable(path_of(error) or workspace.root, error, id="owner.log")


def _check_log(workspace: Workspace) -> Iterator[Finding]:
    log = layout.owner_log(workspace.root)
    try:
        status = workspace.files.status(log)
    except FileNotFoundError:
        return
    if not is_file(status):
        yield Finding(
            id="owner.log", path=log, message="it is no ordinary file", remedy="move it away; it is made anew"
        )


def _check_leftovers(workspace: Workspace) -> Iterator[Finding]:
    remedy = workspace.call("doctor --fix") + " removes it"
    for path in deleted_channels.leftovers(workspace):
        message = "it is left of a channel that was deleted"
        yield Finding(id="root.deleted", path=path, message=message, remedy=remedy)
    for path in owner_changes.stale_temporaries(workspace):
        message = "its writer died more than an hour ago"
        yield Finding(id="temporary.stale", path=path, message=message, remedy=remedy)
