"""Taking path locks: all or none, what overlaps what, what one's own locks do, and what is written and told."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse
from agent_chat.operations import path_locks
from agent_chat.operations.leases import Actor
from agent_chat.records import locked_path
from agent_chat.records.lease import ACTIVE, Lease
from agent_chat.records.locked_path import DIRECTORY, FILE, LockedPath
from agent_chat.records.path_lock import PathLock, render
from tests.operations.lock_room import LockRoom, conflicts_of
from tests.operations.task_room import next_of, refused
from tests.support.cli import START, run, workspace_on
from tests.support.leases import BOOTED, STAMP

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Callable

    from agent_chat.operations.path_locks import Locked

END = "2026-01-02T03:09:05+00:00"
A = LockedPath(normalized_path="src/a.py", display_path="src/./a.py", kind=FILE)
DOCS = LockedPath(normalized_path="docs", display_path="docs/", kind=DIRECTORY)


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    return LockRoom(tmp_path)


def lease(at: float = 0, seconds: float = 300) -> Lease:
    """A lease granted so long after the start."""
    return Lease(
        expires=START + at + seconds,
        granted=START + at,
        seconds=seconds,
        boot_id="0b00-one",
        boot_expires=BOOTED + at + seconds,
    )


# --- what is written and told ---------------------------------------------------------------------------------------


def test_a_lock_writes_its_record_and_tells_of_it(room: LockRoom) -> None:
    locked = room.lock("src/./a.py", "docs/", session="s-1", why=" a rewrite ")
    lock = PathLock(
        lock_id=locked.lock.lock_id,
        channel="dev",
        owner="bob",
        paths=(A.replace(tree=str(room.tree)), DOCS.replace(tree=str(room.tree))),
        lease=lease(),
        locked_at=START,
        fence=1,
        session="s-1",
        reason="a rewrite",
    )
    assert (locked.lock, locked.seq, locked.renewed, locked.warnings) == (lock, 1, False, ())
    assert room.records() == {lock.lock_id: lock}
    audit = room.audit()
    title = f"path.locked {lock.lock_id}"
    assert (audit.seq, audit.sender, audit.status, audit.title, audit.to) == (1, "bob", "path.locked", title, ())
    assert room.told() == {
        "channel": "dev",
        "event": "path.locked",
        "expires_at": END,
        "fence": 1,
        "lease_expires_at": END,
        "lock_id": lock.lock_id,
        "owner": "bob",
        "paths": [locked_path.to_json(A), locked_path.to_json(DOCS)],
        "transaction_id": audit.transaction,
        "updated_at": STAMP,
    }
    assert audit.body == json.dumps(room.told(), indent=2, sort_keys=True) + "\n"


@pytest.mark.parametrize(
    ("command", "event"),
    [("renew", "path.lock.renewed"), ("unlock", "path.lock.unlocked"), ("lock", "path.lock.renewed")],
)
def test_every_change_tells_one_message_with_sorted_keys(room: LockRoom, command: str, event: str) -> None:
    id = room.held("a.py")
    acts: dict[str, Callable[[str], Locked]] = {"renew": room.renew, "unlock": room.unlock, "lock": room.lock}
    changed = acts[command]("a.py")
    audit = room.audit()
    assert (changed.seq, audit.seq, audit.status, audit.title) == (2, 2, event, f"{event} {id}")
    assert audit.body == json.dumps(room.told(), indent=2, sort_keys=True) + "\n"
    assert (room.told()["lock_id"], room.told()["owner"], room.told()["fence"]) == (id, "bob", 1)
    assert room.told()["transaction_id"] == audit.transaction


def test_a_path_given_twice_is_locked_once(room: LockRoom) -> None:
    lock = room.lock("a.py", "./a.py", "x/../a.py").lock
    assert [path.normalized_path for path in lock.paths] == ["a.py"]


def test_a_folder_is_one_by_what_stands_there_or_by_its_slash(room: LockRoom) -> None:
    (room.tree / "there").mkdir()
    (room.tree / "file").write_text("")
    lock = room.lock("there", "new/", "new-file", "file/").lock
    kinds = {path.normalized_path: path.kind for path in lock.paths}
    assert kinds == {"there": DIRECTORY, "new": DIRECTORY, "new-file": FILE, "file": FILE}


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "2592001", "", "x", "1_000", "٣", "5m"])
def test_what_is_no_length_of_a_lease_is_refused(room: LockRoom, text: str) -> None:
    refused("PATH_LOCK_INVALID_DURATION", lambda: room.lock("a.py", lease=text), room)
    room.lock("a.py")
    refused("PATH_LOCK_INVALID_DURATION", lambda: room.renew("a.py", lease=text), room)
    room.clock.turn(10_000)
    refused("PATH_LOCK_INVALID_DURATION", lambda: room.recover("a.py", lease=text), room)


@pytest.mark.parametrize("text", ["0.5", "1", "2592000", "1e3"])
def test_a_lease_is_positive_and_at_most_thirty_days(room: LockRoom, text: str) -> None:
    lock = room.lock("a.py", lease=text).lock
    assert lock.lease.seconds == float(text)
    assert room.records() == {lock.lock_id: lock}


@pytest.mark.parametrize("why", ["", " ", "a\nb", "\x1b[2J", "x" * 4097, "\ud800"])
def test_a_reason_to_lock_is_left_out_or_one_line(room: LockRoom, why: str) -> None:
    refused("PATH_LOCK_INVALID_REASON", lambda: room.lock("a.py", why=why), room)


@pytest.mark.parametrize("name", ["", "a b", "all", "system", "../x", "a\0", "x" * 65])
def test_a_bad_name_is_told_by_the_code_of_locks(room: LockRoom, name: str) -> None:
    room.lock("a.py")
    for act in (
        lambda: room.lock("b.py", actor=name),
        lambda: room.renew("a.py", name),
        lambda: room.unlock("a.py", name),
        lambda: room.recover("a.py", name),
        lambda: room.check("a.py", actor=name),
    ):
        refused("PATH_LOCK_INVALID_OWNER", act, room)


def test_a_stranger_to_a_closed_channel_is_told_to_join(tmp_path: Path) -> None:
    room = LockRoom(tmp_path / "closed", members="alice,Bob")
    for act in (lambda: room.lock("a.py", actor="eve"), lambda: room.check("a.py", actor="eve")):
        assert next_of(refused("AGENT_UNKNOWN", act, room)) == "join dev --as eve"
    assert room.lock("a.py", actor="BOB").lock.owner == "Bob"


def test_no_path_and_too_many_are_refused(room: LockRoom) -> None:
    refused("PATH_LOCK_INVALID_PATH", room.lock, room)
    paths = [f"{n:04d}/{'x' * 180}" for n in range(1000)]
    error = refused("PATH_LOCK_INVALID_PATH", lambda: room.lock(*paths), room)
    assert "lock a folder" in error.message
    lock = room.lock(*paths[:500]).lock
    assert 200_000 < len(render(lock)) <= path_locks.MAX_RECORD_BYTES
    assert room.unlock(paths[3]).lock == lock


# --- all or none ----------------------------------------------------------------------------------------------------


def test_all_paths_are_locked_or_none(room: LockRoom) -> None:
    id = room.held("b.py", why="the parser")
    room.clock.turn(60)
    error = refused("PATH_LOCK_CONFLICT", lambda: room.lock("a.py", "b.py", "c.py", actor="carol"), room)
    assert error.message == f"b.py: bob (the parser), lock {id}, 4 min left"
    assert next_of(error) == f"wait dev --path b.py --as carol{room.words}"
    (conflict,) = conflicts_of(error)
    assert (conflict["lock_id"], conflict["owner"], conflict["expired"]) == (id, "bob", False)
    assert room.check("a.py", "c.py") == []
    assert room.lock("a.py", "c.py", actor="carol").seq == 2


def test_every_lock_in_the_way_is_told(room: LockRoom) -> None:
    one, two = room.held("src/a.py"), room.held("src/b.py", actor="dora")
    room.held("docs/", actor="eve")
    error = refused("PATH_LOCK_CONFLICT", lambda: room.lock("new.py", "src/", actor="carol"), room)
    assert sorted(each["lock_id"] for each in conflicts_of(error)) == sorted([one, two])
    assert sorted(error.message.split("; ")) == sorted(
        [f"src/a.py: bob, lock {one}, 5 min left", f"src/b.py: dora, lock {two}, 5 min left"]
    )
    assert next_of(error) == f"wait dev --path src/ --as carol{room.words}"


NAMES = ["a b.py", "it's.py", "-x.py", "--as", "$(x).py", "~a", "*.py", "Ї.py", "a;b", '"', "#a", "a'b c"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_the_wait_that_a_conflict_names_is_for_the_path_meant(room: LockRoom, name: str) -> None:
    room.lock(name)
    error = refused("PATH_LOCK_CONFLICT", lambda: room.lock("free.py", name, actor="carol"), room)
    words = shlex.split(next_of(error))
    assert parse(words, COMMANDS).optional_text("path") == name
    waited = run([*words, "--json"], workspace=workspace_on(room.root, clock=room.clock))
    assert (waited.status, waited.json["timed_out"], len(waited.json["conflicts"])) == (1, True, 1)
    room.unlock(name)
    freed = run([*words, "--json"], workspace=workspace_on(room.root, clock=room.clock))
    assert (freed.status, freed.json["conflicts"]) == (0, [])


OVERLAPS = [
    ("src/a.py", "src/a.py", True),
    ("src/a.py", "src/", True),
    ("src/a.py", "src", True),
    ("src/a.py", ".", True),
    ("src/", "src", True),
    ("src/", "src/deep/er/x.py", True),
    ("src/", "src/deep/", True),
    (".", "x/", True),
    ("src/a.py", "src/a.py.bak", False),
    ("src/a.py", "src/b.py", False),
    ("src/", "src.py", False),
    ("src/", "srcs/a.py", False),
    ("src/ab", "src/a", False),
    ("a/b", "b", False),
    ("a/b", "b/a", False),
    ("Src/", "other/src/", False),
]


@pytest.mark.parametrize(("one", "other", "meet"), [*OVERLAPS, *((b, a, meet) for a, b, meet in OVERLAPS)])
def test_a_file_meets_itself_and_a_folder_all_that_is_in_it(room: LockRoom, one: str, other: str, meet: bool) -> None:
    id = room.held(one)
    assert room.check(other, actor="carol") == ([id] if meet else [])
    assert room.check("unrelated", other) == ([id] if meet else [])
    if meet:
        refused("PATH_LOCK_CONFLICT", lambda: room.lock(other, actor="carol"), room)
        refused("PATH_LOCK_CONFLICT", lambda: room.lock("unrelated", other, actor="carol"), room)
        room.unlock(one)
    assert room.lock(other, actor="carol").renewed is False


@pytest.mark.parametrize("late", [0, 1])
def test_of_two_who_looked_at_once_one_wins(room: LockRoom, late: int) -> None:
    """Both opened the channel, and saw the path free, before either locked."""
    channels = [room.reopened(), room.reopened()]
    for channel in channels:
        channel.require_meta()
    assert room.check("a.py") == []
    path_locks.lock(channels[1 - late], Actor(name="carol"), [room.locate("a.py")])
    act = lambda: path_locks.lock(channels[late], Actor(name="bob"), [room.locate("a.py")])  # noqa: E731
    refused("PATH_LOCK_CONFLICT", act, room)


# --- one's own ------------------------------------------------------------------------------------------------------

# What is held, what is asked for again with 100 of 300 seconds left, and for how long the lock runs then: for the 60
# that were asked for, but what a part is asked of is not shortened; None when a new one is made.
AGAIN = [
    (["src/", "b.py"], ["src/", "b.py"], 60),
    (["src/", "b.py"], ["b.py", "src", "src/x"], 60),
    (["src/", "b.py"], ["b.py"], 100),
    (["src/", "b.py"], ["src/deep/x.py"], 100),
    (["src/", "b.py"], ["b.py", "c.py"], None),
    (["src/", "b.py"], ["."], None),
    (["src/a.py"], ["src/"], None),
    (["src/a.py"], ["src/a.py", "src/"], None),
    (["b.py"], ["b.py/"], None),
]


@pytest.mark.parametrize(("held", "asked", "seconds"), AGAIN)
def test_asking_again_renews_what_covers_all_and_makes_a_new_lock_for_more(
    room: LockRoom, held: list[str], asked: list[str], seconds: int | None
) -> None:
    (room.tree / "src").mkdir()
    first = room.lock(*held, session="s-1", why="x").lock
    room.clock.turn(200)
    again = room.lock(*asked, actor="BOB", session="s-1", lease="60", why="y")
    assert (again.seq, again.renewed) == (2, seconds is not None)
    if seconds is not None:
        assert again.lock == first.replace(lease=lease(200, seconds), reason="y")
        assert room.records() == {first.lock_id: again.lock}
        return
    assert room.records() == {first.lock_id: first, again.lock.lock_id: again.lock}
    assert (again.lock.fence, again.lock.reason, again.lock.lease) == (2, "y", lease(200, 60))


def test_asking_again_keeps_the_locks_own_length_unless_one_is_given(room: LockRoom) -> None:
    room.lock("src/", lease="7200")
    room.clock.turn(1000)
    assert room.lock("src/a.py").lock.lease == lease(1000, 7200)
    assert room.lock("src/a.py", lease="9000").lock.lease == lease(1000, 9000)
    assert room.lock("src/", lease="60").lock.lease == lease(1000, 60)


def test_asking_again_keeps_the_reason_unless_one_is_given(room: LockRoom) -> None:
    room.lock("src/", why="x")
    assert room.lock("src/").lock.reason == "x"
    assert room.lock("src/a", why="y").lock.reason == "y"


def test_a_suspect_lock_of_ones_own_runs_for_its_length_again(room: LockRoom) -> None:
    room.lock("src/", "b.py")
    room.clock.reboot()
    room.clock.step(-400 * 86400)
    again = room.lock("b.py")
    assert (again.renewed, again.lock.lease.seconds) == (True, 300)
    assert again.lock.lease.standing(room.clock.moment()) == ACTIVE


def test_the_lock_of_another_session_is_not_renewed(room: LockRoom) -> None:
    first = room.lock("a.py", session="s-1").lock
    ids = {first.lock_id}
    for who in ({"session": "s-2"}, {}):
        again = room.lock("a.py", **who)
        assert (again.renewed, again.lock.session) == (False, who.get("session"))
        ids.add(again.lock.lock_id)
    assert room.records()[first.lock_id] == first
    assert set(room.records()) == ids
    renewed = room.lock("a.py", session="s-3")
    assert (renewed.renewed, renewed.lock.session) == (True, None)  # the one that was taken under none


def test_ones_own_locks_never_conflict(room: LockRoom) -> None:
    for path in ("src/a.py", "src/deep/x.py", "src/", "."):
        room.lock(path, "new-" + str(len(room.records())))
    assert len(room.records()) == 4
    assert room.check(".", actor="Bob") == []
    assert len(room.check("src/a.py", actor="carol")) == 3
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("x", actor="carol"), room)


def test_of_several_that_cover_one_is_renewed(room: LockRoom) -> None:
    one, two = room.held("src/", "a"), room.held("src/", "b")
    before = room.records()
    room.clock.turn(10)
    renewed = room.lock("src/x.py").lock.lock_id
    assert renewed in (one, two)
    changed = [id for id, lock in room.records().items() if lock != before[id]]
    assert changed == [renewed]
