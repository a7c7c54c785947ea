"""The one transaction: a planned change of records is prepared, applied, published and filed, or undone.

The entry is written and its folder synced before any record is touched; the records are synced before `applied` is; the
audit message is published under the same lock; then the entry is filed. Whatever stops it in between, `recovery` makes
of it the old state or the new one.
"""

from __future__ import annotations

import errno

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.records import journal_entry
from agent_chat.records import message as message_record
from agent_chat.records.journal_entry import Change, Entry
from agent_chat.records.value import Value
from agent_chat.storage import publication, recovery
from agent_chat.storage.filesystem import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.message import Message
    from agent_chat.storage.channel import Mutation
    from agent_chat.storage.journal import Journal


class Plan(Value):
    """What a command decided: who does what to what, the files before and after, and the audit message.

    `message` has its number, and the transaction's id. `audit_failed` is the code when it cannot be published.
    """

    operation: str
    actor: str
    target: str
    changes: tuple[Change, ...]
    message: Message
    audit_failed: str


class _Progress:
    """How far a commit came."""

    def __init__(self) -> None:
        self.phase = ""


def commit(mutation: Mutation, journal: Journal, plan: Plan) -> None:
    """Carries out a plan, durably, or undoes it.

    Fails with the journal's io_error or the plan's `audit_failed` when nothing was changed, with `cleanup_failed` when
    it is made and announced and its entry still open, with `rollback_failed` when a recovery has to decide.
    """
    entry = _entry(plan)
    assert all(journal.may_change(change.path) for change in entry.changes)
    progress = _Progress()
    try:
        _carry_out(mutation, journal, entry, plan, progress)
    except (OSError, ChatError, KeyboardInterrupt) as error:
        if not _settled(mutation, journal, entry, plan, progress, error):
            raise


def _entry(plan: Plan) -> Entry:
    """Makes the entry of a plan; every name that will be built is checked here, before anything is written."""
    message = plan.message
    assert message.transaction
    assert message.seq
    entry = Entry(
        id=message.transaction,
        operation=plan.operation,
        actor=plan.actor,
        target=plan.target,
        created=message.created,
        changes=tuple(change for change in plan.changes if change.before != change.after),
        message_file=names.message_file_name(message.seq, message.sender, message.title),
        message=message_record.render(message),
    )
    built = [recovery.history_name(entry, unique=True), entry.message_file]
    built += [change.path.rpartition("/")[2] for change in entry.changes]
    # Names and ids are bounded, and these bounds leave room; should one grow, it must not be found out half-way.
    assert all(len(name.encode("utf-8")) <= names.MAX_FILE_NAME_BYTES for name in built)
    return entry


def _carry_out(mutation: Mutation, journal: Journal, entry: Entry, plan: Plan, progress: _Progress) -> None:
    files, places = mutation.files, mutation.channel.layout
    _require_before(mutation, entry)
    _make_folders(mutation, journal)
    temporary = mutation.write_temporary(journal_entry.render(entry))
    publication.name_new(files, temporary, places.record(journal.entry), holds_lock=lambda: mutation.holds_lock)
    try:
        _require_before(mutation, entry)
    except OSError:
        files.remove(places.record(journal.entry))
        files.sync_folder(places.record(journal.audit))
        raise
    progress.phase = journal_entry.PREPARED
    for change in entry.changes:
        if not mutation.holds_lock:
            raise publication.LockLostError("the lock was deleted while it was held")
        recovery.write(mutation, change.path, change.after)
    for folder in entry.folders:
        files.sync_folder(places.record(folder))
    files.append(places.record(journal.entry), journal_entry.phase_line(journal_entry.APPLIED))
    progress.phase = journal_entry.APPLIED
    # Once it is visible the change is made: readers go by it, so it is never taken back.
    mutation.publish_as(entry.message_file, plan.message.seq, entry.message, stays=True)
    progress.phase = journal_entry.PUBLISHED
    files.append(places.record(journal.entry), journal_entry.phase_line(journal_entry.PUBLISHED))
    recovery.file(mutation, journal, entry)


def _require_before(mutation: Mutation, entry: Entry) -> None:
    """Refuses to go on where a file is not what it was when the change was planned.

    Whoever holds no lock, an editor or git, may be at it, or another process where the lock file was deleted: what they
    wrote must not be overwritten. It is looked at before the entry has its name, so that none is left in vain, and
    after, when no other process begins a change any more.
    """
    for change in entry.changes:
        if recovery.read(mutation.channel, change.path) != change.before:
            path = mutation.channel.layout.record(change.path)
            raise OSError(errno.EAGAIN, "it was changed meanwhile by another program", path)


