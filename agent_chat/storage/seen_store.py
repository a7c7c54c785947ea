"""When each agent was last seen in a channel: it read, posted, waited or moved its cursor there.

A file in the cache says when, to the minute, and on what the agent waits; whether it still does, only the lock of a
waiting call tells. Nobody else's traffic refreshes it. Where the file is gone, the time of the agent's cursor counts.
"""

from __future__ import annotations

from agent_chat.names import fault_of_name, fold
from agent_chat.records import json_codec
from agent_chat.records.value import Value
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.layout import CURSOR_END, SEEN_PREFIX
from agent_chat.timestamps import END_OF_TIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_chat.errors import ChatError
    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.workspace import Workspace

# An agent that works is seen all the time; so often it is written down.
GRAIN_SECONDS = 60.0
# Who was not seen for so long cannot be counted on to see a message soon.
AWAY_SECONDS = 86_400.0
_VERSION = "1"


class Seen(Value):
    """When an agent was last seen, in POSIX seconds, and on what it waited last, "" where it never did.

    Whether it still waits only its lock tells.
    """

    at: float
    waits: str = ""


class Absent(Value):
    """Somebody who was not seen lately: since when, in POSIX seconds, None where it never was seen."""

    name: str
    since: float | None


class SeenStore:
    """Who was seen in one channel."""

    def __init__(self, workspace: Workspace, layout: ChannelLayout) -> None:
        self._workspace = workspace
        self._layout = layout

    def note(self, agent: str, *, waits: str = "") -> None:
        """Writes down that an agent is seen now, unless that was done within the last minute.

        Where nothing can be written the agent will look away, which is what its cursor tells too.
        """
        now = self._workspace.clock.now()
        file = self._file(agent)
        before = _parse(file.load())
        if before is not None:
            # On what it waited last is kept: another session of the name may wait on it still.
            waits = waits or before.waits
            if 0 <= now - before.at < GRAIN_SECONDS and waits == before.waits:
                return
        text = json_codec.encode({"at": int(now), "waits": waits})
        file.store(text.encode("utf-8"))

    def load(self, agent: str) -> Seen | None:
        """Returns when an agent was last seen, None where nothing tells; fails with OSError where it cannot be told."""
        seen = _parse(self._file(agent).load_or_fail())
        if seen is not None:
            return seen
        try:
            at = self._workspace.files.status(self._layout.cursor(agent)).st_mtime
        except FileNotFoundError:
            return None
        return Seen(at=at) if 0 <= at < END_OF_TIME else None

    def absent(self, agents: Iterable[str]) -> tuple[Absent, ...]:
        """Returns those of some agents that were not seen within a day; fails with OSError where it cannot be told.

        A time that lies ahead tells nothing: the clock was set back since.
        """
        now = self._workspace.clock.now()
        seen = [(agent, self.load(agent)) for agent in agents]
        known = [
            (agent, each.at if each is not None and each.at <= now + GRAIN_SECONDS else None) for agent, each in seen
        ]
        return tuple(Absent(name=agent, since=at) for agent, at in known if at is None or now - at > AWAY_SECONDS)

    def every(self, failures: list[tuple[str, ChatError | OSError]] | None = None) -> dict[str, Seen]:
        """Returns, by folded name, every agent that was ever seen.

        What keeps some from being told is added to `failures`; without such a list it is raised, an OSError.
        """
        names: list[str] = []
        for folder, start, end in ((self._layout.cache, SEEN_PREFIX, ""), (self._layout.cursors, "", CURSOR_END)):
            try:
                there = self._workspace.files.list_if_there(folder)
            except OSError as error:
                if failures is None:
                    raise
                failures.append(("when some were seen", error))
                continue
            names += [
                name[len(start) : len(name) - len(end)]
                for name in there
                if name.startswith(start) and name.endswith(end)
            ]
        found: dict[str, Seen] = {}
        for name in sorted({fold(name) for name in names if fault_of_name(name) is None}):
            try:
                seen = self.load(name)
            except OSError as error:
                if failures is None:
                    raise
                failures.append((f"when {name} was seen", error))
                continue
            if seen is not None:
                found[name] = seen
        return found

    def _file(self, agent: str) -> CacheFile:
        return CacheFile(self._workspace, self._layout.cache, self._layout.seen(agent), _VERSION)


def _parse(data: bytes) -> Seen | None:
    """Returns what a file tells, None where it was not there or is not what we write."""
    try:
        fields = json_codec.object_of(json_codec.decode(data)) if data else {}
        at, waits = fields["at"], fields["waits"]
    except (KeyError, ValueError):
        return None
    if not isinstance(at, int) or not 0 <= at < END_OF_TIME or not isinstance(waits, str):
        return None
    return Seen(at=float(at), waits=waits)
