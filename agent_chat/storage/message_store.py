"""The messages of a channel as files: what each holds, and whether it is one.

Readers take no lock. Numbers become visible in order, but one listing may show a newer file and miss an older one that
was added meanwhile; so whoever goes through the numbers lists once more at the first that is missing, and goes no
further than the highest of the first listing.
"""

from __future__ import annotations

from agent_chat.names import message_file_name
from agent_chat.records import message as message_record
from agent_chat.records.value import Value
from agent_chat.storage import publication
from agent_chat.storage.filesystem import NotOrdinaryError, is_file
from agent_chat.storage.layout import TOMBSTONES
from agent_chat.storage.message_numbers import PLAUSIBLE_LEAD, Numbers, seq_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Union

    from agent_chat.records.message import Message
    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.tombstone_store import TombstoneStore
    from agent_chat.storage.workspace import Workspace

    Loaded = Union["Stored", "Refused", "Unfinished"]

# A file younger than this may still be on its way (an editor, a checkout); see the rule of unfinished files.
SETTLING_SECONDS = 2.0
COPY = "it is a copy of another file of that number"


class Stored(Value):
    """A message and the name of its file; `unverified` when it was found not to come from the session that it names."""

    message: Message
    file: str
    unverified: bool = False


class Refused(Value):
    """A file that has the name of a message and is none."""

    file: str
    reason: str


class Unfinished(Value):
    """A file that may still be on its way: not delivered, and not passed over either."""

    file: str
    reason: str


