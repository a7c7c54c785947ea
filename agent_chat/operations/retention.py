"""Retention: messages older than the owner's term go, and leave a tombstone each.

What is to go is chosen without a lock, then chosen again under the channel's lock, a batch at a time. The tombstones of
a batch are on the disk before its caches forget the text and its files go: whoever is killed in between has removed
nothing that was not due, and the next run goes on from there.
"""

from __future__ import annotations

from itertools import chain

from agent_chat import names, timestamps
from agent_chat.errors import ChatError
from agent_chat.operations import keeping
from agent_chat.operations.messages import content_of
from agent_chat.records import message as message_record
from agent_chat.records import tombstone as tombstone_record
from agent_chat.records.digest import sha256_of
from agent_chat.records.tombstone import Tombstone
from agent_chat.records.value import Value
from agent_chat.storage import layout, owner_store, publication
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.filesystem import is_file
from agent_chat.storage.journal import JOURNALS
from agent_chat.storage.message_index import MessageIndex
from agent_chat.storage.message_store import Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_chat.operations.keeping import Aged, Kept, Plan, Term
    from agent_chat.storage.channel import Channel, Mutation
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.workspace import Workspace

    Progress = Callable[[str, int, int], None]

# So many at the most go while the lock is held.
BATCH = 200
HOUR_SECONDS = 3600.0
STAMP_FILE = "retention.stamp"
_STAMP_VERSION = "1"
# Nobody waits for a run that nobody asked for.
HOURLY_LOCK_SECONDS = 0.2
# Numbers follow time but for merges, clocks and hands; after so many that are not due the hourly run looks no further.
PATIENCE = 1000


class Pruned(Value):
    """What a run removed, or would remove: the numbers; and what is due and stays.

    `error` is why it is not all that is due: a message that could not be read is left alone, or a batch failed.
    """

    removed: tuple[int, ...] = ()
    kept: tuple[Kept, ...] = ()
    error: ChatError | OSError | None = None


def term_of(workspace: Workspace) -> Term:
    """Returns the owner's term; fails with RETENTION_OFF where there is none."""
    days = owner_store.load(workspace).retention_days
    if days is None:
        raise ChatError(
            "RETENTION_OFF",
            f"messages are kept for good in {workspace.describe()}",
            next=workspace.call("owner retention"),
            where=workspace.where(),
        )
    return keeping.Term(days=days, now=workspace.clock.now())


def prune(channel: Channel, term: Term, *, dry_run: bool = False, progress: Progress | None = None) -> Pruned:
    """Removes what is due now, batch after batch; fails with the code of a journal that is pending."""
    channel.require_settled(*JOURNALS)
    unread: list[OSError] = []
    plan = _planned(channel, term, unread, progress=progress)
    if dry_run:
        goes = tuple(stored.message.seq for stored in plan.goes)
        return Pruned(removed=goes, kept=plan.kept, error=next(iter(unread), None))
    removed: list[int] = []
    kept = list(plan.kept)
    failed: ChatError | OSError | None = None
    for start in range(0, len(plan.goes), BATCH):
        if progress is not None:
            progress(channel.name, start, len(plan.goes))
        try:
            with channel.mutation() as mutation:
                mutation.require_settled(*JOURNALS)
                batch = _remove(mutation, plan.goes[start : start + BATCH], term, unread)
        except (ChatError, OSError) as error:
            failed = error
            break
        removed += batch.removed
        kept += batch.kept
    try:
        _forget_taken_back(channel, term)
    except (ChatError, OSError) as error:
        failed = failed or error
    ordered = tuple(sorted(kept, key=lambda each: each.seq))
    return Pruned(removed=tuple(removed), kept=ordered, error=failed or next(iter(unread), None))


def prune_hourly(channel: Channel, term: Term) -> Pruned | None:
    """Removes one batch unless somebody did within the hour; None where it was not this call's turn.

    It is put off while the channel is locked or a journal is pending. Fails with OSError.
    """
    if not _is_turn(channel):
        return None
    unread: list[OSError] = []
    try:
        with channel.mutation(seconds=HOURLY_LOCK_SECONDS) as mutation:
            mutation.require_settled(*JOURNALS)
            if not _is_turn(channel):
                return None
            stamp = _stamp(channel)
            stamp.store(str(int(channel.workspace.clock.now())).encode("ascii"))
            if _is_turn(channel):
                return None  # where no stamp can be written, each call would have its turn
        plan = _planned(channel, term, unread, patience=PATIENCE)
        pruned = Pruned(kept=plan.kept)
        if plan.goes:
            with channel.mutation(seconds=HOURLY_LOCK_SECONDS) as mutation:
                mutation.require_settled(*JOURNALS)
                pruned = _remove(mutation, plan.goes[:BATCH], term, unread)
        _forget_taken_back(channel, term, seconds=HOURLY_LOCK_SECONDS)
        return pruned.replace(error=next(iter(unread), None))
    except ChatError as error:
        if error.code == "CHANNEL_BUSY" or error.code in [journal.pending for journal in JOURNALS]:
            return None
        raise


def _stamp(channel: Channel) -> CacheFile:
    return CacheFile(channel.workspace, channel.layout.cache, STAMP_FILE, _STAMP_VERSION)


def _is_turn(channel: Channel) -> bool:
    """Tells whether the last hourly run is an hour ago; one in the future is none."""
    digits = _stamp(channel).load()
    if not digits.isdigit():
        return True
    return not 0 <= channel.workspace.clock.now() - int(digits) < HOUR_SECONDS


# -- what is to go -----------------------------------------------------------------------------------------------------


