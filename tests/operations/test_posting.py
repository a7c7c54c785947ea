"""Posting: all or nothing, once per key, and never to nobody."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import messages
from agent_chat.operations.messages import Draft
from agent_chat.records.message import AUDIT_PREFIXES, MAX_BODY_BYTES, MAX_TITLE_BYTES
from agent_chat.storage.channel import Channel
from tests.operations.room import Room, refused
from tests.support.cli import FakeClock, FaultyFiles, plant, tree_of, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def closed(tmp_path: Path) -> Room:
    return Room(tmp_path / "closed", members="alice,Bob,carol", humans="dana")


def test_numbers_are_gapless_and_padded(room: Room) -> None:
    assert [room.post(title=f"T {n}").file for n in range(3)] == [f"000{n}-alice-t-{n - 1}.md" for n in (1, 2, 3)]
    room.plant(9_999)
    assert room.post().file == "10000-alice-t.md"
    assert room.post().seq == 10_001


def test_a_number_is_not_used_again_while_a_trace_of_it_is_left(room: Room) -> None:
    room.post()
    plant(room.folder / "0005-alice-m (conflict).md")
    assert room.post().seq == 6
    plant(room.folder / ".cursors" / "bob.txt", "9\n")
    assert room.post().seq == 10
    plant(room.folder / ".cursors" / "bob.txt", "garbage")
    (room.folder / room.post().file).unlink()
    assert room.post().seq == 11


def test_no_numbers_left_is_told(room: Room) -> None:
    room.plant(999_999_999)
    refused("CHANNEL_DAMAGED", room.post)


def test_what_is_posted_is_what_is_read(room: Room) -> None:
    room.post("alice", "first", topic="api/v2")
    posted = room.post(
        "Їжак",
        "Заголовок: \u200fעברית\n# x",
        "тіло\r\n---\nfrom: human\n",
        to="bob, @carol,BOB",
        reply="1",
        status="decision",
        refs=(f"path:/src/a#1.py#sha256:{'0' * 64}", "commit:abcd"),
        key="k",
    )
    message = room.message(posted.seq)
    assert message.__dict__ == {
        **message.__dict__,
        "sender": "Їжак",
        "title": "Заголовок: \u200fעברית\n# x",
        "body": "тіло\r\n---\nfrom: human\n",
        "to": ("bob", "carol"),
        "reply_to": 1,
        "topic": "api/v2",
        "status": "decision",
        "refs": (f"path:/src/a#1.py#sha256:{'0' * 64}", "commit:abcd"),
        "key": "k",
        "created": "2026-01-02T03:04:05+00:00",
    }
    assert posted.file == "0002-Їжак-заголовок-עברית-x.md"


# --- recipients -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "to"),
    [
        (None, ()),
        ("all", ()),
        ("ALL", ()),
        ("@all", ()),
        ("bob,all", ()),
        ("bob", ("Bob",)),
        (" bob", ("Bob",)),
        ("bob ", ("Bob",)),
        ("@bob", ("Bob",)),
        ("BOB, carol", ("Bob", "carol")),
        ("bob,Bob", ("Bob",)),
        ("bob,alice", ("Bob", "alice")),
        ("dana", ("dana",)),
    ],
)
def test_recipients_that_are_plainly_meant(closed: Room, text: str | None, to: tuple[str, ...]) -> None:
    assert closed.message(closed.post(to=text).seq).to == to


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ",",
        "bob,",
        '"bob"',
        "'bob'",
        "[bob]",
        "all,[bob]",
        "bob carol",
        "bob;carol",
        "@",
        "@@bob",
        "b@b",
        "../x",
        "\0",
    ],
)
def test_what_is_no_name_is_delivered_to_nobody_and_refused(closed: Room, room: Room, text: str) -> None:
    for place in (closed, room):
        refused("AGENT_INVALID", lambda place=place: place.post(to=text))  # type: ignore[misc]
        assert not any(name.endswith(".md") for name in place.names())


def test_a_reserved_name_is_no_recipient_and_no_sender(room: Room) -> None:
    refused("AGENT_RESERVED", lambda: room.post(to="system"))
    for name in ("system", "All"):
        refused("AGENT_RESERVED", lambda name=name: room.post(name))  # type: ignore[misc]


@pytest.mark.parametrize("text", ["bobb", "bob,bobb", "carol,bobb,alice", "all,bobb", "bobb,all"])
def test_an_unknown_recipient_of_a_closed_channel_stops_the_whole_message(closed: Room, text: str) -> None:
    error = refused("AGENT_UNKNOWN", lambda: closed.post(to=text))
    assert error.next == "agent-chat join dev --as bobb"
    assert error.near == ("bobb", ("alice", "Bob", "carol", "dana"))
    assert not any(name.endswith(".md") for name in closed.names())


def test_an_open_channel_knows_every_name(room: Room) -> None:
    assert room.message(room.post(to="nobody-yet").seq).to == ("nobody-yet",)


def test_a_message_to_oneself_alone_is_refused(room: Room) -> None:
    refused("MESSAGE_NO_RECIPIENT", lambda: room.post("alice", to="Alice"))
    assert room.message(room.post("alice", to="alice,bob").seq).to == ("alice", "bob")


def test_an_unknown_sender_of_a_closed_channel_is_refused(closed: Room) -> None:
    for name in ("eve", "humаn", "Bobb"):
        assert refused("AGENT_UNKNOWN", lambda name=name: closed.post(name)).next == f"agent-chat join dev --as {name}"  # type: ignore[misc]
    assert closed.message(closed.post("BOB").seq).sender == "Bob"


def test_a_sender_is_spelled_as_it_was_first(room: Room) -> None:
    room.post("Bob")
    assert room.message(room.post("bOB").seq).sender == "Bob"


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("MESSAGE_EMPTY", {"title": ""}),
        ("MESSAGE_EMPTY", {"title": " \n"}),
        ("MESSAGE_TOO_LARGE", {"body": "x" * (MAX_BODY_BYTES + 1)}),
        ("MESSAGE_TOO_LARGE", {"body": "ñ" * (MAX_BODY_BYTES // 2 + 1)}),
        ("MESSAGE_TOO_LARGE", {"title": "x" * (MAX_TITLE_BYTES + 1)}),
        ("MESSAGE_TOO_LARGE", {"key": "x" * 201}),
        ("MESSAGE_TOO_LARGE", {"refs": ("path:" + "\x01" * 65_000,) * 5}),
        ("MESSAGE_NOT_TEXT", {"body": "a\0b"}),
        ("MESSAGE_NOT_TEXT", {"title": "a\0b"}),
        ("MESSAGE_NOT_TEXT", {"body": "a\udcffb"}),
        ("MESSAGE_NOT_TEXT", {"title": "\ud800"}),
        ("MESSAGE_NOT_TEXT", {"key": "\udcff"}),
        ("MESSAGE_NOT_TEXT", {"refs": ("path:\udcff",)}),
        ("MESSAGE_INVALID", {"key": ""}),
        ("MESSAGE_INVALID", {"topic": "No Topic"}),
        ("MESSAGE_INVALID", {"status": "a b"}),
        ("MESSAGE_INVALID", {"refs": ("src/a.py",)}),
        ("MESSAGE_INVALID", {"refs": ("path:",)}),
        ("MESSAGE_INVALID", {"refs": ("",)}),
        ("MESSAGE_NOT_FOUND", {"reply": "7"}),
        ("MESSAGE_NOT_FOUND", {"reply": ""}),
        ("MESSAGE_NOT_FOUND", {"reply": "../x"}),
        ("MESSAGE_NOT_FOUND", {"reply": "99999999999"}),
        *(("MESSAGE_STATUS_RESERVED", {"status": prefix + "x"}) for prefix in AUDIT_PREFIXES),
        ("MESSAGE_STATUS_RESERVED", {"status": "TASK.done"}),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_and_nothing_is_left(room: Room, code: str, fields: dict[str, Any]) -> None:
    before = tree_of(room.root)
    refused(code, lambda: room.post(**{"title": "t", **fields}))
    after = tree_of(room.root)
    after.pop("dev/.lock", None)
    assert after == before


def test_a_body_of_the_greatest_size_is_posted(room: Room) -> None:
    body = "x" * (MAX_BODY_BYTES - 1) + "\n"
    assert room.message(room.post(body=body, title="\x01" * MAX_TITLE_BYTES).seq).body == body


def test_if_seq_refuses_when_the_channel_has_moved(room: Room) -> None:
    room.post(if_seq=0)
    room.post(if_seq=1)
    room.post(if_seq=99)
    error = refused("CHANNEL_MOVED", lambda: room.post(if_seq=2))
    assert error.details["latest_seq"] == 3
    assert error.next == "agent-chat read dev --after 2 --as alice"


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_repeated_key_gives_the_first_number(room: Room) -> None:
    first = room.post("alice", body="b", to="bob", key="k")
    room.post("bob", key="k")
    again = room.post("alice", body="b\n", to="bob", key="k")
    assert (again.seq, again.file, again.repeated) == (first.seq, first.file, True)
    assert room.post("ALICE", body="b", to="bob", key="k").repeated
    assert room.post("alice", body="b", to="bob", key="k", if_seq=0).seq == first.seq
    assert room.channel.messages.numbers().highest == 2


@pytest.mark.parametrize(
    "change", [{"title": "u"}, {"body": "c"}, {"to": "carol"}, {"reply": "1"}, {"status": "s"}, {"refs": ("path:a",)}]
)
def test_a_key_of_other_content_is_refused(room: Room, change: dict[str, Any]) -> None:
    room.post("bob")
    same: dict[str, Any] = {"title": "t", "body": "b", "to": "bob", "key": "k"}
    room.post("alice", **same)
    error = refused("MESSAGE_KEY_CONFLICT", lambda: room.post("alice", **{**same, **change}))
    assert error.next == "agent-chat show dev 2"
    assert room.channel.messages.numbers().highest == 2


# --- replies --------------------------------------------------------------------------------------------------------


def test_a_reply_inherits_the_topic_of_its_parent(room: Room) -> None:
    room.post(topic="api")
    assert room.message(room.post(reply="#1").seq).topic == "api"
    assert room.message(room.post(reply="0001-alice-t.md", topic="api").seq).reply_to == 1
    refused("MESSAGE_TOPIC_MISMATCH", lambda: room.post(reply="1", topic="ui"))
    room.post()
    assert room.message(room.post(reply="4", topic="general").seq).topic == ""
    refused("MESSAGE_TOPIC_MISMATCH", lambda: room.post(reply="4", topic="api"))


def test_a_number_that_two_files_carry_is_named_by_file(room: Room) -> None:
    room.plant(1, "0001-alice-m.md")
    room.plant(1, "0001-bob-m.md", sender="bob")
    error = refused("MESSAGE_AMBIGUOUS", lambda: room.post(reply="1"))
    assert error.details["files"] == ["0001-alice-m.md", "0001-bob-m.md"]
    assert room.message("0001-bob-m.md").sender == "bob"
    assert room.message(room.post(reply="0001-bob-m.md").seq).reply_to == 1


def test_a_damaged_message_is_told_as_one(room: Room) -> None:
    plant(room.folder / "0001-alice-m.md", b"# no header\n")
    refused("MESSAGE_DAMAGED", lambda: room.message(1))


# --- a failing disk -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_whatever_fails_the_message_is_there_or_it_is_not(room: Room, code: int) -> None:
    """The first, second, … primitive of a post fails, until none does."""
    room.post("alice", "before")
    posted = ["before"]
    for number in range(1, 60):
        clock = FakeClock()
        files = FaultyFiles(str(room.root), clock, at=number, code=code)
        try:
            messages.post(
                Channel(workspace_on(room.root, clock=clock, files=files), "dev"),
                Draft(sender="alice", title=f"n{number}", body="b"),
            )
        except OSError:
            assert files.fired
            assert not any(f"n{number}" in name for name in room.names())
        else:
            # What only tells when the sender was seen does not matter to the message.
            posted.append(f"n{number}")
            if not files.fired:
                break
    else:
        pytest.fail("the post never ended")
    assert [item.message.title for item in room.page().stored] == posted
    assert number > 8
