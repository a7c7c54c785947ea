"""The schemas of schemas/: which one describes a command's reply, and whether a document keeps to one."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tests.tidy import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = tree.ROOT / "schemas"
ENDING = ".schema.json"

# The reply of each command of the table; several commands answer alike. schemas/README.md has the same list.
OF_COMMAND = {
    "init": "reply-init",
    "channels": "reply-channels",
    "roster": "reply-roster",
    "join": "reply-membership",
    "leave": "reply-membership",
    "post": "reply-post",
    "read": "reply-read",
    "wait": "reply-wait",
    "peek": "reply-read",
    "show": "reply-show",
    "thread": "reply-read",
    "inbox": "reply-inbox",
    "ack": "reply-ack",
    "search": "reply-read",
    "claim": "reply-claim",
    "task create": "reply-task-change",
    "task list": "reply-tasks",
    "task ready": "reply-tasks",
    "task show": "reply-task",
    "task update": "reply-task-change",
    "task claim": "reply-task-claim",
    "task renew": "reply-task-claim",
    "task done": "reply-task-change",
    "task block": "reply-task-change",
    "task release": "reply-task-change",
    "task cancel": "reply-task-change",
    "task recover": "reply-task-claim",
    "task recover-pending": "reply-recover-pending",
    "lock": "reply-lock",
    "renew-lock": "reply-lock",
    "check": "reply-check",
    "unlock": "reply-lock",
    "locks": "reply-locks",
    "recover": "reply-lock",
    "recover-pending": "reply-recover-pending",
    "doctor": "reply-doctor",
    "completion": "reply-completion",
    "help": "reply-help",
    "version": "reply-version",
}


@functools.cache
def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its name, which is its file's without the ending."""
    files = sorted(FOLDER.glob("*" + ENDING))
    return {path.name[: -len(ENDING)]: json.loads(path.read_text(encoding="utf-8")) for path in files}


@functools.cache
def _validator(name: str) -> Draft202012Validator:
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas().values()
    )
    return Draft202012Validator(schemas()[name], registry=registry)


def faults(name: str, document: object) -> list[str]:
    """What breaks a schema, a line each, innermost causes first."""
    found: list[str] = []
    for error in _validator(name).iter_errors(document):
        for each in error.context or [error]:
            found.append(f"{name}: {each.json_path}: {each.message}")
    return found


def check(name: str, document: object) -> None:
    """Fails unless a document keeps to the schema of that name."""
    assert faults(name, document) == [], json.dumps(document, indent=1, ensure_ascii=False)


def check_reply(command: str, document: dict[str, Any]) -> None:
    """Fails unless a document is what that command answers: its reply, or an error."""
    if set(document) == {"error"}:
        check("reply-error", document)
    else:
        check(OF_COMMAND[command], document)


def command_in(words: Sequence[str]) -> str:
    """The command that a line begins with: of one word, or of two."""
    both = " ".join(words[:2])
    return both if both in OF_COMMAND else words[0]


def check_schema(name: str) -> None:
    """Fails unless a schema is one."""
    Draft202012Validator.check_schema(schemas()[name])