def _planned(
    channel: Channel,
    term: Term,
    unread: list[OSError],
    *,
    patience: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Returns what would go now; why some could not be read goes into `unread`.

    With `patience` it is one batch at the most, and the search ends after so many messages in a row that are not due.
    """
    numbers = channel.messages.numbers()
    due = _due(channel, numbers, term, unread, patience=patience, progress=progress)
    first = next(due, None)
    if first is None:
        return keeping.Plan(goes=(), kept=())
    limit = None if patience is None else BATCH
    return keeping.plan_prune(chain((first,), due), term, keeping.load_grounds(channel, numbers, term), limit=limit)


def _due(
    channel: Channel,
    numbers: Numbers,
    term: Term,
    unread: list[OSError],
    *,
    patience: int | None,
    progress: Progress | None,
) -> Iterator[Aged]:
    """Yields the messages that are older than the term; what is damaged, unfinished or unreadable is left alone."""
    young = 0
    total = len(numbers)
    for done, (seq, files) in enumerate(numbers.after(0)):
        if progress is not None:
            progress(channel.name, done, total)
        for aged in _of_number(channel, seq, files, unread):
            if term.is_over(aged.at):
                young = 0
                yield aged
            else:
                young += 1
        if patience is not None and young >= patience:
            return


def _of_number(channel: Channel, seq: int, files: list[str], unread: list[OSError]) -> list[Aged]:
    """Returns the messages of one number, each with the time at which it was sent; none if one cannot be read."""
    try:
        unit = channel.messages.load_unit(seq, files)
        return [
            keeping.Aged(stored=item, at=_sent_at(channel, item), beside=len(unit))
            for item in unit
            if isinstance(item, Stored)
        ]
    except FileNotFoundError:
        return []
    except OSError as error:
        unread.append(error)
        return []


def _sent_at(channel: Channel, stored: Stored) -> float:
    """Returns when a message was sent; where its header does not tell, when its file was written."""
    try:
        return timestamps.parse(stored.message.created)
    except timestamps.TimestampError:
        return channel.workspace.files.status(channel.layout.file(stored.file)).st_mtime


# -- removing ----------------------------------------------------------------------------------------------------------


def _remove(mutation: Mutation, batch: Sequence[Stored], term: Term, unread: list[OSError]) -> Pruned:
    """Removes those messages of a batch that are still due now that the lock is held."""
    channel = mutation.channel
    numbers = mutation.numbers()
    wanted = {stored.file for stored in batch}
    last = max(stored.message.seq for stored in batch)
    due: list[Aged] = []
    for seq, files in numbers.after(min(stored.message.seq for stored in batch) - 1):
        if seq > last:
            break
        there = _of_number(channel, seq, files, unread) if not wanted.isdisjoint(files) else []
        due += [aged for aged in there if aged.stored.file in wanted and term.is_over(aged.at)]
    plan = keeping.plan_prune(due, term, keeping.load_grounds(channel, numbers, term))
    entries: list[Tombstone] = []
    kept = list(plan.kept)
    for stored in plan.goes:
        entry = _tombstone(channel, stored)
        if entry is None:
            kept.append(keeping.Kept(seq=stored.message.seq, reason="its file's name is no text"))
        else:
            entries.append(entry)
    if entries:
        removed = numbers.removed
        again = removed is not None and any(removed.has(each.file) for each in entries)
        known = {each.file: each.sha256 for each in (channel.messages.tombstones.load() if again else ())}
        new = [each for each in entries if known.get(each.file) != each.sha256]
        if new:
            channel.messages.tombstones.append(new)
        MessageIndex(channel).forget([each.file for each in entries])
        mutation.remove_leftovers()
        failed = mutation.remove_each([each.file for each in entries])
        unread += failed.values()
        entries = [each for each in entries if each.file not in failed]
    return Pruned(removed=tuple(each.seq for each in entries), kept=tuple(kept))


def _tombstone(channel: Channel, stored: Stored) -> Tombstone | None:
    """Returns what is kept of a message, None where its file's name cannot be written down."""
    message = stored.message
    data = channel.workspace.files.read_file(channel.layout.file(stored.file), message_record.MAX_FILE_BYTES)
    content = tombstone_record.content_digest(content_of(message), message.reply_to) if message.key else ""
    entry = Tombstone(
        seq=message.seq,
        file=stored.file,
        sender=message.sender,
        created=message.created,
        sha256=sha256_of(data),
        topic=message.topic if names.is_topic(message.topic) else "",
        reply_to=message.reply_to,
        key=message.key,
        content=content,
        status=message.status if message.is_audit else "",
        transaction=message.transaction,
        was=message.was,
    )
    try:
        tombstone_record.render_line(entry)
    except tombstone_record.TombstoneError:
        return None
    return entry


def _forget_taken_back(channel: Channel, term: Term, *, seconds: float | None = None) -> None:
    """Empties messages that were taken back and are older than the term; their names are traces of used numbers."""
    due = _taken_back(channel, term)
    if not due:
        return
    with channel.mutation(seconds=seconds) as mutation:
        for path in _taken_back(channel, term):
            publication.replace(mutation.files, mutation.write_temporary(b""), path)


def _taken_back(channel: Channel, term: Term) -> list[str]:
    """Returns the paths of messages that were taken back, hold something and are older than the term."""
    files = channel.workspace.files
    found: list[str] = []
    for name in files.list_if_there(channel.layout.cache):
        if name.startswith(layout.TAKEN_BACK_PREFIX):
            path = channel.layout.cached(name)
            status = files.status(path)
            if is_file(status) and status.st_size and term.is_over(status.st_mtime):
                found.append(path)
    return found
