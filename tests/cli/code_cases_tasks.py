"""How each code of tasks and of claims is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tests.cli.code_case import CLAIM, CREATE, SETTLE_TASKS
from tests.cli.foreign import lease_marker

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

HELD = "claims/held.bob.json"
RENEW_HELD = ["task", "renew", "work", "held", "--as", "bob"]
RECOVER = ["task", "recover", "work", "lapsed", "--as", "carol", "--reason"]

TASKS: dict[str, Callable[[Case], Result]] = {
    "TASK_INVALID_COMMAND": lambda do: do("task", "nosuch"),
    "TASK_INVALID_ARGUMENT": lambda do: do("task", "show", "work", "x y"),
    "TASK_INVALID_CHANNEL": lambda do: do("task", "list", "../work"),
    "TASK_CHANNEL_NOT_FOUND": lambda do: do("task", "list", "wrok"),
    "TASK_NOT_FOUND": lambda do: do("task", "show", "work", "fere"),
    "TASK_ALREADY_EXISTS": lambda do: do("task", "create", "work", "FREE", "--from", "alice", "--title", "t"),
    "TASK_INVALID_STATUS": lambda do: do("task", "update", "work", "free", "--as", "bob", "--status", "doing"),
    "TASK_INVALID_UPDATE": lambda do: do("task", "update", "work", "free", "--as", "bob"),
    "TASK_INVALID_TRANSITION": lambda do: do("task", "done", "work", "free", "--as", "bob"),
    "TASK_DEPENDENCY_NOT_READY": lambda do: do("task", "claim", "work", "later", "--as", "bob"),
    "TASK_UNKNOWN_DEPENDENCY": lambda do: do(*CREATE, "--depends-on", "fere"),
    "TASK_DEPENDENCY_CYCLE": lambda do: do("task", "update", "work", "first", "--as", "bob", "--depends-on", "later"),
    "TASK_PATH_OUTSIDE_WORKSPACE": lambda do: do.with_link("tasks")(*CREATE),
    "TASK_INVALID_RECORD": lambda do: do.with_file("tasks/free.json", "{")(*CLAIM),
    "TASK_LOCK_TIMEOUT": lambda do: do.busy(*CREATE, name="work"),
    "TASK_IO_ERROR": lambda do: do.failing(*CREATE, only=("write_new",)),
    "TASK_AUDIT_FAILED": lambda do: do.failing(*CREATE, only=("link",), where="task-created"),
}

LEASES: dict[str, Callable[[Case], Result]] = {
    "LEASE_CONFLICT": lambda do: do("task", "claim", "work", "held", "--as", "carol"),
    "LEASE_RECOVERY_REQUIRED": lambda do: do("task", "claim", "work", "lapsed", "--as", "carol"),
    "LEASE_OWNER_MISMATCH": lambda do: do("task", "done", "work", "held", "--as", "carol"),
    "LEASE_NOT_EXPIRED": lambda do: do("task", "recover", "work", "held", "--as", "carol", "--reason", "r"),
    "LEASE_NOT_FOUND": lambda do: do("task", "renew", "work", "free", "--as", "bob"),
    "LEASE_INCONSISTENT": lambda do: do.with_file(
        "claims/held.carol.json", (do.work / HELD).read_text("utf-8").replace('"bob"', '"carol"')
    )(*RENEW_HELD),
    "LEASE_MUTATION_REQUIRED": lambda do: do("task", "update", "work", "held", "--as", "bob", "--status", "open"),
    "LEASE_INVALID_OWNER": lambda do: do("task", "claim", "work", "free", "--as", "b b"),
    "LEASE_INVALID_TASK_ID": lambda do: do("task", "claim", "work", "x y", "--as", "bob"),
    "LEASE_INVALID_REASON": lambda do: do(*RECOVER, " "),
    "LEASE_INVALID_DURATION": lambda do: do(*CLAIM, "--lease-seconds", "nan"),
    "LEASE_INVALID_TIMESTAMP": lambda do: do.with_edited(HELD, '"claimed_at": "20', '"claimed_at": "x20')(*RENEW_HELD),
    "LEASE_INVALID_RECORD": lambda do: do.with_file(HELD, "{")(*RENEW_HELD),
    "LEASE_REQUIRED_FIELD_MISSING": lambda do: do.with_edited(HELD, '"recovery_reason": null,', "")(*RENEW_HELD),
    "LEASE_UNKNOWN_FIELD": lambda do: do.with_edited(HELD, '"fence"', '"more": 1, "fence"')(*RENEW_HELD),
    "LEASE_RECORD_ID_MISMATCH": lambda do: do.with_renamed(HELD, "claims/held.carol.json")(*RENEW_HELD),
    "LEASE_STORAGE_INVALID": lambda do: do.without_folder("claims")(*CLAIM),
    "LEASE_PATH_OUTSIDE_WORKSPACE": lambda do: do.with_link("claims")(*CLAIM),
    "LEASE_TRANSACTION_PENDING": lambda do: do.killed(*CLAIM)(*CREATE),
    "LEASE_TRANSACTION_CLEANUP_FAILED": lambda do: do.failing(*CLAIM, only=("replace",), where="/audit/", forever=True),
    "LEASE_TRANSACTION_PUBLICATION_UNKNOWN": lambda do: do.with_file(
        "claims/.lease-transaction.json", lease_marker("work", "free", version=1, phase="applied")
    )(*SETTLE_TASKS),
    "LEASE_TRANSACTION_INVALID": lambda do: do.with_file("tasks/audit/.pending.md", "x")(*SETTLE_TASKS),
    "LEASE_TRANSACTION_NOT_FOUND": lambda do: do(*SETTLE_TASKS, "--resolve-publication", "rollback"),
    "LEASE_TRANSACTION_RECOVERY_FAILED": lambda do: do.killed(*CLAIM).failing(*SETTLE_TASKS, only=("replace",)),
    "LEASE_AUDIT_FAILED": lambda do: do.failing(*CLAIM, only=("link",), where="lease-claimed"),
    # The entry, the task and the claim are written; then the disk fails for good.
    "LEASE_AUDIT_ROLLBACK_FAILED": lambda do: do.failing(*CLAIM, only=("link", "replace"), at=4, forever=True),
}
