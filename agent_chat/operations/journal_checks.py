"""What the doctor looks at in the folders of the records: foreign files, pending entries, and filed ones.

A pending entry is judged under the channel's lock where that can be had, so that a change which is under way is not
taken for one that was interrupted.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations import replay
from agent_chat.operations.findings import LOCK_LOOKS, LOCK_SECONDS, Finding, mode_findings, unreadable
from agent_chat.records import journal_entry
from agent_chat.storage import recovery
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import is_folder, path_of
from agent_chat.storage.journal import CLAIMS, JOURNALS, LOCKS, TASKS
from agent_chat.storage.layout import AUDIT_FOLDER, PENDING, join
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_chat.operations.replay import Filed
    from agent_chat.records.journal_entry import Entry
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.journal import Journal
    from agent_chat.storage.message_store import Stored
    from agent_chat.storage.record_store import Mark

FOLDERS = (TASKS, CLAIMS, LOCKS, *(journal.audit for journal in JOURNALS))
KEPT = "-kept-"
_END = ".md"


def check(
    channel: Channel, stored: Sequence[Stored], filed: dict[str, Filed], removed: Sequence[Tombstone] = ()
) -> list[Finding]:
    """Returns what is wrong with the folders and the journals; `stored` are the messages of the channel,
    `removed` those that retention removed.

    The filed entries that can be read go into `filed`, by transaction.
    """
    found: list[Finding] = []
    for folder in FOLDERS:
        found += _looked_at(channel, folder, _check_folder(channel, folder))
    for journal in JOURNALS:
        found += _looked_at(channel, journal.entry, _check_pending(channel, journal))
        found += _looked_at(channel, journal.audit, _check_filed(channel, journal, stored, filed, removed))
    return found


def _looked_at(channel: Channel, place: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yields what a check finds; where it cannot look, that is a finding too."""
    try:
        yield from findings
    except (OSError, ChatError) as error:
        cause = error.__cause__ if isinstance(error, ChatError) else error
        if not isinstance(cause, OSError):
            raise
        yield unreadable(path_of(cause) or channel.layout.record(place), cause, id="record.file")


# -- folders -----------------------------------------------------------------------------------------------------------


def _check_folder(channel: Channel, folder: str) -> Iterator[Finding]:
    files, path = channel.workspace.files, channel.layout.record(folder)
    try:
        status = files.status(path)
    except FileNotFoundError:
        return
    if not is_folder(status):
        if folder.endswith("/" + AUDIT_FOLDER):  # of the others the doctor has told already
            yield Finding(id="channel.folders", path=path, message="it is no real folder", remedy="move it away")
        return
    if not files.writable(path):
        yield Finding(id="root.writable", path=path, message="it cannot be written", remedy="change its permissions")
    for name in sorted(files.list_folder(path)):
        if not _is_known(folder, name):
            yield Finding(
                id="file.foreign",
                path=join(path, name),
                message="it is neither a record nor a file of the journal",
                remedy="move it away; nothing reads it",
            )


def _is_known(folder: str, name: str) -> bool:
    """Tells whether a name in a folder is that of a record, of a journal's folder or entry, or of a marker."""
    place = f"{folder}/{name}"
    if any(place in (journal.audit, journal.entry, journal.foreign) for journal in JOURNALS):
        return True
    return not name.startswith(".") and name.endswith(_END if folder.endswith(AUDIT_FOLDER) else ".json")


# -- what is pending ---------------------------------------------------------------------------------------------------


def _check_pending(channel: Channel, journal: Journal) -> Iterator[Finding]:
    """Judges what is pending, under the lock; where others hold that all the while, if it is the same at every look."""
    before: Mark | None = RecordStore(channel, journal).mark()
    if not RecordStore(channel, journal).is_pending:
        return
    lock = FileLock(channel.workspace.files, channel.layout.lock, channel.workspace.clock)
    held = False
    for _ in range(LOCK_LOOKS):
        try:
            held = lock.acquire(LOCK_SECONDS, create=False)
        except (OSError, ChatError):
            before = None  # the doctor tells of the lock elsewhere; what is pending is looked at all the same
        if held or before is None:
            break
        if RecordStore(channel, journal).mark() != before:
            return  # writers are at work
    try:
        yield from _judged(channel, journal)
    finally:
        if held:
            lock.release()


