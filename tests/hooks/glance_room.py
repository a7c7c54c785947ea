"""A root for glances: what changes in it gets a time that the test sets, and each look tells which files it opened."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_chat.operations import channels, messages, reading
from agent_chat.operations import glance as glancing
from agent_chat.operations.inbox import inbox
from agent_chat.operations.messages import Draft
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names
from tests.operations.room import bounds
from tests.support.cli import ArrivalFiles, FakeClock, message_file, workspace_on
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.operations.glance import Glance
    from agent_chat.storage.workspace import Workspace

TICK = 10.0
AUDIT = "task.created"


class Unread(NamedTuple):
    """What is unread in a channel, and from whom; `late` arrived below the cursor."""

    unread: int
    senders: tuple[str, ...] = ()
    late: int = 0


class Looking(ArrivalFiles):
    """The real file system, which remembers what it opened; each message that is read takes `cost` seconds."""

    def __init__(self, root: str, clock: FakeClock, cost: float = 0.0) -> None:
        super().__init__(root, clock)
        self.opened: list[str] = []
        self._turned, self._cost = clock, cost

    def read_file(self, path: str, limit: int) -> bytes:
        """The bytes of a file, at its price."""
        if path.endswith(".md"):
            self.opened.append(os.path.basename(path))
            self._turned.turn(self._cost)
        return super().read_file(path, limit)


class GlanceRoom:
    """A root in which nothing is synced; every step takes ten seconds and is long over when somebody looks."""

    def __init__(self, root: Path, *names: str) -> None:
        self.root = root
        self.clock = FakeClock()
        self.opened: list[str] = []
        self._stamps: dict[Path, int] = {}
        root.mkdir(exist_ok=True)
        for name in names or ("dev",):
            self.make(name)

    # -- what happens --------------------------------------------------------------------------------------------------

    def make(self, name: str, members: str | None = None) -> None:
        """Makes a channel, closed if members are named."""
        plan = channels.plan_channel(name, members=members, humans=None, topic=None, owner=None, level=None)
        channels.create(self._acting(), plan)
        self.settle()

    def remake(self, name: str = "dev") -> None:
        """Deletes a channel and makes another one of that name."""
        shutil.rmtree(self.root / name)
        self.make(name)

    def post(self, sender: str = "alice", to: str | None = None, channel: str = "dev", count: int = 1) -> None:
        """Posts messages."""
        for _ in range(count):
            draft = Draft(sender=sender, title="t", body="b", to=to)
            messages.post(Channel(self._acting(), channel), draft)
        self.settle()

    def plant(self, seq: int, sender: str = "alice", *, channel: str = "dev", name: str = "", **fields: str) -> Path:
        """Writes a message by hand."""
        path = self.root / channel / (name or f"{seq:04d}-{sender}-m.md")
        path.write_bytes(message_file(seq, sender=sender, **fields))
        self.settle()
        return path

    def tear(self, path: Path) -> bytes:
        """Leaves half of a message, as somebody does who is still writing it; returns the whole."""
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        self.settle()
        return whole

    def read(self, agent: str = "bob", *, limit: int = 50, channel: str = "dev") -> None:
        """Reads a page, and moves the cursor."""
        here = Channel(self._acting(), channel)
        reading.advance(reading.read_page(here, agent, bounds(limit=limit), after=None), agent)
        self.settle()

    def reset(self, seq: int, agent: str = "bob", channel: str = "dev") -> None:
        """Moves a cursor back."""
        here = Channel(self._acting(), channel)
        here.cursors.store(agent, seq, here.messages.numbers(), back=True)
        self.settle()

    def settle(self) -> None:
        """Gives all that changed since the last step the time of this one, and lets some time pass."""
        self.clock.turn(TICK)
        for path in [self.root, *self.root.rglob("*")]:
            if "_hooks" in path.parts or path.is_symlink():
                continue
            if path.stat().st_mtime_ns != self._stamps.get(path):
                os.utime(path, (self.clock.now(), self.clock.now()))
                self._stamps[path] = path.stat().st_mtime_ns
        self.clock.turn(TICK)

    def _acting(self) -> Workspace:
        return workspace_on(self.root, clock=self.clock, files=RecordingFileSystem(str(self.root), self.clock))

    # -- what is seen --------------------------------------------------------------------------------------------------

    def looking(self, cost: float = 0.0) -> Workspace:
        """The root as a hook opens it."""
        files = Looking(str(self.root), self.clock, cost)
        self.opened = files.opened
        return workspace_on(self.root, clock=self.clock, files=files)

    def glance(self, agent: str = "bob", *, cost: float = 0.0, **options: Any) -> Glance:
        """Glances at all channels; `opened` then are the messages that were opened for it."""
        return glancing.glance(self.looking(cost), agent, **options)

    def seen(self, agent: str = "bob", **options: Any) -> dict[str, Unread]:
        """What a glance sees, where it sees all of it."""
        found = self.glance(agent, **options)
        assert found.failures == ()
        assert not any(count.more for count in found.counts)
        return {each.channel: Unread(each.unread, each.senders, each.late) for each in found.counts}

    def wanted(self, agent: str = "bob") -> dict[str, Unread]:
        """What `read` would show now, channel by channel, and `inbox` would count."""
        found: dict[str, Unread] = {}
        workspace = workspace_on(self.root, clock=self.clock, files=ArrivalFiles(str(self.root), self.clock))
        whole = bounds(limit=1 << 20, max_bytes=1 << 30)
        everything_is_whole = True
        for name in channel_names(workspace):
            channel = Channel(workspace, name)
            spelled = channel.meta.spelled(agent)
            if spelled is None and channel.meta.closed:
                continue
            page = reading.read_page(channel, spelled or agent, whole, after=None)
            everything_is_whole = everything_is_whole and not page.held
            speech = [item.message.sender for item in page.stored if not item.message.is_audit]
            late = page.late.count if page.late.wakes else 0
            if speech or late:
                found[name] = Unread(len(speech), tuple(dict.fromkeys(speech)), late)
        if everything_is_whole:
            entries, failures = inbox(workspace, agent)
            assert failures == []
            said = {entry.channel: (entry.unread, entry.senders) for entry in entries if entry.unread}
            assert said == {name: each[:2] for name, each in found.items() if each.unread}
        return found

    @property
    def cache(self) -> Path:
        """Where what was counted for bob is kept."""
        return self.root / "_hooks" / "bob.unread"
