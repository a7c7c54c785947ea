"""The owner's settings, and the lines of the log of what persons decided: what is read, refused and written."""

from __future__ import annotations

import json

import pytest

from agent_chat.records import owner_log, owner_settings
from agent_chat.records.owner_log import Entry
from agent_chat.records.owner_settings import OwnerSettings, SettingsError, parse, render


@pytest.mark.parametrize("access", [True, False])
@pytest.mark.parametrize("days", [None, 1, 14, 36500])
def test_what_is_written_is_read_back(access: bool, days: int | None) -> None:
    settings = OwnerSettings(access=access, retention_days=days)
    assert parse(render(settings)) == settings


def test_what_is_missing_is_as_without_a_file() -> None:
    assert parse(b'{"schema_version": 1}') == OwnerSettings(access=True, retention_days=None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("{", "JSON"),
        ("[]", "object"),
        ("{}", "schema_version"),
        ('{"schema_version": "1"}', "schema_version"),
        ('{"schema_version": true}', "schema_version"),
        ('{"schema_version": 2}', "later than 1; update agent-chat"),
        ('{"schema_version": 1, "acces": "off"}', "unknown field 'acces'"),
        ('{"schema_version": 1, "access": true}', "on or off"),
        ('{"schema_version": 1, "access": "On"}', "on or off"),
        ('{"schema_version": 1, "access": null}', "on or off"),
        ('{"schema_version": 1, "retention_days": 0}', "from 1 to 36500"),
        ('{"schema_version": 1, "retention_days": 36501}', "from 1 to 36500"),
        ('{"schema_version": 1, "retention_days": 1.5}', "from 1 to 36500"),
        ('{"schema_version": 1, "retention_days": "14"}', "from 1 to 36500"),
        ('{"schema_version": 1, "retention_days": true}', "from 1 to 36500"),
        ('{"schema_version": 1, "access": "on", "access": "off"}', "access"),
        ('{"schema_version": 1}' + " " * owner_settings.MAX_BYTES, "larger than"),
    ],
)
def test_what_is_no_settings_is_refused(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        parse(text.encode())


@pytest.mark.parametrize("name", ["carol", "José", "a\nb", "a\u2028b", 'a"b', "a\x1bb"])
def test_an_entry_is_one_line_whatever_it_holds(name: str) -> None:
    entry = Entry(
        at="2026-01-02T03:04:05+00:00", who=name, account=name, what="access", was="on", now="off", failed=f"no {name}"
    )
    line = owner_log.render(entry).decode("utf-8")
    assert len(line.splitlines()) == 1
    assert line.endswith("}\n")
    assert json.loads(line) == {
        "at": "2026-01-02T03:04:05+00:00",
        "who": name,
        "account": name,
        "what": "access",
        "was": "on",
        "is": "off",
        "failed": f"no {name}",
    }


def test_a_reason_with_an_odd_file_name_is_written_escaped() -> None:
    entry = Entry(
        at="t",
        who="carol",
        account="you",
        what="channel",
        channel="dev",
        was="1 messages",
        now="deleted",
        failed="x\udcff",
    )
    assert json.loads(owner_log.render(entry))["failed"] == "x\\udcff"
