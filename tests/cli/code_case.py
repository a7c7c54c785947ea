"""A root to make mistakes in, for tests/cli/test_error_codes.py and its tables of cases."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Any

from agent_chat.cli import standard_input
from agent_chat.storage import channel, file_lock
from agent_chat.storage.file_lock import FileLock
from tests.cli import leasing
from tests.support.cli import (
    SILENT,
    FakeClock,
    FaultyFiles,
    Result,
    message_file,
    plant,
    run,
    tree_of,
    workspace_on,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

POST = ["post", "dev", "--from", "alice", "--title", "t"]
CREATE = ["task", "create", "work", "new", "--from", "alice", "--title", "t"]
CLAIM = ["task", "claim", "work", "free", "--as", "bob"]
LOCK = ["lock", "work", "new.py", "--as", "bob"]
SETTLE_TASKS = ["task", "recover-pending", "work", "--as", "bob"]
SETTLE_LOCKS = ["recover-pending", "work", "--as", "bob"]
HELD_LOCK, LAPSED_LOCK = "src/held.py", "src/lapsed.py"


def make_root(root: Path) -> None:
    """Makes an open channel with messages and markers, a closed one, damaged ones, and one with tasks and locks."""
    folder = root / "dev"
    run(["init", "dev"], root)
    run(["init", "ops", "--members", "alice,bob"], root)
    run([*POST, "--key", "k", "--topic", "api"], root)
    plant(folder / "0002-alice-a.md", message_file(2))
    plant(folder / "0002-bob-b.md", message_file(2, "bob"))
    plant(folder / "0003-alice-c.md", b"no header")
    plant(folder / "task-1.md")
    plant(folder / "task-2.CLAIMED-bob.md")
    plant(folder / ".cursors" / "carol.txt", "x")
    plant(root / "new" / "_meta.json", '{"schema_version": 2}')
    plant(root / "bad" / "_meta.json", "{")
    (root / "odd").mkdir()
    (root / "odd" / "_meta.json").symlink_to("../dev/_meta.json")
    (root / "link").symlink_to("dev")
    plant(root / "file")
    _make_work(root)


def _make_work(root: Path) -> None:
    """Makes the channel `work`: bob holds a task and a lock, and one of each whose lease ran out."""
    variables = leasing.tree_beside(root)
    run(["init", "work"], root)
    create = ("task", "create", "work")
    for words in (("free",), ("first",), ("later", "--depends-on", "first"), ("held",), ("lapsed",)):
        run([*create, *words, "--from", "alice", "--title", "t"], root)
    run(["task", "claim", "work", "held", "--as", "bob"], root)
    run(["lock", "work", HELD_LOCK, "--as", "bob"], root, environment=variables)
    leasing.call(root, "task", "claim", "work", "lapsed", "--as", "bob")
    leasing.call(root, "lock", "work", LAPSED_LOCK, "--as", "bob")


class Case:
    """A copy of that root, and ways to meet an error in it; `before` is what is there before the call that meets it."""

    def __init__(self, made: Path, root: Path, patch: pytest.MonkeyPatch, form: list[str]) -> None:
        shutil.copytree(made, root, symlinks=True)
        self.root, self.patch, self.form = root, patch, form
        self.work = root / "work"
        self.variables = leasing.tree_beside(root)
        for lock in (self.work / "locks").glob("*.json"):
            # The work tree beside the root was copied along.
            text = lock.read_text("utf-8")
            plant(lock, text.replace(str(made.parent / "tree"), self.variables["AGENT_CHAT_WORKSPACE"]))
        self.before = tree_of(root)

    def __call__(self, *argv: str, **options: Any) -> Result:
        return run([*argv, *self.form], self.root, environment=self.variables, **options)

    def failing(self, *argv: str, **faults: Any) -> Result:
        clock = FakeClock()
        faults.setdefault("code", errno.EIO)
        files = FaultyFiles(str(self.root), clock, **{"at": 1, **faults})
        return self(*argv, workspace=workspace_on(self.root, clock=clock, files=files))

    def busy(self, *argv: str, name: str = "dev") -> Result:
        clock = FakeClock()
        workspace = workspace_on(self.root, clock=clock)
        lock = FileLock(workspace.files, str(self.root / name / ".lock"), clock)
        assert lock.acquire(0)
        try:
            result = self(*argv, workspace=workspace)
        finally:
            lock.release()
        assert sum(clock.slept) >= channel.LOCK_SECONDS
        return result

    def without_locks(self) -> Result:
        def lock(descriptor: int, *, shared: bool) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        self.patch.setattr(file_lock, "_lock", lock)
        return self(*POST)

    def silent(self) -> Result:
        self.patch.setattr(standard_input, "SILENT_SECONDS", 0.01)
        return self(*POST, stdin=SILENT)

    # -- states that are made first -----------------------------------------------------------------------------------

    def with_token(self, token: str) -> Case:
        """The same root for somebody whose environment holds a token."""
        return self.with_variable("AGENT_CHAT_TOKEN", token)

    def settled_with_token(self, token: str) -> Case:
        """The same root, as it is now, for somebody whose environment holds a token."""
        return self.with_token(token)._settled()

    def with_variable(self, name: str, value: str) -> Case:
        """The same root for somebody whose environment holds a variable."""
        self.variables[name] = value
        return self

    def with_file(self, name: str, data: bytes | str) -> Case:
        """The same root in which a file of `work` holds something else."""
        plant(self.work / name, data)
        return self._settled()

    def with_root_file(self, name: str, data: bytes | str) -> Case:
        """The same root with a file of its own."""
        plant(self.root / name, data)
        return self._settled()

    def with_edited(self, name: str, old: str, new: str) -> Case:
        """The same root in which a text in a file of `work` is another one."""
        (path,) = self.work.glob(name)
        text = path.read_text("utf-8")
        assert old in text, text
        return self.with_file(str(path.relative_to(self.work)), text.replace(old, new))

    def with_renamed(self, name: str, new: str) -> Case:
        """The same root in which a file of `work` has another name."""
        (path,) = self.work.glob(name)
        path.rename(self.work / new)
        return self._settled()

    def with_lock(self, name: str = "", *, old: str = "", new: str = "") -> Case:
        """The same root in which the file of the lock that bob holds has another name, or holds another text."""
        path = next(path for path in self.work.glob("locks/*.json") if HELD_LOCK in path.read_text("utf-8"))
        text = path.read_text("utf-8")
        assert old in text, text
        path.unlink()
        return self.with_file(f"locks/{name or path.name}", text.replace(old, new) if old else text)

    def with_link(self, folder: str) -> Case:
        """The same root in which a folder of `work` is a link that leads out of it."""
        (self.work / folder).rename(self.root / "elsewhere")
        (self.work / folder).symlink_to("../elsewhere")
        return self._settled()

    def without_folder(self, folder: str) -> Case:
        """The same root in which a folder of `work` is a file."""
        shutil.rmtree(self.work / folder)
        return self.with_file(folder, "")

    def killed(self, *argv: str) -> Case:
        """The same root in which a call was killed before it announced what it did."""
        leasing.killed(self.root, leasing.UNANNOUNCED, *argv)
        return self._settled()

    def _settled(self) -> Case:
        self.before = tree_of(self.root)
        return self
