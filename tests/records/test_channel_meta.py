"""The record of a channel: strict where it is ours, patient with another program's, refused where it is later."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import channel_meta
from agent_chat.records.channel_meta import LEVELS, ROLES, ChannelMeta, LaterVersionError, MetaError, parse, render

NAMES = st.sampled_from(["alice", "Bob", "Їжак", "さくら", "a.b-c"])
METAS = st.builds(
    ChannelMeta,
    channel=NAMES,
    members=st.lists(NAMES, unique=True).map(tuple),
    humans=st.lists(NAMES, unique=True).map(tuple),
    topic=st.text(st.characters(exclude_categories=["Cs"])),
    created=st.just("2026-01-02T03:04:05+00:00"),
    closed=st.booleans(),
    owner=st.sampled_from(["", "alice"]),
    level=st.sampled_from(LEVELS),
    roles=st.dictionaries(NAMES, st.sampled_from(ROLES)).map(lambda roles: tuple(roles.items())),
)
WHOLE: dict[str, Any] = {
    "schema_version": 1,
    "channel": "dev",
    "members": ["alice"],
    "humans": [],
    "topic": "t",
    "created": "2026-01-02T03:04:05+00:00",
    "closed": True,
    "owner": "alice",
    "level": "PUBLIC",
    "roles": {"alice": "top-level"},
}


def data(fields: object) -> bytes:
    return json.dumps(fields).encode()


@given(METAS)
def test_what_is_written_is_read_back(meta: ChannelMeta) -> None:
    assert parse(render(meta)) == meta
    assert json.loads(render(meta))["schema_version"] == 1
    assert render(meta).endswith(b"}\n")


def test_a_whole_record() -> None:
    meta = parse(data(WHOLE))
    assert (meta.channel, meta.members, meta.closed, meta.roles) == ("dev", ("alice",), True, (("alice", "top-level"),))
    assert meta.spelled("ALICE") == "alice"
    assert meta.spelled("bob") is None


WRONG: dict[str, list[object]] = {
    "schema_version": [0, -1, "1", True, 1.0, 1.5, []],
    "channel": [1, [], {}, True],
    "members": ["alice", {}, 1, [1], [None], ["a b"], ["../x"], [["a"]], [""], ["con"]],
    "humans": ["alice", [1], ["\x1b[31m"]],
    "topic": [1, [], {}],
    "closed": [1, "true", None, []],
    "level": ["SECRET", "public", 1, []],
    "roles": [[], "x", {"a b": "human"}, {"a": "boss"}, {"a": 1}, {"a": None}, {"a": []}],
    "created": [1, []],
    "owner": [1, []],
    "x_future": [{"a": 1}],
}


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in WRONG.items() for value in values],
    ids=lambda value: str(value)[:20],
)
def test_a_field_that_is_wrong_is_refused(field: str, value: object) -> None:
    with pytest.raises(MetaError):
        parse(data({**WHOLE, field: value}))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"1", b"\xff", b"{}x", b'{"a":1,"a":2}', b"\0", b'{"a":NaN}']
)
def test_what_is_no_record(raw: bytes) -> None:
    with pytest.raises(MetaError):
        parse(raw)
    with pytest.raises(MetaError):
        parse(data({**WHOLE, "topic": "x" * (1 << 20)}))


@pytest.mark.parametrize("version", [2, 99, 10**12])
def test_a_later_version_is_told_as_one_and_never_read(version: int) -> None:
    with pytest.raises(LaterVersionError, match=str(version)):
        parse(data({**WHOLE, "schema_version": version, "x_future": 1, "members": 7}))


def test_a_record_of_another_program_keeps_the_fields_that_we_do_not_know() -> None:
    other = {"channel": "review", "members": ["alice", "bob"], "topic": "t", "created": "c", "x": {"a": [1]}, "y": None}
    meta = parse(data(other))
    assert (meta.members, meta.closed, meta.extra) == (("alice", "bob"), False, (("x", {"a": [1]}), ("y", None)))
    again = json.loads(render(meta.replace(members=(*meta.members, "carol"))))
    assert again["x"] == {"a": [1]}
    assert again["y"] is None
    assert again["members"] == ["alice", "bob", "carol"]
    assert parse(data(again)).extra == meta.extra


def test_a_record_of_another_program_may_be_bare() -> None:
    assert parse(b"{}") == ChannelMeta(channel="")
    assert parse(b'{"channel": "dev", "members": null}').members == ()


@pytest.mark.parametrize(
    ("changes", "odd"),
    [
        ({}, ()),
        ({"topic": None}, ("topic",)),
        ({"members": None, "level": None}, ("level", "members")),
        ({"owner": "a b"}, ("owner",)),
        ({"workspace": ""}, ("workspace",)),
        ({"schema_version": None, "topic": None}, ()),
    ],
)
def test_what_can_be_read_and_would_not_be_written_so_is_odd(changes: dict[str, object], odd: tuple[str, ...]) -> None:
    fields = json.loads(channel_meta.render(ChannelMeta(channel="dev", members=("alice",), created="x")))
    assert channel_meta.odd_fields(json.dumps({**fields, **changes}).encode()) == odd


def test_a_field_that_is_missing_is_odd() -> None:
    fields = json.loads(channel_meta.render(ChannelMeta(channel="dev")))
    del fields["roles"]
    assert channel_meta.odd_fields(json.dumps(fields).encode()) == ("roles",)
