"""The replay: what was announced is what lies on the disk, and what a hand did to a record is found."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_chat.errors import ChatError
from agent_chat.operations import doctor, replay
from agent_chat.operations.mending import mend
from agent_chat.operations.recovery import recover_pending
from agent_chat.records.message import Message
from agent_chat.storage.journal import CLAIMS, LOCKS, OF_TASKS, TASKS
from agent_chat.storage.message_store import Stored
from tests.operations.lock_room import LEGACY_ID, LockRoom, legacy_lock
from tests.operations.replay_room import (
    UNTIL,
    alter,
    findings,
    lose_journals,
    on_disk,
    rebuilt,
    say,
    task_body,
)
from tests.support.cli import message_file, plant
from tests.support.leases import STAMP, base64_of, lease_marker, legacy_claim, legacy_task, marker_bytes

if TYPE_CHECKING:
    from pathlib import Path


NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


@pytest.fixture
def room(tmp_path: Path) -> LockRoom:
    return LockRoom(tmp_path)


# -- whatever is done --------------------------------------------------------------------------------------------------

ACTS: dict[str, Callable[[LockRoom, str, str, str], object]] = {
    "create": lambda room, task, path, agent: room.create(task, agent),
    "depend": lambda room, task, path, agent: room.update(task, agent, depends_on=("T-1",)),
    "title": lambda room, task, path, agent: room.update(task, agent, title=f"by {agent}"),
    "start": lambda room, task, path, agent: room.update(task, agent, status="in_progress"),
    "claim": lambda room, task, path, agent: room.claim(task, agent),
    **{
        verb: lambda room, task, path, agent, verb=verb: room.act(verb, task, agent)  # type: ignore[misc]
        for verb in ("renew", "done", "release", "block", "cancel", "recover")
    },
    "lock": lambda room, task, path, agent: room.lock(path, "z.txt", actor=agent),
    "lock one": lambda room, task, path, agent: room.lock(path, actor=agent),
    "renew lock": lambda room, task, path, agent: room.renew(path, agent),
    "unlock": lambda room, task, path, agent: room.unlock(path, agent),
    "recover lock": lambda room, task, path, agent: room.recover(path, agent),
    "post": lambda room, task, path, agent: room.post(agent),
    "turn": lambda room, task, path, agent: room.clock.turn(200),
}
acts = st.lists(
    st.tuples(
        st.sampled_from(sorted(ACTS)),
        st.sampled_from(["T-1", "T-2"]),
        st.sampled_from(["a.py", "b/"]),
        st.sampled_from(["bob", "Bob", "carol"]),
    ),
    min_size=3,
    max_size=15,
)


def copied(room: LockRoom, place: str) -> str:
    """Copies a record under a name of its own; a claim to another agent."""
    folder = place.partition("/")[0]
    record = json.loads((room.folder / place).read_bytes())
    key, id = {TASKS: ("id", "T-9"), CLAIMS: ("owner", "zoe"), LOCKS: ("lock_id", "9" * 16)}[folder]
    target = f"{folder}/{record['task_id']}.zoe.json" if folder == CLAIMS else f"{folder}/{id}.json"
    room.put(target, json.dumps({**record, key: id}).encode())
    return target


@settings(max_examples=400 if NIGHTLY else 15, suppress_health_check=[HealthCheck.too_slow])
@given(acts=acts, data=st.data())
def test_whatever_is_done_is_told_and_what_a_hand_does_is_found(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, str, str, str]], data: st.DataObject
) -> None:
    room = LockRoom(tmp_path_factory.mktemp("replay"))
    room.create("T-1")
    room.lock("a.py")
    for act, *words in acts:
        try:
            ACTS[act](room, *words)
        except ChatError:
            continue
    assert rebuilt(room) == on_disk(room)
    assert doctor.examine(room.reopened()).findings == ()
    place = data.draw(st.sampled_from(sorted(on_disk(room))))
    folder = place.partition("/")[0]
    wanted = {(f"{folder[:-1]}.replay", place)}
    how = data.draw(st.sampled_from(["alter", "delete", "copy"]))
    if how == "alter":
        alter(room, place, **{TASKS: {"branch": "b"}, CLAIMS: {"session": "s"}, LOCKS: {"reason": "r"}}[folder])
    elif how == "copy":
        wanted = {(f"{folder[:-1]}.replay", copied(room, place))}
    else:
        record = json.loads((room.folder / place).read_bytes())
        ends = record.get("expires_at") or record["lease_expires_at"]
        if folder != TASKS and ends <= room.clock.timestamp():
            wanted = set()
        (room.folder / place).unlink()
    assert set(findings(room)) == wanted


# -- the order in which it happened ------------------------------------------------------------------------------------


def test_a_message_with_a_new_number_counts_at_its_first(room: LockRoom) -> None:
    room.create("T-1")
    room.update("T-1", title="one")
    before = {path: path.read_bytes() for path in room.folder.glob("0001-*.md")}
    plant(room.folder / "0001-aaa-x.md", message_file(1, "aaa"))
    channel = room.reopened()
    mend(channel, doctor.examine(channel))
    assert (room.message(3).was, room.message(3).status) == ((1,), "task.created")
    assert (findings(room), rebuilt(room)) == ([], on_disk(room))
    for path, data in before.items():
        plant(path, data)  # as where it was killed before the old file was removed
    assert (findings(room), rebuilt(room)) == ([], on_disk(room))
    lose_journals(room)
    assert findings(room) == []
    alter(room, "tasks/T-1.json", status="done")
    assert findings(room) == [("task.replay", "tasks/T-1.json")]


def test_two_that_were_told_under_one_number_have_no_order(room: LockRoom) -> None:
    """Two lines of history were merged."""
    room.create("T-1")
    room.update("T-1", title="one")
    say(room, 2, "task.updated", "T-1", task_body("task.updated", status="blocked"), transaction="'00000000000000ff'")
    assert findings(room) == []
    room.act("block", "T-1")
    alter(room, "tasks/T-1.json", title="by hand")
    assert findings(room) == [("task.replay", "tasks/T-1.json")]


# -- the other program -------------------------------------------------------------------------------------------------


def theirs(room: LockRoom, seq: int, event: str, target: str, **fields: object) -> None:
    """Writes an audit message as agent-chat-plugin does."""
    head = f"seq: {seq}\nfrom: bob\nto: all\nchannel: dev\nts: {STAMP}\nstatus: {event}\ntitle: {event} {target}\n"
    body = json.dumps({"channel": "dev", "event": event, "updated_at": STAMP, **fields}, indent=2, sort_keys=True)
    plant(room.folder / f"{seq:04d}-bob-{event.replace('.', '-')}.md", f"---\n{head}---\n{body}\n")


@pytest.fixture
def review(room: LockRoom) -> LockRoom:
    """A channel of agent-chat-plugin: two tasks, a claim and a path lock."""
    until = "2026-01-02T03:09:05.000000+00:00"
    for seq, id in ((1, "T-1"), (2, "T-2")):
        theirs(room, seq, "task.created", id, task_id=id, status="open", owner=None, lease_expires_at=None)
    claimed = {"status": "in_progress", "owner": "bob", "lease_expires_at": until}
    theirs(
        room, 3, "lease.claimed", "T-1", task_id="T-1", lease_owner="bob", previous_status="open",
        transaction_id="2cfe8fff92a4425ea7f991d1c7567f21", changed_fields=["owner", "status"], **claimed,
    )  # fmt: skip
    paths = [{"display_path": "a.py", "kind": "file", "normalized_path": "a.py"}]
    theirs(
        room, 4, "path.locked", LEGACY_ID, lock_id=LEGACY_ID, owner="bob", paths=paths, expires_at=until,
        lease_expires_at=until, transaction_id="0b706d2449ed410e982588c188a0aae4",
    )  # fmt: skip
    room.put("tasks/T-1.json", legacy_task(**claimed))
    room.put("tasks/T-2.json", legacy_task("T-2"))
    room.put("claims/T-1.bob.json", legacy_claim())
    room.put(f"locks/{LEGACY_ID}.json", legacy_lock())
    return room


def test_a_channel_of_the_other_program_is_sound_and_goes_on(review: LockRoom) -> None:
    assert doctor.examine(review.reopened()).findings == ()
    review.act("renew", "T-1")
    review.update("T-2", title="ours")
    review.renew("a.py")
    assert findings(review) == []
    review.act("done", "T-1")
    review.unlock("a.py")
    assert findings(review) == []


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        ("tasks/T-2.json", {"status": "cancelled"}),
        ("tasks/T-2.json", {"owner": "carol"}),
        (f"locks/{LEGACY_ID}.json", {"paths": [{"display_path": "b", "kind": "file", "normalized_path": "b"}]}),
        (f"locks/{LEGACY_ID}.json", {"expires_at": STAMP}),
    ],
)
def test_what_is_altered_there_is_found(review: LockRoom, place: str, fields: dict[str, Any]) -> None:
    alter(review, place, **fields)
    assert findings(review) == [(place.partition("/")[0][:-1] + ".replay", place)]


@pytest.mark.parametrize("resolution", ["rollback", "published"])
def test_a_marker_that_a_person_decides(room: LockRoom, resolution: str) -> None:
    """A person who says that it was announced, though no message is there, is told that none is."""
    theirs(room, 1, "task.created", "T-1", task_id="T-1", status="open", owner=None, lease_expires_at=None)
    taken = legacy_task(status="in_progress", owner="bob", lease_expires_at=UNTIL)
    marker = lease_marker(
        1,
        task_before=base64_of(legacy_task()),
        claim_changes=[{"file": "T-1.bob.json", "next": base64_of(legacy_claim()), "previous": None}],
    )
    room.put("tasks/T-1.json", taken)
    room.put("claims/T-1.bob.json", legacy_claim())
    room.put(OF_TASKS.foreign, marker_bytes(marker))
    assert findings(room) == []
    recover_pending(room.reopened(), OF_TASKS, "carol", resolution=resolution)
    wanted = [] if resolution == "rollback" else ["task.replay", "claim.replay"]
    assert [id for id, _ in findings(room)] == wanted


# -- how long it takes -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_messages_about_many_tasks_are_quick() -> None:
    stored = [
        Stored(
            message=Message(
                seq=seq,
                sender="bob",
                title=f"task.updated T-{seq % 2000}",
                body=task_body("task.updated", task_id=f"T-{seq % 2000}"),
                status="task.updated",
                transaction=f"{seq:016x}",
            ),
            file=f"{seq:05d}-bob-x.md",
        )
        for seq in range(1, 20_001)
    ]
    begin = time.process_time()
    history = replay.replay(stored, {})
    assert time.process_time() - begin < 5
    assert len(history.tasks) == 2000
