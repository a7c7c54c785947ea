"""Git's work trees, without asking git: which one a place lies in, and which of them are of one repository.

A work tree has `.git`: the repository's folder, or a file that leads to it (gitrepository-layout(5)). Linked work trees
(git-worktree(1)) share one folder, which `commondir` in their own names; a submodule has one of its own.
"""

from __future__ import annotations

import errno
import os
import stat

from agent_chat.storage import real_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.filesystem import FileSystem
    from agent_chat.storage.real_place import Place, Walker

_MAX_BYTES = 8192
_SIGN = "gitdir:"
# What a damaged `.git` ends in; what cannot be looked at (EIO, EACCES) is no such thing.
_LEADS_NOWHERE = (errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOENT, errno.EINVAL)


def lies_in_one(files: FileSystem, path: str) -> bool:
    """Tells whether a folder lies in a work tree of git."""
    walker = real_place.Walker()
    return GitTrees(files, walker).around(walker.walk(real_place.Place(os.sep), path)) is not None


class GitTrees:
    """The work trees of git that were met in one call."""

    def __init__(self, files: FileSystem, walker: Walker) -> None:
        self._files = files
        self._walker = walker
        self._is_tree: dict[str, bool] = {}
        self._repositories: dict[str, str] = {}

    def around(self, place: Place) -> Place | None:
        """Returns the work tree that a place lies in, None where it lies in none."""
        for length in range(len(place.names) - place.missing, -1, -1):
            tree = place.up_to(length)
            path = tree.path
            if path not in self._is_tree:
                self._is_tree[path] = real_place.status_at(os.path.join(path, ".git")) is not None
            if self._is_tree[path]:
                return tree
        return None

    def all_around(self, place: Place) -> list[Place]:
        """Returns every work tree that a place lies in, the innermost first: repositories may lie in each other."""
        found: list[Place] = []
        tree = self.around(place)
        while tree is not None:
            found.append(tree)
            tree = self.around(tree.up_to(len(tree.names) - 1)) if tree.names else None
        return found

    def are_sisters(self, one: Place, other: Place) -> bool:
        """Tells whether two work trees are of one repository."""
        repository = self.repository(one)
        return bool(repository) and repository == self.repository(other)

    def repository(self, tree: Place) -> str:
        """Returns the real path of a work tree's repository, empty where `.git` does not lead to one."""
        if tree.path not in self._repositories:
            try:
                self._repositories[tree.path] = self._find_repository(tree)
            except OSError as error:
                if error.errno not in _LEADS_NOWHERE:
                    raise
                self._repositories[tree.path] = ""
        return self._repositories[tree.path]

    def _find_repository(self, tree: Place) -> str:
        folder = self._walker.walk(tree, ".git")
        status = None if folder.missing else real_place.status_at(folder.path)
        if status is None:
            return ""
        if stat.S_ISDIR(status.st_mode):
            return folder.path
        text = self._line(folder.path)
        if not text.startswith(_SIGN):
            return ""
        own = self._walker.walk(tree, text[len(_SIGN) :].strip())
        common = self._walker.walk(own, "commondir")
        if common.missing:
            return own.path
        text = self._line(common.path)
        return self._walker.walk(own, text).path if text else ""

    def _line(self, path: str) -> str:
        """Returns the text of an ordinary file of one line, nothing of any other: a pipe would never answer."""
        status = real_place.status_at(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return ""
        text = self._files.read_named(path, _MAX_BYTES).decode("utf-8", "surrogateescape").strip("\r\n")
        return "" if "\0" in text or "\n" in text or len(text) >= _MAX_BYTES else text
