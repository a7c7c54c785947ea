"""Surgery on JSON with comments: values are put in and taken out again, and every other byte stays.

A `Document` is read as JSON with `//` and `/* */` comments and trailing commas, and knows where everything stands. What
is put in stands at the end of its object or array. Nothing is kept between the two operations; the text itself tells:

- an object or array that we make is opened with a line break, so `is_made` knows it again;
- where one was there and empty, the first thing stands right after its bracket, with no break;
- where something was there, the white space before what we put in is ours, and what follows it was there;
- what we put in is followed by a comma only where what was the last before it was.

So taking out what was put in gives the text from before, byte for byte. What belongs to whom is left to the callers.
"""

from __future__ import annotations

from agent_chat.records import json_codec
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OBJECT, ARRAY, STRING, OTHER = "object", "array", "string", "other"
MAX_DEPTH = json_codec.MAX_DEPTH
BYTE_ORDER_MARK = "\ufeff"
UNIT = "  "

_SPACE = " \t\n\r"
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_PLAIN_ESCAPES = frozenset('"\\/bfnrt')
_WORDS = {"true": True, "false": False, "null": None}
_CLOSING = {"{": "}", "[": "]"}


class JsonEditError(ValueError):
    """A text that is no JSON with comments, or in which our place is taken; its text is fit for a user."""


class Node(Value):
    """A value and where it stands: `text[start:end]`.

    Of an object or array: its items; `tail`, where the white space before its closing bracket begins; and `bare`,
    whether no comment stands between its items.
    """

    kind: str
    start: int
    end: int
    items: tuple[Item, ...] = ()
    tail: int = 0
    bare: bool = True


class Item(Value):
    """An element of an array, or a member of an object, whose `key` is then no None.

    `gap` is where the white space before it begins, `after_comment` whether a line comment ends there, `comma` where
    the comma after it stands, None where there is none.
    """

    key: str | None
    start: int
    node: Node
    gap: int
    after_comment: bool
    comma: int | None


class Edit(Value):
    """A piece of text that gives way to another one."""

    start: int
    end: int
    text: str = ""


