"""Tasks, claims and locks of the program in the words of the reference, and as they lie on the disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_chat.records import claim as claim_record
from agent_chat.records import path_lock
from agent_chat.records import task as task_record
from tests.model.work_reference import Hold, Lock, Task, key_of

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.records.claim import Claim
    from agent_chat.records.lease import Lease
    from agent_chat.records.path_lock import PathLock
    from agent_chat.storage.journal import Journal


def body_of(text: str) -> dict[str, Any]:
    """The object that an audit message tells: indented, its keys sorted."""
    body = json.loads(text)
    assert isinstance(body, dict)
    assert text == json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return body


def _hold(record: Claim | PathLock, since: float, previous_expires: float | None) -> Hold:
    lease: Lease = record.lease
    assert lease.boot_expires is not None
    assert lease.seconds is not None
    assert record.fence is not None
    previous = None
    if record.recovery_reason is not None:
        assert record.previous_owner is not None
        assert previous_expires is not None
        previous = (record.previous_owner, int(previous_expires), record.recovery_reason)
    return Hold(
        owner=record.owner,
        session=record.session,
        fence=record.fence,
        since=int(since),
        ends=lease.boot_expires,
        seconds=lease.seconds,
        tells=int(lease.expires),
        granted=int(lease.granted),
        previous=previous,
    )


def hold_of(claim: Claim | None) -> Hold | None:
    """Who holds a task by a claim."""
    return _hold(claim, claim.claimed_at, claim.previous_lease_expires_at) if claim is not None else None


def task_of(task: task_record.Task, hold: Hold | None) -> Task:
    """A task with the claim on it; what the task itself tells of its lease is what the claim tells."""
    assert task.lease_expires_at == (hold.tells if hold is not None else None)
    return Task(
        id=task.id,
        title=task.title,
        creator=task.created_by,
        updated=int(task.updated_at),
        status=task.status,
        owner=task.owner,
        depends_on=task.depends_on,
        hold=hold,
    )


def lock_of(lock: PathLock) -> Lock:
    """A path lock."""
    paths = frozenset((path.normalized_path, path.kind) for path in lock.paths)
    assert len(paths) == len(lock.paths)
    return Lock(lock.lock_id, paths, _hold(lock, lock.locked_at, lock.previous_expires_at), lock.reason)


def raw_records(channel: Path, journal: Journal) -> dict[str, Any]:
    """The records of a journal as their files hold them."""
    if journal.name == "locks":
        locks = [path_lock.parse(path.read_bytes()) for path in (channel / "locks").glob("*.json")]
        return {lock.lock_id: lock_of(lock) for lock in locks}
    claims: dict[str, Claim] = {}
    for path in (channel / "claims").glob("*.json"):
        claim = claim_record.parse(path.read_bytes())
        assert path.name == claim_record.file_name(claim.task_id, claim.owner)
        assert claims.setdefault(key_of(claim.task_id), claim) is claim
    tasks = [task_record.parse(path.read_bytes()) for path in (channel / "tasks").glob("*.json")]
    found = {key_of(task.id): task_of(task, hold_of(claims.pop(key_of(task.id), None))) for task in tasks}
    assert not claims
    return found
