"""What our validator of events accepts their JSON Schema accepts, and the other way round."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_chat.records import event
from agent_chat.records.event import PRIMITIVES, STATUSES, TYPES, EventError
from agent_chat.timestamps import END_OF_TIME
from tests.records.test_event import BUSY, CAN, TIMES
from tests.support import schemas

SCHEMA = "agent-chat-event"
FIELDS = ("schema_version", "event", "agent", "harness", "ts", "primitives", "status", "detail")

# -- records that are events -------------------------------------------------------------------------------------------

plain = st.characters(exclude_categories=["Cs", "Cc"])
names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\:"), min_size=1, max_size=64
).filter(lambda text: text not in (".", ".."))


def written(moment: datetime, gap: str, fraction: str, zone: str) -> str:
    """A time in one of the forms that ISO 8601 has for it."""
    offset = f"{moment:%z}"
    zones = {"Z": "Z", "±HHMM": offset, "±HH:MM": f"{offset[:3]}:{offset[3:]}"}
    return f"{moment.year:04d}-{moment:%m-%d}{gap}{moment:%H:%M:%S}{fraction}{zones[zone]}"


offsets = st.integers(-24 * 60 + 1, 24 * 60 - 1).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.tuples(st.integers(2 * 86400, END_OF_TIME - 3 * 86400), offsets).map(
    lambda parts: (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=parts[0])).astimezone(parts[1])
)
times = st.builds(
    written,
    moments,
    st.sampled_from("T "),
    st.sampled_from(["", ".5", ".123456789"]),
    st.sampled_from(["Z", "±HHMM", "±HH:MM"]),
)
common: dict[str, st.SearchStrategy[Any]] = {
    "schema_version": st.sampled_from([1, 1, 1, 1.0]),
    "agent": names,
    "harness": names,
    "ts": times,
}
capabilities = st.fixed_dictionaries(
    {
        **common,
        "event": st.just("capability"),
        "primitives": st.lists(st.sampled_from(PRIMITIVES), min_size=1, unique=True),
    }
)
statuses = st.fixed_dictionaries(
    {**common, "event": st.just("status"), "status": st.sampled_from(STATUSES)},
    optional={"detail": st.text(plain)},
)
events = capabilities | statuses

# -- and what is not quite one -----------------------------------------------------------------------------------------

odd = ["", ".", "..", "bob", "bob\n", "a/b", "a\\b", "C:", "Busy", "wait ", "x" * 64, "x" * 65, "😀" * 64, "😀" * 65]
controls = ["\x00", "\x1f", "\x7f", "\x9f", "\xa0", "\u2028", "\ud800", "a\udfff"]
words = st.sampled_from([*PRIMITIVES, *STATUSES, *TYPES, *TIMES, *FIELDS, *odd, *controls])
scalars = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text() | words
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
digits = st.text("0123456789", min_size=2, max_size=2)
near_times = st.builds(
    "{}{}-{}-{}{}{}:{}:{}{}".format,
    st.sampled_from(["19", "20", "21", "99", "24", "00"]),
    digits,
    st.sampled_from(["01", "02", "04", "12", "11", "13", "00"]),
    st.sampled_from(["01", "28", "29", "30", "31", "32", "00"]),
    st.sampled_from(["T", " ", "t", ""]),
    st.sampled_from(["00", "12", "23", "24"]),
    st.sampled_from(["00", "59", "60"]),
    st.sampled_from(["00", "59", "60"]),
    st.sampled_from(
        ["Z", "z", "", "+00:00", "-0000", "+01:00", "-01:00", "+2400", ".1Z", ".Z", "+00:60", "Z\n", "+01"]
    ),
)
edges = st.builds(
    "{}{}{}".format,
    st.sampled_from(["1970-01-01T", "1970-01-02T", "9999-12-31T", "9999-12-30 "]),
    st.sampled_from(["00:00:00", "00:00:00.0", "12:00:00", "23:59:59.999999999"]),
    st.sampled_from(["Z", "+00:00", "-00:00", "+0000", "+00:01", "-00:01", "+10:00", "-10:00", "+1000", "-1000"]),
)


def without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.pop(name, None) and None


def replaced(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update({name: value})


def with_primitive(value: object) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        if isinstance(record.get("primitives"), list):
            record["primitives"].append(value)

    return change


mutations = st.one_of(
    st.builds(without, st.sampled_from(FIELDS)),
    st.builds(replaced, st.sampled_from(FIELDS), values),
    st.builds(replaced, st.sampled_from(FIELDS), words),
    st.builds(replaced, words, values),
    st.builds(replaced, st.just("ts"), near_times | edges),
    st.builds(with_primitive, words | values),
)


def mutated(record: dict[str, Any], changes: list[Callable[[dict[str, Any]], None]]) -> dict[str, Any]:
    """A record after some changes."""
    record = copy.deepcopy(record)
    for change in changes:
        change(record)
    return record


records = st.builds(mutated, events, st.just([]) | st.lists(mutations, min_size=1, max_size=3))


# -- the comparison ----------------------------------------------------------------------------------------------------


def is_event(value: object) -> bool:
    """Whether both accept a value; fails where they differ."""
    try:
        event.parse_value(value)
        code = ""
    except EventError as error:
        code = error.code
    faults = schemas.faults(SCHEMA, value)
    assert (code == "") == (faults == []), (value, code, faults)
    return code == ""


def search(count: int) -> None:
    """Compares the two on so many records, of which a quarter at least must be events, and some none."""
    accepted: list[bool] = []

    @settings(max_examples=count)
    @given(records)
    def compare(record: dict[str, Any]) -> None:
        accepted.append(is_event(record))

    compare()
    assert len(accepted) >= count
    assert sum(accepted) >= len(accepted) / 4
    assert accepted.count(False) >= len(accepted) / 20


def test_validator_and_schema_agree() -> None:
    search(300)


@pytest.mark.slow
def test_validator_and_schema_agree_on_5000_records() -> None:
    search(5000)


@given(values)
def test_they_agree_on_any_value(value: object) -> None:
    is_event(value)


@given(events)
def test_what_is_made_to_be_an_event_is_one(record: dict[str, Any]) -> None:
    assert is_event(record)


@given(near_times | edges)
def test_they_agree_on_times(text: str) -> None:
    is_event({**BUSY, "ts": text})


def test_they_agree_on_the_days_of_every_kind_of_year() -> None:
    for year in (*range(1968, 2032), 2096, 2100, 2104, 2196, 2400, 9600, 9700, 9996, 9999, 10000):
        ends = [f"{year}-{month:02d}-{day:02d}T00:00:00Z" for month in range(14) for day in (0, 1, 28, 29, 30, 31, 32)]
        good = [is_event({**BUSY, "ts": text}) for text in ends]
        assert sum(good) == (12 + 12 + 11 + 11 + 7 if 1970 <= year <= 9999 else 0) + _is_leap(year)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) and 1970 <= year <= 9999


def test_they_agree_on_characters_in_any_place() -> None:
    for code in (*range(0x120), *range(0xD7FE, 0xD802), *range(0xDFFE, 0xE002), 0x2028, 0x10FFFF):
        for text in (chr(code), f"a{chr(code)}", f"{chr(code)}a", "a" * 63 + chr(code), chr(code) * 65):
            is_event({**BUSY, "agent": text})
            is_event({**BUSY, "detail": text})


def test_the_words_of_the_schema_are_those_of_the_code() -> None:
    schema = schemas.schemas()[SCHEMA]
    assert tuple(schema["$defs"]["primitives"]["items"]["enum"]) == PRIMITIVES
    assert tuple(schema["$defs"]["status"]["enum"]) == STATUSES
    assert tuple(schema["properties"]["event"]["enum"]) == TYPES
    assert tuple(schema["properties"]) == FIELDS == tuple(dict.fromkeys([*CAN, *BUSY]))
