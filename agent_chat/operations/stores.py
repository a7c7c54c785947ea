"""The library: claims and path locks of one channel for programs that import agent_chat.

Every method fails with `agent_chat.errors.ChatError`, by the codes that the commands have.
"""

from __future__ import annotations

import os

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations import claims, lock_views, path_locks, recovery, task_records
from agent_chat.operations.leases import Actor
from agent_chat.operations.tasks import checked_id
from agent_chat.storage import filesystem, work_tree
from agent_chat.storage.channel import open_channel
from agent_chat.storage.journal import OF_LOCKS, OF_TASKS, journal_error
from agent_chat.storage.record_store import RecordStore
from agent_chat.storage.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Union

    from agent_chat.operations.path_locks import Locked
    from agent_chat.operations.tasks import Changed
    from agent_chat.records.claim import Claim
    from agent_chat.records.locked_path import Located
    from agent_chat.records.path_lock import PathLock
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.recovery import Settled

    Path = Union[str, os.PathLike[str]]


def _channel(folder: Path, code: str, workspace: Workspace | None) -> Channel:
    """Opens the channel of a folder; refuses with `code` what is none, or cannot be looked at."""
    try:
        root, name = os.path.split(filesystem.absolute(os.fspath(folder)))
        return open_channel(workspace or Workspace(root), name)
    except ChatError as error:
        if error.code in ("CHANNEL_INVALID", "CHANNEL_NOT_FOUND", "ROOT_NOT_FOUND", "ROOT_INVALID"):
            raise ChatError(
                code, f"{names.quoted(os.fspath(folder), limit=200)} is no channel: {error.message}"
            ) from error
        raise
    except OSError as error:
        fault = error.strerror or str(error)
        code = code if isinstance(error, (filesystem.NotOrdinaryError, FileNotFoundError)) else "IO_ERROR"
        raise ChatError(code, f"{names.quoted(os.fspath(folder), limit=200)} cannot be opened: {fault}") from error


class LeaseStore:
    """The claims of one channel; `workspace` replaces clock, ids and file system in tests."""

    def __init__(self, channel: Path, *, workspace: Workspace | None = None) -> None:
        """`channel` is the channel's folder; LEASE_INVALID_CHANNEL for one that is none."""
        self._folder, self._workspace = channel, workspace
        _ = self.channel

    @property
    def channel(self) -> Channel:
        """The channel, opened anew at each call: who is in it may have changed since the last."""
        return _channel(self._folder, "LEASE_INVALID_CHANNEL", self._workspace)

    def load(self, task_id: str) -> Claim | None:
        """Returns the claim on a task, None without one; TASK_NOT_FOUND for a task that is not there."""
        records = RecordStore(self.channel, OF_TASKS)
        found = task_records.the_claim(records, task_records.load_task(records, checked_id(task_id)).task)
        return found.claim if found is not None else None

    def list(self) -> dict[str, Claim]:
        """Returns the claims by task id; fails with the code of the first damaged task or claim."""
        records = RecordStore(self.channel, OF_TASKS)
        tasks, damaged = task_records.every_task(records)
        for task_id in damaged:
            task_records.load_task(records, task_id)
        found = {stored.task.id: task_records.the_claim(records, stored.task) for stored in tasks}
        return {task: stored.claim for task, stored in found.items() if stored is not None}

    def claim(
        self, task_id: str, owner: str, *, lease_seconds: float | None = None, session: str | None = None
    ) -> Changed:
        """Takes a task."""
        return claims.claim(self.channel, task_id, Actor(name=owner, session=session), _text(lease_seconds))

    def renew(
        self,
        task_id: str,
        owner: str,
        *,
        lease_seconds: float | None = None,
        session: str | None = None,
        fence: int | None = None,
    ) -> Changed:
        """Makes a lease run anew from now."""
        actor = Actor(name=owner, session=session, fence=fence)
        return claims.renew(self.channel, task_id, actor, _text(lease_seconds))

    def complete(self, task_id: str, owner: str, *, session: str | None = None, fence: int | None = None) -> Changed:
        """Marks a task as done."""
        return claims.done(self.channel, task_id, Actor(name=owner, session=session, fence=fence))

    def release(self, task_id: str, owner: str, *, session: str | None = None, fence: int | None = None) -> Changed:
        """Gives a task back."""
        return claims.release(self.channel, task_id, Actor(name=owner, session=session, fence=fence))

    def recover(
        self,
        task_id: str,
        owner: str,
        reason: str,
        *,
        lease_seconds: float | None = None,
        session: str | None = None,
        fence: int | None = None,
    ) -> Changed:
        """Takes over a task whose lease ran out."""
        actor = Actor(name=owner, session=session, fence=fence)
        return claims.recover(self.channel, task_id, actor, reason, _text(lease_seconds))

    def recover_pending(
        self, *, actor: str | None = None, publication_resolution: str | None = None, keep: bool = False
    ) -> Settled:
        """Undoes or finishes an interrupted change; `publication_resolution` is None, "rollback" or "published"."""
        return recovery.recover_pending(self.channel, OF_TASKS, actor, resolution=publication_resolution, keep=keep)


