"""A source of the state that cannot be read is named, hides no other, and is never shown as empty."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Callable, NamedTuple

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import compaction
from agent_chat.operations.state import State, summarize
from agent_chat.operations.state_sources import CHANNEL, LOCK, MESSAGE, TASK
from agent_chat.operations.state_text import markdown
from agent_chat.records import claim as claim_record
from agent_chat.records import task as task_record
from agent_chat.storage.journal import OF_LOCKS, OF_TASKS
from tests.operations.lock_room import ANNOUNCED, UNANNOUNCED
from tests.operations.room import refused
from tests.operations.state_room import StateRoom, sections
from tests.support.cli import START, FaultyFiles, message_file, plant
from tests.support.recording import RecordingFileSystem
from tests.support.roots import tree

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.channel import Channel

Break = Callable[[StateRoom], None]
TASKS_MISSING = "incomplete: the tasks cannot be read"
LOCKS_MISSING = "incomplete: the path locks cannot be read"
BOTH_MISSING = "incomplete: the tasks and the path locks cannot be read"
PARTIAL = "incomplete: see the warnings"
# The sections that hold something of each source.
OF_SECTIONS = {
    MESSAGE: ["Decisions", "Blockers", "Verification"],
    TASK: ["Decisions", "Open tasks", "Blockers", "Owners and leases", "Verification"],
    LOCK: ["Owners and leases", "Path locks"],
    CHANNEL: [],
}


@pytest.fixture
def room(tmp_path: Path) -> StateRoom:
    """A channel with one of each: a decision, two tasks, one of them claimed, and a path lock."""
    room = StateRoom(tmp_path, topic="t")
    room.say("Decision: x")
    room.create("T-1", title="Decision: y", acceptance=("a",))
    room.create("T-2", depends_on=("T-1",))
    room.claim("T-1")
    room.lock("a.py")
    return room


def anew(room: StateRoom) -> Channel:
    """The channel as a new process would see it."""
    return room.on(RecordingFileSystem(str(room.root), room.clock))


def faulty(room: StateRoom, code: int, where: str, *only: str) -> Channel:
    """The channel on a disk where something fails for good."""
    names = only or ("read_file", "status", "list_folder")
    return room.on(FaultyFiles(str(room.root), room.clock, at=1, code=code, only=names, where=where, forever=True))


# --- folders --------------------------------------------------------------------------------------------------------


def require_missing(channel: Channel, source: str, code: str, whole: State) -> None:
    """What a state without the tasks, or without the locks, is: the rest of the whole one."""
    found = summarize(channel)
    what, missing = ("tasks", TASKS_MISSING) if source == TASK else ("path locks", LOCKS_MISSING)
    (warning,) = found.warnings
    assert warning.startswith(f"the {what} cannot be read: ")
    assert "dev/" in warning
    mine, other = (found.tasks, found.locks) if source == TASK else (found.locks, found.tasks)
    assert mine is None
    assert found.owners is not None
    assert other == (whole.locks if source == TASK else whole.tasks)
    assert found.partial == {source}
    of_others = [item for item in whole.decisions if item.source == MESSAGE or source == LOCK]
    assert list(found.decisions) == of_others != []
    require_remarks(markdown(found), missing, source)
    error = refused(code, lambda: summarize(channel, strict=True))
    assert (error.message, error.next) == (f"not in the state: {warning}", "agent-chat doctor dev")


def require_remarks(text: str, remark: str, source: str) -> None:
    """Each section that something is missing from says so, and only these; none of them is called empty."""
    shown = sections(text)
    assert [title for title, lines in shown.items() if remark in lines] == OF_SECTIONS[source]
    assert not [title for title in OF_SECTIONS[source] if "none" in shown[title]]
    assert text.count("incomplete:") == len(OF_SECTIONS[source])


@pytest.mark.parametrize("kind", ["file", "link"])
@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("tasks", TASK),
        ("tasks/audit", TASK),
        ("claims", TASK),
        ("locks", LOCK),
        ("locks/audit", LOCK),
    ],
)
def test_what_stands_in_the_place_of_a_folder_is_not_an_empty_one(
    room: StateRoom, folder: str, source: str, kind: str
) -> None:
    whole, path, away = room.summary(), room.folder / folder, room.root.parent / "away"
    shutil.move(path, away)
    path.write_text("x") if kind == "file" else path.symlink_to(away)
    require_missing(anew(room), source, "STATE_INVALID_RECORD", whole)


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize(
    ("where", "primitives", "source"),
    [
        ("/tasks", ["list_folder"], TASK),
        ("/tasks/audit", ["status"], TASK),
        ("/claims", ["list_folder"], TASK),
        ("/locks", ["list_folder"], LOCK),
        ("/locks/audit", ["status"], LOCK),
    ],
)
def test_a_folder_that_cannot_be_looked_into_is_not_an_empty_one(
    room: StateRoom, where: str, primitives: list[str], source: str, code: int
) -> None:
    require_missing(faulty(room, code, where, *primitives), source, "STATE_IO_ERROR", room.summary())


@pytest.mark.parametrize(("where", "source"), [("T-1.json", TASK), ("T-1.bob", TASK), ("/locks/0", LOCK)])
def test_one_record_on_a_failing_disk_leaves_open_what_the_others_are(room: StateRoom, where: str, source: str) -> None:
    require_missing(faulty(room, errno.EIO, where, "read_file"), source, "STATE_IO_ERROR", room.summary())


def test_all_that_cannot_be_read_is_named_at_once(room: StateRoom) -> None:
    found = summarize(faulty(room, errno.EIO, ".json", "read_file"))
    assert (found.topic, found.tasks, found.locks, found.owners) == (None, None, None, None)
    assert [warning.partition(":")[0] for warning in found.warnings] == [
        "_meta.json cannot be read",
        "the tasks cannot be read",
        "the path locks cannot be read",
    ]
    shown = sections(markdown(found))
    assert shown["Topic"] == ["not known: _meta.json cannot be read"]
    assert shown["Owners and leases"] == [BOTH_MISSING]
    assert [item.title for item in found.decisions] == ["x"]


@pytest.mark.parametrize("strict", [False, True])
def test_a_channel_that_cannot_be_listed_has_no_state(room: StateRoom, strict: bool) -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        summarize(faulty(room, errno.EIO, "dev", "list_folder"), strict=strict)


# --- single files ---------------------------------------------------------------------------------------------------


def put(place: str, data: bytes) -> Break:
    return lambda room: room.put(place, data)


def folder_at(place: str) -> Break:
    def put_folder(room: StateRoom) -> None:
        (room.folder / place).unlink()
        (room.folder / place).mkdir()

    return put_folder


def unfinished(room: StateRoom) -> None:
    plant(room.folder / "0099-bob-x.md", b"---\nseq: 99\n", at=room.clock.now() - 1)


def claimed(status: str = "") -> Break:
    """Puts a claim of bob's on T-3, which has a status, or is not there."""

    def put_claim(room: StateRoom) -> None:
        if status:
            room.at(status, "T-3")
        room.put("claims/T-3.bob.json", claim_record.render(room.claims()["T-1.bob.json"].replace(task_id="T-3")))

    return put_claim


