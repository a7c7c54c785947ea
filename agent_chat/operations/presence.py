"""Who is there: who waits now and on what, and when each was last seen.

Presence is derived from what an agent itself did here, never from what others do to it: a lock that its waiting call
holds and that ends with its process, and the time when it last read, posted, waited or moved its cursor.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.seen_store import GRAIN_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.storage.channel import Channel

MESSAGES = "messages"
# Whoever looks at the lock has it for a moment.
FIRST_TRY_SECONDS = 0.05


class Presence:
    """An agent that waits, in some channels, until `end`; `warnings` tell where that cannot be shown."""

    def __init__(self, channels: Sequence[Channel], agents: Sequence[str], waits: str) -> None:
        self.warnings: tuple[str, ...] = ()
        self._channels = tuple(zip(channels, agents))
        self._waits = waits
        self._clock = channels[0].workspace.clock
        self._held: list[FileLock] = []
        self._missing: list[tuple[Channel, str]] = [each for each in self._channels if not self._holds(*each)]
        self._beaten_at = self._clock.monotonic()
        self._note()

    def _holds(self, channel: Channel, agent: str) -> bool:
        """Takes the lock that shows the agent as waiting, which several calls of one name share.

        False while somebody looks at it, so that it has to be tried again.
        """
        files = channel.workspace.files
        lock = FileLock(files, channel.layout.waiting(agent), channel.workspace.clock)
        try:
            files.make_folder(channel.layout.cursors)
            if not lock.acquire(FIRST_TRY_SECONDS, shared=True):
                return False
            self._held.append(lock)
        except (OSError, ChatError) as error:
            self.warnings += (f"{channel.name} does not show {agent} as waiting: {error}",)
        return True

    def beat(self) -> None:
        """Writes down, once a minute, that the agent is still there; takes what locks it could not have before."""
        self._missing = [each for each in self._missing if not self._holds(*each)]
        now = self._clock.monotonic()
        if now - self._beaten_at >= GRAIN_SECONDS:
            self._beaten_at = now
            self._note()

    def _note(self) -> None:
        for channel, agent in self._channels:
            channel.seen.note(agent, waits=self._waits)

    def end(self) -> None:
        """Shows the agent as waiting no more."""
        for lock in self._held:
            lock.release()
        self._held = []
