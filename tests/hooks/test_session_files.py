"""The files of sessions: whose they are, what becomes of a damaged one, and that who cannot note does not act."""

from __future__ import annotations

import errno
import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.operations.session_memory import END, HELD, KEPT_SECONDS, LOCK_SECONDS, SessionMemory, _file_name
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Clock
from tests.hooks.memory_room import Memory, unread
from tests.support.cli import FaultyFiles, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "root")


# -- whose file --------------------------------------------------------------------------------------------------------


def test_sessions_and_agents_know_nothing_of_each_other(memory: Memory) -> None:
    for options in ({}, {"session": "s-2"}, {"agent": "carol"}, {"session": ""}, {"session": "S-1"}):
        assert memory.note(unread(1), **options)
        assert not memory.note(unread(1), **options)


def test_a_name_in_another_case_is_the_same_agent(memory: Memory) -> None:
    assert memory.note(unread(1), agent="Bob")
    assert not memory.note(unread(1), agent="bOB")


ODD_SESSIONS = [
    "",
    "any",
    "id-any",
    "hex-616e79",
    "s",
    "S",
    "s.session",
    "s.lock",
    "..",
    "../../x",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    "con",
    "\ud800",
    "é",
    "e\u0301",
    " ",
    "x" * 120,
    "x" * 200,
    "x" * 201,
    "x" * 117,
    "x" * 118,
    "x" * 5000,
    "x" * 4999 + "y",
    "X" * 57,
    "X" * 58,
    "00000001-0000-4000-8000-000000000000",
    "-",
    "long-78",
]


def test_no_two_sessions_share_a_file_and_none_leaves_the_folder(memory: Memory) -> None:
    for agent in ("bob", "bob.id-s", "x" * 64, "ї" * 32):
        for session in ODD_SESSIONS:
            assert memory.note(unread(1), session=session, agent=agent), (agent, session)
            assert memory.faults == []
    names = [name for name in memory.names if name.endswith(".session")]
    assert len(names) == 4 * len(ODD_SESSIONS)
    assert max(len(os.fsencode(name)) for name in memory.names) <= 240
    assert [path.name for path in memory.root.iterdir()] == ["_hooks"]
    for agent in ("bob", "bob.id-s"):
        assert not any(memory.note(unread(1), session=session, agent=agent) for session in ODD_SESSIONS)


@given(st.text(st.characters()), st.text(st.characters()))
def test_two_ids_never_make_one_name(one: str, other: str) -> None:
    name = _file_name("bob", one)
    assert (name == _file_name("bob", other)) == (one == other)
    assert name.isascii()
    assert not set(name[: -len(END)].replace("bob.", "")) & set("/\\.\0: ") or name.endswith(f".long{END}")
    assert name == name.lower()  # on a disk that folds case two stay two


# -- when it cannot be had ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"x", b"[]", b"null", b"\xff", b'{"held": {}}', b'{"schema_version": "1"}'),
        *(b'{"held": {}, "held": {}}', b'{"schema_version": 1, "held": ' + b"[" * 500, b"\0" * 4096),
    ],
    ids=lambda data: repr(data)[:30],
)
def test_what_was_forgotten_by_damage_may_have_been_noted(memory: Memory, data: bytes) -> None:
    memory.note(unread(3))
    memory.path.write_bytes(data)
    assert not memory.note(unread(3))
    assert not memory.note(unread(3))
    assert memory.note(unread(4))


@pytest.mark.parametrize(
    "fields",
    [
        {"held": 5, "turns": []},
        {"held": []},
        {"held": {"dev": None}},
        {"held": {"dev": [3]}},
        {"held": {"dev": ["3", 0]}},
        {"held": {"dev": [3, 0, 0]}},
        {"held": {"dev": {"3": 0}}},
    ],
    ids=str,
)
def test_a_whole_file_with_odd_marks_is_put_right(memory: Memory, fields: dict[str, Any]) -> None:
    memory.note(unread(3))
    memory.path.write_text(json.dumps({"schema_version": 1, **fields}))
    memory.note(unread(3))
    assert not memory.note(unread(3))
    assert json.loads(memory.path.read_text())["held"]["dev"][:2] == [3, 0]


def test_a_file_of_a_later_version_is_left_alone_and_nobody_is_held(memory: Memory) -> None:
    memory.note(unread(1))
    later = b'{"schema_version": 2, "held": "in another way"}\n'
    memory.path.write_bytes(later)
    for _ in range(2):
        assert not memory.note(unread(5))
        assert memory.open().note_turn("prompt", "p-1")
    assert memory.path.read_bytes() == later


