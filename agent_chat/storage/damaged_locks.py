"""The paths of a lock whose record is damaged: they count as held, so whatever still tells of them is asked."""

from __future__ import annotations

from agent_chat.records import journal_entry, path_lock
from agent_chat.records.record_fields import RecordError
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.journal import OF_LOCKS, journal_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.locked_path import LockedPath
    from agent_chat.storage.record_store import RecordStore


def paths_of(records: RecordStore, place: str, data: bytes) -> tuple[LockedPath, ...]:
    """Returns the paths of the lock at a place: of a damaged one those in its bytes and those the journal tells of.

    None are returned where nothing tells. Fails as the reading of a record does.
    """
    sound = sound_paths(data)
    if sound:
        return sound
    found = path_lock.paths_in(data) + _filed(records, place)
    return tuple({(path.tree, path.normalized_path): path for path in reversed(found)}.values())[::-1]


def sound_paths(data: bytes) -> tuple[LockedPath, ...]:
    """Returns the paths of a record that is whole, none of a damaged one."""
    try:
        return path_lock.parse(data).paths
    except RecordError:
        return ()


def _filed(records: RecordStore, place: str) -> tuple[LockedPath, ...]:
    """Returns the paths of a lock by the journal: they never change, so any filed entry about it will do."""
    files, places = records.channel.workspace.files, records.channel.layout
    lock_id = place.rpartition("/")[2][: -len(path_lock.END)]
    try:
        for name in sorted(files.list_if_there(places.record(OF_LOCKS.audit))):
            if lock_id not in name:
                continue
            try:
                entry = journal_entry.parse(
                    files.read_file(places.record(f"{OF_LOCKS.audit}/{name}"), journal_entry.MAX_BYTES)
                )
            except (journal_entry.EntryError, FileNotFoundError, PermissionError, NotOrdinaryError):
                continue
            for change in entry.changes:
                found = path_lock.paths_in(change.after or change.before or b"") if change.path == place else ()
                if found:
                    return found
    except OSError as error:
        raise journal_error(records.channel, OF_LOCKS, error) from error
    return ()
