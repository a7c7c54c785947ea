"""The kernel's advisory lock on a file: it dies with its process, so nothing can leave it behind.

`flock` on POSIX, a byte range on Windows. The lock file is never deleted by us; should somebody delete it, the check
after acquiring notices that the locked file is no longer the one on disk, and takes the lock again on the new one.
"""

from __future__ import annotations

import errno
import os
import sys

from agent_chat.errors import ChatError
from agent_chat.storage.filesystem import FileSystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Waits(Protocol):
        """What waiting for a lock needs of a clock."""

        def monotonic(self) -> float: ...
        def sleep(self, seconds: float) -> None: ...
        def jitter(self) -> float: ...


_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.02

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, *, shared: bool) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, *, shared: bool) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class FileLock:
    """A lock on one file; used as `if lock.acquire(10): try: … finally: lock.release()`."""

    def __init__(self, files: FileSystem, path: str, clock: Waits) -> None:
        self.path = path
        self._files = files
        self._clock = clock
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self, timeout: float, *, shared: bool = False, create: bool = True) -> bool:
        """Takes the lock within `timeout` seconds; False when others held it all the while.

        Fails with CHANNEL_LOCK_UNAVAILABLE where the file system has no locks: going on without would be worse.
        """
        assert self._descriptor is None
        deadline = self._clock.monotonic() + timeout
        pause = _FIRST_PAUSE
        while True:
            descriptor = self._files.open_lock(self.path, create=create)
            try:
                if self._try(descriptor, shared=shared):
                    self._descriptor = descriptor
                    return True
            finally:
                if self._descriptor is None:
                    os.close(descriptor)
            left = deadline - self._clock.monotonic()
            if left <= 0:
                return False
            self._clock.sleep(min(left, pause * (0.5 + self._clock.jitter())))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def release(self) -> None:
        """Gives the lock back."""
        descriptor, self._descriptor = self._descriptor, None
        assert descriptor is not None
        try:
            _unlock(descriptor)
        finally:
            os.close(descriptor)

    def is_held_alone(self) -> bool:
        """Whether somebody holds it without sharing it; where no lock can be shared (Windows) that is never told."""
        if sys.platform == "win32" or not self.acquire(0, shared=True, create=False):
            return sys.platform != "win32"
        self.release()
        return False

    def holder(self) -> str:
        """Returns " by process N" where the system tells who holds the lock (Linux: /proc/locks), else ""."""
        try:
            inode = self._files.status(self.path).st_ino
            with open("/proc/locks", encoding="ascii") as table:
                for line in table:
                    words = line.split()
                    # proc(5): N: FLOCK ADVISORY WRITE <pid> <major>:<minor>:<inode> <start> <end>
                    if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(inode):
                        return f" by process {words[4]}"
        except (OSError, ValueError):
            return ""  # it is only a courtesy of the error message
        return ""

    def _try(self, descriptor: int, *, shared: bool) -> bool:
        """Tries once; True when the lock is held on the file that is on disk now."""
        try:
            _lock(descriptor, shared=shared)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise ChatError(
                "CHANNEL_LOCK_UNAVAILABLE",
                f"{self.path} cannot be locked: {error.strerror}",
                path=self.path,
            ) from error
        return self._is_the_file(descriptor)

    def is_on_disk(self) -> bool:
        """Tells whether the locked file is still the one on disk: after a deletion another process may hold the new."""
        assert self._descriptor is not None
        return self._is_the_file(self._descriptor)

    def _is_the_file(self, descriptor: int) -> bool:
        try:
            mine, there = os.fstat(descriptor), self._files.status(self.path)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)
