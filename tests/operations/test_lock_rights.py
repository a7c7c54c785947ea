"""Whose a lock is: by id and exact path, expired, suspect and displaced; fences and sessions; who may recover."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.operations.lock_room import LockRoom, conflicts_of
from tests.operations.task_room import next_of, refused
from tests.support.cli import START, run, workspace_on
from tests.support.leases import BOOTED

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.errors import ChatError

HELD = ("renew", "unlock")
DAY = 86400.0


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    room = LockRoom(tmp_path)
    room.lock("src/a.py", "docs/")
    return room


@pytest.fixture
def id(room: LockRoom) -> str:
    """The id of the lock that bob holds."""
    return next(iter(room.records()))


def refused_acts(room: LockRoom, code: str, *commands: str, **who: Any) -> list[ChatError]:
    """The errors of commands, by path and by id, each of which must be refused and change nothing."""
    targets = ("src/a.py", "docs", next(iter(room.records())))
    calls = [(getattr(room, command), target) for command in commands for target in targets]
    return [refused(code, partial(act, target, **who), room) for act, target in calls]


# --- which lock -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["src/a.py", "src/../src/a.py", "./src/a.py", "docs", "docs/", None])
def test_a_target_is_an_id_or_an_exact_path(room: LockRoom, id: str, target: str | None) -> None:
    room.clock.turn(100)
    assert room.renew(target or id).lock.lock_id == id
    room.clock.turn(301)
    assert room.recover(target or id, "bob").lock.lock_id == id
    unlocked = room.unlock(target or id)
    assert (unlocked.lock.lock_id, unlocked.renewed) == (id, False)
    assert room.records() == {}  # the whole lock
    assert room.check("src/a.py", "docs/") == []


@pytest.mark.parametrize(
    "target", ["src", "src/", ".", "docs/x.md", "a.py", "src/a.pyc", "src/a.py/x", "0" * 16, "f" * 64]
)
def test_a_parent_or_a_child_is_none(room: LockRoom, target: str) -> None:
    for act in (room.renew, room.unlock, room.recover):
        error = refused("PATH_LOCK_NOT_FOUND", lambda act=act: act(target), room)  # type: ignore[misc]
        assert next_of(error) == "locks dev"
        assert str(room.root) in error.message


def test_what_is_nearly_a_path_is_suggested(room: LockRoom) -> None:
    error = refused("PATH_LOCK_NOT_FOUND", lambda: room.unlock("src/b.py"), room)
    assert error.near is not None
    assert error.near[0] == "src/b.py"
    assert set(error.near[1]) == {"src/a.py", "docs"}


def test_a_file_whose_name_is_an_id_is_meant_when_no_lock_has_it(room: LockRoom) -> None:
    name = "00112233445566778899aabbccddeeff"
    id = room.held(name)
    assert room.unlock(name).lock.lock_id == id
    first = room.held("c.py")
    room.held(first)  # a file of that name
    assert [path.normalized_path for path in room.unlock(first).lock.paths] == ["c.py"]


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("../x", "PATH_LOCK_PATH_OUTSIDE_WORKSPACE"),
        ("/etc", "PATH_LOCK_PATH_OUTSIDE_WORKSPACE"),
        ("a\0b", "PATH_LOCK_INVALID_PATH"),
        ("a\\b", "PATH_LOCK_INVALID_PATH"),
        ("", "PATH_LOCK_INVALID_PATH"),
    ],
)
def test_what_can_be_no_path_is_told_as_such(room: LockRoom, target: str, code: str) -> None:
    for act in (room.renew, room.unlock, room.recover):
        refused(code, lambda act=act: act(target), room)  # type: ignore[misc]


def test_of_several_own_locks_on_a_path_one_must_be_named(room: LockRoom, id: str) -> None:
    other = room.held("src/a.py", "x", session="s-2", lease="900")
    third = room.held("src/a.py", "more", session="s-3")
    for act in (room.renew, room.unlock):
        error = refused("PATH_LOCK_INVALID_PATH", lambda act=act: act("src/a.py", session="s-2"), room)  # type: ignore[misc]
        assert error.message.startswith("'src/a.py' is in several locks; name ")
        assert set(error.message.partition("name ")[2].split(" or ")) == {id, other, third}
    room.unlock(third, session="s-3")
    room.unlock(id)
    assert room.unlock("src/a.py", session="s-2").lock.lock_id == other


def test_ones_own_lock_is_meant_before_anothers(room: LockRoom, id: str) -> None:
    other = room.held("src/a.py", "more", lease="900")
    room.clock.turn(301)
    room.clock.turn(600)
    assert room.recover(id, "carol").lock.owner == "carol"
    assert room.unlock("src/a.py", "carol").lock.lock_id == id
    assert list(room.records()) == [other]


# --- running --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["alice", "bob-2", "bo", "bobb", "b.ob", "carol", "вob"])
def test_under_a_running_lease_only_its_holder_acts(room: LockRoom, id: str, name: str) -> None:
    for error in refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, actor=name):
        assert error.message == f"lock {id} is held by bob since 2026-01-02T03:04:05+00:00"
        assert (error.details["owner"], next_of(error)) == ("bob", "locks dev")
    for error in refused_acts(room, "PATH_LOCK_NOT_STALE", "recover", actor=name):
        assert error.message == f"lock {id} is held by bob, 5 min left"
        assert next_of(error) == "locks dev"
    refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, actor=name, fence=1)
    refused_acts(room, "PATH_LOCK_NOT_STALE", "recover", actor=name, fence=1)


@pytest.mark.parametrize("command", HELD)
@pytest.mark.parametrize(
    "who", [{}, {"actor": "BOB"}, {"fence": 1}, {"fence": 1, "session": "any"}, {"session": "any"}]
)
def test_its_holder_may_do_all_of_them(room: LockRoom, id: str, command: str, who: dict[str, Any]) -> None:
    changed = getattr(room, command)("docs", **who)
    assert (changed.seq, changed.lock.lock_id) == (2, id)


@pytest.mark.parametrize("fence", [0, 2, 3, 999_999_999])
def test_a_fence_must_match_exactly(room: LockRoom, id: str, fence: int) -> None:
    for error in refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, fence=fence):
        assert error.message == f"the fence of lock {id} is 1, not {fence}: it was granted anew"
        assert next_of(error) == "locks dev"


def test_a_holder_cannot_recover_what_runs(room: LockRoom) -> None:
    refused_acts(room, "PATH_LOCK_NOT_STALE", "recover", actor="bob")


def test_renewing_changes_the_lease_alone(room: LockRoom, id: str) -> None:
    before = room.records()[id]
    room.clock.turn(200)
    renewed = room.renew("docs").lock
    lease = before.lease.replace(expires=START + 500, granted=START + 200, boot_expires=BOOTED + 500)
    assert renewed == before.replace(lease=lease)
    assert room.records() == {id: renewed}
    told = room.told()
    assert (told["fence"], told["expires_at"], told["updated_at"]) == (
        *(1, "2026-01-02T03:12:25+00:00"),
        "2026-01-02T03:07:25+00:00",
    )


def test_a_renewal_is_as_long_as_the_lease_was_unless_it_says_otherwise(room: LockRoom) -> None:
    id = room.held("long.py", lease="7200")
    room.clock.turn(1000)
    assert room.renew(id).lock.lease.expires == START + 1000 + 7200
    assert room.renew(id, lease="60").lock.lease.expires == START + 1000 + 60
    assert room.renew(id).lock.lease.expires == START + 1000 + 60


def test_a_lock_under_a_session_is_for_that_session_or_whoever_gives_the_fence(room: LockRoom) -> None:
    first = room.lock("s.py", session="s-1").lock
    for who in ({}, {"session": "s-2"}):
        for act in (room.renew, room.unlock):
            error = refused("PATH_LOCK_OWNER_MISMATCH", lambda act=act, who=who: act("s.py", **who), room)  # type: ignore[misc]
            assert error.message.endswith("in another session; give its --fence to act for it")
    assert room.renew("s.py", session="s-1").lock.session == "s-1"
    renewed = room.renew("s.py", fence=first.fence, session="s-2").lock
    assert (renewed.session, renewed.fence) == ("s-1", first.fence)
    assert room.unlock("s.py", fence=first.fence).lock.lock_id == first.lock_id


# --- run out --------------------------------------------------------------------------------------------------------


def test_an_expired_lease_ends_its_owners_rights(room: LockRoom, id: str) -> None:
    room.clock.turn(300)
    for who in ({}, {"fence": 1}):
        for error in refused_acts(room, "PATH_LOCK_RECOVERY_REQUIRED", *HELD, **who):
            assert error.message.startswith(f"the lease of bob on lock {id} ran out 0 s ago")
            assert (error.details["owner"], error.details["expires_at"]) == ("bob", "2026-01-02T03:09:05+00:00")
            assert next_of(error) == f"recover dev {id} --as bob --reason 'taking over'"
    refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, actor="carol")


@pytest.mark.parametrize("name", ["bob", "carol"])
@pytest.mark.parametrize("path", ["src/a.py", "src/", "docs/new.md", "."])
@pytest.mark.parametrize("when", ["expired", "suspect"])
def test_what_has_run_out_is_never_taken_in_silence(room: LockRoom, id: str, name: str, path: str, when: str) -> None:
    if when == "expired":
        room.clock.turn(301)
    else:
        room.clock.reboot()
        room.clock.step(-3 * DAY)
    assert room.check(path, actor="carol") == [id]
    assert room.check(path, actor="bob") == ([id] if when == "expired" else [])
    if when == "suspect" and name == "bob":
        assert room.lock(path).renewed == (path not in ("src/", "."))  # a suspect lease runs on for its owner
        return
    error = refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.lock("free", path, actor=name), room)
    assert f"the lease of bob on lock {id} " in error.message
    assert ("is suspect: more is left of it than its whole length" in error.message) == (when == "suspect")
    assert next_of(error) == f"recover dev {id} --as {name} --reason 'taking over'"


def test_who_holds_a_path_comes_before_who_held_it(room: LockRoom, id: str) -> None:
    running = room.held("src/b.py", actor="dora", lease="900")
    room.clock.turn(301)
    error = refused("PATH_LOCK_CONFLICT", lambda: room.lock("src/", actor="carol"), room)
    assert [each["lock_id"] for each in conflicts_of(error)] == [running]
    room.unlock(running, "dora")
    refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.lock("src/", actor="carol"), room)


def test_a_suspect_lock_is_open_to_recovery_and_still_its_owners(room: LockRoom, id: str) -> None:
    room.clock.reboot()
    room.clock.step(-3 * DAY)
    refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, actor="carol")
    assert room.renew(id).lock.owner == "bob"
    room.clock.reboot()
    room.clock.step(-3 * DAY)
    assert room.recover(id, "carol").lock.owner == "carol"
    room.clock.reboot()
    room.clock.step(-3 * DAY)
    assert room.unlock(id, "carol").lock.owner == "carol"


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 3 * DAY, -3 * DAY])
def test_a_step_of_the_wall_clock_neither_ends_a_lease_nor_makes_it_longer(room: LockRoom, jump: float) -> None:
    room.clock.step(jump)
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("src/", actor="carol"), room)
    refused_acts(room, "PATH_LOCK_NOT_STALE", "recover")
    room.renew("docs")
    room.clock.turn(300)
    refused_acts(room, "PATH_LOCK_RECOVERY_REQUIRED", *HELD)


def test_after_a_boot_a_lease_runs_by_wall_time_with_a_minute_of_grace(room: LockRoom, id: str) -> None:
    room.clock.reboot()
    room.clock.turn(359)
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("docs", actor="carol"), room)
    room.clock.turn(1)
    refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.lock("docs", actor="carol"), room)
    assert room.recover(id).lock.owner == "carol"


# --- recovering -----------------------------------------------------------------------------------------------------


def test_a_recovery_says_who_lost_it_when_and_why(room: LockRoom, id: str) -> None:
    paths = room.records()[id].paths
    room.clock.turn(301)
    recovered = room.recover("docs", why=" the session  ended ", lease="60", session="s-9")
    lock = recovered.lock
    assert {**lock.__dict__, "lease": (lock.lease.granted, lock.lease.seconds)} == {
        "lock_id": id,
        "channel": "dev",
        "owner": "carol",
        "paths": paths,
        "lease": (START + 301, 60),
        "locked_at": START + 301,
        "previous_owner": "bob",
        "previous_expires_at": START + 300,
        "recovery_reason": "the session  ended",
        "fence": 2,
        "session": "s-9",
        "reason": None,
    }
    assert (recovered.seq, room.records()) == (2, {id: lock})
    told = room.told()
    assert (room.audit().title, room.audit().sender) == (f"path.lock.recovered {id}", "carol")
    fields = ("event", "owner", "fence", "previous_owner", "previous_expires_at", "recovery_reason", "expires_at")
    assert [told[name] for name in fields] == [
        *("path.lock.recovered", "carol", 2, "bob", "2026-01-02T03:09:05+00:00", "the session  ended"),
        "2026-01-02T03:10:06+00:00",
    ]


def test_what_was_said_when_it_was_locked_is_not_said_for_who_recovered_it(room: LockRoom) -> None:
    id = room.held("b.py", why="a rewrite")
    room.clock.turn(301)
    assert room.recover(id).lock.reason is None


def test_a_displaced_owner_is_refused_and_told_who_has_it(room: LockRoom, id: str) -> None:
    room.clock.turn(301)
    room.recover(id)
    for who in ({}, {"fence": 1}, {"fence": 2}, {"session": "s-1"}):
        for error in refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, **who):
            assert error.message.startswith(f"lock {id} was recovered from you by carol ")
            assert error.details["owner"] == "carol"
    refused("PATH_LOCK_CONFLICT", lambda: room.lock("docs"), room)
    refused_acts(room, "PATH_LOCK_NOT_STALE", "recover", actor="bob")


def test_its_former_owner_may_recover_and_has_a_new_fence(room: LockRoom, id: str) -> None:
    room.clock.turn(301)
    lock = room.recover(id, "bob", session="s-1").lock
    assert (lock.owner, lock.previous_owner, lock.fence) == ("bob", "bob", 2)
    for who in ({"fence": 1}, {"fence": 1, "session": "s-1"}, {}, {"session": "s-2"}):
        refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, **who)
    assert room.unlock(id, session="s-1").seq == 3


@pytest.mark.parametrize("why", ["", " ", "a\nb", "a\tb", "\x1b[2J", "x" * 4097, "\ud800"])
def test_a_recovery_needs_a_reason_of_one_line(room: LockRoom, why: str) -> None:
    room.clock.turn(301)
    refused("PATH_LOCK_INVALID_REASON", lambda: room.recover("docs", why=why), room)


def test_a_recovery_with_a_fence_is_of_that_lock(room: LockRoom, id: str) -> None:
    room.clock.turn(301)
    for error in refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", "recover", fence=7):
        assert error.message == f"the fence of lock {id} is 1, not 7: it was granted anew"
    assert room.recover(id, fence=1).lock.owner == "carol"


def test_a_lock_is_not_recovered_while_anothers_runs_on_one_of_its_paths(room: LockRoom, id: str) -> None:
    """Only its owner had both, so both ran out; the first to be recovered is held."""
    inner = room.held("src/", "other.py", lease="300")
    room.clock.turn(301)
    assert room.recover(id, "carol").lock.owner == "carol"
    error = refused("PATH_LOCK_CONFLICT", lambda: room.recover(inner, "dora"), room)
    assert error.message == f"src/a.py, docs/: carol, lock {id}, 5 min left"
    assert next_of(error) == "locks dev"
    assert [each["lock_id"] for each in conflicts_of(error)] == [id]
    assert room.recover(inner, "Carol").lock.owner == "carol"
    room.clock.turn(301)
    assert room.recover(inner, "dora").lock.owner == "dora"  # what ran out on its paths is in nobody's way


def test_what_the_refusals_say_to_run_next_runs(room: LockRoom, id: str) -> None:
    def run_next(error: ChatError) -> None:
        result = run(shlex.split(next_of(error)), workspace=workspace_on(room.root, clock=room.clock))
        assert result.status == 0, result

    for error in refused_acts(room, "PATH_LOCK_OWNER_MISMATCH", *HELD, actor="carol"):
        run_next(error)
    run_next(refused("PATH_LOCK_NOT_FOUND", lambda: room.unlock("x"), room))
    room.clock.turn(301)
    run_next(refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.unlock(id), room))
    assert room.records()[id].fence == 2
    room.clock.turn(301)
    run_next(refused("PATH_LOCK_RECOVERY_REQUIRED", lambda: room.lock("src/", actor="carol"), room))
    assert room.records()[id].owner == "carol"
    assert room.unlock(id, "carol").seq == 4
