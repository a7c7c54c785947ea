"""A room with a work tree beside it: the operations on path locks with the least words, and what they leave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable

from agent_chat.operations import lock_views, path_locks
from agent_chat.operations.leases import Actor
from agent_chat.operations.lock_records import StoredLock
from agent_chat.records import path_lock
from agent_chat.records.locked_path import Located
from agent_chat.records.path_lock import PathLock
from agent_chat.storage import work_tree
from agent_chat.storage.channel import Channel
from tests.operations.task_room import TaskRoom
from tests.support.cli import Crash, FaultyFiles, workspace_on
from tests.support.leases import STAMP

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.errors import ChatError
    from agent_chat.operations.lock_views import Checked
    from agent_chat.operations.path_locks import Locked

# Where a killed change stops: before it is announced, and before that is noted.
UNANNOUNCED, ANNOUNCED = 1, 2
LEGACY_ID = "b559e5d6f1794fc2989549ae47e1db2c"


class LockRoom(TaskRoom):
    """A root with one channel, and an empty work tree that is named in every call."""

    def __init__(self, base: Path, **fields: Any) -> None:
        self.tree = base / "tree"
        self.tree.mkdir(parents=True)
        (base / "root").mkdir()
        super().__init__(base / "root", **fields)

    @property
    def words(self) -> str:
        """The words by which a command finds the work tree."""
        return f" --workspace {self.tree}"

    def locate(self, text: str) -> Located:
        """Where a path lies in the work tree."""
        named = str(self.tree)
        return work_tree.find(self.workspace, option=named, variable=None, recorded=None, folder=named).locate(text)

    def lock(
        self, *paths: str, actor: str = "bob", lease: str | None = None, why: str | None = None, **who: Any
    ) -> Locked:
        """Locks paths."""
        located = [self.locate(path) for path in paths]
        channel, acting = self.reopened(), Actor(name=actor, **who)
        return path_locks.lock(channel, acting, located, lease_seconds=lease, why=why, tree_words=self.words)

    def held(self, *paths: str, **options: Any) -> str:
        """Locks paths and returns the lock's id."""
        return self.lock(*paths, **options).lock.lock_id

    def renew(self, target: str, actor: str = "bob", *, lease: str | None = None, **who: Any) -> Locked:
        """Makes a lock's lease run anew."""
        return path_locks.renew(self.reopened(), Actor(name=actor, **who), target, self.locate, lease_seconds=lease)

    def unlock(self, target: str, actor: str = "bob", **who: Any) -> Locked:
        """Gives a lock back."""
        return path_locks.unlock(self.reopened(), Actor(name=actor, **who), target, self.locate)

    def recover(
        self, target: str, actor: str = "carol", *, why: str = "it ran out", lease: str | None = None, **who: Any
    ) -> Locked:
        """Takes over a lock."""
        acting = Actor(name=actor, **who)
        return path_locks.recover(self.reopened(), acting, target, self.locate, why, lease_seconds=lease)

    def checked(self, *paths: str, actor: str | None = None) -> Checked:
        """What is in the way of paths, and warnings."""
        return lock_views.check(self.reopened(), [self.locate(path) for path in paths], actor)

    def check(self, *paths: str, actor: str | None = None) -> list[str]:
        """The ids of the locks in the way of paths."""
        return [stored.id for stored in self.checked(*paths, actor=actor).locks]

    def listed(self) -> tuple[StoredLock, ...]:
        """All locks as they are listed."""
        return lock_views.every(self.reopened()).locks

    def records(self) -> dict[str, PathLock]:
        """The locks on disk, by id."""
        files = sorted((self.folder / "locks").glob("*.json"))
        return {path.stem: path_lock.parse(path.read_bytes()) for path in files}

    def record(self, lock_id: str) -> dict[str, Any]:
        """The fields of a lock's file."""
        return dict(json.loads((self.folder / "locks" / f"{lock_id}.json").read_bytes()))

    def damage(self, lock_id: str, data: bytes) -> None:
        """Writes bytes in the place of a lock's record."""
        self.put(f"locks/{lock_id}.json", data)

    def leave_pending(self, at: int, *paths: str, actor: str = "bob") -> None:
        """Locks paths and dies before the at-th phase is noted."""
        located = [self.locate(path) for path in paths]
        self.die(at, lambda channel: path_locks.lock(channel, Actor(name=actor), located))

    def die(self, at: int, act: Callable[[Channel], object]) -> None:
        """Does something and dies before the at-th phase of its change is noted."""
        files = FaultyFiles(str(self.root), self.clock, at=at, only=("append",))
        try:
            act(Channel(workspace_on(self.root, clock=self.clock, files=files), "dev"))
        except Crash:
            return
        raise AssertionError("it did not die")


def conflicts_of(error: ChatError) -> list[dict[str, Any]]:
    """The locks that a refusal tells of."""
    conflicts = error.details["conflicts"]
    assert isinstance(conflicts, list)
    return conflicts


def legacy_lock(*paths: str, owner: str = "bob", lock_id: str = LEGACY_ID, **fields: Any) -> bytes:
    """A lock's file as agent-chat-plugin wrote it: five minutes from START; its kinds are `file`, for folders too."""
    record: dict[str, Any] = {
        "channel": "dev",
        "expires_at": "2026-01-02T03:09:05.000000+00:00",
        "lock_id": lock_id,
        "locked_at": STAMP,
        "owner": owner,
        "paths": [
            {"display_path": path, "kind": "file", "normalized_path": path.rstrip("/")} for path in paths or ("a.py",)
        ],
        "previous_expires_at": None,
        "previous_owner": None,
        "recovery_reason": None,
        "updated_at": STAMP,
    }
    return (json.dumps({**record, **fields}, indent=2) + "\n").encode()
