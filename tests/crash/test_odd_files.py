"""What is no ordinary file, or may not be read, and is named by a pending entry: others go on, and a way leads out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.crash.interrupted import ALL_APPLIED, ANNOUNCED, MIXED
from tests.crash.loops import complain
from tests.crash.odd_files import KINDS, MESSAGE, PLACES, check_odd_file

if TYPE_CHECKING:
    from pathlib import Path

STATES = {"mixed": MIXED, "applied": ALL_APPLIED, "announced": ANNOUNCED}
# A record or message that may not be read, and is named by what is pending, stops all who look at tasks.
THERE = {
    "mixed": ("tasks/T.json",),
    "applied": ("tasks/T.json", "claims/T.bob.json"),
    "announced": ("tasks/T.json", "claims/T.bob.json", MESSAGE),
}
CASES = [pytest.param(state, place, kind) for state in STATES for place in PLACES for kind in KINDS]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize(("state", "place", "kind"), CASES)
def test_an_odd_file_in_a_pending_change_stops_nobody_else(state: str, place: str, kind: str, folder: Path) -> None:
    complain(check_odd_file(folder, STATES[state], place, kind))
