"""While the owner has switched chat off hooks say nothing; the edit guard goes on, since locks do."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from tests.hooks.desk import Desk
from tests.support.cli import FaultyFiles, plant, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

OFF = '{"schema_version": 1, "access": "off"}'
MAIL = ("session-start", "prompt", "post-tool-batch", "stop")
SENT = {"session_id": "s-1", "prompt_id": "p-1"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.post("alice")
    return made


@pytest.mark.parametrize("event", [*MAIL, "wait"])
def test_it_says_nothing_and_remembers_nothing_as_told(desk: Desk, event: str) -> None:
    plant(desk.root / "_owner.json", OFF)
    for name in ("bob", None):
        heard = desk.hook(event, SENT, AGENT_CHAT_STOP="block", AGENT_CHAT_NAME=name)
        assert (heard.output, heard.notes, heard.status) == ("", (), 0)
    (desk.root / "_owner.json").unlink()
    heard = desk.hook(event, SENT)
    assert "1 unread for bob" in heard.output + " ".join(heard.notes)


def test_a_waiter_that_waits_ends_when_it_is_switched_off(desk: Desk) -> None:
    desk.read("bob")
    slept = desk.clock.slept

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        desk.clock.turn(seconds)
        plant(desk.root / "_owner.json", OFF)
        desk.post("alice")

    desk.clock.sleep = sleep  # type: ignore[method-assign]
    heard = desk.hook("wait", SENT, workspace=desk.workspace)
    assert (heard.output, heard.notes, heard.status, len(slept)) == ("", (), 0, 1)


@pytest.mark.parametrize("event", MAIL)
def test_where_the_settings_are_damaged_it_could_not_look(desk: Desk, event: str) -> None:
    plant(desk.root / "_owner.json", "{")
    heard = desk.hook(event, SENT)
    assert "OWNER_SETTINGS_INVALID" in " ".join(heard.notes) or "_owner.json" in " ".join(heard.notes)
    told = "agent-chat could not look for messages" in heard.output
    assert (heard.status, told) == (0, event in ("session-start", "prompt"))


@pytest.mark.parametrize("event", [*MAIL, "wait"])
def test_where_the_settings_cannot_be_read_it_could_not_look(desk: Desk, event: str) -> None:
    files = FaultyFiles(str(desk.root), desk.clock, at=1, code=errno.EACCES, only=("read_file",), where="_owner.json")
    heard = desk.hook(event, SENT, workspace=workspace_on(desk.root, clock=desk.clock, files=files))
    assert (heard.status, len(heard.notes)) == (0, 1)
    assert "_owner.json" in heard.notes[0]
    assert "1 unread" not in heard.output


def test_the_edit_guard_goes_on(desk: Desk) -> None:
    desk.lock("src/a.py", actor="alice")
    plant(desk.root / "_owner.json", OFF)
    edit = {
        **SENT,
        "tool_name": "Edit",
        "tool_input": {"file_path": str(desk.tree / "src/a.py")},
        "cwd": str(desk.tree),
    }
    assert "alice" in desk.hook("pre-tool-use", edit).refusal
