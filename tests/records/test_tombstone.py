"""Tombstones as text: what is written is read back, and what is none is passed over."""

from __future__ import annotations

import json

import pytest

from agent_chat.records import tombstone
from agent_chat.records.tombstone import Tombstone
from tests.support import schemas

HASH = "ab" * 32
LEAST = Tombstone(seq=5, file="0005-bob-m.md", sender="bob", created="2026-01-02T03:04:05+00:00", sha256=HASH)
WHOLE = LEAST.replace(
    topic="api/v2", key="k 1", content="cd" * 32, status="lease.claimed", transaction="t-1", was=(2, 3)
)
MOMENT = "2026-01-02T03:04:05+00:00"


@pytest.mark.parametrize("entry", [LEAST, WHOLE, LEAST.replace(sender="Zoë", file="0005-Zoë-über.md")])
def test_a_line_is_read_back_and_keeps_to_the_schema(entry: Tombstone) -> None:
    line = tombstone.render_line(entry)
    assert tombstone.parse_line(line.rstrip(b"\n")) == entry
    schemas.check("tombstone", json.loads(line[2:]))


def test_an_empty_field_is_not_written() -> None:
    assert list(json.loads(tombstone.render_line(LEAST)[2:])) == ["seq", "file", "from", "created", "sha256"]


def test_a_batch_begins_with_an_empty_line_and_a_heading() -> None:
    assert tombstone.render_batch([LEAST], MOMENT).startswith(f"\n## {MOMENT}\n\n- {{".encode())


def test_a_file_whose_name_is_no_text_has_no_tombstone() -> None:
    with pytest.raises(tombstone.TombstoneError):
        tombstone.render_line(LEAST.replace(file="0005-bob-\udcff.md"))


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 0},
        {"seq": "5"},
        {"seq": True},
        {"seq": 6},
        {"file": "bob.md"},
        {"file": 5},
        {"from": "b b"},
        {"from": None},
        {"created": 5},
        {"sha256": "ab"},
        {"sha256": "AB" * 32},
        {"topic": ["api"]},
        {"was": 4},
        {"was": ["4"]},
    ],
)
def test_a_line_with_a_wrong_field_is_none(change: dict[str, object]) -> None:
    fields = {**tombstone.to_json(LEAST), **change}
    with pytest.raises(tombstone.TombstoneError):
        tombstone.parse_line(b"- " + json.dumps(fields).encode())


@pytest.mark.parametrize("line", [b"", b"- ", b"- {", b"- []", b"text", b"- {} {}", b'- {"seq": 5}', b"- \xff"])
def test_a_line_that_is_no_object_is_none(line: bytes) -> None:
    with pytest.raises(tombstone.TombstoneError):
        tombstone.parse_line(line)


def test_a_field_that_is_not_known_is_left_alone() -> None:
    fields = {**tombstone.to_json(LEAST), "later": 1}
    assert tombstone.parse_line(b"- " + json.dumps(fields).encode()) == LEAST


SECOND = LEAST.replace(seq=6, file="0006-bob-n.md")
BATCH, NEXT = tombstone.render_batch([LEAST], MOMENT), tombstone.render_batch([SECOND], MOMENT)


def test_a_torn_line_swallows_nothing_and_is_no_fault() -> None:
    for cut in range(len(BATCH)):
        found, faults = tombstone.parse(BATCH[:cut] + NEXT)
        assert (found, faults) in (([SECOND], []), ([LEAST, SECOND], [])), cut


def test_every_prefix_of_the_file_is_read_without_a_fault() -> None:
    whole = BATCH + NEXT
    for cut in range(len(whole) + 1):
        found, faults = tombstone.parse(whole[:cut])
        assert faults == []
        assert found == [LEAST, SECOND][: len(found)]


def test_marks_of_a_merge_and_lines_that_are_there_twice_are_passed_over() -> None:
    merged = b"<<<<<<< HEAD\n" + BATCH + b"||||||| base\n=======\r\n" + BATCH + NEXT + b">>>>>>> theirs\n"
    assert tombstone.parse(merged) == ([LEAST, SECOND], [])


def test_a_malformed_line_before_others_is_a_fault_with_its_number() -> None:
    found, faults = tombstone.parse(b"# mine\n- {torn\n" + tombstone.render_line(LEAST))
    assert found == [LEAST]
    assert [number for number, _ in faults] == [2]


def test_of_two_lines_about_one_file_the_last_counts() -> None:
    again = LEAST.replace(sha256="cd" * 32)
    assert tombstone.parse(tombstone.render_line(LEAST) + tombstone.render_line(again))[0] == [again]


def test_a_digest_tells_content_and_parent_apart() -> None:
    content = {"title": "t", "to": ["a"], "refs": ("path:a",)}
    same = {"refs": ("path:a",), "to": ["a"], "title": "t"}
    digests = {
        tombstone.content_digest(content, None),
        tombstone.content_digest(content, 3),
        tombstone.content_digest({**content, "title": "u"}, 3),
    }
    assert len(digests) == 3
    assert tombstone.content_digest(dict(sorted(same.items())), 3) in digests
