"""Events: what is read, and with which code the first broken rule is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.errors import CODES
from agent_chat.records import event
from agent_chat.records.event import CAPABILITY, PRIMITIVES, STATUS, STATUSES, Event, EventError
from agent_chat.records.json_codec import MAX_DEPTH

NOW = "2026-11-30T07:49:11+00:00"
BUSY: dict[str, Any] = {
    "schema_version": 1,
    "event": "status",
    "agent": "bob",
    "harness": "omp",
    "ts": NOW,
    "status": "busy",
    "detail": "writing",
}
CAN: dict[str, Any] = {
    "schema_version": 1,
    "event": "capability",
    "agent": "bob",
    "harness": "omp",
    "ts": NOW,
    "primitives": ["wait", "messages"],
}


def code_of(value: object) -> str:
    """The code with which a value is refused."""
    with pytest.raises(EventError) as caught:
        event.parse_value(value)
    assert caught.value.code in CODES
    assert "\n" not in str(caught.value)
    return caught.value.code


def code_of_body(text: str) -> str:
    """The code with which a body is refused."""
    with pytest.raises(EventError) as caught:
        event.parse_body(text)
    return caught.value.code


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Fields but for one."""
    return {key: value for key, value in fields.items() if key != name}


# Reading


def test_a_status_event_is_read() -> None:
    assert event.parse_value(BUSY) == Event(
        event=STATUS, agent="bob", harness="omp", ts=NOW, status="busy", detail="writing"
    )
    assert event.parse_value(without(BUSY, "detail")).detail is None
    assert event.parse_value({**BUSY, "detail": ""}).detail == ""


def test_a_capability_event_is_read_with_its_primitives_in_their_order() -> None:
    assert event.parse_value(CAN) == Event(
        event=CAPABILITY, agent="bob", harness="omp", ts=NOW, primitives=("wait", "messages")
    )


@pytest.mark.parametrize("fields", [BUSY, CAN, without(BUSY, "detail")], ids=["status", "capability", "no detail"])
def test_an_event_is_written_as_one_sorted_line_and_read_back(fields: dict[str, Any]) -> None:
    read = event.parse_value(fields)
    assert event.to_json(read) == fields
    assert list(event.to_json(read)) == list(fields)
    body = event.render(read)
    assert body.count("\n") == 1
    assert body.endswith("\n")
    assert list(json.loads(body)) == sorted(fields)
    assert event.parse_body(body) == read


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_is_one(status: str) -> None:
    assert event.parse_value({**BUSY, "status": status}).status == status


def test_a_version_with_a_fraction_of_nothing_is_that_version() -> None:
    assert event.to_json(event.parse_value({**BUSY, "schema_version": 1.0})) == BUSY


@pytest.mark.parametrize("name", ["ü", "a b", ".hidden", "_x", "...", "a" * 64, "😀" * 64, "\u2028", "\u202e"])
def test_names_are_as_loose_as_those_of_other_programs(name: str) -> None:
    read = event.parse_value({**BUSY, "agent": name, "harness": name})
    assert (read.agent, read.harness) == (name, name)
    assert event.parse_body(event.render(read)) == read


def test_a_body_may_have_spaces_around_it() -> None:
    assert event.parse_body("\r\n " + json.dumps(BUSY, indent=2).replace("\n", "\r\n") + "\r\n\n").status == "busy"


# Refusals


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "{}", [], [BUSY]], ids=repr)
def test_what_is_no_object_is_no_record(value: object) -> None:
    assert code_of(value) == "EVENT_INVALID_RECORD"


@pytest.mark.parametrize("version", [None, True, False, 0, 2, 1.5, 10**17, "1", [1], {}], ids=repr)
def test_only_version_1_is_known(version: object) -> None:
    assert code_of({**BUSY, "schema_version": version}) == "EVENT_UNSUPPORTED_VERSION"


@pytest.mark.parametrize(
    "kind", [None, True, "", "Status", "status ", "message", ["status"], {"status": 1}, 1], ids=repr
)
def test_only_two_types_are_known(kind: object) -> None:
    assert code_of({**BUSY, "event": kind}) == "EVENT_INVALID_TYPE"


