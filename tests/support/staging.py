"""A stage: one root on which command lines run in this process, watched or disturbed at each primitive.

A call's standard output is one of its primitives. Calls on several threads each have their own.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from agent_chat.cli.main import main
from agent_chat.records.lease import Moment
from agent_chat.storage.workspace import Ids
from tests.support.disks import Disk
from tests.support.recording import Killed, RecordingFileSystem
from tests.support.workspaces import START, FakeClock, make_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.storage.workspace import Clock

FilesMaker = Callable[[str, "Clock"], RecordingFileSystem]


class Answer(NamedTuple):
    """How a call ended: its status (None: it was killed), what it wrote, its file system and its clock."""

    status: int | None
    out: str
    err: str
    files: Any
    slept: float

    @property
    def data(self) -> dict[str, Any]:
        """The JSON document that was shown; empty when none was shown whole.

        Of a stream it is the last one, with the warnings that came before it on lines of their own.
        """
        lines = [whole_document(line) for line in self.out.splitlines()]
        warnings = [text for each in lines[:-1] for text in each.get("warnings", ())]
        if len(lines) < 2 or any(set(each) > {"root", "root_from", "warnings"} for each in lines[:-1]):
            return whole_document(self.out)
        return {**lines[-1], "warnings": warnings} if all(lines) else {}

    @property
    def code(self) -> str:
        """The code of the error that was shown, of several documents in the last; empty without one."""
        error = (self.data or whole_document(self.out.strip().rpartition("\n")[2])).get("error")
        if isinstance(error, dict):
            return str(error["code"])
        return self.err.partition("agent-chat: ")[2].partition(":")[0] if "agent-chat: " in self.err else ""


def whole_document(text: str) -> dict[str, Any]:
    """Returns the JSON document that a text is; empty when it is none, or not a whole one."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


class _Screen:
    """Stands for a standard stream: each thread writes to the one that its own call has."""

    def __init__(self, name: str) -> None:
        self._name = name

    def write(self, text: str) -> None:
        """Writes to the stream of this thread's call."""
        getattr(_OWN, self._name)(text)

    def flush(self) -> None:
        """Has nothing to do."""

    def isatty(self) -> bool:
        """It is no terminal."""
        return False


_OWN = threading.local()
_OUT, _ERR = _Screen("out"), _Screen("err")


@contextlib.contextmanager
def screens() -> Iterator[None]:
    """Puts the screens in the place of the standard streams; calls on several threads need them all the while."""
    with contextlib.redirect_stdout(_OUT), contextlib.redirect_stderr(_ERR):  # type: ignore[type-var]
        yield


class StageClock(FakeClock):
    """A clock of one boot, whose boot clock is turned together with its wall clock."""

    def moment(self) -> Moment:
        """The time that the test has set, by both clocks."""
        return Moment(wall=self.now(), boot_id="the boot of the test", boot=self.now() - START + 1000)


class NumberedIds(Ids):
    """The same ids in each call that is given one of these: two such calls write the same bytes."""

    def __init__(self, first: str) -> None:
        """`first` is the leading digit, which tells these ids from those of other calls."""
        self._first = first
        self._count = itertools.count(1)

    def fresh(self) -> str:
        """Returns the next one."""
        return f"{self._first}{next(self._count):015x}"

    def secret(self, size: int) -> bytes:
        """Returns the next one, as often as it takes."""
        return (self.fresh().encode() * size)[:size]


class Stage:
    """One root, and beside it a work tree whose files can be locked."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.links = True
        self.token = ""  # of the session that ends
        self.work_tree = root + "-work"
        os.makedirs(self.work_tree, exist_ok=True)

    def put(self, disk: Disk) -> None:
        """Makes the root hold a disk."""
        disk.put(self.root, START)

    def disk(self) -> Disk:
        """Returns what the root holds."""
        return Disk.of(self.root)

    def call(
        self,
        *argv: str,
        files: FilesMaker = RecordingFileSystem,
        turned: float = 0.0,
        clock: FakeClock | None = None,
        ids: Ids | None = None,
    ) -> Answer:
        """Runs a command line with --json; `turned` seconds later than all else."""
        clock = clock or StageClock(START + turned)
        workspace = make_workspace(self.root, files=files, clock=clock, ids=ids)
        out, err = io.StringIO(), io.StringIO()
        watched = workspace.files
        assert isinstance(watched, RecordingFileSystem)
        watched.links = self.links
        outer = _OWN.__dict__.copy()  # of a call during which this one is made
        _OWN.out = lambda text: watched.show(text, out.write)
        _OWN.err = err.write
        with contextlib.nullcontext() if sys.stdout is _OUT else screens():
            try:
                variables = {"HOME": self.root, "AGENT_CHAT_WORKSPACE": self.work_tree}
                if argv[:2] == ("session", "end"):
                    variables["AGENT_CHAT_TOKEN"] = self.token
                status: int | None = main((*argv, "--json"), variables, workspace=workspace)
            except Killed:
                status = None
            finally:
                _OWN.__dict__.update(outer)
        return Answer(status, out.getvalue(), err.getvalue(), watched, sum(clock.slept))

    def must(self, *argv: str, turned: float = 0.0) -> Answer:
        """Runs a command line that has to succeed."""
        answer = self.call(*argv, turned=turned)
        assert answer.status == 0, answer
        return answer
