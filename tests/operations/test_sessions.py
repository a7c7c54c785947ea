"""Sessions as operations: what a new one has, whose connection and taint it keeps, and what others do meanwhile."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import sessions
from agent_chat.operations.sessions import Wanted
from agent_chat.records import token as token_record
from agent_chat.storage.session_store import SessionStore
from agent_chat.storage.workspace import Ids
from tests.operations.room import Room
from tests.support.cli import START, failing, tree_of, workspace_on
from tests.support.tokens import plant_session, secret_of, session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_chat.records.session import Session


class Drawn(Ids):
    """Secrets that a test has chosen."""

    def __init__(self, *numbers: int) -> None:
        self._numbers: Iterator[int] = iter(numbers)

    def secret(self, size: int) -> bytes:
        """The next one."""
        return secret_of(next(self._numbers))


def stored(room: Room, session_id: str) -> Session:
    found = SessionStore(workspace_on(room.root)).load(session_id)
    assert found is not None
    return found


def test_what_is_told_is_what_is_stored_and_the_token_is_its(room: Room) -> None:
    made = sessions.start(room.workspace, Wanted(agent="bob", harness="omp"), room.channel)
    one = made.session
    assert (one.agent, one.channel, one.harness, one.taint, one.created) == ("bob", "dev", "omp", "PUBLIC", START)
    assert stored(room, one.id) == one
    assert sessions.of_token(room.workspace, made.token) == one


def test_a_first_session_whose_connection_is_taken_draws_again(room: Room) -> None:
    plant_session(room.root, 1)
    room.workspace.ids = Drawn(1, 1, 2)
    assert sessions.start(room.workspace, Wanted(agent="carol")).session.connection == session(2).connection


def test_a_taint_that_rose_meanwhile_is_inherited_and_survives_the_end(room: Room) -> None:
    plant_session(room.root)
    seen = stored(room, session().id)
    plant_session(room.root, taint="RESTRICTED")
    assert sessions.start(room.workspace, Wanted(agent="bob", under=seen)).session.taint == "RESTRICTED"
    assert sessions.end(room.workspace, seen).taint == "RESTRICTED"
    assert stored(room, seen.id).taint == "RESTRICTED"


def test_a_session_that_has_ended_already_keeps_its_end(room: Room) -> None:
    plant_session(room.root)
    seen = stored(room, session().id)
    first = sessions.end(room.workspace, seen)
    room.clock.turn(60)
    assert sessions.end(room.workspace, seen) == first


def test_in_a_closed_channel_only_its_members_get_a_session(tmp_path: Path) -> None:
    closed = Room(tmp_path / "root", members="alice,bob")
    before = tree_of(closed.root)
    with pytest.raises(ChatError, match="carol"):
        sessions.start(closed.workspace, Wanted(agent="carol"), closed.reopened())
    assert tree_of(closed.root) == before
    assert sessions.start(closed.workspace, Wanted(agent="BOB"), closed.reopened()).session.agent == "bob"


def test_namesakes_are_told_unless_they_have_ended(room: Room) -> None:
    plant_session(room.root, 1, name="Twin")
    plant_session(room.root, 2, name="twin", ended=1.0)
    plant_session(room.root, 3, name="other")
    made = sessions.start(room.workspace, Wanted(agent="bob", name="twin"))
    assert [each.id for each in made.namesakes] == [session(1).id]
    assert made.faults == ()


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "../x", "NUL", "\udcff"])
def test_a_name_that_no_record_could_hold_is_refused_and_nothing_is_made(room: Room, name: str) -> None:
    before = tree_of(room.root)
    with pytest.raises(ChatError) as caught:
        sessions.start(room.workspace, Wanted(agent="bob", name=name))
    assert caught.value.code == "SESSION_INVALID"
    assert tree_of(room.root) == before


@pytest.mark.parametrize("harness", ["", "a\nb", "x" * 101, "\udcff", "\x1b[2J"])
def test_a_harness_is_one_short_line(room: Room, harness: str) -> None:
    with pytest.raises(ChatError) as caught:
        sessions.start(room.workspace, Wanted(agent="bob", harness=harness))
    assert caught.value.code == "SESSION_INVALID"


def test_the_longest_agent_gets_a_name_that_fits(room: Room) -> None:
    made = sessions.start(room.workspace, Wanted(agent="x" * 64)).session
    assert made.name == made.id


@pytest.mark.parametrize("at", range(1, 12))
def test_a_disk_that_fails_leaves_a_session_or_none(room: Room, at: int) -> None:
    """Never half a one; what failed is told."""
    broken = failing(room.root, errno.ENOSPC, at=at, only=("write_new", "link", "sync_folder", "make_folder"))
    broken.ids = Drawn(1)
    try:
        sessions.start(broken, Wanted(agent="bob"))
    except OSError:
        there = SessionStore(room.workspace).ids()
        assert there == []
        assert not list(room.root.rglob("_sessions/tmp-*"))
    else:
        assert token_record.has_secret(stored(room, session().id), secret_of(1))
