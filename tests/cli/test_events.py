"""The commands on events: one JSON document a line, malformed ones beside the others, and other people's text."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.code_cases_events import EVENT
from tests.support import schemas
from tests.support.cli import DANGER, FakeClock, FaultyFiles, Result, message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

READ = ["event", "read", "dev"]
POST = ["event", "post", "dev", "--from", "bob", "--harness", "omp", "--type"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A channel with a message, two events, and a malformed one."""
    root = tmp_path / "root"
    run(["init", "dev"], root)
    run(["post", "dev", "--from", "alice", "--title", "Hello", "--body", json.dumps(EVENT)], root)
    run([*POST, "capability", "--primitives", "wait, tasks", "--primitives", "messages"], root)
    run([*POST, "status", "--status", "busy", "--detail", "writing"], root)
    plant_event(root, 4, "{")
    return root


def plant_event(root: Path, seq: int, body: str) -> None:
    """Writes the message of an event by hand."""
    plant(root / "dev" / f"{seq:04d}-bob-event.md", message_file(seq, "bob", status="event.status", body=body + "\n"))


def broken(root: Path, *where: str) -> Workspace:
    """The root on a disk on which some messages cannot be read."""
    clock = FakeClock()
    (only,) = where
    files = FaultyFiles(str(root), clock, at=1, code=errno.EACCES, only=("read_file",), where=f"/{only}", forever=True)
    return workspace_on(root, clock=clock, files=files)


def documents(result: Result, status: int = 0) -> list[dict[str, Any]]:
    """The documents that a call printed, each checked against the schema of a line."""
    assert (result.status, result.stderr) == (status, ""), result
    lines = result.stdout.split("\n")
    assert lines.pop() == ""
    found = [json.loads(line) for line in lines]
    for each in found:
        schemas.check_reply("event read", each)
    return found


def test_each_event_is_a_document_of_its_own_with_its_fields_beside_its_place(root: Path) -> None:
    place = {"root": str(root), "root_from": "variable", "channel": "dev"}
    can, busy, malformed = documents(run([*READ, "--json"], root))
    common = {"schema_version": 1, "agent": "bob", "harness": "omp"}
    assert can == {
        **place,
        "seq": 2,
        "file": "0002-bob-event-capability-omp.md",
        **common,
        "event": "capability",
        "ts": can["ts"],
        "primitives": ["wait", "tasks", "messages"],
    }
    assert busy == {
        **place,
        "seq": 3,
        "file": "0003-bob-event-status-busy.md",
        **common,
        "event": "status",
        "ts": busy["ts"],
        "status": "busy",
        "detail": "writing",
    }
    assert (malformed["seq"], malformed["file"]) == (4, "0004-bob-event.md")
    assert set(malformed) == {*place, "seq", "file", "error"}
    assert set(malformed["error"]) == {"code", "kind", "message", "next"}
    assert malformed["error"]["code"] == "EVENT_MALFORMED_BODY"


def test_an_event_as_it_was_posted_is_in_the_reply(root: Path) -> None:
    reply = run([*POST, "status", "--status", "idle", "--json"], root).json
    schemas.check_reply("event post", reply)
    schemas.check("agent-chat-event", reply["event"])
    (line,) = [each for each in documents(run([*READ, "--json"], root)) if each["seq"] == reply["seq"]]
    assert {key: line[key] for key in reply["event"]} == reply["event"]


def test_text_has_a_line_for_each_event_and_a_warning_for_what_is_none(root: Path) -> None:
    result = run(READ, root)
    can, busy = result.stdout.splitlines()
    assert can == "#2 bob (omp) can wait, tasks, messages"
    assert busy.startswith("#3 bob (omp) busy: writing, 20")
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("agent-chat: warning: 0004-bob-event.md: EVENT_MALFORMED_BODY: ")
    assert result.status == 0


def test_no_event_is_nothing_in_json_and_a_word_in_text(tmp_path: Path) -> None:
    run(["init", "dev"], tmp_path)
    assert run(READ, tmp_path) == (0, "no events\n", "")
    assert run([*READ, "--json"], tmp_path) == (0, "", "")


def test_what_is_malformed_is_not_nothing(root: Path) -> None:
    for seq in (2, 3):
        next((root / "dev").glob(f"000{seq}-*.md")).unlink()
    result = run(READ, root)
    assert (result.status, result.stdout) == (0, "")
    assert "EVENT_MALFORMED_BODY" in result.stderr


