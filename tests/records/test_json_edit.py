"""Surgery on JSON with comments: where what is put in stands, and that nothing else moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records.json_edit import Document, JsonEditError, rendered
from tests.records import jsonc

# A text, and the same after the element 9 was put at the end of its array.
PUT = {
    "[]": "[9]",
    "[ ]": "[9 ]",
    "[\n]": "[9\n]",
    "[ // none\n]": "[9 // none\n]",
    "[1]": "[1,\n  9]",
    "[1,]": "[1,\n  9,]",
    "[1 ]": "[1,\n  9 ]",
    "[1 , ]": "[1 ,\n  9, ]",
    "[\n\t1\n]": "[\n\t1,\n\t9\n]",
    "[\r\n    1\r\n]\r\n": "[\r\n    1,\r\n    9\r\n]\r\n",
    "[\n  1 // one\n]": "[\n  1, // one\n  9\n]",
    "[\n  1, // one\n]": "[\n  1, // one\n  9,\n]",
    "[\n  1 /* one */ , /* end */ ]": "[\n  1 /* one */ , /* end */\n  9, ]",
    "\ufeff[1]": "\ufeff[1,\n  9]",
    "/* [ */ [1] // ]": "/* [ */ [1,\n  9] // ]",
}


def put(text: str, *values: object) -> str:
    document = Document(text)
    return document.apply(document.insertions(document.root, [(None, value) for value in values]))


def taken(text: str, *places: int) -> str:
    document = Document(text)
    return document.apply(document.removals(document.root, places))


@pytest.mark.parametrize(("text", "changed"), PUT.items())
def test_what_is_put_in_stands_at_the_end(text: str, changed: str) -> None:
    assert put(text, 9) == changed
    document = Document(changed)
    assert taken(changed, len(document.root.items) - 1) == text


# A text, the places that are taken out, and what is left.
TAKEN = [
    ("[1, 2, 3]", [0], "[ 2, 3]"),
    ("[1, 2, 3]", [1], "[1, 3]"),
    ("[1, 2, 3]", [2], "[1, 2]"),
    ("[1, 2, 3]", [1, 2], "[1]"),
    ("[1, 2, 3,]", [1, 2], "[1,]"),
    ("[1, 2, 3]", [0, 1, 2], "[]"),
    ("[1, 2, 3]", [0, 2], "[ 2]"),
    ("[\n  1, // one\n  2, // two\n  3 // three\n]", [1], "[\n  1, // one\n // two\n  3 // three\n]"),
    ("[\n  1, // one\n  2\n]", [1], "[\n  1 // one\n]"),
    ("[ // none\n  1, 2]", [0], "[ // none\n 2]"),
    ("[ // none\n  1,\n 2, 3]", [0, 1], "[ // none\n 3]"),
    ("[1 /* a */, /* b */ 2 /* c */]", [1], "[1 /* a */ /* b */ /* c */]"),
]


@pytest.mark.parametrize(("text", "places", "left"), TAKEN)
def test_what_is_taken_out_takes_its_comma_along(text: str, places: list[int], left: str) -> None:
    assert taken(text, *places) == left
    document = Document(text)
    values = document.value(document.root)
    assert isinstance(values, list)
    after = Document(left)
    assert after.value(after.root) == [value for place, value in enumerate(values) if place not in places]


@pytest.mark.parametrize("between", [",/* f\n */", "/* f\n */,"])
def test_a_comment_between_items_that_go_stays_on_a_line_of_its_own(between: str) -> None:
    text = f"[// c\nnull,null{between}null,\nnull]"
    left = Document(taken(text, 0, 1, 2))
    assert left.value(left.root) == [None]


@given(st.data())
def test_any_items_of_any_text_can_be_taken_out(data: st.DataObject) -> None:
    written = data.draw(jsonc.documents(jsonc.arrays(jsonc.values(depth=1), max_size=5)))
    places = data.draw(st.sets(st.sampled_from(range(len(written.value))))) if written.value else set()
    left = Document(taken(written.text, *places))
    assert left.value(left.root) == [value for place, value in enumerate(written.value) if place not in places]


@given(jsonc.documents(jsonc.arrays(jsonc.values(depth=1))), st.lists(jsonc.values(depth=1), min_size=1, max_size=3))
def test_several_items_at_once(written: jsonc.Written, values: list[jsonc.Written]) -> None:
    text = put(written.text, *(each.value for each in values))
    document = Document(text)
    assert document.value(document.root) == [*written.value, *(each.value for each in values)]
    count = len(written.value)
    assert taken(text, *range(count, count + len(values))) == written.text


@pytest.mark.parametrize(
    ("text", "is_made"),
    [
        ("[\n  1\n]", True),
        ("{\n\t'a': 1}".replace("'", '"'), True),
        ("[\r\n1]", True),
        ("[]", False),
        ("[\n]", False),
        ("[1\n]", False),
        ("[ 1]", False),
        ("[\n  1 // mine\n]", False),
        ("[ // mine\n  1]", False),
        ("[\n  1, /* mine */ 2\n]", False),
    ],
)
def test_what_is_made_here_is_opened_with_a_line_break_and_has_no_comments(text: str, is_made: bool) -> None:
    document = Document(text)
    assert document.is_made(document.root) is is_made


def test_members_are_found_by_what_their_keys_mean() -> None:
    document = Document('{"\\u0061": 1, "b": {"a": 2, "a": 3}, "c\\ud800": 4}')
    item = document.member(document.root, "a")
    assert item is not None
    assert document.value(item.node) == 1
    assert document.member(document.root, "x") is None
    inner = document.member(document.root, "b")
    assert inner is not None
    assert document.value(inner.node) == {"a": 3}
    with pytest.raises(JsonEditError, match="'a' is there twice"):
        document.member(inner.node, "a")


def test_what_is_written_is_indented_as_the_rest() -> None:
    value = {"a": [1, {"b": "  x\n"}], "c": []}
    assert rendered(value) == '{\n  "a": [\n    1,\n    {\n      "b": "  x\\n"\n    }\n  ],\n  "c": []\n}'
    tabs = '{\n\t\t"a": [\n\t\t\t1,\n\t\t\t{\n\t\t\t\t"b": "  x\\n"\n\t\t\t}\n\t\t],\n\t\t"c": []\n\t}'
    assert rendered(value, unit="\t", indent="\t") == tabs
    assert rendered(value, newline="\r\n").count("\r\n") == rendered(value).count("\n")
