"""The doctor on records: each invariant broken is found, alone, and what is sound is not."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import pytest

from agent_chat.operations import doctor
from agent_chat.operations.findings import INVARIANTS, Finding
from agent_chat.records import claim, path_lock, task
from agent_chat.records.claim import Claim
from agent_chat.records.journal_entry import Change, Entry, phase_line, render
from agent_chat.records.lease import Lease
from agent_chat.records.locked_path import FILE, LockedPath
from agent_chat.records.path_lock import PathLock
from agent_chat.records.task import BLOCKED, DONE, IN_PROGRESS, Task
from agent_chat.storage.journal import JOURNALS
from agent_chat.storage.layout import PENDING
from tests.operations.room import Room
from tests.support.cli import (
    START,
    message_file,
    plant,
    run,
    tree_of,
    workspace_on,
)

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
CALLS = [
    ["task", "list", "dev"],
    ["task", "ready", "dev"],
    ["task", "show", "dev", "one"],
    ["task", "show", "dev", "held"],
    ["task", "create", "dev", "new", "--from", "bob", "--title", "t"],
    ["task", "update", "dev", "one", "--as", "bob", "--title", "t"],
    ["task", "claim", "dev", "one", "--as", "bob"],
    ["task", "renew", "dev", "held", "--as", "alice"],
    ["locks", "dev"],
]


def findings_of(room: Room) -> list[Finding]:
    """What the doctor finds in the room's channel."""
    return list(doctor.examine(room.reopened()).findings)


def found_in(room: Room) -> list[tuple[str, str]]:
    """The same as ids and paths in the channel."""
    return [(finding.id, os.path.relpath(finding.path, room.folder)) for finding in findings_of(room)]


# -- records by hand ---------------------------------------------------------------------------------------------------


def put_task(room: Room, name: str, file: str = "", **fields: Any) -> Path:
    """Writes a task."""
    record = Task(id=name, channel="dev", title="t", created_by="alice", updated_at=START).replace(**fields)
    return plant(room.folder / "tasks" / (file or f"{name}.json"), task.render(record))


def lease(**fields: Any) -> Lease:
    """A lease of five minutes that runs, by wall time."""
    return Lease(expires=START + 300, granted=START, seconds=300).replace(**fields)


def put_claim(room: Room, name: str, owner: str = "alice", file: str = "", **fields: Any) -> Path:
    """Writes a claim."""
    record = Claim(task_id=name, channel="dev", owner=owner, lease=lease(), claimed_at=START, fence=1)
    data = claim.render(record.replace(**fields))
    return plant(room.folder / "claims" / (file or claim.file_name(name, owner)), data)


def put_held(room: Room, name: str, **fields: Any) -> None:
    """Writes a task with its claim."""
    given = {"status": IN_PROGRESS, "owner": "alice", "lease_expires_at": START + 300, **fields}
    put_task(room, name, **given)
    put_claim(room, name)


def put_lock(room: Room, digit: str, path: str, owner: str = "alice", **fields: Any) -> Path:
    """Writes a path lock; its id is one digit, repeated."""
    where = LockedPath(normalized_path=path, display_path=path, kind=FILE)
    record = PathLock(lock_id=digit * 16, channel="dev", owner=owner, paths=(where,), lease=lease(), locked_at=START)
    return plant(room.folder / "locks" / f"{digit * 16}.json", path_lock.render(record.replace(**fields)))


def entry_of(folder: str, **fields: Any) -> Entry:
    """An entry that is prepared: it makes one record, of which nothing is there yet."""
    made = Entry(
        id="00000000000000aa",
        operation="create",
        actor="alice",
        target="x",
        created="2026-01-02T03:04:05+00:00",
        changes=(Change(path=f"{folder}/x.json", before=None, after=b"{}\n"),),
        message_file="0009-alice-x.md",
        message=message_file(9, transaction="00000000000000aa"),
    )
    return made.replace(**fields)


def put_entry(room: Room, folder: str, name: str = PENDING, *phases: str, **fields: Any) -> Path:
    """Writes an entry of a journal, with the lines of more phases."""
    data = render(entry_of(folder, **fields)) + b"".join(phase_line(phase) for phase in phases)
    return plant(room.folder / folder / "audit" / name, data)


