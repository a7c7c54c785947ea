"""How each code of the state of a channel is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

COMPACT = ["compact", "work", "--as", "bob"]
STRICT = ["state", "work", "--strict"]
OPEN = '"status": "open"'

STATES: dict[str, Callable[[Case], Result]] = {
    "STATE_INVALID_CHANNEL": lambda do: do("state", "../work"),
    "STATE_CHANNEL_NOT_FOUND": lambda do: do("compact", "wrok"),
    "STATE_INVALID_RECORD": lambda do: do.with_edited("tasks/free.json", OPEN, OPEN.upper())(*STRICT),
    "STATE_MALFORMED_SOURCE": lambda do: do.with_file("0099-bob-notes.md", "no header")(*COMPACT, "--strict"),
    "STATE_RECORD_NOT_FOUND": lambda do: do("state", "work", "--saved"),
    "STATE_IO_ERROR": lambda do: do.failing(*COMPACT, only=("write_new",), where=".state.md.tmp."),
    "STATE_AUDIT_FAILED": lambda do: do.failing(*COMPACT, only=("link",), where="state-compacted"),
}
