"""Names: which are names, which are the same name, and what file names are made of them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat import names
from agent_chat.errors import ChatError

GOOD = [
    *(
        "a",
        "7",
        "alice",
        "Alice",
        "a.b",
        "a-b",
        "a_b",
        "a.b.c",
        "a-",
        "a_",
        "a--b",
        "x" * 64,
        "console",
        "com",
        "com10",
    ),
    *("Оленка", "Їжак", "さくら", "東京", "علي", "नेहा", "é", "Ünal", "٣", "ñ" * 32, "lptx", "auxiliary", "nul-1", "0"),
]
BAD = [
    *(
        "",
        " ",
        ".",
        "..",
        "...",
        "../x",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "C:",
        "a:b",
        "-a",
        "_a",
        ".a",
        "a.",
        "a..b",
        "~",
    ),
    *("a b", " a", "a ", "a\n", "a\tb", "a\0b", "\0", "\x1b[31m", "a\x9bb", "@bob", '"bob"', "[bob]", "'bob'", "a,b"),
    *(
        "a*",
        "a?",
        "a|b",
        "<a>",
        "a%b",
        "a$b",
        "`a`",
        "$(id)",
        "a;b",
        "a&b",
        "a=b",
        "a#b",
        "\ud800",
        "a\udcff",
        "x" * 65,
    ),
    *(
        "a" * 300,
        "ñ" * 33,
        "字" * 22,
        "\u0301a",
        "\u200ba",
        "a\u200bb",
        "a\u202eb",
        "a\u2028b",
        "²",
        "½",
        "Ⅷ",
        "😀",
        "a😀",
    ),
    *("con", "CON", "Con.txt", "nul", "NUL.a.b", "aux", "prn", "com1", "COM9.md", "lpt1", "conin$", "com¹", "a\ufeff"),
]


@pytest.mark.parametrize("text", GOOD, ids=ascii)
def test_a_name(text: str) -> None:
    assert names.fault_of_name(names.normal_form(text)) is None
    assert names.channel_name(text) == names.agent_name(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", BAD, ids=lambda text: ascii(text[:20]))
def test_no_name(text: str) -> None:
    for check, code in ((names.channel_name, "CHANNEL_INVALID"), (names.agent_name, "AGENT_INVALID")):
        with pytest.raises(ChatError) as caught:
            check(text)
        assert caught.value.code == code
        assert caught.value.message.isprintable()
        assert len(caught.value.message) < 400


@given(st.text(max_size=70))
@example("İ" * 32)
@example("ŉ" * 32)
@example("ß" * 32)
@example("e\u0323\u0301")
def test_every_name_is_a_safe_file_name(text: str) -> None:
    name = names.normal_form(text)
    if names.fault_of_name(name) is not None:
        return
    assert len(name.encode()) <= 64
    for form in (name, names.fold(name)):
        assert not set(form) & set('/\\:*?"<>|\0\n\r\t ')
        assert form.isprintable()
        assert not form.startswith((".", "-", "_"))
        assert not form.endswith(".")
        assert len(f"{form}.waiting".encode()) <= names.MAX_FILE_NAME_BYTES
    assert names.fold(names.fold(name)) == names.fold(name)
    assert names.same(name, name.swapcase()) == (names.fold(name) == names.fold(name.swapcase()))


@pytest.mark.parametrize("text", ["all", "ALL", "All", "system", "System"])
def test_reserved_agents(text: str) -> None:
    with pytest.raises(ChatError) as caught:
        names.agent_name(text)
    assert caught.value.code == "AGENT_RESERVED"
    assert names.agent_name(text, reserved=True) == text
    assert names.channel_name(text) == text


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("bob", "BOB", True),
        ("bob", "bobb", False),
        ("é", "e\u0301", True),
        ("É", "e\u0301", True),
        ("straße", "STRASSE", True),
        ("σας", "ΣΑΣ", True),
        ("Їжак", "їжак", True),
        ("human", "humаn", False),  # the second has a Cyrillic a
        ("ﬁn", "FIN", True),
        ("a-b", "a_b", False),
    ],
)
def test_the_same_name(one: str, other: str, same: bool) -> None:
    assert names.same(one, other) is names.same(other, one) is same
    assert names.contains(["x", one], other) is same
    assert names.spelling(["x", one], other) == (one if same else None)


def test_a_list_names_each_once_and_forgives_spaces_and_the_at_sign() -> None:
    assert names.agent_list("bob, @carol ,BOB,d") == ("bob", "carol", "d")
    for text in ("", "bob,", ",", "bob,,carol", "bob,all", "a b", "@@bob"):
        with pytest.raises(ChatError):
            names.agent_list(text)


@pytest.mark.parametrize("text", ["1", "T-1", "a.b", "x" * 64, "a_", "0.1-b_C"])
def test_a_task_id(text: str) -> None:
    assert names.fault_of_task_id(text) is None


@pytest.mark.parametrize("text", ["", "-1", ".a", "_a", "a..b", "a/b", "../x", "a b", "é", "x" * 65, "a\n", "a\0", "٣"])
def test_no_task_id(text: str) -> None:
    assert names.fault_of_task_id(text)


@pytest.mark.parametrize("text", ["a", "general", "api/v2", "x" * 100, "0.1", "a--b"])
def test_a_topic(text: str) -> None:
    assert names.topic_name(text) == text


@pytest.mark.parametrize("text", ["", "A", "a b", "/a", "-a", ".a", "_a", "é", "x" * 101, "a\n", "a\x1b", "a\u2028"])
def test_no_topic(text: str) -> None:
    with pytest.raises(ChatError) as caught:
        names.topic_name(text)
    assert caught.value.code == "MESSAGE_INVALID"
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("text", ["decision", "Ready", "a/b", "рішення", "e\u0301t"])
def test_a_status(text: str) -> None:
    assert names.status_label(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["", " ", "a b", "-a", "a\nb", "x" * 65, "a\x1b", "a\u202e", "\ud800", "\u0301"])
def test_no_status(text: str) -> None:
    with pytest.raises(ChatError) as caught:
        names.status_label(text)
    assert caught.value.code == "MESSAGE_INVALID"


# --- slugs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Schema v0.2: two questions", "schema-v0-2-two-questions"),
        ("", "message"),
        ("!?…", "message"),
        ("--a--", "a"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\nb\0c\x1b[31m", "a-b-c-31m"),
        ("План міграції: їжа", "план-міграції-їжа"),
        ("設計 草案", "設計-草案"),
        ("مسودة المخطط", "مسودة-المخطط"),
        ("Rancangan skema", "rancangan-skema"),
        ("😀 emoji 🎉", "emoji"),
        ("e\u0301clair", "éclair"),
        ("\u0301 alone", "alone"),
        ("x\u202ey", "x-y"),
        ("con", "con"),
        ("\ud800x", "x"),
    ],
    ids=ascii,
)
def test_a_slug_keeps_letters_of_every_script(title: str, slug: str) -> None:
    assert names.slug(title, max_bytes=200) == slug


def test_a_slug_is_not_cut_inside_a_combining_sequence() -> None:
    one = "q\u0323\u0307"
    assert names.slug(one * 30, max_bytes=200) == one * 13
    assert names.slug("a" + "\u0323" * 60, max_bytes=200) == "message"
    assert names.slug("नि" * 30, max_bytes=20) == "नि" * 3


@given(st.text(max_size=400), st.sampled_from(["a", "x" * 64, "ñ" * 32, "字" * 21]), st.integers(1, names.MAX_SEQ))
@example("字" * 400, "字" * 21, names.MAX_SEQ)
@example("𠀀" * 400, "x" * 64, names.MAX_SEQ)
@example("\u0dda" * 400, "x" * 64, 1)
def test_a_message_file_name_fits_and_is_one_name(title: str, sender: str, seq: int) -> None:
    name = names.message_file_name(seq, sender, title)
    start = f"{seq:04d}-{sender}-"
    assert len(name.encode()) <= names.MAX_FILE_NAME_BYTES
    assert name.startswith(start)
    assert name.endswith(".md")
    slug = name[len(start) : -3]
    assert 1 <= len(slug) <= names.SLUG_CHARACTERS
    assert slug == names.normal_form(slug)
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert all(c == "-" or unicodedata.category(c)[0] in "LM" or unicodedata.category(c) == "Nd" for c in slug)


def test_a_quoted_text_is_short_and_printable() -> None:
    assert names.quoted("a") == "'a'"
    assert names.quoted("x\x1b\n\ud800").isprintable()
    assert len(names.quoted("x" * 1000)) < 70
