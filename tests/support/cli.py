"""One command line with real files as its streams; a clock that the test turns; a disk that fails or dies."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from agent_chat.cli.main import main
from agent_chat.records.lease import Moment
from agent_chat.storage import filesystem
from agent_chat.storage.workspace import Clock, Workspace
from tests.support import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[2]
START = 1767323045.0  # 2026-01-02T03:04:05Z, long before any file that a test makes
PIPE_ROOM = 1 << 15
# What a terminal may obey, and what reverses the direction of the text around it.
DANGER = frozenset(
    [*map(chr, (*range(9), *range(11, 32), *range(0x7F, 0xA0))), *"\u061c\u200e\u200f\u2028\u2029\ufeff"]
    + [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
)


class Special(NamedTuple):
    """A standard input that is no bytes."""

    kind: str


NULL, CLOSED, SILENT = Special("null"), Special("closed"), Special("silent")
Stdin = Union[bytes, Special]


class Result(NamedTuple):
    """How a command ended and what it wrote."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one document on standard output."""
        document = json.loads(self.stdout)
        assert isinstance(document, dict)
        return document

    @property
    def error(self) -> dict[str, Any]:
        """The error in the document on standard output."""
        error = self.json["error"]
        assert isinstance(error, dict)
        return error

    @property
    def code(self) -> str:
        """The code of the error on standard error, or in the document."""
        if self.stdout.startswith("{"):
            return str(self.error["code"])
        return self.stderr.partition("agent-chat: ")[2].partition(":")[0]


class FakeClock(Clock):
    """A clock that stands still until it is turned; sleeping turns it."""

    def __init__(self, now: float = START) -> None:
        self._now = now
        self.slept: list[float] = []

    def now(self) -> float:
        """The time that the test has set."""
        return self._now

    def monotonic(self) -> float:
        """The same time: it is never turned back."""
        return self._now

    def moment(self) -> Moment:
        """The time that the test has set, on a boot of its own."""
        return Moment(wall=self._now, boot_id="boot-of-the-test", boot=self._now - START)

    def sleep(self, seconds: float) -> None:
        """Turns the clock and remembers by how much."""
        self.slept.append(seconds)
        self._now += seconds

    def turn(self, seconds: float) -> None:
        """Turns the clock."""
        self._now += seconds

    def jitter(self) -> float:
        """The middle of the range, each time."""
        return 0.5


class Crash(BaseException):
    """The process dies here: nothing of ours may catch this."""


class FaultyFiles(filesystem.FileSystem):
    """The real file system, until the n-th primitive of those counted fails with an errno, or kills the process.

    `only` are the primitives that are counted, all by default; `where` is what the path must hold to be counted.
    """

    def __init__(
        self,
        root: str,
        clock: Clock | None = None,
        *,
        at: int = 0,
        code: int | None = None,
        only: Sequence[str] = (*filesystem.READING, *filesystem.WRITING),
        where: str = "",
        forever: bool = False,
    ) -> None:
        super().__init__(root, clock or Clock())
        self.calls: list[str] = []
        self.fired = False
        self._at, self._code, self._where, self._forever = at, code, where, forever
        for name in only:
            setattr(self, name, self._counted(name, getattr(self, name)))

    def _counted(self, name: str, primitive: Callable[..., Any]) -> Callable[..., Any]:
        def act(path: str, *arguments: Any, **options: Any) -> Any:
            target = arguments[0] if name in ("link", "replace") else path
            if self._where not in target:
                return primitive(path, *arguments, **options)
            self.calls.append(f"{name} {os.path.basename(target)}")
            if self._at and (len(self.calls) == self._at or (self._forever and len(self.calls) > self._at)):
                self.fired = True
                if self._code is None:
                    raise Crash(self.calls[-1])
                raise OSError(self._code, os.strerror(self._code), target)
            return primitive(path, *arguments, **options)

        return act


