"""What a path lock is on: refused by its text, compared, and read back from a record."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records.locked_path import (
    CASE,
    DIRECTORY,
    EXACT,
    FILE,
    FORM,
    Located,
    LockedPath,
    PathError,
    covers,
    fault_of_path,
    folded_key,
    has_glob,
    meets,
    parse_path,
    parts_of,
    same,
    to_json,
)

NFC, NFD = "Zoë", unicodedata.normalize("NFD", "Zoë")
WORDS = ["a", "A", "a.py", "a.pyi", ".git", ".github", "ß", "SS", "ss", NFC, NFD, "K", "k\u200b", "ſ", "İ"]
COMPONENTS = st.sampled_from(WORDS) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1
)
PATHS = st.lists(COMPONENTS, max_size=4).map(lambda parts: "/".join(parts) or ".")
FOLDS = st.sampled_from([EXACT, FORM, CASE])
KINDS = st.sampled_from([FILE, DIRECTORY])

ORDINARY = [" a", "a b", "note: x"]
ORDINARY += (
    ". .. / a a/ ./a ../a a//b /abs/a .git ...a src/[id].tsx src/** 12:30 std::sort.html ab:c conf console.py com10"
    " lpt nullable Їжак 👩‍💻.md ~/a"
).split()
UNSAFE: list[object] = [
    *("", "/", "/a", "a/", "a//b", "..", "../a", "a/../b", "./a", "a/.", "a\\b", "C:/a", "a/c:b", "a\nb", "a\0"),
    *("\ud800", "x/" * 3000 + "x", None, 1, True, [], ["a"], {}),
]


def stored(path: str, kind: str = FILE) -> LockedPath:
    return LockedPath(normalized_path=path, display_path=path, kind=kind)


def located(path: str, kind: str = FILE, fold: str = EXACT) -> Located:
    parts = parts_of(path)
    return Located(path=stored(path, kind), parts=parts, folds=(fold,) * len(parts))


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_path_is_accepted(text: str) -> None:
    assert fault_of_path(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        *[(text, "control character") for text in ("a\0b", "a\nb", "\ta", "a\x7f", "a\x85b", "a/\x1b[0m")],
        *[(text, "no valid Unicode") for text in ("a\udc80", "\ud800/b")],
        *[(text, "backslash") for text in ("a\\b", "\\", "..\\a", "\\\\host\\share")],
        *[(text, "drive letter") for text in ("C:", "C:/a", "c:a", "a/b:c", "/C:/x")],
        *[
            (text, "for a device")
            for text in ("con", "src/NUL", "aux.c", "a/Com1.txt/b", "lpt¹", "nul .txt", "prn.a.b")
        ],
        *[(text, "for a device") for text in ("con:x", "CONIN$")],
        *[(text, "dot or a space") for text in ("a.", "a ", "a./b", "a /b", "...", ". ", " ", "a/b/.. /c", "con.")],
        ("x" * 256, "longer than 255 characters"),
        ("/".join(["x" * 200] * 21), "longer than 4096 bytes"),
    ],
)
def test_what_some_platform_reads_differently_is_refused_on_each(text: str, reason: str) -> None:
    assert reason in (fault_of_path(text) or "accepted")


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    fault = fault_of_path(text)
    assert fault is None or ("\n" not in fault and fault.isprintable())


@pytest.mark.parametrize(("text", "answer"), [("a*", True), ("a?", True), ("[id].tsx", True), ("a/b{c}.py", False)])
def test_glob_characters_are_noticed(text: str, answer: bool) -> None:
    assert has_glob(text) is answer


# -- comparing ---------------------------------------------------------------------------------------------------------

MEETING = [
    ("a", "a"),
    ("src", "src/a.py"),
    ("src", "src/b/c/a.py"),
    (".", "a"),
    (".", "."),
    ("a/b", "a"),
]
APART = [
    ("a.py", "a.pyi"),
    (".git", ".github"),
    (".git", ".github/x"),
    ("src", "srcs/a"),
    ("src/a", "a"),
    ("a", "A"),
    (NFC, NFD),
    ("src/**", "src/a.py"),
    ("src/[", "src/x"),
]


@pytest.mark.parametrize(("one", "other"), MEETING)
@pytest.mark.parametrize("kind", [FILE, DIRECTORY])
def test_a_path_meets_itself_and_what_lies_in_it_whatever_the_kinds(one: str, other: str, kind: str) -> None:
    assert meets(located(one, kind), stored(other))
    assert meets(located(other), stored(one, kind))


@pytest.mark.parametrize(("one", "other"), APART)
def test_other_paths_do_not_meet(one: str, other: str) -> None:
    assert not meets(located(one, DIRECTORY), stored(other, DIRECTORY))
    assert not meets(located(other, DIRECTORY), stored(one, DIRECTORY))


@pytest.mark.parametrize(
    ("one", "other", "folds"),
    [
        ("README.md", "readme.MD", [CASE]),
        ("Їжак", "їЖАК", [CASE]),
        (NFC, NFD, [FORM, CASE]),
        (NFC.upper(), NFD, [CASE]),
        ("straße", "STRASSE", [CASE]),
        ("co\u00adop", "coop", [FORM, CASE]),
        ("👩‍💻.md", "👩💻.md", [FORM, CASE]),
    ],
)
def test_names_are_compared_as_the_folder_does(one: str, other: str, folds: list[str]) -> None:
    found = [fold for fold in (EXACT, FORM, CASE) if same(located(one, fold=fold), stored(other))]
    assert found == folds
    assert folded_key(one) == folded_key(other)


def test_each_name_is_compared_as_its_own_folder_does() -> None:
    mixed = Located(path=stored("Src/Readme"), parts=("Src", "Readme"), folds=(EXACT, CASE))
    assert same(mixed, stored("Src/README"))
    assert not meets(mixed, stored("src/README"))
    assert not meets(mixed, stored("src"))


@given(PATHS, PATHS, FOLDS, KINDS, KINDS)
def test_meeting_does_not_depend_on_who_asks_second(one: str, other: str, fold: str, kind: str, second: str) -> None:
    assert meets(located(one, kind, fold), stored(other, second)) == meets(
        located(other, second, fold), stored(one, kind)
    )


@given(PATHS, PATHS)
def test_exact_paths_meet_if_one_is_the_beginning_of_the_other(one: str, other: str) -> None:
    shorter, longer = sorted((parts_of(one), parts_of(other)), key=len)
    assert meets(located(one), stored(other)) == (longer[: len(shorter)] == shorter)


@given(PATHS, PATHS, st.lists(FOLDS, min_size=4, max_size=4))
def test_keys_never_tell_apart_what_meets(one: str, other: str, folds: list[str]) -> None:
    parts = parts_of(one)
    place = Located(path=stored(one), parts=parts, folds=tuple(folds[: len(parts)]))
    mine, theirs = folded_key(one), folded_key(other)
    if meets(place, stored(other)):
        assert mine.startswith(theirs) or theirs.startswith(mine)
    if same(place, stored(other)):
        assert mine == theirs


@given(PATHS, COMPONENTS)
def test_the_key_of_a_folder_begins_that_of_what_lies_in_it_and_of_nothing_beside_it(path: str, name: str) -> None:
    inside = name if path == "." else f"{path}/{name}"
    beside = path + name
    assert folded_key(inside).startswith(folded_key(path))
    if path != "." and name.isascii() and path.isascii():
        assert not folded_key(beside).startswith(folded_key(path))


@given(PATHS, PATHS, FOLDS)
def test_same_is_neither_parent_nor_child(one: str, other: str, fold: str) -> None:
    place = located(one, fold=fold)
    assert same(place, stored(one))
    if len(parts_of(one)) != len(parts_of(other)):
        assert not same(place, stored(other))


def test_a_folder_covers_what_lies_in_it_and_a_file_itself() -> None:
    assert covers([stored("x"), stored("src", DIRECTORY)], located("src/a.py"))
    assert covers([stored("src", DIRECTORY)], located("src", DIRECTORY))
    assert covers([stored("src", DIRECTORY)], located("src", FILE))
    assert covers([stored(".", DIRECTORY)], located("a/b", DIRECTORY))
    assert covers([stored("README")], located("readme", fold=CASE))
    assert covers([stored("a")], located("a"))


def test_neither_a_file_nor_a_child_nor_a_neighbour_covers_a_folder() -> None:
    assert not covers([], located("a"))
    assert not covers([stored("a")], located("a", DIRECTORY))
    assert not covers([stored("a")], located("a/b"))
    assert not covers([stored("src/a.py"), stored("src/b", DIRECTORY)], located("src", DIRECTORY))
    assert not covers([stored("src", DIRECTORY)], located("srcs/a"))


@given(PATHS, KINDS, PATHS, KINDS, FOLDS)
def test_what_covers_also_meets(one: str, kind: str, other: str, second: str, fold: str) -> None:
    place = located(one, kind, fold)
    if covers([stored(other, second)], place):
        assert meets(place, stored(other, second))


# -- records -----------------------------------------------------------------------------------------------------------

FOREIGN = {"display_path": "docs/", "kind": "directory", "normalized_path": "docs"}


def test_a_record_of_another_program_is_read() -> None:
    assert parse_path(FOREIGN) == LockedPath(normalized_path="docs", display_path="docs/", kind="directory")
    assert parse_path({**FOREIGN, "kind": "file"}).kind == FILE
    assert parse_path({**FOREIGN, "normalized_path": "."}).normalized_path == "."
    assert parse_path({**FOREIGN, "normalized_path": "src/aux.c"}).normalized_path == "src/aux.c"


SOUND = PATHS.filter(lambda path: path == "." or not (fault_of_path(path) or {".", ".."} & set(path.split("/"))))


@given(SOUND, KINDS, st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_written_is_read_back(path: str, kind: str, written: str) -> None:
    whole = LockedPath(normalized_path=path, display_path=written, kind=kind)
    assert parse_path(to_json(whole)) == whole
    assert list(to_json(whole)) == sorted(to_json(whole))


@pytest.mark.parametrize("normalized", UNSAFE)
def test_an_unsafe_path_in_a_record_is_refused(normalized: object) -> None:
    with pytest.raises(PathError, match="normalized_path"):
        parse_path({**FOREIGN, "normalized_path": normalized})


@pytest.mark.parametrize(
    "value",
    [
        None,
        "docs",
        [],
        {},
        {key: FOREIGN[key] for key in ("display_path", "kind")},
        {**FOREIGN, "extra": 1},
        {**FOREIGN, "kind": "link"},
        {**FOREIGN, "kind": None},
        {**FOREIGN, "kind": []},
        {**FOREIGN, "display_path": None},
        {**FOREIGN, "display_path": 7},
    ],
)
def test_what_is_not_exactly_a_path_is_refused(value: object) -> None:
    with pytest.raises(PathError):
        parse_path(value)
