"""Channels of messages for the tests of their index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.storage import message_index
from tests.storage.index_room import MEANING, IndexRoom

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IndexRoom:
    """A channel of nine messages, where each file is looked at in every call."""
    monkeypatch.setattr(message_index, "READ_DIRECTLY", 0)
    room = IndexRoom(tmp_path)
    room.fill(9, **MEANING)
    return room


@pytest.fixture
def large(nine: IndexRoom, monkeypatch: pytest.MonkeyPatch) -> IndexRoom:
    """The same channel, where so many messages are too many to look at each."""
    monkeypatch.setattr(message_index, "LOOK_AT_EACH", 0)
    return nine