class MessageStore:
    """Lock-free reads of one channel's messages."""

    def __init__(self, workspace: Workspace, layout: ChannelLayout) -> None:
        self._workspace = workspace
        self._layout = layout
        self._tombstones: TombstoneStore | None = None

    def numbers(self, *, keep: bool = False) -> Numbers:
        """Lists the channel; iterating in order lists it once more where a number is missing.

        A file with a number far above all others that is no message is left out, lest a date spend the numbers; the
        doctor names it. What retention removed is looked up only where its file is listed; with `keep` that look-up is
        cached.
        """

        def listed() -> list[str]:
            return self._workspace.files.list_folder(self._layout.folder)

        began = self._workspace.clock.monotonic()
        numbers = Numbers(listed(), again=listed, listed_at=began)
        if TOMBSTONES in numbers.odd:
            removed = self.tombstones.numbers(keep=keep)
            if removed.highest > numbers.highest:
                # Below that number a message may have come after we listed, and a reader must not pass over it.
                numbers = Numbers(listed(), again=listed, listed_at=began)
            numbers.removed = removed
        if numbers.has_wide_gap:
            self._leave_out_strays(numbers)
        return numbers

    def _leave_out_strays(self, numbers: Numbers) -> None:
        """Leaves out the highest numbers down to the first message, where they are far above it."""
        strays: list[int] = []
        highest = 0
        for seq, file_names in numbers.before(numbers.highest + 1):
            if self._has_message(seq, file_names):
                highest = seq
                break
            strays.append(seq)
        for seq in strays:
            if seq > max(highest, numbers.highest_removed) + PLAUSIBLE_LEAD:
                numbers.leave_out(seq)

    def _has_message(self, seq: int, file_names: list[str]) -> bool:
        """Tells whether one of some files is a message, or may be one, since it cannot be read now."""
        try:
            return bool(self.stored(seq, file_names))
        except OSError:
            return True

    @property
    def tombstones(self) -> TombstoneStore:
        """What is kept of the messages that retention removed."""
        if self._tombstones is None:
            from agent_chat.storage.tombstone_store import TombstoneStore

            self._tombstones = TombstoneStore(self._workspace, self._layout)
        return self._tombstones

    def has_tombstones(self) -> bool:
        """Tells whether retention ever removed something here."""
        return publication.exists(self._workspace.files, self._layout.file(TOMBSTONES))

    def nothing(self) -> Numbers:
        """Returns the listing of a channel that could not be listed."""
        return Numbers(())

    def load(self, name: str, seq: int | None) -> Loaded:
        """Reads one file; a failing disk or a denied permission is an OSError, never "no message"."""
        path = self._layout.file(name)
        files = self._workspace.files
        try:
            data = files.read_file(path, message_record.MAX_FILE_BYTES)
        except FileNotFoundError:
            return Unfinished(file=name, reason="it vanished while the channel was read")
        except NotOrdinaryError as error:
            return Refused(file=name, reason=error.strerror or "no ordinary file")
        try:
            message = message_record.parse(data, seq=seq)
        except message_record.MessageError as error:
            if self._is_young(path, len(data)):
                return Unfinished(file=name, reason=f"it is not complete yet ({error})")
            return Refused(file=name, reason=str(error))
        if not data.endswith(b"\n") and self._is_young(path, len(data)):
            return Unfinished(file=name, reason="its last line has no end yet")
        if len(data) % message_record.PAGE_BYTES == 0 and self._is_young(path, len(data)):
            return Unfinished(file=name, reason="it may still grow")
        return Stored(message=message, file=name)

    def load_unit(self, seq: int, file_names: list[str]) -> list[Loaded]:
        """Reads the files of one number; a copy with the same bytes as another of them is refused as a copy."""
        loaded = [self.load(name, seq) for name in file_names]
        if len(loaded) == 1:
            return loaded
        loaded.sort(key=lambda item: (not _has_its_own_name(item), item.file))
        seen: list[Message] = []
        unit: list[Loaded] = []
        for item in loaded:
            if not isinstance(item, Stored):
                unit.append(item)
            elif item.message in seen:
                unit.append(Refused(file=item.file, reason=COPY))
            else:
                seen.append(item.message)
                unit.append(item)
        return sorted(unit, key=lambda item: item.file)

    def stored(self, seq: int, file_names: list[str]) -> list[Stored]:
        """Returns the valid messages of one number."""
        return [item for item in self.load_unit(seq, file_names) if isinstance(item, Stored)]

    def stored_in(self, file_names: Iterable[str]) -> list[Stored]:
        """Returns the valid messages among some files, whatever their numbers."""
        loaded = [self.load(name, seq_of(name)) for name in file_names]
        return [item for item in loaded if isinstance(item, Stored)]

    def changed_since(self, file_names: Iterable[str], instant: float) -> tuple[list[str], list[str]]:
        """Returns the files that came to their names at or after an instant, and those of them written since then.

        By the file system's own account; a change of permissions looks like an arrival, but not like writing.
        """
        changed: list[str] = []
        written: list[str] = []
        for name in sorted(file_names):
            try:
                status = self._workspace.files.status(self._layout.file(name))
            except FileNotFoundError:
                continue
            if status.st_ctime >= instant:
                changed.append(name)
                if status.st_mtime >= instant:
                    written.append(name)
        return changed, written

    def _is_young(self, path: str, size: int) -> bool:
        """Tells whether a file may still be being written: changed within two seconds, or since it was read."""
        try:
            status = self._workspace.files.status(path)
        except FileNotFoundError:
            return True
        if not is_file(status):
            return False
        if abs(self._workspace.clock.now() - status.st_mtime) < SETTLING_SECONDS:
            return True
        # Of a file that is too large only the beginning was read.
        return status.st_size != size and size <= message_record.MAX_FILE_BYTES


def _has_its_own_name(item: Loaded) -> bool:
    """Tells whether a file has the name that we would give it, so that of two copies it is the original."""
    if not isinstance(item, Stored):
        return False
    message = item.message
    return item.file == message_file_name(message.seq, message.sender, message.title)


def newest(stored: Iterable[Stored]) -> Stored | None:
    """Returns the last of several messages in the order of number and file name, or None."""
    return max(stored, key=lambda item: (item.message.seq, item.file), default=None)
