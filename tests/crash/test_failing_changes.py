"""A change of records that meets an error of the disk: what somebody was shown as made is never undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.failing_turns import LOOKS, check_looks_beside_a_failing_change
from tests.crash.loops import complain
from tests.support import tally

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 1000  # a stride that holds nobody up half-way


def test_what_was_shown_as_made_while_a_claim_fails_is_never_undone(folder: Path) -> None:
    before = tally.COUNTED["interleavings"]
    complain(check_looks_beside_a_failing_change(folder, "task claim", stride=AT_ONCE))
    assert tally.COUNTED["interleavings"] > before


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOKS)
def test_what_was_shown_as_made_beside_a_failing_change_is_never_undone(name: str, folder: Path) -> None:
    before = tally.COUNTED["interleavings"]
    complain(check_looks_beside_a_failing_change(folder, name, stride=6))
    assert tally.COUNTED["interleavings"] > before
