"""Tasks, claims, locks and pending markers as agent-chat-plugin 0.7 writes them."""

from __future__ import annotations

import base64
import json
from typing import Any

TRANSACTION = "231f6a5ac66849f79cdab136ccbdd919"
LOCK_ID = "b559e5d6f1794fc2989549ae47e1db2c"
AT, UNTIL = "2025-05-06T07:49:12.000000+00:00", "2025-05-06T07:54:12.000000+00:00"


def text_of(fields: dict[str, Any]) -> str:
    """A record as it stands in that program's files."""
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def task(channel: str, name: str, *, owner: str | None = None, **fields: Any) -> str:
    """A task's record; with an owner it is claimed."""
    held = {"status": "in_progress" if owner else "open", "owner": owner, "lease_expires_at": UNTIL if owner else None}
    return text_of(
        {
            "id": name,
            "channel": channel,
            "title": "t",
            "status": held["status"],
            "owner": owner,
            "created_by": "alice",
            "depends_on": [],
            "files_hint": [],
            "acceptance": [],
            "lease_expires_at": held["lease_expires_at"],
            "branch": None,
            "updated_at": AT,
            **fields,
        }
    )


def claim(channel: str, name: str, owner: str = "bob") -> str:
    """A claim's record."""
    return text_of(
        {
            "task_id": name,
            "channel": channel,
            "owner": owner,
            "lease_expires_at": UNTIL,
            "claimed_at": AT,
            "updated_at": AT,
            "previous_owner": None,
            "previous_lease_expires_at": None,
            "recovery_reason": None,
        }
    )


def lock(channel: str, *paths: str, owner: str = "bob", lock_id: str = LOCK_ID) -> str:
    """A path lock's record; its kinds are what that program writes, also for folders."""
    return text_of(
        {
            "channel": channel,
            "expires_at": UNTIL,
            "lock_id": lock_id,
            "locked_at": AT,
            "owner": owner,
            "paths": [{"display_path": path, "kind": "file", "normalized_path": path.rstrip("/")} for path in paths],
            "previous_expires_at": None,
            "previous_owner": None,
            "recovery_reason": None,
            "updated_at": AT,
        }
    )


def _packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def lease_marker(channel: str, name: str, *, version: int = 2, phase: str, before: str | None = None) -> str:
    """The marker of a claim of a task by bob that was killed in a phase."""
    marker: dict[str, Any] = {
        "claim_changes": [{"file": f"{name}.bob.json", "next": _packed(claim(channel, name)), "previous": None}],
        "details": {"lease_expires_at": UNTIL, "lease_owner": "bob"},
        "event": "lease.claimed",
        "phase": phase,
        "task_after": _packed(task(channel, name, owner="bob")),
        "task_before": _packed(before if before is not None else task(channel, name)),
        "task_file": f"tasks/{name}.json",
        "task_id": name,
        "transaction_id": TRANSACTION,
        "version": version,
    }
    if version == 1:
        del marker["task_after"], marker["transaction_id"]
    return text_of(marker)


def lock_marker(channel: str, *paths: str, phase: str) -> str:
    """The marker of a lock by bob that was killed in a phase."""
    return text_of(
        {
            "actor": "bob",
            "after": _packed(lock(channel, *paths)),
            "before": None,
            "event": "path.locked",
            "operation": "lock",
            "phase": phase,
            "target": f"{LOCK_ID}.json",
            "transaction_id": TRANSACTION,
            "version": 1,
        }
    )


def audit_message(channel: str, seq: int, status: str, about: str, body: dict[str, Any]) -> str:
    """The message by which that program tells of a change."""
    head = f"seq: {seq}\nfrom: bob\nto: all\nchannel: {channel}\nts: {AT}\nstatus: {status}\ntitle: {status} {about}\n"
    fields = {"channel": channel, "event": status, "owner": "bob", "transaction_id": TRANSACTION, **body}
    return f"---\n{head}---\n{json.dumps(fields, indent=2, sort_keys=True)}\n"
