"""Instants and spans of time: what they look like in records, in commands and on screen.

An instant is a number of POSIX seconds, a span a number of seconds; `datetime` costs more to import than it is worth
here (docs/decisions/0003-instants-are-seconds.md). Nothing here reads the clock. Local time never appears: texts say
UTC, and texts that are read name their offset.
"""

from __future__ import annotations

from time import gmtime

END_OF_TIME = 253402300800  # 10000-01-01T00:00:00Z, the first second that a four-digit year cannot name

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)


class TimestampError(ValueError):
    """A text that is no instant or span, or an instant without a text; its text is fit for a user."""


def format_utc(seconds: float) -> str:
    """Writes an instant in UTC, whole seconds only: `2026-11-30T07:49:10+00:00`.

    Raises TimestampError for one outside the years 1970 to 9999.
    """
    if not 0 <= seconds < END_OF_TIME:
        raise TimestampError("a time outside the years 1970 to 9999")
    year, month, day, hour, minute, second = gmtime(int(seconds))[:6]
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00"


def parse(text: str, *, date_alone: bool = False) -> float:
    """Reads an ISO 8601 time that names its offset, as POSIX seconds.

    It is `YYYY-MM-DD`, `T` or a space, `HH:MM:SS`, up to nine digits of a second's fraction, and `Z`, `±HH:MM` or
    `±HHMM`. With `date_alone` a date without a time is the UTC midnight it begins with. Raises TimestampError for any
    other text, for a date or time that does not exist, and for an instant outside the years 1970 to 9999.
    """
    days = _days(text[:10])
    if days is None:
        raise TimestampError(f"not a date and time such as 2026-11-30T07:49:10Z: {text[:60]!r}")
    if len(text) == 10 and date_alone:
        return float(days * 86400)
    time = _seconds_of_day(text[10:19])
    rest = text[19:]
    fraction = 0.0
    if rest.startswith("."):
        digits = rest[1 : 1 + len(rest[1:]) - len(rest[1:].lstrip("0123456789"))]
        rest = rest[1 + len(digits) :]
        fraction = int(digits) / 10 ** len(digits) if 0 < len(digits) <= 9 else -1.0
    offset = _offset(rest)
    if time is None or offset is None or fraction < 0:
        raise TimestampError(f"not a time with an offset such as 2026-11-30T07:49:10Z: {text[:60]!r}")
    instant = days * 86400 + time - offset + fraction
    if not 0 <= instant < END_OF_TIME:
        raise TimestampError(f"a time outside the years 1970 to 9999: {text[:60]!r}")
    return instant


def _number(text: str, length: int, low: int, high: int) -> int | None:
    """Returns a number of so many ASCII digits if it lies between two bounds, else None."""
    if len(text) != length or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if low <= number <= high else None


def _days(text: str) -> int | None:
    """Returns the days from 1970-01-01 to a date, or None if the text is none."""
    year, month = _number(text[:4], 4, 1970, 9999), _number(text[5:7], 2, 1, 12)
    if year is None or month is None or text[4:5] != "-" or text[7:8] != "-":
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = _DAYS_BEFORE_MONTH[month] - _DAYS_BEFORE_MONTH[month - 1] + (leap and month == 2)
    day = _number(text[8:10], 2, 1, length)
    if day is None:
        return None
    past = year - 1
    leap_days = past // 4 - past // 100 + past // 400 - 477  # 477 leap days before 1970
    return (year - 1970) * 365 + leap_days + _DAYS_BEFORE_MONTH[month - 1] + (leap and month > 2) + day - 1


def _seconds_of_day(text: str) -> int | None:
    """Returns the seconds from midnight to `THH:MM:SS`, or None if the text is none; a leap second is none."""
    hour, minute, second = _number(text[1:3], 2, 0, 23), _number(text[4:6], 2, 0, 59), _number(text[7:9], 2, 0, 59)
    if hour is None or minute is None or second is None or text[:1] not in ("T", " ") or text[3] + text[6] != "::":
        return None
    return hour * 3600 + minute * 60 + second


def _offset(text: str) -> int | None:
    """Returns the seconds that an offset is ahead of UTC, or None if the text is none."""
    if text == "Z":
        return 0
    if text[:1] not in ("+", "-"):
        return None
    minutes = text[4:] if text[3:4] == ":" else text[3:]
    hour, minute = _number(text[1:3], 2, 0, 23), _number(minutes, 2, 0, 59)
    if hour is None or minute is None:
        return None
    return (hour * 3600 + minute * 60) * (-1 if text[0] == "-" else 1)


def format_age(seconds: float) -> str:
    """Writes how long ago something was, in the largest unit that fits, rounded down: `3 s`, `2 min`, `5 h`, `4 d`.

    What lies in the future, by a clock that was set back or another machine's, is `0 s`.
    """
    whole = int(min(seconds, END_OF_TIME)) if seconds > 0 else 0
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h"
    return f"{whole // 86400} d"


def parse_span(text: str) -> float:
    """Reads a span of up to nine digits and a unit (`90s`, `15m`, `2h`, `3d`, `2w`), as seconds.

    Raises TimestampError for any other text.
    """
    count = text[:-1]
    unit = _UNITS.get(text[-1:])
    if unit is None or not 0 < len(count) <= 9 or not (count.isascii() and count.isdigit()):
        raise TimestampError(f"not a span of time such as 90s, 15m, 2h, 3d or 2w: {text[:60]!r}")
    return float(int(count) * unit)
