"""When an agent was last seen: written once a minute by itself, and never in anybody's way."""

from __future__ import annotations

import json
import os
from binascii import crc32
from typing import TYPE_CHECKING

import pytest

from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.seen_store import GRAIN_SECONDS, Seen
from tests.operations.room import Room
from tests.support.cli import START, FaultyFiles, plant, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.errors import ChatError
    from agent_chat.storage.seen_store import SeenStore


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture
def seen(room: Room) -> SeenStore:
    return room.channel.seen


def file_of(room: Room, agent: str = "bob") -> Path:
    return room.folder / ".cache" / f"seen-{agent}"


def sealed(text: bytes) -> bytes:
    return b"1 %08x\n" % crc32(text) + text


def every(store: SeenStore) -> tuple[dict[str, Seen], list[str]]:
    """Everybody that was seen, and of what it could not be told."""
    failures: list[tuple[str, ChatError | OSError]] = []
    found = store.every(failures)
    return found, [what for what, _ in failures]


def test_an_agent_is_found_by_its_folded_name(seen: SeenStore) -> None:
    assert seen.load("Bob") is None
    seen.note("Bob", waits="messages")
    assert seen.load("bOB") == Seen(at=START, waits="messages")
    assert every(seen) == ({"bob": Seen(at=START, waits="messages")}, [])


def test_it_is_written_once_a_minute(room: Room, seen: SeenStore) -> None:
    seen.note("bob")
    before = file_of(room).stat().st_ino, file_of(room).stat().st_mtime_ns
    room.clock.turn(GRAIN_SECONDS - 1)
    seen.note("bob")
    assert (file_of(room).stat().st_ino, file_of(room).stat().st_mtime_ns) == before
    room.clock.turn(1)
    seen.note("bob")
    assert seen.load("bob") == Seen(at=START + GRAIN_SECONDS)


def test_on_what_it_waits_is_written_at_once_and_kept_while_it_reads(room: Room, seen: SeenStore) -> None:
    """Another session of the name may read while one waits."""
    seen.note("bob")
    seen.note("bob", waits="task 1")
    assert seen.load("bob") == Seen(at=START, waits="task 1")
    room.clock.turn(3600)
    seen.note("bob")
    assert seen.load("bob") == Seen(at=START + 3600, waits="task 1")


def test_a_clock_that_steps_back_is_written_down(room: Room, seen: SeenStore) -> None:
    seen.note("bob")
    room.clock.turn(-86_400)
    seen.note("bob")
    assert seen.load("bob") == Seen(at=START - 86_400)


def test_without_a_file_the_time_of_the_cursor_counts(room: Room, seen: SeenStore) -> None:
    plant(room.folder / ".cursors" / "bob.txt", "0\n", at=START - 500)
    assert seen.load("bob") == Seen(at=START - 500)
    assert every(seen) == ({"bob": Seen(at=START - 500)}, [])


def test_a_cursor_of_no_time_tells_nothing(room: Room, seen: SeenStore) -> None:
    path = plant(room.folder / ".cursors" / "bob.txt", "0\n")
    os.utime(path, (-5, -5))
    assert seen.load("bob") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"1 00000000\n{}",
        b"2" + sealed(b'{"at": 1, "waits": ""}')[1:],
        sealed(b""),
        sealed(b"[]"),
        sealed(b"{}"),
        sealed(b"\xff"),
        *(
            sealed(json.dumps({"at": at, "waits": waits}).encode())
            for at, waits in [
                ("x", ""),
                (None, ""),
                (-1, ""),
                (1.5, ""),
                (float("nan"), ""),
                (10**400, ""),
                (253402300800, ""),
                (1, None),
                (1, {"a": 1}),
            ]
        ),
    ],
)
def test_a_damaged_file_counts_as_none_and_is_made_anew(room: Room, seen: SeenStore, data: bytes) -> None:
    plant(file_of(room), data)
    assert seen.load("bob") is None
    assert every(seen) == ({}, [])
    seen.note("bob")
    assert seen.load("bob") == Seen(at=START)


def test_one_that_cannot_be_read_hides_no_other(room: Room, seen: SeenStore) -> None:
    seen.note("alice")
    file_of(room).mkdir()
    with pytest.raises(NotOrdinaryError):
        seen.load("bob")
    assert every(seen) == ({"alice": Seen(at=START)}, ["when bob was seen"])
    seen.note("bob")  # nor does it stop anybody


@pytest.mark.parametrize("name", ["seen-", "seen-..", "seen-a b", "seen-con", "tmp-x", "messages.index"])
def test_other_files_of_the_cache_are_nobody(room: Room, seen: SeenStore, name: str) -> None:
    plant(room.folder / ".cache" / name, "x")
    assert every(seen) == ({}, [])


@pytest.mark.parametrize("code", [5, 13, 28, 30])
def test_whatever_fails_while_it_is_noted_stops_nobody(room: Room, code: int) -> None:
    n = 0
    while True:
        n += 1
        files = FaultyFiles(str(room.root), room.clock, at=n, code=code, where="dev/.cache")
        room.reopened().__class__(workspace_on(room.root, clock=room.clock, files=files), "dev").seen.note("bob")
        room.clock.turn(100)
        if not files.fired:
            return


def test_a_cache_that_cannot_be_listed_leaves_the_cursors(room: Room) -> None:
    plant(room.folder / ".cursors" / "bob.txt", "0\n", at=START)
    files = FaultyFiles(str(room.root), room.clock, at=1, code=13, only=("list_folder",), where=".cache")
    store = room.channel.__class__(workspace_on(room.root, clock=room.clock, files=files), "dev").seen
    assert every(store) == ({"bob": Seen(at=START)}, ["when some were seen"])
