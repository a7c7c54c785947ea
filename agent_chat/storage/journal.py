"""The two journals of a channel: where their entries lie, which records they may change, and their error codes."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.records.value import Value
from agent_chat.storage.filesystem import NotOrdinaryError, is_link, path_of
from agent_chat.storage.layout import AUDIT_FOLDER, PENDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel

CLAIMS = "claims"
TASKS = "tasks"
LOCKS = "locks"
# By the folder of a record, the code of one that is damaged.
DAMAGED_CODES = {TASKS: "TASK_INVALID_RECORD", CLAIMS: "LEASE_INVALID_RECORD", LOCKS: "PATH_LOCK_INVALID_RECORD"}


class Journal(Value):
    """One journal. `folders` are those whose records it may change, `foreign` is another program's pending marker.

    The codes are those of the errors that its commands end in.
    """

    name: str
    folders: tuple[str, ...]
    foreign: str
    recovery: str
    kept_status: str
    busy: str
    io_error: str
    pending: str
    invalid: str
    not_found: str
    recovery_failed: str
    rollback_failed: str
    cleanup_failed: str
    outside: str

    @property
    def audit(self) -> str:
        """The folder of its entries, below the channel's."""
        return f"{self.name}/{AUDIT_FOLDER}"

    @property
    def entry(self) -> str:
        """The file of the entry that is open."""
        return f"{self.audit}/{PENDING}"

    def may_change(self, path: str) -> bool:
        """Tells whether a path, below the channel's folder, is that of a record of this journal."""
        return path.rpartition("/")[0] in self.folders and path.endswith(".json")


OF_TASKS = Journal(
    name=TASKS,
    folders=(TASKS, CLAIMS),
    foreign="claims/.lease-transaction.json",
    recovery="task recover-pending",
    kept_status="task.recovery.kept",
    busy="TASK_LOCK_TIMEOUT",
    io_error="TASK_IO_ERROR",
    pending="LEASE_TRANSACTION_PENDING",
    invalid="LEASE_TRANSACTION_INVALID",
    not_found="LEASE_TRANSACTION_NOT_FOUND",
    recovery_failed="LEASE_TRANSACTION_RECOVERY_FAILED",
    rollback_failed="LEASE_AUDIT_ROLLBACK_FAILED",
    cleanup_failed="LEASE_TRANSACTION_CLEANUP_FAILED",
    outside="TASK_PATH_OUTSIDE_WORKSPACE",
)
OF_LOCKS = Journal(
    name=LOCKS,
    folders=(LOCKS,),
    foreign="locks/.path-lock-transaction.json",
    recovery="recover-pending",
    kept_status="path.recovery.kept",
    busy="PATH_LOCK_TIMEOUT",
    io_error="PATH_LOCK_STORAGE_ERROR",
    pending="PATH_LOCK_TRANSACTION_PENDING",
    invalid="PATH_LOCK_TRANSACTION_INVALID",
    not_found="PATH_LOCK_NOT_FOUND",
    recovery_failed="PATH_LOCK_AUDIT_ROLLBACK_FAILED",
    rollback_failed="PATH_LOCK_AUDIT_ROLLBACK_FAILED",
    cleanup_failed="PATH_LOCK_TRANSACTION_CLEANUP_FAILED",
    outside="PATH_LOCK_STORAGE_INVALID",
)
JOURNALS = (OF_TASKS, OF_LOCKS)


def journal_error(channel: Channel, journal: Journal, error: OSError) -> ChatError:
    """Returns the error that a failed file operation is to who works with a journal's records."""
    path = path_of(error) or channel.layout.folder
    reason = error.strerror or str(error)
    if not isinstance(error, NotOrdinaryError):
        return ChatError(journal.io_error, f"{reason}: {path}", path=path, where=channel.where())
    if path == channel.layout.record(CLAIMS):
        linked = is_link(channel.workspace.files.status(path))
        code = "LEASE_PATH_OUTSIDE_WORKSPACE" if linked else "LEASE_STORAGE_INVALID"
    else:
        folders = (journal.name, journal.audit, *journal.folders)
        ours = path in [channel.layout.record(folder) for folder in folders]
        code = journal.outside if ours else "PATH_REFUSED"
    return ChatError(code, f"{reason}: {path}", path=path, where=channel.where())
