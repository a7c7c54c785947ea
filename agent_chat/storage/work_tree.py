"""The work tree: the project folder whose files are locked, and which of its paths a caller means.

What counts is where a path ends, links followed, and not how it is written. What is not there yet has a path all the
same; what cannot be looked at is an `OSError`, never "not there".
"""

from __future__ import annotations

import errno
import os
import stat

from agent_chat.errors import ChatError
from agent_chat.names import quoted
from agent_chat.records import locked_path
from agent_chat.records.locked_path import DIRECTORY, FILE, Located, LockedPath
from agent_chat.storage import filesystem, real_place
from agent_chat.storage.git_trees import GitTrees
from agent_chat.storage.real_place import Place, Walker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace

_FAULTS = {errno.ENAMETOOLONG: "it is too long for the file system", errno.ELOOP: "it is a loop of links"}
_SAID = {
    "option": "from --workspace",
    "variable": "from $AGENT_CHAT_WORKSPACE",
    "channel": "recorded in the channel; --workspace names another",
}


def find(
    workspace: Workspace, *, option: str | None, variable: str | None, recorded: str | None, folder: str
) -> WorkTree:
    """Returns the work tree that a call is about: the one named, else git's around `folder`, else `folder`.

    `folder` is the absolute path of the caller's current folder; an empty name counts as none. Fails with
    PATH_LOCK_INVALID_PATH where what is named, or the current folder, is no folder.
    """
    if not is_absolute(folder):
        raise ChatError("PATH_LOCK_INVALID_PATH", f"the current folder {quoted(folder)} is no absolute path")
    walker = Walker()
    here = walker.walk(Place(os.sep), folder)
    for source, path in (("option", option), ("variable", variable), ("channel", recorded)):
        if path:
            return WorkTree(workspace, walker, _named(walker, here, source, path), source, folder)
    _require_folder(here, f"the current folder {quoted(folder, limit=200)}")
    tree = GitTrees(workspace.files, walker).around(here)
    if tree is not None:
        return WorkTree(workspace, walker, tree, "git", folder)
    return WorkTree(workspace, walker, here, "folder", folder)


def current_folder() -> str:
    """Returns the path of the current folder; PATH_LOCK_INVALID_PATH when it was deleted."""
    try:
        return filesystem.absolute(".")
    except FileNotFoundError:
        raise ChatError("PATH_LOCK_INVALID_PATH", "the current folder is gone; go to one that is there") from None


def is_absolute(path: str) -> bool:
    """Tells whether a text is an absolute path here."""
    return filesystem.is_path(path) and os.path.isabs(path)


def top_of(folder: str) -> str:
    """Returns the top of the file system that an absolute path lies in."""
    return os.path.splitdrive(folder)[0] + os.sep


def _named(walker: Walker, here: Place, source: str, path: str) -> Place:
    what = f"the work tree {quoted(path, limit=200)} ({_SAID[source]})"
    if not filesystem.is_path(path):
        raise ChatError("PATH_LOCK_INVALID_PATH", f"{what} is no path", path=path)
    if source == "channel" and not os.path.isabs(path):
        raise ChatError("PATH_LOCK_INVALID_PATH", f"{what} is no absolute path here", path=path)
    try:
        place = walker.walk(here, path)
    except OSError as error:
        fault = _FAULTS.get(error.errno or 0)
        if fault is None:
            raise
        raise ChatError("PATH_LOCK_INVALID_PATH", f"{what}: {fault}") from error
    _require_folder(place, what)
    return place


def _require_folder(place: Place, what: str) -> None:
    status = None if place.missing else real_place.status_at(place.path)
    if status is None or not stat.S_ISDIR(status.st_mode):
        fault = "does not exist" if status is None else "is no folder"
        raise ChatError("PATH_LOCK_INVALID_PATH", f"{what} {fault}", path=place.path)