def _make_folders(mutation: Mutation, journal: Journal) -> None:
    """Makes the folders that are missing, durably: what is put in them must not be lost with them.

    A folder that is there may be one whose maker was killed before its name was synced. That the names are safe is
    noted in the cache once they are; without the note they are synced again.
    """
    files, places = mutation.files, mutation.channel.layout
    note = places.cached(f"folders-{journal.name}")
    folders = (journal.name, journal.audit, *journal.folders)
    missing = [folder for folder in folders if not publication.exists(files, places.record(folder))]
    noted = publication.exists(files, note)
    if noted and not missing:
        return
    if noted:
        files.remove(note)
    for folder in dict.fromkeys(missing):
        files.make_folder(places.record(folder))
    files.sync_folder(places.record(journal.name))
    files.sync_folder(places.folder)
    files.make_folder(places.cache)
    files.write_new(note, b"", sync=False)


def _settled(
    mutation: Mutation, journal: Journal, entry: Entry, plan: Plan, progress: _Progress, error: BaseException
) -> bool:
    """Settles at once what a failure or an interruption left; True when the change is made all the same.

    Otherwise it fails with what the caller has to know, or returns for the interruption to go on.
    """
    channel = mutation.channel
    what = f"{plan.operation} {plan.target}"
    call = f"{journal.recovery} {channel.name} --as {plan.actor}"
    told = not isinstance(error, KeyboardInterrupt)
    try:
        settled = _settle_own(mutation, journal, entry, plan, progress)
    except KeyboardInterrupt as second:
        message = f"{what} was interrupted, and so was undoing it: {channel.workspace.call(call)}"
        raise KeyboardInterrupt(message) from second
    except (OSError, ChatError) as second:
        if not told:
            message = f"{what} was interrupted and could not be undone yet: {channel.workspace.call(call)}"
            raise KeyboardInterrupt(message) from second
        raise _not_settled(mutation, journal, entry, plan, progress, _reason(error), _reason(second)) from error
    filed = settled.outcome == recovery.NOTHING and progress.phase == journal_entry.PUBLISHED
    if settled.outcome == recovery.FINISHED or filed:
        # A name of the entry that a power loss takes back is found pending and published, and finished.
        return told
    if isinstance(error, OSError):
        code = plan.audit_failed if progress.phase == journal_entry.APPLIED else journal.io_error
        path = path_of(error)
        where = f": {path}" if path else ""
        raise channel.refusal(code, f"{_reason(error)}{where}; nothing was changed", path=path) from error
    return False


def _settle_own(
    mutation: Mutation, journal: Journal, entry: Entry, plan: Plan, progress: _Progress
) -> recovery.Settled:
    """Settles the entry of this very change; where the lock was lost, another's may be in its place."""
    if not progress.phase:
        found = recovery.opened(mutation.channel, journal)
        if found is None or found.entry is None or found.entry.id != entry.id:
            return recovery.Settled(outcome=recovery.NOTHING)
    if not mutation.holds_lock:
        raise publication.LockLostError("the lock was deleted while it was held, so another process may be at it")
    settled = recovery.settle(mutation, journal, actor=plan.actor)
    if settled.outcome == recovery.NOTHING and progress.phase in (journal_entry.PREPARED, journal_entry.APPLIED):
        raise publication.LockLostError("another process has settled it meanwhile; look what became of it")
    return settled


def _not_settled(
    mutation: Mutation, journal: Journal, entry: Entry, plan: Plan, progress: _Progress, first: str, second: str
) -> ChatError:
    """Returns what the caller has to know of a change that failed and could not be settled."""
    channel = mutation.channel
    what = f"{plan.operation} {plan.target}"
    call = f"{journal.recovery} {channel.name} --as {plan.actor}"
    try:
        published = progress.phase == journal_entry.PUBLISHED or recovery.is_published(channel, entry)
    except OSError:
        published = False
    if published:
        return channel.refusal(
            journal.cleanup_failed,
            f"{what} is made and announced as #{plan.message.seq}, but its entry is still open: {first}",
            call=call,
            seq=plan.message.seq,
            transaction=plan.message.transaction,
        )
    return channel.refusal(
        journal.rollback_failed,
        f"{what} failed ({first}) and could not be undone yet: {second}",
        call=call,
        transaction=plan.message.transaction,
    )


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
