"""The owner's switch: while it is off, nothing that shows or publishes text goes on."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.storage import owner_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace


def is_on(workspace: Workspace) -> bool:
    """Tells whether chat is on; fails with OWNER_SETTINGS_INVALID where that cannot be told."""
    return owner_store.load(workspace).access


def require_on(workspace: Workspace) -> None:
    """Fails with ACCESS_DISABLED while the owner has switched chat off."""
    if not is_on(workspace):
        raise ChatError("ACCESS_DISABLED", f"chat is off in {workspace.describe()}", where=workspace.where())
