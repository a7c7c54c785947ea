"""What a disk means: the channels on it and all that is in them, read without the code under test's own stores.

Times are left out, so that two disks that mean the same are equal.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from agent_chat.records import channel_meta, message, owner_settings, session, tombstone
from agent_chat.records.owner_settings import OwnerSettings
from agent_chat.storage import cursor_store, layout
from agent_chat.storage.message_numbers import seq_of
from tests.support.journal_views import records_of, remembered, timeless, without_ids

if TYPE_CHECKING:
    from agent_chat.records.channel_meta import ChannelMeta
    from agent_chat.records.message import Message
    from tests.support.disks import Disk
    from tests.support.journal_views import Records


_FENCE = re.compile(r'"fence": \d+')
_LAST_SECTION = re.compile(rb"\n## Verification\n(.+\n)+(\n(Not shown|incomplete): .+\n)*(\n## Warnings\n(.+\n)+)?\Z")
_MOMENT = re.compile(rb"^As of .*$|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.MULTILINE)


class Identity(NamedTuple):
    """What makes a message that message, whatever its number."""

    sender: str
    title: str
    body: str


class ChannelView(NamedTuple):
    """One channel: messages by file name, cursors by file name as number and late files, other files by name.

    `summary` is the derived state.md, without its times and without how many messages it knew of; None without one.
    A random id in a message's name is written like any other. `removed` are the files that have a tombstone.
    """

    meta: ChannelMeta
    messages: dict[str, Message]
    cursors: dict[str, tuple[int, tuple[str, ...]]]
    others: dict[str, bytes]
    records: Records
    summary: bytes | None
    removed: frozenset[str] = frozenset()

    def unread(self, agent: str) -> list[int]:
        """Returns the numbers above an agent's cursor that are for it."""
        start = self.cursors.get(f"{agent}.txt", (0, ()))[0]
        return sorted(m.seq for m in self.messages.values() if m.seq > start and m.is_for(agent))


class RootView(NamedTuple):
    """A root: its channels by name, whether it has its list of ignored files, what on it is not whole, its settings.

    `sessions` has the name and the agent of each, in order, and whether it has ended.
    """

    channels: dict[str, ChannelView]
    ignores: bool
    broken: tuple[str, ...]
    settings: OwnerSettings = OwnerSettings()
    sessions: tuple[tuple[str, str, bool], ...] = ()

    def identities(self) -> dict[tuple[str, int], set[Identity]]:
        """Returns which messages carry each number of each channel."""
        found: dict[tuple[str, int], set[Identity]] = {}
        for name, channel in self.channels.items():
            for item in channel.messages.values():
                found.setdefault((name, item.seq), set()).add(Identity(item.sender, item.title, item.body))
        return found


def alike_but_for_numbers(one: RootView, other: RootView) -> bool:
    """Tells whether two roots mean the same when messages are told by their order, not by their numbers."""
    return _without_numbers(one) == _without_numbers(other)


def _without_numbers(view: RootView) -> object:
    return (
        view.ignores,
        view.settings,
        view.sessions,
        {
            name: (
                channel.meta,
                channel.others,
                channel.records.without_fences(),
                [_without_number(item) for item in sorted(channel.messages.values(), key=lambda item: item.seq)],
            )
            for name, channel in view.channels.items()
        },
    )


def _without_number(item: Message) -> Message:
    return item.replace(seq=0, body=_FENCE.sub("", item.body) if item.transaction else item.body)


def view_of(disk: Disk) -> RootView:
    """Returns what a disk means."""
    broken: list[str] = []
    channels = {
        folder: _channel(disk, folder, broken)
        for folder in sorted(disk.folders)
        if os.path.join(folder, layout.META) in disk.files and folder and not folder.startswith(layout.DELETED_PREFIX)
    }
    for name, text in layout.GIT_FILES.items():
        if disk.files.get(name, text.encode()) != text.encode():
            broken.append(name)
    ignore = disk.files.get(layout.IGNORE_FILE)
    settings = OwnerSettings()
    try:
        if layout.OWNER in disk.files:
            settings = owner_settings.parse(disk.files[layout.OWNER])
    except ValueError as error:
        broken.append(f"{layout.OWNER}: {error}")
    whole = {name: view for name, view in channels.items() if view is not None}
    sessions = _sessions(disk, broken)
    return RootView(whole, ignore is not None, (*broken,), settings, sessions)


