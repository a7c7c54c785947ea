"""The pending markers of agent-chat-plugin 0.7, read as journal entries.

A lease marker of version 1 has neither a transaction id nor the task's bytes after the change; one of version 2 has
both. A path-lock marker has version 1 and an id. Where there is an id, the body of the audit message carries it too.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64

from agent_chat import names
from agent_chat.records import json_codec
from agent_chat.records.journal_entry import PHASES, Change, Entry, EntryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[[str], "bytes | None"]

_LEASE_KEYS = {"claim_changes", "details", "event", "phase", "task_before", "task_file", "task_id", "version"}
_LOCK_KEYS = {"actor", "after", "before", "event", "operation", "phase", "target", "transaction_id", "version"}


def parse(data: bytes, folder: str, read: Read) -> Entry:
    """Returns the entry that a marker's bytes mean; fails with EntryError.

    `folder` is where the marker lies, "claims" or "locks". `read` returns the bytes of a record as they are now: what a
    marker of version 1 does not say of the task after the change is taken to be what is there.
    """
    try:
        marker = json_codec.object_of(json_codec.decode(data, "the marker"), "the marker")
        entry = _lock_entry(marker, folder) if folder == "locks" else _lease_entry(marker, folder, read)
    except json_codec.JsonError as error:
        raise EntryError(str(error)) from error
    if entry.phase not in PHASES:
        raise EntryError(f"{names.quoted(entry.phase)} is no phase")
    return entry


def _lease_entry(marker: dict[str, object], folder: str, read: Read) -> Entry:
    version = marker.get("version")
    wanted = _LEASE_KEYS if version == 1 else _LEASE_KEYS | {"task_after", "transaction_id"}
    if type(version) is not int or version not in (1, 2):
        raise EntryError(f"version {version!r} of the marker is unknown")
    _require(marker, wanted)
    place = _text(marker, "task_file")
    if names.fault_of_task_id(_text(marker, "task_id")) or place != f"tasks/{marker['task_id']}.json":
        raise EntryError("task_file and task_id do not fit")
    before = _bytes(marker, "task_before")
    if version == 2:
        after = _bytes(marker, "task_after")
    else:
        after = read(place)
    changes = [Change(path=place, before=before, after=after)]
    claims = marker["claim_changes"]
    if not isinstance(claims, list):
        raise EntryError("claim_changes must be a list")
    for item in claims:
        if not isinstance(item, dict):
            raise EntryError("a claim change is not whole")
        _require(item, {"file", "next", "previous"})
        changes.append(
            Change(path=f"{folder}/{_file(item, 'file')}", before=_bytes(item, "previous"), after=_bytes(item, "next"))
        )
    transaction = _transaction(marker) if version == 2 else ""
    return Entry(
        id=transaction,
        operation=_text(marker, "event"),
        actor="",
        target=_text(marker, "task_id"),
        created="",
        changes=tuple(changes),
        message_file="",
        phase=_text(marker, "phase"),
        proof=(_text(marker, "event"), transaction),
    )


def _lock_entry(marker: dict[str, object], folder: str) -> Entry:
    version = marker.get("version")
    if type(version) is not int or version != 1:
        raise EntryError(f"version {version!r} of the marker is unknown")
    _require(marker, _LOCK_KEYS)
    change = Change(
        path=f"{folder}/{_file(marker, 'target')}", before=_bytes(marker, "before"), after=_bytes(marker, "after")
    )
    transaction = _transaction(marker)
    return Entry(
        id=transaction,
        operation=_text(marker, "operation"),
        actor=_text(marker, "actor"),
        target=_file(marker, "target").rpartition(".")[0],
        created="",
        changes=(change,),
        message_file="",
        phase=_text(marker, "phase"),
        proof=(_text(marker, "event"), transaction),
    )


def _require(marker: dict[str, object], wanted: set[str]) -> None:
    if set(marker) != wanted:
        odd = min(set(marker) ^ wanted)
        raise EntryError(f"the field {names.quoted(odd)} is {'unknown' if odd in marker else 'missing'}")


def _text(marker: dict[str, object], key: str) -> str:
    value = marker[key]
    if not isinstance(value, str) or not value:
        raise EntryError(f"{key} must be a text")
    return value


def _transaction(marker: dict[str, object]) -> str:
    """Returns the transaction's id, which may become part of a file name."""
    value = _text(marker, "transaction_id")
    if len(value) > names.MAX_NAME_BYTES or not (value.isascii() and value.isalnum()):
        raise EntryError(f"transaction_id {names.quoted(value)} is no id")
    return value


def _file(marker: dict[str, object], key: str) -> str:
    value = _text(marker, key)
    if "/" in value or "\\" in value or "\0" in value or value.startswith(".") or not value.endswith(".json"):
        raise EntryError(f"{names.quoted(value)} is no record's file name")
    return value


def _bytes(marker: dict[str, object], key: str) -> bytes | None:
    value = marker[key]
    if value is None:
        return None
    if not isinstance(value, str):
        raise EntryError(f"{key} must be base64 or null")
    try:
        data = a2b_base64(value.encode("ascii"))
    except (Base64Error, UnicodeEncodeError) as error:
        raise EntryError(f"{key} is no base64") from error
    if b2a_base64(data, newline=False).decode("ascii") != value:
        raise EntryError(f"{key} is damaged base64")  # the decoder passes over what it does not know
    return data
