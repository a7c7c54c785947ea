"""What the doctor can find: the invariants of docs/format.md, and a finding of one that is broken."""

from __future__ import annotations

from agent_chat.records.value import Value
from agent_chat.storage import publication
from agent_chat.storage.filesystem import is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.storage.filesystem import FileSystem

ERROR = "error"
WARNING = "warning"
# A lock is held for long if one process has it at each of so many looks, which take so long each.
LOCK_LOOKS = 3
LOCK_SECONDS = 0.5

# id: (severity, what must hold). docs/format.md has the same list, and the doctor's tests plant one damage for each.
INVARIANTS: dict[str, tuple[str, str]] = {
    "root.writable": (ERROR, "the root and each channel can be written by who works in it"),
    "root.ignore": (
        WARNING,
        "a root has .gitignore and .gitattributes, so that git takes what it may, byte for byte",
    ),
    "root.channels": (WARNING, "a folder with the name of a channel is one: it holds _meta.json"),
    "root.case": (ERROR, "no two channels differ only in case"),
    "root.deleted": (WARNING, "nothing is left of a channel that was deleted"),
    "owner.valid": (ERROR, "_owner.json, where it is, holds settings of a known version"),
    "owner.log": (ERROR, "_owner.log, where it is, is an ordinary file"),
    "session.valid": (ERROR, "a session's file is a valid record of a known version, named by its id"),
    "channel.meta": (ERROR, "_meta.json is a valid record of a known version"),
    "channel.name": (WARNING, "_meta.json names the channel as its folder does"),
    "channel.workspace": (WARNING, "the work tree that _meta.json records is there"),
    "channel.lock": (ERROR, "the lock is an ordinary file, and nobody holds it for long"),
    "channel.folders": (ERROR, "what is a folder of ours is a real folder"),
    "channel.numbers": (ERROR, "there are numbers left for further messages"),
    "message.file": (ERROR, "a file named NNNN-….md is an ordinary, readable file"),
    "message.valid": (ERROR, "it holds a valid header, with the number of its name, and UTF-8"),
    "message.unfinished": (WARNING, "it is complete"),
    "message.unique": (ERROR, "no two messages carry one number"),
    "message.copy": (WARNING, "no file is a copy of another under one number"),
    "message.late": (WARNING, "no message lies unread below a cursor"),
    "message.parent": (WARNING, "the message that is answered is there"),
    "tombstone.valid": (WARNING, "a line of tombstones.md is a tombstone, unless a kill tore it"),
    "tombstone.agrees": (WARNING, "no message has the number of another one that retention removed"),
    "event.valid": (WARNING, "a message posted as an event carries one, of its sender"),
    "file.foreign": (WARNING, "every other file of the channel is one that the layout knows"),
    "file.mode": (WARNING, "in a shared root, what may be read in the root may be read in its files"),
    "cursor.valid": (ERROR, "a cursor file holds a number"),
    "cursor.range": (WARNING, "no cursor is past the last message"),
    "cursor.name": (WARNING, "a cursor file has the folded name of an agent"),
    "temporary.stale": (WARNING, "no temporary is older than an hour"),
    "cache.valid": (
        WARNING,
        "a cache or trace is an ordinary file; a cache can be read, and tells what the files tell",
    ),
    "marker.audited": (WARNING, "a claimed marker has its audit message"),
    "marker.unique": (ERROR, "a marker is claimed by one agent"),
    "record.file": (ERROR, "a record, a journal entry and their folders can be read, and the files are ordinary ones"),
    "task.valid": (ERROR, "a task is a valid record of a known version, named by its id, of this channel"),
    "task.unique": (ERROR, "no two tasks differ only in case"),
    "task.dependency": (ERROR, "what a task depends on is there"),
    "task.cycle": (ERROR, "no task depends on itself, at any depth"),
    "task.claim": (WARNING, "a task that tells of a lease has its claim"),
    "task.replay": (WARNING, "a task is as the last message and entry about it tell"),
    "claim.valid": (
        ERROR,
        "a claim is a valid record of a known version, named by its task and owner, of this channel",
    ),
    "claim.unique": (ERROR, "a task has one claim"),
    "claim.task": (WARNING, "the task of a claim is there, and in progress or blocked"),
    "claim.agrees": (ERROR, "a claim and its task tell of the same owner and the same end of the lease"),
    "claim.replay": (WARNING, "a claim is as the last message and entry about it tell"),
    "lock.valid": (ERROR, "a path lock is a valid record of a known version, named by its id, of this channel"),
    "lock.overlap": (ERROR, "no two running path locks of different owners are on one path"),
    "lock.replay": (WARNING, "a path lock is as the last message and entry about it tell"),
    "lease.suspect": (WARNING, "no lease would run on for longer than it is long"),
    "journal.pending": (ERROR, "no change of records is left half-way"),
    "journal.valid": (ERROR, "a change that is left half-way can be decided by recovery"),
    "journal.filed": (WARNING, "a filed entry is whole, and its change was announced"),
}


class Finding(Value):
    """One invariant found broken, where, and what mends it."""

    id: str
    path: str
    message: str
    remedy: str

    @property
    def severity(self) -> str:
        """How bad it is: "error" or "warning"."""
        return INVARIANTS[self.id][0]


def unreadable(path: str, error: OSError, *, id: str) -> Finding:  # noqa: A002 - the word of the finding
    """Returns the finding about what cannot be looked at."""
    return Finding(
        id=id,
        path=path,
        message=f"it cannot be read: {error.strerror or error}",
        remedy="mend its permissions or the disk",
    )


def mode_findings(files: FileSystem, path: str) -> Iterator[Finding]:
    """Checks that a file, unless it is gone, can be read by who can read the root; on Windows modes say nothing."""
    try:
        mode = files.status(path).st_mode
    except FileNotFoundError:
        return
    missing = files.root_status().st_mode & 0o044 & ~mode
    if missing:
        yield Finding(
            id="file.mode",
            path=path,
            message="others who can read the root cannot read it",
            remedy="give it the permissions of the root (chmod)",
        )


def check_kind(files: FileSystem, lock: str) -> Iterator[Finding]:
    """Checks that what stands in the place of a lock is an ordinary file."""
    if publication.exists(files, lock) and not is_file(files.status(lock)):
        yield Finding(
            id="channel.lock", path=lock, message="it is no ordinary file", remedy="move it away; it is made anew"
        )
