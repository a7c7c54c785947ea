"""What the doctor finds by a replay: tasks, claims and path locks that are not as they were announced.

The records stay the authority. Messages are read before the records, so a difference counts only if no newer message is
about that record: else a writer was at work, and both are looked at again.
"""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.errors import ChatError
from agent_chat.operations import journal_checks, lock_records, replay, task_records
from agent_chat.operations.findings import Finding, unreadable
from agent_chat.operations.replay import Told
from agent_chat.records import claim as claim_record
from agent_chat.records import path_lock
from agent_chat.records import task as task_record
from agent_chat.records.record_fields import RecordError
from agent_chat.records.value import Value
from agent_chat.storage.filesystem import path_of
from agent_chat.storage.journal import CLAIMS, JOURNALS, LOCKS, OF_LOCKS, OF_TASKS, TASKS
from agent_chat.storage.message_numbers import seq_of
from agent_chat.storage.message_store import Stored
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_chat.operations.replay import Account, Filed
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers

_LOOKS = 3
_SHOWN = 5
_TEXT = 80
_TOMBSTONES = "tombstones.md"
_IDS = {TASKS: "task.replay", CLAIMS: "claim.replay", LOCKS: "lock.replay"}
_KEEP = "keep it: the record counts"
# The same in all records of a channel, or told by other checks.
_NOT_COMPARED = ("channel", "schema_version")


class Found(Value):
    """A record on the disk: its key among the accounts, where it lies, its bytes, and what it says."""

    key: str
    place: str
    data: bytes
    says: Told


class _Doubt(Value):
    """A difference that a newer message may explain."""

    folder: str
    key: str
    finding: Finding


def check(
    channel: Channel,
    numbers: Numbers,
    stored: Sequence[Stored],
    filed: Mapping[str, Filed],
    removed: Sequence[Tombstone] = (),
) -> Iterator[Finding]:
    """Yields where the records of a channel are not as its messages and filed entries tell.

    `numbers` is the listing by which the messages `stored` were read; `filed` are the entries by transaction,
    `removed` is what retention removed.
    """
    every, listed = list(stored), numbers
    wanted: set[tuple[str, str]] | None = None
    for _ in range(_LOOKS):
        look = _Look(channel, listed, every, filed, removed)
        doubts = [each for each in look.doubts() if wanted is None or (each.folder, each.key) in wanted]
        yield from look.unread
        if not doubts:
            return
        try:
            listed, newer, is_whole = _newer(channel, listed)
        except OSError as error:
            yield unreadable(path_of(error) or channel.layout.folder, error, id="message.file")
            return
        since = replay.replay(newer, {})
        wanted = {(each.folder, each.key) for each in doubts if not is_whole or since.touches(each.folder, each.key)}
        yield from (each.finding for each in doubts if (each.folder, each.key) not in wanted)
        every += newer


def _newer(channel: Channel, listed: Numbers) -> tuple[Numbers, list[Stored], bool]:
    """Lists the channel anew; returns the messages above the highest number known, and whether all can be read."""
    numbers = channel.messages.numbers()
    loaded = [item for seq, files in numbers.after(listed.highest) for item in channel.messages.load_unit(seq, files)]
    found = [item for item in loaded if isinstance(item, Stored)]
    return numbers, found, len(found) == len(loaded)


