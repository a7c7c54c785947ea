"""The schemas are schemas, and describe what the program writes; tests/cli/test_json_replies.py has the replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml

from agent_chat import errors
from agent_chat.cli.commands import COMMANDS
from agent_chat.records import frontmatter
from tests.support import schemas
from tests.support.cli import message_file, plant, run
from tests.tidy import tree

if TYPE_CHECKING:
    from pathlib import Path


def test_every_schema_is_one_and_is_named_by_its_file() -> None:
    for name, schema in schemas.schemas().items():
        schemas.check_schema(name)
        assert schema["$id"] == name + schemas.ENDING


def test_every_command_has_a_schema_and_every_schema_a_use() -> None:
    assert {row.name for row in COMMANDS} == set(schemas.OF_COMMAND)
    others = {"reply-error", "message", "channel-meta", "message-header"}
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
    ):
        assert run(call, tmp_path).status == 0
    assert run(("join", "fresh", "--as", "dora", "--role", "subordinate"), tmp_path).status == 0
    for name in ("dev", "fresh"):
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
