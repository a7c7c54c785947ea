"""Copies of messages are no loss to a state; claims are named that no task shows, and never those that are right."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Callable

import pytest

from agent_chat.operations import compaction
from agent_chat.operations.state_sources import MESSAGE, TASK
from agent_chat.operations.state_text import markdown
from agent_chat.records import claim as claim_record
from tests.operations.room import refused
from tests.operations.state_room import StateRoom, sections
from tests.support.recording import InterveningFileSystem

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "0001-alice-decision-x.md"


@pytest.fixture
def room(tmp_path: Path) -> StateRoom:
    """A channel with a decision and two tasks, one of them claimed."""
    room = StateRoom(tmp_path)
    room.say("Decision: x")
    room.create("T-1")
    room.create("T-2", depends_on=("T-1",))
    room.claim("T-1")
    return room


# --- copies ---------------------------------------------------------------------------------------------------------


def test_a_copy_of_a_message_is_named_and_nothing_is_missing(room: StateRoom) -> None:
    whole = room.summary()
    shutil.copy(room.folder / FIRST, room.folder / "0001-alice-z.md")
    found = room.summary(strict=True)
    assert found.warnings == ("set aside, no message: 0001-alice-z.md: it is a copy of another file of that number",)
    assert found.replace(warnings=(), count=whole.count) == whole
    assert (found.count, found.latest) == (whole.count + 1, whole.latest)
    assert found == room.summary()
    shown = sections(markdown(found))
    assert shown.pop("Warnings") == [f"- {found.warnings[0]}"]
    assert "incomplete" not in markdown(found)
    assert compaction.compact(room.reopened(), strict=True).state == found


def test_what_is_no_copy_under_the_same_number_is_missing(room: StateRoom) -> None:
    shutil.copy(room.folder / FIRST, room.folder / "0001-alice-z.md")
    room.put("0001-bob-x.md", b"x")
    found = room.summary()
    assert [warning.split(": ")[1] for warning in found.warnings] == ["0001-alice-z.md", "0001-bob-x.md"]
    assert found.partial == {MESSAGE}
    assert "0001-bob-x.md" in refused("STATE_MALFORMED_SOURCE", lambda: room.summary(strict=True)).message


# --- claims ---------------------------------------------------------------------------------------------------------


def test_claims_that_are_right_are_not_named(room: StateRoom) -> None:
    steps: list[Callable[[], object]] = [
        lambda: room.act("renew", lease="600"),
        lambda: room.act("block"),
        lambda: room.clock.turn(99_999),
        lambda: room.act("recover", actor="carol"),
        room.clock.reboot,
        lambda: room.act("release", actor="carol"),
        lambda: room.claim("T-1"),
        lambda: room.act("done"),
        lambda: room.claim("T-2"),
        lambda: room.act("cancel", "T-2"),
    ]
    for step in steps:
        step()
        assert room.summary(strict=True).warnings == ()


def test_a_damaged_task_is_named_and_not_its_claim_too(room: StateRoom) -> None:
    room.put("tasks/T-1.json", b"{")
    (warning,) = room.summary().warnings
    assert warning.startswith("TASK_INVALID_RECORD")


def test_each_bad_claim_is_named_once(room: StateRoom) -> None:
    for place in ("claims/T-1.bob.json", "claims/T-3.bob.json", "claims/x.json"):
        room.put(place, b"{")
    assert [warning.split(" ")[1] for warning in room.summary().warnings] == [
        f"dev/claims/{name}.json" for name in ("T-1.bob", "T-3.bob", "x")
    ]


def test_two_claims_on_one_task_are_named(room: StateRoom) -> None:
    claim = room.claims()["T-1.bob.json"]
    room.put("claims/T-1.carol.json", claim_record.render(claim.replace(owner="carol")))
    found = room.summary()
    assert found.partial == {TASK}
    assert found.warnings
    refused("STATE_INVALID_RECORD", lambda: room.summary(strict=True))


def recovered(room: StateRoom) -> None:
    room.clock.turn(99_999)
    room.act("recover", actor="carol")


CHANGES: dict[str, Callable[[StateRoom], object]] = {
    "claim": lambda room: room.claim("T-5", "carol"),
    "claim anew": lambda room: (room.create("T-9"), room.claim("T-9", "carol")),
    "renew": lambda room: room.act("renew", lease="99"),
    "release": lambda room: room.act("release"),
    "done": lambda room: room.act("done"),
    "cancel": lambda room: room.act("cancel"),
    "block": lambda room: room.act("block"),
    "release and claim": lambda room: (room.act("release"), room.claim("T-1", "carol")),
    "recover": recovered,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_meanwhile_is_never_taken_for_a_bad_claim(room: StateRoom, what: str) -> None:
    """Readers take no lock: between two of their looks a claim and its task may both have changed."""
    room.create("T-5")
    shutil.copytree(room.folder, room.root.parent / "kept")
    seen, n, files = set(), 0, None
    while files is None or files.intervened:
        n += 1
        files = InterveningFileSystem(str(room.root), room.clock, n=n, act=lambda step: CHANGES[what](room))
        found = room.summary(files, strict=True)
        assert found.warnings == (), n
        seen.add(tuple((view.task.id, view.task.status, view.task.owner) for view in found.tasks or ()))
        shutil.rmtree(room.folder)
        shutil.copytree(room.root.parent / "kept", room.folder)
    assert n > 20
    assert what == "renew" or len(seen) > 1
