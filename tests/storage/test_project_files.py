"""The seam of hosts' files: the audit of the chat root in another folder, modes that stay, folders that go."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.project_files import ProjectFiles
from tests.support.cli import FakeClock, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    (tmp_path / "project").mkdir()
    return ProjectFiles(str(tmp_path / "project"), FakeClock())


def at(files: ProjectFiles, *names: str) -> str:
    return os.path.join(files.root, *names)


def test_what_is_missing_is_none_and_what_cannot_be_read_is_an_error(files: ProjectFiles) -> None:
    assert files.read_if_there(at(files, "a", "b"), 9) is None
    files.make_folder(at(files, "a"))
    assert files.read_if_there(at(files, "a", "b"), 9) is None
    files.write_new(at(files, "a", "b"), b"x")
    assert files.read_if_there(at(files, "a", "b"), 9) == b"x"
    with pytest.raises(NotOrdinaryError):
        files.read_if_there(at(files, "a"), 9)
    with pytest.raises(NotOrdinaryError):
        files.read_if_there(at(files, "a", "b", "c"), 9)


@posix
def test_a_new_file_gets_the_modes_of_the_one_that_it_replaces(files: ProjectFiles) -> None:
    old, new = at(files, "old"), at(files, "new")
    files.write_new(old, b"old")
    for mode in (0o600, 0o640, 0o755, 0o444):
        os.chmod(old, mode)
        files.write_like(new, b"new", old)
        assert stat.S_IMODE(os.stat(new).st_mode) == mode
        files.remove(new)


@posix
def test_nothing_is_left_where_there_is_nothing_to_take_after(files: ProjectFiles) -> None:
    os.symlink("nowhere", at(files, "link"))
    for other, error in (("missing", FileNotFoundError), ("link", NotOrdinaryError)):
        with pytest.raises(error):
            files.write_like(at(files, "new"), b"new", at(files, other))
        assert not os.path.lexists(at(files, "new"))


def test_only_an_empty_folder_is_removed_and_a_new_one_is_looked_at_again(files: ProjectFiles, tmp_path: Path) -> None:
    folder = at(files, "a")
    files.make_folder(folder)
    files.write_new(at(files, "a", "b"), b"x")
    with pytest.raises(OSError, match=os.strerror(errno.ENOTEMPTY)):
        files.remove_folder(folder)
    files.remove(at(files, "a", "b"))
    files.remove_folder(folder)
    assert tree_of(tmp_path).keys() == {"project"}
    if os.name != "nt":
        os.symlink(tmp_path, folder)
        with pytest.raises(NotOrdinaryError):
            files.write_new(at(files, "a", "b"), b"x")


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a/.."])
def test_nothing_outside_is_touched(files: ProjectFiles, path: str, tmp_path: Path) -> None:
    files.make_folder(at(files, "a"))
    target = path if path.startswith("/etc") else f"{files.root}/{path}"
    before = tree_of(tmp_path)
    acts: list[Callable[[], object]] = [
        lambda: files.write_like(target, b"x", at(files, "a")),
        lambda: files.read_if_there(target, 9),
        lambda: files.remove_folder(target),
    ]
    for act in acts:
        with pytest.raises((OSError, ChatError)):
            act()
    assert tree_of(tmp_path) == before
