"""Loading path locks, and which of them stand in the way of a path; damaged ones count as held."""

from __future__ import annotations

from agent_chat.errors import DAMAGED, ChatError
from agent_chat.records import locked_path, path_lock, record_fields
from agent_chat.records.lease import EXPIRED
from agent_chat.records.path_lock import PathLock
from agent_chat.records.value import Value
from agent_chat.storage.damaged_locks import paths_of
from agent_chat.storage.journal import LOCKS
from agent_chat.storage.lock_index import LockIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_chat.records.lease import Moment
    from agent_chat.records.locked_path import Located, LockedPath
    from agent_chat.storage.record_store import RecordStore

_CODES = {
    "": "PATH_LOCK_INVALID_RECORD",
    record_fields.TIMESTAMP: "PATH_LOCK_INVALID_TIMESTAMP",
    record_fields.IDENTITY: "PATH_LOCK_INVALID_LOCK_ID",
}


class StoredLock(Value):
    """A lock and where it lies.

    `lock` is None for a damaged one, of which `fault` tells; `paths` are those that can be read all the same. `pending`
    tells that a pending change is about it.
    """

    place: str
    data: bytes
    lock: PathLock | None
    paths: tuple[LockedPath, ...]
    fault: str = ""
    pending: bool = False

    @property
    def id(self) -> str:
        """The lock's id, by its file name."""
        return self.place.rpartition("/")[2][: -len(path_lock.END)]

    @property
    def owner(self) -> str:
        """Who holds it, as far as is known."""
        return self.lock.owner if self.lock is not None else "?"

    def has_run_out(self, now: Moment) -> bool:
        """Tells whether its lease ran out; a damaged lock's never does."""
        return self.lock is not None and self.lock.lease.standing(now) == EXPIRED


def place_of(lock_id: str) -> str:
    """Returns the place of a lock's record."""
    return f"{LOCKS}/{path_lock.file_name(lock_id)}"


def parse_lock(records: RecordStore, place: str, data: bytes) -> StoredLock:
    """Returns the lock in a file's bytes; fails with a PATH_LOCK_ code or RECORD_VERSION for a damaged one."""
    try:
        lock = path_lock.parse(data)
        if place != place_of(lock.lock_id):
            raise record_fields.RecordError(record_fields.IDENTITY, f"it names the lock {lock.lock_id}")
        if lock.channel.casefold() != records.channel.name.casefold():
            raise record_fields.RecordError(record_fields.INVALID, f"it names the channel {lock.channel!r}")
    except record_fields.RecordError as error:
        raise records.refusal(place, error, _CODES) from error
    return StoredLock(place=place, data=data, lock=lock, paths=lock.paths)


def read_lock(records: RecordStore, place: str) -> StoredLock | None:
    """Returns a lock, damaged or not, None where there is none."""
    pending = records.concerns(place)
    data: bytes | None = b""
    try:
        data = records.read(place)
        if data is None:
            return None
        return parse_lock(records, place, data).replace(pending=pending)
    except ChatError as error:
        if error.kind != DAMAGED:
            raise
        fault = f"{error.code}: {error.message}"
        there = data or b""
        paths = paths_of(records, place, there)
        return StoredLock(place=place, data=there, lock=None, paths=paths, fault=fault, pending=pending)


def every_lock(records: RecordStore) -> list[StoredLock]:
    """Returns all locks, damaged ones included, in order of their ids."""
    found = [read_lock(records, f"{LOCKS}/{name}") for name in records.names(LOCKS)]
    return [stored for stored in found if stored is not None]


class Wanted:
    """The paths of one call, prepared so that those of hundreds of locks are compared quickly."""

    def __init__(self, located: Sequence[Located]) -> None:
        self.located = tuple(located)
        self._keys = tuple(locked_path.folded_key(each.path.normalized_path) for each in located)
        self._trees = {"", *(each.path.tree for each in located)}

    def may_meet(self, tree: str, normalized_path: str) -> bool:
        """Tells, cheaply, whether a lock's path in a work tree may be on a file that one of these is on."""
        if tree not in self._trees:
            return True
        key = locked_path.folded_key(normalized_path)
        return any(key.startswith(wanted) or wanted.startswith(key) for wanted in self._keys)

    def meets(self, paths: Sequence[LockedPath]) -> bool:
        """Tells whether one of a lock's paths is on a file that one of these is on."""
        return any(
            locked_path.meets(located, path)
            for path in paths
            if self.may_meet(path.tree, path.normalized_path)
            for located in self.located
        )


def in_the_way(records: RecordStore, wanted: Wanted, index: LockIndex) -> Iterator[StoredLock]:
    """Yields the locks on the wanted paths, whoever holds them; what is pending counts before and after."""
    seen: set[str] = set()
    for place, paths in index.paths(wanted.may_meet):
        if wanted.meets(paths):
            stored = read_lock(records, place)
            if stored is not None and wanted.meets(stored.paths):
                seen.add(place)
                yield stored
    for place, data in records.pending_bytes():
        if data is not None and place not in seen:
            paths = path_lock.paths_in(data)
            if wanted.meets(paths):
                seen.add(place)
                try:
                    stored = parse_lock(records, place, data)
                except ChatError as error:
                    fault = f"{error.code}: {error.message}"
                    stored = StoredLock(place=place, data=data, lock=None, paths=paths, fault=fault)
                yield stored.replace(pending=True)