class ArrivalFiles(filesystem.FileSystem):
    """The real file system, on which a file came to its name when it was last written, so that a test can say when."""

    def status(self, path: str) -> os.stat_result:
        """The status with the time of the last writing as that of the last change."""
        real = super().status(path)
        times = {name: getattr(real, name) for name in ("st_atime", "st_mtime", "st_atime_ns", "st_mtime_ns")}
        return os.stat_result(real[:10], {**times, "st_ctime": real.st_mtime, "st_ctime_ns": real.st_mtime_ns})


LATER = 4102444800.0  # 2100-01-01, after every cursor that a test writes


def workspace_on(root: Path, *, clock: Clock | None = None, files: filesystem.FileSystem | None = None) -> Workspace:
    """The workspace of a root, with a clock that stands still unless another is given."""
    return Workspace(str(root), root_from="variable", clock=clock or FakeClock(), files=files)


def failing(root: Path, code: int = errno.EIO, **options: Any) -> Workspace:
    """A workspace whose disk fails: see FaultyFiles."""
    clock = FakeClock()
    return workspace_on(root, clock=clock, files=FaultyFiles(str(root), clock, code=code, **options))


def run(
    argv: Sequence[str],
    root: Path | None = None,
    *,
    stdin: Stdin = NULL,
    environment: Mapping[str, str] | None = None,
    workspace: Workspace | None = None,
    stdout_closed: bool = False,
) -> Result:
    """Runs a command in this process; `root` becomes AGENT_CHAT_ROOT, standard input is the null device."""
    variables = {**({"AGENT_CHAT_ROOT": str(root)} if root is not None else {}), **(environment or {})}
    before = sys.stdin, sys.stdout, sys.stderr
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, stdin_of(stdin) as source:
        try:
            sys.stdin = source
            streams = [io.TextIOWrapper(file, encoding="ascii") for file in (out, err)]
            sys.stdout, sys.stderr = None if stdout_closed else streams[0], streams[1]
            status = main(argv, variables, workspace=workspace)
            texts = [_written(out), _written(err)]
        finally:
            for stream in streams:
                stream.detach()
            sys.stdin, sys.stdout, sys.stderr = before
    return Result(status, texts[0].decode("utf-8"), texts[1].decode("utf-8"))


def _written(file: Any) -> bytes:
    file.seek(0)
    return bytes(file.read())


@contextlib.contextmanager
def stdin_of(what: Stdin) -> Iterator[Any]:
    """A standard input as the interpreter would make it: a text stream on a real descriptor, or none."""
    if what == CLOSED:
        yield None
    elif what == NULL:
        with open(os.devnull, encoding="ascii") as stream:
            yield stream
    elif isinstance(what, bytes) and len(what) > PIPE_ROOM:
        with tempfile.TemporaryFile() as file:
            file.write(what)
            file.seek(0)
            yield io.TextIOWrapper(file, encoding="ascii")
    else:
        reading, writing = os.pipe()
        with open(reading, encoding="ascii") as stream:
            if isinstance(what, bytes):
                os.write(writing, what)
                os.close(writing)
                yield stream
            else:
                try:
                    yield stream
                finally:
                    os.close(writing)


def run_process(
    argv: Sequence[str | bytes],
    root: Path,
    *,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> Result:
    """Runs a command as a process of its own, with nothing of the caller's environment but the search path."""
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root.parent),
        "PYTHONPATH": str(REPOSITORY),
        "AGENT_CHAT_ROOT": str(root),
        **(environment or {}),
    }
    with verdicts.judged_files(root):
        done = subprocess.run(
            [sys.executable, "-m", "agent_chat", *argv],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=variables,
            timeout=timeout,
            check=False,
        )
    verdicts.judge_words(argv, done.returncode, done.stdout)
    return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def message_file(seq: int, sender: str = "alice", title: str = "by hand", body: str = "text\n", **fields: str) -> bytes:
    """A message file as a person would write it; a field's text stands after its key as it is."""
    more = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"---\nseq: {seq}\nfrom: {sender}\ntitle: '{title}'\n{more}---\n{body}".encode()


def plant(path: Path, data: bytes | str = b"", *, at: float = START - 3600) -> Path:
    """Writes a file as another program would, with a time of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    os.utime(path, (at, at))
    return path


def tree_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every path below a folder with its mode and bytes."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }
