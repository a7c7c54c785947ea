"""JSON: as strict as it says, and otherwise the same as the standard library's, with and without `_json`."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import json_codec
from agent_chat.records.json_codec import JsonError

if TYPE_CHECKING:
    from types import ModuleType


def without_accelerator() -> ModuleType:
    """Returns the module as it is where `_json` is missing, made with a `json` that does without it too."""
    spec = importlib.util.spec_from_file_location("json_codec_without_accelerator", json_codec.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for name in list(sys.modules):
            if name == "json" or name.startswith("json."):
                patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "_json", None)
        spec.loader.exec_module(module)
        for name in list(sys.modules):
            if name == "json" or name.startswith("json."):
                patch.delitem(sys.modules, name)
    assert not module._ACCELERATED
    return module


PORTABLE = without_accelerator()
CODECS = (json_codec, PORTABLE)
both = pytest.mark.parametrize("codec", CODECS, ids=["accelerated", "portable"])

integers = st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), integers, floats, st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)


def nested(depth: int, inner: str = "1") -> str:
    """Returns the JSON of a value in so many lists and objects, by turns."""
    return '[{"a":' * (depth // 2) + "[" * (depth % 2) + inner + "]" * (depth % 2) + "}]" * (depth // 2)


# Reading

# fmt: off
ACCEPTED = (
    "{}", "[]", ' \t\r\n{ "a" :\t1 , "b": [ true , false , null ] } \r\n', '""', "0", "-0", "1.5e-3", "-0.0", "1E+2",
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"', '"\\ud83d\\ude00"', '"\\\\ud800"', '"\\\\u+123"', '"\u2028é😀\x7f\x80"',
    '"\\u0000"', '{"": 1}', '"[[["', "999999999999999999", "-999999999999999999", "1e308", "1e-999", '"\ufeff"',
    "[1, 1.0]", nested(json_codec.MAX_DEPTH), "[" + "[],{}," * 200 + "1]", '{"a": {"a": 1}, "b": {"a": 2}}',
)
# fmt: on
# fmt: off
REFUSED_BY_ALL = (
    "{", "}", "[", "]", '"', "{]", "[1,]", "[,1]", '{"a":1,}', '{"a"}', '{"a":}', "{a:1}", "{'a':1}", "{1:1}",
    "[1 2]", '{"a" 1}', "1 2", "{} x", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10", "1_0", "tru", "nul", "True",
    "undefined", '"\n"', '"\t"', '"\x00"', '"\x1f"', '"\\x41"', '"\\q"', '"\\"', '"\\u12"', '"\\u12 4"', '"\\u 123"',
    '"\\u+123"', '"\\u1_23"', '"\\u0x12"', "[\x0c1]", "\x0b1", "\xa01", "\u20281", "1\u2028", "// a\n1", "1 // a",
    "/**/1", "\x00", "1\x00", "\u0661", "1\u0661", "[1", '{"a":1', '["a', '"a\\',
)
# fmt: on
REFUSED_BY_US = (
    ("NaN", "NaN"),
    ("[Infinity]", "Infinity"),
    ("-Infinity", "-Infinity"),
    ("1e999", "out of range: '1e999'"),
    ("-1e999", "out of range"),
    ("1000000000000000000", "more than 18 digits"),
    ("-1000000000000000000", "more than 18 digits"),
    ("1" * 10000, "more than 18 digits: 1{60}$"),
    ('{"a":1,"a":1}', "the key 'a' is there twice"),
    ('[{"a":{"b":1,"c":2,"b":3}}]', "the key 'b' is there twice"),
    ('{"a":1,"\\u0061":1}', "the key 'a' is there twice"),
    ('"\\ud800"', "lone surrogate"),
    ('"\\uDFFFa"', "lone surrogate"),
    ('{"\\udc00\\ud800": 1}', "lone surrogate"),
    ('[[{"a": ["\\uD83D"]}]]', "lone surrogate"),
    (nested(json_codec.MAX_DEPTH + 1), "nested deeper than 100"),
    (nested(600), "nested deeper than 100"),
    ("[" * 100_000, "nested deeper than 100"),
    ('{"a":' * 100_000, "nested deeper than 100"),
)


@both
@pytest.mark.parametrize("text", ACCEPTED)
def test_sound_json_is_read_as_the_standard_library_reads_it(codec: ModuleType, text: str) -> None:
    value = codec.decode(text.encode("utf-8"))
    assert repr(value) == repr(json.loads(text))


@both
@pytest.mark.parametrize("text", REFUSED_BY_ALL)
def test_what_is_no_json_is_refused(codec: ModuleType, text: str) -> None:
    with pytest.raises(codec.JsonError, match=r"^record is not valid JSON"):
        codec.decode(text.encode("utf-8"))


@both
@pytest.mark.parametrize(("text", "reason"), REFUSED_BY_US)
def test_what_programs_read_differently_is_refused(codec: ModuleType, text: str, reason: str) -> None:
    with pytest.raises(codec.JsonError, match=f"^task.json is not valid JSON: .*{reason}"):
        codec.decode(text.encode("utf-8"), "task.json")


@both
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "record is empty"),
        (b" \r\n\t", "record is empty"),
        (b"\xef\xbb\xbf{}", "record begins with a byte order mark"),
        (b"\xff\xfe{\0}\0", "record is not UTF-8 (byte 0)"),
        (b'"ab\xed\xa0\x80"', "record is not UTF-8 (byte 3)"),
        (b"\n\n  tru", "record is not valid JSON"),
        (b"{} \x1b[2J", "record is not valid JSON: more text after the value: '\\x1b[2J'"),
        (b"1" + b"\xc2\x85" * 100, "record is not valid JSON: more text after the value: '" + "\\x85" * 60 + "'"),
    ],
)
def test_refusals_say_what_is_wrong(codec: ModuleType, data: bytes, message: str) -> None:
    with pytest.raises(codec.JsonError) as caught:
        codec.decode(data)
    assert str(caught.value) == message


@both
def test_what_is_said_of_broken_json_is_the_same_on_every_python(codec: ModuleType) -> None:
    """The scanners' own words differ, and so do the places that they name."""
    for text in (b"[1,\n 2 3]", b'{"a": 1,}', b"{1: 2}", b'"\\x"', b"[1, 2", b"tru", b'{"a" 1}'):
        with pytest.raises(codec.JsonError, match=r"^record is not valid JSON$"):
            codec.decode(text)


