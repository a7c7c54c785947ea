"""A room to talk in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.operations.room import Room

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """An open channel."""
    return Room(tmp_path)
