"""The doctor finds a cache that tells what is not so, though its sum is right; without it the state is right again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.operations import cache_checks, compaction, doctor, mending
from agent_chat.storage import message_index
from agent_chat.storage.lock_index import LOCKS_FILE
from agent_chat.storage.message_index import HIGHLIGHTS_FILE, MESSAGES_FILE
from tests.operations.state_room import StateRoom
from tests.storage.index_room import sealed
from tests.support.cli import START, FaultyFiles, message_file, plant
from tests.support.recording import InterveningFileSystem
from tests.support.roots import tree

if TYPE_CHECKING:
    from agent_chat.operations.findings import Finding

MESSAGES = 12
LONG_AGO = START - 9000


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateRoom:
    """A large channel that has settled, with all its caches."""
    read_directly(monkeypatch, 0)
    monkeypatch.setattr(message_index, "LOOK_AT_EACH", 0)
    room = StateRoom(tmp_path)
    for seq in range(1, MESSAGES + 1):
        title = {2: "Decision: two", 3: "Blocker: three", 4: "Blocker: four"}.get(seq, f"talk {seq}")
        fields = {5: {"reply_to": "3"}, 6: {"reply_to": "5", "status": "done"}, 8: {"was": "[90]"}}.get(seq, {})
        room.plant(seq, title=title, **fields)
    room.lock("a.py", "docs/")
    room.lock("b.py", actor="alice")
    room.clock.turn(60)
    settle(room)
    assert room.summary().notes == ()
    assert caches(room) == {LOCKS_FILE, MESSAGES_FILE, HIGHLIGHTS_FILE}
    return room


def read_directly(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Has channels of up to so many messages read without a cache."""
    for module in (message_index, cache_checks):
        monkeypatch.setattr(module, "READ_DIRECTLY", size)


def settle(room: StateRoom) -> None:
    """Makes everything old, so that all of it is believed."""
    for path in room.folder.iterdir():
        if path.is_file():
            os.utime(path, (LONG_AGO, LONG_AGO))
    os.utime(room.folder, (LONG_AGO, LONG_AGO))


def caches(room: StateRoom) -> set[str]:
    return {path.name for path in (room.folder / ".cache").glob("*.index")}


def cache(room: StateRoom, name: str) -> Path:
    return room.folder / ".cache" / name


def found(room: StateRoom) -> list[Finding]:
    """What the doctor finds wrong with caches."""
    findings = doctor.examine(room.reopened()).findings
    return [finding for finding in findings if finding.id == "cache.valid"]


def fix(room: StateRoom) -> list[str]:
    """Lets the doctor mend what it finds; returns which caches it removed."""
    done = mending.mend(room.reopened(), doctor.examine(room.reopened()))
    return sorted(os.path.basename(line) for line in done if ".cache" in line)


# --- healthy ones ---------------------------------------------------------------------------------------------------


def test_what_is_right_is_not_found_and_nothing_is_written(room: StateRoom) -> None:
    before = tree(room.root)
    assert doctor.examine(room.reopened()).findings == ()
    assert tree(room.root) == before


