"""What every step of the model needs: real channels on a disk that can fail, and the comparison with the reference."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable
from unittest.mock import patch

from hypothesis.stateful import RuleBasedStateMachine, invariant

from agent_chat import timestamps
from agent_chat.errors import ChatError
from agent_chat.operations import doctor, reading
from agent_chat.operations import glance as glancing
from agent_chat.operations.inbox import inbox
from agent_chat.records import message as message_record
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names
from agent_chat.storage.message_numbers import seq_of
from agent_chat.storage.workspace import Workspace
from tests.model.reference import Reference, Said
from tests.support.cli import ArrivalFiles, Crash, FakeClock, FaultyFiles

if TYPE_CHECKING:
    from agent_chat.operations.messages import Draft

AGENTS = ("alice", "bob", "carol")
LONG_AGO = 1_000_000_000
TICK = 10


class FaultyArrivals(FaultyFiles, ArrivalFiles):
    """A disk that fails, on which files came to their names when they were last written."""


class Machine(RuleBasedStateMachine):
    """Two channels, one open and one closed; what is not on the real disk is in `self.model`."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="agent-chat-model-"))
        self.clock = FakeClock(float(LONG_AGO))
        self.ticks = 0
        self.model: dict[str, Reference] = {}
        self.fault: tuple[int, int | None] | None = None
        self.keyed: list[tuple[str, Draft]] = []
        self.titles = 0
        self.died = False

    def teardown(self) -> None:
        """Removes the root."""
        shutil.rmtree(self.root)

    # -- the means -----------------------------------------------------------------------------------------------

    def workspace(self, *, faulty: bool = False) -> Workspace:
        """The workspace of the next call; a fault that was ordered hits this one."""
        at, code = (0, None)
        if faulty and self.fault is not None:
            (at, code), self.fault = self.fault, None
        return Workspace(
            str(self.root), clock=self.clock, files=FaultyArrivals(str(self.root), self.clock, at=at, code=code)
        )

    def channel(self, name: str, *, faulty: bool = False) -> Channel:
        return Channel(self.workspace(faulty=faulty), name)

    def attempt(self, act: Callable[[], Any], *, expected: tuple[str, ...] = ()) -> tuple[bool, Any]:
        """Carries out an operation; returns whether it ended well, and its result or error.

        An error that nobody ordered, and that was not expected, fails the test.
        """
        ordered = self.fault is not None
        try:
            result = act()
        except Crash as error:
            self.died = True
            return False, error
        except (ChatError, OSError) as error:
            code = getattr(error, "code", "")
            if not ordered and code not in expected:
                raise
            self.died |= code == "MESSAGE_PUBLICATION_UNKNOWN"
            return False, error
        assert not expected, f"{result} instead of {expected}"
        return True, result

    def settle(self) -> None:
        """Ends a step: what was written in it gets its time, and the clock is turned."""
        now = LONG_AGO + self.ticks * TICK
        for path in self.root.rglob("*"):
            if path.lstat().st_mtime > LONG_AGO + 10_000_000:
                os.utime(path, (now, now), follow_symlinks=False)
        self.ticks += 1
        self.clock.turn(TICK)

    def title(self) -> str:
        self.titles += 1
        return f"t{self.titles}"

    def on_disk(self, name: str) -> dict[str, Said]:
        """The message files of a channel as they are, with what the model knows of their arrival."""
        found: dict[str, Said] = {}
        for path in (self.root / name).iterdir():
            seq = seq_of(path.name)
            if seq is None:
                continue
            message = message_record.parse(path.read_bytes(), seq=seq)
            known = self.model[name].messages.get(path.name)
            found[path.name] = Said(
                file=path.name,
                seq=seq,
                sender=message.sender,
                to=message.to,
                title=message.title,
                arrived=known.arrived if known else self.ticks,
                audit=message.is_audit,
                reply_to=message.reply_to,
                was=message.was,
            )
        return found

    def sent_at(self, name: str, file: str) -> float:
        """When a message was sent: as its header says, else when its file was written."""
        path = self.root / name / file
        created = message_record.parse(path.read_bytes()).created
        return timestamps.parse(created) if created else path.stat().st_mtime

    def seen_at(self, name: str, agent: str) -> float | None:
        """When an agent was last seen: as it was noted, else when its cursor was written."""
        noted = self.root / name / ".cache" / f"seen-{agent}"
        cursor = self.root / name / ".cursors" / f"{agent}.txt"
        if noted.exists():
            return float(json.loads(noted.read_bytes().split(b"\n", 1)[1])["at"])
        return cursor.stat().st_mtime if cursor.exists() else None

    def adopt(self, name: str, *, may_come: set[str], may_go: set[str] = frozenset()) -> list[Said]:  # type: ignore[assignment]
        """Takes over what an operation did to the messages, if that is something it was allowed to do."""
        before, after = self.model[name].messages, self.on_disk(name)
        came = [after[file] for file in sorted(after.keys() - before.keys())]
        assert {said.title for said in came} <= may_come
        assert before.keys() - after.keys() <= may_go
        assert all(before[file] == after[file] for file in before.keys() & after.keys())
        if not self.died:
            assert all(said.seq > self.model[name].highest for said in came)
        self.model[name].messages = after
        return came

    # -- what holds after each step --------------------------------------------------------------------------------

    @invariant()
    def disk_and_reference_agree(self) -> None:
        """Messages, cursors and unread sets are those of the reference, and the doctor finds what it says."""
        assert channel_names(self.workspace()) == sorted(self.model)
        for name, model in self.model.items():
            channel = self.channel(name)
            assert self.on_disk(name) == model.messages
            for agent in AGENTS:
                assert channel.cursors.seq(agent) == model.cursor(agent).seq
                assert [stored.file for stored in reading.unread(channel, agent)] == model.unread(agent)
            self.doctor_agrees(name)
        for agent in AGENTS:
            entries, failures = inbox(self.workspace(), agent)
            assert failures == []
            unread = {
                name: len(model.unread(agent))
                for name, model in self.model.items()
                if model.unread(agent) and model.knows(agent)
            }
            assert {entry.channel: entry.unread for entry in entries if entry.unread} == unread
            late = {entry.channel for entry in entries if "below the cursor" in entry.warning}
            self.glance_agrees(agent, unread, late)

    def glance_agrees(self, agent: str, unread: dict[str, int], late: set[str]) -> None:
        """A glance counts what the inbox counts, from what the glance before it kept."""
        # Each step gives what it wrote times of its own, so that equal times are believed here at once.
        with patch.multiple(glancing, WORTH_KEEPING=0, SETTLING_SECONDS=float("-inf")):
            found = glancing.glance(self.workspace(), agent)
        assert found.failures == ()
        assert {count.channel: count.unread for count in found.counts if count.unread} == unread
        assert {count.channel for count in found.counts if count.late} == late

    def doctor_agrees(self, name: str) -> None:
        """The doctor finds just what was done to the channel."""
        model = self.model[name]
        found: dict[str, set[str]] = {}
        for finding in doctor.examine(self.channel(name)).findings:
            found.setdefault(finding.id, set()).add(os.path.basename(finding.path))
        if self.died:
            found.pop("temporary.stale", None)
        unaudited = {
            f"{marker[:-3]}.CLAIMED-{agent}.md"
            for marker, agent in model.claimed.items()
            if not any(said.title == f"marker.claimed {marker[5:-3]}" for said in model.messages.values())
        }
        wanted = {
            "message.unique": model.doubled(),
            "message.late": model.waiting(),
            "message.parent": model.orphans(),
            "file.foreign": model.foreign,
            "marker.audited": unaudited,
            "tombstone.agrees": model.disagreeing(),
        }
        if model.removed:
            # What came, got a new number and was removed, all before its reader came by, is told as more than it was.
            found["message.late"] = {file for file in found.get("message.late", ()) if not file.endswith(".txt")}
        agreed = {id: files for id, files in wanted.items() if files}
        assert {id: files for id, files in found.items() if files} == agreed