def ends_otherwise(room: StateRoom) -> None:
    claim = room.claims()["T-1.bob.json"]
    room.put("claims/T-1.bob.json", claim_record.render(claim.replace(lease=claim.lease.replace(expires=START + 60))))


def ends_never(room: StateRoom) -> None:
    room.put("tasks/T-1.json", task_record.render(room.task("T-1").replace(lease_expires_at=None)))


class Bad(NamedTuple):
    """A way to spoil a file, what is warned of, the code under --strict, what it was, and what is lost with it."""

    spoil: Break
    warning: str
    code: str
    source: str
    loses: tuple[str, ...] = ()


FIRST = "0001-alice-decision-x.md"
MALFORMED, INVALID, IO = "STATE_MALFORMED_SOURCE", "STATE_INVALID_RECORD", "STATE_IO_ERROR"
AT = "0" * 16
DAMAGE = {
    "a file named as a message": Bad(
        put("0099-bob-x.md", b"x"), "set aside, no message: 0099-bob-x.md: the file does", MALFORMED, MESSAGE
    ),
    "a number that is another's": Bad(
        put("0099-bob-x.md", message_file(98)), "set aside, no message: 0099-bob-x.md", MALFORMED, MESSAGE
    ),
    "a folder named as a message": Bad(
        folder_at(FIRST), f"set aside, no message: {FIRST}: no ordinary file", MALFORMED, MESSAGE, ("#1",)
    ),
    "a message on its way": Bad(unfinished, "not read: 0099-bob-x.md: it is not complete yet", IO, MESSAGE),
    "a task": Bad(
        put("tasks/T-1.json", b"{"),
        "TASK_INVALID_RECORD: dev/tasks/T-1.json is damaged",
        INVALID,
        TASK,
        ("T-1", "> a"),
    ),
    "a folder as a task": Bad(
        folder_at("tasks/T-1.json"),
        "TASK_INVALID_RECORD: dev/tasks/T-1.json is no ordinary file",
        INVALID,
        TASK,
        ("T-1", "> a"),
    ),
    "a claim": Bad(
        put("claims/T-1.bob.json", b"{"),
        "LEASE_INVALID_RECORD: dev/claims/T-1.bob.json is damaged",
        INVALID,
        TASK,
        ("T-1",),
    ),
    "a claim of nothing": Bad(
        put("claims/T-3.bob.json", b"{"),
        "LEASE_INVALID_RECORD: dev/claims/T-3.bob.json is damaged",
        INVALID,
        TASK,
    ),
    "a claim whose name tells nothing": Bad(
        put("claims/x.json", b"{"), "LEASE_INVALID_RECORD: dev/claims/x.json is damaged", INVALID, TASK
    ),
    "a claim on a task that is missing": Bad(
        claimed(), "dev/claims/T-3.bob.json: bob holds task T-3, which is not there", INVALID, TASK
    ),
    "a claim on a task that is done": Bad(
        claimed("done"), "dev/claims/T-3.bob.json: bob holds task T-3, which is done", INVALID, TASK
    ),
    "a claim on a task that is cancelled": Bad(
        claimed("cancelled"), "dev/claims/T-3.bob.json: bob holds task T-3, which is cancelled", INVALID, TASK
    ),
    "a claim that ends when its task does not say": Bad(
        ends_otherwise,
        "dev/claims/T-1.bob.json: the lease ends 2026-01-02T03:05:05+00:00, by its task 2026-01-02T03:09:05+00:00",
        INVALID,
        TASK,
        ("T-1",),
    ),
    "a claim of whose end its task says nothing": Bad(
        ends_never,
        "dev/claims/T-1.bob.json: the lease ends 2026-01-02T03:09:05+00:00, by its task never",
        INVALID,
        TASK,
    ),
    "a lock": Bad(
        put(f"locks/{AT}.json", b"{"), f"PATH_LOCK_INVALID_RECORD: dev/locks/{AT}.json is damaged", INVALID, LOCK
    ),
    "the channel's record": Bad(put("_meta.json", b"{"), "CHANNEL_DAMAGED: ", INVALID, CHANNEL, ("> t",)),
    "an entry of tasks": Bad(put(OF_TASKS.entry, b"x"), "a damaged entry is pending", INVALID, TASK, ("T-",)),
    "an entry of locks": Bad(put(OF_LOCKS.entry, b"x"), "a damaged entry is pending", INVALID, LOCK, ("a.py",)),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_bad_is_named_and_hides_nothing_else(room: StateRoom, what: str) -> None:
    bad = DAMAGE[what]
    before = sections(room.text())
    bad.spoil(room)
    found = summarize(anew(room))
    (warning,) = found.warnings
    assert warning.startswith(bad.warning)
    assert found.partial == {bad.source}
    after = sections(markdown(found))
    assert after["Warnings"] == [f"- {warning}"]
    gone = [line for title in before for line in before[title] if title and line not in after[title]]
    assert [line for line in gone if line != "none" and not any(word in line for word in bad.loses)] == []
    require_remarks(markdown(found), PARTIAL, bad.source)


@pytest.mark.parametrize("what", DAMAGE)
def test_strict_refuses_what_is_bad_and_writes_nothing(room: StateRoom, what: str) -> None:
    bad = DAMAGE[what]
    bad.spoil(room)
    before = tree(room.root)
    for act in (
        lambda: summarize(anew(room), strict=True),
        lambda: compaction.compact(anew(room), strict=True),
        lambda: compaction.compact(anew(room), strict=True, audit=False),
    ):
        error = refused(bad.code, act)
        assert error.message.startswith(f"not in the state: {bad.warning}")
        assert error.next == "agent-chat doctor dev"
    assert tree(room.root) == before


@pytest.mark.parametrize(
    ("where", "warning", "code"),
    [
        (FIRST, f"not read: {FIRST}: Permission denied", "STATE_IO_ERROR"),
        ("T-1.json", "TASK_INVALID_RECORD: dev/tasks/T-1.json may not be read", "STATE_INVALID_RECORD"),
        ("T-1.bob", "LEASE_INVALID_RECORD: dev/claims/T-1.bob.json may not be read", "STATE_INVALID_RECORD"),
        ("_meta", "_meta.json cannot be read: Permission denied", "STATE_IO_ERROR"),
    ],
)
def test_a_file_that_may_not_be_read_is_left_out_alone(room: StateRoom, where: str, warning: str, code: str) -> None:
    channel = faulty(room, errno.EACCES, where, "read_file")
    assert summarize(channel).warnings == (warning,)
    assert refused(code, lambda: summarize(channel, strict=True)).message == f"not in the state: {warning}"


@pytest.mark.parametrize("strict", [False, True])
def test_a_channel_of_a_later_version_or_none_is_refused(room: StateRoom, strict: bool) -> None:
    room.put("_meta.json", b'{"schema_version": 9}')
    refused("CHANNEL_VERSION", lambda: summarize(anew(room), strict=strict))
    (room.folder / "_meta.json").unlink()
    refused("CHANNEL_NOT_FOUND", lambda: summarize(anew(room), strict=strict))


@pytest.mark.parametrize("at", [UNANNOUNCED, ANNOUNCED])
def test_what_recovery_can_decide_is_told_and_not_refused(room: StateRoom, at: int) -> None:
    room.leave_pending(at, "b.py")
    found = room.summary(strict=True)
    assert len(found.warnings) == 1
    assert found == room.summary()


def test_a_cache_that_cannot_be_used_is_told_and_not_refused(room: StateRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_chat.storage.message_index.READ_DIRECTLY", 0)
    (room.folder / ".cache" / "messages.index").mkdir()
    room.clock.turn(10)
    found = room.summary(strict=True)
    assert [note.partition(",")[0] for note in found.notes] == [
        ".cache/messages.index cannot be read",
        ".cache/messages.index cannot be stored",
    ]
    assert (found.warnings, found.partial) == ((), frozenset())
    (room.folder / ".cache" / "messages.index").rmdir()
    assert found.replace(notes=()) == room.summary(strict=True), "it is of this call alone"
    assert markdown(found) == room.text()


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.ENOENT])
def test_whatever_primitive_fails_nothing_is_shown_as_empty_that_is_not(room: StateRoom, code: int) -> None:
    """At each of them: a state that says what is missing, or an error; never a whole one with less in it."""
    whole = room.summary()
    n, fired = 0, True
    while fired:
        n += 1
        files = FaultyFiles(str(room.root), room.clock, at=n, code=code)
        try:
            found = summarize(room.on(files))
        except (OSError, ChatError):
            assert files.fired
            continue
        fired = files.fired
        shown, told = markdown(found.replace(warnings=())), bool(found.warnings)
        # A file that is not there any more is none that cannot be read.
        assert told or shown == markdown(whole) or code == errno.ENOENT, files.calls[-1]
    assert n > 20


def test_a_damaged_file_under_the_number_of_a_blocker_keeps_it_open(tmp_path: Path) -> None:
    """A checkout that is half-way there: which of the two was answered cannot be told, whole or not."""
    room = StateRoom(tmp_path / "another")
    room.plant(1, title="Blocker: A")
    other = room.plant(1, "0001-bob-b.md", sender="bob", title="Blocker: B")
    room.plant(2, sender="bob", reply_to="1", status="resolved")
    assert [each.title for each in room.summary().blockers] == ["A", "B"]
    plant(other, b"---\nseq: 1\nfrom: b")
    assert [each.title for each in room.summary().blockers] == ["A"]
    other.unlink()
    assert [each.title for each in room.summary().blockers] == []
