"""Journal entries: read back as written, at every byte that a kill or a power loss may leave; and the decision."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records.journal_entry import (
    AFTER,
    APPLIED,
    BEFORE,
    FINISH,
    MAX_BYTES,
    NEITHER,
    PHASES,
    PREPARED,
    PUBLISHED,
    RECOVERED,
    REFUSE,
    UNCHANGED,
    UNDO,
    Change,
    Entry,
    EntryError,
    LaterEntryError,
    decide,
    parse,
    phase_line,
    render,
    state_of,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["```\nprepared\n", "\n```\n", "---\n", '"\\\u2028', "prepared\napplied\n", "\0"]
)
DATA = st.none() | TEXTS.map(str.encode)
WORDS = st.sampled_from(["claim", "bob", "Їжак", "null", "12", "yes", "T-1.2", "さ" * 21, "x" * 64, "0123456789abcdef"])
CHANGES = st.lists(
    st.builds(
        Change,
        path=st.sampled_from(["tasks/T-1.json", "claims/T-1.b%2Ec.json", "claims/Ї.json", "locks/ab.json"]),
        before=DATA,
        after=DATA,
    ),
    max_size=4,
).map(tuple)
ENTRIES = st.builds(
    Entry,
    id=WORDS,
    operation=WORDS,
    actor=WORDS,
    target=WORDS,
    created=st.just("2026-01-02T03:04:05+00:00"),
    changes=CHANGES,
    message_file=st.sampled_from(["0001-bob-t.md", "12345-Їжак-заголовок.md"]),
    message=TEXTS.map(str.encode),
)
ENTRY = Entry(
    id="0123456789abcdef",
    operation="claim",
    actor="bob",
    target="T-1",
    created="2026-01-02T03:04:05+00:00",
    changes=(
        Change(path="tasks/T-1.json", before=b"open\n", after=b"taken\n"),
        Change(path="claims/T-1.bob.json", before=None, after=b"claim\n"),
    ),
    message_file="0002-bob-lease-claimed-t-1.md",
    message=b"---\nseq: 2\n---\n",
)
DATA_OF_ENTRY = render(ENTRY)


@given(ENTRIES)
def test_what_is_written_is_read_back_in_every_phase(entry: Entry) -> None:
    data = render(entry)
    for phase in PHASES:
        if phase != PREPARED:
            data += phase_line(phase)
        assert parse(data) == entry.replace(phase=phase)


def test_how_an_entry_is_written() -> None:
    assert (DATA_OF_ENTRY + phase_line(APPLIED) + phase_line(PUBLISHED)).decode() == (
        "---\n"
        "schema_version: 1\n"
        'id: "0123456789abcdef"\n'
        "operation: claim\n"
        "actor: bob\n"
        "target: T-1\n"
        'created: "2026-01-02T03:04:05+00:00"\n'
        "---\n"
        "```json\n"
        "{\n"
        '  "changes": [\n'
        "    {\n"
        '      "path": "tasks/T-1.json",\n'
        '      "before": "open\\n",\n'
        '      "after": "taken\\n"\n'
        "    },\n"
        "    {\n"
        '      "path": "claims/T-1.bob.json",\n'
        '      "before": null,\n'
        '      "after": "claim\\n"\n'
        "    }\n"
        "  ],\n"
        '  "message": {\n'
        '    "file": "0002-bob-lease-claimed-t-1.md",\n'
        '    "text": "---\\nseq: 2\\n---\\n"\n'
        "  }\n"
        "}\n"
        "```\n"
        "prepared\n"
        "applied\n"
        "published\n"
    )
    assert ENTRY.folders == ("tasks", "claims")
    assert not ENTRY.is_foreign


# --- torn -----------------------------------------------------------------------------------------------------------


def test_before_its_first_phase_is_whole_it_is_no_entry() -> None:
    for cut in range(len(DATA_OF_ENTRY)):
        with pytest.raises(EntryError):
            parse(DATA_OF_ENTRY[:cut])


@pytest.mark.parametrize("before", PHASES)
def test_a_phase_counts_only_with_its_end_whatever_a_power_loss_left_of_it(before: str) -> None:
    """The bytes of the next line reach the disk up to any one of them; the rest is missing, or zeros."""
    at = PHASES.index(before)
    data = DATA_OF_ENTRY + b"".join(map(phase_line, PHASES[1 : at + 1]))
    line = phase_line((*PHASES, RECOVERED + "bob")[at + 1])
    for cut in range(len(line)):
        for tail in (line[:cut], line[:cut].ljust(len(line), b"\0")):
            assert parse(data + tail) == ENTRY.replace(phase=before, torn=bool(tail))


@pytest.mark.parametrize("before", PHASES)
def test_after_a_torn_line_a_recovery_begins_a_new_one(before: str) -> None:
    at = PHASES.index(before)
    data = DATA_OF_ENTRY + b"".join(map(phase_line, PHASES[1 : at + 1]))
    line = phase_line((*PHASES, RECOVERED + "bob")[at + 1])
    end = phase_line(RECOVERED + "carol", torn=True)
    for cut in range(len(line)):
        for tail in (line[:cut], line[:cut].ljust(len(line), b"\0")):
            # A whole word whose end alone was lost gets it now; it was written, after all.
            whole = cut == len(line) - 1 and len(tail) == cut and at + 1 < len(PHASES)
            assert parse(data + tail + end) == ENTRY.replace(phase=PHASES[at + whole])


def test_a_recovery_may_be_killed_and_repeated() -> None:
    data = DATA_OF_ENTRY + phase_line(APPLIED)
    for _ in range(3):
        data += phase_line(RECOVERED + "bob")
        assert parse(data) == ENTRY.replace(phase=APPLIED)
        data += phase_line(RECOVERED + "bob")[:-2]
        assert parse(data) == ENTRY.replace(phase=APPLIED, torn=True)
        data += phase_line(RECOVERED + "carol", torn=True)
        assert parse(data) == ENTRY.replace(phase=APPLIED)


@pytest.mark.parametrize(
    "tail",
    [
        b"published\n",
        b"prepared\n",
        b"applied\napplied\n",
        b"applied\nprepared\n",
        b"applied\npublished\npublished\n",
        b"Applied\n",
        b"applied \n",
        b"applied\r\n",
        b"garbage\n",
        b"\xff\xfe\n",
        b"appx\0\0\0\0",
    ],
)
def test_a_line_that_is_no_phase_in_its_turn_is_damage(tail: bytes) -> None:
    if tail.endswith(b"\n"):
        with pytest.raises(EntryError, match="is no phase"):
            parse(DATA_OF_ENTRY + tail)
    else:
        assert parse(DATA_OF_ENTRY + tail).torn
        with pytest.raises(EntryError, match="is no phase"):
            parse(DATA_OF_ENTRY + tail + phase_line(RECOVERED + "bob", torn=True))


# --- damaged --------------------------------------------------------------------------------------------------------


def replaced(old: str, new: str) -> bytes:
    """The entry with a piece of its text replaced."""
    text = DATA_OF_ENTRY.decode()
    assert old in text
    return text.replace(old, new, 1).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 500,
        b"# text\n",
        DATA_OF_ENTRY.replace(b"open", b"\xff\xff"),
        replaced("---\n```json\n", "---\n```yaml\n"),
        replaced("schema_version: 1\n", ""),
        replaced("schema_version: 1", "schema_version: 0"),
        replaced("schema_version: 1", "schema_version: '1'"),
        replaced("schema_version: 1", "schema_version:"),
        replaced("actor: bob\n", ""),
        replaced("actor: bob\n", "actor: bob\nmore: 1\n"),
        replaced("operation: claim\nactor: bob\n", "actor: bob\noperation: claim\n"),
        replaced('{\n  "changes"', '[\n  "changes"'),
        replaced('"changes": [', '"changes": 7, "more": ['),
        replaced('"message": {', '"massage": {'),
        replaced('"file": "0002-bob-lease-claimed-t-1.md"', '"file": ""'),
        replaced('"file": "0002-', '"file": "../0002-'),
        replaced('"file": "0002-', '"file": "..\\\\0002-'),
        replaced('"file": "0002-bob-lease-claimed-t-1.md"', '"file": 7'),
        replaced('"text": "', '"more": 1, "text": "'),
        replaced('"text": "---\\nseq: 2\\n---\\n"', '"text": null'),
        replaced('"before": "open\\n"', '"before": 7'),
        replaced('"after": "taken\\n"', '"after": ["taken"]'),
        replaced('"after": "taken\\n"', '"after": "\\ud800"'),
        replaced('"before": null,', ""),
        replaced('"before": null,', '"before": null, "more": 1,'),
        replaced('"path": "tasks/T-1.json"', '"path": 7'),
        DATA_OF_ENTRY + b"x" * (MAX_BYTES + 1 - len(DATA_OF_ENTRY)),
    ],
    ids=itertools.count(),
)
def test_what_is_damaged_is_refused(data: bytes) -> None:
    with pytest.raises(EntryError) as caught:
        parse(data)
    assert not isinstance(caught.value, LaterEntryError)
    assert str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        *("", "T.json", "tasks/", "/T.json", "tasks/a/T.json", "../T.json/x/y", "tasks/../x", "tasks/.lock"),
        *("tasks/..", "tasks/a\\\\b", "tasks/a\\u0000b", "tasks//T.json"),
    ],
)
def test_a_path_that_is_none_of_a_record_is_refused(path: str) -> None:
    with pytest.raises(EntryError):
        parse(replaced("tasks/T-1.json", path))


@pytest.mark.parametrize("field", ["id", "operation", "actor", "target", "created"])
@pytest.mark.parametrize("value", ["", "null", "7", "[a, b]", "''", "a/b", "..\\b", '"a\\nb"', '"\\ud800"', "x" * 65])
def test_a_header_value_that_cannot_be_part_of_a_file_name_is_refused(field: str, value: str) -> None:
    lines = [
        f"{field}: {value}" if line.startswith(field + ":") else line for line in DATA_OF_ENTRY.decode().split("\n")
    ]
    with pytest.raises(EntryError):
        parse("\n".join(lines).encode())


@pytest.mark.parametrize("version", ["2", "99"])
def test_an_entry_of_a_later_version_is_told_as_one(version: str) -> None:
    for data in (
        replaced("schema_version: 1", f"schema_version: {version}"),
        replaced("schema_version: 1", f"schema_version: {version}\nfuture: 1"),
    ):
        with pytest.raises(LaterEntryError):
            parse(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_entry_or_refused(data: bytes) -> None:
    for candidate in (data, DATA_OF_ENTRY[: len(data)] + data, DATA_OF_ENTRY + data):
        with contextlib.suppress(EntryError):
            assert parse(candidate).replace(torn=False, phase=PREPARED) == ENTRY


# --- the decision ---------------------------------------------------------------------------------------------------

BY_PHASE: dict[tuple[str, bool], str] = {
    (PREPARED, False): UNDO,
    (APPLIED, False): UNDO,
    (PUBLISHED, False): REFUSE,
    (PREPARED, True): REFUSE,
    (APPLIED, True): FINISH,
    (PUBLISHED, True): FINISH,
}
STATES = (BEFORE, AFTER, NEITHER, UNCHANGED)


def expected(phase: str, visible: bool | None, states: tuple[str, ...]) -> str:
    """The table of the contract, in its own words."""
    if NEITHER in states or visible is None:
        return REFUSE
    decision = BY_PHASE[phase, visible]
    return REFUSE if decision == FINISH and BEFORE in states else decision


def test_the_whole_table_of_decisions() -> None:
    visibles: tuple[Any, ...] = (True, False, None)
    counted = {UNDO: 0, FINISH: 0, REFUSE: 0}
    for size in range(4):
        for states in itertools.product(STATES, repeat=size):
            for phase, visible in itertools.product(PHASES, visibles):
                decision = decide(phase, visible, iter(states))
                assert decision == expected(phase, visible, states), (phase, visible, states)
                counted[decision] += 1
    # 85 sets of files up to three; 40 of them have no NEITHER, and 15 of those no BEFORE.
    assert counted == {UNDO: 2 * 40, FINISH: 2 * 15, REFUSE: 9 * 85 - 110}


@pytest.mark.parametrize(
    ("before", "after", "data", "state"),
    [
        (b"a", b"b", b"a", BEFORE),
        (b"a", b"b", b"b", AFTER),
        (b"a", b"b", b"c", NEITHER),
        (b"a", b"b", None, NEITHER),
        (None, b"b", None, BEFORE),
        (None, b"b", b"b", AFTER),
        (None, b"b", b"", NEITHER),
        (b"a", None, None, AFTER),
        (b"a", None, b"a", BEFORE),
        (b"a", None, b"b", NEITHER),
        (b"a", b"a", b"a", UNCHANGED),
        (b"a", b"a", b"b", NEITHER),
        (None, None, None, UNCHANGED),
        (None, None, b"", NEITHER),
    ],
)
def test_what_a_file_is_found_to_be(before: bytes | None, after: bytes | None, data: bytes | None, state: str) -> None:
    assert state_of(Change(path="tasks/T.json", before=before, after=after), data) == state
