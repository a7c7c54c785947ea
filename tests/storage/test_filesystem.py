"""The seam: nothing outside the root, no link followed, the modes of the root, and the patience that Windows needs."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.storage import filesystem, publication
from agent_chat.storage.filesystem import FileSystem, LinksUnsupportedError, NotOrdinaryError
from tests.support.cli import FakeClock, FaultyFiles, tree_of

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="modes, links and pipes of POSIX")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def files(tmp_path: Path, clock: FakeClock) -> FileSystem:
    (tmp_path / "root").mkdir()
    return FileSystem(str(tmp_path / "root"), clock)


def at(files: FileSystem, *names: str) -> str:
    return os.path.join(files.root, *names)


@pytest.mark.parametrize(
    "path", ["../x", "..", "a/../../x", "/etc/passwd", "a/..", "a/.", "a/", "a/b\0c", "../root2/x"]
)
def test_nothing_outside_the_root_is_touched(files: FileSystem, path: str, tmp_path: Path) -> None:
    """Paths are put together as text, so a hostile name would stand in them as it is."""
    files.make_folder(at(files, "a"))
    (tmp_path / "x").write_text("kept")
    target = path if path.startswith("/etc") else f"{files.root}/{path}"
    before = tree_of(tmp_path)
    for act in (
        lambda: files.read_file(target, 10),
        lambda: files.status(target),
        lambda: files.write_new(target, b"x"),
        lambda: files.make_folder(target),
        lambda: files.remove(target),
        lambda: files.open_lock(target),
        lambda: files.list_folder(target),
    ):
        with pytest.raises((OSError, ChatError)):
            act()
    assert tree_of(tmp_path) == before


@posix
def test_no_link_is_followed(files: FileSystem, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    os.symlink(outside, at(files, "folder"))
    os.symlink(outside / "file", at(files, "file"))
    os.symlink(outside / "new", at(files, "dangling"))
    for act in (
        lambda: files.read_file(at(files, "file"), 10),
        lambda: files.read_file(at(files, "dangling"), 10),
        lambda: files.read_file(at(files, "folder", "file"), 10),
        lambda: files.list_folder(at(files, "folder")),
        lambda: files.write_new(at(files, "folder", "new"), b"x"),
        lambda: files.write_new(at(files, "dangling"), b"x"),
        lambda: files.remove(at(files, "folder", "file")),
        lambda: files.make_folder(at(files, "folder")),
        lambda: files.open_lock(at(files, "file")),
        lambda: files.open_lock(at(files, "dangling")),
        lambda: files.sync_folder(at(files, "folder", "x")),
    ):
        with pytest.raises(OSError, match=r".") as caught:
            act()
        assert isinstance(caught.value, (NotOrdinaryError, FileExistsError))
    assert tree_of(outside) == {"file": ((outside / "file").stat().st_mode, b"kept")}


@posix
@pytest.mark.parametrize("kind", ["folder", "fifo", "link", "socket"])
def test_what_is_no_ordinary_file_is_not_read_and_never_blocks(files: FileSystem, kind: str) -> None:
    path = at(files, "f")
    if kind == "folder":
        os.mkdir(path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        os.symlink("nowhere", path)
    else:
        os.mknod(path, stat.S_IFSOCK | 0o600)
    with pytest.raises(NotOrdinaryError):
        files.read_file(path, 10)


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 5000])
def test_a_file_is_read_to_one_byte_past_the_limit(files: FileSystem, size: int) -> None:
    files.write_new(at(files, "f"), b"x" * size)
    assert files.read_file(at(files, "f"), 10) == b"x" * min(size, 11)
    assert files.read_named(at(files, "f"), 10) == b"x" * min(size, 11)


def test_a_missing_file_is_told_as_missing(files: FileSystem) -> None:
    for path in (at(files, "f"), at(files, "no", "f")):
        for act in (
            lambda p=path: files.read_file(p, 1),
            lambda p=path: files.status(p),
            lambda p=path: files.remove(p),
        ):
            with pytest.raises(FileNotFoundError):
                act()


def test_a_new_file_replaces_nothing_and_a_failed_one_leaves_nothing(
    files: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_new(at(files, "f"), b"one")
    with pytest.raises(FileExistsError):
        files.write_new(at(files, "f"), b"two")
    assert files.read_file(at(files, "f"), 10) == b"one"

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(filesystem, "_sync", full)
    with pytest.raises(OSError, match="full"):
        files.write_new(at(files, "g"), b"x")
    assert files.list_folder(files.root) == ["f"]


def test_a_name_that_is_too_long_is_refused_before_anything_is_written(files: FileSystem) -> None:
    for name in ("x" * 241, "字" * 81):
        with pytest.raises(OSError, match=os.strerror(errno.ENAMETOOLONG)):
            files.write_new(at(files, name), b"")
    files.write_new(at(files, "字" * 80), b"")
    assert len(files.list_folder(files.root)) == 1


@posix
@pytest.mark.parametrize(
    ("root", "file", "folder"), [(0o700, 0o600, 0o700), (0o770, 0o660, 0o770), (0o755, 0o644, 0o755)]
)
def test_new_files_have_the_mode_of_the_root_whatever_the_umask(
    files: FileSystem, root: int, file: int, folder: int
) -> None:
    os.chmod(files.root, root)
    for umask in (0o000, 0o022, 0o077):
        before = os.umask(umask)
        try:
            files.write_new(at(files, f"f{umask}"), b"")
            files.make_folder(at(files, f"d{umask}"))
            os.close(files.open_lock(at(files, f"l{umask}")))
        finally:
            os.umask(before)
        modes = {name[0]: stat.S_IMODE(os.stat(at(files, f"{name}{umask}")).st_mode) for name in ("f", "d", "l")}
        assert modes == {"f": file, "d": folder, "l": file}


@posix
def test_a_new_root_is_private(tmp_path: Path, clock: FakeClock) -> None:
    files = FileSystem(str(tmp_path / "a" / "b"), clock)
    files.make_root()
    files.make_root()
    assert stat.S_IMODE(os.stat(files.root).st_mode) == 0o700


# --- names in use (Windows) -----------------------------------------------------------------------------------------


class InUse:
    """An os function that fails as Windows does while another program holds the file open."""

    def __init__(self, failures: int, winerror: int | None, code: int = errno.EACCES) -> None:
        self.failures, self.winerror, self.code = failures, winerror, code
        self.calls = 0

    def __call__(self, *paths: object) -> None:
        self.calls += 1
        if self.calls <= self.failures:
            error = PermissionError(self.code, "in use")
            if self.winerror is not None:
                error.winerror = self.winerror  # type: ignore[attr-defined]
            raise error


@pytest.mark.parametrize("winerror", [5, 32, 33])
@pytest.mark.parametrize("name", ["replace", "unlink"])
def test_a_file_in_use_is_tried_again_for_two_seconds(
    files: FileSystem, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, winerror: int, name: str
) -> None:
    def act() -> None:
        if name == "replace":
            files.replace(at(files, "a"), at(files, "b"))
        else:
            files.remove(at(files, "a"))

    passing = InUse(3, winerror)
    monkeypatch.setattr(os, name, passing)
    act()
    assert passing.calls == 4
    lasting = InUse(10**9, winerror)
    monkeypatch.setattr(os, name, lasting)
    began = clock.monotonic()
    with pytest.raises(PermissionError):
        act()
    assert 2.0 <= clock.monotonic() - began < 2.1
    assert lasting.calls < 1000


@pytest.mark.parametrize(("winerror", "code"), [(None, errno.EACCES), (None, errno.EPERM), (2, errno.ENOENT)])
def test_a_denied_permission_is_told_at_once(
    files: FileSystem, monkeypatch: pytest.MonkeyPatch, winerror: int | None, code: int
) -> None:
    denied = InUse(10**9, winerror, code)
    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(OSError, match="in use"):
        files.replace(at(files, "a"), at(files, "b"))
    assert denied.calls == 1


# --- publishing -----------------------------------------------------------------------------------------------------


def test_a_file_gets_its_name_in_one_step(files: FileSystem) -> None:
    files.write_new(at(files, "tmp"), b"new")
    publication.name_new(files, at(files, "tmp"), at(files, "final"))
    assert {name: files.read_file(at(files, name), 9) for name in files.list_folder(files.root)} == {"final": b"new"}


@pytest.mark.parametrize("links", [True, False])
def test_a_taken_name_is_never_replaced(files: FileSystem, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        without_links(monkeypatch)
    files.write_new(at(files, "final"), b"old")
    files.write_new(at(files, "tmp"), b"new")
    with pytest.raises(FileExistsError):
        publication.name_new(files, at(files, "tmp"), at(files, "final"))
    assert {name: files.read_file(at(files, name), 9) for name in files.list_folder(files.root)} == {"final": b"old"}


def without_links(monkeypatch: pytest.MonkeyPatch, code: int = errno.EPERM) -> None:
    def link(*paths: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_without_links_a_rename_publishes(files: FileSystem, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    without_links(monkeypatch, code)
    files.write_new(at(files, "tmp"), b"new")
    with pytest.raises(LinksUnsupportedError):
        files.link(at(files, "tmp"), at(files, "final"))
    publication.name_new(files, at(files, "tmp"), at(files, "final"))
    assert files.list_folder(files.root) == ["final"]


def test_another_failure_of_a_link_is_no_lack_of_links(files: FileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    without_links(monkeypatch, errno.EIO)
    files.write_new(at(files, "tmp"), b"new")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        publication.name_new(files, at(files, "tmp"), at(files, "final"))
    assert files.list_folder(files.root) == []


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("aside", [True, False])
def test_a_failed_publication_is_taken_back_or_said_to_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool, aside: bool
) -> None:
    """Whichever primitive fails, and whether once or from then on: the name is gone, or the caller is told."""
    if not links:
        without_links(monkeypatch)
    for forever in (False, True):
        for number in range(1, 20):
            root = tmp_path / f"{number}-{forever}"
            root.mkdir()
            (root / "tmp").write_bytes(b"new")
            files = FaultyFiles(str(root), at=number, code=errno.EIO, forever=forever)
            unknown = False
            try:
                publication.name_new(
                    files, at(files, "tmp"), at(files, "final"), aside=at(files, "aside") if aside else None
                )
            except publication.NotTakenBackError:
                unknown = True
                failed = errno.EIO
            except OSError as error:
                failed = error.errno or 0
            else:
                assert not files.fired
                assert os.listdir(root) == ["final"]
                break
            assert failed == errno.EIO
            assert unknown or not (root / "final").exists()
            assert unknown or not (root / "tmp").exists()
            assert not unknown or forever
        else:
            pytest.fail("the publication never ended")
