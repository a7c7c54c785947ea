"""Files that somebody named, anywhere on this machine: a body to post, and what messages refer to.

The part of the seam that looks outside the root, links followed, and only looks: a rule in `tests/tidy/` lists the few
functions of `os` that it may use. Whoever reads a message is not who wrote what it names, so `read_part` takes ordinary
files alone: a pipe or a device may never answer, or mind that it was opened.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

if sys.platform == "win32":
    _OPEN_ANY = _OPEN_ORDINARY = os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT
else:
    _OPEN_ANY = os.O_RDONLY | os.O_CLOEXEC
    _OPEN_ORDINARY = _OPEN_ANY | os.O_NONBLOCK | os.O_NOCTTY

NATIVE_IS_UTF8 = sys.getfilesystemencoding().lower().replace("-", "") == "utf8"
_PIECE = 1 << 20


class NotOrdinaryError(OSError):
    """A link, folder, pipe or device stands where an ordinary file (or a real folder) belongs."""


class NamedFiles:
    """Reads files by the paths that others gave."""

    def read_named(self, path: str, limit: int) -> bytes:
        """Returns the bytes of a file that the user named, anywhere, pipes included; at most `limit` + 1."""
        descriptor = _opened(path, _OPEN_ANY)
        try:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            return read_up_to(descriptor, limit + 1)
        finally:
            os.close(descriptor)

    def read_part(self, path: str, offset: int, size: int) -> tuple[bytes, os.stat_result]:
        """Returns bytes of an ordinary file from `offset` on, fewer at its end, and its status while it was open.

        What is no ordinary file is a `NotOrdinaryError`, and is not even opened.
        """
        try:
            _require_ordinary(os.stat(native_path(path)), path)
        except ValueError as error:
            raise _no_path(path) from error
        descriptor = _opened(path, _OPEN_ORDINARY)
        try:
            status = os.fstat(descriptor)
            _require_ordinary(status, path)  # it may have been another one a moment ago
            os.lseek(descriptor, offset, os.SEEK_SET)
            return read_up_to(descriptor, size), status
        except BlockingIOError as error:  # a log of the kernel is an ordinary file that may wait (proc(5), kmsg)
            raise NotOrdinaryError(errno.EINVAL, "no ordinary file", path) from error
        finally:
            os.close(descriptor)


def is_unchanged(one: os.stat_result, other: os.stat_result) -> bool:
    """Tells whether two statuses are of one file that nobody wrote to between them."""
    return all(getattr(one, name) == getattr(other, name) for name in ("st_dev", "st_ino", "st_size", "st_mtime_ns"))


def native_path(path: str) -> str | bytes:
    """Returns a path in UTF-8 whatever the locale says: file names do not depend on who runs the program."""
    if NATIVE_IS_UTF8:
        return path
    return path.encode("utf-8", "surrogateescape")


def read_up_to(descriptor: int, size: int) -> bytes:
    """Reads that many bytes, or to the end of a file."""
    parts: list[bytes] = []
    while size > 0:
        part = os.read(descriptor, min(size, _PIECE))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _opened(path: str, flags: int) -> int:
    try:
        return os.open(native_path(path), flags)
    except ValueError as error:
        raise _no_path(path) from error


def _require_ordinary(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOrdinaryError(errno.EINVAL, "no ordinary file", path)


def _no_path(path: str) -> OSError:
    """A NUL, or text that no file name can hold."""
    return OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
