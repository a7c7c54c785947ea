"""The canary's room: private, complete, and gone afterwards with whatever was left in it."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations.canary import CanaryRoom
from agent_chat.operations.glance import glance
from agent_chat.operations.guarded_paths import holders
from agent_chat.storage.channel_folders import may_hold_locks, names_like_channels
from agent_chat.storage.project_files import ProjectFiles
from agent_chat.storage.workspace import Ids
from tests.support.cli import FakeClock, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


def room(tmp_path: Path) -> CanaryRoom:
    """A room that is not made yet."""
    return CanaryRoom(str(tmp_path), FakeClock(), Ids())


def test_it_has_mail_for_one_agent_and_a_file_that_another_holds(tmp_path: Path) -> None:
    made = room(tmp_path)
    made.make()
    workspace = workspace_on(tmp_path / made.root, clock=FakeClock())
    found = glance(workspace, made.canary.agent)
    assert [(count.unread, count.senders) for count in found.counts] == [(1, (made.canary.holder,))]
    lockable = may_hold_locks(workspace, names_like_channels(workspace))
    held = holders(workspace, lockable, [made.file], folder=made.project, variable="").held
    assert [each.owner for each in held] == [made.canary.holder]
    if sys.platform != "win32":
        assert stat.S_IMODE(os.stat(made.folder).st_mode) == 0o700
    made.remove()
    assert list(tmp_path.iterdir()) == []


def test_two_rooms_share_nothing(tmp_path: Path) -> None:
    one, other = room(tmp_path), room(tmp_path)
    assert one.folder != other.folder
    assert one.canary.agent != other.canary.agent
    assert one.canary.holder not in other.canary.holder


def test_what_hooks_left_goes_too(tmp_path: Path) -> None:
    made = room(tmp_path)
    made.make()
    left = tmp_path / made.project / "deep" / "er"
    left.mkdir(parents=True)
    (left / "file").write_bytes(b"x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"x")
    if sys.platform != "win32":
        (left / "link").symlink_to(outside)
    made.remove()
    made.remove()
    assert [path.name for path in tmp_path.rglob("*")] == ["outside", "kept"]


def test_what_was_made_before_a_failure_can_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = room(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch:
        patch.setattr(ProjectFiles, "write_new", full)
        with pytest.raises(OSError, match="no space"):
            made.make()
    made.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    made = CanaryRoom(str(tmp_path / "file" / "x"), FakeClock(), Ids())
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        made.make()
