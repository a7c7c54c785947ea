"""Recovery: looks at what an interrupted change left, asks the pure decision, and carries it out.

Before an entry is removed or filed, everything that the decision relied on is synced once more: a killed writer leaves
effects that are visible and not yet durable.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.records import foreign_marker, journal_entry, json_codec
from agent_chat.records import message as message_record
from agent_chat.records.journal_entry import Change, Entry
from agent_chat.records.record_fields import MAX_BYTES
from agent_chat.records.value import Value
from agent_chat.storage import publication
from agent_chat.storage.filesystem import NotOrdinaryError, path_of
from agent_chat.storage.message_store import Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel, Mutation
    from agent_chat.storage.journal import Journal

UNDONE = "undone"
FINISHED = "finished"
KEPT = "kept"
NOTHING = "nothing pending"

ROLLBACK = "rollback"
AS_PUBLISHED = "published"


class Opened(Value):
    """What is pending: where it lies, its entry, None when it is damaged, and what is wrong with it."""

    place: str
    entry: Entry | None
    fault: str = ""
    later: bool = False


class Settled(Value):
    """What a recovery did, and with which transaction; `seq` is the message that told of it, where there is one."""

    outcome: str
    transaction: str | None = None
    seq: int | None = None


def opened(channel: Channel, journal: Journal) -> Opened | None:
    """Returns what is pending in a journal, or None."""
    files, places = channel.workspace.files, channel.layout
    try:
        data = files.read_file(places.record(journal.entry), journal_entry.MAX_BYTES)
    except FileNotFoundError:
        return _foreign(channel, journal)
    except NotOrdinaryError as error:
        return _not_ordinary(channel, journal.entry, error)
    try:
        entry = journal_entry.parse(data)
    except journal_entry.EntryError as error:
        later = isinstance(error, journal_entry.LaterEntryError)
        return Opened(place=journal.entry, entry=None, fault=str(error), later=later)
    return _checked(journal, Opened(place=journal.entry, entry=entry))


def _foreign(channel: Channel, journal: Journal) -> Opened | None:
    """Returns what another program left pending, or None."""
    try:
        data = channel.workspace.files.read_file(channel.layout.record(journal.foreign), journal_entry.MAX_BYTES)
    except FileNotFoundError:
        return None
    except NotOrdinaryError as error:
        return _not_ordinary(channel, journal.foreign, error)
    try:
        entry = foreign_marker.parse(data, journal.folders[-1], lambda place: read(channel, place))
    except journal_entry.EntryError as error:
        return Opened(place=journal.foreign, entry=None, fault=str(error))
    return _checked(journal, Opened(place=journal.foreign, entry=entry))


def _not_ordinary(channel: Channel, place: str, error: NotOrdinaryError) -> Opened:
    """Returns a link, folder or pipe in the place of an entry as a damaged one; a folder that is none is an error."""
    if path_of(error) != channel.layout.record(place):
        raise error
    return Opened(place=place, entry=None, fault="it is no ordinary file")


def _checked(journal: Journal, found: Opened) -> Opened:
    """Refuses an entry that would change what is none of its journal's business."""
    assert found.entry is not None
    for change in found.entry.changes:
        if not journal.may_change(change.path):
            return Opened(
                place=found.place, entry=None, fault=f"{names.quoted(change.path)} is no record of its journal"
            )
    return found


def read(channel: Channel, place: str) -> bytes | None:
    """Returns the bytes of a record's file as they are, None where there is none."""
    try:
        return channel.workspace.files.read_file(channel.layout.record(place), MAX_BYTES)
    except FileNotFoundError:
        return None


def is_published(channel: Channel, entry: Entry) -> bool | None:
    """Tells whether the audit message of an entry is visible; None where nothing can tell."""
    if entry.is_foreign:
        return _is_foreign_published(channel, entry)
    try:
        data = channel.workspace.files.read_file(channel.layout.file(entry.message_file), message_record.MAX_FILE_BYTES)
    except FileNotFoundError:
        return False
    except NotOrdinaryError:
        return None
    try:
        return data == entry.message or message_record.parse(data).transaction == entry.id
    except message_record.MessageError:
        return None


def _is_foreign_published(channel: Channel, entry: Entry) -> bool | None:
    status, transaction = entry.proof
    if not transaction:
        # A marker of the first version has no id; its phases still tell what came before and after the message.
        return {journal_entry.PREPARED: False, journal_entry.PUBLISHED: True}.get(entry.phase)
    numbers = channel.messages.numbers()
    unread = False
    for seq, files in numbers.before(numbers.highest + 1):
        for item in channel.messages.load_unit(seq, files):
            if not isinstance(item, Stored):
                unread = True  # it may be the one, half-way there or damaged
            elif item.message.status == status and _transaction_in(item.message.body) == transaction:
                return True
    return None if unread else False


