"""Front matter as it is read: files split, values as people and agent-chat-plugin 0.7 write them, and junk."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import frontmatter
from agent_chat.records.frontmatter import FrontmatterError


def value_of(text: str) -> object:
    """Returns what `key: <text>` is read as."""
    return frontmatter.parse(f"key: {text}\n").values["key"]


# Splitting


@pytest.mark.parametrize(
    ("data", "header", "body"),
    [
        (b"---\na: b\n---\nbody\n", "a: b\n", b"body\n"),
        (b"---\n---\n", "", b""),
        (b"---\na: b\n---", "a: b\n", b""),
        (b"---\na: b\n---\r", "a: b\n", b""),
        (b"\xef\xbb\xbf---\r\na: b\r\n---\r\nbody\r\n", "a: b\r\n", b"body\r\n"),
        (b"---\na: ---\n----\n--- \n---\n---\nx", "a: ---\n----\n--- \n", b"---\nx"),
        (b"---\na: \xc3\xa9\n---\n\xff\0\n", "a: \xe9\n", b"\xff\0\n"),
        (b"---\n\n\n---\n\n\n", "\n\n", b"\n\n"),
    ],
)
def test_a_file_is_split_at_the_first_whole_line_of_dashes(data: bytes, header: str, body: bytes) -> None:
    assert frontmatter.split(data) == (header, body)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "does not begin"),
        (b"# title\n", "does not begin"),
        (b"---", "does not begin"),
        (b"--- \na: b\n---\n", "does not begin"),
        (b"----\n---\n", "does not begin"),
        (b"\n---\na: b\n---\n", "does not begin"),
        (b"\xff\xfe-\0-\0-\0\n\0", "does not begin"),
        (b"---\n", "no closing"),
        (b"---\na: b\n", "no closing"),
        (b"---\na: b\n--- \n---x\n", "no closing"),
        (b"---\na: b\r---\r", "no closing"),
        (b"---\na: \0\n---\n", "NUL"),
        (b"---\na: \xff\n---\n", "not UTF-8 \\(byte 7\\)"),
        (b"---\na: \xed\xa0\x80\n---\n", "not UTF-8 \\(byte 7\\)"),
    ],
)
def test_a_file_without_a_sound_header_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(FrontmatterError, match=reason):
        frontmatter.split(data)


@pytest.mark.parametrize("size", [frontmatter.MAX_HEADER_BYTES, frontmatter.MAX_HEADER_BYTES + 1])
def test_a_header_is_at_most_one_mebibyte(size: int) -> None:
    data = b"---\n" + b"a: ".ljust(size - 1, b"x") + b"\n---\nbody"
    if size == frontmatter.MAX_HEADER_BYTES:
        assert len(frontmatter.split(data)[0]) == size
    else:
        with pytest.raises(FrontmatterError, match="within 1048576 bytes"):
            frontmatter.split(data)


@pytest.mark.parametrize("junk", [b"\n---x", b"\n---\rx", b"\n--", b"\n", b"-", b"\r", b"\xff"])
def test_four_mebibytes_of_junk_are_refused_soon(junk: bytes) -> None:
    with pytest.raises(FrontmatterError):
        frontmatter.split(b"---\n" + junk * ((4 << 20) // len(junk)))


# Reading


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("alice", "alice"),
        ("  spaces around \t ", "spaces around"),
        ('it\'s "so": a # b', 'it\'s "so": a # b'),
        ("#123", "#123"),
        ("", None),
        ("null", None),
        ("~", None),
        ("true", "true"),
        ("yes", "yes"),
        ("0", 0),
        ("-0", 0),
        ("42", 42),
        ("-42", -42),
        ("999999999999999999", 10**18 - 1),
        ("1000000000000000000", "1000000000000000000"),
        ("007", "007"),
        ("+1", "+1"),
        ("--1", "--1"),
        ("-", "-"),
        ("1_000", "1_000"),
        ("1.5", "1.5"),
        ("\u0661", "\u0661"),
        ("\u00b2", "\u00b2"),
        ("a\u2028b\x85c\x0bd\x0ce", "a\u2028b\x85c\x0bd\x0ce"),
        ('""', ""),
        ('"a" # a comment', "a"),
        ('"42"', "42"),
        ('"\\0\\a\\b\\t\\n\\v\\f\\r\\e\\ \\"\\/\\\\\\N\\_\\L\\P"', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029'),
        ('"\\x41\\u00e9\\U0001F600\\uFFFF"', "Aé😀\uffff"),
        ("''", ""),
        ("'it''s \\n \"'", "it's \\n \""),
        ("''''  # a comment", "'"),
        ("[]", ()),
        ("[ ]", ()),
        ("[alice]", ("alice",)),
        ("[ alice , \"b, c\",'d]', 3, -4, 007, a b ]  # a comment", ("alice", "b, c", "d]", 3, -4, "007", "a b")),
        ("[alice, ]", ("alice",)),
        ('[""]', ("",)),
        ("[http://a.b/c#d]", ("http://a.b/c#d",)),
    ],
)
def test_hand_written_values_are_read_so(text: str, value: object) -> None:
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("{a: b}", "{", "|", ">-", "&a b", "*a", "!!int 3", "! a", "[a", "[a, [b]]", "[{a: b}]", "[a: b]", "[a,,b]"),
        *(
            "[,]",
            "[a] b",
            "[a]#b",
            "[WIP] the parser",
            '["a',
            '["a" b]',
            "['a'",
            "[null]",
            "[~]",
            "[*a]",
            "[&a b]",
            "[a}]",
        ),
    ],
)
def test_what_goes_beyond_texts_and_lists_of_texts_is_kept_as_its_text(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"', "no closing quote"),
        ('"a', "no closing quote"),
        ('"a\\"', "no closing quote"),
        ("'a", "no closing quote"),
        ("'a''", "no closing quote"),
        ('"a" b', "after the closing quote"),
        ('"a"b', "after the closing quote"),
        ('"a"#b', "after the closing quote"),
        ("'a' 'b'", "after the closing quote"),
        ('"\\q"', "unknown escape"),
        ('"\\x4"', "unknown escape"),
        ('"\\x4g"', "unknown escape"),
        ('"\\u+123"', "unknown escape"),
        ('"\\u1_23"', "unknown escape"),
        ('"\\u\u0661\u0661\u0661\u0661"', "unknown escape"),
        ('"\\ud83d\\ude00"', "escape of no character"),
        ('"\\udfff"', "escape of no character"),
        ('"\\U00110000"', "escape of no character"),
    ],
)
def test_a_damaged_quoted_text_is_refused(text: str, reason: str) -> None:
    with pytest.raises(FrontmatterError, match=f"^key: .*{reason}"):
        value_of(text)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("a: b\nA line\n", "line 3: expected"),
        ("key:value\n", "line 2: expected"),
        ("key : value\n", "line 2: expected"),
        (": value\n", "line 2: expected"),
        ('"key": value\n', "line 2: expected"),
        ("1a: b\n", "line 2: expected"),
        ("-a: b\n", "line 2: expected"),
        ("clé: b\n", "line 2: expected"),
        ("...\n", "line 2: expected"),
        ("\u2028a: b\n", "line 2: expected"),
        ("\ufeffa: b\n", "line 2: expected"),
        ("<<: b\n", "line 2: expected"),
        ("? a\n", "line 2: expected"),
        ("  a: b\n", "line 2: a nested line before any key"),
        ("# a comment\n- a\n", "line 3: a nested line before any key"),
        ("a: b\nc: d\na: e\n", "line 4: the key 'a' is there twice"),
        ("ts: b\nts: c\n", "line 3: the key 'ts' is there twice"),
    ],
)
def test_a_header_of_other_lines_is_refused_with_the_line_number_in_the_file(header: str, reason: str) -> None:
    with pytest.raises(FrontmatterError, match=reason):
        frontmatter.parse(header)


def test_refusals_are_one_line_and_quote_little() -> None:
    for header in ("a\x1b[2J\x85\u202e" * 100, f'a: "\\q{"b" * 100}', f'a: "" {"b" * 100}', f"{'k' * 99}: 1\n" * 2):
        with pytest.raises(FrontmatterError) as caught:
            frontmatter.parse(header)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 800
        assert "b" * 61 not in str(caught.value)


def test_keys_blank_lines_comments_and_line_ends() -> None:
    header = frontmatter.parse("_a-B9: 1\r\n\r\n# a: comment\r\n \t\r\nb:\tc\r\nd:\r\n#\r\n")
    assert header.values == {"_a-B9": 1, "b": "c", "d": None}
    assert header.raw == {"_a-B9": "_a-B9: 1", "b": "b:\tc", "d": "d:"}
    assert not header.legacy


def test_a_line_ended_twice_over_by_carriage_returns_is_read_as_if_once() -> None:
    assert frontmatter.parse("a: b\r\r\nc:\r\r\n").values == {"a": "b", "c": None}


def test_an_empty_header_has_no_values() -> None:
    assert frontmatter.parse("").values == {}


def test_nested_lines_belong_to_their_key_and_survive_a_rewrite() -> None:
    text = "seq: 3\nlist:\n- a\n-\n  - b\n\n# inside\n  c: d\nfolded: >\n  one\n\n\ttwo\ntitle: x\n"
    header = frontmatter.parse(text)
    assert header.values["list"] == "\n- a\n-\n  - b\n\n# inside\n  c: d"
    assert header.raw["folded"] == "folded: >\n  one\n\n\ttwo"
    assert header.values["title"] == "x"
    unknown = header.unknown_lines(("seq", "title"))
    assert unknown == [header.raw["list"], header.raw["folded"]]
    again = frontmatter.parse(frontmatter.split(frontmatter.render([("seq", 3)], unknown).encode())[0])
    assert again.unknown_lines(("seq",)) == unknown


def test_unknown_keys_survive_a_rewrite_byte_for_byte() -> None:
    lines = ["x-1:   'a'  # why", "y: {a: [b, c]}", 'z: "\\x41"', "w:"]
    header = frontmatter.parse("\n".join(["seq: 1", *lines]))
    assert header.unknown_lines({"seq"}) == lines


@given(st.text(alphabet='\\"ntx0uUNLP_/eab 4dD18F', max_size=12))
def test_what_is_read_between_double_quotes_is_what_yaml_reads(inside: str) -> None:
    line = f'key: "{inside}"\n'
    try:
        expected = yaml.safe_load(line)["key"]
    except (yaml.YAMLError, ValueError):
        with pytest.raises(FrontmatterError):
            frontmatter.parse(line)
        return
    if any(0xD800 <= ord(character) < 0xE000 for character in expected):
        return
    assert frontmatter.parse(line).values["key"] == expected


@given(st.text(alphabet="' ab\"\\", max_size=12))
def test_what_is_read_between_single_quotes_is_what_yaml_reads(inside: str) -> None:
    line = f"key: '{inside}'\n"
    try:
        expected = yaml.safe_load(line)["key"]
    except yaml.YAMLError:
        with pytest.raises(FrontmatterError):
            frontmatter.parse(line)
        return
    assert frontmatter.parse(line).values["key"] == expected


# Legacy files

LEGACY = """ts: 2026-11-30T07:49:10+00:00
channel: demo
from: alice
to: bob,carol
status: [open]
title: Re: x: y # z "q" 'r' \\n
quoted: "as it is"
note:  two spaces\x20
nothing:
null: ~
seq: 12
reply_to: 7
number: 7
"""


def test_a_legacy_header_is_read_without_any_quoting() -> None:
    header = frontmatter.parse(LEGACY)
    assert header.legacy
    assert header.values == {
        "ts": "2026-11-30T07:49:10+00:00",
        "channel": "demo",
        "from": "alice",
        "to": "bob,carol",
        "status": "[open]",
        "title": "Re: x: y # z \"q\" 'r' \\n",
        "quoted": '"as it is"',
        "note": " two spaces ",
        "nothing": "",
        "null": "~",
        "seq": 12,
        "reply_to": 7,
        "number": "7",
    }


def test_legacy_numbers_that_are_none_are_texts() -> None:
    header = frontmatter.parse("seq: x\nreply_to: \nts: now\n")
    assert header.values == {"seq": "x", "reply_to": "", "ts": "now"}


def test_unknown_keys_of_a_legacy_file_are_quoted_when_they_move_to_a_new_one() -> None:
    known = ("ts", "channel", "from", "to", "status", "title", "seq", "reply_to", "nothing", "null")
    lines = frontmatter.parse(LEGACY).unknown_lines(known)
    assert lines == ['quoted: "\\"as it is\\""', 'note: " two spaces "', 'number: "7"']
    assert frontmatter.parse("\n".join(lines)).values == {"quoted": '"as it is"', "note": " two spaces ", "number": "7"}


@given(st.text().filter(lambda text: "\n" not in text and not text.endswith("\r")))
def test_any_legacy_title_is_read_as_it_stands(title: str) -> None:
    assert frontmatter.parse(f"ts: now\ntitle: {title}\nseq: 1").values["title"] == title


# Whatever comes


@given(st.binary())
def test_no_bytes_are_split_with_another_error(data: bytes) -> None:
    for candidate in (data, b"---\n" + data, b"---\n" + data + b"\n---\n" + data):
        try:
            header, body = frontmatter.split(candidate)
        except FrontmatterError:
            continue
        assert candidate.endswith(body)
        assert header in candidate.decode("utf-8", "replace")


@given(st.one_of(st.text(), st.text(alphabet="ab: \"'[],\\\n\r#-~{}x0u \t1ts")))
def test_no_text_is_parsed_with_another_error(text: str) -> None:
    for candidate in (text, f"a: {text}", f"a: [{text}]", f'a: "{text}"', f"ts: 1\na: {text}", f"a:\n  {text}"):
        try:
            header = frontmatter.parse(candidate)
        except FrontmatterError:
            continue
        assert list(header.values) == list(header.raw)
        if not header.legacy:
            assert frontmatter.parse("\n".join(header.unknown_lines(()))).values == header.values


@pytest.mark.parametrize(
    "junk",
    [
        "a: b\n",
        '"',
        "'",
        "\\",
        '\\"',
        "''",
        "[",
        "[a,",
        "a,",
        "[a],",
        " ",
        "\n",
        "\n ",
        "#",
        "\\x41",
        "k: [",
        "-",
        "- a\n",
        "é: ",
    ],
)
def test_a_mass_of_junk_is_dealt_with(junk: str) -> None:
    mass = junk * ((1 << 17) // len(junk))
    for text in (mass, f"k: {mass}", f'k: "{mass}"', f"k: '{mass}'", f"k: [{mass}]", f'k: ["{mass}"]', f"ts: {mass}"):
        with contextlib.suppress(FrontmatterError):
            frontmatter.parse(text)


def test_a_mass_of_keys_is_read() -> None:
    header = frontmatter.parse("".join(f"k{number}: b\n" for number in range(20_000)))
    assert len(header.values) == 20_000
