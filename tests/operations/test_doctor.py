"""The doctor: each invariant broken once and found, nothing found where nothing is broken, nothing lost by mending."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Callable, NamedTuple

import pytest

from agent_chat.operations import doctor
from agent_chat.operations.findings import INVARIANTS, Finding
from agent_chat.operations.mending import mend
from agent_chat.records.tombstone import Tombstone, render_line
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import FileSystem
from tests.operations import test_record_checks
from tests.operations.room import Room
from tests.support.cli import (
    LATER,
    START,
    ArrivalFiles,
    FakeClock,
    Result,
    message_file,
    plant,
    run,
    tree_of,
    workspace_on,
)

if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


def findings_of(workspace: Workspace) -> list[Finding]:
    """Everything that the doctor finds in a root."""
    found = list(doctor.check_root(workspace))
    for name in channel_names(workspace):
        found += doctor.examine(Channel(workspace, name)).findings
    return found


def mended(room: Room) -> list[str]:
    """Examines and mends the room's channel; returns what was done."""
    channel = room.reopened()
    return mend(channel, doctor.examine(channel))


class Damage(NamedTuple):
    """How an invariant is broken in a room, and the file that the finding must name."""

    plant: Callable[[Room], object]
    path: str


class Unwritable(FileSystem):
    """A file system on which nothing can be written, whoever asks."""

    def writable(self, path: str) -> bool:
        """Never."""
        return False


def unwritable(room: Room) -> None:
    room.workspace.files = Unwritable(str(room.root), FakeClock())


def lost_folder(room: Room) -> None:
    (room.root / "empty").mkdir()


def same_name(room: Room) -> None:
    plant(room.root / "DEV" / "_meta.json", '{"channel": "dev"}')


def late(room: Room) -> None:
    room.read()
    room.plant(3)
    (room.folder / "0002-alice-m.md").rename(room.folder / "0002-alice-other.md")


def shared(room: Room) -> None:
    os.chmod(room.root, 0o755)
    for path in room.root.rglob("*"):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    os.chmod(room.folder / "0001-alice-m.md", 0o600)


def lock_folder(room: Room) -> None:
    (room.folder / ".lock").unlink(missing_ok=True)
    (room.folder / ".lock").mkdir()


def cache_file(room: Room) -> None:
    (room.folder / ".cache").rename(room.folder / ".cursors")
    plant(room.folder / ".cache")


def removed(room: Room, foreign: str = "") -> None:
    """Has a tombstone, of a message that had a number which another has now unless something stands before it."""
    seq = 90 if foreign else 1
    line = render_line(Tombstone(seq=seq, file=f"{seq:04d}-bob-m.md", sender="bob", created="", sha256="0" * 64))
    plant(room.folder / "tombstones.md", f"\n## then\n\n{foreign}".encode() + line)


