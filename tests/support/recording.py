"""File systems that log each primitive, and those that fail, die, or let something else happen at the n-th of them.

Syncs are logged and not carried out: what a power loss would leave is worked out from the log (`disks`). A file carries
the time of the test's clock, and counts as changed when it was last written, so that a test can set that time too.
Standard output takes part as the primitive "print": a full disk or a kill meets it like any other.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from agent_chat.storage.filesystem import (
    READING,
    WRITING,
    FileSystem,
    LinksUnsupportedError,
    NotOrdinaryError,
    is_file,
)
from tests.support import watched

if TYPE_CHECKING:
    from agent_chat.storage.workspace import Clock

T = TypeVar("T")

PRINT = "print"
ROOT_PRIMITIVES = ("root_status", "make_root")
PRIMITIVES = (*READING, *WRITING, *ROOT_PRIMITIVES)
CHANGES = (*WRITING, "make_root")
BEFORE, EMPTY, HALF, AFTER = "before", "empty", "half-way in", "after"
WHENS = (BEFORE, EMPTY, HALF, AFTER)


class Step(NamedTuple):
    """One primitive that was called; `failed` when it raised, and so changed nothing."""

    name: str
    args: tuple[Any, ...] = ()
    failed: bool = False

    def __str__(self) -> str:
        paths = [os.path.basename(arg) for arg in self.args if isinstance(arg, str)]
        return f"{self.name} {' '.join(paths[:2])}" if self.name != PRINT else PRINT


class RecordingFileSystem(FileSystem):
    """The real file system with a log; subclasses override `around` to meddle with a step."""

    def __init__(self, root: str, clock: Clock) -> None:
        super().__init__(root, clock)
        self.clock = clock
        self.links = True  # False: as on a file system that has none
        self.is_cut = False  # whether what is written last was cut by a death: no record of the program's
        self.log: list[Step] = []
        self._inside = False

    @property
    def count(self) -> int:
        """How many primitives were called up to now, the current one included."""
        return len(self.log)

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        """Carries out a step; `part` does a share of it, where a step is not one stroke."""
        return act()

    def _do(
        self, name: str, args: tuple[Any, ...], act: Callable[[], T], part: Callable[[float], None] | None = None
    ) -> T:
        if self._inside:  # one primitive asks for another, such as the modes of the root: that is one step
            return act()
        step = Step(name, args)
        place = len(self.log)
        self.log.append(step)
        try:
            return self.around(step, lambda: self._alone(act), part)
        except BaseException:
            self.log[place] = step._replace(failed=True)
            raise

    def _alone(self, act: Callable[[], T]) -> T:
        self._inside = True
        try:
            return act()
        finally:
            self._inside = False

    def show(self, text: str, sink: Callable[[str], object]) -> None:
        """Writes to the standard output of the call that this file system belongs to."""

        def write(share: float) -> None:
            sink(text[: int(len(text) * share)])

        self._do(PRINT, (text,), lambda: write(1.0), write)

    def list_folder(self, path: str) -> list[str]:
        return self._do("list_folder", (path,), lambda: FileSystem.list_folder(self, path))

    def read_file(self, path: str, limit: int) -> bytes:
        return self._do("read_file", (path, limit), lambda: FileSystem.read_file(self, path, limit))

    def status(self, path: str) -> os.stat_result:
        return self._do("status", (path,), lambda: _changed_when_written(FileSystem.status(self, path)))

    def read_named(self, path: str, limit: int) -> bytes:
        return self._do("read_named", (path, limit), lambda: FileSystem.read_named(self, path, limit))

    def read_part(self, path: str, offset: int, size: int) -> tuple[bytes, os.stat_result]:
        return self._do("read_part", (path, offset, size), lambda: FileSystem.read_part(self, path, offset, size))

    def root_status(self) -> os.stat_result:
        return self._do("root_status", (self.root,), lambda: FileSystem.root_status(self))

    def make_root(self) -> None:
        self._do("make_root", (self.root,), lambda: FileSystem.make_root(self))

    def make_folder(self, path: str) -> None:
        self._do("make_folder", (path,), lambda: FileSystem.make_folder(self, path))

    def write_new(self, path: str, data: bytes, *, sync: bool = True) -> None:
        def write(share: float = 1.0) -> None:
            self.is_cut = share < 1.0
            FileSystem.write_new(self, path, data[: int(len(data) * share)], sync=False)
            os.utime(path, (self.clock.now(), self.clock.now()))

        self._do("write_new", (path, data, sync), write, write)

    def append(self, path: str, data: bytes) -> None:
        def write(share: float = 1.0) -> None:
            _require_file(FileSystem.status(self, path), path)
            with open(path, "ab") as stream:
                stream.write(data[: int(len(data) * share)])
            os.utime(path, (self.clock.now(), self.clock.now()))
            if share == 1.0:
                watched.appended(self, path, data)

        self._do("append", (path, data), write, write)

    def link(self, source: str, target: str) -> None:
        def make() -> None:
            if not self.links:
                raise LinksUnsupportedError(errno.EOPNOTSUPP, "no hard links here", target)
            FileSystem.link(self, source, target)

        self._do("link", (source, target), make)

    def replace(self, source: str, target: str) -> None:
        self._do("replace", (source, target), lambda: FileSystem.replace(self, source, target))

    def remove(self, path: str) -> None:
        self._do("remove", (path,), lambda: FileSystem.remove(self, path))

    def remove_folder(self, path: str) -> None:
        self._do("remove_folder", (path,), lambda: FileSystem.remove_folder(self, path))

    def sync_folder(self, path: str) -> None:
        self._do("sync_folder", (path,), lambda: _require_folder(FileSystem.status(self, path), path))

    def open_lock(self, path: str, *, create: bool = True) -> int:
        return self._do("open_lock", (path, create), lambda: FileSystem.open_lock(self, path, create=create))


def _changed_when_written(status: os.stat_result) -> os.stat_result:
    """A status whose time of change is that of the last writing, which can be set; the kernel's own cannot."""
    return os.stat_result((*tuple(status)[:9], int(status.st_mtime)), _times(status))


