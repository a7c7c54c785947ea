"""Text of others, shown: on one line, without HTML, and quoted so that it passes for nothing of ours."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat.records.shown_text import inline, quoted, safe_block, safe_line, safe_text
from tests.support.cli import DANGER

# What makes trouble is rare in arbitrary text, so it is made of pieces too.
PIECES = st.lists(
    st.sampled_from([*"#-=`~>+*_<\\ \t\n\r!/?a1.[](\0\x85\u2028\u202e\u00a0\u3000", "\r\n", "```", "~~~"])
    | st.sampled_from(["---", "===", "# ", "<b>", "</", "<!--", "x", "é", "\x1b[2J", "[x]: /y"])
).map("".join)
TEXTS = st.text() | PIECES
# HTML in CommonMark: a `<` that no backslash escapes; of two backslashes the first escapes the second.
HTML = re.compile(r"(?<!\\)(?:\\\\)*<[A-Za-z!/?]")
LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def is_one_line(text: str) -> bool:
    """Whether a text stays on its line and moves nothing on a terminal."""
    return not (DANGER | LINE_ENDS | {"\t"}) & set(text) and len(text.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain é 多 ✅ <b>\\", "plain é 多 ✅ <b>\\"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b[31m\0\x7f\x85", "\\x1b[31m\\x00\\x7f\\x85"),
        ("\u202ex\u2066\ufeff\u061c\u2028", "\\u202ex\\u2066\\ufeff\\u061c\\u2028"),
        ("\u00a0\u200b", "\u00a0\u200b"),
    ],
)
def test_what_a_terminal_obeys_is_escaped_on_a_line(text: str, shown: str) -> None:
    assert safe_line(text) == shown


@given(TEXTS)
def test_a_safe_line_is_one_line(text: str) -> None:
    assert is_one_line(safe_line(text))


@given(TEXTS)
def test_every_line_of_a_safe_block_is_indented(text: str) -> None:
    block = safe_block(text)
    assert block.endswith("\n")
    lines = block[:-1].split("\n")
    assert all(line.startswith("  ") and is_one_line(line.replace("\t", "")) for line in lines)
    assert len(lines) == text.removesuffix("\n").replace("\r\n", "\n").count("\n") + 1


@given(TEXTS)
def test_a_safe_block_is_the_safe_text_indented(text: str) -> None:
    assert safe_block(text).split("\n")[:-1] == ["  " + line for line in safe_text(text).removesuffix("\n").split("\n")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("one\ntwo", "one\ntwo"),
        ("  a\n\n\tb\n", "  a\n\n\tb\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb\r\rc", "a\\rb\\r\\rc"),
        ("\x1b[31m\0\x7f\x85\x0b", "\\x1b[31m\\x00\\x7f\\x85\\x0b"),
        ("\u202ex\u2066\ufeff\u2028\n", "\\u202ex\\u2066\\ufeff\\u2028\n"),
        ("\udcff é ✅ <b>\\", "\\udcff é ✅ <b>\\"),
    ],
)
def test_lines_and_tabs_stay_as_they_are_in_a_text(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@given(TEXTS)
def test_a_safe_text_moves_nothing_and_has_the_lines_that_it_had(text: str) -> None:
    shown = safe_text(text)
    lines = shown.split("\n")
    assert all(is_one_line(line.replace("\t", "")) for line in lines)
    assert len(lines) == text.count("\n") + 1
    assert [safe_line(line.replace("\t", "")) for line in lines] == [line.replace("\t", "") for line in lines]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b <= c <3", "a < b <= c <3"),
        ("<b>x</b>", "\\<b>x\\</b>"),
        ("<!-- x --> <?php <É <http://x>", "\\<!-- x --> \\<?php \\<É \\<http://x>"),
        ("<\nb>", "<\\nb>"),
        ("# x", "# x"),
    ],
)
def test_html_is_escaped_within_a_line_and_nothing_else(text: str, shown: str) -> None:
    assert inline(text) == shown


@given(TEXTS)
@example("\\<b>")
@example("\\\\<b>")
@example("\\\\\\<!--")
def test_what_is_inline_is_one_line_without_html(text: str) -> None:
    shown = inline(text)
    assert is_one_line(shown)
    assert not HTML.search(shown)


@given(TEXTS)
def test_nothing_is_lost_inline(text: str) -> None:
    """Without the backslashes, which may be ours or theirs, it is the safe line."""
    assert inline(text).replace("\\", "") == safe_line(text).replace("\\", "")


# --- quotes ---------------------------------------------------------------------------------------------------------

# A heading, a fence, an underline (which is a thematic break, too), or the definition of a link, of which nothing would
# be shown; in a quote or list of its own as well.
BLOCK = re.compile(r"> *(?:(?:>|[-+*] |[0-9]+[.)] ) *)*(?:#|```|~~~|=+ *$|-[- ]*$|\[)")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        (" \n\t\n\n", []),
        ("one", ["> one"]),
        ("one\n\n  two \r\nthree\n", ["> one", ">   two", "> three"]),
        ("# h\n#no\n ## h", ["> \\# h", "> \\#no", ">  \\## h"]),
        ("a\n===\n---\n=\n-\n- - -", ["> a", "> \\===", "> \\---", "> \\=", "> \\-", "> - - \\-"]),
        ("```\ncode\n```\n~~~", ["> \\```", "> code", "> \\```", "> \\~~~"]),
        ("> q\n>\n- item\n1. x\n`a`", ["> > q", "> >", "> - item", "> 1. x", "> `a`"]),
        ("> # h\n- # h\n 2)  > * ```", ["> > \\# h", "> - \\# h", ">  2)  > * \\```"]),
        ("> a\n> ===\n>===", ["> > a", "> > \\===", "> >\\==="]),
        ("[x]: /y\n[x]:\n/y 'z'\n [ ] todo", ["> \\[x]: /y", "> \\[x]:", "> /y 'z'", ">  \\[ ] todo"]),
        ("> [x]: /y\n- [x]: y\n 1) > + [x", ["> > \\[x]: /y", "> - \\[x]: y", ">  1) > + \\[x"]),
        ("see [x]: y\n\\[x]: y\n-[x]: y", ["> see [x]: y", "> \\[x]: y", "> -[x]: y"]),
        ("a\tb\x1b <b>", ["> a\\tb\\x1b \\<b>"]),
        ("a\rb", ["> a\\rb"]),
    ],
)
def test_each_line_that_is_not_blank_is_quoted(text: str, lines: list[str]) -> None:
    assert quoted(text, most_lines=20, most_characters=1000) == (lines, False)


@given(TEXTS, st.integers(0, 4), st.integers(0, 30))
@example("1. > - [x]: /y", 4, 30)
@example("1" * 12 + ") [x]: /y", 4, 30)
def test_no_quoted_line_passes_for_anything_but_text_in_a_quote(text: str, most_lines: int, most: int) -> None:
    lines, _ = quoted(text, most_lines=most_lines, most_characters=most)
    for line in lines:
        assert line.startswith("> ")
        assert line[2:].strip()
        assert is_one_line(line)
        assert not BLOCK.match(line), line
        assert not HTML.search(line)


@given(TEXTS, st.integers(0, 4), st.integers(0, 30))
@example("     x", 4, 3)
@example("ab\n\n", 1, 2)
@example("ab\n \nc", 1, 9)
def test_limits_are_exact_and_the_flag_tells_whether_they_cut(text: str, most_lines: int, most: int) -> None:
    lines, is_cut = quoted(text, most_lines=most_lines, most_characters=most)
    whole, never = quoted(text, most_lines=len(text) + 1, most_characters=len(text))
    assert not never
    wanted = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    assert len(whole) == len(wanted)
    assert len(lines) <= most_lines
    assert lines[:-1] == whole[: len(lines[:-1])]
    assert sum(map(len, wanted[: len(lines[:-1])])) < max(most, 1)
    fits = len(wanted) <= most_lines and sum(map(len, wanted)) <= most
    assert is_cut == (not fits)
    if fits:
        assert lines == whole


def test_a_line_is_cut_at_the_last_character_that_may_be_shown() -> None:
    assert quoted("abcdef", most_lines=1, most_characters=6) == (["> abcdef"], False)
    assert quoted("abcdef", most_lines=1, most_characters=5) == (["> abcde"], True)
    assert quoted("abc\ndef", most_lines=2, most_characters=6) == (["> abc", "> def"], False)
    assert quoted("abc\ndef", most_lines=2, most_characters=5) == (["> abc", "> de"], True)
    assert quoted("abc\ndef", most_lines=2, most_characters=3) == (["> abc"], True)
    assert quoted("abc\n\n \n", most_lines=1, most_characters=3) == (["> abc"], False)
    assert quoted("abc\ndef", most_lines=1, most_characters=99) == (["> abc"], True)
    assert quoted("x", most_lines=0, most_characters=9) == ([], True)
    assert quoted("\x1b\x1b", most_lines=1, most_characters=1) == (["> \\x1b"], True)


def test_a_line_of_which_only_blanks_fit_is_left_out() -> None:
    assert quoted("     x", most_lines=8, most_characters=3) == ([], True)
    assert quoted("a\n     x", most_lines=8, most_characters=3) == (["> a"], True)