@pytest.mark.parametrize("what", ["folder", "link", "dangling"])
def test_something_else_in_the_place_of_the_file_holds_nobody(memory: Memory, what: str) -> None:
    (memory.root / "_hooks").mkdir()
    if what == "folder":
        memory.path.mkdir()
    else:
        target = memory.root / "elsewhere"
        memory.path.symlink_to(target)
        if what == "link":
            target.write_text('{"schema_version": 1}')
    before = sorted(memory.root.rglob("*"))
    assert not memory.note(unread(1))
    assert memory.faults != []
    assert [path for path in sorted(memory.root.rglob("*")) if not path.name.endswith(".lock")] == before


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("only", ["make_folder", "open_lock", "write_new", "replace", "read_file"])
def test_where_nothing_can_be_written_nothing_is_new_and_it_is_said_why(memory: Memory, only: str, code: int) -> None:
    files = FaultyFiles(str(memory.root), memory.clock, at=1, code=code, only=(only,), forever=True)
    assert not memory.note(unread(1), files=files)
    assert [os.strerror(code) in fault for fault in memory.faults] == [True]
    assert memory.open(files=files).note_turn("prompt", "p-1")  # better twice than never
    assert not (memory.path).exists()


def test_a_root_that_is_not_there_is_not_made(memory: Memory) -> None:
    memory.root.rmdir()
    assert not memory.note(unread(1))
    assert len(memory.faults) == 1
    assert not memory.root.exists()


def test_forgetting_old_sessions_does_not_keep_a_new_one_from_being_remembered(memory: Memory) -> None:
    """Another hook's temporary is gone when it is looked at; somebody else's old file cannot be removed."""

    class Racing(FileSystem):
        def list_folder(self, path: str) -> list[str]:
            return [*super().list_folder(path), "tmp-gone", "carol.id-gone.session"]

        def remove(self, path: str) -> None:
            raise PermissionError(errno.EPERM, "somebody else's", path)

    memory.note(unread(1), session="old")
    for path in (memory.root / "_hooks").iterdir():
        os.utime(path, (1, 1))
    assert memory.note(unread(1), files=Racing(str(memory.root), memory.clock))


def test_the_files_of_old_sessions_go_and_those_of_others_stay(memory: Memory) -> None:
    memory.note(unread(1), session="old")
    memory.note(unread(1), session="young")
    hooks = memory.root / "_hooks"
    for name in ("bob.unread", "note.txt", "claude.ran", "bob.id-old.waiting", "tmp-0123"):
        (hooks / name).write_bytes(b"")
    for path in hooks.iterdir():
        age = 1.0 if "young" in path.name else KEPT_SECONDS + 5.0
        os.utime(path, (memory.clock.now() - age,) * 2)
    memory.note(unread(1), session="new")
    gone = {"bob.id-old.session", "bob.id-old.session.lock", "bob.id-old.waiting", "tmp-0123"}
    assert not gone & set(memory.names)
    assert {"bob.id-young.session", "bob.id-young.session.lock", "bob.unread", "note.txt"} < set(memory.names)


# -- at once -----------------------------------------------------------------------------------------------------------


def test_who_finds_it_locked_does_not_wait_long_and_is_not_held(memory: Memory) -> None:
    memory.note(unread(1))
    workspace = workspace_on(memory.root, clock=memory.clock)
    lock = FileLock(workspace.files, f"{memory.path}.lock", workspace.clock)
    assert lock.acquire(0)
    began = memory.clock.now()
    assert not memory.note(unread(2))
    assert memory.clock.now() - began == pytest.approx(LOCK_SECONDS)
    assert ["locked by another hook" in fault for fault in memory.faults] == [True]
    assert memory.open().note_turn("prompt", "p-1")
    lock.release()
    assert memory.note(unread(2))


def test_of_hooks_that_run_at_once_one_is_held(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "root")
    found: list[bool] = []

    def run(barrier: threading.Barrier, number: int) -> None:
        workspace = workspace_on(memory.root, clock=Clock())
        barrier.wait()
        found.append(SessionMemory(workspace, "bob", "s-1").note(HELD, [unread(number)]))

    for number in range(1, 51):
        barrier = threading.Barrier(2)
        threads = [threading.Thread(target=run, args=(barrier, number)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [False, True], number
        found.clear()
    assert json.loads(memory.path.read_text())["held"]["dev"][:2] == [50, 0]


def test_a_session_has_one_waiter(memory: Memory) -> None:
    first = memory.open().waiter()
    assert first is not None
    assert memory.open().waiter() is None
    other = memory.open(session="s-2").waiter()
    assert other is not None
    first.release()
    again = memory.open().waiter()
    assert again is not None
    for lock in (other, again):
        lock.release()
    assert memory.faults == []


def test_where_no_lock_can_be_had_nobody_waits(memory: Memory) -> None:
    files = FaultyFiles(str(memory.root), memory.clock, at=1, code=errno.EROFS, forever=True, only=("open_lock",))
    assert memory.open(files=files).waiter() is None
    assert len(memory.faults) == 1
