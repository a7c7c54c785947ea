"""A session's record: written and read back, and refused where it is not as this version writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_chat.records import record_fields
from agent_chat.records import session as session_record
from agent_chat.records.record_fields import RecordError
from tests.support.tokens import secret_of, session

if TYPE_CHECKING:
    from agent_chat.records.session import Session

FULL = session(
    name="Ünsal-1", harness="omp — x", channel="dev", parent=session().id, ended=2.0, created=1.0, taint="RESTRICTED"
)


@pytest.mark.parametrize("one", [session(created=1.0), FULL], ids=["least", "full"])
def test_what_is_written_is_read_back(one: Session) -> None:
    assert session_record.parse(session_record.render(one), session_id=one.id) == one


def test_neither_form_holds_the_secret_and_what_is_shown_not_its_hash() -> None:
    assert secret_of(1).hex().encode() not in session_record.render(FULL)
    assert set(json.loads(session_record.render(FULL))) - set(session_record.to_json(FULL)) == {
        "schema_version",
        "secret_sha256",
    }


BAD: dict[str, list[object]] = {
    "schema_version": [2, 0, True, "1", None],
    "id": ["", f"{session().connection}-2", session().connection, 1],
    "name": ["", "a b", "../x", 1, None],
    "agent": ["", "a b", None],
    "channel": ["", "a/b", 1],
    "harness": ["", 1],
    "user": ["", None],
    "taint": ["", "public", "SECRET", None],
    "created": ["yesterday", None, 1],
    "connection": [session(2).connection, session().connection.upper(), "", None],
    "parent": ["", 1],
    "ended": ["", False],
    "secret_sha256": ["", "0" * 63, "0" * 65, "G" * 64, None],
    "more": [1],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_any_other_value_is_refused(field: str, value: object) -> None:
    fields = {**json.loads(session_record.render(session())), field: value}
    with pytest.raises(RecordError):
        session_record.parse(json.dumps(fields).encode(), session_id=session().id)


@pytest.mark.parametrize("field", json.loads(session_record.render(session())))
def test_every_field_must_be_there(field: str) -> None:
    fields = json.loads(session_record.render(session()))
    del fields[field]
    with pytest.raises(RecordError):
        session_record.parse(json.dumps(fields).encode(), session_id=session().id)


def test_a_later_version_is_told_as_one() -> None:
    data = session_record.render(session()).replace(b'"schema_version": 1', b'"schema_version": 2')
    with pytest.raises(RecordError, match="later") as caught:
        session_record.parse(data, session_id=session().id)
    assert caught.value.fault == record_fields.VERSION


def test_an_id_is_a_connection_and_a_number() -> None:
    own = session().connection
    for good in (f"{own}-1", f"{own}-999999999"):
        assert session_record.is_id(good)
        assert session_record.id_in(f"{good}.json") == good
    for bad in ("", own, f"{own}-", f"{own}-0", f"{own}-01", f"{own}-1000000000", f"{own}-1-1", f"{own}-٣"):
        assert not session_record.is_id(bad)
        assert session_record.id_in(f"{bad}.json") is None
    for name in (f"{own}-1", f"{own}-1.JSON", f"{own}-1.json.json", f"x/{own}-1.json", ".json"):
        assert session_record.id_in(name) is None
