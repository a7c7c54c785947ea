"""What the messages of a channel mean beyond talk, without opening each: a cache that is checked before it is believed.

Published messages do not change, but people edit files and git checks others out. So what is known of a file is
believed only while the file has the times, size and number that it had when it was read. In a large channel even that
look at each file is left out while the channel's folder has the times and the names that it had, for all but the files
whose text is shown: who edits another one in place there is noticed at the next change of the folder, or by whoever
asks for an `exact` look.

Times younger than two seconds are never believed, since a file may change again within one tick of a coarse clock.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat.records import highlight, json_codec
from agent_chat.records.highlight import Highlight
from agent_chat.records.value import Value
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.message_store import COPY, SETTLING_SECONDS, Refused, Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from os import stat_result
    from typing import Any, Optional

    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers

    Progress = Callable[[str, int, int], None]
    # Of one file: why it is no message, the number that it answers, what it means beyond talk.
    Said = tuple[Optional[str], Optional[int], Optional[Highlight]]

MESSAGES_FILE = "messages.index"
HIGHLIGHTS_FILE = "highlights.index"
# Reading so few messages costs less than a cache of them.
READ_DIRECTLY = 32
# Looking at so many files costs little enough to do it in every call.
LOOK_AT_EACH = 1000
_VERSION = "3"
_REFUSED = "!"


class Fault(Value):
    """A file that is named as a message and was not taken for one.

    `passing` tells that it may be one in a moment: it could not be read now, or is still on its way.
    """

    file: str
    reason: str
    passing: bool = False

    @property
    def is_copy(self) -> bool:
        """Whether it holds what another file of its number holds, so that nothing is missing without it."""
        return self.reason == COPY


class Known(Value):
    """What is known of a channel's messages.

    `highlights` are the messages that mean something beyond talk with their files, in order; `resolved` has the number
    of the reply that resolved a blocker, by the blocker's; `count` and `latest` are how many files are named as
    messages, and the highest number.
    """

    highlights: tuple[tuple[str, Highlight], ...]
    resolved: dict[int, int]
    faults: tuple[Fault, ...]
    count: int
    latest: int


class MessageIndex:
    """The meaning of a channel's messages; `warnings` tell of a cache that could not be used."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._workspace = channel.workspace
        self._layout = channel.layout
        self._messages = CacheFile(channel.workspace, channel.layout.cache, MESSAGES_FILE, _VERSION)
        self._highlights = CacheFile(channel.workspace, channel.layout.cache, HIGHLIGHTS_FILE, _VERSION)
        self._fresh: dict[str, str] = {}
        self._cacheable = True

    @property
    def warnings(self) -> list[str]:
        """What kept a cache from being used."""
        return self._messages.warnings + self._highlights.warnings

    def load(self, *, exact: bool = False, store: bool = True, progress: Progress | None = None) -> Known:
        """Returns what the messages mean; with `exact` every file is looked at, however many there are.

        What was learned is stored unless its caller wants nothing to change. Fails with OSError where the channel
        cannot be listed; a single file that cannot be read is a fault.
        """
        now = self._workspace.clock.now()
        folder = self._workspace.files.status(self._layout.folder)
        names = self._workspace.files.list_folder(self._layout.folder)
        mark = f"{_folder_mark(folder)} {_sum_of(names)}"
        if not exact and len(names) > LOOK_AT_EACH:
            known = self._believed(mark)
            if known is not None:
                return known
        numbers = self._channel.messages.numbers()
        if len(numbers) <= READ_DIRECTLY:
            return self._read_all(numbers, None, progress)
        lines = self._load_lines()
        known = self._read_all(numbers, lines, progress)
        if store and self._fresh != lines:
            text = "\n".join(f"{name}\t{line}" for name, line in self._fresh.items())
            self._messages.store(text.encode("utf-8", "surrogatepass"))
        if store and len(names) > LOOK_AT_EACH and self._cacheable and _has_settled(folder, now):
            self._store_highlights(known, mark)
        return known

    def believed(self) -> Known | None:
        """Returns what `load` would return from the cache alone, None where it would look at every file."""
        names = self._workspace.files.list_folder(self._layout.folder)
        folder = self._workspace.files.status(self._layout.folder)
        return self._believed(f"{_folder_mark(folder)} {_sum_of(names)}") if len(names) > LOOK_AT_EACH else None

    def forget(self, files: Iterable[str]) -> None:
        """Removes what the caches hold of some files, of which nothing may be left; their caller holds the lock.

        Fails with OSError where that cannot be done.
        """
        self._highlights.remove()
        gone = set(files)
        lines = self._load_lines()
        left = {name: line for name, line in lines.items() if name not in gone}
        if left and len(left) < len(lines):
            text = "\n".join(f"{name}\t{line}" for name, line in left.items())
            self._messages.store(text.encode("utf-8", "surrogatepass"))
        if not lines or not gone.isdisjoint(self._load_lines()):
            self._messages.remove()  # also a damaged one, which may hold anything

    # -- reading the messages --------------------------------------------------------------------------------------

    def _read_all(self, numbers: Numbers, lines: dict[str, str] | None, progress: Progress | None) -> Known:
        """Looks at every file, and opens those of which nothing that still holds is known; without `lines` all."""
        highlights: list[tuple[str, Highlight]] = []
        faults: list[Fault] = []
        parents: dict[int, int] = {}
        there: dict[int, int] = {}
        total = len(numbers)
        for done, (seq, files) in enumerate(numbers.after(0)):
            if progress is not None:
                progress(self._channel.name, done, total)
            # What is damaged or not read carries its number all the same; a copy is no other message.
            there[seq] = len(files)
            for file, (reason, parent, found) in self._unit(seq, files, lines, faults):
                if reason is not None:
                    faults.append(Fault(file=file, reason=reason))
                    there[seq] -= faults[-1].is_copy
                    continue
                if parent is not None:
                    parents.setdefault(seq, parent)
                if found is not None:
                    highlights.append((file, found))
        resolved = highlight.resolved_by((found for _, found in highlights), parents, there)
        return Known(
            highlights=tuple(highlights),
            resolved={seq: found.seq for seq, found in resolved.items()},
            faults=tuple(faults),
            count=total,
            latest=numbers.highest,
        )

    def _unit(
        self, seq: int, files: list[str], lines: dict[str, str] | None, faults: list[Fault]
    ) -> Iterator[tuple[str, Said]]:
        """Yields the files of one number with what each says; they are believed together or read together."""
        marks = [self._mark(file, files) for file in files] if lines is not None else []
        if lines is not None and all(marks):
            known = [_read_line(lines.get(file, ""), mark) for file, mark in zip(files, marks)]
            believed = [(file, said) for file, said in zip(files, known) if said is not None]
            if len(believed) == len(files):
                self._fresh.update((file, lines[file]) for file in files)
                yield from believed
                return
        try:
            unit = self._channel.messages.load_unit(seq, files)
        except OSError as error:
            self._cacheable = False
            faults += [Fault(file=file, reason=error.strerror or str(error), passing=True) for file in files]
            return
        keep = all(marks) and marks == [self._mark(file, files) for file in files] and "\t" not in "".join(files)
        self._cacheable = self._cacheable and keep
        for item in unit:
            if isinstance(item, (Stored, Refused)):
                said = _said_by(item)
                if marks and keep:
                    self._fresh[item.file] = marks[files.index(item.file)] + _line_of(said)
                yield item.file, said
            else:
                self._cacheable = False
                faults.append(Fault(file=item.file, reason=item.reason, passing=True))

    def _mark(self, file: str, files: list[str]) -> str:
        """Returns what tells that a file of a number is still the one that was read; empty where nothing does."""
        try:
            status = self._workspace.files.status(self._layout.file(file))
        except OSError:
            return ""  # it is opened then, and it is that which fails
        if not _has_settled(status, self._workspace.clock.now()):
            return ""
        beside = f" {_sum_of(files)}" if len(files) > 1 else ""
        return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}{beside}\t"

    # -- the caches ------------------------------------------------------------------------------------------------

    def _load_lines(self) -> dict[str, str]:
        """Returns what was stored of each file, by its name."""
        try:
            text = self._messages.load().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return {}
        return dict(line.split("\t", 1) for line in text.split("\n") if "\t" in line)

    def _believed(self, mark: str) -> Known | None:
        """Returns what was stored of all messages while it holds: the folder and each file shown are as they were."""
        head, _, rest = self._highlights.load().partition(b"\n")
        if head.decode("ascii", "replace") != mark:
            return None
        try:
            fields = json_codec.object_of(json_codec.decode(rest))
            shown = dict(fields["marks"])  # type: ignore[call-overload]
            known = _known(fields)
        except (KeyError, TypeError, ValueError):
            return None  # whole, and not what we write: another program's, or another version's
        return known if all(self._mark(file, [file]) == stored for file, stored in shown.items()) else None

    def _store_highlights(self, known: Known, mark: str) -> None:
        # Of an event nothing is kept but where it is: whoever wants it opens it.
        shown = [file for file, found in known.highlights if found.kinds != (highlight.EVENT,)]
        shown += [fault.file for fault in known.faults]
        fields = {
            # The names of the folder are the same, so those under one number are, and their sum can be left out.
            "marks": {file: " ".join(self._fresh[file].partition("\t")[0].split(" ")[:4]) + "\t" for file in shown},
            "highlights": [[file, highlight.to_json(found)] for file, found in known.highlights],
            "resolved": list(known.resolved.items()),
            "faults": [[fault.file, fault.reason] for fault in known.faults],
            "count": known.count,
            "latest": known.latest,
        }
        try:
            text = json_codec.encode(fields)
        except json_codec.JsonError:
            return  # a file's name that is no text: such a channel is looked at file by file
        self._highlights.store(f"{mark}\n{text}".encode())


