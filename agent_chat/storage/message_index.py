"""What the messages of a channel mean beyond talk, without opening each: a cache that is checked before it is believed.

Published messages do not change, but people edit files and git checks others out. So what is known of a file is
believed only while the file has the times, size and number that it had when it was read. In a large channel even that
look at each file is left out while the channel's folder has the time that it had, for all but the files whose text is
shown: who edits another one in place there is noticed at the next message, or by whoever asks for an `exact` look.

Times younger than two seconds are never believed, since a file may change again within one tick of a coarse clock. The
cache may be deleted at any time, and a damaged one counts as none.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat.records import highlight, json_codec
from agent_chat.records.highlight import Highlight
from agent_chat.records.value import Value
from agent_chat.storage import publication
from agent_chat.storage.message_store import SETTLING_SECONDS, Refused, Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
_VERSION = "1"
_MAX_BYTES = 256 << 20
_REFUSED = "!"


class Fault(Value):
    """A file that could not be taken for a message: why, and whether that was for lack of a look at it."""

    file: str
    reason: str
    unreadable: bool = False


class Known(Value):
    """What is known of a channel's messages.

    `highlights` are the messages that mean something beyond talk with their files, in order; `resolved` has the number
    of the reply that resolved a blocker, by the blocker's; `count` and `latest` are how many messages there are, and
    the highest number; what cannot be read now is one.
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
        self._fresh: dict[str, str] = {}
        self._cacheable = True
        self.warnings: list[str] = []

    def load(self, *, exact: bool = False, store: bool = True, progress: Progress | None = None) -> Known:
        """Returns what the messages mean; with `exact` every file is looked at, however many there are.

        What was learned is stored unless its caller wants nothing to change. Fails with OSError where the channel
        cannot be listed; a single file that cannot be read is a fault.
        """
        now = self._workspace.clock.now()
        folder = self._workspace.files.status(self._layout.folder)
        stored = None if exact else self._load_highlights(_folder_mark(folder))
        if stored is not None:
            return stored
        numbers = self._channel.messages.numbers()
        if len(numbers) <= READ_DIRECTLY:
            return self._read_all(numbers, None, progress)
        lines = self._load_lines()
        known = self._read_all(numbers, lines, progress)
        if not store:
            return known
        if self._fresh != lines:
            text = "\n".join(f"{name}\t{line}" for name, line in self._fresh.items())
            self._store(MESSAGES_FILE, text.encode("utf-8", "surrogatepass"))
        if len(numbers) > LOOK_AT_EACH and self._cacheable and _has_settled(folder, now):
            self._store_highlights(known, _folder_mark(folder))
        return known

    # -- reading the messages --------------------------------------------------------------------------------------

    def _read_all(self, numbers: Numbers, lines: dict[str, str] | None, progress: Progress | None) -> Known:
        """Looks at every file, and opens those of which nothing that still holds is known; without `lines` all."""
        highlights: list[tuple[str, Highlight]] = []
        faults: list[Fault] = []
        parents: dict[int, int] = {}
        there: set[int] = set()
        unread: list[int] = []
        count, total = 0, len(numbers)
        for done, (seq, files) in enumerate(numbers.after(0)):
            if progress is not None:
                progress(self._channel.name, done, total)
            for file, (reason, parent, found) in self._unit(seq, files, lines, faults, unread):
                if reason is not None:
                    faults.append(Fault(file=file, reason=reason))
                    continue
                there.add(seq)
                count += 1
                if parent is not None:
                    parents.setdefault(seq, parent)
                if found is not None:
                    highlights.append((file, found))
        resolved = highlight.resolved_by((found for _, found in highlights), parents, there)
        return Known(
            highlights=tuple(highlights),
            resolved={seq: found.seq for seq, found in resolved.items()},
            faults=tuple(faults),
            count=count + len(unread),
            latest=max((*there, *unread), default=0),
        )

    def _unit(
        self, seq: int, files: list[str], lines: dict[str, str] | None, faults: list[Fault], unread: list[int]
    ) -> Iterator[tuple[str, Said]]:
        """Yields the files of one number with what each says."""
        mark = ""
        if len(files) == 1 and lines is not None:
            file = files[0]
            mark = self._mark(file)
            line = lines.get(file, "")
            said = _read_line(line[len(mark) :]) if mark and line.startswith(mark) else None
            if said is not None:
                self._fresh[file] = line
                yield file, said
                return
        try:
            unit = self._channel.messages.load_unit(seq, files)
        except OSError as error:
            self._cacheable = False
            unread += [seq] * len(files)
            faults += [Fault(file=file, reason=error.strerror or str(error), unreadable=True) for file in files]
            return
        for item in unit:
            if isinstance(item, (Stored, Refused)):
                said = _said_by(item)
                if mark and mark == self._mark(item.file) and "\t" not in item.file:
                    self._fresh[item.file] = mark + _line_of(said)
                else:
                    self._cacheable = False
                yield item.file, said
            else:
                self._cacheable = False
                faults.append(Fault(file=item.file, reason=item.reason, unreadable=True))

    def _mark(self, file: str) -> str:
        """Returns what tells that a file is still the one that was read; empty where that cannot be told."""
        try:
            status = self._workspace.files.status(self._layout.file(file))
        except OSError:
            return ""  # it is opened then, and it is that which fails
        if not _has_settled(status, self._workspace.clock.now()):
            return ""
        return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}\t"

    # -- the cache -------------------------------------------------------------------------------------------------

    def _load_lines(self) -> dict[str, str]:
        """Returns what was stored of each file, by its name; nothing where there is no cache, or a damaged one."""
        try:
            text = self._load(MESSAGES_FILE).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return {}
        return dict(line.split("\t", 1) for line in text.split("\n") if "\t" in line)

    def _load_highlights(self, folder: str) -> Known | None:
        """Returns what was stored of all messages while it holds: the folder and each file shown are as they were."""
        data = self._load(HIGHLIGHTS_FILE)
        head, _, rest = data.partition(b"\n")
        if not data or head.decode("ascii", "replace") != folder:
            return None
        try:
            fields = json_codec.object_of(json_codec.decode(rest))
            marks = dict(fields["marks"])  # type: ignore[call-overload]
            known = _known(fields)
        except (KeyError, TypeError, ValueError):
            return None  # whole, and not what we write: another program's, or another version's
        return known if all(self._mark(file) == mark for file, mark in marks.items()) else None

    def _store_highlights(self, known: Known, folder: str) -> None:
        shown = [*(file for file, _ in known.highlights), *(fault.file for fault in known.faults)]
        fields = {
            "marks": {file: self._fresh[file].partition("\t")[0] + "\t" for file in shown},
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
        self._store(HIGHLIGHTS_FILE, f"{folder}\n{text}".encode())

    def _load(self, name: str) -> bytes:
        """Returns the content of a cache, without its first line; empty where there is none, or a damaged one."""
        try:
            data = self._workspace.files.read_file(self._layout.cached(name), _MAX_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            self.warnings.append(f".cache/{name} cannot be read, so calls are slower: {error.strerror or error}")
            return b""
        head, _, rest = data.partition(b"\n")
        return rest if head.decode("ascii", "replace") == f"{_VERSION} {crc32(rest):08x}" else b""

    def _store(self, name: str, data: bytes) -> None:
        """Stores a cache; a failure costs time only, and is a warning, unless nobody may write here anyway."""
        files = self._workspace.files
        temporary = self._layout.temporary(self._workspace.ids.fresh())
        try:
            if not publication.exists(files, self._layout.cache):
                if not files.writable(self._layout.folder):
                    return
                files.make_folder(self._layout.cache)
            elif not files.writable(self._layout.cache):
                return
            files.write_new(temporary, f"{_VERSION} {crc32(data):08x}\n".encode("ascii") + data, sync=False)
            publication.replace(files, temporary, self._layout.cached(name))
        except OSError as error:
            self.warnings.append(f".cache/{name} cannot be stored, so calls are slower: {error.strerror or error}")


def _has_settled(status: stat_result, now: float) -> bool:
    """Tells whether a change after now would show in the times, on clocks as coarse as two seconds."""
    return now - max(status.st_mtime, status.st_ctime) >= SETTLING_SECONDS


def _folder_mark(status: stat_result) -> str:
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


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


def _read_line(text: str) -> Said | None:
    """Returns what a line of the cache tells that a file says, None for a line that we would not have written."""
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
