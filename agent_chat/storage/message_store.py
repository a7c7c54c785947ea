"""The messages of a channel as files: which numbers there are, in what order, and what each file holds.

Readers take no lock. Numbers become visible in order, but one listing may show a newer file and miss an older one that
was added meanwhile; so whoever goes through the numbers lists once more at the first that is missing, and goes no
further than the highest of the first listing.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat.names import MAX_SEQ, fold
from agent_chat.records import message as message_record
from agent_chat.records.value import Value
from agent_chat.storage.filesystem import NotOrdinaryError, is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Union

    from agent_chat.records.message import Message
    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.workspace import Workspace

    Loaded = Union["Stored", "Refused", "Unfinished"]

# A file younger than this may still be on its way (an editor, a checkout); see the rule of unfinished files.
SETTLING_SECONDS = 2.0
_FEW = 10
COPY = "it is a copy of another file of that number"
_CONFLICT = ".sync-conflict-"


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
    if "(" in name or _CONFLICT in name or len(head) > 9:
        return None
    return int(head) or None


class Numbers:
    """The message files of one listing: their names in the order of their numbers, found without looking at each.

    A channel has thousands of files and a call concerns a few. Names of four digits sort as their numbers do, so most
    questions are comparisons of text; only wider numbers, and listings with odd names, are taken apart one by one.
    `odd` are the names that are none of a message. `again` lists the channel once more: see `after`. `listed_at` is
    when the listing began, in seconds of the monotonic clock.
    """

    def __init__(
        self,
        names: Iterable[str],
        *,
        again: Callable[[], Iterable[str]] | None = None,
        listed_at: float | None = None,
    ) -> None:
        self.listed_at = listed_at
        self._narrow, self._wide, self.odd = _message_names(names)
        highest = int(max(self._narrow)[:4]) if self._narrow else 0
        self.highest = max(highest, *self._wide.values()) if self._wide else highest
        self._known = {0: (0, 0)}
        self._again = again

    def __len__(self) -> int:
        return len(self._narrow) + len(self._wide)

    def __contains__(self, name: str) -> bool:
        return name in self._narrow or name in self._wide

    def highest_trace(self) -> int:
        """Returns the highest number that any file shows to have been used, conflict copies and editors' files too."""
        highest = self.highest
        for name in self.odd:
            head = name.lstrip("._#~")[:10].partition("-")[0]
            if len(head) >= 4 and head.isdigit() and head.isascii() and int(head) <= MAX_SEQ:
                highest = max(highest, int(head))
        return highest

    def spelled_otherwise(self, sender: str) -> list[str]:
        """Returns the files that a sender of that name, spelled in another case, may have posted, in order.

        None when a file of that very spelling is there: then it is settled, and that is told without a loop.
        """
        everything = "\n".join(self._narrow + list(self._wide))
        start = fold(sender) + "-"
        if f"-{sender}-" in everything or f"-{start}" not in fold(everything):
            return []
        every = [*self._narrow, *self._wide]
        return sorted(name for name in every if fold(name.partition("-")[2]).startswith(start))

    def known_at(self, seq: int) -> tuple[int, int]:
        """Returns how many messages lie at or below a number, and a sum over their names that tells sets apart."""
        if seq not in self._known:
            start = max(number for number in self._known if number <= seq)
            count, total = self._known[start]
            between = self._between(start, seq)
            self._known[seq] = (count + len(between), (total + sum(map(crc32, map(_encoded, between)))) & 0xFFFFFFFF)
        return self._known[seq]

    def names_up_to(self, seq: int) -> list[str]:
        """Returns the names at or below a number, in no order."""
        return self._between(0, seq)

    def names_of(self, seq: int) -> list[str]:
        """Returns the file names under one number."""
        return sorted(self._between(seq - 1, seq))

    def after(self, seq: int) -> Iterator[tuple[int, list[str]]]:
        """Yields the numbers above one with their file names, in order; names under one number are one unit.

        Writers make numbers visible in order, so where no number is missing nothing can be missing. At the first gap
        the channel is listed once more: what was added below the highest number while we listed is there by now.
        """
        window = _WINDOW
        while seq < self.highest:
            end = min(seq + window, self.highest)
            for number, files in _units(self._between(seq, end)):
                if number > seq + 1 and self._again is not None:
                    break
                yield number, files
                seq = number
            else:
                if seq < end and self._again is not None:
                    self._list_again(seq)
                    continue
                seq = end
                window *= 4
                continue
            self._list_again(seq)

    def _list_again(self, above: int) -> None:
        """Adds the names that the first listing missed above a number, up to the highest number that it saw.

        What came at or below that number meanwhile stays unknown: it was not shown, so the next call must find it new.
        """
        assert self._again is not None
        narrow, wide, _ = _message_names(self._again())
        self._again = None
        start, end = _bound(min(above, 9_999)), _bound(min(self.highest, 9_999))
        self._narrow = sorted({*self._narrow, *(name for name in narrow if start < name < end)})
        self._wide.update((name, seq) for name, seq in wide.items() if above < seq <= self.highest)
        self._known = {0: (0, 0)}

    def before(self, seq: int) -> Iterator[tuple[int, list[str]]]:
        """Yields the numbers below one with their file names, the highest first."""
        window = _WINDOW
        end = min(seq - 1, self.highest)
        while end > 0:
            start = max(end - window, 0)
            yield from reversed(_units(self._between(start, end)))
            end = start
            window *= 4

    def _between(self, low: int, high: int) -> list[str]:
        """Returns the names whose numbers are above `low` and not above `high`."""
        found: list[str] = []
        if low < 10_000:
            lowest, highest = _bound(low), _bound(min(high, 9_999))
            found = [name for name in self._narrow if lowest < name < highest]
        if self._wide:
            found += [name for name, seq in self._wide.items() if low < seq <= high]
        return found