def stated_reason_to_refuse(text: str) -> bool:
    """Says whether a text that the standard library reads is refused for a reason that `decode` states."""
    found: list[bool] = [text.startswith("\ufeff")]

    def pairs_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(dict(pairs)) != len(pairs))
        return dict(pairs)

    def integer_of(digits: str) -> int:
        found.append(len(digits.lstrip("-")) > 18 or not digits.isascii())
        return 0

    def float_of(digits: str) -> float:
        found.append(float(digits) in (float("inf"), float("-inf")))
        return 0.0

    value = json.loads(
        text,
        object_pairs_hook=pairs_of,
        parse_int=integer_of,
        parse_float=float_of,
        parse_constant=lambda _: found.append(True),
    )
    return any(found) or any("\ud800" <= character <= "\udfff" for character in json.dumps(value, ensure_ascii=False))


def assert_as_the_standard_library(codec: ModuleType, data: bytes) -> None:
    """Checks that bytes are read as `json.loads` reads them, or refused for a stated reason."""
    try:
        text = data.decode("utf-8")
        expected = json.loads(text)
        refused = stated_reason_to_refuse(text)
    except ValueError:
        refused = True
    if refused:
        with pytest.raises(codec.JsonError):
            codec.decode(data)
    else:
        assert repr(codec.decode(data)) == repr(expected)


@both
@given(data=st.binary())
def test_any_bytes_are_read_as_the_standard_library_reads_them(codec: ModuleType, data: bytes) -> None:
    assert_as_the_standard_library(codec, data)


@both
@given(
    text=st.one_of(
        st.text(alphabet='{}[]":,\\ \n01-.eE+tnfuDd8aé', max_size=30),
        st.lists(
            st.sampled_from(
                [
                    *"{}[]:, ",
                    '"a"',
                    '"b":',
                    '"a":1',
                    "1",
                    "-1",
                    "2.5",
                    "1e9",
                    "NaN",
                    "null",
                    "true",
                    '"\\ud83d',
                    '\\ude00"',
                    '"',
                ]
            ),
            max_size=12,
        ).map("".join),
        st.text().map(json.dumps),
        st.text(alphabet="\ud83d\ude00\udfffa").map(json.dumps),
    )
)
def test_anything_like_json_is_read_as_the_standard_library_reads_it(codec: ModuleType, text: str) -> None:
    assert_as_the_standard_library(codec, text.encode("utf-8", "surrogatepass"))


