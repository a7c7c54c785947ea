"""Markers: one winner, one audit message, and a claim that a crash left half-done is completed by its owner."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import markers
from agent_chat.storage.channel import Channel
from tests.operations.room import Room, refused
from tests.support.cli import Crash, FakeClock, FaultyFiles, plant, tree_of, workspace_on

if TYPE_CHECKING:
    from agent_chat.operations.markers import Claimed


@pytest.fixture
def marked(room: Room) -> Room:
    plant(room.folder / "task-12.md", "# Task 12\n")
    return room


def broken(room: Room, at: int, code: int | None) -> tuple[Channel, FaultyFiles]:
    clock = FakeClock()
    files = FaultyFiles(str(room.root), clock, at=at, code=code)
    return Channel(workspace_on(room.root, clock=clock, files=files), "dev"), files


def set_back(room: Room) -> None:
    """Makes the channel what it was before the claim."""
    for path in [*room.folder.glob("task-*"), *room.folder.glob("0*"), *room.folder.glob(".cache/*")]:
        path.unlink()
    plant(room.folder / "task-12.md", "x")


def claim(room: Room, agent: str = "bob", marker: str = "task-12.md") -> Claimed:
    return markers.claim(room.reopened(), marker, agent)


def audits(room: Room) -> list[tuple[int, str, str]]:
    stored = [room.message(seq) for seq, _ in room.channel.messages.numbers().after(0)]
    return [(m.seq, m.sender, m.title) for m in stored if m.status == "marker.claimed"]


def test_one_wins_and_the_channel_is_told(marked: Room) -> None:
    marked.post("alice")
    claimed = claim(marked)
    assert (claimed.marker, claimed.claimed_as, claimed.seq) == ("task-12.md", "task-12.CLAIMED-bob.md", 2)
    assert (marked.folder / "task-12.CLAIMED-bob.md").read_text() == "# Task 12\n"
    assert not (marked.folder / "task-12.md").exists()
    assert audits(marked) == [(2, "bob", "marker.claimed 12")]
    assert json.loads(marked.message(2).body) == {
        "agent": "bob",
        "channel": "dev",
        "claimed_as": "task-12.CLAIMED-bob.md",
        "event": "marker.claimed",
        "marker": "task-12.md",
        "task_id": "12",
    }
    for agent in ("carol", "bob"):
        error = refused("MARKER_CLAIMED", lambda agent=agent: claim(marked, agent))  # type: ignore[misc]
        assert error.details["owner"] == "bob"
    assert len(audits(marked)) == 1


@pytest.mark.parametrize(
    "marker",
    [
        *("0001-alice-m.md", "_meta.json", ".lock", "state.md", "task-.md", "task-12", "task-12.txt", "../task-12.md"),
        *(
            "task-../x.md",
            "task-12.CLAIMED-bob.md",
            "task-12.claimed-bob.md",
            "task-a b.md",
            "task-é.md",
            "",
            "task-x\n.md",
        ),
        "task-" + "x" * 65 + ".md",
    ],
)
def test_nothing_but_a_marker_is_claimed(marked: Room, marker: str) -> None:
    marked.plant(1, "0001-alice-m.md")
    before = tree_of(marked.folder)
    refused("MARKER_INVALID", lambda: claim(marked, marker=marker))
    assert tree_of(marked.folder) == before


def test_an_unknown_marker_is_answered_with_the_near_one(marked: Room) -> None:
    error = refused("MARKER_NOT_FOUND", lambda: claim(marked, marker="task-21.md"))
    assert error.near == ("task-21.md", ("task-12.md",))


def test_a_marker_that_is_no_ordinary_file_is_refused(room: Room) -> None:
    (room.folder / "task-1.md").mkdir()
    (room.folder / "task-2.md").symlink_to("_meta.json")
    for marker in ("task-1.md", "task-2.md"):
        refused("MARKER_INVALID", lambda marker=marker: claim(room, marker=marker))  # type: ignore[misc]


def test_the_greatest_names_fit(room: Room) -> None:
    marker = "task-" + "x" * 64 + ".md"
    plant(room.folder / marker)
    assert claim(room, "字" * 21, marker).claimed_as == f"task-{'x' * 64}.CLAIMED-{'字' * 21}.md"
    assert markers.owner_of(marker, room.names()) == "字" * 21


def test_who_is_not_in_a_closed_channel_claims_nothing(room: Room) -> None:
    closed = Room(room.root, name="ops", members="alice")
    plant(closed.folder / "task-1.md")
    refused("AGENT_UNKNOWN", lambda: claim(closed, "bob", "task-1.md"))
    assert claim(closed, "ALICE", "task-1.md").claimed_as == "task-1.CLAIMED-alice.md"


def test_a_claim_that_a_crash_left_is_completed_by_its_owner_alone(marked: Room) -> None:
    """The process is killed at its first, second, … primitive, until it gets through."""
    for at in range(1, 60):
        set_back(marked)
        channel, files = broken(marked, at, None)
        try:
            markers.claim(channel, "task-12.md", "bob")
        except Crash:
            held = "task-12.CLAIMED-bob.md" in marked.names()
            if held:
                refused("MARKER_CLAIMED", lambda: claim(marked, "carol"))
            if not (held and audits(marked)):
                assert claim(marked).claimed_as == "task-12.CLAIMED-bob.md"
            assert (marked.folder / "task-12.CLAIMED-bob.md").read_text() == "x"
            assert [sender for _, sender, _ in audits(marked)] == ["bob"]
        else:
            assert not files.fired
            assert at > 10
            return
    pytest.fail("the claim never ended")


def test_a_failing_disk_leaves_a_claim_that_can_be_completed_or_none(marked: Room) -> None:
    seen = set()
    for at in range(1, 60):
        set_back(marked)
        channel, files = broken(marked, at, errno.EIO)
        try:
            markers.claim(channel, "task-12.md", "bob")
        except Exception as error:
            seen.add(getattr(error, "code", type(error).__name__))
            if not audits(marked):
                claim(marked)
            assert [sender for _, sender, _ in audits(marked)] == ["bob"]
        else:
            assert not files.fired
            assert {"MARKER_AUDIT_FAILED", "OSError"} <= seen
            return
    pytest.fail("the claim never ended")