def _judged(channel: Channel, journal: Journal) -> Iterator[Finding]:
    """Yields what a pending entry means: that it waits for recovery, or that recovery cannot decide it."""
    opened = recovery.opened(channel, journal)
    if opened is None:
        return
    path, entry = channel.layout.record(opened.place), opened.entry
    decision = recovery.outlook(channel, entry) if entry is not None else journal_entry.REFUSE
    call = channel.workspace.call(f"{journal.recovery} {channel.name} --as NAME")
    if entry is not None and decision != journal_entry.REFUSE:
        will = "undoes it" if decision == journal_entry.UNDO else "finishes it"
        yield Finding(
            id="journal.pending",
            path=path,
            message=f"{entry.operation} of {entry.target} was interrupted; until recovery, no such change is made",
            remedy=f"{call} {will}",
        )
    elif opened.later:
        yield Finding(
            id="journal.valid", path=path, message=opened.fault, remedy="use the version of the program that wrote it"
        )
    elif entry is not None and entry.is_foreign and recovery.is_published(channel, entry) is None:
        yield Finding(
            id="journal.valid",
            path=path,
            message=f"nothing proves whether {entry.operation} of {entry.target} was announced",
            remedy=f"look for its message, then {call} --resolve-publication rollback, or published",
        )
    else:
        yield Finding(
            id="journal.valid",
            path=path,
            message=opened.fault or "a file is neither as before nor as after it, or its message is damaged",
            remedy=f"{call} --keep files it as it is",
        )


def undecidable(channel: Channel, journal: Journal) -> set[str]:
    """Returns the paths of the records that a pending entry is about which recovery cannot decide."""
    opened = recovery.opened(channel, journal)
    if opened is None or opened.entry is None:
        return set()
    if recovery.decision(channel, opened.entry) != journal_entry.REFUSE:
        return set()
    return {channel.layout.record(change.path) for change in opened.entry.changes}


def is_unreadable(channel: Channel, journal: Journal) -> bool:
    """Tells whether a pending entry cannot be read, so that nobody knows which records it is about."""
    opened = recovery.opened(channel, journal)
    return opened is not None and opened.entry is None


# -- what is filed -----------------------------------------------------------------------------------------------------


def _check_filed(
    channel: Channel,
    journal: Journal,
    stored: Sequence[Stored],
    filed: dict[str, Filed],
    removed: Sequence[Tombstone],
) -> Iterator[Finding]:
    """Checks the history: every entry can be read, and its change was announced, or it is kept as damaged."""
    files, folder = channel.workspace.files, channel.layout.record(journal.audit)
    announced = {item.message.transaction for item in stored}
    once_announced = {each.transaction for each in removed if each.transaction}
    kept = {item.message.transaction for item in stored if item.message.status == journal.kept_status}
    kept |= {each.transaction for each in removed if each.status == journal.kept_status}
    for name in sorted(files.list_if_there(folder)):
        path = join(folder, name)
        if name == PENDING or not _is_known(journal.audit, name):
            continue
        try:
            data = files.read_file(path, journal_entry.MAX_BYTES)
            yield from mode_findings(files, path)
        except OSError as error:
            yield unreadable(path, error, id="record.file")
            continue
        try:
            entry = journal_entry.parse(data)
        except journal_entry.EntryError as error:
            fault = str(error)
        else:
            tells = entry.id in announced or entry.id in once_announced or _tells_of_its_end(entry, data)
            filed[entry.id] = replay.filed_entry(
                entry, f"{journal.audit}/{name}", counts=tells and entry.id not in announced
            )
            if tells:
                continue
            fault = f"no message tells of {entry.operation} of {entry.target}"
        if _kept_as(name) & kept:
            continue
        yield Finding(
            id="journal.filed",
            path=path,
            message=fault,
            remedy="restore it, or move it away, unless a lock is damaged: then it tells what that lock holds",
        )


def _kept_as(name: str) -> set[str]:
    """Returns the transaction ids under which an entry of this name may have been kept as damaged."""
    _, sign, rest = name[: -len(_END)].rpartition(KEPT)
    return {rest, rest.rpartition("-")[0]} if sign else set()


def _tells_of_its_end(entry: Entry, data: bytes) -> bool:
    """Tells whether an entry itself says that its message was published, or that a recovery found it to be."""
    return entry.phase == journal_entry.PUBLISHED or b"\n" + journal_entry.RECOVERED.encode("ascii") in data
