"""How the owner's settings are replaced, and what persons decided is logged; both under the lock of the root."""

from __future__ import annotations

from agent_chat.records import owner_log, owner_settings
from agent_chat.storage import layout, publication

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.owner_log import Entry
    from agent_chat.records.owner_settings import OwnerSettings
    from agent_chat.storage.workspace import Workspace

# A log that is larger is written on all the same, and nobody looks at how it ends.
_MAX_LOG_BYTES = 1 << 24


def store(workspace: Workspace, settings: OwnerSettings) -> None:
    """Replaces the settings, durably: they are the old ones or the new ones, never a part."""
    files = workspace.files
    for path in stale_temporaries(workspace):
        files.remove(path)
    temporary = layout.owner_temporary(workspace.root, workspace.ids.fresh())
    files.write_new(temporary, owner_settings.render(settings))
    publication.replace(files, temporary, layout.owner_settings(workspace.root))
    files.sync_folder(workspace.root)


def stale_temporaries(workspace: Workspace) -> list[str]:
    """Returns the paths of settings that never got their name, and whose writers are dead for more than an hour."""
    listed = sorted(name for name in workspace.files.list_folder(workspace.root) if layout.is_owner_temporary(name))
    return [path for name in listed if publication.is_stale(workspace, path := layout.join(workspace.root, name))]


def note(workspace: Workspace, entry: Entry) -> None:
    """Adds a line to the log, durably; what a writer that died left of a line stays a line of its own."""
    files = workspace.files
    path = layout.owner_log(workspace.root)
    line = owner_log.render(entry)
    try:
        before = files.read_file(path, _MAX_LOG_BYTES)
    except FileNotFoundError:
        files.write_new(path, line)
    else:
        files.append(path, line if not before or before.endswith(b"\n") else b"\n" + line)
    files.sync_folder(workspace.root)
