"""Who is a person: in the humans of a channel, at a terminal, without a token; each refusal says what is missing."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations.persons import require_person
from tests.operations.room import Room, refused
from tests.support.cli import failing, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(tmp_path / "root", humans="Carol,josé")
    run(["init", "ops", "--members", "bob", "--humans", "dora"], made.root)
    return made


def person(workspace: Workspace, name: str = "carol", *, has_token: bool = False, elsewhere: str = "") -> str:
    return require_person(workspace, name, has_token=has_token, elsewhere=elsewhere)


@pytest.mark.parametrize(
    ("name", "spelled"), [("carol", "Carol"), ("JOSÉ", "josé"), ("jose\u0301", "josé"), ("dora",) * 2]
)
def test_a_person_is_in_the_humans_of_any_channel(room: Room, name: str, spelled: str) -> None:
    assert person(room.workspace, name) == spelled


@pytest.mark.parametrize("name", ["bob", "caro", "carolx"])
def test_a_member_or_a_stranger_is_none(room: Room, name: str) -> None:
    error = refused("ACCESS_NOT_A_PERSON", lambda: person(room.workspace, name))
    assert f"{name!r} is not in the humans of any channel" in error.message
    assert error.next == f"agent-chat join dev --as {name} --role human"
    assert run(error.next.split()[1:], room.root).status == 0
    assert person(room.workspace, name) == name


def test_whoever_has_a_token_is_none(room: Room) -> None:
    error = refused("ACCESS_NOT_A_PERSON", lambda: person(room.workspace, has_token=True))
    assert "AGENT_CHAT_TOKEN" in error.told
    assert error.told.endswith("ask the user to run it at a terminal, without a session token")


def test_whoever_is_at_no_terminal_is_none(room: Room) -> None:
    error = refused("ACCESS_NOT_A_PERSON", lambda: person(room.workspace, elsewhere="standard error"))
    assert error.message.startswith("standard error is no terminal")


def test_a_bad_name_is_told_as_one(room: Room) -> None:
    refused("AGENT_INVALID", lambda: person(room.workspace, "car ol"))
    refused("AGENT_RESERVED", lambda: person(room.workspace, "system"))


def test_in_a_root_without_channels_nobody_is_one(tmp_path: Path) -> None:
    refused("ROOT_NOT_FOUND", lambda: person(workspace_on(tmp_path / "none")))
    (tmp_path / "root").mkdir()
    error = refused("ACCESS_NOT_A_PERSON", lambda: person(workspace_on(tmp_path / "root")))
    assert error.next == "agent-chat init --help"


def test_who_cannot_look_does_not_say_that_somebody_is_none(room: Room) -> None:
    plant(room.root / "bad" / "_meta.json", "{")
    plant(room.root / "later" / "_meta.json", '{"schema_version": 2}')
    assert person(room.workspace) == "Carol"
    error = refused("CHANNEL_DAMAGED", lambda: person(room.workspace, "erin"))
    assert error.message.startswith("whether 'erin' is a person cannot be told: ")
    assert error.next == "agent-chat doctor bad"
    (room.root / "bad" / "_meta.json").unlink()
    refused("CHANNEL_VERSION", lambda: person(room.workspace, "erin"))


def test_a_disk_that_fails_is_no_answer_either(room: Room) -> None:
    def broken() -> Workspace:
        return failing(room.root, errno.EACCES, at=1, only=("read_file",), where="ops")

    assert person(broken()) == "Carol"
    error = refused("IO_ERROR", lambda: person(broken(), "erin"))
    assert "ops" in error.message
