"""Strict JSON: bytes to plain values and back, one text for one value.

`decode` refuses what the standard library lets pass (keys that are there twice, NaN, numbers no other program may
read, lone surrogates), because a record that two programs read differently is worse than none. It drives the scanner
of the `json` module without importing that module, whose start-up is most of a short command's
(docs/decisions/0002-json-without-re.md). What a record must hold is left to the callers.
"""

from __future__ import annotations

import sys

try:
    if hasattr(sys, "gettotalrefcount"):  # Debug builds of CPython 3.10 and 3.11 abort where others raise SystemError.
        raise ImportError("a debug build")
    from _json import encode_basestring, make_scanner

    _ACCELERATED = True
except ImportError:
    from json import JSONDecoder
    from json.encoder import encode_basestring

    _ACCELERATED = False

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 100  # how many lists and objects a value may lie in
MAX_INTEGER_DIGITS = 18

_SPACE = " \t\n\r"
_HEX = frozenset("0123456789abcdefABCDEF")
_INFINITY = float("inf")


class JsonError(ValueError):
    """Bytes that are no strict JSON, or a value that has none; its text is fit for a user."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Makes an object of its pairs; refuses a key that is there twice."""
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"the key {key[:60]!r} is there twice")
            seen.add(key)
    return result


def _integer(text: str) -> int:
    """Reads an integer."""
    if len(text.lstrip("-")) > MAX_INTEGER_DIGITS or not text.isascii():
        raise JsonError(f"an integer of more than {MAX_INTEGER_DIGITS} digits: {text[:60]}")
    return int(text)


def _float(text: str) -> float:
    """Reads a number with a fraction or an exponent."""
    number = float(text)
    if not -_INFINITY < number < _INFINITY or not text.isascii():
        raise JsonError(f"a number out of range: {text[:60]!r}")
    return number


def _constant(text: str) -> object:
    """Refuses NaN, Infinity and -Infinity."""
    raise JsonError(f"{text} is no JSON")


class _Rules:
    """What the scanner of `_json` reads from a decoder; `array_hook` is for CPython 3.15 and later."""

    strict = True
    object_hook = None
    array_hook = None
    object_pairs_hook = staticmethod(_object)
    parse_float = staticmethod(_float)
    parse_int = staticmethod(_integer)
    parse_constant = staticmethod(_constant)


def _accelerated_scanner() -> Callable[[str, int], tuple[object, int]]:
    """Makes the scanner that `json` itself uses."""
    scan: Callable[[str, int], tuple[object, int]] = make_scanner(_Rules)  # type: ignore[arg-type]
    return scan


def _portable_scanner() -> Callable[[str, int], tuple[object, int]]:
    """Makes the scanner for interpreters without `_json`, from the public one."""
    decoder = JSONDecoder(
        parse_float=_float, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object, strict=True
    )

    def scan(text: str, at: int) -> tuple[object, int]:
        # Written in Python, `json` used to read four-character escapes with int(), which also takes "+123" and "1_23".
        for part in text.replace("\\\\", "").split("\\u")[1:]:
            if not _HEX.issuperset(part[:4]):
                raise JsonError("an escape of no four hexadecimal digits")
        return decoder.raw_decode(text, at)

    return scan


_scan = _accelerated_scanner() if _ACCELERATED else _portable_scanner()


