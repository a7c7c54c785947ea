"""The schemas are schemas, and describe what the program writes; tests/cli/test_json_replies.py has the replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml

from agent_chat import errors
from agent_chat.cli.commands import COMMANDS
from agent_chat.records import frontmatter
from tests.cli import leasing
from tests.support import schemas
from tests.support.cli import START, FakeClock, message_file, plant, run
from tests.tidy import tree

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = ("task", "claim", "path-lock", "journal-header", "journal-block")


def test_every_schema_is_one_and_is_named_by_its_file() -> None:
    for name, schema in schemas.schemas().items():
        schemas.check_schema(name)
        assert schema["$id"] == name + schemas.ENDING


def test_every_command_has_a_schema_and_every_schema_a_use() -> None:
    assert {row.name for row in COMMANDS} == set(schemas.OF_COMMAND)
    others = {"reply-error", "message", "listed-task", "listed-lock", "channel-meta", "message-header", *RECORDS}
    assert {*schemas.OF_COMMAND.values(), *others} == set(schemas.schemas())


def test_their_readme_lists_the_reply_of_each_command() -> None:
    text = tree.text_of("schemas/README.md")
    for command, name in schemas.OF_COMMAND.items():
        assert f"| `{command}` | [{name}]({name}{schemas.ENDING}) |" in text


def test_the_kinds_of_errors_are_those_of_the_table() -> None:
    error = schemas.schemas()["reply-error"]["$defs"]["error"]
    assert error["properties"]["kind"]["enum"] == list(errors.KINDS)


def test_what_breaks_a_schema_is_found() -> None:
    assert schemas.faults("reply-version", {"version": 1})
    assert schemas.faults("reply-version", {"version": "1", "more": 1})
    assert schemas.faults("reply-wait", {"messages": []})


def test_the_record_of_a_channel_keeps_to_its_schema(tmp_path: Path) -> None:
    for call in (
        ("init", "dev"),
        ("init", "fresh", "--members", "a,b", "--humans", "c", "--topic", "t", "--owner", "a"),
        ("init", "lib", "--workspace", str(tmp_path.parent)),
    ):
        assert run(call, tmp_path).status == 0
    assert run(("join", "fresh", "--as", "dora", "--role", "subordinate"), tmp_path).status == 0
    for name in ("dev", "fresh", "lib"):
        record = json.loads((tmp_path / name / "_meta.json").read_text(encoding="utf-8"))
        schemas.check("channel-meta", record)
        assert schemas.faults("channel-meta", {**record, "more": 1})


def test_the_front_matter_of_a_message_keeps_to_its_schema(tmp_path: Path) -> None:
    post = ("post", "dev", "--title", "t", "--from")
    assert run(("init", "dev"), tmp_path).status == 0
    plant(tmp_path / "dev" / "task-1.md")
    calls = (
        (*post, "alice", "--to", "bob", "--topic", "a/b", "--status", "decision", "--key", "k", "--body", "x"),
        (*post, "bob", "--reply", "1", "--ref", "path:a", "--ref", "commit:0a1b2c"),
        ("claim", "dev", "task-1.md", "--as", "bob"),
    )
    for call in calls:
        assert run(call, tmp_path).status == 0
    plant(tmp_path / "dev" / "0001-zoe-double.md", message_file(1, "zoe", created="'2025-01-01T00:00:00Z'"))
    assert run(("doctor", "--fix"), tmp_path).status == 0
    files = sorted((tmp_path / "dev").glob("[0-9]*.md"))
    assert len(files) == 4
    for path in files:
        header = yaml.safe_load(frontmatter.split(path.read_bytes())[0])
        schemas.check("message-header", header)
        assert list(header) == [key for key in schemas.schemas()["message-header"]["properties"] if key in header]


def test_the_records_of_tasks_claims_and_locks_keep_to_their_schemas(tmp_path: Path) -> None:
    root = tmp_path / "root"
    run(("init", "dev"), root)
    for name in ("free", "held", "lapsed"):
        create = ("task", "create", "dev", name, "--from", "alice", "--title", "t", "--files-hint", "a,b")
        assert leasing.call(root, *create, "--acceptance", "it works", "--branch", "b").status == 0
    leasing.call(root, "task", "claim", "dev", "lapsed", "--as", "bob")
    leasing.call(root, "lock", "dev", "src/", "--as", "bob")
    later = FakeClock(START + 1000)
    for call in (
        ("task", "update", "dev", "free", "--as", "bob", "--depends-on", "held", "--owner", "carol"),
        ("task", "claim", "dev", "held", "--as", "b.o.b", "--lease-seconds", "1.5"),
        ("task", "recover", "dev", "lapsed", "--as", "carol", "--reason", "bob is gone"),
        ("recover", "dev", "src", "--as", "carol", "--reason", "bob is gone"),
        ("lock", "dev", "a.py", "b/", "--as", "bob", "--reason", "tidying"),
    ):
        assert leasing.call(root, *call, clock=later).status == 0, call
    for folder, name, count in (("tasks", "task", 3), ("claims", "claim", 2), ("locks", "path-lock", 2)):
        paths = sorted((root / "dev" / folder).glob("*.json"))
        assert len(paths) == count
        for path in paths:
            record = json.loads(path.read_bytes())
            schemas.check(name, record)
            assert list(record) == list(schemas.schemas()[name]["properties"])
            assert schemas.faults(name, {**record, "more": 1})


def test_the_entries_of_the_journals_keep_to_their_schemas(tmp_path: Path) -> None:
    root = tmp_path / "root"
    run(("init", "dev"), root)
    leasing.call(root, "task", "create", "dev", "t-1", "--from", "alice", "--title", "t")
    leasing.call(root, "lock", "dev", "a.py", "--as", "bob")
    leasing.killed(root, leasing.UNANNOUNCED, "task", "claim", "dev", "t-1", "--as", "b.o.b")
    leasing.killed(root, leasing.UNFILED, "unlock", "dev", "a.py", "--as", "bob")
    entries = sorted((root / "dev").glob("*/audit/*.md"))
    assert len(entries) == 4
    for path in entries:
        head, rest = frontmatter.split(path.read_bytes())
        header = yaml.safe_load(head)
        schemas.check("journal-header", header)
        assert list(header) == list(schemas.schemas()["journal-header"]["properties"])
        block, fence, phases = rest.decode("utf-8").partition("\n```\n")
        assert (block[:8], fence) == ("```json\n", "\n```\n")
        schemas.check("journal-block", json.loads(block[8:]))
        assert phases.split("\n")[0] == "prepared"
