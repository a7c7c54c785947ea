"""How each code of events is met: by posting one, or by reading one that was written by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Callable

from tests.support.cli import message_file

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

EVENT = {
    "schema_version": 1,
    "event": "status",
    "agent": "bob",
    "harness": "omp",
    "ts": "2026-01-02T03:04:05Z",
    "status": "busy",
}
POST = ["event", "post", "work", "--from", "bob", "--harness", "omp", "--type"]
CAN = [*POST, "capability", "--primitives"]


def reading(do: Case, body: str) -> Result:
    """Reads a channel with an event whose body is what was written by hand."""
    data = message_file(99, "bob", status="event.status", body=body + "\n")
    return do.with_file("0099-bob-event.md", data)("event", "read", "work")


def reading_with(do: Case, **fields: object) -> Result:
    """Reads a channel with an event of which some fields are others."""
    return reading(do, json.dumps({**EVENT, **fields}))


EVENTS: dict[str, Callable[[Case], Result]] = {
    "EVENT_INVALID_RECORD": lambda do: reading(do, "[1]"),
    "EVENT_UNSUPPORTED_VERSION": lambda do: reading_with(do, schema_version=2),
    "EVENT_INVALID_TYPE": lambda do: do(*POST, "statsu", "--status", "busy"),
    "EVENT_UNKNOWN_FIELD": lambda do: do(*POST, "capability", "--status", "busy"),
    "EVENT_REQUIRED_FIELD_MISSING": lambda do: do(*POST, "status"),
    "EVENT_INVALID_TEXT": lambda do: do(*POST, "status", "--status", "busy", "--detail", "a\nb"),
    "EVENT_INVALID_TIMESTAMP": lambda do: reading_with(do, ts="2026-02-30T00:00:00Z"),
    "EVENT_INVALID_PRIMITIVES": lambda do: do(*CAN, ","),
    "EVENT_DUPLICATE_PRIMITIVE": lambda do: do(*CAN, "wait,tasks", "--primitives", "wait"),
    "EVENT_UNKNOWN_PRIMITIVE": lambda do: do(*CAN, "telepathy"),
    "EVENT_INVALID_STATUS": lambda do: do(*POST, "status", "--status", "bsuy"),
    "EVENT_MALFORMED_BODY": lambda do: reading(do, "{"),
    "EVENT_AGENT_MISMATCH": lambda do: reading_with(do, agent="carol"),
}
# What `event post` never writes can only be read, and reading goes on.
REPORTED = {
    "EVENT_INVALID_RECORD",
    "EVENT_UNSUPPORTED_VERSION",
    "EVENT_INVALID_TIMESTAMP",
    "EVENT_MALFORMED_BODY",
    "EVENT_AGENT_MISMATCH",
}
