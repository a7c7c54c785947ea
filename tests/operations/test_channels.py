"""Channels: one of a name, closed or open for good, and who is in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import channels
from agent_chat.operations.inbox import inbox
from agent_chat.storage.channel import Channel, open_channel
from agent_chat.storage.channel_folders import channel_names
from tests.operations.room import Room, refused
from tests.support.cli import plant, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


def test_a_channel_with_members_is_closed_and_stays_so(tmp_path: Path) -> None:
    closed = Room(tmp_path, members="alice", owner="olga", humans="dana", topic="t")
    meta = closed.channel.meta
    assert (meta.members, meta.humans, meta.closed, meta.owner) == (("alice", "olga"), ("dana",), True, "olga")
    channels.leave(closed.channel, "alice")
    assert closed.reopened().meta.closed
    joined = channels.join(closed.channel, "bob", None)
    assert (joined.members, joined.closed) == (("olga", "bob"), True)
    assert closed.post("bob").seq == 1


def test_an_open_channel_stays_open_after_somebody_joined(room: Room) -> None:
    assert not channels.join(room.channel, "bob", None).closed
    assert room.post("carol", to="dave").seq == 1


def test_a_channel_with_an_empty_list_of_members_is_refused(tmp_path: Path) -> None:
    refused("AGENT_INVALID", lambda: Room(tmp_path, members=""))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["dev", "DEV", "Dev"])
def test_a_name_is_taken_in_any_case(room: Room, name: str) -> None:
    error = refused("CHANNEL_EXISTS", lambda: Room(room.root, name=name))
    assert error.next == "agent-chat roster dev"
    assert channel_names(room.workspace) == ["dev"]
    assert open_channel(room.workspace, name).name == "dev"


def test_a_root_that_is_a_file_is_told_as_one(tmp_path: Path) -> None:
    path = plant(tmp_path / "root", "x")
    refused("ROOT_INVALID", lambda: Room(path))
    refused("ROOT_INVALID", lambda: channel_names(workspace_on(path)))
    assert path.read_text() == "x"


def test_an_interrupted_init_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "Dev" / ".cache").mkdir(parents=True)
    assert channel_names(workspace_on(tmp_path)) == []
    assert Room(tmp_path, name="dev").channel.name == "Dev"


def test_a_file_in_the_root_is_no_channel(room: Room) -> None:
    plant(room.root / "notes", "x")
    assert channel_names(room.workspace) == ["dev"]
    refused("CHANNEL_NOT_FOUND", lambda: open_channel(room.workspace, "notes"))


def test_reading_makes_no_root(tmp_path: Path) -> None:
    refused("ROOT_NOT_FOUND", lambda: channel_names(workspace_on(tmp_path / "none")))
    refused("ROOT_NOT_FOUND", lambda: open_channel(workspace_on(tmp_path / "none"), "dev"))
    assert list(tmp_path.iterdir()) == []


def test_the_root_ignores_what_belongs_to_one_machine(room: Room) -> None:
    ignored = (room.root / ".gitignore").read_text().split()
    assert {".lock", ".cache/", ".cursors/", "*.pending.md", "_sessions/"} <= set(ignored)
    (room.root / ".gitignore").write_text("mine\n")
    Room(room.root, name="other")
    assert (room.root / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"members": "alice", "humans": "Alice"}, "AGENT_INVALID"),
        ({"members": "all"}, "AGENT_RESERVED"),
        ({"owner": "a b"}, "AGENT_INVALID"),
        ({"topic": "x" * 4097}, "CHANNEL_INVALID"),
        ({"topic": "a\0b"}, "CHANNEL_INVALID"),
        ({"topic": "a\udcff"}, "CHANNEL_INVALID"),
        ({"work_tree": "/tmp/a\udcff"}, "CHANNEL_INVALID"),
        ({"name": "../x"}, "CHANNEL_INVALID"),
        ({"name": "con"}, "CHANNEL_INVALID"),
        ({"name": "x" * 300}, "CHANNEL_INVALID"),
    ],
)
def test_what_makes_no_channel(tmp_path: Path, fields: dict[str, str], code: str) -> None:
    refused(code, lambda: Room(tmp_path, **fields))
    assert list(tmp_path.iterdir()) == []


def test_joining_twice_changes_nothing_but_the_role(room: Room) -> None:
    channels.join(room.channel, "Bob", None)
    before = (room.folder / "_meta.json").read_bytes()
    channels.join(room.channel, "bOB", None)
    assert (room.folder / "_meta.json").read_bytes() == before
    meta = channels.join(room.channel, "bob", "subordinate")
    assert (meta.members, meta.roles) == (("Bob",), (("Bob", "subordinate"),))
    meta = channels.join(room.channel, "BOB", None)
    assert meta.roles == (("Bob", "subordinate"),)
    meta = channels.join(room.channel, "bob", "human")
    assert (meta.members, meta.humans, meta.roles) == ((), ("Bob",), ())
    meta = channels.join(room.channel, "bob", None)
    assert (meta.members, meta.humans) == ((), ("Bob",))
    meta = channels.join(room.channel, "bob", "top-level")
    assert (meta.members, meta.humans, meta.roles) == (("Bob",), (), (("Bob", "top-level"),))


def test_leaving_keeps_messages_and_cursor(room: Room) -> None:
    room.post("alice")
    room.read("bob")
    channels.join(room.channel, "bob", "subordinate")
    meta = channels.leave(room.channel, "BOB")
    assert (meta.members, meta.roles) == ((), ())
    assert room.cursor("bob") == 1
    error = refused("AGENT_UNKNOWN", lambda: channels.leave(room.channel, "bob"))
    assert error.next == "agent-chat roster dev"
    assert "closed" not in error.message


def test_a_damaged_or_later_record_is_refused_and_never_rewritten(room: Room) -> None:
    path = room.folder / "_meta.json"
    whole = json.loads(path.read_bytes())
    for data, code in (
        (b"{", "CHANNEL_DAMAGED"),
        (json.dumps({**whole, "members": 7}).encode(), "CHANNEL_DAMAGED"),
        (json.dumps({**whole, "schema_version": 99, "x": 1}).encode(), "CHANNEL_VERSION"),
    ):
        path.write_bytes(data)
        for act in (room.post, lambda: channels.join(room.reopened(), "bob", None), lambda: room.reopened().meta):
            refused(code, act)
        assert path.read_bytes() == data


def test_the_overview_names_the_last_valid_message(room: Room) -> None:
    assert channels.overview(room.channel).last is None
    room.post("alice", "one")
    room.post("bob", "two")
    plant(room.folder / "0003-x-y.md", b"no message")
    overview = channels.overview(room.channel)
    assert (overview.count, overview.latest) == (3, 3)
    assert overview.last is not None
    assert overview.last.message.title == "two"


# --- inbox ----------------------------------------------------------------------------------------------------------


def test_the_inbox_counts_what_read_would_show(room: Room) -> None:
    other = Room(room.root, name="ops", members="alice,bob")
    Room(room.root, name="quiet")
    Room(room.root, name="secret", members="alice")
    room.post("alice")
    room.post("Carol", to="bob")
    room.post("carol", to="dave")
    other.post("alice")
    other.plant(2, status="task.done")
    Channel(room.workspace, "secret")
    entries, failures = inbox(room.workspace, "BOB")
    assert failures == []
    assert [(e.channel, e.unread, e.senders, e.oldest) for e in entries] == [
        ("dev", 2, ("alice", "Carol"), 1),
        ("ops", 1, ("alice",), 1),
    ]
    room.read()
    other.read()
    assert inbox(room.workspace, "bob") == ([], [])


def test_a_channel_that_cannot_be_looked_at_is_never_taken_for_empty(room: Room) -> None:
    Room(room.root, name="ops")
    room.post()
    (room.root / "ops" / "_meta.json").write_text("{")
    entries, failures = inbox(room.workspace, "bob")
    assert [entry.channel for entry in entries] == ["dev"]
    assert [name for name, _ in failures] == ["ops"]