DAMAGES: dict[str, Damage] = {
    "root.writable": Damage(unwritable, ""),
    "root.ignore": Damage(lambda room: (room.root / ".gitignore").unlink(), ".gitignore"),
    "root.channels": Damage(lost_folder, "empty"),
    "root.case": Damage(same_name, "dev"),
    "root.deleted": Damage(lambda room: plant(room.root / ".deleted-1" / "0001-alice-m.md"), ".deleted-1"),
    "owner.valid": Damage(lambda room: plant(room.root / "_owner.json", "{"), "_owner.json"),
    "owner.log": Damage(lambda room: (room.root / "_owner.log").mkdir(), "_owner.log"),
    "session.valid": Damage(
        lambda room: plant(room.root / "_sessions" / "0123456789abcdef-1.json", "{}"),
        "_sessions/0123456789abcdef-1.json",
    ),
    "channel.meta": Damage(lambda room: plant(room.folder / "_meta.json", "{"), "dev/_meta.json"),
    "channel.name": Damage(lambda room: plant(room.folder / "_meta.json", '{"channel": "x"}'), "dev/_meta.json"),
    "channel.workspace": Damage(
        lambda room: plant(room.folder / "_meta.json", '{"channel": "dev", "workspace": "/no/such/tree"}'),
        "dev/_meta.json",
    ),
    "channel.lock": Damage(lock_folder, "dev/.lock"),
    "channel.folders": Damage(cache_file, "dev/.cache"),
    "channel.numbers": Damage(lambda room: room.plant(999_999_999), "dev/999999999-alice-m.md"),
    "message.file": Damage(lambda room: (room.folder / "0003-bob-m.md").mkdir(), "dev/0003-bob-m.md"),
    "message.valid": Damage(lambda room: plant(room.folder / "0003-bob-m.md", message_file(7)), "dev/0003-bob-m.md"),
    "message.unfinished": Damage(
        lambda room: plant(room.folder / "0003-bob-m.md", b"---\nseq: 3\n", at=START), "dev/0003-bob-m.md"
    ),
    "message.unique": Damage(lambda room: room.plant(2, "0002-bob-m.md", sender="bob"), "dev/0002-bob-m.md"),
    "message.copy": Damage(lambda room: room.plant(2, "0002-alice-n.md", reply_to="1"), "dev/0002-alice-n.md"),
    "message.late": Damage(late, "dev/0002-alice-other.md"),
    "message.parent": Damage(lambda room: room.plant(3, reply_to="77"), "dev/0003-alice-m.md"),
    "tombstone.valid": Damage(lambda room: removed(room, "- torn {\n"), "dev/tombstones.md"),
    "tombstone.agrees": Damage(removed, "dev/0001-alice-m.md"),
    "event.valid": Damage(lambda room: room.plant(3, body="{}\n", status="event.status"), "dev/0003-alice-m.md"),
    "file.foreign": Damage(lambda room: plant(room.folder / "notes\x1b[2J.md", "x"), "dev/notes\x1b[2J.md"),
    "file.mode": Damage(shared, "dev/0001-alice-m.md"),
    "cursor.valid": Damage(lambda room: plant(room.folder / ".cursors" / "bob.txt", "x"), "dev/.cursors/bob.txt"),
    "cursor.range": Damage(lambda room: plant(room.folder / ".cursors" / "bob.txt", "9"), "dev/.cursors/bob.txt"),
    "cursor.name": Damage(lambda room: plant(room.folder / ".cursors" / "Bob.txt", "1"), "dev/.cursors/Bob.txt"),
    "temporary.stale": Damage(
        lambda room: plant(room.folder / ".cache" / "tmp-0", at=START - 3601), "dev/.cache/tmp-0"
    ),
    "cache.valid": Damage(lambda room: (room.folder / ".cache" / "locks.index").mkdir(), "dev/.cache/locks.index"),
    "marker.audited": Damage(lambda room: plant(room.folder / "task-1.CLAIMED-bob.md"), "dev/task-1.CLAIMED-bob.md"),
    "marker.unique": Damage(
        lambda room: [plant(room.folder / f"task-1.CLAIMED-{agent}.md") for agent in ("bob", "al")],
        "dev/task-1.CLAIMED-bob.md",
    ),
}


@pytest.fixture
def healthy(room: Room) -> Room:
    """A channel with two messages by hand, a cursor, and a claimed marker."""
    room.plant(1)
    room.plant(2, reply_to="1")
    return room


def test_each_invariant_is_broken_here_or_among_the_records() -> None:
    of_records = [damage.id for damage in test_record_checks.DAMAGES if damage.id not in DAMAGES]
    assert [*DAMAGES, *dict.fromkeys(of_records)] == list(INVARIANTS)


def test_a_healthy_root_has_no_findings(healthy: Room) -> None:
    Room(healthy.root, name="ops", members="alice,bob")
    healthy.post("bob", reply="2", to="alice")
    healthy.read("bob")
    healthy.read("İstanbul" * 6)
    plant(healthy.folder / "task-1.md")
    plant(healthy.folder / "task-2.md")
    run(["claim", "dev", "task-1.md", "--as", "bob"], healthy.root)
    plant(healthy.folder / "state.md")
    assert findings_of(healthy.workspace) == []
    result = run(["doctor"], healthy.root)
    assert (result.status, result.stdout, result.stderr) == (0, "no findings\n", "")


@posix
@pytest.mark.parametrize("id", DAMAGES)
def test_a_broken_invariant_is_found_with_its_file_and_a_remedy(healthy: Room, id: str) -> None:
    damage = DAMAGES[id]
    damage.plant(healthy)
    if not isinstance(healthy.workspace.files, Unwritable):
        healthy.workspace = workspace_on(healthy.root)
    found = [finding for finding in findings_of(healthy.workspace) if finding.id == id]
    assert str(healthy.root / damage.path).rstrip("/") in [finding.path for finding in found]
    for finding in found:
        assert finding.severity == INVARIANTS[id][0]
        assert finding.message
        assert finding.remedy
        assert finding.path.startswith(str(healthy.root))