@pytest.mark.parametrize("size", [0, 100])
def test_the_doctor_makes_no_cache(room: StateRoom, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    read_directly(monkeypatch, size)
    for name in caches(room):
        cache(room, name).unlink()
    before = tree(room.root)
    assert doctor.examine(room.reopened()).findings == ()
    assert tree(room.root) == before
    shutil.rmtree(room.folder / ".cache")
    before = tree(room.root)
    assert doctor.examine(room.reopened()).findings == ()
    assert tree(room.root) == before


def test_caches_are_right_after_whatever_happens(room: StateRoom) -> None:
    """Also where a number is carried twice, a file is none, or a message answers one that cannot be."""
    room.plant(20, title="Decision: x", reply_to="0", status="resolved", was="0")
    room.plant(21, sender="bob", title="Blocker: y")
    room.plant(21, title="Blocker: z")
    plant(room.folder / "0022-bob-x.md", b"none")
    room.say("Evidence: young")
    for _ in range(3):
        room.summary()
        compaction.compact(room.reopened())
        assert found(room) == []
        settle(room)


# --- lying ones -----------------------------------------------------------------------------------------------------


def lie(room: StateRoom, name: str, change: Callable[[bytes], bytes]) -> None:
    """Changes what a cache tells; its sum is right."""
    path = cache(room, name)
    head, _, text = path.read_bytes().partition(b"\n")
    new = change(text)
    assert new != text
    path.write_bytes(sealed(new, head.partition(b" ")[0]))


def of_highlights(**fields: Any) -> Callable[[bytes], bytes]:
    """Gives fields of highlights.index other values."""

    def change(text: bytes) -> bytes:
        folder, _, rest = text.partition(b"\n")
        return folder + b"\n" + json.dumps({**json.loads(rest), **fields}).encode()

    return change


def of_line(seq: int, parent: str, rest: str) -> Callable[[bytes], bytes]:
    """Gives one message another line in messages.index."""

    def change(text: bytes) -> bytes:
        lines = text.decode().split("\n")
        (at,) = (number for number, line in enumerate(lines) if line.startswith(f"{seq:04d}-"))
        name, mark, _, _ = lines[at].split("\t")
        lines[at] = "\t".join((name, mark, parent, rest))
        return "\n".join(lines).encode()

    return change


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda text: text.replace(old, new)


FORGED = '{"seq": 7, "kinds": ["decision"], "title": "forged", "author": "alice"}'
LIES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a title": (HIGHLIGHTS_FILE, replaced(b'"two"', b'"too"')),
    "no decision": (HIGHLIGHTS_FILE, of_highlights(highlights=[])),
    "a blocker that is over": (HIGHLIGHTS_FILE, of_highlights(resolved=[[3, 6], [4, 6]])),
    "a blocker that is not over": (HIGHLIGHTS_FILE, of_highlights(resolved=[])),
    "another that closed it": (HIGHLIGHTS_FILE, of_highlights(resolved=[[3, 5]])),
    "a message that is none": (HIGHLIGHTS_FILE, of_highlights(faults=[["0007-alice-m.md", "x"]])),
    "too small a count": (HIGHLIGHTS_FILE, of_highlights(count=MESSAGES)),
    "too small a last number": (HIGHLIGHTS_FILE, of_highlights(latest=MESSAGES)),
    "a kind": (HIGHLIGHTS_FILE, replaced(b'["decision"]', b'["verification"]')),
    "a number that a message had": (HIGHLIGHTS_FILE, replaced(b'"was": [90]', b'"was": [91]')),
    "nothing of a message that had another number": (MESSAGES_FILE, of_line(8, "", "")),
    "a title of a line": (MESSAGES_FILE, replaced(b'"two"', b'"too"')),
    "talk that is a decision": (MESSAGES_FILE, of_line(7, "", FORGED)),
    "a decision that is talk": (MESSAGES_FILE, of_line(2, "", "")),
    "another parent": (MESSAGES_FILE, of_line(5, "4", "")),
    "no parent": (MESSAGES_FILE, of_line(5, "", "")),
    "talk that is no message": (MESSAGES_FILE, of_line(7, "!", '"x"')),
    "paths": (LOCKS_FILE, replaced(b"file a.py", b"file z.py")),
    "no paths": (LOCKS_FILE, replaced(b"\tfile b.py", b"")),
    "another kind": (LOCKS_FILE, replaced(b"directory docs", b"file docs")),
}


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside the others"])
@pytest.mark.parametrize("what", LIES)
def test_a_lie_is_found_and_mended(room: StateRoom, what: str, alone: bool) -> None:
    name, change = LIES[what]
    true = room.summary()
    lie(room, name, change)
    for other in caches(room) - {name} if alone else ():
        cache(room, other).unlink()
    before = tree(room.root)
    told = found(room)
    assert {os.path.basename(finding.path) for finding in told} == {name}
    assert all(finding.remedy.startswith("agent-chat doctor dev --fix removes it") for finding in told)
    assert tree(room.root) == before
    assert fix(room) == [name]
    assert name not in caches(room)
    settle(room)
    assert room.summary() == room.summary(exact=True) == true
    assert room.check("a.py") == [room.listed()[0].id]
    assert room.check("z.py") == []
    assert found(room) == []


