"""What the doctor can find: the invariants of docs/format.md, and a finding of one that is broken."""

from __future__ import annotations

from agent_chat.records.value import Value

ERROR = "error"
WARNING = "warning"

# id: (severity, what must hold). docs/format.md has the same list, and the doctor's tests plant one damage for each.
INVARIANTS: dict[str, tuple[str, str]] = {
    "root.writable": (ERROR, "the root and each channel can be written by who works in it"),
    "root.ignore": (WARNING, "a root has a .gitignore, so that git leaves alone what belongs to one machine"),
    "root.channels": (WARNING, "a folder with the name of a channel is one: it holds _meta.json"),
    "root.case": (ERROR, "no two channels differ only in case"),
    "channel.meta": (ERROR, "_meta.json is a valid record of a known version"),
    "channel.name": (WARNING, "_meta.json names the channel as its folder does"),
    "channel.lock": (ERROR, "the lock is an ordinary file, and nobody holds it for long"),
    "channel.folders": (ERROR, "what is a folder of ours is a real folder"),
    "message.file": (ERROR, "a file named NNNN-….md is an ordinary, readable file"),
    "message.valid": (ERROR, "it holds a valid header, with the number of its name, and UTF-8"),
    "message.unfinished": (WARNING, "it is complete"),
    "message.unique": (ERROR, "no two messages carry one number"),
    "message.copy": (WARNING, "no file is a copy of another under one number"),
    "message.late": (WARNING, "no message lies unread below a cursor"),
    "message.parent": (WARNING, "the message that is answered is there"),
    "file.foreign": (WARNING, "every other file of the channel is one that the layout knows"),
    "file.mode": (WARNING, "in a shared root, what may be read in the root may be read in its files"),
    "cursor.valid": (ERROR, "a cursor file holds a number"),
    "cursor.range": (WARNING, "no cursor is past the last message"),
    "cursor.name": (WARNING, "a cursor file has the folded name of an agent"),
    "temporary.stale": (WARNING, "no temporary is older than an hour"),
    "marker.audited": (WARNING, "a claimed marker has its audit message"),
    "marker.unique": (ERROR, "a marker is claimed by one agent"),
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
