"""Real places on the disk: where a path ends, link by link, and how the folders on its way compare names.

The seam of the work tree, as `filesystem` is that of the chat root: it may look anywhere, and only looks
(docs/decisions/0015-work-tree-has-a-read-only-seam.md). Links are followed here and not by the system, so that each
step is seen and what cannot be looked at is an `OSError`, never "not there".
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from agent_chat.names import decomposed_form, normal_form
from agent_chat.records.locked_path import CASE, EXACT, FORM, same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

WINDOWS = sys.platform == "win32"
MACOS = sys.platform == "darwin"
if sys.platform != "win32":
    import fcntl

    _OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC

_MAX_LINKS = 40  # as Linux
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT: a link of Windows that lstat shows as a folder
_INVALID_NAME = 123  # ERROR_INVALID_NAME: nothing can have that name on Windows
_GET_FLAGS = 0x80086601 if sys.maxsize > 1 << 32 else 0x80046601  # FS_IOC_GETFLAGS of linux/fs.h
_CASEFOLD_FLAG = 0x40000000  # FS_CASEFOLD_FL, which `chattr +F` sets
_PC_CASE_SENSITIVE = 11  # of sys/unistd.h on macOS
_CANNOT_SAY = (errno.ENOTTY, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES)
_NATIVE_IS_UTF8 = sys.getfilesystemencoding().lower().replace("-", "") == "utf8"


def _native(path: str) -> str | bytes:
    """Returns a path in UTF-8 whatever the locale says, as the seam of the chat root does."""
    return path if _NATIVE_IS_UTF8 else path.encode("utf-8", "surrogateescape")


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")


def status_at(path: str) -> os.stat_result | None:
    """Returns the status of what stands at a path, of a link itself; None when nothing does."""
    try:
        return os.lstat(_native(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if getattr(error, "winerror", None) == _INVALID_NAME:
            return None
        raise


def is_folder(path: str) -> bool:
    """Tells whether a path, links followed, is that of a folder."""
    place = Walker().walk(Place(os.sep), path)
    status = None if place.missing else status_at(place.path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def normal_path(path: str, current_folder: Callable[[], str]) -> str:
    """Returns a path as absolute and normal, its links as they are, but for those that a `..` goes back over."""
    whole = path if os.path.isabs(path) else os.path.join(current_folder(), path)
    anchor, names = split(whole)
    back = max((at for at, name in enumerate(names) if name == ".."), default=-1) + 1
    start = Walker().walk(Place(anchor), "/".join(names[:back])) if back else Place(anchor)
    return os.path.normpath(start.path + os.sep + os.sep.join(names[back:]))


def _target(path: str) -> str:
    """Returns where a link leads, without the prefix that Windows puts before an absolute path."""
    target = os.readlink(path) if _NATIVE_IS_UTF8 else _text(os.readlink(path.encode("utf-8", "surrogateescape")))
    return target[4:] if WINDOWS and target.startswith("\\\\?\\") and target[5:6] == ":" else target


def names_in(folder: str) -> list[str]:
    """Returns the names in a folder."""
    return [_text(name) for name in os.listdir(_native(folder))]


def _system_folds(folder: str) -> bool | None:
    """Tells whether the system says that a folder folds names; None where it cannot say. Windows is not asked."""
    try:
        if sys.platform == "darwin":
            return os.pathconf(_native(folder), _PC_CASE_SENSITIVE) == 0
        if sys.platform != "win32":
            descriptor = os.open(_native(folder), _OPEN_FOLDER)
            try:
                flags = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
            finally:
                os.close(descriptor)
            return bool(int.from_bytes(flags[:4], sys.byteorder) & _CASEFOLD_FLAG)
    except OSError as error:
        if error.errno not in _CANNOT_SAY:
            raise
    return None


def _is_link(status: os.stat_result) -> bool:
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return one.st_ino != 0 and os.path.samestat(one, other)  # some file systems of Windows have no such number


# -- following a path --------------------------------------------------------------------------------------------------


class Place:
    """A real place on the disk: an anchor (`/`, or a drive of Windows), and names none of which is a link.

    `folds` says for each name how its folder compares it; `missing` is how many of the last names are not there.
    """

    def __init__(
        self, anchor: str, names: list[str] | None = None, folds: list[str] | None = None, missing: int = 0
    ) -> None:
        self.anchor, self.names, self.folds, self.missing = anchor, names or [], folds or [], missing

    @property
    def path(self) -> str:
        """The path as the system takes it."""
        return self.anchor + os.sep.join(self.names)

    def up_to(self, length: int) -> Place:
        """Returns a place of its own with that many of the names."""
        missing = max(0, self.missing - (len(self.names) - length))
        return Place(self.anchor, self.names[:length], self.folds[:length], missing)

    def holds(self, other: Place) -> bool:
        """Tells whether another place is this one or lies in it."""
        return (
            self.anchor == other.anchor
            and len(self.names) <= len(other.names)
            and all(map(same_name, self.names, other.names, other.folds))
        )


def split(path: str) -> tuple[str, list[str]]:
    """Returns the anchor of a path, "" if it is relative, and its names."""
    drive, rest = os.path.splitdrive(path)
    if WINDOWS:
        drive, rest = (drive.upper() if len(drive) == 2 else drive), rest.replace("\\", "/")
    return (drive + os.sep if rest[:1] == "/" else drive), rest.split("/")


class Walker:
    """Follows paths by hand, link by link, and remembers how the folders that it met compare names."""

    def __init__(self) -> None:
        self._folds: dict[str, str] = {}

    def walk(self, start: Place, path: str, homes: list[tuple[Place, os.stat_result]] | None = None) -> Place:
        """Returns the place where a path ends that begins at `start`, or at an anchor of its own.

        `homes` are places with their statuses: whatever leads to one, in another spelling or over another mount, goes
        on from this very place.
        """
        place, pending = _begin(start, path)
        links = 0
        while pending:
            name = pending.pop()
            if name == "..":
                place = place.up_to(max(0, len(place.names) - 1))
            elif name not in ("", "."):
                step = os.path.join(place.path, name)
                status = None if place.missing else status_at(step)
                if status is not None and _is_link(status):
                    links += 1
                    if links > _MAX_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                    place, names = _begin(place, _target(step))
                    pending += names
                else:
                    self._enter(place, name, status)
                    for home, its_status in homes or ():
                        if status is not None and _is_same(status, its_status):
                            place = home.up_to(len(home.names))
        return place

    def _enter(self, place: Place, name: str, status: os.stat_result | None) -> None:
        """Adds a name that is no link to a place, as it is spelled on the disk."""
        if status is not None:
            fold = _fold_of_entry(place.path, name, status)
            name = _spelling(place.path, name, status, fold) if fold else name
        elif place.missing:
            fold = place.folds[-1]  # a new folder takes it over from its own
        else:
            fold = self._fold_of_folder(place)
        place.missing += status is None
        place.names.append(name)
        place.folds.append(fold)

    def _fold_of_folder(self, place: Place) -> str:
        """Returns how a folder compares names that do not stand in it."""
        path = place.path
        if path not in self._folds:
            self._folds[path] = self._look(place)
        return self._folds[path]

    def _look(self, place: Place) -> str:
        """Finds out how a folder compares names: from what stands in it, from the system, or from its own folder.

        Where nothing tells, it is taken to fold: then too much is held, never too little.
        """
        if WINDOWS:
            return CASE
        try:
            names = names_in(place.path)
        except PermissionError:  # it may be searched but not listed
            return CASE
        except (NotADirectoryError, FileNotFoundError):  # a folder that may once stand there will be like its own
            return self._fold_of_folder(place.up_to(len(place.names) - 1)) if place.names else CASE
        case = _tells(place.path, names, _other_case)
        if case is None:
            said = _system_folds(place.path)
            case = said or self._parent_folds(place, otherwise=said is None)
        if case:
            return CASE
        return FORM if MACOS or _tells(place.path, names, _other_form) else EXACT

    def _parent_folds(self, place: Place, *, otherwise: bool) -> bool:
        """Tells whether a folder's own folder folds case, `otherwise` where that is on another file system."""
        if not place.names:
            return otherwise
        name, parent = place.names[-1], place.up_to(len(place.names) - 1)
        status = os.lstat(_native(place.path))
        if status.st_dev != os.lstat(_native(parent.path)).st_dev:
            return otherwise
        known = _other_case(name) is not None
        return (_fold_of_entry(parent.path, name, status) if known else self._fold_of_folder(parent)) == CASE


