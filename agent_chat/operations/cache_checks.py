"""What the doctor looks at in the caches: whether they can be read, and tell what the files tell."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.findings import Finding
from agent_chat.operations.lock_records import read_lock
from agent_chat.records import highlight
from agent_chat.storage.filesystem import is_file
from agent_chat.storage.journal import OF_LOCKS
from agent_chat.storage.lock_index import LOCKS_FILE, LockIndex
from agent_chat.storage.message_index import HIGHLIGHTS_FILE, MESSAGES_FILE, MessageIndex
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_chat.records.highlight import Highlight
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_index import Known
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.message_store import Stored

FILES = (LOCKS_FILE, MESSAGES_FILE, HIGHLIGHTS_FILE)


def check(channel: Channel, numbers: Numbers, stored: Sequence[Stored]) -> Iterator[Finding]:
    """Yields what is wrong with the caches of a channel, of whose `numbers` the messages are `stored`."""
    usable = True
    for name in FILES:
        fault = _fault(channel, name)
        if fault is not None:
            usable = False
            yield _finding(channel, name, fault)
    if usable:
        yield from _check_messages(channel, numbers, stored)
        yield from _check_locks(channel)


def _fault(channel: Channel, name: str) -> str | None:
    """Returns why a cache cannot be used at all, None for one that can, or is not there."""
    path = channel.layout.cached(name)
    try:
        if not is_file(channel.workspace.files.status(path)):
            return "it is no ordinary file"
        channel.workspace.files.read_file(path, 0)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    return None


def _finding(channel: Channel, name: str, message: str) -> Finding:
    removal = channel.workspace.call(f"doctor {channel.name} --fix") + " removes it"
    folder = message == "it is no ordinary file"
    return Finding(
        id="cache.valid",
        path=channel.layout.cached(name),
        message=message,
        remedy="move it away; it is made anew" if folder else f"{removal}; it is made anew",
    )


def _check_messages(channel: Channel, numbers: Numbers, stored: Sequence[Stored]) -> Iterator[Finding]:
    """Compares what the caches tell of messages with what these are; messages that came later are left out."""
    for name, exact in ((HIGHLIGHTS_FILE, False), (MESSAGES_FILE, True)):
        told = MessageIndex(channel).load(exact=exact, store=False)
        now = channel.messages.numbers()
        difference = _difference(told, stored)
        settled = (len(now), now.highest) == (len(numbers), numbers.highest)
        if settled and not any(fault.unreadable for fault in told.faults):
            latest = max((item.message.seq for item in stored), default=0)
            if (told.count, told.latest) != (len(stored), latest):
                difference = f"it tells of {told.count} messages up to #{told.latest}"
        if difference:
            yield _finding(channel, name, difference)


def _difference(told: Known, stored: Sequence[Stored]) -> str:
    """Returns what the caches tell of messages that is not so, "" where all is."""
    highlights = dict(told.highlights)
    refused = {fault.file for fault in told.faults}
    found: list[Highlight] = []
    parents: dict[int, int] = {}
    for item in stored:
        if item.message.reply_to is not None:
            parents.setdefault(item.message.seq, item.message.reply_to)
        meant = highlight.of_message(item.message)
        found += [meant] if meant is not None else []
        if highlights.get(item.file) != meant or item.file in refused:
            return f"what it tells of {item.file} is not so"
    there = {item.message.seq for item in stored}
    resolved = {blocker: reply.seq for blocker, reply in highlight.resolved_by(found, parents, there).items()}
    for blocker in sorted(resolved.keys() | told.resolved.keys()):
        if told.resolved.get(blocker) != resolved.get(blocker) and told.resolved.get(blocker, 0) in {0, *there}:
            return f"what it tells of the end of the blocker #{blocker} is not so"
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
