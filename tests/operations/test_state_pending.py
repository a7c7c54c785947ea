"""What is pending is shown in a state as recovery will decide it, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import claims
from agent_chat.operations.leases import Actor
from agent_chat.operations.recovery import recover_pending
from agent_chat.operations.state import State
from agent_chat.operations.state_text import markdown
from agent_chat.storage.journal import OF_LOCKS, OF_TASKS
from tests.operations.lock_room import ANNOUNCED, UNANNOUNCED
from tests.operations.state_room import StateRoom

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.journal import Journal


@pytest.fixture
def room(tmp_path: Path) -> StateRoom:
    """An open channel beside a work tree."""
    return StateRoom(tmp_path)


@pytest.mark.parametrize("at", [UNANNOUNCED, ANNOUNCED])
@pytest.mark.parametrize("journal", [OF_TASKS, OF_LOCKS], ids=["tasks", "locks"])
def test_what_is_pending_is_shown_as_recovery_will_decide_it(room: StateRoom, journal: Journal, at: int) -> None:
    """Nothing is shown that a recovery undoes, and nothing is missing that it finishes."""
    room.say("Decision: x")
    room.create("T-1", title="Decision: y", acceptance=("a",))
    bob = Actor(name="bob")
    if journal == OF_LOCKS:
        room.leave_pending(at, "a.py")
    else:
        room.die(at, lambda channel: claims.claim(channel, "T-1", bob))
    before = room.summary()
    assert before.tasks is not None
    finishes = at == ANNOUNCED
    assert [lock.pending for lock in before.locks or ()] == [True] * (finishes and journal == OF_LOCKS)
    assert before.tasks[0].pending == (journal == OF_TASKS)
    assert before.tasks[0].task.status == ("in_progress" if finishes and journal == OF_TASKS else "open")
    (warning,) = before.warnings
    shown = "after it, which recovery finishes" if finishes else "before it, to which recovery returns"
    assert warning.endswith(f"shown is the state {shown}: agent-chat {journal.recovery} dev --as NAME")
    recover_pending(room.reopened(), journal, "carol")
    after = room.summary()
    assert after.warnings == ()
    assert settled_lines(after) == settled_lines(before)


def settled_lines(found: State) -> list[str]:
    """The lines of a state that a recovery must not change: all but that something is pending, and what it posts."""
    text = markdown(found.replace(count=0, latest=0, warnings=()))
    for told in (", in a pending change", ", held by a pending change", ", ready"):
        text = text.replace(told, "")
    return text.split("\n")


def test_what_only_a_person_can_decide_is_shown_as_it_lies_there(room: StateRoom) -> None:
    room.create("T-1")
    room.put(OF_TASKS.entry, b"damaged")
    found = room.summary()
    assert found.tasks is not None
    assert [view.task.id for view in found.tasks] == ["T-1"]
    (warning,) = found.warnings
    assert warning.startswith("a damaged entry is pending")
    assert "shown are the files as they are; recovery needs a person" in warning
