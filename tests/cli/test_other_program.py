"""Channels of agent-chat-plugin 0.7 are read as they are, and written to without breaking what is there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, run, tree_of

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "other-program"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    for channel in ("garden", "shed"):
        shutil.copytree(FIXTURES / channel, path / channel)
    return path


def done(root: Path, *argv: str) -> Result:
    result = run(argv, root)
    assert (result.status, result.stderr) == (0, ""), result
    return result


def reply(root: Path, *argv: str) -> dict[str, Any]:
    return done(root, *argv, "--json").json


def seqs(document: dict[str, Any]) -> list[int]:
    return [message["seq"] for message in document["messages"]]


def test_looking_changes_nothing(root: Path) -> None:
    before = tree_of(root)
    for argv in (
        ["channels"],
        ["roster", "garden"],
        ["read", "garden", "--as", "ben", "--peek"],
        ["peek", "garden", "-n", "20"],
        ["show", "garden", "2"],
        ["thread", "garden", "1"],
        ["inbox", "--as", "ben"],
        ["search", "garden", "rows"],
        ["wait", "garden", "--as", "ben", "--timeout", "0", "--after", "3"],
    ):
        done(root, *argv)
        done(root, *argv, "--json")
    # That somebody waits leaves a lock, and in the cache when it was seen.
    after = {
        name: data for name, data in tree_of(root).items() if not name.endswith(".waiting") and ".cache" not in name
    }
    assert after == before


def test_channels_and_who_is_in_them(root: Path) -> None:
    garden, shed = reply(root, "channels")["channels"]
    assert garden == {
        "channel": "garden",
        "messages": 11,
        "members": ["ada", "ben", "cleo"],
        "topic": "the garden: beds & rows",
        "latest_seq": 11,
        "last": {
            "seq": 11,
            "from": "ben",
            "title": "path.locked 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "created": "2025-05-06T07:11:00+00:00",
        },
    }
    assert (shed["messages"], shed["last"]) == (0, None)
    assert reply(root, "roster", "garden")["open"] is True


def test_messages_have_the_values_that_were_written(root: Path) -> None:
    messages = {message["seq"]: message for message in reply(root, "peek", "garden", "-n", "20")["messages"]}
    assert {seq: message["title"] for seq, message in messages.items() if seq < 7} == {
        1: "Plan for the beds",
        2: 'Re: Plan: "how many" #3 [draft]',
        3: "Decision: three rows",
        4: "Überblick – 概要 – огляд",
        5: "123",
        6: "yes",
    }
    assert {seq: message["to"] for seq, message in messages.items() if message["to"]} == {
        1: ["ben"],
        2: ["ada"],
        4: ["ben", "cleo"],
    }
    assert messages[1]["body"] == "Two rows of beans.\n\n---\n\n- see `plan.txt`\n"
    assert messages[6]["body"] == ""
    assert (messages[2]["reply_to"], messages[10]["reply_to"]) == (1, 3)
    assert (messages[3]["status"], messages[8]["status"]) == ("decision", "lease.claimed")
    assert messages[4]["created"] == "2025-05-06T07:04:00+00:00"


def test_its_cursor_counts(root: Path) -> None:
    assert done(root, "inbox", "--as", "ben").stdout == "garden: 3 unread from ada, cleo, oldest #4\n"
    page = reply(root, "read", "garden", "--as", "Ben")
    assert seqs(page) == [4, 6, 7, 10]
    assert page["cursor"] == 11
    assert (root / "garden" / ".cursors" / "ben.txt").read_text().split()[0] == "11"
    assert reply(root, "read", "garden", "--as", "ben")["messages"] == []
    assert seqs(reply(root, "read", "garden", "--as", "cleo")) == [4, 5, 7, 8, 9, 10, 11]


def test_each_reading_command_works(root: Path) -> None:
    assert seqs(reply(root, "thread", "garden", "1")) == [1, 2]
    assert seqs(reply(root, "thread", "garden", "3")) == [3, 10]
    assert seqs(reply(root, "search", "garden", "rows")) == [1, 3]
    assert seqs(reply(root, "search", "garden", "ОГЛЯД")) == [4]
    assert seqs(reply(root, "search", "garden", "rows", "--from", "cleo", "--since", "2025-05-06")) == [3]
    assert reply(root, "show", "garden", "0005-ben-123.md")["message"]["title"] == "123"
    assert reply(root, "wait", "garden", "--as", "ben", "--timeout", "0")["timed_out"] is False
    text = done(root, "read", "garden", "--as", "zoe").stdout
    assert "#7 ada: task.created BED-1\n#8 ben: lease.claimed BED-1\n#9 ben: event:status\n" in text
    assert "#10 ada -> all | Watering: who? | 2025-05-06 07:10Z | re #3 | discussion | post garden --reply 10" in text


def test_posting_goes_on_from_its_numbers(root: Path) -> None:
    before = tree_of(root / "garden")
    posted = reply(root, "post", "garden", "--from", "ben", "--title", "Re: Watering", "--reply", "10", "--to", "ada")
    assert (posted["seq"], posted["file"]) == (12, "0012-ben-re-watering.md")
    assert seqs(reply(root, "thread", "garden", "3")) == [3, 10, 12]
    assert reply(root, "inbox", "--as", "ada")["channels"][0]["from"] == ["ben", "cleo"]
    after = tree_of(root / "garden")
    assert {name: after[name] for name in before} == before


def test_joining_keeps_what_only_that_program_knows(root: Path) -> None:
    done(root, "join", "shed", "--as", "zoe", "--role", "subordinate")
    meta = json.loads((root / "shed" / "_meta.json").read_bytes())
    assert (meta["color"], meta["nested"], meta["members"]) == ("green", {"a": [1, 2]}, ["zoe"])
    assert done(root, "leave", "shed", "--as", "ZOE").stdout == "zoe has left shed\n"
    assert json.loads((root / "shed" / "_meta.json").read_bytes())["nested"] == {"a": [1, 2]}


def test_its_markers_can_be_claimed(root: Path) -> None:
    assert reply(root, "claim", "shed", "task-7.md", "--as", "ben")["claimed_as"] == "task-7.CLAIMED-ben.md"
    assert seqs(reply(root, "peek", "shed")) == [1]


def test_the_doctor_finds_nothing_but_the_missing_ignore_file_and_mends_without_a_change(root: Path) -> None:
    before = tree_of(root)
    result = run(["doctor", "--json"], root)
    assert [finding["id"] for finding in result.json["findings"]] == ["root.ignore", "root.ignore"]
    fixed = run(["doctor", "--fix", "--json"], root)
    assert (fixed.status, fixed.json["fixed"]) == (0, ["garden: wrote .gitignore", "garden: wrote .gitattributes"])
    after = tree_of(root)
    assert {name: after[name] for name in before} == before