@pytest.mark.parametrize("what", [what for what, (name, _) in LIES.items() if name == MESSAGES_FILE])
def test_a_cache_that_is_not_used_may_tell_anything(
    room: StateRoom, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """So few messages are read without it; and while each file is looked at, nobody looks into that of highlights."""
    _, change = LIES[what]
    count = room.summary().count
    lie(room, MESSAGES_FILE, change)
    lie(room, HIGHLIGHTS_FILE, of_highlights(highlights=[]))
    monkeypatch.setattr(message_index, "LOOK_AT_EACH", 1000)
    assert [os.path.basename(finding.path) for finding in found(room)] == [MESSAGES_FILE]
    read_directly(monkeypatch, count)
    assert found(room) == []
    read_directly(monkeypatch, count - 1)
    assert [os.path.basename(finding.path) for finding in found(room)] == [MESSAGES_FILE]


@pytest.mark.parametrize("change", [of_highlights(highlights=[]), of_highlights(resolved=[]), of_highlights(count=1)])
def test_a_lie_that_nobody_would_believe_is_no_finding(room: StateRoom, change: Callable[[bytes], bytes]) -> None:
    """What it tells of is not what lies there any more, so it is made anew by the next call."""
    lie(room, HIGHLIGHTS_FILE, change)
    room.plant(30, title="talk")
    assert found(room) == []


# --- a channel that changes meanwhile -------------------------------------------------------------------------------

EDITS: dict[str, Callable[[StateRoom], object]] = {
    "a decision": lambda room: replace(room, 7, title="Decision: new"),
    "another decision": lambda room: replace(room, 2, title="Decision: new"),
    "talk": lambda room: replace(room, 2, title="talk"),
    "an end": lambda room: replace(room, 7, status="done", reply_to="4"),
    "no end": lambda room: replace(room, 6, title="talk"),
    "another way": lambda room: replace(room, 5, reply_to="4"),
    "no message": lambda room: plant(room.folder / "0002-alice-m.md", b"damaged", at=LONG_AGO + 5),
    "gone": lambda room: (room.folder / "0002-alice-m.md").unlink(),
    "renamed": lambda room: (room.folder / "0002-alice-m.md").rename(room.folder / "0002-alice-n.md"),
    "a new one": lambda room: room.plant(40, title="Decision: new"),
    "a new end": lambda room: room.plant(40, status="done", reply_to="4"),
    "one more under a number": lambda room: room.plant(3, sender="bob", title="Blocker: new"),
}


def replace(room: StateRoom, seq: int, **fields: str) -> None:
    """Gives a message another file under the same name, as editors do."""
    new = plant(room.root.parent / "new", message_file(seq, **fields), at=LONG_AGO + 5)
    os.replace(new, room.folder / f"{seq:04d}-alice-m.md")


@pytest.mark.parametrize("what", EDITS)
def test_what_is_edited_while_the_doctor_looks_is_no_finding(room: StateRoom, what: str) -> None:
    """It has read the messages before it looks at the caches, which are of what lies there by then."""
    channel = room.reopened()
    stored = [
        item for seq, files in channel.messages.numbers().after(0) for item in channel.messages.stored(seq, files)
    ]
    assert list(cache_checks.check(channel, stored)) == []
    EDITS[what](room)
    for age in (5, 10):
        os.utime(room.folder, (LONG_AGO + age, LONG_AGO + age))
        assert list(cache_checks.check(room.reopened(), stored)) == []
        room.summary()  # and stores what it learns


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
def test_whenever_it_is_edited_the_doctor_finds_nothing(room: StateRoom, what: str) -> None:
    shutil.copytree(room.folder, room.root.parent / "kept")

    def edit(step: object) -> None:
        EDITS[what](room)
        os.utime(room.folder, (LONG_AGO + 5, LONG_AGO + 5))

    n, files = 0, None
    while files is None or files.intervened:
        n += 1
        files = InterveningFileSystem(str(room.root), room.clock, n=n, act=edit)
        findings = doctor.examine(room.on(files)).findings
        assert [finding for finding in findings if finding.id == "cache.valid"] == [], n
        shutil.rmtree(room.folder)
        shutil.copytree(room.root.parent / "kept", room.folder)
    assert n > 3 * MESSAGES


def test_a_lie_is_found_though_the_channel_was_edited_meanwhile(room: StateRoom) -> None:
    channel = room.reopened()
    stored = [
        item for seq, files in channel.messages.numbers().after(0) for item in channel.messages.stored(seq, files)
    ]
    lie(room, MESSAGES_FILE, of_line(5, "", ""))
    EDITS["a decision"](room)
    (told,) = cache_checks.check(room.reopened(), stored)
    assert os.path.basename(told.path) == MESSAGES_FILE


# --- nonsense -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"x", b"{}", b"\xff\xfe", b"[]", b'{"marks": {}}'])
@pytest.mark.parametrize("name", [HIGHLIGHTS_FILE, MESSAGES_FILE])
def test_nonsense_with_the_right_sum_stops_nobody(room: StateRoom, name: str, text: bytes) -> None:
    true = room.summary()

    def change(data: bytes) -> bytes:
        if name == HIGHLIGHTS_FILE:
            return data.partition(b"\n")[0] + b"\n" + text
        head, _, rest = data.partition(b"\n")
        return b"\t".join((*head.split(b"\t")[:2], text, text)) + b"\n" + rest

    lie(room, name, change)
    if name == MESSAGES_FILE:
        cache(room, HIGHLIGHTS_FILE).unlink()
    doctor.examine(room.reopened())
    assert room.summary() == true


# --- what cannot be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [LOCKS_FILE, MESSAGES_FILE, HIGHLIGHTS_FILE, "seen-bob"])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_file_is_found_and_left_to_a_person(room: StateRoom, name: str, kind: str) -> None:
    path, target = cache(room, name), room.folder / "_meta.json"
    path.unlink(missing_ok=True)
    path.mkdir() if kind == "folder" else path.symlink_to(target)
    (told,) = found(room)
    assert (told.path, told.message, told.remedy) == (
        str(path),
        "it is no ordinary file",
        "move it away; it is made anew",
    )
    before = tree(room.root)
    assert fix(room) == []
    assert tree(room.root) == before


@pytest.mark.parametrize("name", [LOCKS_FILE, MESSAGES_FILE, HIGHLIGHTS_FILE, "seen-bob"])
def test_what_cannot_be_read_is_found_and_removed(room: StateRoom, name: str) -> None:
    room.reopened().seen.note("bob")
    files = FaultyFiles(str(room.root), room.clock, at=1, code=13, only=("read_file",), where=name, forever=True)
    channel = room.on(files)
    examined = doctor.examine(channel)
    (told,) = examined.findings
    assert (told.id, told.path, told.message) == (
        "cache.valid",
        str(cache(room, name)),
        "it cannot be read: Permission denied",
    )
    assert mending.mend(channel, examined) == [f"removed {cache(room, name)}"]
    assert not cache(room, name).exists()


@pytest.mark.parametrize("kind", [b"", b"1 00000000\nx", b"garbage"])
def test_a_damaged_one_counts_as_none_and_is_no_finding(room: StateRoom, kind: bytes) -> None:
    for name in {*caches(room), "seen-bob"}:
        cache(room, name).write_bytes(kind)
    assert found(room) == []