def _transaction_in(body: str) -> object:
    """Returns the transaction id in the body of another program's audit message."""
    try:
        return json_codec.object_of(json_codec.decode(body.encode("utf-8"))).get("transaction_id")
    except json_codec.JsonError:
        return None


def outlook(channel: Channel, entry: Entry) -> str:
    """Returns what a recovery of an entry will do, for who only looks: REFUSE where a file of it may not be read."""
    places = [channel.layout.record(change.path) for change in entry.changes]
    try:
        return decision(channel, entry)
    except PermissionError as error:
        if path_of(error) not in (*places, channel.layout.file(entry.message_file)):
            raise
        return journal_entry.REFUSE


def decision(channel: Channel, entry: Entry, resolution: str | None = None) -> str:
    """Returns what a recovery of an entry does; `resolution` counts only where nothing proves publication."""
    visible = is_published(channel, entry)
    if visible is None and entry.is_foreign and resolution is not None:
        visible = resolution == AS_PUBLISHED
    return journal_entry.decide(entry.phase, visible, _states(channel, entry))


def _states(channel: Channel, entry: Entry) -> list[str]:
    """Returns what each file of an entry is found to be; what is no ordinary file is neither."""
    return [_state(channel, change) for change in entry.changes]


def _state(channel: Channel, change: Change) -> str:
    try:
        return journal_entry.state_of(change, read(channel, change.path))
    except NotOrdinaryError as error:
        if path_of(error) != channel.layout.record(change.path):
            raise
        return journal_entry.NEITHER


def settle(
    mutation: Mutation, journal: Journal, *, actor: str, resolution: str | None = None, keep: bool = False
) -> Settled:
    """Undoes or finishes what is pending in a journal, durably; with `keep` files what is damaged as it is.

    Fails with the journal's code for a damaged entry, RECORD_VERSION, LEASE_TRANSACTION_PUBLICATION_UNKNOWN, and with
    OSError, after which the entry is still pending.
    """
    channel = mutation.channel
    found = opened(channel, journal)
    if found is None:
        return Settled(outcome=NOTHING)
    entry = found.entry
    decided = journal_entry.REFUSE if entry is None else decision(channel, entry, resolution)
    if entry is None or decided == journal_entry.REFUSE:
        if not keep or found.later:
            raise _refusal(channel, journal, found, actor, resolution)
        return _keep(mutation, journal, found, actor)
    if decided == journal_entry.UNDO:
        _undo(mutation, journal, found.place, entry)
        return Settled(outcome=UNDONE, transaction=entry.id)
    _finish(mutation, journal, found.place, entry, actor)
    return Settled(outcome=FINISHED, transaction=entry.id)


def _refusal(channel: Channel, journal: Journal, found: Opened, actor: str, resolution: str | None) -> ChatError:
    """Returns why a pending entry cannot be settled."""
    call = f"{journal.recovery} {channel.name} --as {actor}"
    where = f"{channel.name}/{found.place}"
    entry = found.entry
    if found.later:
        return channel.refusal("RECORD_VERSION", f"{where}: {found.fault}")
    unknown = entry is not None and resolution is None and is_published(channel, entry) is None
    if entry is not None and entry.is_foreign and unknown and journal_entry.NEITHER not in _states(channel, entry):
        return channel.refusal(
            "LEASE_TRANSACTION_PUBLICATION_UNKNOWN",
            f"{where} ({entry.operation} of {entry.target}) was applied, and nothing proves whether it was announced: "
            f"look for its message, then repeat with --resolve-publication {AS_PUBLISHED} (it is there) or "
            f"{ROLLBACK} (it is not)",
            call=f"search {channel.name} {entry.target}",
        )
    fault = found.fault or "a file, or its message, is neither as before nor as after it"
    return channel.refusal(journal.invalid, f"{where} is damaged: {fault}; nothing was changed", call=f"{call} --keep")


def _undo(mutation: Mutation, journal: Journal, place: str, entry: Entry) -> None:
    """Makes all files as they were before, then removes the entry."""
    channel = mutation.channel
    for folder in entry.folders:
        # Git takes a folder away with its last file.
        if not publication.exists(mutation.files, channel.layout.record(folder)):
            mutation.files.make_folder(channel.layout.record(folder))
    for change in reversed(entry.changes):
        write(mutation, change.path, change.before)
    _sync(mutation, journal, entry)
    mutation.files.remove(channel.layout.record(place))
    mutation.files.sync_folder(channel.layout.record(place.rpartition("/")[0]))


def _finish(mutation: Mutation, journal: Journal, place: str, entry: Entry, actor: str) -> None:
    """Makes what was published durable, then files the entry; another program's is removed."""
    channel = mutation.channel
    _sync(mutation, journal, entry)
    if entry.is_foreign:
        mutation.files.remove(channel.layout.record(place))
        mutation.files.sync_folder(channel.layout.record(place.rpartition("/")[0]))
        return
    line = journal_entry.phase_line(journal_entry.RECOVERED + actor, torn=entry.torn)
    mutation.files.append(channel.layout.record(place), line)
    file(mutation, journal, entry)


