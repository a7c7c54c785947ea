"""What a glance keeps saves opening files, and is not believed when damaged; no glance takes longer than it may."""

from __future__ import annotations

import errno
import json
import os
from binascii import crc32
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import glance as glancing
from agent_chat.operations.glance import WORTH_KEEPING, Glance
from tests.hooks.glance_room import GlanceRoom, Unread
from tests.support.cli import FaultyFiles, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

MANY = WORTH_KEEPING + 8
ALL = {"dev": Unread(MANY, ("alice",))}


@pytest.fixture
def room(tmp_path: Path) -> GlanceRoom:
    """A room with so many messages that a glance keeps what it counted."""
    room = GlanceRoom(tmp_path / "root")
    for seq in range(1, MANY + 1):
        path = tmp_path / "root" / "dev" / f"{seq:04d}-alice-m.md"
        path.write_bytes(f"---\nseq: {seq}\nfrom: alice\ntitle: t\n---\nbody\n".encode())
    room.settle()
    return room


def opened_by_the_next(room: GlanceRoom, wanted: dict[str, Unread]) -> int:
    """How many messages the next glance opens, which must be right."""
    assert room.seen() == wanted
    return len(room.opened)


# -- what it saves -----------------------------------------------------------------------------------------------------


def test_what_was_counted_is_not_opened_again(room: GlanceRoom) -> None:
    assert opened_by_the_next(room, ALL) == MANY
    assert opened_by_the_next(room, ALL) == 0


def test_only_what_was_added_is_opened(room: GlanceRoom) -> None:
    room.glance()
    room.post("carol", count=2)
    wanted = {"dev": Unread(MANY + 2, ("alice", "carol"))}
    assert opened_by_the_next(room, wanted) == 2
    assert opened_by_the_next(room, wanted) == 0


def test_what_was_read_needs_no_opening(room: GlanceRoom) -> None:
    room.glance()
    room.read()
    assert opened_by_the_next(room, {}) == 0
    room.post("alice")
    assert opened_by_the_next(room, {"dev": Unread(1, ("alice",))}) == 1


def test_after_a_part_was_read_the_rest_is_counted_anew(room: GlanceRoom) -> None:
    room.glance()
    room.read(limit=MANY - 3)
    assert opened_by_the_next(room, {"dev": Unread(3, ("alice",))}) == 3


def test_another_set_below_what_was_looked_at_is_counted_anew(room: GlanceRoom) -> None:
    room.glance()
    (room.root / "dev" / "0003-alice-m.md").unlink()
    room.settle()
    assert opened_by_the_next(room, {"dev": Unread(MANY - 1, ("alice",))}) == MANY - 1


def test_what_changed_within_two_seconds_is_not_believed(room: GlanceRoom) -> None:
    room.glance()
    room.post("alice")
    room.clock.turn(-9.0)  # a second after it: another message may get the same time
    wanted = {"dev": Unread(MANY + 1, ("alice",))}
    assert opened_by_the_next(room, wanted) == 1
    assert json.loads(room.cache.read_bytes().split(b"\n")[1])["dev"][0] == ""
    room.clock.turn(9.0)
    assert opened_by_the_next(room, wanted) == 0


def test_a_small_room_keeps_nothing(tmp_path: Path) -> None:
    room = GlanceRoom(tmp_path / "root")
    room.post("alice", count=3)
    assert room.seen() == {"dev": Unread(3, ("alice",))}
    assert not (room.root / "_hooks").exists()


def test_each_agent_keeps_its_own(room: GlanceRoom) -> None:
    room.glance()
    assert opened_by_the_next(room, ALL) == 0
    assert room.seen("alice") == {}
    assert len(room.opened) == MANY
    assert room.seen("BOB") == ALL
    assert room.opened == []


def test_who_looks_at_a_few_channels_keeps_what_is_known_of_the_others(room: GlanceRoom) -> None:
    room.make("ops")
    room.post("carol", channel="ops")
    room.glance()
    room.glance(only=frozenset({"ops"}))
    room.seen()
    assert room.opened == []


def test_what_is_kept_is_stored_only_when_it_changed(room: GlanceRoom) -> None:
    room.glance()
    before = room.cache.stat()
    room.glance()
    assert room.cache.stat() == before


def test_no_message_is_opened_twice_and_none_of_another_channel(room: GlanceRoom) -> None:
    room.make("ops")
    room.post("carol", channel="ops")
    room.glance()
    assert len(room.opened) == len(set(room.opened)) == MANY + 1
    room.post("carol", channel="ops")
    room.glance()
    assert room.opened == ["0002-carol-t.md"]


# -- when it is damaged ------------------------------------------------------------------------------------------------


def sealed(rest: bytes, version: str = "1") -> bytes:
    """A cache that looks whole."""
    return f"{version} {crc32(rest):08x}\n".encode() + rest