class WorkTree:
    """The folder whose files are locked: `root` is its real path, `source` says what named it.

    `source` is "option", "variable", "channel", "git" or "folder".
    """

    def __init__(self, workspace: Workspace, walker: Walker, place: Place, source: str, folder: str) -> None:
        """Is called by `find`."""
        self.root = place.path
        self.source = source
        self._walker = walker
        self._place = place
        self._chat = walker.walk(Place(os.sep), workspace.root)
        statuses = [(each, real_place.status_at(each.path)) for each in (self._chat, place)]
        self._homes = [(each, status) for each, status in statuses if status is not None]
        self._trees = GitTrees(workspace.files, walker)
        self._git = self._trees.around(place)
        here = walker.walk(Place(os.sep), folder, self._homes)
        self._base = here if self._home_of(here) is not None else place
        if source in _SAID and self._chat.holds(place):
            raise ChatError(
                "PATH_LOCK_INVALID_PATH", f"the work tree {quoted(self.root, limit=200)} lies in the chat root"
            )

    def locate(self, text: str) -> Located:
        """Returns which path of the work tree a caller means, whether or not it is there.

        A relative path begins at the current folder if that lies in the work tree, else at the work tree. What lies in
        another work tree of the same repository is the file of the same name in this one. Fails with
        PATH_LOCK_INVALID_PATH for what cannot be locked anywhere, PATH_LOCK_PATH_OUTSIDE_WORKSPACE for what ends
        outside the work tree or in the chat root (whose own files have their own locks), and OSError where the disk
        cannot be looked at.
        """
        fault = _fault_of_text(text)
        if fault:
            raise _invalid(text, fault)
        try:
            place = self._walker.walk(self._base, text, self._homes)
        except OSError as error:
            fault = _FAULTS.get(error.errno or 0)
            if fault is None:
                raise
            raise _invalid(text, fault) from error
        home = self._home_of(place)
        if home is None:
            raise _outside(text, f"leads to {place.path}, outside the work tree {self.root}")
        if self._chat.holds(place):
            raise _outside(text, f"lies in the chat root {self._chat.path}")
        parts = tuple(place.names[len(home.names) :])
        normalized = "/".join(parts) or locked_path.WHOLE
        fault = locked_path.fault_of_path(normalized)
        if fault:
            raise _invalid(text, f"it leads to {quoted(normalized)}: {fault}")
        tree = home.path if self.source == "folder" else self.root
        if locked_path.fault_of_tree(tree):
            tree = ""  # no record can hold it, so its paths are compared with all others
        return Located(
            path=LockedPath(normalized_path=normalized, display_path=text, kind=_kind(place, text), tree=tree),
            parts=parts,
            folds=tuple(place.folds[len(home.names) :]),
            elsewhere=lambda other: self._elsewhere(place, other, len(home.names)),
        )

    def _elsewhere(
        self, place: Place, tree: str, home: int
    ) -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
        """Returns the ways in which a place can be compared with the paths of another work tree.

        By their absolute paths; and, for each repository that both lie in, by their paths from its top, whichever of
        its work trees they are in. A tree that is not there is another machine's: only its relative paths tell, and
        `home` is how many names come before those of the place.
        """
        whole = locked_path.names_of(place.path)
        unnamed = len(whole) - len(place.folds)  # a drive has no folder that folds it
        ways = [(whole, locked_path.names_of(tree), (locked_path.CASE,) * unnamed + tuple(place.folds))]
        other = self._walker.walk(Place(os.sep), tree) if os.path.isabs(tree) else None
        if other is None or other.missing:
            return [(tuple(place.names[home:]), (), tuple(place.folds[home:]))]
        tops = {self._trees.repository(top): len(top.names) for top in self._trees.all_around(other)}
        for top in self._trees.all_around(place):
            repository = self._trees.repository(top)
            if repository and repository in tops:
                below = len(top.names)
                ways.append(
                    (tuple(place.names[below:]), tuple(other.names[tops[repository] :]), tuple(place.folds[below:]))
                )
        return ways

    def _home_of(self, place: Place) -> Place | None:
        """Returns what a place is relative to: this work tree, or what plays its part in another of its repository.

        None for a place outside. Where the current folder, in no work tree of git, is all that was named, a place that
        lies in one is relative to that: absolute paths mean the same file wherever they are used.
        """
        tree = self._trees.around(place)
        if self.source == "folder" and tree is not None:
            return tree
        inside = self._place.holds(place)
        if tree is None or self._git is None or (inside and len(tree.names) <= len(self._place.names)):
            return self._place if inside else None
        if not self._trees.are_sisters(self._git, tree):
            return self._place if inside else None
        below = len(self._git.names)
        part = Place(
            tree.anchor, tree.names + self._place.names[below:], tree.folds + self._place.folds[below:], tree.missing
        )
        return part if part.holds(place) else None


def _fault_of_text(text: str) -> str | None:
    """Returns why a path is refused by its text. On Windows a drive may begin it: only what follows is recorded."""
    if not real_place.WINDOWS:
        return locked_path.fault_of_path(text)
    drive, rest = os.path.splitdrive(text)
    if drive and rest[:1] in ("/", "\\"):
        text = rest.replace("\\", "/")
    fault = locked_path.fault_of_path(text)
    return fault or ("Windows takes what follows a colon for a part of a file" if ":" in text else None)


def _kind(place: Place, text: str) -> str:
    """Returns the kind of a place: what stands there, else what the text means. A file written `a/` stays a file."""
    status = None if place.missing else real_place.status_at(place.path)
    if status is not None:
        return DIRECTORY if stat.S_ISDIR(status.st_mode) else FILE
    return DIRECTORY if real_place.split(text)[1][-1] in ("", ".", "..") else FILE


def _invalid(text: str, fault: str) -> ChatError:
    return ChatError("PATH_LOCK_INVALID_PATH", f"{quoted(text, limit=200)} cannot be locked: {fault}", path=text)


def _outside(text: str, why: str) -> ChatError:
    return ChatError("PATH_LOCK_PATH_OUTSIDE_WORKSPACE", f"{quoted(text, limit=200)} {why}", path=text)
