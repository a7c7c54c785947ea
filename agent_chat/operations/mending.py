"""What `doctor --fix` does: only what loses nothing.

A message gets a new number by publishing it anew, with `was: N`, before the old file is removed; killed in between, the
next run sees the new file and only removes the old one. No message is renumbered while a journal entry is pending: its
recovery looks for the audit message by the name that it was to have.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.channels import write_git_files
from agent_chat.records.message import is_renumbered
from agent_chat.storage import deleted_channels, owner_changes, publication
from agent_chat.storage.filesystem import is_file
from agent_chat.storage.journal import JOURNALS
from agent_chat.storage.root_lock import RootLock
from agent_chat.storage.session_store import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.operations.doctor import Examined
    from agent_chat.storage.channel import Channel, Mutation
    from agent_chat.storage.message_store import Stored
    from agent_chat.storage.workspace import Workspace


def mend(channel: Channel, examined: Examined, done: list[str] | None = None) -> list[str]:
    """Mends what can be mended in a channel; returns a line for each thing done.

    The lines are added to `done` as it goes, for a caller that wants those before a failure.

    What was examined is looked at once more under the lock: another process may have mended it meanwhile. Where a
    message would be renumbered while a journal entry is pending, all else is done first; then it fails with the code of
    that journal.
    """
    done = [] if done is None else done
    with channel.mutation() as mutation:
        done += [f"wrote {name}" for name in write_git_files(channel.workspace, channel.layout.cache)]
        for path in publication.stale_temporaries(channel.workspace, channel.layout, derived=True):
            channel.workspace.files.remove(path)
            done.append(f"removed {path}")
        done += [f"removed {path}" for path in _bad_caches(examined) if _removed(channel, path)]
        moving = plan_renumbering(examined.stored, examined.late)
        if moving:
            mutation.require_settled(*JOURNALS)
        present = mutation.numbers()
        every = list(examined.stored)
        for seq, files in present.after(examined.numbers.highest) if moving else ():
            every += channel.messages.stored(seq, files)  # what another run may have published since
        for stored in moving:
            if stored.file in present:
                done.append(_renumber(mutation, stored, every))
    return done


def mend_root(workspace: Workspace, done: list[str]) -> None:
    """Removes from a root what is left of deleted channels, and of settings that never got their name.

    A line for each thing done is added to `done`; fails with IO_ERROR where something could not be removed in full.
    """
    if not deleted_channels.leftovers(workspace) and not owner_changes.stale_temporaries(workspace):
        return
    with RootLock(workspace):
        for path in owner_changes.stale_temporaries(workspace):
            workspace.files.remove(path)
            done.append(f"removed {path}")
        gone, failures = deleted_channels.sweep_all(workspace)
        done += [f"removed {path}" for path in gone]
    if failures:
        raise ChatError("IO_ERROR", "; ".join(failures), where=workspace.where())


def mend_sessions(workspace: Workspace) -> list[str]:
    """Removes the temporaries of those who died while they wrote a session; returns a line for each."""
    store = SessionStore(workspace)
    if not store.leftovers():
        return []
    with RootLock(workspace):
        paths = store.leftovers()
        for path in paths:
            workspace.files.remove(path)
    return [f"removed {path}" for path in paths]


def _bad_caches(examined: Examined) -> list[str]:
    return [finding.path for finding in examined.findings if finding.id == "cache.valid"]


def _removed(channel: Channel, path: str) -> bool:
    """Removes a cache unless it is no ordinary file, or gone: anybody may delete one at any time, under no lock."""
    try:
        if not is_file(channel.workspace.files.status(path)):
            return False
        channel.workspace.files.remove(path)
    except FileNotFoundError:
        return False
    return True


def plan_renumbering(stored: Sequence[Stored], late: Sequence[str]) -> list[Stored]:
    """Returns the messages that need a new number, in order: of several under one number all but the first by file
    name, then what lies unread below a cursor.
    """
    seen: set[int] = set()
    moving: list[Stored] = []
    for item in sorted(stored, key=lambda item: (item.message.seq, item.file)):
        if item.message.seq in seen or item.file in late:
            moving.append(item)
        else:
            seen.add(item.message.seq)
    return moving


def _renumber(mutation: Mutation, stored: Stored, every: Sequence[Stored]) -> str:
    """Publishes a message under the next free number, unless that was done before, and removes the old file."""
    old = stored.message.seq
    moved = next((item for item in every if is_renumbered(item.message, stored.message)), None)
    if moved is None:
        seq, file = mutation.publish(stored.message.replace(was=(*stored.message.was, old)))
    else:
        seq, file = moved.message.seq, moved.file
    mutation.remove(stored.file)
    return f"#{old} {stored.file} is now #{seq} {file}"