def decode(data: bytes, what: str = "record") -> object:
    """Reads one JSON value: None, bool, int, float, str, list or dict; `what` names it in the error.

    Raises JsonError if the bytes are no UTF-8 or no JSON, begin with a byte order mark, are followed by more, hold a
    key twice, NaN, an infinity, an integer over MAX_INTEGER_DIGITS or a lone surrogate, or nest over MAX_DEPTH.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"{what} is not UTF-8 (byte {error.start})") from None
    start = len(text) - len(text.lstrip(_SPACE))
    if start == len(text):
        raise JsonError(f"{what} is empty")
    if text[start] == "\ufeff":
        raise JsonError(f"{what} begins with a byte order mark")
    try:
        value, end = _scan(text, start)
        rest = text[end:].lstrip(_SPACE)
        if rest:
            raise JsonError(f"more text after the value: {rest[:60]!r}")
        if data.count(b"[") + data.count(b"{") > MAX_DEPTH or b"\\ud" in data or b"\\uD" in data:
            _check(value)
    except JsonError as error:
        raise JsonError(f"{what} is not valid JSON: {error}") from None
    except RecursionError:
        raise JsonError(f"{what} is not valid JSON: nested deeper than {MAX_DEPTH}") from None
    except (StopIteration, ValueError, SystemError):
        # The scanner's words, and the place that it names, differ from one Python to the next; CPython 3.10 and 3.11
        # have neither where nobody imported `json`, and end in a SystemError. What we say must not depend on that.
        raise JsonError(f"{what} is not valid JSON") from None
    return value


def _check(value: object) -> None:
    """Refuses lone surrogates and deep nesting, whose absence the scanner does not promise."""
    layer: list[object] = [value]
    depth = 0
    while layer:
        below: list[object] = []
        for item in layer:
            if isinstance(item, str):
                _refuse_surrogates(item)
            elif isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                below += item.keys()
                below += item.values()
        if below and depth == MAX_DEPTH:
            raise JsonError(f"nested deeper than {MAX_DEPTH}")
        layer = below
        depth += 1


def _refuse_surrogates(text: str) -> None:
    """Refuses a text that has no UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise JsonError(f"a lone surrogate in {text[error.start : error.start + 60]!r}") from None


def object_of(value: object, what: str = "record") -> dict[str, object]:
    """Returns a decoded value that is an object; raises JsonError if it is anything else."""
    if not isinstance(value, dict):
        raise JsonError(f"{what} is not a JSON object")
    return value


def encode(value: object, *, indent: int | None = None) -> str:
    """Writes a value as JSON, on one line or with lines indented by `indent` spaces; keys stay in their order.

    Values are None, bool, int, float, str, list, tuple and dict with str keys. The text is that of `json.dumps` with
    `ensure_ascii=False`, but for U+2028 and U+2029, which end a line for some readers and are escaped. Raises JsonError
    for a number that is not finite, a lone surrogate and nesting over MAX_DEPTH, TypeError for any other value.
    """
    parts: list[str] = []
    _write(value, parts, None if indent is None else " " * indent, 0)
    text = "".join(parts)
    if not text.isascii():
        _refuse_surrogates(text)
        text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text


def canonical(value: object) -> bytes:
    """Writes a value as the bytes of a file: `encode` with two spaces, a final newline, UTF-8; fails as `encode`."""
    return (encode(value, indent=2) + "\n").encode("utf-8")


def _write(value: object, parts: list[str], indent: str | None, depth: int) -> None:
    """Appends the text of a value."""
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int):
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        if not -_INFINITY < value < _INFINITY:
            raise JsonError(f"{value!r} has no JSON")
        parts.append(float.__repr__(value))
    elif isinstance(value, (list, tuple, dict)):
        if not value:
            parts.append("{}" if isinstance(value, dict) else "[]")
        elif depth >= MAX_DEPTH:
            raise JsonError(f"nested deeper than {MAX_DEPTH}")
        else:
            _write_items(value, parts, indent, depth)
    else:
        raise TypeError(f"{type(value).__name__} has no JSON")


def _write_items(
    value: list[object] | tuple[object, ...] | dict[object, object], parts: list[str], indent: str | None, depth: int
) -> None:
    """Appends the text of a list or an object that has items."""
    first = "" if indent is None else "\n" + indent * (depth + 1)
    separator = ", " if indent is None else "," + first
    parts.append("{" if isinstance(value, dict) else "[")
    parts.append(first)
    for number, item in enumerate(value):
        if number:
            parts.append(separator)
        if isinstance(value, dict):
            if not isinstance(item, str):
                raise TypeError(f"a key of an object is a text, not {type(item).__name__}")
            parts.append(encode_basestring(item))
            parts.append(": ")
            _write(value[item], parts, indent, depth + 1)
        else:
            _write(item, parts, indent, depth + 1)
    if indent is not None:
        parts.append("\n" + indent * depth)
    parts.append("}" if isinstance(value, dict) else "]")
