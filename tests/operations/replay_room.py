"""What tests of the replay need: what is told of a room's records, what lies on the disk, and what a hand does."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from agent_chat.operations import claims, doctor, journal_checks, replay, replay_checks
from agent_chat.operations.leases import Actor
from agent_chat.operations.replay import Filed, History
from agent_chat.storage.journal import CLAIMS, JOURNALS, LOCKS, TASKS
from tests.operations.lock_room import LEGACY_ID, LockRoom, legacy_lock
from tests.support.cli import message_file, plant
from tests.support.leases import legacy_claim, legacy_task

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.channel import Channel

REPLAY = ("task.replay", "claim.replay", "lock.replay")
UNTIL = "2026-01-02T03:09:05+00:00"


def findings(room: LockRoom) -> list[tuple[str, str]]:
    """What the doctor finds by a replay, as ids and places."""
    found = [each for each in doctor.examine(room.reopened()).findings if each.id in REPLAY]
    assert all(each.message and each.remedy and each.severity == "warning" for each in found)
    return [(each.id, os.path.relpath(each.path, room.folder).replace(os.sep, "/")) for each in found]


def told(room: LockRoom) -> str:
    """The message and the remedy of the one finding."""
    (finding,) = (each for each in doctor.examine(room.reopened()).findings if each.id in REPLAY)
    return f"{finding.message}; {finding.remedy}"


def history_of(room: LockRoom) -> tuple[History, dict[str, Filed]]:
    """What is told of the room's records, and its filed entries."""
    channel, filed = room.reopened(), dict[str, Filed]()
    stored = doctor.examine(channel).stored
    journal_checks.check(channel, stored, filed)
    return replay.replay(stored, filed), filed


def rebuilt(room: LockRoom) -> dict[str, bytes]:
    """The records as messages and entries tell of them, by place."""
    history, filed = history_of(room)
    found: dict[str, bytes] = {}
    for folder in (TASKS, CLAIMS, LOCKS):
        for account in history.of(folder).values():
            assert account.told is not None
            if account.told.there:
                place = replay_checks._place_of(folder, account.id, account.told)
                entry = replay.written(account, place, filed)
                assert entry is not None
                found[place] = entry[1]
    return found


def on_disk(room: LockRoom) -> dict[str, bytes]:
    """The records, by place."""
    paths = [path for folder in (TASKS, CLAIMS, LOCKS) for path in (room.folder / folder).glob("*.json")]
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}


def alter(room: LockRoom, place: str, **fields: Any) -> None:
    """Changes fields of a record by hand."""
    record = json.loads((room.folder / place).read_bytes())
    room.put(place, (json.dumps({**record, **fields}, indent=2) + "\n").encode())


def lose_journals(room: LockRoom) -> None:
    """Removes all filed entries, which people may do."""
    for journal in JOURNALS:
        shutil.rmtree(room.folder / journal.audit, ignore_errors=True)


def seq_of_last(room: LockRoom) -> int:
    """The number of the last message."""
    return room.channel.messages.numbers().highest


def message(room: LockRoom, seq: int) -> Path:
    """The file of a message."""
    return next(room.folder.glob(f"{seq:04d}-*.md"))


def say(room: LockRoom, seq: int, status: str, target: str, body: str, **fields: str) -> None:
    """Writes an audit message by hand."""
    name = f"{seq:04d}-alice-by-hand.md"
    plant(room.folder / name, message_file(seq, title=f"{status} {target}", body=body + "\n", status=status, **fields))


def task_body(status_of: str, **fields: object) -> str:
    """The body of an audit message about T-1."""
    known = {"event": status_of, "task_id": "T-1", "status": "open", "owner": None, "lease_expires_at": None}
    return json.dumps({**known, **fields})


def put_untold(room: LockRoom) -> None:
    """Puts records into a room that nothing tells of."""
    room.put("tasks/T-1.json", legacy_task(status="in_progress", owner="bob", lease_expires_at=UNTIL))
    room.put("claims/T-1.bob.json", legacy_claim())
    room.put(f"locks/{LEGACY_ID}.json", legacy_lock())


def claim_it(channel: Channel) -> object:
    """Claims the task by bob, as a call with a channel of its own."""
    return claims.claim(channel, "T-1", Actor(name="bob"))
