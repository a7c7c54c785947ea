"""The folders of channels that were deleted: renamed in one step, then removed file by file.

From the rename on there is no such channel, whatever of its folder is left; what a killed process left is swept by who
deletes the next one, or by the doctor. All this goes on under the lock of the root.
"""

from __future__ import annotations

from agent_chat.storage import layout
from agent_chat.storage.filesystem import is_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace


def leftovers(workspace: Workspace) -> list[str]:
    """Returns the paths of folders of deleted channels, in order."""
    listed = workspace.files.list_folder(workspace.root)
    return [layout.join(workspace.root, name) for name in sorted(listed) if name.startswith(layout.DELETED_PREFIX)]


def sweep_all(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Removes what is left of deleted channels.

    Returns the paths that are gone, and a line for each that could not be removed in full.
    """
    gone: list[str] = []
    failures: list[str] = []
    for path in leftovers(workspace):
        try:
            sweep(workspace, path)
            gone.append(path)
        except OSError as error:
            failures.append(f"{path}, of a channel that was deleted, could not be removed in full: {error}")
    return gone, failures


def sweep(workspace: Workspace, path: str) -> None:
    """Removes the folder of a deleted channel with all that is in it; links are removed, never followed.

    A folder gives its own folders to the one that is swept before it goes, so that no path gets longer than those that
    were there already, however deep they lie.
    """
    files = workspace.files
    if not is_folder(files.status(path)):
        files.remove(path)  # nothing of ours
        return
    inside = files.list_folder(path)
    while inside:
        for name in sorted(inside):
            each = layout.join(path, name)
            if is_folder(files.status(each)):
                _dissolve(workspace, each, path)
            else:
                files.remove(each)
        inside = files.list_folder(path)
    files.remove_folder(path)
    files.sync_folder(workspace.root)


def _dissolve(workspace: Workspace, folder: str, above: str) -> None:
    """Removes a folder and the files in it; its folders are moved to the one above."""
    files = workspace.files
    for name in sorted(files.list_folder(folder)):
        each = layout.join(folder, name)
        if is_folder(files.status(each)):
            files.replace(each, layout.join(above, workspace.ids.fresh()))
        else:
            files.remove(each)
    files.remove_folder(folder)