class Document:
    """A text and the value that stands in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = _Scanner(text).document()

    def value(self, node: Node) -> object:
        """Returns the value of a node, as plain lists and dicts; of a key that is there twice the last counts."""
        if node.kind == OBJECT:
            return {item.key: self.value(item.node) for item in node.items}
        if node.kind == ARRAY:
            return [self.value(item.node) for item in node.items]
        word = self.text[node.start : node.end]
        if node.kind == STRING:
            return _text_of(word)
        if word in _WORDS:
            return _WORDS[word]
        return int(word) if word.lstrip("-").isdigit() and len(word) < 19 else float(word)

    def member(self, node: Node, key: str) -> Item | None:
        """Returns the member of an object that has a key; fails if two have it."""
        found = [item for item in node.items if item.key == key]
        if len(found) > 1:
            raise JsonEditError(f"the key {key!r} is there twice")
        return found[0] if found else None

    def line_of(self, node: Node) -> int:
        """Returns the number of the line in which a node begins."""
        return self.text.count("\n", 0, node.start) + 1

    # -- edits -----------------------------------------------------------------------------------------------------

    def is_made(self, node: Node) -> bool:
        """Tells whether an object or array has the form of those that are made here."""
        opened = node.items and "\n" in self.text[node.start : node.items[0].start]
        return bool(opened) and node.bare

    def insertions(self, node: Node, items: Sequence[tuple[str | None, object]]) -> list[Edit]:
        """Returns the edits that put items at the end of an object or array; keys are None in an array."""
        indent = self._indent_in(node)
        texts = [self._rendered(key, value, indent) for key, value in items]
        before = self._newline() + indent
        if not node.items:
            return [Edit(start=node.start + 1, end=node.start + 1, text=("," + before).join(texts))]
        last = node.items[-1]
        block = "".join([before + text + "," for text in texts])
        if last.comma is not None:
            return [Edit(start=node.tail, end=node.tail, text=block)]
        block = block[:-1]
        if node.tail == last.node.end:
            return [Edit(start=node.tail, end=node.tail, text="," + block)]
        return [
            Edit(start=last.node.end, end=last.node.end, text=","),
            Edit(start=node.tail, end=node.tail, text=block),
        ]

    def removals(self, node: Node, places: Iterable[int]) -> list[Edit]:
        """Returns the edits that take the items at these places out of an object or array."""
        gone = set(places)
        items = node.items
        end_of_kept = max((place + 1 for place in range(len(items)) if place not in gone), default=0)
        has_last_comma = bool(items) and items[-1].comma is not None
        edits: list[Edit] = []
        for place in sorted(gone):
            item = items[place]
            # Of a run at the end without a trailing comma the comma before it goes, else the one after each.
            at_end = place >= end_of_kept and not has_last_comma
            comma = (items[place - 1].comma if place else None) if at_end else item.comma
            last = next(
                each for each in range(place, len(items)) if each + 1 not in gone or self._has_comment(items, each)
            )
            edits.append(Edit(start=self._start_of(item, items[last]), end=item.node.end))
            if comma is not None:
                edits.append(Edit(start=comma, end=comma + 1))
        return edits

    def apply(self, edits: Iterable[Edit]) -> str:
        """Returns the text after edits, none of which may overlap."""
        parts: list[str] = []
        done = 0
        for edit in sorted(edits, key=lambda each: (each.start, each.end)):
            assert edit.start >= done, "two edits overlap"
            parts += [self.text[done : edit.start], edit.text]
            done = edit.end
        return "".join([*parts, self.text[done:]])

    def _start_of(self, item: Item, last: Item) -> int:
        """Returns where the removal of a run of items begins: a line comment before it keeps its end of line."""
        if not item.after_comment:
            return item.gap
        rest = self.text[last.node.end :].replace(",", "", 1) if last.comma is not None else self.text[last.node.end :]
        if rest.lstrip(" \t").startswith(("\n", "\r\n")):
            return item.gap
        return self.text.index("\n", item.gap) + 1

    def _has_comment(self, items: Sequence[Item], place: int) -> bool:
        """Tells whether a comment, which stays, stands between an item and the next."""
        return self.text[items[place].node.end : items[place + 1].start].replace(",", "", 1).strip() != ""

    def _newline(self) -> str:
        """Returns the line break of the text."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"

    def _unit(self) -> str:
        """Returns by how much the text is indented in each level."""
        for item in self.root.items:
            white = self.text[item.gap : item.start].rpartition("\n")
            if white[1] and white[2]:
                return white[2]
        return UNIT

    def _indent_in(self, node: Node) -> str:
        """Returns the indent of a line in an object or array."""
        if node.items:
            white = self.text[node.items[-1].gap : node.items[-1].start].rpartition("\n")
            if white[1]:
                return white[2]
        line = self.text[self.text.rfind("\n", 0, node.start) + 1 : node.start].lstrip(BYTE_ORDER_MARK)
        return line[: len(line) - len(line.lstrip(" \t"))] + self._unit()

    def _rendered(self, key: str | None, value: object, indent: str) -> str:
        """Returns an item as text, over several lines, whose first is not indented."""
        text = rendered(value, unit=self._unit(), newline=self._newline(), indent=indent)
        return text if key is None else f"{json_codec.encode(key)}: {text}"