def _sessions(disk: Disk, broken: list[str]) -> tuple[tuple[str, str, bool], ...]:
    found: list[tuple[str, str, bool]] = []
    for path, data in disk.files.items():
        folder, name = os.path.split(path)
        if folder == layout.SESSIONS and name.endswith(session.END):
            try:
                each = session.parse(data, session_id=name[: -len(session.END)])
                found.append((each.name, each.agent, each.ended is not None))
            except ValueError as error:
                broken.append(f"{path}: {error}")
    return tuple(sorted(found))


def _channel(disk: Disk, folder: str, broken: list[str]) -> ChannelView | None:
    messages: dict[str, Message] = {}
    others: dict[str, bytes] = {}
    cursors: dict[str, tuple[int, tuple[str, ...]]] = {}
    summary: bytes | None = None
    removed: frozenset[str] = frozenset()
    for path, data in disk.files.items():
        place, name = os.path.split(path)
        try:
            if place == os.path.join(folder, layout.CURSORS) and name.endswith(".txt"):
                cursor = cursor_store.parse(data)
                cursors[name] = (cursor.seq, cursor.late)
            elif place == folder and seq_of(name) is not None:
                messages[without_ids(name)] = _message(data, seq_of(name))
            elif path == os.path.join(folder, layout.TOMBSTONES):
                removed = frozenset(each.file for each in tombstone.parse(data)[0])
            elif path == os.path.join(folder, layout.STATE):
                summary = _summary(data, folder)
            elif place == folder and name not in layout.OURS and not layout.is_derived_temporary(name):
                others[name] = data
        except ValueError as error:
            broken.append(f"{path}: {error}")
    try:
        meta = channel_meta.parse(disk.files[os.path.join(folder, layout.META)]).replace(created="")
    except ValueError as error:
        broken.append(f"{folder}: {error}")
        return None
    inside = len(folder) + 1
    files = {path[inside:].replace(os.sep, "/"): data for path, data in disk.files.items() if _is_in(path, folder)}
    return ChannelView(meta, messages, cursors, others, records_of(files, broken), summary, removed)


def _summary(data: bytes, folder: str) -> bytes:
    """What a state.md says; fails where it is not whole."""
    if not data.startswith(f"# State of {folder}\n".encode()) or not _LAST_SECTION.search(data):
        raise ValueError("no whole summary")
    return _MOMENT.sub(b"", data)


@remembered
def _message(data: bytes, seq: int | None) -> Message:
    return timeless(message.parse(data, seq=seq))


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


def has_lost_numbers(disk: Disk) -> bool:
    """Tells whether a message was taken back on a disk, so that its number is not given again."""
    return any(os.path.basename(path).startswith(layout.TAKEN_BACK_PREFIX) for path in disk.files)


def temporaries(disk: Disk) -> list[str]:
    """Returns the temporary files on a disk, those of derived files and of the owner's settings included."""
    return [
        path
        for path in disk.files
        if is_derived(path) or is_of_owner(path) or _base(path).startswith(layout.TEMPORARY_PREFIX)
    ]


def is_derived(path: str) -> bool:
    """Tells whether a path is that of a derived file on its way to its name."""
    return layout.is_derived_temporary(_base(path))


def is_of_sessions(path: str) -> bool:
    """Tells whether a path is that of a session's record on its way to its name."""
    return os.path.dirname(path) == layout.SESSIONS


def is_of_owner(path: str) -> bool:
    """Tells whether a path is that of the owner's settings on their way to their name."""
    return layout.is_owner_temporary(_base(path))


def _base(path: str) -> str:
    return os.path.basename(path)
