"""What the checks say: one line each, and what was seen where one failed."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Report:
    """Prints a line for each check and counts them."""

    def __init__(self) -> None:
        self.passed = self.failed = 0
        self._subject = ""

    @contextmanager
    def about(self, subject: str) -> Iterator[None]:
        """Puts a subject before the lines inside; what goes wrong in there is a failed check, and the others go on."""
        self._subject = subject
        try:
            yield
        except Exception:
            self.expect("runs to its end", False, traceback.format_exc())

    def expect(self, what: str, holds: bool, seen: object = "") -> None:
        """Says that something holds, or that it does not and what was seen instead."""
        if holds:
            self.passed += 1
            self._say("ok", what)
        else:
            self.failed += 1
            self._say("FAILED", what)
            print("\n".join(f"          {line}" for line in str(seen).splitlines()), flush=True)

    def _say(self, verdict: str, what: str) -> None:
        print(f"{verdict:<8}{self._subject}: {what}", flush=True)
