"""The messages of a channel as files: which numbers there are, in what order, and what each file holds.

Readers take no lock. Numbers become visible in order, but one listing may show a newer file and miss an older one that
was added meanwhile; so whoever sees a number above its cursor lists once more and goes no further than that number.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat.names import MAX_SEQ
from agent_chat.records import message as message_record
from agent_chat.records.value import Value
from agent_chat.storage.filesystem import NotOrdinaryError, is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Optional, Union

    from agent_chat.records.message import Message
    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.workspace import Workspace

    Loaded = Union["Stored", "Refused", "Unfinished"]

# A file younger than this may still be on its way (an editor, a checkout); see the rule of unfinished files.
SETTLING_SECONDS = 2.0


class Stored(Value):
    """A message and the name of its file."""

    message: Message
    file: str


class Refused(Value):
    """A file that has the name of a message and is none."""

    file: str
    reason: str


class Unfinished(Value):
    """A file that may still be on its way: not delivered, and not passed over either."""

    file: str
    reason: str


def seq_of(name: str) -> int | None:
    """Returns the number in a message file's name, NNNN-….md, or None when the name is none of a message.

    Names that sync programs give to conflict copies (parentheses, ".sync-conflict-") are none.
    """
    head = name[: name.find("-")]
    if len(head) < 4 or not head.isdigit() or not head.isascii() or not name.endswith(".md"):
        return None
    if "(" in name or ".sync-conflict-" in name or len(head) > 9:
        return None
    return int(head) or None


class Numbers:
    """The message files of one listing: name by name, their numbers, and the highest of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.by_name: dict[str, int] = {}
        by_name = self.by_name
        for name in names:
            # The loop runs over every file of the channel; anything that cannot be a message goes at once.
            if name[:1].isdigit():
                seq = seq_of(name)
                if seq is not None:
                    by_name[name] = seq
        self.highest = max(by_name.values(), default=0)

    def known_at(self, seq: int) -> tuple[int, int]:
        """Returns how many messages lie at or below a number, and a sum over their names that tells sets apart."""
        below = [name for name, number in self.by_name.items() if number <= seq]
        encoded = map(_encoded, below)
        return len(below), sum(map(crc32, encoded)) & 0xFFFFFFFF

    def after(self, seq: int) -> list[tuple[int, list[str]]]:
        """Returns the numbers above one with their file names, in order; several names under one number are one unit."""
        units: dict[int, list[str]] = {}
        for name, number in self.by_name.items():
            if number > seq:
                units.setdefault(number, []).append(name)
        return [(number, sorted(units[number])) for number in sorted(units)]

    def names_of(self, seq: int) -> list[str]:
        """Returns the file names under one number."""
        return sorted(name for name, number in self.by_name.items() if number == seq)


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


class MessageStore:
    """Lock-free reads of one channel's messages."""

    def __init__(self, workspace: Workspace, layout: ChannelLayout) -> None:
        self._workspace = workspace
        self._layout = layout

    def numbers(self, *, above: int | None = None) -> Numbers:
        """Lists the channel. With `above`, lists once more when something lies above that number, and leaves out what
        was not there at the first look: what is returned has no gap that a writer is about to fill.
        """
        files = self._workspace.files
        first = Numbers(files.list_folder(self._layout.folder))
        if above is None or first.highest <= above:
            return first
        for name in files.list_folder(self._layout.folder):
            if name not in first.by_name and name[:1].isdigit():
                seq = seq_of(name)
                if seq is not None and seq <= first.highest:
                    first.by_name[name] = seq
        return first

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
        return Stored(message=message, file=name)

    def load_unit(self, seq: int, file_names: list[str]) -> list[Loaded]:
        """Reads the files of one number; a copy with the same bytes as another of them is refused as a copy."""
        loaded = [self.load(name, seq) for name in file_names]
        if len(loaded) == 1:
            return loaded
        seen: list[Message] = []
        unit: list[Loaded] = []
        for item in loaded:
            if isinstance(item, Stored):
                if item.message in seen:
                    item = Refused(file=item.file, reason="it is a copy of another file of that number")
                else:
                    seen.append(item.message)
            unit.append(item)
        return unit

    def stored(self, seq: int, file_names: list[str]) -> list[Stored]:
        """Returns the valid messages of one number."""
        return [item for item in self.load_unit(seq, file_names) if isinstance(item, Stored)]

    def stored_in(self, file_names: Iterable[str]) -> list[Stored]:
        """Returns the valid messages among some files, whatever their numbers."""
        loaded = [self.load(name, seq_of(name)) for name in file_names]
        return [item for item in loaded if isinstance(item, Stored)]

    def changed_since(self, file_names: Iterable[str], instant: float) -> list[str]:
        """Returns those files that came to their names at or after an instant, by the file system's own account."""
        late: list[str] = []
        for name in file_names:
            try:
                status = self._workspace.files.status(self._layout.file(name))
            except FileNotFoundError:
                continue
            if status.st_ctime >= instant:
                late.append(name)
        return late

    def _is_young(self, path: str, size: int) -> bool:
        """Tells whether a file may still be being written: changed within two seconds, or since it was read."""
        try:
            status = self._workspace.files.status(path)
        except FileNotFoundError:
            return True
        if not is_file(status):
            return False
        return abs(self._workspace.clock.now() - status.st_mtime) < SETTLING_SECONDS or status.st_size != size


def highest_trace(numbers: Numbers, names: Iterable[str], cursors: Iterable[int]) -> int:
    """Returns the highest number of which any trace is left, so that no number is used twice."""
    highest = max(cursors, default=0)
    for name in names:
        # Conflict copies and the like are no messages, yet they show that a number was used.
        head = name.lstrip(".#~")[:10].partition("-")[0]
        if len(head) >= 4 and head.isdigit() and head.isascii() and name not in numbers.by_name:
            highest = max(highest, int(head) if int(head) <= MAX_SEQ else 0)
    return max(highest, numbers.highest)


def newest(stored: Iterable[Stored]) -> Optional[Stored]:
    """Returns the last of several messages in the order of number and file name, or None."""
    return max(stored, key=lambda item: (item.message.seq, item.file), default=None)