def test_version_and_type_come_first_because_the_rest_depends_on_them() -> None:
    assert code_of({}) == "EVENT_UNSUPPORTED_VERSION"
    assert code_of({"schema_version": 1}) == "EVENT_INVALID_TYPE"
    assert code_of({"schema_version": 2, "event": "later", "more": 1}) == "EVENT_UNSUPPORTED_VERSION"


@pytest.mark.parametrize(
    "fields",
    [
        {**BUSY, "more": 1},
        {**BUSY, "": ""},
        {**BUSY, "Detail": "x"},
        {**BUSY, "primitives": ["wait"]},
        {**CAN, "status": "busy"},
        {**CAN, "detail": "x"},
    ],
)
def test_a_field_of_no_such_event_is_refused(fields: dict[str, Any]) -> None:
    assert code_of(fields) == "EVENT_UNKNOWN_FIELD"


@pytest.mark.parametrize(
    ("fields", "name"),
    [(fields, name) for fields in (BUSY, CAN) for name in fields if name not in ("schema_version", "event", "detail")],
)
def test_a_field_that_must_be_there_is_missed(fields: dict[str, Any], name: str) -> None:
    assert code_of(without(fields, name)) == "EVENT_REQUIRED_FIELD_MISSING"


CONTROLS = ["\x00", "a\nb", "a\n", "\t", "\x1b[2J", "\x7f", "\x80", "\x9f", "\ud800", "x\udfff"]


@pytest.mark.parametrize("name", ["agent", "harness"])
@pytest.mark.parametrize(
    "value", [None, 1, ["bob"], "", "a" * 65, ".", "..", "a/b", "a\\b", "C:", *CONTROLS], ids=ascii
)
def test_a_name_that_may_be_a_path_or_moves_a_terminal_is_refused(name: str, value: object) -> None:
    assert code_of({**BUSY, name: value}) == "EVENT_INVALID_TEXT"


@pytest.mark.parametrize("value", [None, 1, ["x"], *CONTROLS], ids=ascii)
def test_a_detail_is_text_that_moves_no_terminal(value: object) -> None:
    assert code_of({**BUSY, "detail": value}) == "EVENT_INVALID_TEXT"


TIMES = {
    "2026-11-30T07:49:11Z": True,
    "2026-11-30 07:49:11.123456789+0530": True,
    "2024-02-29T00:00:00Z": True,
    "2000-02-29T00:00:00-23:59": True,
    "1970-01-01T00:00:00+00:00": True,
    "1970-01-01T00:00:00-01:00": True,
    "9999-12-31T23:59:59Z": True,
    "9999-12-31T23:59:59+01:00": True,
    "1970-01-02T00:00:00+23:59": True,
    "9999-12-30T23:59:59-23:59": True,
    # These would lie within the years; that much a pattern cannot tell.
    "9999-12-31T12:00:00.5Z": False,
    "1970-01-01T12:00:00+01:00": False,
    "9999-12-31T12:00:00-0100": False,
    "1970-01-01T00:00:00+01:00": False,
    "9999-12-31T23:59:59-01:00": False,
    "2026-11-30T07:49:11": False,
    "2026-11-30": False,
    "2026-02-29T00:00:00Z": False,
    "2100-02-29T00:00:00Z": False,
    "2026-04-31T00:00:00Z": False,
    "2026-11-30T24:00:00Z": False,
    "2026-11-30T07:49:60Z": False,
    "2026-11-30T07:49:11z": False,
    "2026-11-30T07:49:11.Z": False,
    "2026-11-30T07:49:11.1234567890Z": False,
    "2026-11-30T07:49:11+24:00": False,
    "2026-11-30T07:49:11Z\n": False,
    " 2026-11-30T07:49:11Z": False,
    "1969-12-31T23:59:59Z": False,
    "10000-01-01T00:00:00Z": False,
    "٢026-11-30T07:49:11Z": False,
    "now": False,
    "": False,
}