def put_audit(room: Room, event: str, target: str, **fields: object) -> Path:
    """Writes message 2: an audit message that tells so of a task or a lock."""
    known: dict[str, object] = {"task_id": target, "status": "open", "owner": None, "lease_expires_at": None}
    if event.startswith("path."):
        known = {"lock_id": target, "owner": "alice", "expires_at": UNTIL, "paths": []}
    body = json.dumps({**known, "event": event, **fields}) + "\n"
    head = {"title": f"{event} {target}", "status": event, "transaction": "'00000000000000ad'"}
    return plant(room.folder / "0002-alice-audit.md", message_file(2, body=body, **head))


def put_marker(room: Room, phase: str) -> Path:
    """Writes the pending marker of another program, version 1."""
    marker: dict[str, object] = {
        "claim_changes": [],
        "details": {},
        "event": "lease.claimed",
        "phase": phase,
        "task_before": None,
        "task_file": "tasks/x.json",
        "task_id": "x",
        "version": 1,
    }
    return plant(room.folder / "claims" / ".lease-transaction.json", json.dumps(marker))


# -- one damage after the other ----------------------------------------------------------------------------------------


class Damage(NamedTuple):
    """An invariant, how it is broken in a room, and the file that the finding must name."""

    id: str
    path: str
    plant: Callable[[Room], object]


def linked(place: str) -> Callable[[Room], object]:
    """A damage: a link stands where a folder of ours belongs."""

    def act(room: Room) -> None:
        path = room.folder / place
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            path.rename(room.root / "elsewhere")
        path.symlink_to(room.root / "elsewhere")

    return act


def instead(place: str) -> Callable[[Room], object]:
    """A damage: a folder stands where a file belongs."""
    return lambda room: (room.folder / place).mkdir(parents=True)


def shared(room: Room) -> None:
    os.chmod(room.root, 0o755)
    for path in room.root.rglob("*"):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    os.chmod(room.folder / "tasks" / "one.json", 0o600)


def changed(record: str, **fields: object) -> Callable[[Room], object]:
    """A damage: fields of a record have other values."""

    def act(room: Room) -> None:
        path = room.folder / record
        plant(path, json.dumps({**json.loads(path.read_bytes()), **fields}))

    return act


def cycle(room: Room) -> None:
    put_task(room, "a", depends_on=("c",))
    put_task(room, "b", depends_on=("A",))
    put_task(room, "c", depends_on=("b",))


def planted(place: str, data: str = "") -> Callable[[Room], object]:
    """A damage: a file with these bytes."""
    return lambda room: plant(room.folder / place, data)


def without_message(room: Room) -> None:
    put_entry(room, "tasks", PENDING, "applied", "published")


def of_the_wrong_journal(room: Room) -> None:
    put_entry(room, "locks").rename(room.folder / "tasks" / "audit" / PENDING)


def granted_anew(room: Room) -> None:
    """The claim is not the one that its entry tells of."""
    put_audit(room, "lease.claimed", "held", status=IN_PROGRESS, owner="alice", lease_expires_at=UNTIL)
    there = (room.folder / "claims" / "held.alice.json").read_bytes()
    change = Change(path="claims/held.alice.json", before=None, after=there.replace(b'"fence": 1', b'"fence": 2'))
    put_entry(room, "tasks", "1.md", "applied", "published", id="00000000000000ad", changes=(change,))


def suspect(room: Room) -> None:
    put_held(room, "held", lease_expires_at=START + 9_999)
    put_claim(room, "held", lease=lease(expires=START + 9_999))


