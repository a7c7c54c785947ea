"""The schemas of schemas/: which one describes a command's reply, and whether a document keeps to one."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, ValidationError, validators

from tests.tidy import tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER = tree.ROOT / "schemas"
ENDING = ".schema.json"
_LITERAL = ("const", "enum", "required", "pattern", "description")

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
    "watch": "reply-watch",
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
    "state": "reply-state",
    "compact": "reply-compact",
    "event post": "reply-event-post",
    "event read": "reply-event-read",
    "session start": "reply-session-start",
    "session end": "reply-session",
    "session show": "reply-session",
    "owner": "reply-owner",
    "owner access": "reply-owner",
    "owner retention": "reply-owner",
    "channel delete": "reply-channel-delete",
    "doctor": "reply-doctor",
    "prune": "reply-prune",
    "hook": "reply-hook",
    "setup": "reply-setup",
    "completion": "reply-completion",
    "help": "reply-help",
    "version": "reply-version",
}


# These print one document a line, and none where there is nothing to say.
STREAMS = ("event read", "watch")


@functools.cache
def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its name, which is its file's without the ending."""
    files = sorted(FOLDER.glob("*" + ENDING))
    return {path.name[: -len(ENDING)]: json.loads(path.read_text(encoding="utf-8")) for path in files}


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern as JSON Schema means it (ECMA-262): `$` is the very end, digits and words are of ASCII."""
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)


def _pattern(validator: object, pattern: str, instance: object, schema: object) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _descend(
    self: Any, instance: object, schema: Any, path: object = None, schema_path: object = None, resolver: object = None
) -> Iterator[ValidationError]:
    """As the library's, but that it looks up no references, of which a resolved schema has none: half of its time."""
    if not isinstance(schema, dict):
        yield from self.evolve(schema=schema).iter_errors(instance)
        return
    for keyword, value in schema.items():
        check = self.VALIDATORS.get(keyword)
        for error in (check(self, value, instance, schema) or ()) if check is not None else ():
            if path is not None:
                error.path.appendleft(path)
            yield error


_extend: Any = validators.extend  # its types are not told
_Validator = _extend(Draft202012Validator, {"pattern": _pattern})
_Validator.descend = _descend


@functools.cache
def _validator(name: str, form: str) -> Any:
    schema = schemas()[name]
    return _Validator(_resolved(name, schema["$defs"][form] if form else schema))


def _resolved(name: str, part: Any) -> Any:
    """A part of a schema with what it refers to in its place: resolving that at each look takes most of the time."""
    if isinstance(part, list):
        return [_resolved(name, each) for each in part]
    if not isinstance(part, dict):
        return part
    rest = {key: each if key in _LITERAL else _resolved(name, each) for key, each in part.items() if key != "$ref"}
    if "$ref" not in part:
        return {key: each for key, each in rest.items() if key not in ("$defs", "$id")}
    file, _, pointer = part["$ref"].partition("#")
    there = file[: -len(ENDING)] if file else name
    target = functools.reduce(lambda found, step: found[step], pointer.split("/")[1:], schemas()[there])
    resolved = _resolved(there, target)
    return {**rest, "allOf": [resolved]} if set(rest) - {"description"} else resolved


def form_of_event(event: object) -> str:
    """The form of an audit message's body that the schema has for an event; empty for one that it does not know."""
    forms = schemas()["audit-body"]["$defs"]
    for form, described in forms.items():
        named = described["properties"]["event"]
        if event in named.get("enum", [named.get("const")]):
            return str(form)
    return ""


def faults(name: str, document: object, form: str = "") -> list[str]:
    """What breaks a schema, or one of its forms alone: a line each, innermost causes first."""
    found: list[str] = []
    for error in _validator(name, form).iter_errors(document):
        for each in error.context or [error]:
            found.append(f"{name}: {each.json_path}: {each.message}")
    return found


def check(name: str, document: object) -> None:
    """Fails unless a document keeps to the schema of that name."""
    assert faults(name, document) == [], json.dumps(document, indent=1, ensure_ascii=False)


def reply_faults(command: str, document: object) -> list[str]:
    """What breaks the schema of that command's reply, or that of an error; words that are no command get an error."""
    if isinstance(document, dict) and set(document) == {"error"}:
        return faults("reply-error", document)
    return faults(OF_COMMAND.get(command, "reply-error"), document)


def check_reply(command: str, document: dict[str, Any]) -> None:
    """Fails unless a document is what that command answers: its reply, or an error."""
    assert reply_faults(command, document) == [], json.dumps(document, indent=1, ensure_ascii=False)


def command_in(words: Sequence[str]) -> str:
    """The command that a line begins with: of one word, or of two."""
    both = " ".join(words[:2])
    return both if both in OF_COMMAND else words[0]


def check_schema(name: str) -> None:
    """Fails unless a schema is one."""
    Draft202012Validator.check_schema(schemas()[name])