@pytest.mark.parametrize(("text", "good"), TIMES.items(), ids=map(ascii, TIMES))
def test_a_time_names_its_offset_and_exists(text: str, good: bool) -> None:
    if good:
        assert event.parse_value({**BUSY, "ts": text}).ts == text
    else:
        assert code_of({**BUSY, "ts": text}) == "EVENT_INVALID_TIMESTAMP"


@pytest.mark.parametrize("value", [None, 1796024951, 1.5, [NOW], {}], ids=repr)
def test_a_time_is_a_text(value: object) -> None:
    assert code_of({**BUSY, "ts": value}) == "EVENT_INVALID_TIMESTAMP"


@pytest.mark.parametrize("value", [None, [], {}, "wait", ["wait", 1], [None], [["wait"]]], ids=repr)
def test_primitives_are_a_list_of_texts(value: object) -> None:
    assert code_of({**CAN, "primitives": value}) == "EVENT_INVALID_PRIMITIVES"


def test_a_primitive_is_known_and_named_once() -> None:
    assert event.parse_value({**CAN, "primitives": list(PRIMITIVES)}).primitives == PRIMITIVES
    assert code_of({**CAN, "primitives": [*PRIMITIVES, "wait"]}) == "EVENT_DUPLICATE_PRIMITIVE"
    for word in ("mcp", "", "Wait", "wait "):
        assert code_of({**CAN, "primitives": ["wait", word]}) == "EVENT_UNKNOWN_PRIMITIVE"


@pytest.mark.parametrize("value", [None, True, "", "Busy", "done", ["busy"], 1], ids=repr)
def test_only_five_statuses_are_known(value: object) -> None:
    assert code_of({**BUSY, "status": value}) == "EVENT_INVALID_STATUS"


def test_a_mistyped_word_comes_with_the_known_ones() -> None:
    for fields, given_, known in (
        ({**BUSY, "status": "bsuy"}, "bsuy", STATUSES),
        ({**CAN, "primitives": ["wiat"]}, "wiat", PRIMITIVES),
        ({**CAN, "event": "capabilty"}, "capabilty", (CAPABILITY, STATUS)),
    ):
        with pytest.raises(EventError) as caught:
            event.parse_value(fields)
        assert caught.value.near == (given_, known)


# Bodies


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "busy",
        "{",
        json.dumps(BUSY)[:-1],
        json.dumps(BUSY) + "x",
        "\ufeff" + json.dumps(BUSY),
        "{'event': 'status'}",
        json.dumps(BUSY)[:-1] + ', "status": "idle"}',
        json.dumps({**BUSY, "schema_version": float("nan")}),
        json.dumps({**BUSY, "schema_version": float("inf")}),
        json.dumps({**BUSY, "schema_version": 10**30}),
        json.dumps({**BUSY, "detail": "\ud800"}),
        json.dumps(BUSY, ensure_ascii=False) + "\ud800",
        "[" * 100_000,
        '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_a_body_that_is_no_strict_json_is_malformed(body: str) -> None:
    assert code_of_body(body) == "EVENT_MALFORMED_BODY"


def test_a_huge_body_is_read_all_the_same() -> None:
    assert len(event.parse_body(json.dumps({**BUSY, "detail": "x" * (1 << 21)})).detail or "") == 1 << 21
    assert code_of_body(json.dumps(["x" * (1 << 21)])) == "EVENT_INVALID_RECORD"
    assert code_of_body(json.dumps({**CAN, "primitives": ["wait"] * 200_000})) == "EVENT_DUPLICATE_PRIMITIVE"


def test_what_an_error_repeats_is_short_and_escaped() -> None:
    with pytest.raises(EventError) as caught:
        event.parse_value({**BUSY, "status": "\x1b[2J" * 1000})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@given(st.text())
def test_any_text_is_an_event_or_refused(text: str) -> None:
    for body in (text, json.dumps({**BUSY, "detail": text}), json.dumps({**BUSY, "harness": text})):
        try:
            read = event.parse_body(body)
        except EventError as error:
            codes = {error.code}
        else:
            codes = set()
            assert event.parse_body(event.render(read)) == read
        assert codes <= {*CODES}
