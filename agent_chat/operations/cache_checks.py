"""What the doctor looks at in the caches: whether they can be read, and tell what the files tell."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.findings import Finding
from agent_chat.operations.lock_records import read_lock
from agent_chat.records import highlight
from agent_chat.storage import publication
from agent_chat.storage.filesystem import is_file, is_folder
from agent_chat.storage.journal import OF_LOCKS
from agent_chat.storage.layout import SEEN_PREFIX, TAKEN_BACK_PREFIX
from agent_chat.storage.lock_index import LOCKS_FILE, LockIndex
from agent_chat.storage.message_index import HIGHLIGHTS_FILE, MESSAGES_FILE, READ_DIRECTLY, MessageIndex
from agent_chat.storage.message_numbers import seq_of
from agent_chat.storage.message_store import Stored
from agent_chat.storage.record_store import RecordStore
from agent_chat.storage.removed_numbers import RemovedNumbers
from agent_chat.storage.tombstone_store import CACHE_FILE as TOMBSTONES_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_chat.records.highlight import Highlight
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_index import Known

FILES = (LOCKS_FILE, MESSAGES_FILE, HIGHLIGHTS_FILE, TOMBSTONES_FILE)


def check(channel: Channel, stored: Sequence[Stored]) -> Iterator[Finding]:
    """Yields what is wrong with the caches of a channel, whose messages are `stored`; those that are not used pass."""
    usable: list[str] = []
    files = channel.workspace.files
    if not publication.exists(files, channel.layout.cache) or not is_folder(files.status(channel.layout.cache)):
        return  # other checks tell of it
    there = sorted(files.list_folder(channel.layout.cache))
    for name in there:
        path = channel.layout.cached(name)
        if name.startswith(TAKEN_BACK_PREFIX) and not is_file(channel.workspace.files.status(path)):
            yield _finding(channel, name, "it is no ordinary file", remedy="move it away")
    for name in (*FILES, *(name for name in there if name.startswith(SEEN_PREFIX))):
        try:
            try:
                ordinary = _is_readable(channel, name)
            except OSError:
                # It would be removed, with what it tells; so one failure of the disk is not taken for damage.
                ordinary = _is_readable(channel, name)
            if ordinary:
                usable.append(name)
            else:
                yield _finding(channel, name, "it is no ordinary file", remedy="move it away; it is made anew")
        except FileNotFoundError:
            continue
        except OSError as error:
            yield _finding(channel, name, f"it cannot be read: {error.strerror or error}")
    for name in (MESSAGES_FILE, HIGHLIGHTS_FILE):
        if name in usable:
            yield from _check_messages(channel, name, stored)
    if LOCKS_FILE in usable:
        yield from _check_locks(channel)
    if TOMBSTONES_FILE in usable:
        tombstones = channel.messages.tombstones
        told, load = tombstones.numbers().to_bytes(), tombstones.load()
        if told != RemovedNumbers.of((each.seq, each.file) for each in load).to_bytes():
            yield _finding(channel, TOMBSTONES_FILE, "what it tells of the tombstones is not so")


def _is_readable(channel: Channel, name: str) -> bool:
    """Tells whether a cache is an ordinary file; fails with OSError where that cannot be told, or it cannot be read."""
    path = channel.layout.cached(name)
    if not is_file(channel.workspace.files.status(path)):
        return False
    channel.workspace.files.read_file(path, 0)
    return True


def _finding(channel: Channel, name: str, message: str, *, remedy: str = "") -> Finding:
    removal = channel.workspace.call(f"doctor {channel.name} --fix") + " removes it; it is made anew"
    return Finding(id="cache.valid", path=channel.layout.cached(name), message=message, remedy=remedy or removal)


def _check_messages(channel: Channel, name: str, stored: Sequence[Stored]) -> Iterator[Finding]:
    """Compares what a cache tells of messages with what these are.

    What seems to differ is looked at between two readings of all messages: where these differ somebody is editing, and
    it is left to the next run.
    """
    if _difference(_told(channel, name), stored):
        before = _read(channel)
        difference = _difference(_told(channel, name), before)
        if difference and before == _read(channel):
            yield _finding(channel, name, difference)


def _read(channel: Channel) -> list[Stored]:
    numbers = channel.messages.numbers()
    return [item for seq, files in numbers.after(0) for item in channel.messages.stored(seq, files)]


def _told(channel: Channel, name: str) -> Known | None:
    """Returns what a cache tells, None where nothing would be taken from it."""
    index = MessageIndex(channel)
    if name == HIGHLIGHTS_FILE:
        return index.believed()
    known = index.load(exact=True, store=False)
    return known if known.count > READ_DIRECTLY else None


def _difference(told: Known | None, stored: Sequence[Stored]) -> str:
    """Returns what a cache tells of messages that is not so, "" where all is; of those that came later nothing."""
    if told is None:
        return ""
    highlights = dict(told.highlights)
    refused = {fault.file for fault in told.faults}
    found: list[Highlight] = []
    parents: dict[int, int] = {}
    there: dict[int, int] = {}
    for fault in told.faults:
        number = seq_of(fault.file) or 0
        there[number] = there.get(number, 0) + (not fault.is_copy)
    for item in stored:
        seq = item.message.seq
        there[seq] = there.get(seq, 0) + 1
        if item.message.reply_to is not None:
            parents.setdefault(seq, item.message.reply_to)
        meant = highlight.of_message(item.message)
        found += [meant] if meant is not None else []
        if highlights.get(item.file) != meant or item.file in refused:
            return f"what it tells of {item.file} is not so"
    resolved = {blocker: reply.seq for blocker, reply in highlight.resolved_by(found, parents, there).items()}
    for blocker in sorted(resolved.keys() | told.resolved.keys()):
        if told.resolved.get(blocker) != resolved.get(blocker) and told.resolved.get(blocker, 0) in {0, *there}:
            return f"what it tells of the end of the blocker #{blocker} is not so"
    if told.count < len(stored) or told.latest < max(there, default=0):
        return f"it tells of {told.count} messages up to #{told.latest}"
    return ""


def _check_locks(channel: Channel) -> Iterator[Finding]:
    """Compares what the cache tells of path locks with their records."""
    records = RecordStore(channel, OF_LOCKS)
    try:
        for place, paths in LockIndex(records).paths():
            lock = read_lock(records, place)
            if lock is not None and {(path.tree, path.normalized_path, path.kind) for path in paths} != {
                (path.tree, path.normalized_path, path.kind) for path in lock.paths
            }:
                yield _finding(channel, LOCKS_FILE, f"what it tells of {place} is not so")
                return
    except ChatError:
        return  # told where the records are looked at