class _Look:
    """One look at all records beside what is told of them; `unread` are findings about what could not be read."""

    def __init__(
        self,
        channel: Channel,
        numbers: Numbers,
        stored: Sequence[Stored],
        filed: Mapping[str, Filed],
        removed: Sequence[Tombstone],
    ) -> None:
        self.unread: list[Finding] = []
        self._channel = channel
        self._history = replay.replay(stored, filed)
        self._filed = filed
        self._now = channel.workspace.clock.now()
        files = {item.file for item in stored}
        lost = {seq_of(name) or 0 for name in numbers.names_up_to(numbers.highest) if name not in files}
        known = [number for item in stored for number in (item.message.seq, *item.message.was)]
        known += [entry.seq for entry in filed.values() if entry.seq is not None]
        # What was removed told of no record, or its entry does in its place; else it is a gap.
        spoke = [each for each in removed if not replay.is_of_records(each.status) or each.transaction in filed]
        known += [number for each in spoke for number in (each.seq, *each.was)]
        self._gap = replay.last_gap((number for number in known if number <= numbers.highest), lost)
        self._is_whole = not self._gap and _TOMBSTONES not in numbers.odd
        self._mentioned = {place for entry in filed.values() for place in entry.after}

    def doubts(self) -> list[_Doubt]:
        """Returns where records and accounts differ; what recovery cannot decide is left out."""
        found: list[_Doubt] = []
        for journal in JOURNALS:
            try:
                left_out = journal_checks.undecidable(self._channel, journal)
                if journal_checks.is_unreadable(self._channel, journal):
                    continue
            except OSError as error:
                self._note(journal.entry, error)
                continue
            of_journal = self._of_tasks() if journal is OF_TASKS else self._of_locks()
            found += [each for each in of_journal if each.finding.path not in left_out]
        return found

    # -- the records ---------------------------------------------------------------------------------------------------

    def _of_tasks(self) -> Iterator[_Doubt]:
        records = RecordStore(self._channel, OF_TASKS)
        tasks, claims = self._load(records, TASKS), self._load(records, CLAIMS)
        if tasks is not None:
            damaged = {names.fold(name[: -len(task_records.END)]) for name in tasks[1]}
            yield from self._compared(TASKS, tasks[0], lambda task_id: names.fold(task_id) in damaged)
        if claims is not None:
            others = claims[1]
            yield from self._compared(
                CLAIMS, claims[0], lambda task_id: any(claim_record.may_be_of(name, task_id) for name in others)
            )

    def _of_locks(self) -> Iterator[_Doubt]:
        locks = self._load(RecordStore(self._channel, OF_LOCKS), LOCKS)
        if locks is not None:
            damaged = {name[: -len(path_lock.END)] for name in locks[1]}
            yield from self._compared(LOCKS, locks[0], lambda lock_id: lock_id in damaged)

    def _load(self, records: RecordStore, folder: str) -> tuple[list[Found], list[str]] | None:
        """Returns the sound records of a folder and the names of the others, None where it cannot be listed."""
        sound: list[Found] = []
        others: list[str] = []
        try:
            listed = records.names(folder)
        except ChatError as error:
            self._note(folder, error.__cause__)
            return None
        for name in listed:
            place = f"{folder}/{name}"
            try:
                data = records.read(place)
                if data is not None:
                    sound.append(_PARSERS[folder](records, place, data))
            except ChatError as error:
                others.append(name)
                self._note(place, error.__cause__)
        return sound, others

    def _note(self, place: str, error: BaseException | None) -> None:
        """Keeps a finding about what the disk did not give; of what is damaged other checks tell."""
        if isinstance(error, OSError):
            path = path_of(error) or self._channel.layout.record(place)
            self.unread.append(unreadable(path, error, id="record.file"))

    # -- beside what is told of them -----------------------------------------------------------------------------------

    def _compared(self, folder: str, found: Sequence[Found], is_damaged: Callable[[str], bool]) -> Iterator[_Doubt]:
        accounts = self._history.of(folder)
        by_key: dict[str, list[Found]] = {}
        for record in found:
            by_key.setdefault(record.key, []).append(record)
        for key, account in accounts.items():
            there = by_key.get(key, [])
            twice = folder == TASKS and len(there) > 1  # other checks tell of it
            if account.told is not None and not twice and self._is_certain(account) and not is_damaged(account.id):
                yield from self._beside(folder, key, account, account.told, there)
        if self._is_whole and not self._history.is_unclear(folder):
            for record in found:
                if record.key not in accounts and record.place not in self._mentioned:
                    remedy = f"look who made it, and move it away, or {_KEEP}"
                    yield self._doubt(folder, record.key, record.place, "nothing tells how it came about", remedy)

    def _is_certain(self, account: Account) -> bool:
        """Tells whether nothing newer is lost that may have told of a record; its change would be in the journal."""
        return account.order > self._gap or account.transactions[-1] in self._filed

    def _beside(self, folder: str, key: str, account: Account, told: Told, there: Sequence[Found]) -> Iterator[_Doubt]:
        by = account.source if "/" in account.source else f"#{account.seq}"
        meant = [each for each in there if told.there and (folder != CLAIMS or _same(told.owner, each.says.owner))]
        for record in there:
            if record in meant:
                entry, differing = self._difference(folder, account, told, record)
                if differing:
                    texts = [", ".join(f"{name} {pair[side]}" for name, pair in differing.items()) for side in (0, 1)]
                    text = f"{entry or by} tells of {texts[0]}; it says {texts[1]}"
                    yield self._doubt(folder, key, record.place, text, _restoring(entry or account.source))
            else:
                gone = "was given back" if folder == LOCKS else f"is gone: {told.owner or 'nobody'} holds the task"
                text = f"{by} tells that it {gone}, and it is there"
                yield self._doubt(folder, key, record.place, text, f"move it away, or {_KEEP}")
        if told.there and not meant and (folder == TASKS or (told.expires or 0.0) > self._now):
            place = _place_of(folder, account.id, told)
            exact = replay.written(account, place, self._filed)
            said = ", ".join(f"{name} {value}" for name, value in _fields(told).items())
            text = f"{by} tells of it ({said}), and it is not there"
            yield self._doubt(folder, key, place, text, _restoring(exact[0] if exact else account.source))

    def _difference(
        self, folder: str, account: Account, told: Told, record: Found
    ) -> tuple[str, dict[str, tuple[str, str]]]:
        """Returns the fields that differ, as told and as they are, and the entry that tells, if one does."""
        exact = replay.written(account, record.place, self._filed)
        if exact is not None and exact[1] == record.data:
            return exact[0], {}
        try:
            wanted = _READERS[folder](exact[1]) if exact is not None else None
        except RecordError:
            wanted = None
        if exact is None or wanted is None:
            said, says = _fields(told), _fields(record.says)
            same = {"owner"} if _same(told.owner, record.says.owner) else set()
            return "", _differing(said, says, same)
        return exact[0], _differing(wanted, _READERS[folder](record.data), set(_NOT_COMPARED))

    def _doubt(self, folder: str, key: str, place: str, message: str, remedy: str) -> _Doubt:
        path = self._channel.layout.record(place)
        finding = Finding(id=_IDS[folder], path=path, message=message, remedy=remedy)
        return _Doubt(folder=folder, key=key, finding=finding)


