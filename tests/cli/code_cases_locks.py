"""How each code of path locks is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tests.cli.code_case import HELD_LOCK, LAPSED_LOCK, LOCK, SETTLE_LOCKS

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

ANY = "locks/*.json"
ID = "0123456789abcdef"
UNLOCK = ["unlock", "work", HELD_LOCK, "--as", "bob"]
PENDING = "locks/audit/.pending.md"

LOCKS: dict[str, Callable[[Case], Result]] = {
    "PATH_LOCK_INVALID_PATH": lambda do: do("lock", "work", "", "--as", "bob"),
    "PATH_LOCK_PATH_OUTSIDE_WORKSPACE": lambda do: do("check", "work", "../x"),
    "PATH_LOCK_CONFLICT": lambda do: do("lock", "work", "free.py", HELD_LOCK, "--as", "carol"),
    "PATH_LOCK_RECOVERY_REQUIRED": lambda do: do("lock", "work", LAPSED_LOCK, "--as", "carol"),
    "PATH_LOCK_OWNER_MISMATCH": lambda do: do("unlock", "work", HELD_LOCK, "--as", "carol"),
    "PATH_LOCK_NOT_FOUND": lambda do: do("unlock", "work", "src", "--as", "bob"),
    "PATH_LOCK_NOT_STALE": lambda do: do("recover", "work", HELD_LOCK, "--as", "carol", "--reason", "r"),
    "PATH_LOCK_INVALID_OWNER": lambda do: do("lock", "work", "a.py", "--as", "b b"),
    "PATH_LOCK_INVALID_LOCK_ID": lambda do: do.with_lock(f"{ID}.json")("unlock", "work", ID, "--as", "bob"),
    "PATH_LOCK_INVALID_CHANNEL": lambda do: do("locks", "../work"),
    "PATH_LOCK_INVALID_REASON": lambda do: do(*LOCK, "--reason", ""),
    "PATH_LOCK_INVALID_DURATION": lambda do: do(*LOCK, "--lease-seconds", "0"),
    "PATH_LOCK_INVALID_TIMESTAMP": lambda do: do.with_lock(old='"locked_at": "20', new='"locked_at": "x20')(*UNLOCK),
    "PATH_LOCK_INVALID_RECORD": lambda do: do.with_lock(old='"owner": "', new='"owner": "b ')(*UNLOCK),
    "PATH_LOCK_STORAGE_INVALID": lambda do: do.without_folder("locks")(*LOCK),
    "PATH_LOCK_STORAGE_ERROR": lambda do: do.failing(*LOCK, only=("write_new",)),
    "PATH_LOCK_TIMEOUT": lambda do: do.busy(*LOCK, name="work"),
    "PATH_LOCK_TRANSACTION_PENDING": lambda do: do.killed(*LOCK)(*UNLOCK),
    "PATH_LOCK_TRANSACTION_CLEANUP_FAILED": lambda do: do.failing(
        *LOCK, only=("replace",), where="/audit/", forever=True
    ),
    "PATH_LOCK_TRANSACTION_INVALID": lambda do: do.with_file(PENDING, "x")(*SETTLE_LOCKS),
    "PATH_LOCK_AUDIT_FAILED": lambda do: do.failing(*LOCK, only=("link",), where="path-locked"),
    # The entry and the lock are written; then the disk fails for good.
    "PATH_LOCK_AUDIT_ROLLBACK_FAILED": lambda do: do.failing(*LOCK, only=("link", "remove"), at=3, forever=True),
}
