"""A room with a term, whose messages were sent some days ago."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_chat import timestamps
from agent_chat.operations import keeping, retention
from agent_chat.storage.seen_store import SeenStore
from tests.operations.room import Room
from tests.support.cli import plant

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.operations.retention import Pruned
    from agent_chat.records.tombstone import Tombstone

DAY = 86_400.0
DAYS = 14


class KeepingRoom(Room):
    """A room with the term of 14 days."""

    def __init__(self, root: Path, **fields: Any) -> None:
        super().__init__(root, **fields)
        plant(root / "_owner.json", '{"schema_version": 1, "retention_days": 14}')

    def sent(self, seq: int, days: float, **fields: str) -> Path:
        """Writes a message that was sent so many days ago."""
        created = timestamps.format_utc(self.clock.now() - days * DAY)
        return self.plant(seq, created=f'"{created}"', **fields)

    def seen(self, agent: str, days: float = 0.0) -> None:
        """Notes that an agent was seen so many days ago."""
        self.clock.turn(-days * DAY)
        SeenStore(self.workspace, self.channel.layout).note(agent)
        self.clock.turn(days * DAY)

    def term(self, days: int = DAYS) -> keeping.Term:
        """The term, asked for now."""
        return keeping.Term(days=days, now=self.clock.now())

    def prune(self, days: int = DAYS, *, dry_run: bool = False) -> Pruned:
        """Prunes the channel."""
        return retention.prune(self.reopened(), self.term(days), dry_run=dry_run)

    def gone(self) -> list[int]:
        """Prunes the channel; returns the numbers that went."""
        return list(self.prune().removed)

    def reasons(self) -> dict[int, str]:
        """Prunes the channel; returns why what is due stayed."""
        return {each.seq: each.reason for each in self.prune().kept}

    def hourly(self) -> Pruned | None:
        """Makes the run that follows commands."""
        return retention.prune_hourly(self.reopened(), self.term())

    def tombstones(self) -> list[Tombstone]:
        """All tombstones."""
        return self.channel.messages.tombstones.load()

    def there(self) -> list[int]:
        """The numbers of the messages that are there."""
        return [seq for seq, _ in self.reopened().messages.numbers().after(0)]
