"""Replay: tasks, claims and path locks as the audit messages and the filed journal entries tell of them.

A pure fold over what was announced, in the order in which it happened; no record is looked at. Only statuses that no
post can have count. What cannot be read makes unknown what it is about, until something later tells of that again.
"""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.records import claim as claim_record
from agent_chat.records import json_codec, locked_path, path_lock, record_fields
from agent_chat.records import message as message_record
from agent_chat.records.task import FINAL, STATUSES
from agent_chat.records.value import Value
from agent_chat.storage.journal import CLAIMS, JOURNALS, LOCKS, TASKS
from agent_chat.storage.message_numbers import seq_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_chat.records.journal_entry import Entry
    from agent_chat.records.message import Message
    from agent_chat.storage.message_store import Stored

CREATED, UPDATED = "task.created", "task.updated"
GRANTS = ("lease.claimed", "lease.renewed", "lease.recovered")
LEAVES = ("lease.released", "lease.completed")
UNLOCKED = "path.lock.unlocked"
LOCKED = ("path.locked", "path.lock.renewed", "path.lock.recovered")
# The journal of a status, by how it begins.
_BEGINNINGS = {"task.": TASKS, "lease.": TASKS, "path.": LOCKS}
_KEPT = frozenset(journal.kept_status for journal in JOURNALS)


class Filed(Value):
    """A filed entry: where it lies, its transaction, the text of each file after it, and its audit message.

    `message` is empty where a message of the channel tells of it, or nothing says that it was announced.
    """

    place: str
    id: str
    target: str
    seq: int | None
    after: Mapping[str, bytes | None]
    message: bytes


class Told(Value):
    """What is told of one record; a claim that nobody holds and a lock that was given back are not `there`."""

    there: bool = True
    status: str | None = None
    owner: str | None = None
    expires: float | None = None
    paths: tuple[str, ...] | None = None


class Account:
    """What is known of one record: its id as it was told, what was told last, None when that is unknown, and by whom.

    `order` is the number under which that happened, `seq` the one that its message has now, `source` the message's
    file, or the place of an entry. `transactions` are those of all changes that may have written it, in order.
    """

    def __init__(self, record_id: str) -> None:
        self.id = record_id
        self.told: Told | None = None
        self.order = 0
        self.seq = 0
        self.source = ""
        self.transactions: list[str] = []


class _Announcement(Value):
    """One announcement; `order` is the number under which it was first made."""

    order: int
    source: str
    message: Message


class _UnexpectedError(ValueError):
    """The body of an audit message is not what its status promises."""


def filed_entry(entry: Entry, place: str, *, counts: bool) -> Filed:
    """Returns what a replay needs of an entry; with `counts` it alone tells of its change, which was announced."""
    return Filed(
        place=place,
        id=entry.id,
        target=entry.target,
        seq=seq_of(entry.message_file),
        after={change.path: change.after for change in entry.changes},
        message=entry.message if counts else b"",
    )


