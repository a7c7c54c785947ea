"""A channel of messages written by hand at times of their own, and what the index of them says, opens and lists."""

from __future__ import annotations

import os
from binascii import crc32
from collections import Counter
from typing import TYPE_CHECKING, Any

from agent_chat.records import highlight
from agent_chat.storage.message_index import HIGHLIGHTS_FILE, MESSAGES_FILE, Fault, Known, MessageIndex
from agent_chat.storage.message_store import Refused, Stored
from tests.storage.journal_room import JournalRoom
from tests.support.cli import START, message_file, plant
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem

CACHES = (MESSAGES_FILE, HIGHLIGHTS_FILE)
# What a message may be: a title and what else stands in its header.
FORMS: dict[str, tuple[str, dict[str, str]]] = {
    "talk": ("talk", {}),
    "chat": ("chat", {}),
    "decision": ("Decision: one", {}),
    "blocker": ("t", {"status": "blocker"}),
    "evidence": ("[evidence] é", {}),
    "event": ("event:status", {"status": "event.status"}),
    "answer": ("talk", {"reply_to": "1"}),
    "reply": ("talk", {"reply_to": "2"}),
    "resolving": ("ok", {"status": "resolved", "reply_to": "1"}),
    "done": ("ok", {"status": "done", "reply_to": "2"}),
    "end": ("ok", {"status": "done", "reply_to": "7"}),
    "moved": ("t", {"status": "blocker", "was": "[9, 2]"}),
    "moved talk": ("talk", {"was": "[2]"}),
}


def names_of(*seqs: int) -> list[str]:
    """The files of alice's messages."""
    return [f"{seq:04d}-alice-m.md" for seq in seqs]


# A channel of nine messages, those that mean something, and those of them whose text is kept.
MEANING = {"n2": "blocker", "n3": "resolving", "n4": "decision", "n5": "event", "n7": "reply", "n8": "end"}
EVERY = names_of(*range(1, 10))
MEANT = names_of(2, 3, 4, 5, 8)
SHOWN = names_of(2, 3, 4, 8)
# What it costs to look at such a large channel once it has settled.
SETTLED = {"status": 1 + len(SHOWN), "list_folder": 1, "read_file": 1}


class Looked:
    """What one call of the index said, and what it cost."""

    def __init__(self, known: Known, log: list[Any], warnings: list[str]) -> None:
        self.known = known
        self.warnings = warnings
        names = [(step.name, os.path.basename(step.args[0])) for step in log]
        self.opened = [name for kind, name in names if kind == "read_file" and name not in CACHES]
        self.cost = cost_of(log)


def cost_of(log: list[Any]) -> dict[str, int]:
    """How often each primitive was asked for."""
    return dict(Counter(step.name for step in log))


class IndexRoom(JournalRoom):
    """A channel with a cache folder; its own time is set by `age_folder`, since the kernel's would be in the future."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        (self.folder / ".cache").mkdir()
        self._changes = 0
        self.age_folder()

    def age_folder(self, age: float | None = None) -> None:
        """Gives the folder a time that it never had, long ago, or one of some age."""
        self._changes += 1
        at = START - 50_000 + self._changes if age is None else START - age
        os.utime(self.folder, (at, at))

    def write(
        self, seq: int, form: str = "talk", *, sender: str = "alice", name: str = "", at: float | None = None
    ) -> Path:
        """Writes a message of some form; one that is there is written over in place."""
        title, fields = FORMS[form]
        path = self.folder / (name or f"{seq:04d}-{sender}-m.md")
        plant(path, message_file(seq, sender, title, **fields), at=START - 3600 if at is None else at)
        self.age_folder()
        return path

    def fill(self, count: int, **forms: str) -> None:
        """Writes messages 1 to count; `forms` says which are no talk: n3="decision"."""
        for seq in range(1, count + 1):
            self.write(seq, forms.get(f"n{seq}", "talk"))

    def files(self) -> RecordingFileSystem:
        """A file system that tells what was asked of it."""
        return RecordingFileSystem(str(self.root), self.clock)

    def look(self, files: FileSystem | None = None, **options: Any) -> Looked:
        """What the index says, as the next call would see it."""
        disk = files or self.files()
        index = MessageIndex(self.channel(disk))
        known = index.load(**options)
        return Looked(known, getattr(disk, "log", []), index.warnings)

    def believed(self, files: FileSystem | None = None) -> tuple[Known | None, dict[str, int]]:
        """What the index would say from its cache alone, and what that cost."""
        disk = files or self.files()
        known = MessageIndex(self.channel(disk)).believed()
        return known, cost_of(getattr(disk, "log", []))

    def cache(self, name: str) -> Path:
        """The place of a cache."""
        return self.folder / ".cache" / name

    def caches(self) -> list[str]:
        """What lies in the cache folder."""
        return sorted(path.name for path in (self.folder / ".cache").iterdir())

    def reading(self) -> Known:
        """What reading every message says."""
        channel = self.channel()
        found: list[tuple[str, highlight.Highlight]] = []
        faults: list[Fault] = []
        parents: dict[int, int] = {}
        there: Counter[int] = Counter()
        numbers = channel.messages.numbers()
        for seq, files in numbers.after(0):
            for item in channel.messages.load_unit(seq, files):
                if isinstance(item, Stored):
                    there[seq] += 1
                    if item.message.reply_to is not None:
                        parents.setdefault(seq, item.message.reply_to)
                    meant = highlight.of_message(item.message)
                    found += [(item.file, meant)] if meant is not None else []
                else:
                    passing = not isinstance(item, Refused)
                    faults.append(Fault(file=item.file, reason=item.reason, passing=passing))
        resolved = highlight.resolved_by([each for _, each in found], parents, there)
        return Known(
            highlights=tuple(found),
            resolved={seq: by.seq for seq, by in resolved.items()},
            faults=tuple(faults),
            count=len(numbers),
            latest=numbers.highest,
        )


def sealed(text: bytes, version: bytes = b"1") -> bytes:
    """A cache whose sum is right, whatever it says."""
    return version + b" %08x\n" % crc32(text) + text
