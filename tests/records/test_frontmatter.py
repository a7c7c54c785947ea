"""Front matter as it is written: read alike by us and by every YAML parser."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import frontmatter
from agent_chat.records.frontmatter import FrontmatterError

if TYPE_CHECKING:
    from agent_chat.records.frontmatter import Scalars

# Texts that some YAML parser reads as something else when they are not quoted, or that end a line for someone.
# fmt: off
TRAPS = (
    "", " ", "  two  spaces  ", "---", "--- a", "...", "-", "- a", "-1", "?", "? a", ":", "a: b", "a :b", ": a", "a:",
    "#", "a #b", "a#b", "'", '"', "it's", '"quoted"', "\\", "\\n", "C:\\temp", "|", ">", "|-", "&a", "*a", "!a",
    "!!str a", "%a", "@a", "`a", "{", "}", "{a: b}", "[", "]", "[a]", "a, b", "a,b", ",", "~", "null", "Null", "NULL",
    "none", "None", "y", "Y", "n", "yes", "No", "ON", "off", "true", "False", "TRUE", "=", "<<", ".inf", "-.INF",
    ".nan", "nan", "inf", "0", "-0", "007", "1_000", "0x10", "0o7", "0b1", "1e3", "1.5", "1.", ".5", "+1", "12:30:45",
    "190:20:30", "1:2", "2026-11-30", "2026-11-30T07:49:10+00:00", "2026-11-30 07:49:10", "123456789012345678",
    "9" * 30, "a\nb", "a\n---\nb", "\n", "a\r\nb", "\r", "\t", "a\tb", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85",
    "\u2028", "a\u2029b", "\0", "\x07", "\x1b[31m", "\x7f", "\x80", "\x9f", "\xa0", "\u061c", "\u200e", "\u202e",
    "\u2066", "\u2069", "\ufeff", "\ufeffa", "\ufffe", "\uffff", "\U0001ffff", "\U0010ffff", "\ue000", "é", "e\u0301",
    "日本語", "العربية", "👩\u200d👩\u200d👧", "a\u200cb", "a" * 1000, "a" * 1001, "a b " * 600, '"' * 50, "\\" * 50,
    "é" * 2000,
)
# fmt: on
BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
texts = st.one_of(
    st.sampled_from(TRAPS),
    st.text(),
    st.lists(st.one_of(st.sampled_from(TRAPS), st.text(max_size=3)), max_size=5).map("".join),
)
integers = st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1)
scalars = st.one_of(texts, integers)
keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True).filter(
    lambda key: key != "ts" and key.lower() not in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
)
values = st.one_of(scalars, st.lists(scalars, max_size=4).map(tuple))


def yaml_values(block: str) -> list[dict[str, Any]]:
    """Returns what every YAML parser at hand reads from a header block, lists as tuples."""
    loaders: list[Any] = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]
    found = [next(yaml.load_all(block, Loader=loader)) or {} for loader in loaders]
    return [{k: tuple(v) if isinstance(v, list) else v for k, v in each.items()} for each in found]


def assert_read_alike(pairs: list[tuple[str, Scalars]]) -> None:
    """Checks that a written header is read back the same by `parse` and by YAML parsers, values and types."""
    block = frontmatter.render(pairs)
    header, body = frontmatter.split(block.encode("utf-8") + b"body")
    parsed = frontmatter.parse(header)
    assert body == b"body"
    assert list(parsed.values.items()) == pairs
    for values in yaml_values(block):
        assert [(key, value, type(value)) for key, value in values.items()] == [
            (key, value, type(value)) for key, value in pairs
        ]
    assert frontmatter.render([], parsed.unknown_lines(())) == block


@pytest.mark.parametrize("text", TRAPS)
def test_every_trap_is_read_back_as_itself(text: str) -> None:
    assert_read_alike([("title", text), ("to", (text, "bob", text)), ("last", text)])


@given(st.lists(st.tuples(keys, values), unique_by=lambda pair: pair[0], max_size=6))
def test_whatever_is_written_is_read_alike_by_us_and_by_yaml_parsers(pairs: list[tuple[str, Scalars]]) -> None:
    assert_read_alike(pairs)


@given(texts)
def test_a_written_text_stays_on_one_line_for_everyone(text: str) -> None:
    block = frontmatter.render([("title", text)])
    assert len(block.splitlines()) == 3
    assert not {unicodedata.category(character) for character in block[4:-5]} & {"Cc", "Zl", "Zp", "Cs"}
    assert not {unicodedata.bidirectional(character) for character in block} & BIDI_CONTROLS


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("alice", "alice"),
        ("fix the parser", "fix the parser"),
        ("docs/a_b-c.md", "docs/a_b-c.md"),
        ("Ann.B v1.2", "Ann.B v1.2"),
        ("noon", "noon"),
        ("No", '"No"'),
        ("", '""'),
        ("2026-11-30T07:49:10+00:00", '"2026-11-30T07:49:10+00:00"'),
        ("Re: done", '"Re: done"'),
        ("a  b", '"a  b"'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("_a", '"_a"'),
        ('say "hi" \\', '"say \\"hi\\" \\\\"'),
        ("é", '"é"'),
        ("👩\u200d👧", '"👩\u200d👧"'),
        ("a\tb\nc\rd\x07\x7f\x85", '"a\\tb\\nc\\rd\\x07\\x7f\\x85"'),
        ("\u2028\u202e\ufeff\uffff", '"\\u2028\\u202e\\ufeff\\uffff"'),
        (0, "0"),
        (-5, "-5"),
        (10**18 - 1, "999999999999999999"),
        ((), "[]"),
        (("alice", "b c", "no", 3, ""), '[alice, b c, "no", 3, ""]'),
    ],
)
def test_values_are_written_so(value: Scalars, written: str) -> None:
    assert frontmatter.render([("key", value)]) == f"---\nkey: {written}\n---\n"


def test_unknown_lines_follow_the_pairs_as_they_are() -> None:
    assert frontmatter.render([("seq", 1)], ["x: {a: b}", "y:\n  - c"]) == "---\nseq: 1\nx: {a: b}\ny:\n  - c\n---\n"


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "ok é \udc80"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    with pytest.raises(FrontmatterError, match="lone surrogate"):
        frontmatter.render([("title", text)])


@pytest.mark.parametrize("number", [10**18, -(10**18), 10**4000])
def test_an_integer_that_would_be_read_as_text_is_refused(number: int) -> None:
    with pytest.raises(FrontmatterError, match="18 digits"):
        frontmatter.render([("seq", number)])


@pytest.mark.parametrize("key", ["", "-a", "1a", "a b", "a:", "a\n", "é", "\u2028", "ts"])
def test_a_key_that_would_not_be_read_as_one_is_refused(key: str) -> None:
    with pytest.raises(FrontmatterError, match="not a front matter key"):
        frontmatter.render([(key, "a")])


@pytest.mark.parametrize("value", [None, True, 1.5, b"a", ["a"], (None,), (("a",),)])
def test_a_value_of_another_type_is_a_mistake_of_the_caller(value: Any) -> None:
    with pytest.raises(TypeError, match="texts and integers"):
        frontmatter.render([("key", value)])


def test_a_long_title_is_written_and_read() -> None:
    title = 'é"\\\n\u2028' * (1 << 15)
    block = frontmatter.render([("title", title)])
    assert frontmatter.parse(block[4:-4]).values["title"] == title
