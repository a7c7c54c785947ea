"""The right to change what a root holds beside its channels, and which channels it holds: one process at a time."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.storage import layout
from agent_chat.storage.channel import LOCK_SECONDS
from agent_chat.storage.file_lock import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from agent_chat.storage.workspace import Workspace


class RootLock:
    """The lock of a root, as a context; CHANNEL_BUSY when others held it all the while.

    Who also takes the lock of a channel takes it second.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = FileLock(workspace.files, layout.root_lock(workspace.root), workspace.clock)

    def __enter__(self) -> None:
        if not self._lock.acquire(LOCK_SECONDS):
            message = f"{self._lock.path} was locked{self._lock.holder()} for {LOCK_SECONDS:.0f} s"
            raise ChatError("CHANNEL_BUSY", message, where=self._workspace.where())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
