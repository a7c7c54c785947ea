"""Events of a channel: posting one, and reading them among whatever else is there."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_chat.errors import ChatError
from agent_chat.names import fault_of_name
from agent_chat.operations import events
from agent_chat.operations.events import EventDraft, PostedEvent
from agent_chat.records import event as event_record
from agent_chat.records.event import PRIMITIVES, STATUSES, Event
from agent_chat.records.message import MAX_BODY_BYTES
from agent_chat.storage.channel import open_channel
from tests.operations.room import Room, refused
from tests.support.cli import REPOSITORY, START, FakeClock, FaultyFiles, tree_of, workspace_on

if TYPE_CHECKING:
    from agent_chat.operations.events import Events

OTHER_PROGRAM = REPOSITORY / "tests" / "fixtures" / "other-program"
NOW = "2026-01-02T03:04:05+00:00"  # START
BUSY = {"schema_version": 1, "event": "status", "agent": "bob", "harness": "omp", "ts": NOW, "status": "busy"}
# As agent-chat-plugin 0.7 writes one: no quotes, local time, compact JSON, no final newline of the body's own.
THEIRS = """\
---
seq: {seq}
from: bob
to: all
channel: dev
ts: 2026-01-02T04:04:05+01:00
status: event.{event}
title: event:{event}
---
{body}
"""


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "root")


def announce(room: Room, type: str = "status", **fields: Any) -> PostedEvent:
    """Posts one event of bob's."""
    given = {"sender": "bob", "harness": "omp", "status": "busy" if type == "status" else None, **fields}
    return events.post(room.reopened(), EventDraft(type=type, **given))