class History:
    """All accounts: of tasks and of the claims on them by the folded id of the task, of locks by theirs.

    `unclear` are the folders, `tasks` or `locks`, of which something was told that cannot be read.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, Account] = {}
        self.claims: dict[str, Account] = {}
        self.locks: dict[str, Account] = {}
        self.unclear: set[str] = set()

    def of(self, folder: str) -> dict[str, Account]:
        """Returns the accounts of the records in a folder."""
        return {TASKS: self.tasks, CLAIMS: self.claims, LOCKS: self.locks}[folder]

    def is_unclear(self, folder: str) -> bool:
        """Tells whether something that cannot be read may have been about the records in a folder."""
        return (LOCKS if folder == LOCKS else TASKS) in self.unclear

    def touches(self, folder: str, key: str) -> bool:
        """Tells whether anything in it is about a record, or may be."""
        return key in self.of(folder) or self.is_unclear(folder)


def replay(stored: Iterable[Stored], filed: Mapping[str, Filed]) -> History:
    """Returns what messages tell, and, where people deleted one, its filed entry; `filed` is by transaction."""
    history = History()
    seen: set[tuple[object, ...]] = set()
    for announced in sorted(_announcements(stored, filed), key=lambda each: (each.order, each.source)):
        message = announced.message
        # A message that is on its way to a new number is there twice.
        what = message.transaction or (announced.order, message.body)
        if message.status in _KEPT:
            _forget(history, message, filed.get(message.transaction), announced)
        elif (message.status, what) not in seen:
            seen.add((message.status, what))
            _take(history, announced)
    return history


def _announcements(stored: Iterable[Stored], filed: Mapping[str, Filed]) -> Iterator[_Announcement]:
    told: set[str] = set()
    for item in stored:
        message = item.message
        if _folder_of(message.status):
            told.add(message.transaction)
            yield _Announcement(order=message.was[0] if message.was else message.seq, source=item.file, message=message)
    for entry in filed.values():
        if not entry.message or entry.id in told:
            continue
        try:
            message = message_record.parse(entry.message)
        except message_record.MessageError:
            continue  # then it tells of nothing but its files: see `after`
        if _folder_of(message.status):
            yield _Announcement(order=message.seq, source=entry.place, message=message)


def is_of_records(status: str) -> bool:
    """Tells whether a message of that status is about a record."""
    return _folder_of(status) is not None


def _folder_of(status: str) -> str | None:
    return _BEGINNINGS.get(status[: status.find(".") + 1])


def written(account: Account, place: str, filed: Mapping[str, Filed]) -> tuple[str, bytes] | None:
    """Returns which entry wrote a record last, and its bytes; None where the filed entries do not tell it."""
    for transaction in reversed(account.transactions):
        entry = filed.get(transaction)
        if entry is None:
            return None
        if place in entry.after:
            data = entry.after[place]
            return None if data is None else (entry.place, data)
    return None


# -- one announcement after the other ----------------------------------------------------------------------------------


def _take(history: History, announced: _Announcement) -> None:
    """Adds what one message tells; one that cannot be read makes unknown what its title names."""
    message = announced.message
    folder = _folder_of(message.status)
    try:
        fields = json_codec.object_of(json_codec.decode(message.body.encode("utf-8")))
        if fields.get("event") != message.status:
            raise _UnexpectedError("event")
        if folder == LOCKS:
            lock_id = _id(fields, "lock_id", LOCKS)
            _set(history.locks, lock_id, _lock_told(message.status, fields), announced)
            return
        task_id = _id(fields, "task_id", TASKS)
        told = _task_told(message.status, fields)
        claim = _claim_told(message.status, fields, told, history.claims.get(names.fold(task_id)))
    except (json_codec.JsonError, _UnexpectedError):
        _unknown(history, LOCKS if folder == LOCKS else TASKS, _named(message), announced)
        return
    _set(history.tasks, task_id, told, announced)
    _set(history.claims, task_id, claim, announced)


def _set(accounts: dict[str, Account], record_id: str, told: Told | None, announced: _Announcement) -> None:
    """Writes what is told of a record; two announcements under one number have no order, so they tell nothing."""
    account = accounts.setdefault(names.fold(record_id), Account(record_id))
    if account.order == announced.order:
        told = None
    if told is None:
        account.transactions.clear()
    else:
        account.transactions.append(announced.message.transaction)
    if told is None or told != account.told or told.status is not None:
        account.id, account.seq, account.source = record_id, announced.message.seq, announced.source
    account.told, account.order = told, announced.order


def _named(message: Message) -> str | None:
    """Returns the id in the title of an audit message."""
    start = message.status + " "
    target = message.title[len(start) :] if message.title.startswith(start) else ""
    folder = _folder_of(message.status)
    good = path_lock.is_lock_id(target) if folder == LOCKS else names.fault_of_task_id(target) is None
    return target if good else None


def _unknown(history: History, folder: str, record_id: str | None, announced: _Announcement) -> None:
    """Makes a record unknown, a task with its claims; without an id all of them."""
    folders = (LOCKS,) if folder == LOCKS else (TASKS, CLAIMS)
    for each in folders:
        if record_id is not None:
            _set(history.of(each), record_id, None, announced)
            continue
        history.unclear.add(folder)
        for account in history.of(each).values():
            account.told, account.order = None, announced.order
            account.transactions.clear()


def _forget(history: History, message: Message, entry: Filed | None, announced: _Announcement) -> None:
    """Makes unknown what a kept entry is about, and everything of its journal where it cannot be read."""
    folder = LOCKS if _folder_of(message.status) == LOCKS else TASKS
    ids: set[str | None] = {None} if entry is None else {entry.target}
    for place, data in entry.after.items() if entry is not None else ():
        above, _, name = place.partition("/")
        if above != CLAIMS:
            ids.add(name[: -len(path_lock.END)])
        elif data is not None:
            ids.add(_claimed(data))
    for record_id in ids:
        _unknown(history, folder, record_id, announced)


def _claimed(data: bytes) -> str | None:
    """Returns the task of a claim by its file's bytes."""
    try:
        return claim_record.parse(data).task_id
    except record_fields.RecordError:
        return None