@posix
@pytest.mark.parametrize("id", [id for id in DAMAGES if id != "root.writable"])
def test_the_doctor_changes_nothing_and_answers_in_both_forms(healthy: Room, id: str) -> None:
    DAMAGES[id].plant(healthy)
    before = tree_of(healthy.root)
    workspace = workspace_on(healthy.root)
    text = run(["doctor"], healthy.root, workspace=workspace)
    data = run(["doctor", "--json"], healthy.root, workspace=workspace)
    assert (text.status, data.status) == (1, 1), text
    assert tree_of(healthy.root) == before
    assert id in [finding["id"] for finding in data.json["findings"]]
    assert all(set(f) == {"id", "severity", "path", "message", "remedy"} for f in data.json["findings"])
    assert data.json["fixed"] == []
    assert f" {id}: " in text.stdout
    assert text.stdout.replace("\n", "").isprintable()


def contents(room: Room) -> set[tuple[str, str, str]]:
    """Sender, title and body of every message, whatever its number."""
    stored = [
        each
        for seq, files in room.channel.messages.numbers().after(0)
        for each in room.channel.messages.stored(seq, files)
    ]
    return {(each.message.sender, each.message.title, each.message.body) for each in stored}


@posix
@pytest.mark.parametrize("id", [id for id in DAMAGES if id not in ("channel.meta", "channel.lock", "channel.folders")])
def test_mending_loses_nothing_and_the_second_time_does_nothing(healthy: Room, id: str) -> None:
    DAMAGES[id].plant(healthy)
    messages = contents(healthy)
    bodies = {data for name, (_, data) in tree_of(healthy.root).items() if "/.cache/" not in name}
    mended(healthy)
    assert contents(healthy) == messages
    foreign = {data for name, (_, data) in tree_of(healthy.root).items() if not name.startswith("dev/.cache/")}
    assert {body for body in bodies if body and not body.startswith(b"---")} <= foreign
    after = tree_of(healthy.root)
    assert mended(healthy) == []
    assert tree_of(healthy.root) == after
    left = {finding.id for finding in findings_of(healthy.workspace)}
    assert not left & {"root.ignore", "message.unique", "message.late", "temporary.stale"}


def test_what_arrived_below_a_cursor_reaches_everybody_by_its_new_number(room: Room) -> None:
    room.workspace = workspace_on(room.root, files=ArrivalFiles(str(room.root), room.clock))
    for seq in (1, 2, 4):
        room.plant(seq)
    assert room.read("bob") == room.read("carol") == [1, 2, 4]
    plant(room.folder / "0003-dave-m.md", message_file(3, "dave", "late"), at=LATER)
    assert room.page("bob").late.files == ("0003-dave-m.md",)
    assert mended(room) == ["#3 0003-dave-m.md is now #5 0005-dave-late.md"]
    assert room.message(5).was == (3,)
    assert room.read("bob") == room.read("carol") == [5]
    assert room.page("bob").late.files == ()
    assert findings_of(room.workspace) == []


def test_a_renumbering_that_was_interrupted_is_finished(room: Room) -> None:
    """The new file is there already, the old one not yet removed."""
    room.plant(1)
    room.plant(1, "0001-bob-m.md", sender="bob")
    room.plant(2, "0002-bob-by-hand.md", sender="bob", was="1")
    assert mended(room) == ["#1 0001-bob-m.md is now #2 0002-bob-by-hand.md"]
    assert room.names() == [".cache", ".lock", "0001-alice-m.md", "0002-bob-by-hand.md", "_meta.json"]


def test_a_lock_that_is_held_is_found(healthy: Room) -> None:
    lock = FileLock(healthy.workspace.files, str(healthy.folder / ".lock"), healthy.clock)
    assert lock.acquire(0)
    try:
        assert [finding.id for finding in findings_of(healthy.workspace)] == ["channel.lock"]
    finally:
        lock.release()


# --- what makes a command fail makes the doctor fail ----------------------------------------------------------------


