"""What tests of leases need: a clock with a boot that the test turns, and records as agent-chat-plugin wrote them."""

from __future__ import annotations

import base64
import json
from typing import Any

from agent_chat.records.lease import Moment
from tests.support.cli import START, FakeClock

STAMP = "2026-01-02T03:04:05+00:00"  # of START
BOOTED = 5000.0


class BootClock(FakeClock):
    """A clock of a machine that was booted a while ago: turning it turns both clocks, `step` the wall clock alone."""

    def __init__(self, now: float = START) -> None:
        super().__init__(now)
        self.boot_id = "0b00-one"
        self._boot = BOOTED

    def moment(self) -> Moment:
        """The instant by both clocks."""
        return Moment(wall=self._now, boot_id=self.boot_id, boot=self._boot)

    def turn(self, seconds: float) -> None:
        """Turns both clocks."""
        super().turn(seconds)
        self._boot += seconds

    def step(self, seconds: float) -> None:
        """Sets the wall clock forward or back."""
        super().turn(seconds)

    def reboot(self) -> None:
        """Starts the machine anew; the wall clock goes on."""
        self.boot_id, self._boot = self.boot_id + "-later", 10.0


def legacy_task(id: str = "T-1", **fields: Any) -> bytes:
    """A task's file as agent-chat-plugin wrote it."""
    record: dict[str, Any] = {
        "id": id,
        "channel": "dev",
        "title": "t",
        "status": "open",
        "owner": None,
        "created_by": "alice",
        "depends_on": [],
        "files_hint": [],
        "acceptance": [],
        "lease_expires_at": None,
        "branch": None,
        "updated_at": STAMP,
    }
    return (json.dumps({**record, **fields}, indent=2) + "\n").encode()


def legacy_claim(task_id: str = "T-1", owner: str = "bob", **fields: Any) -> bytes:
    """A claim's file as agent-chat-plugin wrote it: five minutes from START."""
    record = {
        "task_id": task_id,
        "channel": "dev",
        "owner": owner,
        "lease_expires_at": "2026-01-02T03:09:05.000000+00:00",
        "claimed_at": "2026-01-02T03:04:05.000000+00:00",
        "updated_at": "2026-01-02T03:04:05.000000+00:00",
        "previous_owner": None,
        "previous_lease_expires_at": None,
        "recovery_reason": None,
    }
    return (json.dumps({**record, **fields}, indent=2) + "\n").encode()


def base64_of(data: bytes | None) -> str | None:
    """Bytes as a marker of agent-chat-plugin holds them."""
    return None if data is None else base64.b64encode(data).decode()


def lease_marker(version: int = 2, **fields: Any) -> dict[str, Any]:
    """The marker of a claim on T-1 by bob, as agent-chat-plugin left it; a field given as `...` is left out."""
    marker = {
        "claim_changes": [{"file": "T-1.bob.json", "next": base64_of(b"claim\n"), "previous": None}],
        "details": {"lease_owner": "bob"},
        "event": "lease.claimed",
        "phase": "applied",
        "task_after": base64_of(b"taken\n"),
        "task_before": base64_of(b"open\n"),
        "task_file": "tasks/T-1.json",
        "task_id": "T-1",
        "transaction_id": "448056a8753e4f4bb27968939d08d85a",
        "version": version,
        **fields,
    }
    if version == 1:
        del marker["task_after"], marker["transaction_id"]
    return {key: value for key, value in marker.items() if value is not ...}


def lock_marker(**fields: Any) -> dict[str, Any]:
    """The marker of a path lock, as agent-chat-plugin left it; a field given as `...` is left out."""
    marker = {
        "actor": "bob",
        "after": base64_of(b"lock\n"),
        "before": None,
        "event": "path.locked",
        "operation": "lock",
        "phase": "applied",
        "target": "b667d998167b482fae2d50e6fddf7eec.json",
        "transaction_id": "ce93fc81f9ad4e4eb44b0d6e90c386b1",
        "version": 1,
        **fields,
    }
    return {key: value for key, value in marker.items() if value is not ...}


def marker_bytes(marker: dict[str, Any]) -> bytes:
    """The file of a marker."""
    return (json.dumps(marker, indent=2) + "\n").encode()


def foreign_audit(seq: int, status: str, transaction: str) -> bytes:
    """An audit message as agent-chat-plugin wrote it: the id stands in the body."""
    body = json.dumps({"event": status, "task_id": "T-1", "transaction_id": transaction}, indent=2)
    head = f"seq: {seq}\nfrom: bob\nto: all\nchannel: dev\nts: {STAMP}\nstatus: {status}\ntitle: {status} T-1\n"
    return f"---\n{head}---\n{body}\n".encode()