LOCK = "locks/1111111111111111.json"
UNTIL = "2026-01-02T03:09:05+00:00"
DAMAGES = [
    Damage("record.file", "tasks/x.json", instead("tasks/x.json")),
    Damage("record.file", "claims/one.bob.json", instead("claims/one.bob.json")),
    Damage("record.file", "locks/ab.json", linked("locks/ab.json")),
    Damage("record.file", "locks/audit/x.md", instead("locks/audit/x.md")),
    Damage("channel.folders", "tasks", linked("tasks")),
    Damage("channel.folders", "claims", linked("claims")),
    Damage("channel.folders", "locks/audit", linked("locks/audit")),
    Damage("file.foreign", "tasks/notes.md", planted("tasks/notes.md")),
    Damage("file.foreign", "claims/.x.json", planted("claims/.x.json")),
    Damage("file.foreign", "claims/audit", instead("claims/audit")),
    Damage("file.foreign", "locks/audit/x.json", planted("locks/audit/x.json")),
    Damage("file.mode", "tasks/one.json", shared),
    Damage("task.valid", "tasks/one.json", planted("tasks/one.json", "{")),
    Damage("task.valid", "tasks/two.json", lambda room: put_task(room, "one", "two.json")),
    Damage("task.valid", "tasks/x.json", lambda room: put_task(room, "x", channel="other")),
    Damage("task.valid", "tasks/one.json", changed("tasks/one.json", status="lost")),
    Damage("task.valid", "tasks/one.json", changed("tasks/one.json", schema_version=2)),
    Damage("task.unique", "tasks/one.json", lambda room: put_task(room, "ONE")),
    Damage("task.dependency", "tasks/x.json", lambda room: put_task(room, "x", depends_on=("one", "gone"))),
    Damage("task.cycle", "tasks/a.json", cycle),
    Damage("task.cycle", "tasks/x.json", lambda room: put_task(room, "x", depends_on=("X",))),
    Damage("task.claim", "tasks/held.json", lambda room: (room.folder / "claims" / "held.alice.json").unlink()),
    Damage("task.replay", "tasks/one.json", lambda room: put_audit(room, "task.updated", "one", status=DONE)),
    Damage("task.replay", "tasks/lost.json", lambda room: put_audit(room, "task.created", "lost")),
    Damage("claim.valid", "claims/held.alice.json", planted("claims/held.alice.json", "[]")),
    Damage("claim.valid", "claims/held.bob.json", lambda room: put_claim(room, "held", file="held.bob.json")),
    Damage("claim.valid", "claims/held.alice.json", changed("claims/held.alice.json", channel="other")),
    Damage("claim.valid", "claims/held.alice.json", changed("claims/held.alice.json", updated_at="noon")),
    Damage("claim.unique", "claims/held.bob.json", lambda room: put_claim(room, "held", "bob")),
    Damage("claim.task", "claims/gone.bob.json", lambda room: put_claim(room, "gone", "bob")),
    Damage("claim.task", "claims/one.bob.json", lambda room: put_claim(room, "one", "bob")),
    Damage("claim.task", "claims/held.alice.json", lambda room: put_held(room, "held", status=DONE)),
    Damage("claim.agrees", "claims/held.alice.json", lambda room: put_held(room, "held", owner="bob")),
    Damage("claim.agrees", "claims/held.alice.json", lambda room: put_held(room, "held", lease_expires_at=None)),
    Damage("claim.replay", "claims/held.alice.json", granted_anew),
    Damage("lock.valid", LOCK, planted(LOCK, "{}")),
    Damage("lock.valid", "locks/x.json", lambda room: (room.folder / LOCK).rename(room.folder / "locks" / "x.json")),
    Damage("lock.valid", LOCK, changed(LOCK, channel="other")),
    Damage("lock.overlap", "locks/2222222222222222.json", lambda room: put_lock(room, "2", "src/a.py/b", "bob")),
    Damage("lock.overlap", LOCK, lambda room: put_lock(room, "2", ".", "bob")),
    Damage("lock.replay", LOCK, lambda room: put_audit(room, "path.locked", "1" * 16, owner="bob")),
    Damage("lock.replay", LOCK, lambda room: put_audit(room, "path.lock.unlocked", "1" * 16)),
    Damage("lease.suspect", LOCK, lambda room: put_lock(room, "1", "a", lease=lease(expires=START + 9999))),
    Damage("lease.suspect", "claims/held.alice.json", suspect),
    Damage("journal.pending", "tasks/audit/.pending.md", lambda room: put_entry(room, "tasks")),
    Damage("journal.pending", "locks/audit/.pending.md", lambda room: put_entry(room, "locks")),
    Damage("journal.pending", "claims/.lease-transaction.json", lambda room: put_marker(room, "prepared")),
    Damage("journal.valid", "tasks/audit/.pending.md", instead("tasks/audit/.pending.md")),
    Damage("journal.valid", "claims/.lease-transaction.json", instead("claims/.lease-transaction.json")),
    Damage("journal.valid", "claims/.lease-transaction.json", lambda room: put_marker(room, "applied")),
    Damage("journal.valid", "tasks/audit/.pending.md", without_message),
    Damage("journal.valid", "tasks/audit/.pending.md", of_the_wrong_journal),
    Damage("journal.valid", "locks/audit/.pending.md", planted("locks/audit/.pending.md", "---\n")),
    Damage("journal.filed", "tasks/audit/a.md", lambda room: put_entry(room, "tasks", "a.md", "applied")),
    Damage("journal.filed", "locks/audit/x-kept-1.md", planted("locks/audit/x-kept-1.md", "?")),
]