def rendered(value: object, *, unit: str = UNIT, newline: str = "\n", indent: str = "") -> str:
    """Returns a value as JSON over several lines, all but the first of which have an indent."""
    lines = json_codec.encode(value, indent=2).split("\n")
    depths = [(len(line) - len(line.lstrip(" "))) // 2 for line in lines]
    return (newline + indent).join([unit * depth + line.lstrip(" ") for depth, line in zip(depths, lines)])


def _text_of(word: str) -> str:
    """Returns the text that a string of JSON stands for; one with half of a surrogate pair stands for itself."""
    if "\\" not in word:
        return word[1:-1]
    try:
        return str(json_codec.decode(word.encode("utf-8")))
    except json_codec.JsonError:
        return word


class _Scanner:
    """Reads a text once, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        # Of the white space and comments passed over last: where the last comment ended, or the whole began.
        self._solid = 0
        self._commented = False
        self._in_line = False

    def document(self) -> Node:
        """Returns the one value of the text."""
        at = self._space(1 if self._text.startswith(BYTE_ORDER_MARK) else 0)
        if at == len(self._text):
            raise JsonEditError("it is empty")
        root = self._value(at)
        if self._space(root.end) != len(self._text):
            raise self._error(self._solid, "more after the value")
        return root

    def _error(self, at: int, what: str) -> JsonEditError:
        line = self._text.count("\n", 0, at) + 1
        return JsonEditError(f"line {line}: {what}")

    def _space(self, at: int) -> int:
        """Passes over white space and comments."""
        text, size = self._text, len(self._text)
        self._solid, self._commented, self._in_line = at, False, False
        while at < size:
            if text[at] in _SPACE:
                at += 1
            elif text.startswith("//", at):
                end = text.find("\n", at)
                end = size if end < 0 else end - (text[end - 1] == "\r")
                if "\r" in text[at:end]:
                    raise self._error(at, "a carriage return in a comment, which programs read differently")
                self._solid, self._commented, self._in_line = end, True, True
                at = end
            elif text.startswith("/*", at):
                end = text.find("*/", at + 2)
                if end < 0:
                    raise self._error(at, "a comment without an end")
                at = end + 2
                self._solid, self._commented, self._in_line = at, True, False
            else:
                break
        return at

    def _value(self, at: int) -> Node:
        sign = self._text[at : at + 1]
        if sign in ("{", "["):
            return self._container(at, sign)
        if sign == '"':
            return Node(kind=STRING, start=at, end=self._string(at))
        end = at
        while end < len(self._text) and (self._text[end].isalnum() or self._text[end] in "+-._"):
            end += 1
        word = self._text[at:end]
        if word not in _WORDS and not _is_number(word):
            raise self._error(at, f"no value: {self._text[at : at + 20]!r}")
        return Node(kind=OTHER, start=at, end=end)

    def _string(self, at: int) -> int:
        """Returns where a string ends."""
        text = self._text
        end = at + 1
        while True:
            sign = text[end : end + 1]
            if sign == '"':
                return end + 1
            if not sign or sign < " ":
                raise self._error(at, "a string without an end on its line")
            if sign != "\\":
                end += 1
            elif text[end + 1 : end + 2] in _PLAIN_ESCAPES:
                end += 2
            elif text[end + 1 : end + 2] == "u" and _is_hex(text[end + 2 : end + 6]):
                end += 6
            else:
                raise self._error(at, "an escape that is none")

    def _container(self, start: int, opening: str) -> Node:
        """Reads an object or array, whose bracket is there."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(start, f"nested deeper than {MAX_DEPTH}")
        items: list[Item] = []
        bare = True
        at = self._space(start + 1)
        while True:
            bare = bare and not self._commented
            gap, in_line = self._solid, self._in_line
            if self._text[at : at + 1] == _CLOSING[opening]:
                break
            if items and items[-1].comma is None:
                raise self._error(at, "a comma is missing")
            key, node, plain = self._item(at, opening)
            after = self._space(node.end)
            bare = bare and plain and not (self._commented and self._text[after : after + 1] == ",")
            comma = after if self._text[after : after + 1] == "," else None
            items.append(Item(key=key, start=at, node=node, gap=gap, after_comment=in_line, comma=comma))
            at = after if comma is None else self._space(comma + 1)
        self._depth -= 1
        kind = OBJECT if opening == "{" else ARRAY
        return Node(kind=kind, start=start, end=at + 1, items=tuple(items), tail=gap, bare=bare)

    def _item(self, at: int, opening: str) -> tuple[str | None, Node, bool]:
        """Reads an element, or a key with its value; also tells whether there is no comment inside."""
        if at == len(self._text):
            raise self._error(at, f"{opening} is never closed")
        if opening == "[":
            return None, self._value(at), True
        if self._text[at] != '"':
            raise self._error(at, f"no key: {self._text[at : at + 20]!r}")
        end = self._string(at)
        key = _text_of(self._text[at:end])
        colon = self._space(end)
        plain = not self._commented
        if self._text[colon : colon + 1] != ":":
            raise self._error(colon, f"the key {key[:40]!r} has no value")
        start = self._space(colon + 1)
        plain = plain and not self._commented
        return key, self._value(start), plain


def _is_number(word: str) -> bool:
    """Tells whether a word is a number of JSON."""
    word = word[1:] if word.startswith("-") else word
    base, exponent = word, ""
    for sign in "eE":
        if sign in word:
            base, _, exponent = word.partition(sign)
            exponent = exponent[1:] if exponent[:1] in ("+", "-") else exponent
            if not _are_digits(exponent):
                return False
    whole, point, fraction = base.partition(".")
    if point and not _are_digits(fraction):
        return False
    return _are_digits(whole) and (whole == "0" or not whole.startswith("0"))


def _is_hex(text: str) -> bool:
    return len(text) == 4 and _HEX.issuperset(text)


def _are_digits(text: str) -> bool:
    return bool(text) and _DIGITS.issuperset(text)


def is_strict(data: bytes) -> bool:
    """Tells whether a text is JSON without comments and without a comma too many (RFC 8259)."""
    try:
        json_codec.decode(data[3:] if data.startswith(b"\xef\xbb\xbf") else data)
    except json_codec.JsonError:
        return False
    return True
