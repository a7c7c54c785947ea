"""One channel whose records are any bytes: changes carried out by the transaction, or left pending by hand."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from agent_chat.records import channel_meta, journal_entry, message
from agent_chat.records.journal_entry import PHASES, Change, Entry
from agent_chat.records.message import Message
from agent_chat.storage import recovery
from agent_chat.storage.channel import Channel
from agent_chat.storage.journal import OF_TASKS, Journal
from agent_chat.storage.record_store import RecordStore
from agent_chat.storage.recovery import Settled
from agent_chat.storage.transaction import Plan, commit
from tests.support.leases import STAMP, BootClock
from tests.support.recording import RecordingFileSystem
from tests.support.workspaces import make_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.filesystem import FileSystem


TASK, CLAIM = "tasks/T-1.json", "claims/T-1.bob.json"
TAKEN = (Change(path=TASK, before=b"open\n", after=b"taken\n"), Change(path=CLAIM, before=None, after=b"claim\n"))
HISTORY = "20260102T030405Z-bob-claim-T-1"
MESSAGE = "0001-bob-lease-claimed-t-1.md"
ID = "00000000000000aa"


def announcement(seq: int = 1, transaction: str = ID) -> Message:
    """The audit message of a claim."""
    return Message(
        seq=seq,
        sender="bob",
        title="lease.claimed T-1",
        body="{}\n",
        created=STAMP,
        status="lease.claimed",
        transaction=transaction,
    )


def entry_of(*changes: Change, transaction: str = ID) -> Entry:
    """The entry of the claim that is announced as the first message."""
    return Entry(
        id=transaction,
        operation="claim",
        actor="bob",
        target="T-1",
        created=STAMP,
        changes=changes or TAKEN,
        message_file=MESSAGE,
        message=message.render(announcement(transaction=transaction)),
    )


class JournalRoom:
    """A root with the channel dev."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "dev"
        self.clock = BootClock()
        self.folder.mkdir()
        meta = channel_meta.ChannelMeta(channel="dev", created=STAMP)
        (self.folder / "_meta.json").write_bytes(channel_meta.render(meta))

    def channel(self, files: FileSystem | None = None) -> Channel:
        """The channel as a call would open it; nothing is synced, since nobody cuts the power."""
        disk = files or RecordingFileSystem(str(self.root), self.clock)
        return Channel(make_workspace(self.root, files=lambda root, clock: disk, clock=self.clock), "dev")

    def put(self, place: str, data: bytes | None) -> None:
        """Writes a file of the channel, or takes it away."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is not None:
            path.write_bytes(data)
        else:
            path.unlink()

    def get(self, place: str) -> bytes | None:
        """The bytes of a file of the channel."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / place).read_bytes()
        return None

    def names(self, folder: str) -> list[str]:
        """The names in a folder of the channel."""
        place = self.folder / folder
        return sorted(path.name for path in place.iterdir()) if place.exists() else []

    def disk(self) -> dict[str, bytes]:
        """Every file of the channel but its lock and caches."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        places = {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}
        return {place: data for place, data in places.items() if place != ".lock" and not place.startswith(".cache/")}

    def open(self) -> None:
        """Puts the task there that is to be taken."""
        self.put(TASK, b"open\n")

    def commit(
        self,
        *changes: Change,
        files: FileSystem | None = None,
        channel: Channel | None = None,
        journal: Journal = OF_TASKS,
        **fields: Any,
    ) -> int:
        """Carries out changes with an audit message; returns its number."""
        channel = channel or self.channel(files)
        with channel.mutation(journal, actor="bob") as mutation:
            told = announcement(mutation.next_seq(), channel.workspace.ids.fresh())
            plan = Plan(
                operation="claim",
                actor="bob",
                target="T-1",
                changes=changes or TAKEN,
                message=told,
                audit_failed="LEASE_AUDIT_FAILED",
            )
            commit(mutation, journal, plan.replace(**fields))
        return told.seq

    def leave(self, phase: str, *changes: Change, visible: bool = False, states: str = "", tail: bytes = b"") -> bytes:
        """Leaves a change pending: `states` says of each file whether it is as before (b), after (a) or neither (n)."""
        entry = entry_of(*changes)
        data = journal_entry.render(entry)
        data += b"".join(journal_entry.phase_line(each) for each in PHASES[1 : PHASES.index(phase) + 1]) + tail
        self.put(OF_TASKS.entry, data)
        for change, state in zip(entry.changes, states or "a" * len(entry.changes)):
            there = {"b": change.before, "a": change.after, "n": b"neither\n"}[state]
            if there is not None:
                self.put(change.path, there)
        if visible:
            self.put(entry.message_file, entry.message)
        return data

    def settle(
        self, *, files: FileSystem | None = None, journal: Journal = OF_TASKS, actor: str = "carol", **options: Any
    ) -> Settled:
        """Recovers what is pending."""
        with self.channel(files).mutation(journal, pending=True, actor=actor) as mutation:
            return recovery.settle(mutation, journal, actor=actor, **options)

    def store(self, files: FileSystem | None = None, journal: Journal = OF_TASKS) -> RecordStore:
        """The records as a reader without a lock sees them."""
        return RecordStore(self.channel(files), journal)

    def messages(self) -> list[Message]:
        """All messages, in order."""
        return [message.parse(path.read_bytes()) for path in sorted(self.folder.glob("[0-9]*.md"))]