# -- what a record says ------------------------------------------------------------------------------------------------


def _task(records: RecordStore, place: str, data: bytes) -> Found:
    task = task_records.parse_task(records, place, data).task
    says = Told(status=task.status, owner=task.owner, expires=task.lease_expires_at)
    return Found(key=names.fold(task.id), place=place, data=data, says=says)


def _claim(records: RecordStore, place: str, data: bytes) -> Found:
    claim = task_records.parse_claim(records, place, data).claim
    says = Told(owner=claim.owner, expires=claim.lease.expires)
    return Found(key=names.fold(claim.task_id), place=place, data=data, says=says)


def _lock(records: RecordStore, place: str, data: bytes) -> Found:
    lock = lock_records.parse_lock(records, place, data).lock
    assert lock is not None
    paths = tuple(path.normalized_path for path in lock.paths)
    says = Told(owner=lock.owner, expires=lock.lease.expires, paths=paths)
    return Found(key=names.fold(lock.lock_id), place=place, data=data, says=says)


_PARSERS: dict[str, Callable[[RecordStore, str, bytes], Found]] = {TASKS: _task, CLAIMS: _claim, LOCKS: _lock}
_READERS: dict[str, Callable[[bytes], dict[str, object]]] = {
    TASKS: lambda data: task_record.to_json(task_record.parse(data)),
    CLAIMS: lambda data: claim_record.to_json(claim_record.parse(data)),
    LOCKS: lambda data: path_lock.to_json(path_lock.parse(data)),
}


def _place_of(folder: str, record_id: str, told: Told) -> str:
    """Returns where a record would lie."""
    if folder == CLAIMS:
        return f"{CLAIMS}/{claim_record.file_name(record_id, told.owner or '')}"
    return task_records.place_of(record_id) if folder == TASKS else lock_records.place_of(record_id)


def _same(one: str | None, other: str | None) -> bool:
    return one == other or (one is not None and other is not None and names.same(one, other))


# -- texts -------------------------------------------------------------------------------------------------------------


def _fields(told: Told) -> dict[str, object]:
    """Returns what is told, by the words for it."""
    lease = "none" if told.expires is None else f"until {timestamps.format_utc(told.expires)}"
    fields: dict[str, object] = {"status": told.status} if told.status is not None else {}
    fields.update(owner=told.owner or "nobody", lease=lease)
    if told.paths is not None:
        fields["paths"] = told.paths
    return fields


def _differing(told: Mapping[str, object], says: Mapping[str, object], passed: set[str]) -> dict[str, tuple[str, str]]:
    """Returns the fields that differ as short texts, the first few of them."""
    names_of = [name for name in told if name not in passed and told[name] != says.get(name)]
    return {name: (_short(told[name]), _short(says.get(name))) for name in names_of[:_SHOWN]}


def _short(value: object) -> str:
    if isinstance(value, (list, tuple)):
        items = [str(each.get("normalized_path")) if isinstance(each, dict) else str(each) for each in value]
        value = ", ".join(items) if items else None
    text = "none" if value is None else str(value)
    return text if len(text) <= _TEXT else text[:_TEXT] + "…"


def _restoring(source: str) -> str:
    return f"{source} has what was announced last: restore it from there, or {_KEEP}"
