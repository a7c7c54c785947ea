"""How each code of retention is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

HASH = "0" * 64
TOMBSTONES = (
    "\n## 2026-01-02T03:04:05+00:00\n\n"
    f'- {{"seq": 900, "file": "0900-alice-m.md", "from": "alice", "topic": "api", "created": "", "sha256": "{HASH}"}}\n'
)

RETENTION: dict[str, Callable[[Case], Result]] = {
    "RETENTION_OFF": lambda do: do("prune"),
    "MESSAGE_PRUNED": lambda do: do.with_file("tombstones.md", TOMBSTONES)("show", "work", "900"),
}