class PathLockStore:
    """The path locks of one channel; relative paths begin at the current folder, as for the commands."""

    def __init__(self, channel: Path, *, work_tree: Path | None = None, workspace: Workspace | None = None) -> None:
        """`channel` is the channel's folder; PATH_LOCK_INVALID_CHANNEL for one that is none."""
        self._folder, self._workspace = channel, workspace
        _ = self.channel
        self._named = os.fspath(work_tree) if work_tree is not None else None

    @property
    def channel(self) -> Channel:
        """The channel, opened anew at each call: who is in it may have changed since the last."""
        return _channel(self._folder, "PATH_LOCK_INVALID_CHANNEL", self._workspace)

    def locate(self, path: str) -> Located:
        """Returns where a path lies in the work tree; fails as the commands do."""
        try:
            folder = filesystem.absolute(".")
        except FileNotFoundError as error:
            raise ChatError("PATH_LOCK_INVALID_PATH", "the current folder is gone") from error
        try:
            tree = work_tree.find(
                self.channel.workspace,
                option=self._named,
                variable=None,
                recorded=self.channel.meta.workspace,
                folder=folder,
            )
            return tree.locate(path)
        except OSError as error:
            raise journal_error(self.channel, OF_LOCKS, error) from error

    def _located(self, paths: Sequence[Path]) -> Sequence[Located]:
        """Returns where paths lie; refuses one text, whose letters would be taken for paths."""
        if isinstance(paths, (str, bytes)):
            raise TypeError("paths must be a list of paths")
        return [self.locate(os.fspath(path)) for path in paths]

    def list(self) -> tuple[PathLock | None, ...]:
        """Returns all locks in the order in which they were taken; None stands for a damaged one."""
        return tuple(each.lock for each in lock_views.every(self.channel).locks)

    def check(self, paths: Sequence[Path], *, owner: str | None = None) -> tuple[PathLock | None, ...]:
        """Returns the locks in the way of some paths, those of `owner` left out; None stands for a damaged one."""
        found = lock_views.check(self.channel, self._located(paths), owner)
        return tuple(each.lock for each in found.locks)

    def lock(
        self,
        paths: Sequence[Path],
        owner: str,
        *,
        lease_seconds: float | None = None,
        session: str | None = None,
        reason: str | None = None,
    ) -> Locked:
        """Locks all paths, or none."""
        located = self._located(paths)
        actor = Actor(name=owner, session=session)
        return path_locks.lock(self.channel, actor, located, lease_seconds=_text(lease_seconds), why=reason)

    def renew(
        self,
        target: str,
        owner: str,
        *,
        lease_seconds: float | None = None,
        session: str | None = None,
        fence: int | None = None,
    ) -> Locked:
        """Makes a lock's lease run anew from now; `target` is its id or one of its paths."""
        actor = Actor(name=owner, session=session, fence=fence)
        return path_locks.renew(self.channel, actor, target, self.locate, lease_seconds=_text(lease_seconds))

    def unlock(self, target: str, owner: str, *, session: str | None = None, fence: int | None = None) -> Locked:
        """Gives a whole lock back."""
        actor = Actor(name=owner, session=session, fence=fence)
        return path_locks.unlock(self.channel, actor, target, self.locate)

    def recover(
        self,
        target: str,
        owner: str,
        reason: str,
        *,
        lease_seconds: float | None = None,
        session: str | None = None,
        fence: int | None = None,
    ) -> Locked:
        """Takes over a lock whose lease ran out."""
        actor = Actor(name=owner, session=session, fence=fence)
        seconds = _text(lease_seconds)
        return path_locks.recover(self.channel, actor, target, self.locate, reason, lease_seconds=seconds)

    def recover_pending(
        self, *, actor: str | None = None, publication_resolution: str | None = None, keep: bool = False
    ) -> Settled:
        """Undoes or finishes an interrupted change; `publication_resolution` is None, "rollback" or "published"."""
        return recovery.recover_pending(self.channel, OF_LOCKS, actor, resolution=publication_resolution, keep=keep)


def _text(seconds: float | None) -> str | None:
    return None if seconds is None else repr(seconds)
