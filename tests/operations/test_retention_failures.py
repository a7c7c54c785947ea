"""Retention where something is missing or cannot be removed: nothing that is awaited goes, and the rest does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import retention
from agent_chat.storage.channel import Channel
from tests.operations.keeping_room import DAYS, KeepingRoom
from tests.support.cli import FaultyFiles, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def kept(tmp_path: Path) -> KeepingRoom:
    return KeepingRoom(tmp_path)


def test_where_the_cache_is_gone_what_a_member_posted_tells_that_it_was_seen(kept: KeepingRoom) -> None:
    run(["join", "dev", "--as", "bob"], kept.root, workspace=kept.workspace)
    kept.sent(1, DAYS + 1)
    kept.sent(2, 1, sender="bob")
    assert kept.reopened().seen.every() == {}
    assert kept.reasons() == {1: "unread by bob"}


def test_a_file_that_cannot_be_removed_keeps_no_other_from_going(kept: KeepingRoom) -> None:
    for seq in (1, 2, 3):
        kept.sent(seq, DAYS + 1)
    files = FaultyFiles(str(kept.root), kept.clock, at=1, code=13, only=("remove",), where="0002-", forever=True)
    channel = Channel(workspace_on(kept.root, clock=kept.clock, files=files), "dev")
    pruned = retention.prune(channel, kept.term())
    assert (pruned.removed, type(pruned.error)) == ((1, 3), PermissionError)
    assert kept.there() == [2]
    assert kept.gone() == [2]
    assert [each.seq for each in kept.tombstones()] == [1, 2, 3]
