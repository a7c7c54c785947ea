"""The seam: the few file operations that everything else is made of, and the audit of every path.

Promises: nothing outside the root is touched but what `NamedFiles` is asked to read; no symbolic link below the root is
followed; a new file appears with the modes of the root; data is on the disk when a call with `sync` returns.
Callers decide what an error means: every failure is an `OSError`, a missing file a `FileNotFoundError`, and a link,
folder or device where an ordinary file belongs a `NotOrdinaryError`.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from agent_chat.errors import ChatError
from agent_chat.names import MAX_FILE_NAME_BYTES
from agent_chat.storage import named_files
from agent_chat.storage.named_files import NATIVE_IS_UTF8, NamedFiles, native_path, read_up_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Protocol

    class Pauses(Protocol):
        """What the seam needs of a clock."""

        def monotonic(self) -> float: ...
        def sleep(self, seconds: float) -> None: ...


if sys.platform == "darwin":
    import fcntl

# The primitives that a recording or failing file system overrides: reading ones, then writing ones.
READING = ("list_folder", "read_file", "status", "read_named", "read_part")
WRITING = tuple("make_folder write_new append link replace remove remove_folder sync_folder open_lock".split())

_SHARING_ERRORS = (5, 32, 33)  # ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION of Windows
_REPLACE_RETRY_SECONDS = 2.0
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, getattr(errno, "ENOTSUP", errno.ENOSYS))
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_OPEN_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _FLAGS
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | _FLAGS
_OPEN_LOCK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _FLAGS


NotOrdinaryError = named_files.NotOrdinaryError


class LinksUnsupportedError(OSError):
    """The file system has no hard links; the caller publishes by rename instead."""


def is_folder(status: os.stat_result) -> bool:
    """Tells whether a status is that of a real folder."""
    return stat.S_ISDIR(status.st_mode)


def is_file(status: os.stat_result) -> bool:
    """Tells whether a status is that of an ordinary file."""
    return stat.S_ISREG(status.st_mode)


def is_link(status: os.stat_result) -> bool:
    """Tells whether a status is that of a symbolic link."""
    return stat.S_ISLNK(status.st_mode)


def kind_of_stream(stream: object) -> str:
    """Returns what a standard stream is: "closed", "null" (the null device), "terminal", or "data" (a file or pipe)."""
    try:
        descriptor = stream.fileno()  # type: ignore[attr-defined]
        status = os.fstat(descriptor)
    except (AttributeError, OSError, ValueError):
        return "closed"
    if os.isatty(descriptor):
        return "terminal"
    if stat.S_ISCHR(status.st_mode) and (os.name == "nt" or os.path.samestat(status, os.stat(os.devnull))):
        return "null"
    return "data"


def is_path(text: str) -> bool:
    """Tells whether a text can be a path at all."""
    try:
        return bool(text) and b"\0" not in text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def path_of(error: OSError) -> str | None:
    """Returns the path that an error is about, where it tells one."""
    path = error.filename
    return path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path


def boot_id() -> str:
    """Returns what tells this boot of the machine from others (Linux: random(4), boot_id), "" where there is none."""
    try:
        descriptor = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY | _FLAGS)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 64).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)


def absolute(path: str) -> str:
    """Returns a path as absolute and normal, from the current folder; links are not resolved."""
    return os.path.normpath(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))


class FileSystem(NamedFiles):
    """The real file system below one root."""

    def __init__(self, root: str, clock: Pauses) -> None:
        self.root = root
        self._clock = clock
        self._trusted = {root}
        self._root_status: os.stat_result | None = None

    # -- the audit -------------------------------------------------------------------------------------------------

    def _checked(self, path: str, *, new: bool = False) -> str | bytes:
        """Returns a path in the form that the system takes, after checking that it is ours to touch."""
        folder, _, name = path.rpartition(os.sep)
        if path != self.root:
            if folder not in self._trusted:
                self._trust(folder)
            if name in ("", ".", "..") or "\0" in name:
                raise NotOrdinaryError(errno.EINVAL, "not a file name", path)
            if new and len(name.encode("utf-8", "surrogateescape")) > MAX_FILE_NAME_BYTES:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        return native_path(path)

    def _trust(self, folder: str) -> None:
        """Checks that a folder lies in the root and that no link leads to it; remembers that it does."""
        parent, _, name = folder.rpartition(os.sep)
        if not folder.startswith(self.root + os.sep) or name in ("", ".", "..") or "\0" in name:
            raise ChatError("PATH_REFUSED", f"{folder} lies outside the root {self.root}", path=folder)
        if parent not in self._trusted:
            self._trust(parent)
        if not stat.S_ISDIR(os.lstat(native_path(folder)).st_mode):
            raise NotOrdinaryError(errno.ENOTDIR, "a real folder belongs here", folder)
        self._trusted.add(folder)

    def root_status(self) -> os.stat_result:
        """Returns the status of the root, which may be a link; new files take over its permissions and owner."""
        if self._root_status is None:
            self._root_status = os.stat(native_path(self.root))
        return self._root_status

    def _adopt(self, descriptor: int, *, folder: bool = False) -> None:
        """Gives a new file or folder the permissions of the root, and, when run as root, its owner."""
        root = self.root_status()
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, root.st_mode & (0o2777 if folder else 0o666))
        if hasattr(os, "fchown") and os.geteuid() == 0 and (root.st_uid or root.st_gid):
            os.fchown(descriptor, root.st_uid, root.st_gid)

    # -- reading ---------------------------------------------------------------------------------------------------

    def list_folder(self, path: str) -> list[str]:
        """Returns the names in a folder, in no order; a name that is no UTF-8 holds surrogate escapes."""
        if path not in self._trusted:
            self._trust(path)
        names = os.listdir(native_path(path))
        if names and isinstance(names[0], bytes):
            return [name.decode("utf-8", "surrogateescape") for name in names if isinstance(name, bytes)]
        return [name for name in names if isinstance(name, str)] if not NATIVE_IS_UTF8 else names  # type: ignore[return-value]

    def list_if_there(self, path: str) -> list[str]:
        """Returns the names in a folder that need not be there: none when it is missing."""
        try:
            return self.list_folder(path)
        except FileNotFoundError:
            return []

    def read_file(self, path: str, limit: int) -> bytes:
        """Returns the bytes of an ordinary file, at most `limit` + 1 of them, so that a caller sees an excess."""
        native = self._checked(path)
        try:
            descriptor = os.open(native, _OPEN_READ)
        except OSError as error:
            # POSIX says ELOOP for a link met with O_NOFOLLOW (FreeBSD: EMLINK); ENXIO is a socket, EISDIR Windows.
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR):
                raise NotOrdinaryError(error.errno, "no ordinary file", path) from error
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise NotOrdinaryError(errno.EINVAL, "no ordinary file", path)
            # Asking for one byte more than there are tells the end of the file by the same call.
            wanted = min(status.st_size, limit) + 1
            data = os.read(descriptor, wanted)
            return data if len(data) < wanted else data + read_up_to(descriptor, limit + 1 - len(data))
        finally:
            os.close(descriptor)

    def status(self, path: str) -> os.stat_result:
        """Returns the status of what stands at a path, of a link itself."""
        return os.lstat(self._checked(path))

    # -- writing ---------------------------------------------------------------------------------------------------

    def make_root(self) -> None:
        """Makes the root and its parents, private to the user, where they are missing."""
        if not os.path.lexists(native_path(self.root)):
            os.makedirs(native_path(self.root), mode=0o700, exist_ok=True)
            parent = os.path.dirname(self.root)
            _sync_folder(native_path(parent))

    def make_folder(self, path: str) -> None:
        """Makes a folder; one that is there already is left alone."""
        native = self._checked(path, new=True)
        try:
            os.mkdir(native, 0o700)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(native).st_mode):
                raise NotOrdinaryError(errno.ENOTDIR, "a real folder belongs here", path) from None
            return
        if hasattr(os, "O_DIRECTORY"):
            descriptor = os.open(native, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | _FLAGS)
            try:
                self._adopt(descriptor, folder=True)
            finally:
                os.close(descriptor)

    def write_new(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Writes a file that must not exist yet; on failure nothing of it is left where that can be had."""
        native = self._checked(path, new=True)
        descriptor = os.open(native, _OPEN_NEW, 0o600)
        try:
            try:
                self._adopt(descriptor)
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                if sync:
                    _sync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            os.unlink(native)
            error.filename = path  # a full disk names no file by itself
            raise

    def append(self, path: str, data: bytes) -> None:
        """Adds bytes to the end of an ordinary file and syncs it; after a failure some of them may be there."""
        descriptor = os.open(self._checked(path), os.O_WRONLY | os.O_APPEND | _OPEN_LOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotOrdinaryError(errno.EINVAL, "no ordinary file", path)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            _sync(descriptor)
        except OSError as error:
            error.filename = path
            raise
        finally:
            os.close(descriptor)

    def link(self, source: str, target: str) -> None:
        """Gives a file a second name, never replacing; `LinksUnsupportedError` where there are no links."""
        one, other = self._checked(source), self._checked(target, new=True)
        try:
            os.link(one, other)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError) as error:
            code = getattr(error, "errno", None)
            if code in _NO_LINKS or code is None or getattr(error, "winerror", None) == 1:
                raise LinksUnsupportedError(errno.EOPNOTSUPP, "no hard links here", target) from error
            raise

    def replace(self, source: str, target: str) -> None:
        """Renames over a target. Windows refuses while another program holds it open: retried for 2 s."""
        one, other = self._checked(source), self._checked(target, new=True)
        self._patiently(lambda: os.replace(one, other))
        if source in self._trusted:
            self._forget(source)

    def remove(self, path: str) -> None:
        """Removes a file."""
        native = self._checked(path)
        self._patiently(lambda: os.unlink(native))

    def remove_folder(self, path: str) -> None:
        """Removes a folder that is empty; a link to one is none."""
        native = self._checked(path)
        self._patiently(lambda: os.rmdir(native))
        self._forget(path)

    def _forget(self, folder: str) -> None:
        """Trusts a folder, and what was in it, no longer: something else may stand there next."""
        self._trusted = {each for each in self._trusted if each != folder and not each.startswith(folder + os.sep)}

    def sync_folder(self, path: str) -> None:
        """Makes the names in a folder durable; Windows offers no such call."""
        _sync_folder(self._checked(path))

    def open_lock(self, path: str, *, create: bool = True) -> int:
        """Returns a descriptor of a lock file for `file_lock`, which closes it; made where missing and wanted."""
        native = self._checked(path, new=create)
        if create:
            try:
                descriptor = os.open(native, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN_LOCK, 0o600)
            except FileExistsError:
                pass  # the everyday case: it is opened below
            else:
                self._adopt(descriptor)
                return descriptor
        try:
            try:
                descriptor = os.open(native, os.O_RDWR | _OPEN_LOCK)
            except PermissionError:
                descriptor = os.open(native, os.O_RDONLY | _OPEN_LOCK)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR):
                raise NotOrdinaryError(error.errno, "no ordinary file", path) from error
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotOrdinaryError(errno.EINVAL, "no ordinary file", path)
        return descriptor

    def writable(self, path: str) -> bool:
        """Tells whether files can be made in a folder, without making one."""
        return os.access(self._checked(path), os.W_OK | os.X_OK)

    def _patiently(self, change: Callable[[], None]) -> None:
        """Carries out a change of names, again for up to 2 s while Windows says that the file is in use."""
        deadline = self._clock.monotonic() + _REPLACE_RETRY_SECONDS
        while True:
            try:
                return change()
            except OSError as error:
                if getattr(error, "winerror", None) not in _SHARING_ERRORS or self._clock.monotonic() >= deadline:
                    raise
            self._clock.sleep(0.01)


def _sync(descriptor: int) -> None:
    """Forces a file to the disk; on macOS past the drive's own cache (fcntl(2), F_FULLFSYNC)."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
    os.fsync(descriptor)


def _sync_folder(native: str | bytes) -> None:
    """Makes the entries of a folder durable, where the system can open folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(native, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)
