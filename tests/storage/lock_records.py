"""Locks, and the journal's entries about them, put into a channel by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_chat.records import journal_entry, message, path_lock
from agent_chat.records.journal_entry import Change, Entry
from agent_chat.records.lease import Lease
from agent_chat.records.locked_path import DIRECTORY, FILE, LockedPath
from agent_chat.records.path_lock import PathLock
from tests.storage.journal_room import announcement
from tests.support.cli import START
from tests.support.leases import STAMP

if TYPE_CHECKING:
    from tests.storage.journal_room import JournalRoom


def id_of(number: int) -> str:
    """The id of the lock of a number."""
    return f"{number:016x}"


def place_of(number: int) -> str:
    """The place of the lock of a number."""
    return f"locks/{id_of(number)}.json"


def path(text: str) -> LockedPath:
    """A path as it is stored; with a slash at its end that of a folder."""
    kind = DIRECTORY if text.endswith("/") else FILE
    return LockedPath(normalized_path=text.rstrip("/"), display_path=text.rstrip("/"), kind=kind)


def lock_bytes(number: int, *paths: str) -> bytes:
    """The record of bob's lock on some paths."""
    lock = PathLock(
        lock_id=id_of(number),
        channel="dev",
        owner="bob",
        paths=tuple(map(path, paths)),
        lease=Lease(expires=START + 300, granted=START, seconds=300),
        locked_at=START,
    )
    return path_lock.render(lock)


def file_entry(
    room: JournalRoom,
    number: int,
    *changes: Change,
    name: str = "",
    operation: str = "lock",
    phases: bytes = b"applied\npublished\n",
    data: bytes = b"",
) -> str:
    """Files an entry about a lock, or puts other bytes in its place; returns where it lies."""
    entry = Entry(
        id="00000000000000aa",
        operation=operation,
        actor="bob",
        target=id_of(number),
        created=STAMP,
        changes=changes,
        message_file="0001-bob-x.md",
        message=message.render(announcement()),
    )
    place = f"locks/audit/{name or f'20260102T030405Z-bob-{operation}-{id_of(number)}'}.md"
    room.put(place, data or journal_entry.render(entry) + phases)
    return place
