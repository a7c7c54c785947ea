"""Path locks as they are shown: which stand in the way of a path, how long they run; read without a lock."""

from __future__ import annotations

from agent_chat import names
from agent_chat.operations import leases, lock_records
from agent_chat.operations.leases import PATH_LOCK, Holding, time_left
from agent_chat.operations.lock_records import StoredLock, Wanted
from agent_chat.operations.participants import known_as
from agent_chat.records import locked_path, path_lock
from agent_chat.records.lease import ACTIVE
from agent_chat.records.value import Value
from agent_chat.storage.journal import OF_LOCKS
from agent_chat.storage.lock_index import LockIndex
from agent_chat.storage.record_store import RecordStore, Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.records.lease import Moment
    from agent_chat.records.locked_path import Located, LockedPath
    from agent_chat.records.path_lock import PathLock
    from agent_chat.storage.channel import Channel


class Checked(Value):
    """Locks, all or those in the way of some paths, and what is told beside them."""

    locks: tuple[StoredLock, ...]
    told: Told

    @property
    def warnings(self) -> tuple[str, ...]:
        """All that is told."""
        return self.told.warnings


def holding_of(lock: PathLock) -> Holding:
    """Returns a lock in the words that all leases share."""
    return Holding(
        id=lock.lock_id,
        owner=lock.owner,
        lease=lock.lease,
        since=lock.locked_at,
        fence=lock.fence,
        session=lock.session,
        previous_owner=lock.previous_owner,
    )


def check(channel: Channel, located: Sequence[Located], agent: str | None) -> Checked:
    """Returns the locks in the way of some paths; those of `agent` do not count while they run."""
    records = RecordStore(channel, OF_LOCKS)
    name = known_as(channel, channel.meta, leases.actor_name(PATH_LOCK, agent)) if agent is not None else None
    index = LockIndex(records)
    found = lock_records.in_the_way(records, Wanted(located), index)
    now = channel.workspace.clock.moment()
    conflicts = tuple(
        each for each in found if name is None or not names.same(each.owner, name) or each.has_run_out(now)
    )
    faults = (*index.warnings, *(each.fault for each in conflicts if each.fault))
    return Checked(locks=conflicts, told=records.told(faults))


def require_end(channel: Channel, agent: str, checked: Checked) -> None:
    """Refuses to wait for what ends by no doing of others: locks that ran out or are suspect, and damaged ones."""
    now = channel.workspace.clock.moment()
    if any(each.pending or (each.lock and each.lock.lease.standing(now) == ACTIVE) for each in checked.locks):
        return
    for stored in checked.locks:
        if stored.lock is None:
            fault = stored.fault.partition(": ")[2]
            raise channel.refusal("PATH_LOCK_INVALID_RECORD", fault, call=f"doctor {channel.name}")
        call = f"recover {channel.name} {stored.id} --as {agent} --reason 'taking over'"
        raise leases.lapsed(channel, PATH_LOCK, holding_of(stored.lock), now, call=call)


def every(channel: Channel) -> Checked:
    """Returns all locks, damaged ones included."""
    records = RecordStore(channel, OF_LOCKS)
    found = tuple(sorted(lock_records.every_lock(records), key=_age))
    return Checked(locks=found, told=records.told(each.fault for each in found if each.fault))


def paths_text(paths: Sequence[LockedPath]) -> str:
    """Returns the paths of a lock, folders with a slash at the end."""
    return ", ".join(path.normalized_path + ("/" if path.kind == locked_path.DIRECTORY else "") for path in paths)


def _age(stored: StoredLock) -> tuple[float, str]:
    return (stored.lock.locked_at if stored.lock is not None else 0, stored.id)


def conflict_text(stored: StoredLock, now: Moment) -> str:
    """Returns who holds what, and for how long, in words."""
    paths = paths_text(stored.paths)
    if stored.lock is None:
        return f"{paths or '?'}: held by a damaged lock, {stored.id}"
    pending = ", in a pending change" if stored.pending else ""
    why = f" ({stored.lock.reason})" if stored.lock.reason else ""
    return f"{paths}: {stored.owner}{why}, lock {stored.id}, {time_left(stored.lock.lease, now)}{pending}"


def conflict_fields(stored: StoredLock, now: Moment) -> dict[str, object]:
    """Returns a lock as replies show it: its record, and how it stands; of a damaged one what can be read."""
    if stored.lock is None:
        paths = [locked_path.to_json(path) for path in stored.paths]
        return {"lock_id": stored.id, "owner": None, "paths": paths, "damaged": stored.fault, "expired": False}
    fields = path_lock.to_json(stored.lock)
    fields["expired"] = stored.has_run_out(now)
    if stored.pending:
        fields["pending"] = True
    return fields