def file(mutation: Mutation, journal: Journal, entry: Entry) -> None:
    """Gives the pending entry its permanent name, durably, never replacing another."""
    channel = mutation.channel
    name = history_name(entry)
    if publication.exists(mutation.files, channel.layout.record(f"{journal.audit}/{name}")):
        name = history_name(entry, unique=True)
    mutation.files.replace(channel.layout.record(journal.entry), channel.layout.record(f"{journal.audit}/{name}"))
    mutation.files.sync_folder(channel.layout.record(journal.audit))


def history_name(entry: Entry, *, unique: bool = False) -> str:
    """Returns the permanent name of an entry: `<UTC>-<actor>-<operation>-<target>.md`; a clash takes the id too."""
    when = "".join(sign for sign in entry.created[:19] if sign not in "-:")
    end = f"-{entry.id}" if unique else ""
    return f"{when}Z-{entry.actor}-{entry.operation}-{entry.target}{end}.md"


def write(mutation: Mutation, place: str, data: bytes | None) -> None:
    """Makes a record's file hold these bytes, or none; its folder is left to be synced."""
    channel = mutation.channel
    if read(channel, place) == data:
        return
    path = channel.layout.record(place)
    if data is None:
        mutation.files.remove(path)
    else:
        publication.replace(mutation.files, mutation.write_temporary(data), path)


def _sync(mutation: Mutation, journal: Journal, entry: Entry) -> None:
    """Syncs every folder that a decision about an entry relied on: of the records, the messages and the journal."""
    channel = mutation.channel
    folders = [channel.layout.record(folder) for folder in entry.folders]
    if not entry.is_foreign:
        folders.append(channel.layout.record(journal.audit))
    for folder in [*folders, channel.layout.folder]:
        if publication.exists(mutation.files, folder):
            mutation.files.sync_folder(folder)


def _keep(mutation: Mutation, journal: Journal, found: Opened, actor: str) -> Settled:
    """Announces a damaged entry, then files it, and leaves the files that it is about as they are."""
    channel = mutation.channel
    now = channel.workspace.clock.timestamp()
    path = channel.layout.record(found.place)
    entry = found.entry
    if entry is not None and entry.id:
        transaction = entry.id
    else:
        transaction = _name_of_damaged(mutation, journal, path)
    seq = _announced(channel, journal, transaction)
    if seq is None:
        fields = {
            "channel": channel.name,
            "event": journal.kept_status,
            "fault": found.fault or "a file is neither as before nor as after it",
            "transaction_id": transaction,
        }
        seq, _ = mutation.publish(
            message_record.Message(
                seq=0,
                sender=actor,
                title=f"{journal.kept_status} {transaction}",
                body=json_codec.encode(fields, indent=2) + "\n",
                created=now,
                status=journal.kept_status,
                transaction=transaction,
            )
        )
    else:
        mutation.files.sync_folder(channel.layout.folder)  # whoever announced it may have been killed before
    when = "".join(sign for sign in now[:19] if sign not in "-:")
    name = f"{when}Z-{actor}-kept-{transaction}"
    mutation.files.make_folder(channel.layout.record(journal.name))
    mutation.files.make_folder(channel.layout.record(journal.audit))
    if publication.exists(mutation.files, channel.layout.record(f"{journal.audit}/{name}.md")):
        name += f"-{channel.workspace.ids.fresh()}"
    mutation.files.replace(path, channel.layout.record(f"{journal.audit}/{name}.md"))
    for folder in dict.fromkeys((found.place.rpartition("/")[0], journal.audit, journal.name)):
        mutation.files.sync_folder(channel.layout.record(folder))
    mutation.files.sync_folder(channel.layout.folder)
    return Settled(outcome=KEPT, transaction=transaction, seq=seq)


def _name_of_damaged(mutation: Mutation, journal: Journal, path: str) -> str:
    """Returns what stands for the id of a damaged entry: the same until it is filed, and then never again."""
    name = f"damaged-{_sum_of(mutation, path):08x}"
    listed = mutation.files.list_if_there(mutation.channel.layout.record(journal.audit))
    before = sum(f"-kept-{name}" in each for each in listed)
    return f"{name}-{before + 1}" if before else name


def _sum_of(mutation: Mutation, path: str) -> int:
    """Returns a number that tells one damaged entry from another, the same at each look."""
    try:
        return crc32(mutation.files.read_file(path, journal_entry.MAX_BYTES))
    except NotOrdinaryError:
        return mutation.files.status(path).st_ino & 0xFFFFFFFF


def _announced(channel: Channel, journal: Journal, transaction: str) -> int | None:
    """Returns the message that told that an entry is kept, if one did before a kill."""
    numbers = channel.messages.numbers()
    for seq, files in numbers.before(numbers.highest + 1):
        for stored in channel.messages.stored(seq, files):
            if stored.message.status == journal.kept_status and stored.message.transaction == transaction:
                return seq
    return None
