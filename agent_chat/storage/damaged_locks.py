"""The paths of a lock whose record is damaged: they count as held, so whatever still tells of them is asked."""

from __future__ import annotations

from agent_chat.records import journal_entry, path_lock
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.journal import OF_LOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.locked_path import LockedPath
    from agent_chat.storage.record_store import RecordStore


def paths_of(records: RecordStore, place: str, data: bytes) -> tuple[LockedPath, ...]:
    """Returns the paths of the lock at a place that can be read in its bytes, else those that the journal tells of.

    The paths of a lock never change, so any filed entry about it will do. None are returned where nothing tells.
    """
    found = path_lock.paths_in(data)
    if found:
        return found
    files, places = records.channel.workspace.files, records.channel.layout
    lock_id = place.rpartition("/")[2][: -len(path_lock.END)]
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
    return ()
