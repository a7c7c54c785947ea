"""The front matter of a message file: a flat YAML subset that every YAML parser reads alike.

`split` separates the header from the body, `parse` reads a header, `render` writes one. What `render` writes is read
back by `parse`, and by any YAML parser, as exactly the same values. `parse` reads a little more than that, because
people write headers by hand, and it keeps the text of every key, so that a key this version does not know survives a
rewrite. What a key means and whether its value fits is left to the callers. docs/decisions/0004-front-matter-subset.md
says what is quoted and why.
"""

from __future__ import annotations

from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Union

    Scalar = Union[str, int]
    Scalars = Union[str, int, tuple[Scalar, ...]]  # what `render` writes
    Field = Union[str, int, tuple[Scalar, ...], None]  # what `parse` finds

MAX_HEADER_BYTES = 1024 * 1024
MAX_PLAIN_LENGTH = 1000
MAX_INTEGER_DIGITS = 18

_BOM = b"\xef\xbb\xbf"
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"))
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./- ")
_FLOW = frozenset("[{}")
_HEX = frozenset("0123456789abcdefABCDEF")
_LEGACY_INTEGERS = ("seq", "reply_to")
_ESCAPE_LENGTHS = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    "\t": "\t",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def _escaped() -> dict[int, str]:
    """Builds the translation of every character that is not written as it is between double quotes."""
    table = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
    # Line separators, byte order marks and non-characters, and what reverses the direction of the text around it.
    invisible = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF, 0xFFFE, 0xFFFF)
    table.update((code, f"\\u{code:04x}") for code in invisible)
    table.update({9: "\\t", 10: "\\n", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"})
    return table


_ESCAPED = _escaped()


class FrontmatterError(ValueError):
    """Front matter that cannot be read, or a value that cannot be written; its text is fit for a user."""


class Header(Value):
    """What a header says: each key's value and each key's text, in the order of the file.

    `raw` has the lines of a key as they stand, nested lines included, without the last line's end. `legacy` is true for
    a file of agent-chat-plugin 0.7, whose values are never quoted.
    """

    values: dict[str, Field]
    raw: dict[str, str]
    legacy: bool

    def unknown_lines(self, known: Container[str]) -> list[str]:
        """Returns the texts of the keys that are not among `known`, in file order, as `render` takes them.

        Those of a legacy file are quoted as today's rules ask, since what `render` writes is read by these.
        """
        if self.legacy:
            return [f"{key}: {_scalar(str(value))}" for key, value in self.values.items() if key not in known]
        return [text for key, text in self.raw.items() if key not in known]


def split(data: bytes) -> tuple[str, bytes]:
    """Splits a message file into the text of its header, without the `---` lines, and its body, byte for byte.

    Raises FrontmatterError if there is no header, if it has no end or is over MAX_HEADER_BYTES, or if it is no text.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    opening_end = data.find(b"\n", start, start + 5)
    if opening_end < 0 or data[start:opening_end] not in (b"---", b"---\r"):
        raise FrontmatterError("the file does not begin with a `---` line")
    limit = opening_end + MAX_HEADER_BYTES
    closing = opening_end
    while True:
        closing = data.find(b"\n---", closing, limit + 4)
        if closing < 0 and len(data) > limit + 4:
            raise FrontmatterError(f"the front matter has no closing `---` line within {MAX_HEADER_BYTES} bytes")
        if closing < 0:
            raise FrontmatterError("the front matter has no closing `---` line")
        after = closing + 4
        after += data[after : after + 1] == b"\r"
        if data[after : after + 1] in (b"\n", b""):
            break
        closing += 4
    header = data[opening_end + 1 : closing + 1]
    if b"\0" in header:
        raise FrontmatterError("the front matter holds a NUL byte")
    try:
        return header.decode("utf-8"), data[after + 1 :]
    except UnicodeDecodeError as error:
        raise FrontmatterError(f"the front matter is not UTF-8 (byte {opening_end + 1 + error.start})") from None


def parse(header: str) -> Header:
    """Reads the text of a header, as `split` returns it.

    A value is a text, an integer, None or a tuple of texts and integers. What goes beyond that (mappings, nested lists,
    block texts, anchors, tags) is not understood: its value is its text. In a header with the key `ts`, a legacy one,
    every value is the rest of its line, and nothing is quoted. Raises FrontmatterError for a line that is no
    `key: value`, for a key that is there twice, and for a quoted text that is damaged.
    """
    raw = _lines_of_keys(header)
    legacy = "ts" in raw
    values: dict[str, Field] = {}
    for key, text in raw.items():
        rest = text[len(key) + 1 :]
        if legacy:
            values[key] = _legacy_value(key, rest[1:])
        elif "\n" in rest:
            values[key] = rest.strip(" \t")
        else:
            values[key] = _value(key, rest.strip(" \t"))
    return Header(values=values, raw=raw, legacy=legacy)


def _lines_of_keys(header: str) -> dict[str, str]:
    """Returns each key's lines, joined, after checking that they are lines of keys."""
    lines: dict[str, list[str]] = {}
    current: list[str] | None = None
    skipped: list[str] = []
    for number, ended in enumerate(header.split("\n"), start=2):
        line = ended.rstrip("\r")
        if line.startswith((" ", "\t", "- ")) or line == "-":
            if not line.strip(" \t"):
                skipped.append(line)
            elif current is None:
                raise FrontmatterError(f"line {number}: a nested line before any key: {line[:60]!r}")
            else:
                current += skipped
                current.append(line)
                skipped.clear()
        elif not line or line.startswith("#"):
            skipped.append(line)
        else:
            key, colon, rest = line.partition(":")
            if not colon or not _is_key(key) or rest[:1] not in ("", " ", "\t"):
                raise FrontmatterError(f"line {number}: expected `key: value`, found {line[:60]!r}")
            if key in lines:
                raise FrontmatterError(f"line {number}: the key {key[:60]!r} is there twice")
            current = lines[key] = [line]
            skipped.clear()
    return {key: "\n".join(texts) for key, texts in lines.items()}


def _is_key(text: str) -> bool:
    """Says whether a text is a key: a letter or `_`, then letters, digits, `_` and `-`."""
    return text.isascii() and not text.startswith("-") and text.replace("-", "_").isidentifier()


def _legacy_value(key: str, text: str) -> Scalar:
    """Returns the value of a legacy line: its text, or a number where the key is one of a number."""
    number = _integer(text) if key in _LEGACY_INTEGERS else None
    return text if number is None else number


def _value(key: str, text: str) -> Field:
    """Reads the value of one line."""
    if text.startswith(('"', "'")):
        try:
            value, end = _quoted(text, 0)
        except FrontmatterError as error:
            raise FrontmatterError(f"{key[:60]}: {error}") from None
        if not _is_blank(text, end):
            raise FrontmatterError(f"{key[:60]}: text after the closing quote: {text[end : end + 60]!r}")
        return value
    if text in ("", "null", "~"):
        return None
    if text.startswith("["):
        items = _list(text)
        return text if items is None else items
    number = _integer(text)
    return text if number is None else number


def _integer(text: str) -> int | None:
    """Returns the number that a text is, or None; `007` and anything over MAX_INTEGER_DIGITS are texts."""
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > MAX_INTEGER_DIGITS:
        return None
    return None if digits.startswith("0") and digits != "0" else int(text)


def _is_blank(text: str, at: int) -> bool:
    """Says whether nothing but space or a comment follows."""
    rest = text[at:].lstrip(" \t")
    return not rest or (rest.startswith("#") and len(rest) < len(text) - at)


def _list(text: str) -> tuple[Scalar, ...] | None:
    """Reads a flow list of texts and integers; None means that the text is something else."""
    items: list[Scalar] = []
    at, size = 1, len(text)
    while True:
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        if text[at : at + 1] == "]":
            return tuple(items) if _is_blank(text, at + 1) else None
        start = at
        if text[at : at + 1] in ('"', "'"):
            try:
                item, at = _quoted(text, at)
            except FrontmatterError:
                return None
            items.append(item)
            while text[at : at + 1] in (" ", "\t"):
                at += 1
        else:
            while at < size and text[at] not in ",]":
                at += 1
            plain = text[start:at].rstrip(" \t")
            if plain in ("", "null", "~") or plain[0] in "|>&*!" or ": " in plain or not _FLOW.isdisjoint(plain):
                return None
            number = _integer(plain)
            items.append(plain if number is None else number)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            return None


def _quoted(text: str, at: int) -> tuple[str, int]:
    """Reads the quoted text that begins at an index; returns it and the index after its closing quote."""
    if text[at] == "'":
        return _single_quoted(text, at + 1)
    parts: list[str] = []
    at += 1
    quote = text.find('"', at)
    while quote >= 0:
        slash = text.find("\\", at, quote)
        if slash < 0:
            parts.append(text[at:quote])
            return "".join(parts), quote + 1
        parts.append(text[at:slash])
        character, at = _escape(text, slash + 1)
        parts.append(character)
        if quote < at:
            quote = text.find('"', at)
    raise FrontmatterError("a quoted text has no closing quote")


def _single_quoted(text: str, at: int) -> tuple[str, int]:
    """Reads a single-quoted text from after its opening quote; a doubled quote stands for one."""
    start = at
    while True:
        quote = text.find("'", at)
        if quote < 0:
            raise FrontmatterError("a quoted text has no closing quote")
        if text[quote + 1 : quote + 2] != "'":
            return text[start:quote].replace("''", "'"), quote + 1
        at = quote + 2


def _escape(text: str, at: int) -> tuple[str, int]:
    """Reads an escape from after its backslash; returns the character and the index after the escape."""
    letter = text[at : at + 1]
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 1
    end = at + 1 + _ESCAPE_LENGTHS.get(letter, 0)
    digits = text[at + 1 : end]
    if not digits or len(digits) != _ESCAPE_LENGTHS[letter] or not _HEX.issuperset(digits):
        raise FrontmatterError(f"unknown escape {text[at - 1 : end]!r}")
    code = int(digits, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise FrontmatterError(f"escape of no character {text[at - 1 : end]!r}")
    return chr(code), end


def render(pairs: Iterable[tuple[str, Scalars]], raw_lines: Iterable[str] = ()) -> str:
    """Writes a header with its two `---` lines, each line ended by a newline.

    `raw_lines` are texts of `Header.unknown_lines`, written as they are after the pairs. Raises FrontmatterError for a
    key that is none (`ts` marks legacy files), a lone surrogate and an integer over MAX_INTEGER_DIGITS, TypeError for a
    value of another type.
    """
    lines = ["---"]
    for key, value in pairs:
        if not _is_key(key) or key == "ts":
            raise FrontmatterError(f"not a front matter key: {key[:60]!r}")
        if isinstance(value, tuple):
            lines.append(f"{key}: [{', '.join([_scalar(item) for item in value])}]")
        else:
            lines.append(f"{key}: {_scalar(value)}")
    lines += raw_lines
    lines.append("---\n")
    return "\n".join(lines)


def _scalar(value: Scalar) -> str:
    """Writes a text or an integer."""
    if type(value) is int:
        if abs(value) >= 10**MAX_INTEGER_DIGITS:
            raise FrontmatterError(f"an integer of more than {MAX_INTEGER_DIGITS} digits")
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"front matter holds texts and integers, not {type(value).__name__}")
    if _is_plain(value):
        return value
    if value.isascii() and value.isprintable():
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FrontmatterError(f"a lone surrogate in {value[error.start : error.start + 60]!r}") from None
    return f'"{value.translate(_ESCAPED)}"'


def _is_plain(text: str) -> bool:
    """Says whether every YAML parser reads an unquoted text as that text."""
    return (
        0 < len(text) <= MAX_PLAIN_LENGTH
        and text.isascii()
        and text[0].isalpha()
        and text[-1] != " "
        and _PLAIN.issuperset(text)
        and "  " not in text
        and text.lower() not in _WORDS
    )
