"""Tasks as records: what is written is read back, by whom it was written, and which statuses follow which."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import task as task_record
from agent_chat.records.record_fields import INVALID, RecordError
from agent_chat.records.task import (
    BLOCKED,
    CANCELLED,
    DONE,
    FINAL,
    IN_PROGRESS,
    NEEDS_DEPENDENCIES,
    OPEN,
    STATUSES,
    TRANSITIONS,
    Task,
    parse,
    render,
)
from tests.support.leases import legacy_task

IDS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_-]|\.(?!\.)){0,20}", fullmatch=True)
LINES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
NAMES = st.sampled_from(["alice", "Bob", "c.d-e_f", "Їжак", "さくら", "ñandú", "x" * 64])
INSTANTS = st.integers(0, 253402300799).map(float)
TASKS = st.builds(
    Task,
    id=IDS,
    channel=NAMES,
    title=LINES,
    created_by=NAMES,
    updated_at=INSTANTS,
    status=st.sampled_from(STATUSES),
    owner=st.none() | NAMES,
    depends_on=st.lists(IDS, max_size=4).map(tuple),
    files_hint=st.lists(LINES, max_size=3).map(tuple),
    acceptance=st.lists(LINES, max_size=3).map(tuple),
    lease_expires_at=st.none() | INSTANTS,
    branch=st.none() | LINES,
)


@given(TASKS)
def test_what_is_written_is_read_back(task: Task) -> None:
    data = render(task)
    assert parse(data) == task
    assert render(parse(data)) == data


def test_the_fields_of_a_record_and_their_order() -> None:
    task = Task(id="T-1", channel="dev", title="t", created_by="alice", updated_at=1767323045.0)
    assert list(json.loads(render(task)).items()) == [
        ("schema_version", 1),
        ("id", "T-1"),
        ("channel", "dev"),
        ("title", "t"),
        ("status", "open"),
        ("owner", None),
        ("created_by", "alice"),
        ("depends_on", []),
        ("files_hint", []),
        ("acceptance", []),
        ("lease_expires_at", None),
        ("branch", None),
        ("updated_at", "2026-01-02T03:04:05+00:00"),
    ]


def test_a_record_of_the_other_program_is_read_and_rewritten_as_ours() -> None:
    data = legacy_task(
        status="in_progress", owner="bob", depends_on=["T-0"], lease_expires_at="2026-01-02T03:09:05.250000+00:00"
    )
    task = parse(data)
    assert task == Task(
        id="T-1",
        channel="dev",
        title="t",
        created_by="alice",
        updated_at=1767323045.0,
        status=IN_PROGRESS,
        owner="bob",
        depends_on=("T-0",),
        lease_expires_at=1767323345.25,
    )
    assert json.loads(render(task)) == {
        "schema_version": 1,
        **json.loads(data),
        "lease_expires_at": "2026-01-02T03:09:05+00:00",
    }


@pytest.mark.parametrize("id", ["", "..", "a..b", ".a", "-a", "_a", "a b", "a/b", "ä", "x" * 65, "a\n", "../x", "a\0"])
def test_what_is_no_task_id_is_refused_also_among_the_dependencies(id: str) -> None:
    for data in (legacy_task(id), legacy_task(depends_on=["T-2", id])):
        with pytest.raises(RecordError) as caught:
            parse(data)
        assert caught.value.fault == INVALID


@pytest.mark.parametrize("status", ["OPEN", "closed", "in progress", "todo", " open"])
def test_an_unknown_status_is_refused(status: str) -> None:
    with pytest.raises(RecordError, match="unknown status"):
        parse(legacy_task(status=status))


def test_which_status_follows_which() -> None:
    follows = {
        (OPEN, IN_PROGRESS),
        (OPEN, BLOCKED),
        (OPEN, CANCELLED),
        (IN_PROGRESS, OPEN),
        (IN_PROGRESS, BLOCKED),
        (IN_PROGRESS, DONE),
        (IN_PROGRESS, CANCELLED),
        (BLOCKED, OPEN),
        (BLOCKED, IN_PROGRESS),
        (BLOCKED, CANCELLED),
    }
    assert {(old, new) for old in STATUSES for new in TRANSITIONS[old]} == follows
    assert {old for old in STATUSES if not TRANSITIONS[old]} == set(FINAL)
    assert set(NEEDS_DEPENDENCIES) == {IN_PROGRESS, DONE}
    assert task_record.TRANSITIONS.keys() == set(STATUSES)
