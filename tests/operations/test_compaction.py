"""Compaction replaces state.md and posts one message, changes nothing else, and leaves the old state if it fails."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import compaction
from agent_chat.operations.compaction import Written, compact
from agent_chat.operations.state import summarize
from agent_chat.operations.state_text import markdown
from agent_chat.records.message import Message
from agent_chat.storage.channel import Channel
from agent_chat.storage.workspace import Clock, Workspace
from tests.operations.lock_room import UNANNOUNCED
from tests.operations.room import refused
from tests.operations.state_room import StateRoom
from tests.support.cli import START, FaultyFiles, plant
from tests.support.leases import STAMP
from tests.support.processes import Worker
from tests.support.roots import make_root, tree

if TYPE_CHECKING:
    from pathlib import Path

OLD = "# an old state\n"
AUDIT = "0006-system-state-compacted-dev.md"


@pytest.fixture
def room(tmp_path: Path) -> StateRoom:
    """A channel with something to tell, and an old state.md."""
    room = StateRoom(tmp_path, topic="t")
    room.say("Decision: x", "y\n")
    room.say("Blocker: z")
    room.create("T-1")
    room.claim("T-1")
    room.lock("a.py")
    plant(room.folder / "state.md", OLD)
    return room


def contents(room: StateRoom) -> dict[str, tuple[int, bytes]]:
    """Every file of the root and its mode, without caches."""
    return {name: found for name, found in tree(room.root).items() if "/.cache" not in name}


def changed(room: StateRoom, before: dict[str, tuple[int, bytes]]) -> list[str]:
    """The names of what is not as it was."""
    after = contents(room)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def leftovers(room: StateRoom) -> list[str]:
    """Temporaries, of the channel and of its cache."""
    found = (path.name for path in room.folder.rglob("*"))
    return sorted(name for name in found if ".tmp." in name or name.startswith("tmp-"))


def state_md(room: StateRoom) -> str:
    return (room.folder / "state.md").read_bytes().decode()


# --- what it does ---------------------------------------------------------------------------------------------------


def test_it_replaces_the_state_and_posts_one_message(room: StateRoom) -> None:
    before, found = contents(room), room.summary()
    assert compact(room.reopened()) == Written(state=found, seq=6)
    assert changed(room, before) == [f"dev/{AUDIT}", "dev/state.md"]
    assert state_md(room) == markdown(found)
    mode = (room.folder / AUDIT).stat().st_mode
    assert (room.folder / "state.md").stat().st_mode == mode
    assert leftovers(room) == []
    told = room.message(6)
    assert told == Message(
        seq=6,
        sender="system",
        title="state.compacted dev",
        body=told.body,
        created=STAMP,
        status="state.compacted",
        account="you",
    )
    assert json.loads(told.body) == {
        "blockers_count": 1,
        "channel": "dev",
        "compacted_at": STAMP,
        "decisions_count": 1,
        "event": "state.compacted",
        "last_seq": 5,
        "open_tasks_count": 1,
        "path_locks_count": 1,
    }
    assert told.body == json.dumps(json.loads(told.body), indent=2, sort_keys=True) + "\n"


def test_the_first_time_it_makes_the_file(room: StateRoom) -> None:
    (room.folder / "state.md").unlink()
    before = contents(room)
    compact(room.reopened(), audit=False)
    assert changed(room, before) == ["dev/state.md"]
    assert state_md(room) == room.text()


@pytest.mark.parametrize("strict", [False, True])
def test_without_an_audit_it_changes_the_state_alone(room: StateRoom, strict: bool) -> None:
    before, found = contents(room), room.summary()
    assert compact(room.reopened(), audit=False, strict=strict) == Written(state=found, seq=None)
    assert changed(room, before) == ["dev/state.md"]


def test_the_same_again_is_the_same_file(room: StateRoom) -> None:
    for _ in range(2):
        compact(room.reopened(), audit=False)
        first = state_md(room)
        room.forget_caches()
    assert state_md(room) == first
    compact(room.reopened())
    assert state_md(room) == first
    compact(room.reopened(), audit=False)
    assert state_md(room) == first.replace("5 messages, the last is #5", "6 messages, the last is #6")


def test_an_agent_may_put_its_name_to_it(tmp_path: Path) -> None:
    room = StateRoom(tmp_path, members="alice,bob")
    assert compact(room.reopened(), agent="BOB").seq == 1
    assert room.message(1).sender == "bob"
    before = contents(room)
    for audit in (True, False):
        refused("AGENT_UNKNOWN", partial(compact, room.reopened(), agent="mallory", audit=audit))
        refused("AGENT_INVALID", partial(compact, room.reopened(), agent="a b", audit=audit))
    assert changed(room, before) == []


def test_what_could_not_be_counted_is_null(room: StateRoom) -> None:
    for folder in ("tasks", "locks"):
        (room.folder / folder).rename(room.root.parent / folder)
        (room.folder / folder).write_text("x")
    compact(room.reopened())
    told = json.loads(room.message(6).body)
    assert (told["open_tasks_count"], told["path_locks_count"], told["decisions_count"]) == (None, None, 1)


def test_what_is_pending_is_no_obstacle_and_stays_pending(room: StateRoom) -> None:
    room.leave_pending(UNANNOUNCED, "b.py")
    before = contents(room)
    found = compact(room.reopened()).state
    assert len(found.warnings) == 1
    assert changed(room, before) == [f"dev/{AUDIT}", "dev/state.md"]


def test_progress_is_told_once_outside_the_lock(room: StateRoom) -> None:
    told: list[tuple[Any, ...]] = []

    def progress(*done: Any) -> None:
        told.append(done)
        with room.reopened().mutation():
            pass

    compact(room.reopened(), progress=progress)
    assert told == [("dev", done, 5) for done in range(5)]


def test_what_goes_bad_before_the_lock_is_had_is_refused_too(room: StateRoom) -> None:
    def spoil(*done: Any) -> None:
        plant(room.folder / "0099-bob-x.md", b"x")

    refused("STATE_MALFORMED_SOURCE", partial(compact, room.reopened(), strict=True, progress=spoil))
    assert state_md(room) == OLD
    assert not (room.folder / AUDIT).exists()


def test_saved_is_the_text_that_was_written(room: StateRoom) -> None:
    assert compaction.saved(room.reopened()) == OLD
    compact(room.reopened())
    assert compaction.saved(room.reopened()) == state_md(room)
    (room.folder / "state.md").write_bytes(b"a\xffb\r\n")
    assert compaction.saved(room.reopened()) == "a\\xffb\r\n"
    (room.folder / "state.md").unlink()
    assert refused("STATE_RECORD_NOT_FOUND", lambda: compaction.saved(room.reopened())).next == "agent-chat compact dev"


# --- what stands in its way -----------------------------------------------------------------------------------------


def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(room: StateRoom) -> None:
    target = plant(room.root.parent / "precious.md", "precious\n")
    (room.folder / "state.md").unlink()
    (room.folder / "state.md").symlink_to(target)
    compact(room.reopened(), audit=False)
    assert (target.read_text(), (room.folder / "state.md").is_symlink()) == ("precious\n", False)
    assert state_md(room) == room.text()


@pytest.mark.parametrize("full", [False, True])
def test_a_folder_in_its_place_is_an_error_and_nothing_changes(room: StateRoom, full: bool) -> None:
    (room.folder / "state.md").unlink()
    (room.folder / "state.md").mkdir()
    if full:
        plant(room.folder / "state.md" / "x")
    before = contents(room)
    with pytest.raises(OSError, match="a folder stands where an ordinary file belongs") as caught:
        compact(room.reopened())
    assert caught.value.filename == str(room.folder / "state.md")
    assert changed(room, before) == []
    with pytest.raises(OSError, match="no ordinary file"):
        compaction.saved(room.reopened())


@pytest.mark.parametrize(("age", "stays"), [(3601, False), (3599, True), (-3601, True)])
@pytest.mark.parametrize("audit", [False, True])
def test_what_a_dead_writer_left_goes_after_an_hour(room: StateRoom, age: float, stays: bool, audit: bool) -> None:
    left = plant(room.folder / ".state.md.tmp.0123", "part", at=START - age)
    other = plant(room.folder / ".notes.md.tmp.0123", "mine", at=START - 9999)
    compact(room.reopened(), audit=audit)
    assert (left.exists(), other.exists()) == (stays, True)
    assert state_md(room) != OLD


def test_only_files_are_taken_for_leftovers(room: StateRoom) -> None:
    target = plant(room.root.parent / "precious.md", "precious\n", at=START - 9999)
    (room.folder / ".state.md.tmp.link").symlink_to(target)
    (room.folder / ".state.md.tmp.folder").mkdir()
    os.utime(room.folder / ".state.md.tmp.folder", (START - 9999, START - 9999))
    os.utime(room.folder / ".state.md.tmp.link", (START - 9999, START - 9999), follow_symlinks=False)
    compact(room.reopened(), audit=False)
    assert leftovers(room) == [".state.md.tmp.folder", ".state.md.tmp.link"]
    assert target.read_text() == "precious\n"


def test_a_channel_that_is_busy_is_waited_for_and_not_changed(room: StateRoom) -> None:
    with room.reopened().mutation():
        before = contents(room)
        refused("CHANNEL_BUSY", lambda: compact(room.reopened()))
        assert changed(room, before) == []
    assert sum(room.clock.slept) >= 10
    compact(room.reopened())


# --- a disk that fails ----------------------------------------------------------------------------------------------


def faulty(room: StateRoom, code: int, **options: Any) -> Channel:
    return room.on(FaultyFiles(str(room.root), room.clock, code=code, **{"at": 1, **options}))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("primitive", ["write_new", "replace"])
def test_what_cannot_be_written_leaves_the_old_state(room: StateRoom, primitive: str, code: int) -> None:
    before = contents(room)
    for audit in (True, False):
        channel = faulty(room, code, only=(primitive,), where="state.md")
        with pytest.raises(OSError, match=os.strerror(code)):
            compact(channel, audit=audit)
        assert changed(room, before) == []
        assert leftovers(room) == []


def test_a_disk_that_is_full_half_way_leaves_the_old_state(room: StateRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(room)
    real = os.write
    writes: list[int] = []

    def write(descriptor: int, data: Any) -> int:
        if bytes(data).startswith(b"# State of dev") or writes:
            writes.append(1)
            if len(writes) > 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(descriptor, data[:100])
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        compact(room.reopened())
    monkeypatch.undo()
    assert len(writes) == 2
    assert changed(room, before) == []
    assert leftovers(room) == []


@pytest.mark.parametrize("primitive", ["write_new", "link"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_audit_that_fails_says_that_the_state_is_new(room: StateRoom, primitive: str, code: int) -> None:
    before, text = contents(room), room.text()
    channel = faulty(room, code, only=(primitive,), at=2 if primitive == "write_new" else 1)
    error = refused("STATE_AUDIT_FAILED", lambda: compact(channel))
    assert error.message == f"state.md is written, but its audit message could not be posted: {os.strerror(code)}"
    assert changed(room, before) == ["dev/state.md"]
    assert state_md(room) == text
    assert leftovers(room) == []
    compact(room.reopened())


def test_an_audit_of_which_nobody_knows_whether_it_stays_says_so(room: StateRoom) -> None:
    channel = faulty(room, errno.EIO, only=("sync_folder", "replace"), at=3, forever=True)
    error = refused("MESSAGE_PUBLICATION_UNKNOWN", lambda: compact(channel))
    assert error.next == "agent-chat show dev 6"
    assert state_md(room) != OLD


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_whatever_fails_the_state_is_the_old_one_or_the_new_one(room: StateRoom, code: int) -> None:
    text = room.text()
    n, fired = 0, True
    while fired:
        n += 1
        plant(room.folder / "state.md", OLD)
        before = contents(room)
        files = FaultyFiles(str(room.root), room.clock, at=n, code=code)
        with contextlib.suppress(OSError, ChatError):
            compact(room.on(files))
        fired = files.fired
        new = changed(room, before)
        assert set(new) <= {"dev/state.md", f"dev/{AUDIT}"}, files.calls[-1]
        state = state_md(room)
        assert state == OLD or state.split("\n")[0] == text.split("\n")[0]
        assert state.endswith("\n")
        if not fired:
            assert state == text
        (room.folder / AUDIT).unlink(missing_ok=True)
        for path in (room.folder / ".cache").glob("taken-back-*"):
            path.unlink()
    assert n > 30


# --- several at once ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_two_at_once_each_is_whole_and_the_last_one_stays(room: StateRoom) -> None:
    written: list[Written] = []

    def run() -> None:
        for _ in range(5):
            written.append(compact(Channel(Workspace(str(room.root), clock=Clock()), "dev")))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.seq or 0 for each in written) == list(range(6, 26))
    last = max(written, key=lambda each: each.seq or 0)
    assert state_md(room) == markdown(last.state)
    assert [each.state.latest + 1 for each in written] == [each.seq for each in written]
    assert leftovers(room) == []


@pytest.mark.slow
def test_processes_that_compact_and_post_at_once_lose_nothing(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("Decision: x")
    rounds = 5
    with Worker(root.path) as one, Worker(root.path) as two, Worker(root.path) as poster:
        for n in range(rounds):
            one.give("compact", "dev", "--json")
            two.give("compact", "dev", "--json", "--no-audit")
            poster.give("post", "dev", "--from", "bob", "--title", f"Decision: {n}", "--body", "y")
        ended = [worker.take() for _ in range(rounds) for worker in (one, two, poster)]
    assert [done for done in ended if done.status] == []
    files = sorted(path.name[:4] for path in root.channel().glob("0*.md"))
    assert files == [f"{seq:04d}" for seq in range(1, 2 + 2 * rounds)]
    root.must("compact", "dev", "--no-audit")
    found = summarize(Channel(Workspace(str(root.path)), "dev"))
    text = (root.channel() / "state.md").read_text()
    assert text.split("\n")[2:] == markdown(found).split("\n")[2:]
    assert len(found.decisions) == 1 + rounds
    assert not [path.name for path in root.channel().iterdir() if ".tmp." in path.name]
