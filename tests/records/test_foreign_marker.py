"""The pending markers of agent-chat-plugin: three kinds read as journal entries, and every damage refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_chat.records.foreign_marker import parse
from agent_chat.records.journal_entry import PHASES, Change, Entry, EntryError
from tests.support.leases import base64_of, lease_marker, lock_marker, marker_bytes

# As that program left it when it was killed in the middle of a claim, but for shorter records.
REAL = b"""{
  "claim_changes": [
    {
      "file": "T-1.bob.json",
      "next": "Y2xhaW0K",
      "previous": null
    }
  ],
  "details": {
    "lease_expires_at": "2026-11-30T07:54:12.000000+00:00",
    "lease_owner": "bob"
  },
  "event": "lease.claimed",
  "phase": "published",
  "task_after": "dGFrZW4K",
  "task_before": "b3Blbgo=",
  "task_file": "tasks/T-1.json",
  "task_id": "T-1",
  "transaction_id": "448056a8753e4f4bb27968939d08d85a",
  "version": 2
}
"""
ON_DISK = {"tasks/T-1.json": b"what is there\n"}


def read(marker: dict[str, Any], folder: str = "claims") -> Entry:
    """The entry that a marker means."""
    return parse(marker_bytes(marker), folder, ON_DISK.get)


def test_a_lease_marker_of_version_2() -> None:
    entry = parse(REAL, "claims", ON_DISK.get)
    assert entry == Entry(
        id="448056a8753e4f4bb27968939d08d85a",
        operation="lease.claimed",
        actor="",
        target="T-1",
        created="",
        changes=(
            Change(path="tasks/T-1.json", before=b"open\n", after=b"taken\n"),
            Change(path="claims/T-1.bob.json", before=None, after=b"claim\n"),
        ),
        message_file="",
        phase="published",
        proof=("lease.claimed", "448056a8753e4f4bb27968939d08d85a"),
    )
    assert entry.is_foreign
    assert entry.folders == ("tasks", "claims")


def test_a_lease_marker_of_version_1_proves_nothing_and_takes_the_task_as_it_is() -> None:
    entry = read(lease_marker(1))
    assert (entry.id, entry.proof) == ("", ("lease.claimed", ""))
    assert entry.changes[0] == Change(path="tasks/T-1.json", before=b"open\n", after=b"what is there\n")
    assert parse(marker_bytes(lease_marker(1)), "claims", lambda place: None).changes[0].after is None


def test_a_marker_of_a_path_lock() -> None:
    assert read(lock_marker(phase="prepared"), "locks") == Entry(
        id="ce93fc81f9ad4e4eb44b0d6e90c386b1",
        operation="lock",
        actor="bob",
        target="b667d998167b482fae2d50e6fddf7eec",
        created="",
        changes=(Change(path="locks/b667d998167b482fae2d50e6fddf7eec.json", before=None, after=b"lock\n"),),
        message_file="",
        phase="prepared",
        proof=("path.locked", "ce93fc81f9ad4e4eb44b0d6e90c386b1"),
    )


def test_claims_that_go_and_come_are_changes_of_files() -> None:
    changes = [
        {"file": "T-1.bob.json", "next": None, "previous": base64_of(b"old\n")},
        {"file": "T-1.2.bot.json", "next": base64_of(b"\xff\x00"), "previous": None},
    ]
    assert read(lease_marker(claim_changes=changes)).changes[1:] == (
        Change(path="claims/T-1.bob.json", before=b"old\n", after=None),
        Change(path="claims/T-1.2.bot.json", before=None, after=b"\xff\x00"),
    )
    assert len(read(lease_marker(claim_changes=[])).changes) == 1


@pytest.mark.parametrize("phase", PHASES)
def test_the_phases_are_the_same_words(phase: str) -> None:
    assert read(lease_marker(phase=phase)).phase == phase
    assert read(lease_marker(1, phase=phase)).phase == phase
    assert read(lock_marker(phase=phase), "locks").phase == phase


# --- damaged --------------------------------------------------------------------------------------------------------

WRONG: list[object] = [None, 7, True, [], {}, "", "\u00e9/", "xyz/" * 60 + "x"]


def refused(marker: dict[str, Any], folder: str) -> bool:
    """Tells whether a marker is refused as damaged."""
    try:
        read(marker, folder)
    except EntryError as error:
        return bool(str(error))
    return False


@pytest.mark.parametrize(
    ("marker", "folder"),
    [(lease_marker(1), "claims"), (lease_marker(2), "claims"), (lock_marker(), "locks")],
    ids=["lease 1", "lease 2", "lock"],
)
def test_a_field_that_is_missing_or_unknown_is_refused(marker: dict[str, Any], folder: str) -> None:
    assert not refused(marker, folder)
    for field in marker:
        assert refused({name: marker[name] for name in marker if name != field}, folder), field
    assert refused({**marker, "more": 1}, folder)


@pytest.mark.parametrize("value", WRONG, ids=ascii)
@pytest.mark.parametrize(
    ("marker", "folder", "field"),
    [(lease_marker(2), "claims", name) for name in lease_marker(2) if name not in ("details", "event")]
    + [(lock_marker(), "locks", name) for name in lock_marker() if name not in ("event", "operation", "actor")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_field_of_another_kind_is_refused(marker: dict[str, Any], folder: str, field: str, value: object) -> None:
    may_be_null = field in ("task_before", "task_after", "before", "after")
    # A list of no claims, and an empty file, are what they say.
    fine = (may_be_null and value in (None, "")) or (field == "claim_changes" and value == [])
    assert refused({**marker, field: value}, folder) != fine


@pytest.mark.parametrize("field", ["event", "operation", "actor"])
@pytest.mark.parametrize("value", [None, 7, True, [], {}, ""], ids=ascii)
def test_a_text_is_a_text(field: str, value: object) -> None:
    assert refused(lock_marker(**{field: value}), "locks")
    if field == "event":
        assert refused(lease_marker(event=value), "claims")


@pytest.mark.parametrize("version", [0, 3, -1, "2", 2.5, None, [], {}])
def test_another_version_is_refused(version: object) -> None:
    assert refused({**lease_marker(2), "version": version}, "claims")
    assert refused({**lock_marker(), "version": version}, "locks")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x.json", "a/b.json", "a\\b.json", "a\0.json", ".hidden.json", "x.txt", "/x.json"]
)
def test_a_file_that_is_no_record_of_the_folder_is_refused(name: str) -> None:
    change = {"file": name, "next": None, "previous": None}
    assert refused(lease_marker(claim_changes=[change]), "claims")
    assert refused(lock_marker(target=name), "locks")


@pytest.mark.parametrize(
    ("task_id", "place"),
    [
        ("T-1", "tasks/T-2.json"),
        ("T-1", "claims/T-1.json"),
        ("T-1", "tasks/../tasks/T-1.json"),
        ("../x", "tasks/../x.json"),
        ("a/b", "tasks/a/b.json"),
    ],
)
def test_the_task_of_a_lease_marker_is_where_its_id_says(task_id: str, place: str) -> None:
    assert refused(lease_marker(task_id=task_id, task_file=place), "claims")


@pytest.mark.parametrize("change", [None, 1, "x", [], {}, {"file": "a.json"}, {"file": "a.json", "next": None}])
def test_a_claim_change_that_is_not_whole_is_refused(change: object) -> None:
    assert refused(lease_marker(claim_changes=[change]), "claims")


@pytest.mark.parametrize("text", ["Y2xhaW0", "Y2xhaW0K Y", "Y2xh*aW0K", "Y2xhaW0K\n", "é", "=", "****A", 7, [], True])
def test_what_is_no_base64_is_refused(text: object) -> None:
    assert refused(lease_marker(task_before=text), "claims")
    assert refused(lease_marker(claim_changes=[{"file": "T-1.b.json", "next": text, "previous": None}]), "claims")
    assert refused(lock_marker(after=text), "locks")


@pytest.mark.parametrize("transaction", ["a/b", "..", "a b", "x" * 65, "é", "a\n"])
def test_an_id_that_could_not_be_part_of_a_file_name_is_refused(transaction: str) -> None:
    assert refused(lease_marker(transaction_id=transaction), "claims")
    assert refused(lock_marker(transaction_id=transaction), "locks")


@pytest.mark.parametrize("folder", ["claims", "locks"])
def test_what_is_torn_or_no_json_is_refused(folder: str) -> None:
    data = REAL if folder == "claims" else marker_bytes(lock_marker())
    assert json.loads(data)
    for cut in range(len(data) - 1):
        with pytest.raises(EntryError):
            parse(data[:cut], folder, ON_DISK.get)
    for junk in (b"\0" * len(data), b"[]", b"null", b"\xff", data + b"x"):
        with pytest.raises(EntryError):
            parse(junk, folder, ON_DISK.get)
