"""The schemas are schemas, and describe what the program writes; tests/cli/test_json_replies.py has the replies."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from agent_chat import errors
from agent_chat.cli.commands import COMMANDS
from agent_chat.records import channel_meta, claim, frontmatter, message, path_lock, task
from agent_chat.records.claim import Claim
from agent_chat.records.lease import Lease
from agent_chat.records.locked_path import LockedPath
from agent_chat.records.message import Message
from agent_chat.records.path_lock import PathLock
from agent_chat.records.task import Task
from tests.cli import leasing
from tests.support import schemas
from tests.support.cli import START, FakeClock, message_file, plant, run
from tests.tidy import tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = (
    "agent-chat-event",
    "audit-body",
    "task",
    "claim",
    "path-lock",
    "journal-header",
    "journal-block",
    "session-memory",
    "hook-trace",
    "session",
)
STATES = ("state-item", "state-blocker", "state-owner")


def test_every_schema_is_one_and_is_named_by_its_file() -> None:
    for name, schema in schemas.schemas().items():
        schemas.check_schema(name)
        assert schema["$id"] == name + schemas.ENDING


def test_every_command_has_a_schema_and_every_schema_a_use() -> None:
    assert {row.name for row in COMMANDS} == set(schemas.OF_COMMAND)
    others = {
        "reply-error",
        "message",
        "listed-task",
        "listed-lock",
        "shown-session",
        "channel-meta",
        "message-header",
        *RECORDS,
        *STATES,
    }
    assert {*schemas.OF_COMMAND.values(), *others} == set(schemas.schemas())


def test_their_readme_lists_the_reply_of_each_command() -> None:
    text = tree.text_of("schemas/README.md")
    for command, name in schemas.OF_COMMAND.items():
        assert f"| `{command}` | [{name}]({name}{schemas.ENDING}) |" in text


def test_their_readme_lists_every_schema() -> None:
    text = tree.text_of("schemas/README.md")
    missing = [name for name in schemas.schemas() if f"[{name}]({name}{schemas.ENDING})" not in _unnamed_links(text)]
    assert missing == []


def _unnamed_links(text: str) -> set[str]:
    """The links of a page, each as if its text were the name of its schema."""
    return {f"[{name}]({name}{schemas.ENDING})" for name in re.findall(r"\]\(([a-z-]+)\.schema\.json\)", text)}


def test_they_refer_to_each_other_and_to_nothing_else() -> None:
    for name, schema in schemas.schemas().items():
        for path, part in _parts(schema):
            file, _, pointer = part.get("$ref", "#").partition("#")
            found: Any = schemas.schemas()[file[: -len(schemas.ENDING)] if file else name]
            for step in pointer.split("/")[1:]:
                found = found[step]
            assert isinstance(found, dict), f"{name}{path}: {part['$ref']}"


# What is open, and why: a rule of its own there says which fields may stand beside those that are named.
OPEN = {
    "channel-meta": "without schema_version the fields of another program are kept",
    "message-header": "the copy of another file, which has `was`, keeps its unknown keys",
    "audit-body": "its event chooses the form, which is closed",
}


def test_no_object_takes_fields_that_are_not_named() -> None:
    found = {
        name
        for name, schema in schemas.schemas().items()
        for _, part in _parts(schema)
        if part.get("type") == "object" and "properties" in part and part.get("additionalProperties") is not False
    }
    assert found == set(OPEN)
    for name in ("channel-meta", "message-header"):
        assert "propertyNames" in json.dumps(schemas.schemas()[name])


def test_every_field_has_a_type() -> None:
    exact = {"type", "enum", "const", "$ref", "oneOf", "anyOf"}
    for name, schema in schemas.schemas().items():
        for path, part in _parts(schema):
            if part.get("type") == "object":
                loose = [field for field, form in part.get("properties", {}).items() if not exact & set(form)]
                assert loose == [], f"{name}{path}"


# Which replies are about no one channel.
NO_CHANNEL = {
    "reply-hook",
    "reply-setup",
    "reply-channels",
    "reply-inbox",
    "reply-session-start",
    "reply-session",
    "reply-completion",
    "reply-help",
    "reply-version",
}


def test_every_reply_tells_the_root_and_the_channel_that_it_is_about() -> None:
    for name in {*schemas.OF_COMMAND.values()}:
        schema = schemas.schemas()[name]
        chosen = [schema["$defs"][each["$ref"].rpartition("/")[2]] for each in schema.get("oneOf", ())]
        for form in chosen or [schema]:
            wanted = {"root", "root_from", "channel"}
            if name in NO_CHANNEL or "channels" in form["required"]:
                wanted.remove("channel")
            if name == "reply-watch" and "seq" not in form["properties"]:
                wanted.remove("channel")  # it is there when something is said of one
            if name == "reply-doctor":
                wanted.remove("channel")  # it is there when one was named
                assert ("channel" in form["properties"]) == ("findings" in form["required"])
            assert wanted <= {*form["required"]}, f"{name}: {form.get('description')}"


def test_every_detail_of_an_error_is_described() -> None:
    described = schemas.schemas()["reply-error"]["$defs"]["error"]["properties"]
    for module, source in tree.modules("agent_chat").items():
        for node in ast.walk(ast.parse(source)):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name in ("ChatError", "refusal"):
                details = {word.arg for word in node.keywords if word.arg} - {"call", "where"}  # type: ignore[attr-defined]
                assert details <= {*described}, f"{module}:{node.lineno}"  # type: ignore[attr-defined]


def test_the_fields_that_the_code_writes_are_those_of_the_schemas() -> None:
    one = Task(id="t", channel="c", title="t", created_by="a", updated_at=0.0)
    lease = Lease(expires=1.0, granted=0.0)
    held = Claim(task_id="t", channel="c", owner="a", lease=lease, claimed_at=0.0)
    path = LockedPath(normalized_path="a", display_path="a", kind="file")
    lock = PathLock(lock_id="0" * 16, channel="c", owner="a", paths=(path,), lease=lease, locked_at=0.0)
    meta = json.loads(channel_meta.render(channel_meta.ChannelMeta(channel="c", workspace="/w")))
    written = {"task": task.to_json(one), "claim": claim.to_json(held), "path-lock": path_lock.to_json(lock)}
    for name, fields in {**written, "channel-meta": meta}.items():
        assert list(fields) == list(schemas.schemas()[name]["properties"]), name
    texts = (
        "sender",
        "title",
        "body",
        "created",
        "topic",
        "status",
        "account",
        "session",
        "connection",
        "level",
        "key",
    )
    values: dict[str, Any] = {
        **dict.fromkeys((*texts, "transaction"), "x"),
        **dict.fromkeys(("to", "mentions", "summons", "refs"), ("x",)),
        **dict.fromkeys(("seq", "reply_to"), 1),
    }
    every = Message(**values, was=(1,))
    header = yaml.safe_load(frontmatter.split(message.render(every))[0])
    assert list(header) == list(schemas.schemas()["message-header"]["properties"])
    shown = {*message.to_json(every, "f"), "channel"}
    assert shown == {*schemas.schemas()["message"]["properties"]}


def _parts(part: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, with its path."""
    if isinstance(part, list):
        for number, each in enumerate(part):
            yield from _parts(each, f"{path}/{number}")
    elif isinstance(part, dict):
        yield path, part
        for key, each in part.items():
            if key not in ("enum", "const", "required"):
                yield from _parts(each, f"{path}/{key}")


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
        (*post, "bob", "--reply", "1", "--ref", f"path:{__file__}", "--ref", "commit:0a1b2c"),
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
