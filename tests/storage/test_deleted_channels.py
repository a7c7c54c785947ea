"""What is left of deleted channels goes, whatever it is: nothing outside is touched, and no depth or name stops it."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from agent_chat.storage import deleted_channels
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Workspace
from tests.support.cli import FakeClock, FaultyFiles, plant, tree_of, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes and names of POSIX")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "root").mkdir()
    return workspace_on(tmp_path / "root")


def swept(workspace: Workspace) -> None:
    for path in deleted_channels.leftovers(workspace):
        deleted_channels.sweep(workspace, path)


def test_a_folder_goes_with_all_that_is_in_it_and_others_stay(workspace: Workspace, tmp_path: Path) -> None:
    for place in (".deleted-1/a", ".deleted-1/b/c/d", ".deleted-2/.cache/x", "dev/_meta.json", "deleted-3/x"):
        plant(tmp_path / "root" / place)
    swept(workspace)
    assert set(tree_of(tmp_path / "root")) == {"dev", "dev/_meta.json", "deleted-3", "deleted-3/x"}


@posix
def test_no_link_is_followed_and_what_is_no_file_goes_too(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    plant(outside / "kept" / "file", "kept")
    before = tree_of(outside)
    left = tmp_path / "root" / ".deleted-1"
    (left / "inside").mkdir(parents=True)
    for folder in (left, left / "inside"):
        (folder / "folder").symlink_to(outside)
        (folder / "file").symlink_to(outside / "kept" / "file")
        (folder / "dangling").symlink_to("nowhere")
        (folder / "up").symlink_to("..")
        os.mkfifo(folder / "pipe")
    (tmp_path / "root" / ".deleted-2").symlink_to(outside)
    plant(tmp_path / "root" / ".deleted-3")
    swept(workspace)
    assert tree_of(outside) == before
    assert list((tmp_path / "root").iterdir()) == []


@posix
def test_no_name_stops_it(workspace: Workspace, tmp_path: Path) -> None:
    left = os.fsencode(tmp_path / "root" / ".deleted-1")
    os.mkdir(left)
    for name in (b"\xff\xfe", b"a\nb", b"-rf", b" ", b"...", b"x" * 255, "é".encode(), b"\xff" * 255):
        os.mkdir(os.path.join(left, name))
        with open(os.path.join(left, name, name), "wb"):
            pass
    swept(workspace)
    assert list((tmp_path / "root").iterdir()) == []


@posix
def test_no_depth_stops_it(workspace: Workspace, tmp_path: Path) -> None:
    """Deeper than any path can be said."""
    place = tmp_path / "root" / ".deleted-1"
    place.mkdir()
    descriptor = os.open(place, os.O_RDONLY)
    try:
        for _ in range(60):
            os.mkdir("x" * 200, dir_fd=descriptor)
            inner = os.open("x" * 200, os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
    finally:
        os.close(descriptor)
    swept(workspace)
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.parametrize("primitive", ["remove", "remove_folder", "list_folder", "sync_folder"])
def test_what_cannot_be_removed_is_an_error_and_goes_the_next_time(tmp_path: Path, primitive: str) -> None:
    root = tmp_path / "root"
    for name in ("a", "b/c", "b/d/e"):
        plant(root / ".deleted-1" / name)
    clock = FakeClock()
    files = FaultyFiles(str(root), clock, at=1, code=errno.EACCES, only=(primitive,))
    path = str(root / ".deleted-1")
    with pytest.raises(PermissionError):
        deleted_channels.sweep(workspace_on(root, clock=clock, files=files), path)
    swept(workspace_on(root))
    assert list(root.iterdir()) == []


def test_an_empty_folder_is_removed_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "root" / "empty").mkdir(parents=True)
    plant(tmp_path / "root" / "full" / "file")
    files = FileSystem(str(tmp_path / "root"), FakeClock())
    files.remove_folder(os.path.join(files.root, "empty"))
    for name, kinds in (("full", (errno.ENOTEMPTY, errno.EEXIST)), ("empty", (errno.ENOENT,))):
        with pytest.raises(OSError, match=r".") as caught:
            files.remove_folder(os.path.join(files.root, name))
        assert caught.value.errno in kinds
    with pytest.raises(NotADirectoryError):
        files.remove_folder(os.path.join(files.root, "full", "file"))


@posix
def test_a_folder_that_was_renamed_is_not_trusted_by_its_old_name(tmp_path: Path) -> None:
    """A link that stands there next is met like any other."""
    (tmp_path / "outside").mkdir()
    plant(tmp_path / "root" / "dev" / "in" / "file")
    files = FileSystem(str(tmp_path / "root"), FakeClock())
    dev = os.path.join(files.root, "dev")
    files.read_file(os.path.join(dev, "in", "file"), 9)
    files.replace(dev, os.path.join(files.root, "gone"))
    os.symlink(tmp_path / "outside", dev)
    for path in (os.path.join(dev, "new"), os.path.join(dev, "in", "new")):
        with pytest.raises(OSError, match=r"."):
            files.write_new(path, b"x")
    assert list((tmp_path / "outside").iterdir()) == []