# -- what a body says --------------------------------------------------------------------------------------------------


def _id(fields: Mapping[str, object], key: str, folder: str) -> str:
    value = fields.get(key)
    if isinstance(value, str):
        good = path_lock.is_lock_id(value) if folder == LOCKS else names.fault_of_task_id(value) is None
        if good:
            return value
    raise _UnexpectedError(key)


def _text(fields: Mapping[str, object], key: str) -> str | None:
    value = fields.get(key, ...)
    if value is None or (isinstance(value, str) and value):
        return value
    raise _UnexpectedError(key)


def _instant(fields: Mapping[str, object], key: str) -> float | None:
    text = _text(fields, key)
    try:
        return None if text is None else timestamps.parse(text)
    except timestamps.TimestampError as error:
        raise _UnexpectedError(key) from error


def _task_told(status: str, fields: Mapping[str, object]) -> Told:
    """Returns what a message tells of its task."""
    told = Told(
        status=_text(fields, "status"), owner=_text(fields, "owner"), expires=_instant(fields, "lease_expires_at")
    )
    if told.status not in STATUSES or status not in (CREATED, UPDATED, *GRANTS, *LEAVES):
        raise _UnexpectedError("status")
    if status in GRANTS and (told.owner is None or told.expires is None):
        raise _UnexpectedError("owner")
    return told


def _claim_told(status: str, fields: Mapping[str, object], task: Told, before: Account | None) -> Told | None:
    """Returns what a message tells of the claim on its task, None for nothing that is known.

    An update leaves a claim as it was, and a task that is final has none.
    """
    owner = _text(fields, "lease_owner") if "lease_owner" in fields else None
    if status in LEAVES or status == CREATED or task.status in FINAL:
        return Told(there=False)
    if status in GRANTS or (owner is not None and task.expires is not None):
        return Told(owner=owner or task.owner, expires=task.expires)
    known = before.told if before is not None else None
    if known is not None and known.expires == task.expires:
        return known
    return None


def _lock_told(status: str, fields: Mapping[str, object]) -> Told:
    """Returns what a message tells of its lock."""
    if status == UNLOCKED:
        return Told(there=False)
    told = Told(owner=_text(fields, "owner"), expires=_instant(fields, "expires_at"), paths=_paths(fields))
    if status not in LOCKED or told.owner is None or told.expires is None:
        raise _UnexpectedError("owner")
    return told


def _paths(fields: Mapping[str, object]) -> tuple[str, ...]:
    items = fields.get("paths")
    if not isinstance(items, list):
        raise _UnexpectedError("paths")
    try:
        return tuple(locked_path.parse_path(item).normalized_path for item in items)
    except ValueError as error:
        raise _UnexpectedError("paths") from error


# -- what is missing ---------------------------------------------------------------------------------------------------


def last_gap(covered: Iterable[int], unread: Iterable[int]) -> int:
    """Returns the highest number of which nothing is known, 0 without one: it may have told of anything.

    `covered` are the numbers of messages and of filed entries, `unread` those with a file that is no message.
    """
    lost = set(unread)
    gap = max(lost, default=0)
    before = 0
    for number in sorted(set(covered) | lost):
        if number > before + 1:
            gap = max(gap, number - 1)
        before = number
    return gap
