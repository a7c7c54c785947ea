"""Path locks as records: written and read back, strict field by field; and what a damaged one still tells."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat import names
from agent_chat.records.lease import Lease
from agent_chat.records.locked_path import DIRECTORY, FILE, LockedPath
from agent_chat.records.path_lock import PathLock, file_name, is_lock_id, parse, paths_in, render, to_json
from agent_chat.records.record_fields import INVALID, MISSING, TIMESTAMP, UNKNOWN, VERSION, RecordError

ID = "00112233445566aa"
TREE = "/home/bob/project"
AGENTS = st.from_regex(r"[A-Za-z0-9é]([A-Za-z0-9é_-]|\.(?!\.)){0,6}", fullmatch=True).filter(
    lambda name: names.fault_of_name(name) is None
)
INSTANTS = st.integers(0, 253402300799).map(float)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
PATHS = st.builds(
    LockedPath,
    normalized_path=st.just(".") | st.from_regex(r"[a-zЇ ]{1,4}(/[a-zЇ*~]{1,4}){0,3}", fullmatch=True),
    display_path=TEXTS,
    kind=st.sampled_from([FILE, DIRECTORY]),
)
LOCKS = st.builds(
    PathLock,
    lock_id=st.text("0123456789abcdef", min_size=16, max_size=64),
    channel=AGENTS,
    owner=AGENTS,
    paths=st.lists(PATHS, min_size=1, max_size=4).map(tuple),
    lease=st.builds(
        Lease,
        expires=INSTANTS,
        granted=INSTANTS,
        seconds=st.none() | st.integers(0, 10**7) | st.floats(0, 1e7),
        boot_id=st.none() | st.just("0b00"),
        boot_expires=st.none() | st.floats(0, 1e9),
    ),
    locked_at=INSTANTS,
    previous_owner=st.none() | AGENTS,
    previous_expires_at=st.none() | INSTANTS,
    recovery_reason=st.none() | TEXTS,
    fence=st.none() | st.integers(0, names.MAX_SEQ),
    session=st.none() | st.just("s-1"),
    reason=st.none() | TEXTS,
)
LOCK = PathLock(
    lock_id=ID,
    channel="dev",
    owner="bob",
    paths=(
        LockedPath(normalized_path="src/a.py", display_path="./src/a.py", kind=FILE, tree=TREE),
        LockedPath(normalized_path="docs", display_path="docs/", kind=DIRECTORY, tree=TREE),
    ),
    lease=Lease(expires=1767323345.0, granted=1767323105.0, seconds=300, boot_id="one", boot_expires=5300.5),
    locked_at=1767323045.0,
    previous_owner="carol",
    previous_expires_at=1767323000.0,
    recovery_reason="gone",
    fence=7,
    session="s-1",
    reason="a rewrite",
)
SOUND = json.loads(render(LOCK))
ADDED = ("schema_version", "fence", "lease_seconds", "boot_id", "boot_expires", "session", "reason", "workspace")


def with_fields(**fields: Any) -> bytes:
    """A record with fields that differ; one given as `...` is left out."""
    return json.dumps({name: value for name, value in {**SOUND, **fields}.items() if value is not ...}).encode()


@given(LOCKS)
def test_what_is_written_is_read_back(lock: PathLock) -> None:
    data = render(lock)
    assert parse(data) == lock
    assert render(parse(data)) == data
    assert paths_in(data) == lock.paths


def test_the_fields_of_a_record_and_their_order() -> None:
    assert list(json.loads(render(LOCK)).items()) == [
        ("schema_version", 1),
        ("lock_id", ID),
        ("channel", "dev"),
        ("owner", "bob"),
        (
            "paths",
            [
                {"display_path": "./src/a.py", "kind": "file", "normalized_path": "src/a.py"},
                {"display_path": "docs/", "kind": "directory", "normalized_path": "docs"},
            ],
        ),
        ("expires_at", "2026-01-02T03:09:05+00:00"),
        ("locked_at", "2026-01-02T03:04:05+00:00"),
        ("updated_at", "2026-01-02T03:05:05+00:00"),
        ("previous_owner", "carol"),
        ("previous_expires_at", "2026-01-02T03:03:20+00:00"),
        ("recovery_reason", "gone"),
        ("fence", 7),
        ("lease_seconds", 300),
        ("boot_id", "one"),
        ("boot_expires", 5300.5),
        ("session", "s-1"),
        ("reason", "a rewrite"),
        ("workspace", "/home/bob/project"),
    ]
    assert to_json(LOCK) == SOUND


def test_a_record_of_the_other_program_has_no_length_no_boot_and_no_fence() -> None:
    lock = parse(with_fields(**dict.fromkeys(ADDED, ...)))
    assert lock == LOCK.replace(
        lease=Lease(expires=1767323345.0, granted=1767323105.0),
        paths=tuple(path.replace(tree="") for path in LOCK.paths),
        fence=None,
        session=None,
        reason=None,
    )
    assert parse(render(lock)) == lock


# --- field by field -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOUND)
def test_a_field_that_is_missing_is_told(name: str) -> None:
    # Without the version it counts as the other program's, whose records have none of our fields.
    fault, told = (UNKNOWN, "fence") if name == "schema_version" else (MISSING, name)
    with pytest.raises(RecordError, match=told) as caught:
        parse(with_fields(**{name: ...}))
    assert caught.value.fault == fault


@pytest.mark.parametrize("name", ADDED[1:])
def test_the_other_program_has_none_of_our_fields(name: str) -> None:
    with pytest.raises(RecordError, match=name) as caught:
        parse(with_fields(**{each: ... for each in ADDED if each != name}))
    assert caught.value.fault == UNKNOWN


NO_TEXT: tuple[Any, ...] = ("", None, 1, True, [], {})


def faults(fault: str, fields: str, *values: Any) -> list[tuple[str, Any, str]]:
    """Values of some fields, each of which is a fault."""
    return [(name, value, fault) for name in fields.split() for value in values]


FAULTS: list[tuple[str, Any, str]] = [
    ("surprise", 1, UNKNOWN),
    ("schema_version", 2, VERSION),
    *faults(INVALID, "schema_version", 0, -1, "1", True, 1.0, []),
    *faults(INVALID, "lock_id", *NO_TEXT),
    *faults(INVALID, "lock_id", "a" * 15, "a" * 65, "A" * 16, "g" * 16, "../" + "a" * 16, "٣" * 16),
    *faults(INVALID, "channel", *NO_TEXT),
    *faults(INVALID, "owner", *NO_TEXT, "a b", "../x", "x" * 65, "e\u0301"),
    *faults(INVALID, "paths", None, "", "a.py", {}, [], [None], ["a.py"], [[]], [{}]),
    *faults(TIMESTAMP, "expires_at locked_at updated_at", *NO_TEXT, "soon"),
    *faults(TIMESTAMP, "previous_expires_at", "", "soon", 1, True),
    *faults(INVALID, "previous_owner", "", "a b", 1),
    *faults(INVALID, "recovery_reason boot_id session reason", "", 1, []),
    *faults(INVALID, "fence", -1, 1.5, "1", True, []),
    *faults(INVALID, "lease_seconds boot_expires", -1, "1", True, []),
]


@pytest.mark.parametrize(("name", "value", "fault"), FAULTS)
def test_a_field_of_another_kind_is_refused(name: str, value: Any, fault: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse(with_fields(**{name: value}))
    assert caught.value.fault == fault


ONE = {"display_path": "a", "kind": "file", "normalized_path": "a"}
# A path that breaks the rules, and what it most likely means; None where nothing can be made of it.
BAD_PATHS: list[tuple[Any, str | None]] = [
    ({**ONE, "more": 1}, "a"),
    ({"kind": "file", "normalized_path": "a"}, "a"),
    ({**ONE, "kind": "socket"}, "a"),
    ({**ONE, "kind": None}, "a"),
    ({**ONE, "display_path": 1}, "a"),
    *(({**ONE, "normalized_path": path}, "a") for path in ("/a", "a/", "./a", "a/.", "//a//")),
    *(({**ONE, "normalized_path": path}, "a/b") for path in ("a//b", "a\\b", "a/./b")),
    ({**ONE, "normalized_path": ""}, "."),
    *(
        ({**ONE, "normalized_path": path}, None)
        for path in ("../a", "a/..", "c:/a", "a/c:x", "a\nb", "a\0", "x" * 4097)
    ),
    ({**ONE, "normalized_path": None}, None),
    ({**ONE, "normalized_path": 1}, None),
    (None, None),
    ("a", None),
    ([], None),
    ({}, None),
]


@pytest.mark.parametrize(("path", "guess"), BAD_PATHS, ids=repr)
def test_one_bad_path_damages_the_record_and_what_can_be_read_is_told(path: Any, guess: str | None) -> None:
    data = with_fields(paths=[*SOUND["paths"][:1], path, *SOUND["paths"][1:]])
    with pytest.raises(RecordError) as caught:
        parse(data)
    assert caught.value.fault == INVALID
    told = paths_in(data)
    assert (told[0], told[-1]) == LOCK.paths
    assert [(each.normalized_path, each.kind) for each in told[1:-1]] == ([] if guess is None else [(guess, DIRECTORY)])


def test_names_that_a_call_is_refused_are_read_since_another_program_may_lock_them() -> None:
    paths = [{**ONE, "normalized_path": path} for path in ("con", "a/aux.txt", "trailing.", "x" * 300, "*", "~")]
    assert len(parse(with_fields(paths=paths)).paths) == len(paths)


def test_the_record_itself_is_strict_json_of_bounded_size() -> None:
    for data in (b"", b"[]", b"\xff", b"{", b"\xef\xbb\xbf" + render(LOCK), render(LOCK) + b"{}", b'{"a":1,"a":1}'):
        with pytest.raises(RecordError) as caught:
            parse(data)
        assert caught.value.fault == INVALID
    with pytest.raises(RecordError, match="larger"):
        parse(render(LOCK) + b" " * (1 << 20))


# --- what a damaged one tells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in SOUND if name != "paths"])
def test_whatever_else_is_damaged_the_paths_are_told(name: str) -> None:
    values: tuple[Any, ...] = (..., None, "", [], {}, -1, "x")
    for value in values:
        told = paths_in(with_fields(**{name: value}))
        assert [path.replace(tree=TREE) for path in told] == list(LOCK.paths)
        assert all(path.tree in (TREE, "", value) for path in told)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"1", b"{}", b'{"paths": 1}', b'{"paths": {}}', b'{"paths": [1, null, []]}', b"\xff"]
)
def test_bytes_without_paths_tell_none(data: bytes) -> None:
    assert paths_in(data) == ()


@given(st.binary(max_size=80))
def test_no_bytes_are_too_strange(data: bytes) -> None:
    assert paths_in(data) == ()
    with pytest.raises(RecordError):
        parse(data)


# --- ids ------------------------------------------------------------------------------------------------------------


def test_what_is_an_id() -> None:
    for text in ("0" * 16, "f" * 64, "00112233445566778899aabbccddeeff"):
        assert is_lock_id(text)
        assert file_name(text) == text + ".json"
    for text in (
        "",
        "0" * 15,
        "0" * 65,
        "F" * 16,
        "0x" + "1" * 16,
        "g" * 16,
        " " + "0" * 16,
        "0" * 15 + "\n",
        "²" * 16,
    ):
        assert not is_lock_id(text)
