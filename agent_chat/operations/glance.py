"""A glance at all channels: how much is unread for an agent, at the price of a look at each folder.

Hooks ask this many times an hour, mostly to hear that there is nothing. So what was counted is kept, outside of the
channels, and believed while the channel's folder, its record and the agent's cursor have the times, sizes and numbers
that they had; where only messages were added, only those are opened. Who edits a message in place is noticed at the
next change of the folder.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.late import arrivals, is_for
from agent_chat.records import json_codec
from agent_chat.records.value import Value
from agent_chat.storage import layout
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import may_be_channel, names_like_channels
from agent_chat.storage.filesystem import is_folder
from agent_chat.storage.message_store import SETTLING_SECONDS, Stored, Unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from os import stat_result
    from typing import Any

    from agent_chat.operations.inbox import Failure
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.workspace import Workspace


# What costs less than this many looks at files is not worth a cache.
WORTH_KEEPING = 32
MAX_SENDERS = 20
_VERSION = "1"


class Count(Value):
    """What is unread for an agent in a channel.

    `late` are messages that arrived below its cursor, `latest` is the number up to which was looked, `highest` that of
    the last unread message. `more` tells that time was up before all was looked at.
    """

    channel: str
    unread: int = 0
    senders: tuple[str, ...] = ()
    late: int = 0
    latest: int = 0
    highest: int = 0
    more: bool = False


class Glance(Value):
    """What a glance found: channels with something unread, and those that could not be looked at.

    `faults` are what makes glances slow, and nothing else.
    """

    counts: tuple[Count, ...]
    failures: tuple[Failure, ...]
    faults: tuple[str, ...] = ()


class _Looked(Value):
    """How far a channel was looked through from a cursor, and by which names: `known` is of the numbers up to there.

    `unfinished` tells that a file was on its way, whose end changes nothing that a look at the folder would show.
    """

    count: Count
    cursor: int
    known: tuple[int, int]
    unfinished: bool = False


def glance(workspace: Workspace, agent: str, *, only: Container[str] | None = None, seconds: float = 1.0) -> Glance:
    """Returns what is unread for an agent in all channels, or in those of `only`; moves nothing.

    After `seconds` no more files are opened; what was counted by then is kept and the next glance goes on from there.
    """
    return _Glancer(workspace, agent, seconds, everywhere=only is None).all(names_like_channels(workspace, only))


class _Glancer:
    """One glance."""

    def __init__(self, workspace: Workspace, agent: str, seconds: float, *, everywhere: bool) -> None:
        self._workspace = workspace
        self._agent = agent
        self._deadline = workspace.clock.monotonic() + seconds
        folder = layout.hooks_folder(workspace.root)
        self._cache = CacheFile(workspace, folder, f"{names.fold(agent)}.unread", _VERSION)
        self._everywhere = everywhere  # so that channels which are not there are gone
        self._looks = 0

    def all(self, channels: list[str]) -> Glance:
        """Looks at some channels."""
        known = {name: fields for name, fields in self._load().items() if name in channels or not self._everywhere}
        kept: dict[str, object] = {}
        counts: list[Count] = []
        failures: list[Failure] = []
        for name in channels:
            channel = Channel(self._workspace, name)
            try:
                mark = self._mark(channel)
                if mark is None:
                    continue
                before = known.get(name)
                looked: _Looked | None
                if before is not None and mark and before[0] == mark and not before[1].count.more:
                    looked = before[1]
                else:
                    looked = self._look(channel, before[1] if before is not None else None)
            except (ChatError, OSError) as error:
                failures.append((name, error))
                continue
            if looked is not None:
                kept[name] = ["" if looked.unfinished else mark, *_fields(looked)]
                if looked.count.unread or looked.count.late or looked.count.more:
                    counts.append(looked.count)
        self._store(kept, known)
        return Glance(counts=tuple(counts), failures=tuple(failures), faults=tuple(self._cache.warnings))

    # -- one channel -----------------------------------------------------------------------------------------------

    def _mark(self, channel: Channel) -> str | None:
        """Returns what tells that a channel is as it was; "" where nothing does, None where there is no channel."""
        files = self._workspace.files
        try:
            folder = files.status(channel.layout.folder)
            if not is_folder(folder):
                return None
            record = files.status(channel.layout.meta)
        except FileNotFoundError:
            return None
        except PermissionError:
            if not may_be_channel(self._workspace, channel.name):
                return None
            raise
        try:
            cursor: stat_result | None = files.status(channel.layout.cursor(self._agent))
        except FileNotFoundError:
            cursor = None
        statuses = [folder, record] if cursor is None else [folder, record, cursor]
        newest = max(max(each.st_mtime, each.st_ctime) for each in statuses)
        if self._workspace.clock.now() - newest < SETTLING_SECONDS:
            return ""
        return " ".join(f"{each.st_mtime_ns} {each.st_ctime_ns} {each.st_size} {each.st_ino}" for each in statuses)

    def _look(self, channel: Channel, before: _Looked | None) -> _Looked | None:
        """Counts what is unread, from where the last glance ended if all up to there is as it was."""
        spelled = channel.meta.spelled(self._agent)
        if spelled is None and channel.meta.closed:
            return None
        agent = spelled or self._agent
        cursor = channel.cursors.load(agent)
        numbers = channel.messages.numbers()
        self._looks += len(numbers)
        start = cursor.seq if cursor is not None else 0
        count = Count(channel=channel.name, latest=start)
        if before is not None and before.cursor == start and before.count.latest >= start:
            # What retention removed no longer counts as unread, so here only what is there is compared.
            if numbers.present_at(before.count.latest) == before.known:
                count = before.count.replace(late=0, more=False)
        count, unfinished = self._counted(channel, agent, numbers, count)
        if self._workspace.clock.monotonic() > self._deadline:
            count = count.replace(more=True)
        else:
            late = arrivals(channel, is_for(agent), cursor, numbers)
            count = count.replace(late=late.count if late.wakes else 0)
            unfinished = unfinished or bool(late.unsettled)
        known = numbers.present_at(count.latest)
        return _Looked(count=count, cursor=start, known=known, unfinished=unfinished)

    def _counted(self, channel: Channel, agent: str, numbers: Numbers, count: Count) -> tuple[Count, bool]:
        """Goes on counting above what was looked at, until all was, or a file is unfinished, or time is up.

        Returns the count, and whether it ended before an unfinished file.
        """
        unread, latest, highest = count.unread, count.latest, count.highest
        senders = list(count.senders)
        clock = self._workspace.clock
        more = unfinished = False
        for seq, files in numbers.after(latest):
            if clock.monotonic() > self._deadline:
                more = True
                break
            unit = channel.messages.load_unit(seq, files)
            self._looks += len(files)
            if any(isinstance(item, Unfinished) for item in unit):
                unfinished = True
                break
            for item in unit:
                if isinstance(item, Stored) and item.message.is_for(agent) and not item.message.is_audit:
                    unread += 1
                    highest = seq
                    if len(senders) < MAX_SENDERS and not names.contains(senders, item.message.sender):
                        senders.append(item.message.sender)
            latest = seq
        count = count.replace(unread=unread, senders=tuple(senders), latest=latest, highest=highest, more=more)
        return count, unfinished

    # -- the cache -------------------------------------------------------------------------------------------------

    def _load(self) -> dict[str, tuple[str, _Looked]]:
        """Returns, by channel, what was stored: its mark and how far it was looked through."""
        data = self._cache.load()
        if not data:
            return {}
        try:
            stored = json_codec.object_of(json_codec.decode(data))
            return {name: _looked(name, fields) for name, fields in stored.items()}
        except (TypeError, ValueError):
            return {}  # whole, and not what we write: another version's

    def _store(self, kept: dict[str, object], known: dict[str, tuple[str, _Looked]]) -> None:
        """Keeps what was counted where that saves something, and where it is not kept already."""
        if self._looks < WORTH_KEEPING:
            return
        before = {name: [mark, *_fields(looked)] for name, (mark, looked) in known.items()}
        if any(before.get(name) != fields for name, fields in kept.items()):
            self._cache.store(json_codec.encode({**before, **kept}).encode("utf-8"))


def _fields(looked: _Looked) -> list[object]:
    count = looked.count
    return [
        looked.cursor, *looked.known, count.unread, list(count.senders), count.late, count.latest, count.highest,
        count.more,
    ]  # fmt: skip


def _looked(name: str, fields: Any) -> tuple[str, _Looked]:
    mark, cursor, known, total, unread, senders, late, latest, highest, more = fields
    count = Count(
        channel=name,
        unread=int(unread),
        senders=tuple(map(str, senders)),
        late=int(late),
        latest=int(latest),
        highest=int(highest),
        more=bool(more),
    )
    return str(mark), _Looked(count=count, cursor=int(cursor), known=(int(known), int(total)))