def plant_event(room: Room, seq: int, body: object, *, status: str = "event.status", sender: str = "bob") -> None:
    """Writes the message of an event by hand; a body that is no text is written as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    room.plant(seq, f"{seq:04d}-{sender}-event.md", sender=sender, status=status, body=text + "\n")


def codes(found: Events) -> list[tuple[int, str]]:
    """The numbers of what was read, with their codes; no code for an event."""
    return [(each.seq, each.error.code if each.error else "") for each in found.read]


# Posting


def test_a_status_is_an_ordinary_message_for_all_with_an_event_as_its_body(room: Room) -> None:
    posted = announce(room, detail="writing")
    assert (posted.seq, posted.file) == (1, "0001-bob-event-status-busy.md")
    assert posted.event == Event(event="status", agent="bob", harness="omp", ts=NOW, status="busy", detail="writing")
    message = room.message(1)
    assert (message.sender, message.to, message.title) == ("bob", (), "event.status busy")
    assert (message.status, message.created, message.is_audit) == ("event.status", NOW, True)
    assert json.loads(message.body) == {**BUSY, "detail": "writing"}
    assert message.body == event_record.render(posted.event)


def test_a_capability_without_primitives_is_all_of_them(room: Room) -> None:
    assert announce(room, "capability").event.primitives == PRIMITIVES
    assert announce(room, "capability", primitives=("wait", "tasks")).event.primitives == ("wait", "tasks")
    assert room.message(2).title == "event.capability omp"


def test_an_event_wakes_nobody_and_is_not_unread(room: Room) -> None:
    announce(room)
    assert [item.message.seq for item in room.page("alice").stored] == [1]
    assert room.page("alice").stored[0].message.is_audit


def test_the_agent_of_an_event_is_spelled_as_its_message_spells_it(room: Room) -> None:
    room.post("Bob")
    posted = announce(room, sender="bOB")
    assert (posted.event.agent, room.message(2).sender) == ("Bob", "Bob")
    assert codes(events.read(room.reopened())) == [(2, "")]


def test_the_time_of_an_event_is_that_of_its_message(room: Room) -> None:
    room.clock.turn(60)
    assert announce(room).event.ts == room.message(1).created == "2026-01-02T03:05:05+00:00"


@pytest.mark.parametrize(
    ("code", "type", "fields"),
    [
        ("EVENT_INVALID_TYPE", "statu", {}),
        ("EVENT_INVALID_TYPE", "", {}),
        ("EVENT_REQUIRED_FIELD_MISSING", "status", {"status": None}),
        ("EVENT_UNKNOWN_FIELD", "status", {"primitives": ("wait",)}),
        ("EVENT_UNKNOWN_FIELD", "capability", {"status": "busy"}),
        ("EVENT_UNKNOWN_FIELD", "capability", {"detail": "x"}),
        ("EVENT_INVALID_STATUS", "status", {"status": "Busy"}),
        ("EVENT_INVALID_STATUS", "status", {"status": ""}),
        ("EVENT_INVALID_TEXT", "status", {"detail": "a\x1b[2J"}),
        ("EVENT_INVALID_TEXT", "status", {"detail": "\udcff"}),
        ("EVENT_INVALID_TEXT", "status", {"harness": ""}),
        ("EVENT_INVALID_TEXT", "status", {"harness": "../omp"}),
        ("EVENT_INVALID_TEXT", "status", {"harness": "x" * 65}),
        ("EVENT_INVALID_PRIMITIVES", "capability", {"primitives": ()}),
        ("EVENT_UNKNOWN_PRIMITIVE", "capability", {"primitives": ("wait", "mcp")}),
        ("EVENT_DUPLICATE_PRIMITIVE", "capability", {"primitives": ("wait", "wait")}),
        ("MESSAGE_TOO_LARGE", "status", {"detail": "x" * MAX_BODY_BYTES}),
        ("AGENT_INVALID", "status", {"sender": "b b"}),
        ("AGENT_RESERVED", "status", {"sender": "system"}),
    ],
)
def test_what_would_be_no_event_is_refused_and_changes_nothing(
    room: Room, code: str, type: str, fields: dict[str, Any]
) -> None:
    before = tree_of(room.root)
    refused(code, lambda: announce(room, type, **fields))
    assert tree_of(room.root) == before


def test_a_closed_channel_takes_events_of_its_members_alone(tmp_path: Path) -> None:
    room = Room(tmp_path / "root", members="alice,Bob")
    assert announce(room).event.agent == "Bob"
    refused("AGENT_UNKNOWN", lambda: announce(room, sender="carol"))


@settings(max_examples=20)
@given(
    sender=st.text("aBc9._-é", min_size=1, max_size=20).filter(lambda name: fault_of_name(name) is None),
    harness=st.text(min_size=1, max_size=64),
    status=st.sampled_from(STATUSES),
    detail=st.none() | st.text(),
    chosen=st.none() | st.lists(st.sampled_from(PRIMITIVES), min_size=1, unique=True).map(tuple),
)
def test_what_was_posted_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, sender: str, harness: str, detail: str | None, **chosen: Any
) -> None:
    room = Room(tmp_path_factory.mktemp("room") / "root")
    posted = []
    for type, fields in (
        ("status", {"status": chosen["status"], "detail": detail}),
        ("capability", {"primitives": chosen["chosen"]}),
    ):
        try:
            posted.append(announce(room, type, **{"status": None, **fields, "sender": sender, "harness": harness}))
        except ChatError as error:
            assert error.code == "EVENT_INVALID_TEXT"  # noqa: PT017 - either may happen
    read = events.read(room.reopened())
    assert [(each.seq, each.file, each.event) for each in read.read] == [(p.seq, p.file, p.event) for p in posted]


# Reading


def test_other_messages_are_passed_over_and_nothing_is_touched(room: Room) -> None:
    room.post("alice", "Hello", json.dumps(BUSY))
    announce(room)
    room.plant(3, sender="carol", status="decision", body=json.dumps(BUSY) + "\n")
    room.plant(4, sender="carol", status="task.created", body=json.dumps(BUSY) + "\n")
    announce(room, "capability", primitives=("wait",))
    (room.folder / "notes.txt").write_text("{")
    before = tree_of(room.root)
    found = events.read(room.reopened())
    assert [(each.seq, each.event.event if each.event else "") for each in found.read] == [
        (2, "status"),
        (5, "capability"),
    ]
    assert found.failures == ()
    assert tree_of(room.root) == before


def test_one_type_can_be_asked_for(room: Room) -> None:
    announce(room)
    announce(room, "capability")
    plant_event(room, 3, "{")
    assert codes(events.read(room.reopened(), type="status")) == [(1, ""), (3, "EVENT_MALFORMED_BODY")]
    assert codes(events.read(room.reopened(), type="capability")) == [(2, ""), (3, "EVENT_MALFORMED_BODY")]
    assert refused("EVENT_INVALID_TYPE", lambda: events.read(room.reopened(), type="")).near is not None


def test_a_channel_without_events_has_none(room: Room) -> None:
    room.post("alice")
    assert events.read(room.reopened()) == events.Events(read=(), failures=())


@pytest.mark.slow
def test_one_malformed_event_among_2000_does_not_stop_the_others(room: Room) -> None:
    for seq in range(1, 2001):
        plant_event(room, seq, {**BUSY, "detail": str(seq)} if seq != 777 else "{")
    found = events.read(room.reopened())
    assert [seq for seq, code in codes(found) if not code] == [seq for seq in range(1, 2001) if seq != 777]
    assert [pair for pair in codes(found) if pair[1]] == [(777, "EVENT_MALFORMED_BODY")]


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("EVENT_MALFORMED_BODY", ""),
        ("EVENT_MALFORMED_BODY", "busy"),
        ("EVENT_MALFORMED_BODY", '{"event": NaN}'),
        ("EVENT_MALFORMED_BODY", json.dumps(BUSY) + json.dumps(BUSY)),
        ("EVENT_MALFORMED_BODY", '{"event": "status", "event": "status"}'),
        ("EVENT_MALFORMED_BODY", json.dumps({**BUSY, "detail": "\ud800"})),
        ("EVENT_MALFORMED_BODY", "[" * 50_000),
        ("EVENT_INVALID_RECORD", [BUSY]),
        ("EVENT_UNSUPPORTED_VERSION", {**BUSY, "schema_version": 2, "more": 1}),
        ("EVENT_INVALID_TYPE", {**BUSY, "event": "message"}),
        ("EVENT_UNKNOWN_FIELD", {**BUSY, "more": 1}),
        ("EVENT_REQUIRED_FIELD_MISSING", {key: value for key, value in BUSY.items() if key != "ts"}),
        ("EVENT_INVALID_TIMESTAMP", {**BUSY, "ts": "yesterday"}),
        ("EVENT_INVALID_STATUS", {**BUSY, "status": "done"}),
        ("EVENT_INVALID_TEXT", {**BUSY, "agent": "../bob"}),
        ("EVENT_AGENT_MISMATCH", {**BUSY, "agent": "alice"}),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_malformed_event_is_reported_where_it_stands(room: Room, code: str, body: object) -> None:
    announce(room)
    plant_event(room, 2, body)
    plant_event(room, 3, BUSY)
    found = events.read(room.reopened())
    assert codes(found) == [(1, ""), (2, code), (3, "")]
    error = found.read[1].error
    assert error is not None
    assert error.next == "agent-chat show dev 2"
    assert (error.near, error.details) == (None, {})


def test_the_sender_is_compared_as_names_are(room: Room) -> None:
    plant_event(room, 1, {**BUSY, "agent": "BOB"})
    assert codes(events.read(room.reopened())) == [(1, "")]


def test_a_file_that_is_no_message_may_hold_an_event_so_it_is_named(room: Room) -> None:
    announce(room)
    (room.folder / "0002-bob-x.md").write_text("no header")
    (room.folder / "0003-bob-x.md").mkdir()
    plant_event(room, 4, BUSY)
    assert codes(events.read(room.reopened())) == [(1, ""), (2, "MESSAGE_DAMAGED"), (3, "MESSAGE_DAMAGED"), (4, "")]


def test_several_files_of_one_number_are_read_each(room: Room) -> None:
    plant_event(room, 1, BUSY)
    plant_event(room, 1, "{", sender="carol")
    room.plant(1, sender="dave")
    found = events.read(room.reopened())
    assert [(each.file, each.error.code if each.error else "") for each in found.read] == [
        ("0001-bob-event.md", ""),
        ("0001-carol-event.md", "EVENT_MALFORMED_BODY"),
    ]
    assert found.read[1].error is not None
    assert str(found.read[1].error.next).endswith("show dev 0001-carol-event.md")


@pytest.mark.parametrize("where", ["0002-", "0003-"])
def test_what_cannot_be_read_is_told_and_hides_nothing_else(room: Room, where: str) -> None:
    """An ordinary message that cannot be read might be an event."""
    announce(room)
    room.post("alice", "plain")
    announce(room, "capability")
    announce(room, status="idle")
    clock = FakeClock()
    files = FaultyFiles(str(room.root), clock, at=1, code=errno.EACCES, only=("read_file",), where=where, forever=True)
    found = events.read(open_channel(workspace_on(room.root, clock=clock, files=files), "dev"))
    assert [seq for seq, _ in codes(found)] == ([1, 3, 4] if where == "0002-" else [1, 4])
    ((name, error),) = found.failures
    assert (name[:5], error.errno) == (where, errno.EACCES)


# What another program wrote


def test_the_events_of_another_program_are_read(room: Room) -> None:
    status = {"agent": "bob", "detail": "ü", "event": "status", "harness": "omp", "schema_version": 1}
    status.update(status="ready", ts="2026-01-02T04:04:05+01:00")
    capability = {**BUSY, "event": "capability", "primitives": list(PRIMITIVES)}
    del capability["status"]
    for seq, body in ((1, status), (2, capability)):
        text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        path = room.folder / f"{seq:04d}-bob-event-{body['event']}.md"
        path.write_text(THEIRS.format(seq=seq, event=body["event"], body=text), encoding="utf-8")
    found = events.read(room.reopened())
    assert [event_record.to_json(each.event) for each in found.read if each.event] == [status, capability]


@pytest.mark.parametrize(("channel", "numbers"), [("garden", [9]), ("review", [10, 11])])
def test_the_events_of_its_channels_are_read(tmp_path: Path, channel: str, numbers: list[int]) -> None:
    shutil.copytree(OTHER_PROGRAM, tmp_path / "root")
    before = tree_of(tmp_path / "root")
    found = events.read(open_channel(workspace_on(tmp_path / "root", clock=FakeClock(START)), channel))
    assert [(each.seq, each.error) for each in found.read] == [(seq, None) for seq in numbers]
    assert tree_of(tmp_path / "root") == before


@pytest.mark.parametrize("status", ["event.capability", "event.other", "event.", "event.status.x", "Event.Status"])
def test_an_event_under_the_status_of_another_is_none(room: Room, status: str) -> None:
    plant_event(room, 1, BUSY, status=status)
    assert codes(events.read(room.reopened())) == [(1, "EVENT_INVALID_TYPE")]
