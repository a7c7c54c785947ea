"""Reading records without a lock: what is pending is shown as its recovery will decide.

A reader looks for a pending entry before and after each file that it reads; if that changed meanwhile, it reads again.
So each record is shown as it was before a change or after it, never as a change that is undone later.
"""

from __future__ import annotations

from agent_chat.records import journal_entry
from agent_chat.records.record_fields import VERSION
from agent_chat.records.value import Value
from agent_chat.storage import recovery
from agent_chat.storage.filesystem import NotOrdinaryError, path_of
from agent_chat.storage.journal import DAMAGED_CODES, journal_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import stat_result

    from agent_chat.errors import ChatError
    from agent_chat.records.record_fields import RecordError
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.journal import Journal
    from agent_chat.storage.recovery import Opened

    Mark = tuple[int, str, int, int, int]


class Told(Value):
    """What readers are told beside records: what is pending, and which records were set aside.

    `undecidable` tells that only a person can decide what is pending, so that the records are shown as they lie there.
    """

    pending: tuple[str, ...]
    faults: tuple[str, ...]
    undecidable: bool

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it."""
        return self.pending + self.faults


class RecordStore:
    """The records of one journal; with `locked` its user holds the channel's lock and knows that nothing is pending.

    Its methods fail with ChatError, by the codes of the journal.
    """

    def __init__(self, channel: Channel, journal: Journal, *, locked: bool = False) -> None:
        self.channel = channel
        self.journal = journal
        self._locked = locked
        self._looked = locked
        self._mark: Mark = (0, "", 0, 0, 0)
        self._pending: Opened | None = None
        self._decision = ""

    def read(self, place: str) -> bytes | None:
        """Returns the bytes of a record by its place below the channel, None where there is none.

        What is no ordinary file, or may not be read, is damage of this record alone, and has the code of that.
        """
        try:
            while True:
                self._require_look()
                data = recovery.read(self.channel, place)
                if self._locked or not self._has_changed():
                    return self._decided().get(place, data)
        except (NotOrdinaryError, PermissionError) as error:
            if path_of(error) != self.channel.layout.record(place):
                raise journal_error(self.channel, self.journal, error) from error
            call = f"doctor {self.channel.name}"
            code = DAMAGED_CODES[place.partition("/")[0]]
            how = "is no ordinary file" if isinstance(error, NotOrdinaryError) else "may not be read"
            raise self.channel.refusal(code, f"{self.channel.name}/{place} {how}", call=call, path=place) from error
        except OSError as error:
            raise journal_error(self.channel, self.journal, error) from error

    def refusal(self, place: str, error: RecordError, codes: Mapping[str, str]) -> ChatError:
        """Returns the error about a damaged record; `codes` are by what is wrong with it, "" for all else."""
        channel = self.channel
        if error.fault == VERSION:
            return channel.refusal("RECORD_VERSION", f"{channel.name}/{place}: {error}", path=place)
        code = codes.get(error.fault, codes[""])
        what = f"{channel.name}/{place} is damaged: {error}"
        return channel.refusal(code, what, call=f"doctor {channel.name}", path=place)

    def names(self, folder: str) -> list[str]:
        """Returns the names of the records in a folder, in order."""
        try:
            while True:
                self._require_look()
                found = self.channel.workspace.files.list_if_there(self.channel.layout.record(folder))
                if self._locked or not self._has_changed():
                    break
        except OSError as error:
            raise journal_error(self.channel, self.journal, error) from error
        names = {name for name in found if name.endswith(".json") and not name.startswith(".")}
        for place, data in self._decided().items():
            above, _, name = place.rpartition("/")
            if above == folder:
                names.discard(name)
                names.update(() if data is None else (name,))
        return sorted(names)

    @property
    def is_pending(self) -> bool:
        """Whether an entry is pending, healthy or damaged."""
        self._require_look()
        return self._pending is not None

    def concerns(self, place: str) -> bool:
        """Tells whether something pending is about a record; of a damaged entry nobody knows what it is about."""
        self._require_look()
        if self._pending is None:
            return False
        entry = self._pending.entry
        return entry is None or any(change.path == place for change in entry.changes)

    def pending_bytes(self) -> list[tuple[str, bytes | None]]:
        """Returns, of each record that something pending is about, its place with the bytes before, and those after."""
        self._require_look()
        entry = self._pending.entry if self._pending is not None else None
        changes = entry.changes if entry is not None else ()
        return [(each.path, data) for each in changes for data in (each.before, each.after)]

    def warnings(self) -> tuple[str, ...]:
        """Returns what a reader is told: that something is pending, what will become of it, and the way out."""
        self._require_look()
        if self._pending is None:
            return ()
        entry = self._pending.entry
        if self._pending.later:
            return (f"{self.channel.name}/{self._pending.place} is of a later version, and pending; update agent-chat",)
        what = "a damaged entry"
        if entry is not None:
            what = f"{entry.operation} of {entry.target} by {entry.actor or 'another program'}"
        will = {
            journal_entry.UNDO: "shown is the state before it, to which recovery returns",
            journal_entry.FINISH: "shown is the state after it, which recovery finishes",
        }.get(self._decision, "shown are the files as they are; recovery needs a person")
        call = self.channel.workspace.call(f"{self.journal.recovery} {self.channel.name} --as NAME")
        return (f"{what} is pending (under way, or interrupted); {will}: {call}",)

    def told(self, faults: Iterable[str]) -> Told:
        """Returns what a reader is told who had to set aside some records."""
        pending = self.warnings()
        decided = self._decision in (journal_entry.UNDO, journal_entry.FINISH)
        return Told(pending=pending, faults=tuple(faults), undecidable=bool(pending) and not decided)

    def mark(self) -> Mark:
        """Returns what changes when an entry becomes pending, reaches a phase, or is settled."""
        journal = self.journal
        folder = self._status(journal.audit)
        moved = folder.st_mtime_ns if folder is not None else 0
        for place in (journal.entry, journal.foreign):
            status = self._status(place) if folder is not None or place == journal.foreign else None
            if status is not None:
                return moved, place, status.st_ino, status.st_size, status.st_mtime_ns
        return moved, "", 0, 0, 0

    def _status(self, place: str) -> stat_result | None:
        try:
            return self.channel.workspace.files.status(self.channel.layout.record(place))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise journal_error(self.channel, self.journal, error) from error

    def _require_look(self) -> None:
        if self._looked:
            return
        self._mark = self.mark()
        try:
            pending = recovery.opened(self.channel, self.journal) if self._mark[1] else None
            entry = pending.entry if pending is not None else None
            self._decision = recovery.outlook(self.channel, entry) if entry is not None else ""
        except OSError as error:
            raise journal_error(self.channel, self.journal, error) from error
        self._pending = pending
        self._looked = True

    def _has_changed(self) -> bool:
        """Tells whether what is pending is no longer what it was; then all is looked at once more."""
        self._looked = self.mark() == self._mark
        return not self._looked

    def _decided(self) -> dict[str, bytes | None]:
        """Returns the bytes of the records in a pending entry as they will be."""
        entry = self._pending.entry if self._pending is not None else None
        if entry is None or self._decision not in (journal_entry.UNDO, journal_entry.FINISH):
            return {}
        undo = self._decision == journal_entry.UNDO
        return {change.path: change.before if undo else change.after for change in entry.changes}