def _begin(start: Place, path: str) -> tuple[Place, list[str]]:
    """Returns where a path begins, and its names, the first one last. On Windows `\\a` is on the drive of `start`."""
    anchor, names = split(path)
    names.reverse()
    if not anchor:
        return start.up_to(len(start.names)), names
    return Place(start.anchor if anchor == os.sep else anchor), names


# -- how names compare -------------------------------------------------------------------------------------------------


def _other_case(name: str) -> str | None:
    """Returns a name in the other case, of its ASCII letters if it has any; None if it has but one case."""
    if name.isascii():
        other = name.swapcase()
    else:
        other = "".join(c.swapcase() if c.isascii() else c for c in name)
        if other == name:
            other = name.swapcase()
            return other if other.swapcase() == name != other else None
    return other if other != name else None


def _other_form(name: str) -> str | None:
    """Returns a name in another Unicode form; None if it has but one."""
    forms = (decomposed_form(name), normal_form(name))
    return next((form for form in forms if form != name), None)


def _fold_of_entry(folder: str, name: str, status: os.stat_result) -> str:
    """Returns how a folder compares a name that stands in it: another spelling finds the same thing, or does not."""
    if WINDOWS or _finds(folder, name, _other_case(name), status):
        return CASE
    return FORM if MACOS or _finds(folder, name, _other_form(name), status) else EXACT


def _tells(folder: str, names: list[str], other: Callable[[str], str | None]) -> bool | None:
    """Tells whether a folder finds what stands in it under its other name too; None where nothing has another."""
    for name in names:
        spelling = other(name)
        status = status_at(os.path.join(folder, name)) if spelling else None
        if status is not None:
            return _finds(folder, name, spelling, status)
    return None


def _finds(folder: str, name: str, other: str | None, status: os.stat_result) -> bool:
    """Tells whether a folder finds what stands in it under another name too, and does not list them both."""
    if other is None:
        return False
    try:
        found = status_at(os.path.join(folder, other))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # the other form may have more bytes
            return False
        raise
    if found is None:
        return False
    try:
        listed = names_in(folder)
    except PermissionError:  # it may be searched but not listed; then two hard links of one file look like one name
        return _is_same(found, status)
    return name not in listed or other not in listed


def _spelling(folder: str, name: str, status: os.stat_result, fold: str) -> str:
    """Returns a name as it is spelled on the disk. Windows finds files under short names (`PROGRA~1`) too."""
    try:
        names = names_in(folder)
    except PermissionError:  # it may be searched but not listed; names are compared folded in any case
        return name
    if name in names:
        return name
    alike = [each for each in names if same_name(each, name, fold)]
    for each in alike or names:
        found = status_at(os.path.join(folder, each))
        if found is not None and _is_same(found, status):
            return each
    return name