def without_history(room: Room) -> None:
    """Says that messages of the room were removed, so that records need no message that tells of them."""
    plant(room.folder / "tombstones.md")


def furnished(room: Room) -> Room:
    """A room with a task, a task that is held, and a path lock, whose messages are gone."""
    without_history(room)
    room.plant(1)
    put_task(room, "one", depends_on=("held",))
    put_held(room, "held")
    put_lock(room, "1", "src/a.py")
    for journal in JOURNALS:
        (room.folder / journal.audit).mkdir()
    return room


@pytest.fixture
def sound(room: Room) -> Room:
    """A channel that nothing is wrong with."""
    return furnished(room)


def test_a_sound_channel_has_no_findings(sound: Room) -> None:
    assert findings_of(sound) == []


@posix
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: f"{damage.id}-{damage.path}")
def test_a_damage_is_the_one_finding_and_has_a_remedy(sound: Room, damage: Damage) -> None:
    damage.plant(sound)
    sound.workspace = workspace_on(sound.root)
    found = findings_of(sound)
    assert [(finding.id, os.path.relpath(finding.path, sound.folder)) for finding in found] == [damage[:2]], found
    assert found[0].severity == INVARIANTS[damage.id][0]
    assert found[0].message
    assert found[0].remedy


@posix
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: f"{damage.id}-{damage.path}")
def test_what_makes_a_command_fail_makes_the_doctor_fail_and_it_changes_nothing(sound: Room, damage: Damage) -> None:
    damage.plant(sound)
    before = tree_of(sound.root)
    checked = run(["doctor", "dev"], workspace=workspace_on(sound.root))
    assert checked.status == 1
    assert tree_of(sound.root) == before
    for argv in CALLS:
        assert run(argv, workspace=workspace_on(sound.root)).status in (0, 2), argv
    mended = run(["doctor", "dev", "--fix"], workspace=workspace_on(sound.root))
    assert "fixed" not in mended.stdout


# -- what is no damage -------------------------------------------------------------------------------------------------


def test_what_ends_by_itself_is_no_finding(sound: Room) -> None:
    """Leases run out: that is how a holder who is gone is taken over from, and nothing to mend."""
    sound.clock.turn(10_000)
    put_lock(sound, "2", "src", "bob", lease=lease(expires=START + 20_000, granted=START + 9_999, seconds=10_001))
    assert findings_of(sound) == []


def test_own_locks_may_meet_and_names_are_compared_as_they_are(sound: Room) -> None:
    put_lock(sound, "2", "src")
    put_lock(sound, "3", "SRC/A.py", "bob")
    put_lock(sound, "4", "src2", "bob")
    assert findings_of(sound) == []


def test_a_blocked_task_keeps_its_claim_and_a_done_one_may_tell_of_a_lease(sound: Room) -> None:
    put_held(sound, "x", status=BLOCKED)
    put_task(sound, "y", status=DONE, owner="bob", lease_expires_at=START)
    put_claim(sound, "y.z", "bob", file="y.z.bob.json", lease=lease())
    put_task(sound, "y.z", status=IN_PROGRESS, owner="Bob", lease_expires_at=START + 300)
    assert findings_of(sound) == []


def test_the_records_of_another_program_are_sound(tmp_path: Path) -> None:
    from shutil import copytree

    from tests.tidy import tree

    copytree(tree.ROOT / "tests" / "fixtures" / "other-program", tmp_path / "root")
    checked = run(["doctor", "garden", "--json"], workspace=workspace_on(tmp_path / "root"))
    ids = {finding["id"] for finding in checked.json["findings"]}
    assert not ids & {id for id in INVARIANTS if id.split(".")[0] in ("record", "task", "claim", "lock", "lease")}
    assert not ids & {"journal.pending", "journal.valid", "journal.filed", "file.foreign"}


def test_a_history_is_sound(sound: Room) -> None:
    """What was published, what a recovery finished, and what was kept as damaged, alone or for the second time."""
    put_entry(sound, "tasks", "1.md", "applied", "published")
    put_entry(sound, "tasks", "2.md", "applied", "recovered by bob", id="00000000000000ab")
    put_entry(sound, "tasks", "3.md", "applied", id="00000000000000ac")
    sound.plant(2, transaction="'00000000000000ac'")
    sound.plant(3, status="path.recovery.kept", transaction="damaged-00000000")
    for end in ("", "-0123456789abcdef"):
        plant(sound.folder / f"locks/audit/20260102T030405Z-a-kept-b-kept-damaged-00000000{end}.md", "{")
    assert findings_of(sound) == []