def test_a_lock_that_goes_from_one_to_the_next_is_no_finding(healthy: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    holders = iter([" by process 7", " by process 8"])
    monkeypatch.setattr(FileLock, "acquire", lambda *_, **__: False)
    monkeypatch.setattr(FileLock, "holder", lambda _: next(holders))
    assert [finding.id for finding in findings_of(healthy.workspace)] == []
    assert list(holders) == []


def test_a_trace_of_the_last_number_leaves_none(healthy: Room) -> None:
    plant(healthy.folder / ".cache" / "taken-back-999999999")
    assert [finding.id for finding in findings_of(healthy.workspace)] == ["channel.numbers"]


CALLS = [
    ["channels"],
    ["inbox", "--as", "bob"],
    ["roster", "dev"],
    ["read", "dev", "--as", "bob"],
    ["read", "dev", "--as", "bob", "--peek"],
    ["peek", "dev"],
    ["show", "dev", "1"],
    ["show", "dev", "2"],
    ["thread", "dev", "1"],
    ["search", "dev", "by"],
    ["join", "dev", "--as", "bob"],
    ["ack", "dev", "2", "--as", "bob"],
    ["post", "dev", "--from", "bob", "--title", "t"],
    ["wait", "dev", "--as", "bob", "--timeout", "0"],
    ["claim", "dev", "task-9.md", "--as", "bob"],
    ["init", "another"],
    ["state", "dev"],
    ["compact", "dev"],
    ["event", "read", "dev"],
    ["event", "post", "dev", "--from", "bob", "--type", "status", "--harness", "h", "--status", "busy"],
]


def instead(path: str, kind: str) -> Callable[[Room], None]:
    """A damage: something of another kind stands where a file or folder of ours belongs."""

    def act(room: Room) -> None:
        place = room.root / path
        if place.exists():
            place.rename(place.with_name("moved"))
        if kind == "folder":
            place.mkdir(parents=True)
        elif kind == "file":
            plant(place)
        else:
            place.parent.mkdir(exist_ok=True)
            place.symlink_to(room.root / ("moved" if kind == "link" else "nowhere"))

    return act


def version(room: Room) -> None:
    meta = json.loads((room.folder / "_meta.json").read_bytes())
    plant(room.folder / "_meta.json", json.dumps({**meta, "schema_version": 2}))


BROKEN: dict[str, Callable[[Room], object]] = {
    **{id: damage.plant for id, damage in DAMAGES.items() if id not in ("root.writable", "marker.unique")},
    "meta of a later version": version,
    "a trace of the last number": lambda room: plant(room.folder / ".cache" / "taken-back-999999999"),
    "meta gone": lambda room: (room.folder / "_meta.json").unlink(),
    **{
        f"{path} is a {kind}": instead(path, kind)
        for path, kinds in {
            ".lock": ("folder", "dangling link"),
            "dev": ("link",),
            "dev/_meta.json": ("folder", "dangling link"),
            "dev/.lock": ("folder", "dangling link"),
            "dev/.cache": ("file", "link", "dangling link"),
            "dev/.cursors": ("file", "link", "dangling link"),
            "dev/.cursors/bob.txt": ("folder", "dangling link"),
            "dev/.cursors/bob.lock": ("folder", "dangling link"),
            "dev/.cursors/bob.waiting": ("folder", "dangling link"),
            "dev/0002-alice-m.md": ("folder", "dangling link"),
            "dev/state.md": ("folder",),
            "dev/.cache/taken-back-0003": ("folder",),
            "dev/.cache/locks.index": ("folder", "dangling link"),
            "dev/.cache/messages.index": ("folder", "dangling link"),
        }.items()
        for kind in kinds
    },
}


@posix
@pytest.mark.parametrize("name", BROKEN)
def test_whatever_makes_a_command_fail_makes_the_doctor_fail(healthy: Room, name: str) -> None:
    plant(healthy.folder / "task-9.md")
    BROKEN[name](healthy)
    checked = run(["doctor"], workspace=workspace_on(healthy.root))
    assert checked.status in (1, 2)
    failed: list[tuple[list[str], Result]] = []
    for argv in CALLS:
        result = run(argv, workspace=workspace_on(healthy.root))
        assert result.status in (0, 1, 2), result
        if result.status == 2:
            failed.append((argv, result))
    assert not failed or checked.status, failed


@posix
@pytest.mark.parametrize("name", [name for name in BROKEN if " is a " in name])
def test_a_foreign_thing_in_our_place_is_named(healthy: Room, name: str) -> None:
    plant(healthy.folder / "task-9.md")
    BROKEN[name](healthy)
    checked = run(["doctor", "--json"], workspace=workspace_on(healthy.root))
    place = str(healthy.root / name.partition(" is a ")[0])
    assert (checked.status, place in [f["path"] for f in checked.json["findings"]]) == (1, True), checked