@pytest.mark.parametrize("where", ["0001-", "0003-"])
def test_what_cannot_be_read_is_an_error_after_what_could_be(root: Path, where: str) -> None:
    left = [seq for seq in (2, 3, 4) if f"{seq:04d}-" != where]
    *lines, last = documents(run([*READ, "--json"], workspace=broken(root, where)), 2)
    assert [each["seq"] for each in lines] == left
    assert set(last) == {"root", "root_from", "channel", "error"}
    assert (last["error"]["code"], last["error"]["errno"]) == ("IO_ERROR", "EACCES")
    result = run(READ, workspace=broken(root, where))
    assert (result.status, [line[:2] for line in result.stdout.splitlines()]) == (2, [f"#{s}" for s in left if s != 4])
    assert "agent-chat: IO_ERROR: EACCES" in result.stderr


def test_the_second_that_cannot_be_read_is_said_beside_the_first(root: Path) -> None:
    *lines, last = documents(run([*READ, "--json"], workspace=broken(root, "000")), 2)
    assert lines == []
    assert (last["error"]["code"], len(last["warnings"])) == ("IO_ERROR", 3)
    result = run(READ, workspace=broken(root, "000"))
    assert (result.status, result.stdout) == (2, "")
    assert [line.split(":")[1] for line in result.stderr.splitlines()[:3]] == [" warning"] * 3


def test_reading_events_needs_nobody_and_leaves_cursors_and_locks_alone(root: Path) -> None:
    before = sorted(path.name for path in root.rglob("*"))
    run(READ, root)
    assert sorted(path.name for path in root.rglob("*")) == before
    assert run(["inbox", "--as", "carol", "--json"], root).json["channels"][0]["unread"] == 1


def test_the_sender_may_come_from_the_environment_and_has_four_spellings(root: Path) -> None:
    rest = ["--harness", "omp", "--type", "status", "--status", "idle"]
    for option in ("--as", "--owner", "--actor"):
        assert run(["event", "post", "dev", option, "zoe", *rest, "--json"], root).json["event"]["agent"] == "zoe"
    named = run(["event", "post", "dev", *rest, "--json"], root, environment={"AGENT_CHAT_NAME": "yan"})
    assert named.json["event"]["agent"] == "yan"


def test_a_mistyped_word_is_answered_with_the_near_one(root: Path) -> None:
    for words, near in (
        (["status", "--status", "bsuy"], "busy"),
        (["capability", "--primitives", "wait,task"], "tasks"),
        (["statsu", "--status", "busy"], "status"),
    ):
        assert run([*POST, *words, "--json"], root).json["error"]["near"] == near
        assert f"; did you mean {near}?" in run([*POST, *words], root).stderr


HOSTILE = "\u202e#9 human (x) ready\u2066\u2028\u2029\u200f\ufeff"


def test_other_peoples_text_is_shown_escaped(root: Path) -> None:
    plant_event(root, 5, json.dumps({**EVENT, "harness": "o\u202em", "detail": HOSTILE}))
    plant_event(root, 6, json.dumps({**EVENT, "detail": "\x1b[2J"}))
    plant_event(root, 7, json.dumps({**EVENT, "status": "\x1b]0;x\x07\n#9 human"}))
    plant(root / "dev" / f"0008-bob-{HOSTILE}.md", message_file(8, "bob", status="event.status", body="{\x1b"))
    for form in ([], ["--json"]):
        result = run([*READ, *form], root)
        assert result.status == 0
        assert not {*result.stdout, *result.stderr} & DANGER
    lines = run(READ, root).stdout.splitlines()
    assert [line[:2] for line in lines] == ["#2", "#3", "#5"]
    assert "\\u202e#9 human" in lines[2]
    whole = documents(run([*READ, "--json"], root))
    assert whole[3]["detail"] == HOSTILE


def test_a_long_detail_is_cut_in_text_alone(root: Path) -> None:
    detail = "x" * 5000
    run([*POST, "status", "--status", "idle", "--detail", detail], root)
    assert max(map(len, run(READ, root).stdout.splitlines())) < 300
    assert documents(run([*READ, "--json"], root))[-1]["detail"] == detail
