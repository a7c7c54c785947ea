"""The owner's settings of a root as a file."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.records import owner_settings
from agent_chat.records.owner_settings import OwnerSettings
from agent_chat.storage import layout
from agent_chat.storage.filesystem import NotOrdinaryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace


def load(workspace: Workspace) -> OwnerSettings:
    """Returns the settings of a root, those that hold by default where there is no file.

    Fails with OWNER_SETTINGS_INVALID for a damaged one: whether chat is on cannot be told then.
    """
    path = layout.owner_settings(workspace.root)
    try:
        return owner_settings.parse(workspace.files.read_file(path, owner_settings.MAX_BYTES))
    except FileNotFoundError:
        return OwnerSettings()
    except NotADirectoryError:
        return OwnerSettings()  # of a root that is none, which whoever opens it is told
    except (owner_settings.SettingsError, NotOrdinaryError) as error:
        raise ChatError("OWNER_SETTINGS_INVALID", f"{path}: {error}", where=workspace.where(), path=path) from None