def _has_settled(status: stat_result, now: float) -> bool:
    """Tells whether a change after now would show in the times, on clocks as coarse as two seconds."""
    return now - max(status.st_mtime, status.st_ctime) >= SETTLING_SECONDS


def _folder_mark(status: stat_result) -> str:
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _sum_of(names: list[str]) -> str:
    """Returns a sum over names as they were listed, in an order that stays while a folder does."""
    return f"{len(names)}:{crc32('/'.join(names).encode('utf-8', 'surrogatepass')):08x}"


def _said_by(item: Stored | Refused) -> Said:
    """Returns why a file is no message, the number that it answers, and what it means, each None where it does not."""
    if isinstance(item, Refused):
        return item.reason, None, None
    return None, item.message.reply_to, highlight.of_message(item.message)


def _line_of(said: Said) -> str:
    """Returns what a file says as a line of the cache."""
    reason, parent, found = said
    if reason is not None:
        return f"{_REFUSED}\t{json_codec.encode(reason)}"
    means = json_codec.encode(highlight.to_json(found)) if found is not None else ""
    return f"{'' if parent is None else parent}\t{means}"


def _read_line(line: str, mark: str) -> Said | None:
    """Returns what a line of the cache tells that a file says, None for one of another file or that we do not write."""
    if not line.startswith(mark):
        return None
    text = line[len(mark) :]
    if text == "\t":
        return None, None, None  # the everyday case
    parent, _, rest = text.partition("\t")
    try:
        if parent == _REFUSED:
            return str(json_codec.decode(rest.encode("utf-8"))), None, None
        found = highlight.from_json(json_codec.object_of(json_codec.decode(rest.encode("utf-8")))) if rest else None
        return None, int(parent) if parent else None, found
    except (TypeError, ValueError):
        return None


def _known(fields: dict[str, Any]) -> Known:
    """Returns what was stored of all messages; fails with KeyError, TypeError or ValueError for anything else."""
    return Known(
        highlights=tuple((file, highlight.from_json(found)) for file, found in fields["highlights"]),
        resolved=dict(fields["resolved"]),
        faults=tuple(Fault(file=file, reason=reason) for file, reason in fields["faults"]),
        count=int(fields["count"]),
        latest=int(fields["latest"]),
    )