@both
@pytest.mark.parametrize(
    "junk", ["[", "{", '"', '"a",', "\\", '{"a":', "1", "1,", " ", "\n", "-", "0.", "[]", '{"a":1},', "\\u", "é"]
)
def test_a_mass_of_junk_is_refused_soon(codec: ModuleType, junk: str) -> None:
    mass = junk * ((1 << 17) // len(junk))
    for text in (mass, f"[{mass}", f'["{mass}'):
        with pytest.raises(codec.JsonError):
            codec.decode(text.encode("utf-8"))


@both
def test_only_an_object_is_an_object(codec: ModuleType) -> None:
    assert codec.object_of({"a": 1}) == {"a": 1}
    others: tuple[object, ...] = ([], "a", 1, None, True)
    for value in others:
        with pytest.raises(codec.JsonError, match=r"^task\.json is not a JSON object$"):
            codec.object_of(value, "task.json")


def test_json_is_not_imported_and_its_absence_changes_no_verdict() -> None:
    """Runs a bare interpreter: CPython 3.10 and 3.11 raise SystemError from a scanner that cannot find `json`."""
    program = (
        "import sys\n"
        "from agent_chat.records import json_codec\n"
        "json_codec.canonical(json_codec.decode(b'{\"a\": [1, 2.5, true]}'))\n"
        "assert not {'json', 're', 'typing', 'collections'} & set(sys.modules), sorted(sys.modules)\n"
        "for text in sys.stdin.read().split('\\x01'):\n"
        "    try:\n"
        "        json_codec.decode(text.encode())\n"
        "    except json_codec.JsonError as error:\n"
        "        assert str(error).startswith('record is '), error\n"
        "    else:\n"
        "        raise AssertionError(text)\n"
    )
    root = Path(json_codec.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-X", "utf8", "-c", program],
        input="\x01".join([*REFUSED_BY_ALL, *(text for text, _ in REFUSED_BY_US)]).encode(),
        cwd=root,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")


# Writing


@both
@given(value=json_values)
def test_written_values_are_read_back(codec: ModuleType, value: object) -> None:
    assert repr(codec.decode(codec.canonical(value))) == repr(value)
    assert repr(codec.decode(codec.encode(value).encode())) == repr(value)
    assert repr(json.loads(codec.canonical(value))) == repr(value)


@both
@given(value=json_values)
def test_written_values_are_those_of_the_standard_library_but_for_two_separators(
    codec: ModuleType, value: object
) -> None:
    def expected(indent: int | None) -> str:
        text = json.dumps(value, indent=indent, ensure_ascii=False)
        return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

    assert codec.encode(value) == expected(None)
    assert codec.encode(value, indent=0) == expected(0)
    assert codec.encode(value, indent=4) == expected(4)
    assert codec.canonical(value) == (expected(2) + "\n").encode("utf-8")


@both
def test_canonical_bytes_are_exactly_these(codec: ModuleType) -> None:
    value = {"z": 1, "a": [1, "é\x7f\u2028\u2029\x00\x1f😀"], "empty": [{}, [], ()], "tuple": (True, None, -0.5)}
    assert codec.canonical(value).decode() == (
        '{\n  "z": 1,\n  "a": [\n    1,\n    "é\x7f\\u2028\\u2029\\u0000\\u001f😀"\n  ],\n'
        '  "empty": [\n    {},\n    [],\n    []\n  ],\n  "tuple": [\n    true,\n    null,\n    -0.5\n  ]\n}\n'
    )


@both
@given(value=json_values)
def test_one_line_stays_one_line_for_everyone(codec: ModuleType, value: object) -> None:
    line = codec.encode(value)
    assert "\n" not in line
    assert "\r" not in line
    assert "\u2028" not in line
    assert "\u2029" not in line


@both
@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")], "\ud800", {"a\udfff": 1}, ["é\udc80"]])
def test_a_value_without_json_is_refused(codec: ModuleType, value: object) -> None:
    for write in (codec.encode, codec.canonical):
        with pytest.raises(codec.JsonError, match=r"has no JSON|lone surrogate"):
            write(value)


@both
@pytest.mark.parametrize("value", [b"a", {1}, object(), {1: 2}, {None: 1}, [{"a": {("b",): 1}}], 1j])
def test_a_value_of_another_type_is_a_mistake_of_the_caller(codec: ModuleType, value: object) -> None:
    with pytest.raises(TypeError):
        codec.encode(value)


@both
def test_what_may_be_written_may_be_read_however_deep(codec: ModuleType) -> None:
    deepest = codec.decode(nested(codec.MAX_DEPTH).encode())
    assert codec.decode(codec.canonical(deepest)) == deepest
    with pytest.raises(codec.JsonError, match="nested deeper than 100"):
        codec.encode([deepest])
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(codec.JsonError, match="nested deeper than 100"):
        codec.encode(endless)


def test_errors_are_value_errors() -> None:
    assert issubclass(JsonError, ValueError)