def stored(**channels: Any) -> bytes:
    return sealed(json.dumps(channels).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1",
        b"x" * 1000,
        b"1 00000000\n{}",
        sealed(b""),
        sealed(b"{}", version="0"),
        sealed(b"{}", version="2"),
        sealed(b"[]"),
        sealed(b"null"),
        sealed(b"\xff"),
        sealed(b'{"dev": '),
        stored(dev=None),
        stored(dev=[]),
        stored(dev={}),
        stored(dev="text of nine"),
        stored(dev=["", 0]),
        stored(dev=[None] * 10),
        stored(dev=["", "a", "b", "c", "d", [], "e", "f", "g", "h"]),
        stored(dev=["", 0, [], 0, 0, [], 0, 0, 0, False]),
        stored(dev=["", 0, 0, 0, 0, None, 0, 0, 0, False]),
        stored(nowhere=["", 0, 1, 2, 3, ["x"], 0, 9, 9, False]),
    ],
    ids=lambda data: repr(data)[:50],
)
def test_a_cache_that_is_not_ours_is_as_none(room: GlanceRoom, data: bytes) -> None:
    room.glance()
    room.cache.write_bytes(data)
    assert opened_by_the_next(room, ALL) == MANY
    assert opened_by_the_next(room, ALL) == 0


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.99])
def test_a_torn_cache_is_as_none(room: GlanceRoom, cut: float) -> None:
    room.glance()
    whole = room.cache.read_bytes()
    room.cache.write_bytes(whole[: int(len(whole) * cut)])
    assert opened_by_the_next(room, ALL) == MANY


def test_a_cache_with_another_number_in_it_is_as_none(room: GlanceRoom) -> None:
    room.glance()
    whole = room.cache.read_bytes()
    room.cache.write_bytes(whole.replace(f", {MANY}, [".encode(), b", 7, ["))
    assert room.cache.read_bytes() != whole
    assert opened_by_the_next(room, ALL) == MANY


def test_a_cache_of_another_channel_or_cursor_is_not_believed(room: GlanceRoom) -> None:
    room.glance()
    before = room.cache.read_bytes()
    room.remake()
    room.post("carol", count=2)
    room.cache.write_bytes(before)
    assert room.seen() == {"dev": Unread(2, ("carol",))}


@pytest.mark.parametrize("what", ["folder", "file", "link", "dangling"])
def test_something_else_in_the_place_of_what_is_kept_costs_time_and_nothing_else(room: GlanceRoom, what: str) -> None:
    hooks = room.root / "_hooks"
    if what == "folder":
        room.cache.mkdir(parents=True)
    elif what == "file":
        hooks.write_bytes(b"x")
    elif what == "link":
        hooks.symlink_to(room.root / "dev")
    else:
        hooks.mkdir()
        room.cache.symlink_to(room.root / "nowhere")
    assert room.seen() == ALL
    assert room.seen() == ALL
    assert sorted(path.name for path in (room.root / "dev").glob("*.unread")) == []


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("only", ["make_folder", "write_new", "replace"])
def test_a_root_that_cannot_be_written_costs_time_and_nothing_else(room: GlanceRoom, only: str, code: int) -> None:
    for _ in range(2):
        files = FaultyFiles(str(room.root), room.clock, at=1, code=code, only=(only,), forever=True)
        found = glancing.glance(workspace_on(room.root, clock=room.clock, files=files), "bob")
        assert [(count.unread, count.more) for count in found.counts] == [(MANY, False)]
        assert files.fired


def test_in_a_folder_where_nobody_may_write_nothing_is_tried(room: GlanceRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert room.seen() == ALL
    assert not (room.root / "_hooks").exists()


# -- how long it takes -------------------------------------------------------------------------------------------------


def counted(found: Glance) -> list[tuple[int, bool]]:
    return [(count.unread, count.more) for count in found.counts]


def test_no_more_is_opened_once_time_is_up_and_the_next_glance_goes_on_from_there(room: GlanceRoom) -> None:
    rounds: list[tuple[int, bool]] = []
    while not rounds or rounds[-1][1]:
        [count] = room.glance(cost=0.11).counts
        rounds.append((count.unread, count.more))
        assert len(room.opened) <= 10
    # In the last but one there was no time to look for late ones.
    assert rounds == [(10, True), (20, True), (30, True), (40, True), (40, False)]
    assert opened_by_the_next(room, ALL) == 0


def test_the_time_is_that_of_all_channels_together(tmp_path: Path) -> None:
    room = GlanceRoom(tmp_path / "root", "a", "b", "c")
    for name in "abc":
        room.post("alice", channel=name, count=4)
    found = room.glance(cost=0.3, seconds=1.0)
    assert counted(found) == [(4, True), (0, True), (0, True)]
    assert len(room.opened) == 4


def test_what_was_counted_in_part_is_at_least_so_much(room: GlanceRoom) -> None:
    [count] = room.glance(cost=0.5).counts
    assert (count.unread, count.latest, count.highest, count.more) == (3, 3, 3, True)
    room.post("carol")
    [count] = room.glance(cost=0.5).counts
    assert (count.unread, count.latest, count.more) == (6, 6, True)


def test_a_glance_that_was_cut_short_is_not_believed_when_nothing_changes(room: GlanceRoom) -> None:
    room.glance(cost=0.5)
    assert room.seen() == ALL
