"""Instants and spans: agreement with `datetime`, and refusal of whatever is not clearly one."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat import timestamps
from agent_chat.timestamps import END_OF_TIME, TimestampError

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
offsets = st.integers(min_value=-24 * 60 + 1, max_value=24 * 60 - 1).map(lambda m: timezone(timedelta(minutes=m)))
moments = st.tuples(st.integers(2 * 86400, END_OF_TIME - 3 * 86400), st.integers(0, 999_999), offsets).map(
    lambda parts: (EPOCH + timedelta(seconds=parts[0], microseconds=parts[1])).astimezone(parts[2])
)


def seconds_of(moment: datetime) -> float:
    """Returns POSIX seconds, by the standard library."""
    return (moment - EPOCH) / timedelta(seconds=1)


# Instants


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (0.999, "1970-01-01T00:00:00+00:00"),
        (951782399.5, "2000-02-28T23:59:59+00:00"),
        (951782400, "2000-02-29T00:00:00+00:00"),
        (1796024950, "2026-11-30T07:49:10+00:00"),
        (END_OF_TIME - 1, "9999-12-31T23:59:59+00:00"),
    ],
)
def test_instants_are_written_so(seconds: float, text: str) -> None:
    assert timestamps.format_utc(seconds) == text


@pytest.mark.parametrize("seconds", [-1, -0.001, END_OF_TIME, 1e300, float("inf"), -float("inf"), float("nan"), 10**30])
def test_an_instant_without_a_four_digit_year_from_1970_is_refused(seconds: float) -> None:
    with pytest.raises(TimestampError, match="outside the years 1970 to 9999"):
        timestamps.format_utc(seconds)


@given(st.floats(min_value=0, max_value=END_OF_TIME, exclude_max=True))
def test_any_instant_is_written_as_datetime_writes_it(seconds: float) -> None:
    assert timestamps.format_utc(seconds) == (EPOCH + timedelta(seconds=int(seconds))).isoformat()


@given(st.integers(min_value=0, max_value=END_OF_TIME - 1))
def test_whole_seconds_are_read_back_exactly(seconds: int) -> None:
    assert timestamps.parse(timestamps.format_utc(seconds)) == seconds


@given(moments, st.sampled_from("T "))
def test_any_moment_with_an_offset_is_read_as_datetime_reads_it(moment: datetime, separator: str) -> None:
    text = moment.isoformat(sep=separator)
    assert timestamps.parse(text) == pytest.approx(seconds_of(moment), abs=1e-4, rel=0)
    assert timestamps.parse(text[:-3] + text[-2:]) == timestamps.parse(text)


@given(st.dates(min_value=date(1970, 1, 1)))
def test_any_date_alone_is_its_utc_midnight(day: date) -> None:
    midnight = datetime.combine(day, time(), tzinfo=timezone.utc)
    assert timestamps.parse(day.isoformat(), date_alone=True) == seconds_of(midnight)
    assert timestamps.parse(f"{day.isoformat()}T00:00:00Z", date_alone=True) == seconds_of(midnight)
    with pytest.raises(TimestampError):
        timestamps.parse(day.isoformat())


@given(st.integers(1970, 9999), st.integers(0, 13), st.integers(0, 32))
def test_a_date_exists_where_datetime_says_so(year: int, month: int, day: int) -> None:
    text = f"{year:04}-{month:02}-{day:02}"
    try:
        expected = seconds_of(datetime(year, month, day, tzinfo=timezone.utc))
    except ValueError:
        with pytest.raises(TimestampError):
            timestamps.parse(text, date_alone=True)
    else:
        assert timestamps.parse(text, date_alone=True) == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00-00:00", 0.0),
        ("1970-01-01 00:00:00.000000001-0000", 1e-9),
        ("1970-01-01T00:00:00.5Z", 0.5),
        ("1970-01-01T05:30:00+05:30", 0.0),
        ("1970-01-01T00:00:00-2359", 86340.0),
        ("2026-11-30T07:49:10.123456789Z", 1796024950.123456789),
        ("9999-12-31T23:59:59Z", END_OF_TIME - 1),
        ("2000-02-29T00:00:00Z", 951782400.0),
        ("2400-02-29T00:00:00Z", 13574563200.0),
    ],
)
def test_instants_are_read_so(text: str, seconds: float) -> None:
    assert timestamps.parse(text) == seconds
    assert isinstance(timestamps.parse(text), float)


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026", "2026-11", "2026-11-30", "2026-11-30T", "2026-11-30T07", "2026-11-30T07:49Z"),
        *("2026-11-30T07:49:10", "2026-11-30 07:49:10", "2026-11-30t07:49:10Z", "2026-11-30T07:49:10z"),
        *("2026-11-30  07:49:10Z", "2026-11-30T07:49:10 Z", " 2026-11-30T07:49:10Z", "2026-11-30T07:49:10Z "),
        *(
            "2026-11-30T07:49:10Z\n",
            "2026-11-30\n07:49:10Z",
            "20261130T074910Z",
            "2026-W49-1T07:49:10Z",
            "2026-334T07:49:10Z",
        ),
        *("2026/11/30T07:49:10Z", "2026-11-30T07.49.10Z", "26-11-30T07:49:10Z", "+2026-11-30T07:49:10Z"),
        *("2026-11-30T24:00:00Z", "2026-11-30T23:60:00Z", "2026-11-30T23:59:60Z", "2026-11-30T-1:00:00Z"),
        *("2026-00-10T00:00:00Z", "2026-13-10T00:00:00Z", "2026-11-00T00:00:00Z", "2026-11-31T00:00:00Z"),
        *("2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z"),
        *("1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:59.9999999Z"),
        *(
            "2026-11-30T07:49:10.Z",
            "2026-11-30T07:49:10.1234567890Z",
            "2026-11-30T07:49:10,5Z",
            "2026-11-30T07:49:10.5",
        ),
        *(
            "2026-11-30T07:49:10.-5Z",
            "2026-11-30T07:49:10+24:00",
            "2026-11-30T07:49:10+00:60",
            "2026-11-30T07:49:10+00",
        ),
        *("2026-11-30T07:49:10+0:00", "2026-11-30T07:49:10+00:00:00", "2026-11-30T07:49:10\u221200:00"),
        *(
            "\u0662026-11-30T07:49:10Z",
            "2026-11-30T07:49:1\u0660Z",
            "2026-11-30T07:49:10.\u0661Z",
            "2026-11-30T07:49:10+0\u0660:00",
        ),
        *("\uff12\uff10\uff12\uff16-11-30T07:49:10Z", "202\u00b2-11-30T07:49:10Z", "2026-11-30T07:49:10Z" * 1000),
    ],
)
def test_what_is_no_clear_instant_is_refused(text: str) -> None:
    with pytest.raises(TimestampError) as caught:
        timestamps.parse(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text", ["", "2026-11-3", "2026-11-30T", "2026-11-30 ", "2026-11-30Z", "2026-02-30", "1969-12-31"]
)
def test_a_date_alone_is_a_whole_date_that_exists(text: str) -> None:
    with pytest.raises(TimestampError):
        timestamps.parse(text, date_alone=True)


@given(st.one_of(st.text(), st.text(alphabet="0123456789-:T+Z. \u0661", max_size=35)), st.booleans())
def test_no_text_is_parsed_with_another_error(text: str, date_alone: bool) -> None:
    for candidate in (text, f"2026-11-30{text}", f"2026-11-30T07:49:10{text}"):
        try:
            instant = timestamps.parse(candidate, date_alone=date_alone)
        except TimestampError:
            continue
        assert 0 <= instant < END_OF_TIME


# Spans


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (float("nan"), "0 s"),
        (-float("inf"), "0 s"),
        (0.9, "0 s"),
        (3, "3 s"),
        (59.999, "59 s"),
        (60, "1 min"),
        (179, "2 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (5 * 3600, "5 h"),
        (86399, "23 h"),
        (86400, "1 d"),
        (4.5 * 86400, "4 d"),
        (400 * 86400, "400 d"),
        (float("inf"), "2932897 d"),
        (10**30, "2932897 d"),
    ],
)
def test_ages_are_written_so(seconds: float, text: str) -> None:
    assert timestamps.format_age(seconds) == text


@given(st.floats())
def test_any_age_has_a_text_that_does_not_overstate(seconds: float) -> None:
    count, unit = timestamps.format_age(seconds).split(" ")
    size = {"s": 1, "min": 60, "h": 3600, "d": 86400}[unit]
    assert int(count) * size <= max(seconds, 0) or seconds != seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259200), ("2w", 1209600), ("0s", 0), ("007m", 420)],
)
def test_spans_are_read_so(text: str, seconds: float) -> None:
    assert timestamps.parse_span(text) == seconds
    assert isinstance(timestamps.parse_span(text), float)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "s",
            "90",
            "90 s",
            " 90s",
            "90s ",
            "90S",
            "-1s",
            "+1s",
            "1.5h",
            "1e3s",
            "1_0s",
            "1h30m",
            "5min",
            "1y",
            "1M",
        ),
        *("\u0661s", "\u00b2s", "90s\n", "1000000000s", "9" * 10000 + "s", "\x1b[2Jx" * 100),
    ],
)
def test_what_is_no_clear_span_is_refused(text: str) -> None:
    with pytest.raises(TimestampError) as caught:
        timestamps.parse_span(text)
    assert str(caught.value).isprintable()


@given(st.one_of(st.text(), st.from_regex(r"\d{1,12}[smhdw]")))
def test_no_text_is_read_as_a_span_with_another_error(text: str) -> None:
    try:
        seconds = timestamps.parse_span(text)
    except TimestampError:
        return
    assert seconds == int(text[:-1]) * timestamps.parse_span("1" + text[-1])


def test_errors_are_value_errors() -> None:
    assert issubclass(TimestampError, ValueError)
