"""How much the crash lane looked at, for its summary: states, points, and what was found wrong."""

from __future__ import annotations

from collections import Counter

COUNTED: Counter[str] = Counter()
VIOLATIONS = "violations"


def count(what: str, by: int = 1) -> None:
    """Counts something that was looked at."""
    COUNTED[what] += by


def summary() -> str:
    """Returns the line that the lane ends with."""
    counted = ", ".join(f"{COUNTED[what]} {what}" for what in sorted(COUNTED) if what != VIOLATIONS)
    return f"crash lane: {counted}, {COUNTED[VIOLATIONS]} {VIOLATIONS}"