_WINDOW = 64


def _bound(seq: int) -> str:
    """Returns the text that is above every name NNNN-… of a four-digit number and below those of the next."""
    return f"{seq:04d}."


def _message_names(names: Iterable[str]) -> tuple[list[str], dict[str, int], list[str]]:
    """Splits names into those of messages with four digits, the wider ones with their numbers, and all others."""
    every = list(names)
    narrow = [name for name in every if "0" <= name < ":"]
    odd = [name for name in every if not "0" <= name < ":"]
    wide: dict[str, int] = {}
    heads = "".join([name[:5] for name in narrow])
    text = "\n".join(narrow) + "\n"
    regular = (
        heads[4::5] == "-" * len(narrow)
        and heads.isascii()
        and heads.replace("-", "").isdigit()
        and len(heads) == 5 * len(narrow) == len(heads.replace("-", "")) + len(narrow)
        and text.count(".md\n") == text.count("\n") == len(narrow)
        and "(" not in text
        and _CONFLICT not in text
        and "0000-" not in heads
    )
    if narrow and not regular:
        digits, narrow = narrow, []
        for name in digits:
            seq = seq_of(name)
            if seq is None:
                odd.append(name)
            elif name[4] == "-":
                narrow.append(name)
            else:
                wide[name] = seq
    return narrow, wide, odd


def _units(names: list[str]) -> list[tuple[int, list[str]]]:
    """Groups names by number, in order."""
    units: dict[int, list[str]] = {}
    for name in sorted(names):
        units.setdefault(int(name[: name.index("-")]), []).append(name)
    return sorted(units.items())


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


class MessageStore:
    """Lock-free reads of one channel's messages."""

    def __init__(self, workspace: Workspace, layout: ChannelLayout) -> None:
        self._workspace = workspace
        self._layout = layout

    def numbers(self) -> Numbers:
        """Lists the channel; iterating in order lists it once more where a number is missing."""

        def listed() -> list[str]:
            return self._workspace.files.list_folder(self._layout.folder)

        began = self._workspace.clock.monotonic()
        return Numbers(listed(), again=listed, listed_at=began)

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
        return unit

    def stored(self, seq: int, file_names: list[str]) -> list[Stored]:
        """Returns the valid messages of one number."""
        return [item for item in self.load_unit(seq, file_names) if isinstance(item, Stored)]

    def stored_in(self, file_names: Iterable[str]) -> list[Stored]:
        """Returns the valid messages among some files, whatever their numbers."""
        loaded = [self.load(name, seq_of(name)) for name in file_names]
        return [item for item in loaded if isinstance(item, Stored)]

    def changed_since(self, file_names: Iterable[str], instant: float) -> list[str]:
        """Returns those files that came to their names at or after an instant, by the file system's own account.

        A change of permissions looks the same. Where most files seem to have come, that is what happened (or the folder
        was copied), and only those that were written since then count.
        """
        changed: list[str] = []
        written: list[str] = []
        total = 0
        for name in file_names:
            try:
                status = self._workspace.files.status(self._layout.file(name))
            except FileNotFoundError:
                continue
            total += 1
            if status.st_ctime >= instant:
                changed.append(name)
                if status.st_mtime >= instant:
                    written.append(name)
        return written if len(changed) > _FEW and 2 * len(changed) > total else changed

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


def newest(stored: Iterable[Stored]) -> Stored | None:
    """Returns the last of several messages in the order of number and file name, or None."""
    return max(stored, key=lambda item: (item.message.seq, item.file), default=None)
