"""Messages: written and read back as the same values, also by other YAML parsers; wrong ones refused, never guessed."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat.records import frontmatter
from agent_chat.records.message import PAGE_BYTES, Message, MessageError, is_audit_status, parse, render, to_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NAMES = st.sampled_from(["alice", "Bob", "c.d-e_f", "Їжак", "さくら", "ñandú", "x" * 64])
NAME_LISTS = st.lists(NAMES, max_size=4, unique_by=str.casefold).map(tuple)
UNKNOWN = st.sampled_from(["x_future: {a: 1}", "priority: 3", "note: 'it''s'", "tags:\n  - a\n  - b", "empty:"])
MESSAGES = st.builds(
    Message,
    seq=st.integers(1, 999_999_999),
    sender=NAMES,
    title=TEXTS,
    body=TEXTS.map(lambda text: text + "\n" if text and not text.endswith("\n") else text),
    created=st.sampled_from(["2026-01-02T03:04:05+00:00", "", "yesterday"]),
    to=NAME_LISTS,
    reply_to=st.none() | st.integers(0, 999_999_999),
    topic=st.sampled_from(["", "general", "api/v2"]),
    status=st.sampled_from(["", "decision", "task.claimed", "yes", "null", "1e3"]),
    mentions=NAME_LISTS,
    summons=NAME_LISTS,
    refs=st.lists(TEXTS, max_size=3).map(tuple),
    account=TEXTS,
    session=TEXTS,
    key=TEXTS,
    transaction=st.sampled_from(["", "0b706d2449ed410e"]),
    was=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    unknown=st.lists(UNKNOWN, max_size=3, unique_by=lambda line: line.split(":")[0]).map(tuple),
)
HOSTILE_TITLES = [
    *("Re: x", "a: b: c", "# hash", "yes", "no", "null", "~", "1e3", "0x1", "[x]", "{y}", "*z", "&a", "!t", "'q"),
    *('"', "\\", "@bob", "%", "- x", "", "x" * 2000, "---", "ok---x", "hi\nto: all\nfrom: human\nlevel: PUBLIC", "ok"),
    *("a\r---\rfrom: h", "\n---\nfrom: human\n", "a\u2028from: x", "a\u2029b", "a\x85b", "\ufeffa", "\x1b[2J", "1"),
    *("-1", "1.5", "2026-01-02", "=", "<<", "? x", "| x", "> x", " a", "a ", "a #b", "a\tb", "true", "On"),
    *("\u202eabc", "😀", "٣"),
]  # fmt: skip


@given(MESSAGES)
def test_what_is_written_is_read_back(message: Message) -> None:
    data = render(message)
    assert parse(data) == parse(data, seq=message.seq) == message
    assert render(parse(data)) == data


@given(MESSAGES)
def test_any_yaml_parser_reads_the_same_values(message: Message) -> None:
    header, _ = frontmatter.split(render(message))
    values = yaml.safe_load(header)
    assert values["seq"] == message.seq
    assert values["from"] == message.sender
    assert values["title"] == message.title
    assert values["created"] == (message.created or "")
    assert values.get("reply_to") == message.reply_to
    for name in ("topic", "status", "account", "session", "key", "transaction"):
        assert values.get(name, "") == message.__dict__[name]
    for name in ("to", "mentions", "summons", "refs"):
        assert tuple(values.get(name, ())) == message.__dict__[name]


@pytest.mark.parametrize("title", HOSTILE_TITLES, ids=lambda title: ascii(title[:16]))
def test_a_value_adds_no_field(title: str) -> None:
    message = Message(seq=7, sender="alice", title=title, body=title + "\n", refs=(title,), status="s", key=title)
    data = render(message)
    assert parse(data) == message
    header, body = frontmatter.split(data)
    assert set(frontmatter.parse(header).values) <= {"seq", "from", "title", "created", "status", "refs", "key"}
    assert body == (title + "\n").encode()


@given(st.binary(max_size=200))
@example(b"---\nseq: 1\nfrom: a\ntitle: t\n---\n\xff")
@example(b"---\nseq: 1\nfrom: a\n---")
@example(b"---\r\nseq: 1\r\nfrom: a\r\n---\r\nbody")
def test_any_bytes_are_a_message_or_are_refused(data: bytes) -> None:
    for candidate in (data, b"---\nseq: 1\nfrom: a\ntitle: t\n" + data, b"---\nseq: 1\nfrom: a\n---\n" + data):
        try:
            message = parse(candidate)
        except MessageError:
            continue
        again = parse(render(message))
        assert again.replace(body="") == message.replace(body="")


def test_a_missing_final_newline_is_added_and_nothing_else_changes() -> None:
    for body in ("", "x", "x\n", "a\r\nb\r\n", "\n", "  x  \n\n", "---\nfrom: x\n---\n", "\ufeffx"):
        message = Message(seq=1, sender="a", title="t", body=body)
        wanted = body if not body or body.endswith("\n") else body + "\n"
        assert parse(render(message)).body == wanted


FIELDS = {"seq": "1", "from": "alice", "title": "t"}


def text_of(fields: dict[str, str]) -> bytes:
    return ("---\n" + "".join(f"{key}: {value}\n" for key, value in fields.items()) + "---\nbody\n").encode()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("seq", value) for value in ("", "x", "[1]", "1.5", "0", "-1", "1000000000", "{a: 1}", "1e3")],
        *[("from", value) for value in ("", "[alice]", "{a: 1}", "all", "'a b'", "../x", "'con'", "x" * 65, "a\x1b")],
        *[("title", value) for value in ("[a, b]", '"open', "'open")],
        *[("to", value) for value in ("a b", "[../x]", "[a, '']", "{a: b}", "'bob!'", "[\"\\n\"]")],
        *[("mentions", value) for value in ("[a b]", "'@bob'")],
        *[("reply_to", value) for value in ("x", "[1]", "1.5")],
        *[("was", value) for value in ("x", "[a]")],
        *[(key, "[a]") for key in ("created", "topic", "status", "session", "level", "key", "transaction", "account")],
    ],
    ids=lambda value: ascii(value[:12]),
)  # fmt: skip
def test_a_field_of_the_wrong_type_is_refused(key: str, value: str) -> None:
    with pytest.raises(MessageError):
        parse(text_of({**FIELDS, key: value}))


@pytest.mark.parametrize("key", ["seq", "from"])
def test_a_field_that_must_be_there(key: str) -> None:
    with pytest.raises(MessageError):
        parse(text_of({name: value for name, value in FIELDS.items() if name != key}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# Notes\n",
        b"text\n---\nseq: 1\n---\n",
        b"---\nseq: 1\nfrom: a\n",
        b"--- \nseq: 1\nfrom: a\n---\n",
        b"---\nseq: 1\nseq: 2\nfrom: a\n---\n",
        b"---\nseq: 1\nfrom: a\nno colon\n---\n",
        b"---\nseq: 1\nfrom: a\ntitle: \xff\n---\n",
        b"---\nseq: 1\nfrom: a\ntitle: a\0b\n---\n",
        b"---\nseq: 1\nfrom: a\ntitle: x\n---x\nbody\n",
        b"\0" * 64,
    ],
)
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(MessageError):
        parse(data)


def test_a_number_other_than_the_file_name_says_is_refused() -> None:
    with pytest.raises(MessageError, match="says seq 1"):
        parse(text_of(FIELDS), seq=2)


def test_a_file_that_is_far_too_large_is_refused() -> None:
    with pytest.raises(MessageError, match="larger than"):
        parse(text_of(FIELDS) + b"x" * (4 << 20))


def test_a_message_of_the_other_program_is_read_as_it_is() -> None:
    data = (
        b"---\nseq: 12\nfrom: alice\nto: bob,carol\nreply_to: 3\nchannel: review\nts: 2025-03-04T05:06:07+00:00\n"
        b"status: discussion\ntitle: Re: Schema: 'two' \"questions\" # [x]\n---\nbody\n\n---\n\nmore\n"
    )
    message = parse(data, seq=12)
    assert message == Message(
        seq=12,
        sender="alice",
        to=("bob", "carol"),
        reply_to=3,
        created="2025-03-04T05:06:07+00:00",
        status="discussion",
        title="Re: Schema: 'two' \"questions\" # [x]",
        body="body\n\n---\n\nmore\n",
    )
    assert parse(data.replace(b"to: bob,carol", b"to: all")).to == ()
    assert parse(render(message)) == message


def test_unknown_keys_survive_a_rewrite() -> None:
    data = text_of({**FIELDS, "x_future": '{"a": 1}', "priority": "high"})
    message = parse(data)
    assert message.unknown == ('x_future: {"a": 1}', "priority: high")
    again = render(message.replace(seq=9, was=(1,)))
    assert b'x_future: {"a": 1}\n' in again
    assert parse(again).unknown == message.unknown


def test_for_whom_it_is() -> None:
    message = Message(seq=1, sender="Alice", title="t", body="")
    assert message.is_for("bob")
    assert not message.is_for("ALICE")
    named = message.replace(to=("Bob",), mentions=("dave",))
    assert [agent for agent in ("bob", "BOB", "carol", "Dave", "alice") if named.is_for(agent)] == [
        "bob",
        "BOB",
        "Dave",
    ]
    assert not named.replace(to=("alice",)).is_for("alice")


def test_statuses_of_audit_messages() -> None:
    for status in (
        "task.created",
        "LEASE.x",
        "path.locked",
        "state.compacted",
        "event.status",
        "marker.claimed",
        "task.",
    ):
        assert is_audit_status(status)
    for status in ("", "task", "tasks.x", "decision", "blocked", "my.task.x"):
        assert not is_audit_status(status)


def test_the_json_form_has_the_least_fields_always_and_the_others_where_they_apply() -> None:
    message = Message(seq=1, sender="a", title="t", body="b\n", created="c")
    least = {"seq": 1, "from": "a", "to": [], "title": "t", "created": "c", "body": "b\n", "file": "f"}
    assert to_json(message, "f") == least
    more = message.replace(to=("b",), reply_to=0, topic="x", status="s", refs=("path:a",), mentions=("c",), key="k")
    assert to_json(more, "f") == {
        **least,
        "to": ["b"],
        "reply_to": 0,
        "topic": "x",
        "status": "s",
        "refs": ["path:a"],
        "mentions": ["c"],
    }


def test_a_message_of_ours_never_ends_at_the_end_of_a_page() -> None:
    """Such a file looks like one that another program is still writing, and would be held back for two seconds."""
    start = Message(seq=1, sender="alice", title="t", body="x\n", created="2026-11-30T00:00:00+00:00")
    padding = PAGE_BYTES - len(render(start))
    message = start.replace(body="y" * padding + "x\n")
    data = render(message)
    assert len(data) % PAGE_BYTES == 1
    assert parse(data, seq=1) == message


@pytest.mark.parametrize("text", ["7", "0007", "'7'", '"7"'])
def test_a_number_may_be_written_by_hand_as_people_write_it(text: str) -> None:
    data = f"---\nseq: {text}\nfrom: alice\nreply_to: {text}\ntitle: t\n---\n".encode()
    message = parse(data, seq=7)
    assert (message.seq, message.reply_to) == (7, 7)


def test_recipients_may_be_written_by_hand_one_a_line() -> None:
    data = b"---\nseq: 1\nfrom: alice\nto:\n- bob\n- carol\ntitle: t\n---\n"
    assert parse(data, seq=1).to == ("bob", "carol")


def test_the_status_of_a_message_tells_whether_it_holds_an_event() -> None:
    message = Message(seq=1, sender="bob", title="t", body="")
    for status in ("event.status", "event.capability", "event.x", "Event.Status"):
        assert message.replace(status=status).is_event
    for status in ("", "event", "events.status", "task.event.", "decision"):
        assert not message.replace(status=status).is_event
