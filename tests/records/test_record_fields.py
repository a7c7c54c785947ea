"""Records are read strictly: each field in turn missing, of another kind, or wrong, and the fault that it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_chat.records import claim, task
from agent_chat.records.lease import Lease
from agent_chat.records.record_fields import (
    INVALID,
    MAX_BYTES,
    MISSING,
    TIMESTAMP,
    UNKNOWN,
    VERSION,
    RecordError,
    instant_text,
)
from tests.support.leases import STAMP, legacy_claim, legacy_task

TASK = task.to_json(task.Task(id="T-1", channel="dev", title="t", created_by="alice", updated_at=1767323045.0))
CLAIM = claim.to_json(
    claim.Claim(
        task_id="T-1",
        channel="dev",
        owner="bob",
        lease=Lease(expires=1767323345.0, granted=1767323045.0, seconds=300, boot_id="one", boot_expires=5300.0),
        claimed_at=1767323045.0,
        fence=7,
        session="s-1",
    )
)
RECORDS: dict[str, tuple[Any, dict[str, object]]] = {"task": (task.parse, TASK), "claim": (claim.parse, CLAIM)}
VALUES: dict[str, object] = {
    "null": None,
    "integer": 7,
    "negative": -1,
    "fraction": 1.5,
    "bool": True,
    "no list": [],
    "list": ["x"],
    "numbers": [1],
    "object": {},
    "deep": [["x"]],
    "empty": "",
    "word": "x",
    "words": "x y",
    "date": STAMP,
    "wrong date": "2026-02-30T00:00:00Z",
    "no offset": "2026-01-02T03:04:05",
    "huge": "x" * MAX_BYTES,
}
TEXTS = {"word", "words", "date", "wrong date", "no offset"}
# What each kind of field takes; every other value is refused.
KINDS = {
    "text": TEXTS,
    "optional text": TEXTS | {"null"},
    "id": {"word"},
    "status": set(),
    "agent": {"word"},
    "optional agent": {"word", "null"},
    "list": {"no list", "list"},
    "instant": {"date"},
    "optional instant": {"date", "null"},
    "number": {"null", "integer", "fraction"},
    "integer": {"null", "integer"},
}
OF_FIELD = {
    "id": "id",
    "task_id": "id",
    "channel": "text",
    "title": "text",
    "status": "status",
    "created_by": "agent",
    "previous_owner": "optional agent",
    "depends_on": "list",
    "files_hint": "list",
    "acceptance": "list",
    "branch": "optional text",
    "recovery_reason": "optional text",
    "boot_id": "optional text",
    "session": "optional text",
    "updated_at": "instant",
    "claimed_at": "instant",
    "previous_lease_expires_at": "optional instant",
    "fence": "integer",
    "lease_seconds": "number",
    "boot_expires": "number",
    # These two may be null in a task and not in a claim.
    "task.owner": "optional agent",
    "claim.owner": "agent",
    "task.lease_expires_at": "optional instant",
    "claim.lease_expires_at": "instant",
}


def fault_of(kind: str, record: dict[str, object]) -> str | None:
    """The fault for which a record is refused, None when it is taken."""
    try:
        RECORDS[kind][0](json.dumps(record).encode())
    except RecordError as error:
        return error.fault if str(error) else "no reason"
    return None


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind, field) for kind, (_, record) in RECORDS.items() for field in record if field != "schema_version"],
)
def test_a_field_takes_its_own_kind_only(kind: str, field: str, value: str) -> None:
    takes = OF_FIELD.get(field) or OF_FIELD[f"{kind}.{field}"]
    fault = TIMESTAMP if "instant" in takes and value != "huge" else INVALID
    expected = None if value in KINDS[takes] else fault
    assert fault_of(kind, {**RECORDS[kind][1], field: VALUES[value]}) == expected


@pytest.mark.parametrize("kind", RECORDS)
def test_every_field_must_be_there_and_no_other(kind: str) -> None:
    record = RECORDS[kind][1]
    without = {field: {name: record[name] for name in record if name != field} for field in record}
    found = {field: fault_of(kind, left) for field, left in without.items()}
    # Without the version a record is the other program's, which has none of the fields that are ours alone.
    ours_alone = UNKNOWN if kind == "claim" else None
    assert found == {field: MISSING if field != "schema_version" else ours_alone for field in record}
    assert fault_of(kind, {**record, "priority": 1}) == UNKNOWN
    assert fault_of(kind, record) is None


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize(
    ("version", "fault"),
    [
        *[(2, VERSION), (10**9, VERSION), (0, INVALID), (-1, INVALID), (True, INVALID), (1.0, INVALID)],
        *[("1", INVALID), ([1], INVALID), ({}, INVALID), (None, UNKNOWN)],
    ],
)
def test_a_version_that_is_not_ours_is_refused(kind: str, version: object, fault: str) -> None:
    assert fault_of(kind, {**RECORDS[kind][1], "schema_version": version}) == fault


@pytest.mark.parametrize("kind", RECORDS)
def test_a_later_version_is_told_as_one_whatever_its_fields(kind: str) -> None:
    assert fault_of(kind, {"schema_version": 2, "future": True}) == VERSION


@pytest.mark.parametrize(("kind", "data"), [("task", legacy_task()), ("claim", legacy_claim())])
def test_a_record_of_the_other_program_has_none_of_our_fields(kind: str, data: bytes) -> None:
    record = json.loads(data)
    assert fault_of(kind, record) is None
    for field in ("fence", "session", "lease_seconds", "boot_id", "boot_expires"):
        assert fault_of(kind, {**record, field: None}) == UNKNOWN
    for field in record:
        assert fault_of(kind, {name: record[name] for name in record if name != field}) == MISSING


@pytest.mark.parametrize("parse", [task.parse, claim.parse])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\0" * 64,
        b"\xff",
        b"[]",
        b"null",
        b"1",
        b'"x"',
        b"{",
        b"{}{}",
        b"---\nseq: 1\n---\n",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a": 1, "a": 1}',
        b"[" * 10_000,
        b" " * (MAX_BYTES + 1),
    ],
    ids=lambda data: ascii(data[:12]) if isinstance(data, bytes) else None,
)
def test_what_is_no_json_object_is_no_record(parse: Any, data: bytes) -> None:
    with pytest.raises(RecordError) as caught:
        parse(data)
    assert caught.value.fault == INVALID


@pytest.mark.parametrize(
    "name", ["all you need", "a..b", ".a", "a.", "con", "x" * 65, "e\u0301", "a/b", "a\n", "\u202ea"]
)
def test_what_is_no_agent_name_is_refused_also_in_records(name: str) -> None:
    assert fault_of("task", {**TASK, "created_by": name}) == INVALID
    assert fault_of("task", {**TASK, "owner": name}) == INVALID
    assert fault_of("claim", {**CLAIM, "owner": name}) == INVALID


def test_whole_seconds_are_written() -> None:
    assert (instant_text(1767323045.999), instant_text(None)) == (STAMP, None)
