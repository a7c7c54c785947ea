"""The crash lane: a folder for its roots."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

MEMORY = "/dev/shm"

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _somebody(seated: None) -> None:
    """A person sits at the terminal of the rows that need one."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is such a place: thousands of roots are made, and none needs to last."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="agent-chat-crash.", dir=MEMORY) as place:
        yield Path(place)
