"""Which files count as new in the folder: arrivals, and what only looks like one."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.storage.channel import Channel
from tests.support.cli import message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

LONG_AGO = 1_700_000_000.0


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    assert run(["init", "dev"], tmp_path).status == 0
    for seq in range(1, 31):
        path = tmp_path / "dev" / f"{seq:04d}-alice-m.md"
        plant(path, message_file(seq))
        os.utime(path, (LONG_AGO, LONG_AGO))
    return Channel(workspace_on(tmp_path), "dev")


def test_a_file_that_came_to_its_name_later_has_changed_whatever_its_own_time(channel: Channel, tmp_path: Path) -> None:
    names = channel.messages.numbers().names_up_to(30)
    time.sleep(0.02)  # the clock of the file system is coarse
    instant = time.time()
    time.sleep(0.02)
    aside = tmp_path / "aside"
    plant(aside, message_file(31))
    os.utime(aside, (LONG_AGO, LONG_AGO))
    aside.rename(tmp_path / "dev" / "0005-zed-m.md")
    assert channel.messages.changed_since([*names, "0005-zed-m.md"], instant) == (["0005-zed-m.md"], [])


def test_a_change_of_all_permissions_looks_like_an_arrival_but_not_like_writing(
    channel: Channel, tmp_path: Path
) -> None:
    names = channel.messages.numbers().names_up_to(30)
    time.sleep(0.02)
    instant = time.time()
    time.sleep(0.02)
    for path in (tmp_path / "dev").glob("0*.md"):
        path.chmod(0o644)
    assert channel.messages.changed_since(names, instant) == (sorted(names), [])
    plant(tmp_path / "dev" / "0005-zed-m.md", message_file(5, sender="zed"))
    now = instant + 0.01
    os.utime(tmp_path / "dev" / "0005-zed-m.md", (now, now))
    assert channel.messages.changed_since([*names, "0005-zed-m.md"], instant)[1] == ["0005-zed-m.md"]