def _times(status: os.stat_result) -> dict[str, float]:
    return {
        "st_atime": status.st_atime,
        "st_mtime": status.st_mtime,
        "st_ctime": status.st_mtime,
        "st_atime_ns": status.st_atime_ns,
        "st_mtime_ns": status.st_mtime_ns,
        "st_ctime_ns": status.st_mtime_ns,
    }


def _require_folder(status: os.stat_result, path: str) -> None:
    if not status.st_mode & 0o040000:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def _require_file(status: os.stat_result, path: str) -> None:
    if not is_file(status):
        raise NotOrdinaryError(errno.EINVAL, "no ordinary file", path)


class FailingFileSystem(RecordingFileSystem):
    """Its n-th primitive fails with an errno and does nothing; with `for_good` every change after it fails too."""

    def __init__(self, root: str, clock: Clock, *, n: int, code: int, for_good: bool = False) -> None:
        super().__init__(root, clock)
        self._n, self._code, self._for_good = n, code, for_good
        self.failed: list[Step] = []

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if self.count == self._n or (self._for_good and self.count > self._n and step.name in CHANGES):
            self.failed.append(step)
            path = next((arg for arg in reversed(step.args) if isinstance(arg, str)), None)
            raise OSError(self._code, os.strerror(self._code), None if step.name == PRINT else path)
        return act()


class Killed(BaseException):
    """The process dies here; what is raised by a death no handler of errors may stop."""


class KillingFileSystem(RecordingFileSystem):
    """Dies before, after or, where a step has parts, half-way in its n-th primitive, and does nothing from then on."""

    def __init__(self, root: str, clock: Clock, *, n: int, when: str) -> None:
        super().__init__(root, clock)
        self._n, self._when = n, when
        self.killed: Step | None = None

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if self.killed is not None:
            raise Killed
        if self.count != self._n or (part is None and self._when in (EMPTY, HALF)):
            return act()
        self.killed = step
        if self._when == AFTER:
            try:
                act()
            finally:
                self.die(step)
        elif self._when != BEFORE and part is not None:
            share = 0.5 if self._when == HALF else 0.0
            self._alone(lambda: part(share))
        self.die(step)
        raise Killed

    def die(self, step: Step) -> None:
        """Ends the process."""
        raise Killed


class InterruptingFileSystem(RecordingFileSystem):
    """Somebody presses Ctrl-C before, half-way in or after its n-th primitive; the process goes on as it likes."""

    def __init__(self, root: str, clock: Clock, *, n: int, when: str) -> None:
        super().__init__(root, clock)
        self._n, self._when = n, when
        self.interrupted: Step | None = None

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if self.count != self._n or (part is None and self._when in (EMPTY, HALF)):
            return act()
        self.interrupted = step
        if self._when == AFTER:
            with contextlib.suppress(OSError):
                left = act()
                if step.name == "open_lock" and isinstance(left, int):
                    os.close(left)  # what nobody was given, the interpreter's end gives back
        elif self._when != BEFORE and part is not None:
            share = 0.5 if self._when == HALF else 0.0
            self._alone(lambda: part(share))
        raise KeyboardInterrupt


class InterveningFileSystem(RecordingFileSystem):
    """Lets something happen, once, before its n-th primitive: what another process may do at that moment."""

    def __init__(self, root: str, clock: Clock, *, n: int, act: Callable[[Step], object]) -> None:
        super().__init__(root, clock)
        self._n, self._act = n, act
        self.intervened = False

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if self.count == self._n:
            self.intervened = True
            self._act(step)
        return act()
