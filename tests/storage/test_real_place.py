"""How folders compare names: read off what stands in them, off the system, off the folder around them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING, Callable

import pytest

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.records.locked_path import CASE, EXACT, FORM, meets, same
from agent_chat.storage import real_place, work_tree
from tests.support.workspaces import make_workspace

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_chat.storage.work_tree import WorkTree

linux = pytest.mark.skipif(sys.platform != "linux", reason="the file systems of other systems fold names by themselves")
NFC, NFD = "Zoë.md", unicodedata.normalize("NFD", "Zoë.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path.resolve() / "project"
    (project / "Src").mkdir(parents=True)
    (project / "empty").mkdir()
    for name in ("README.md", "Src/Main.py", "123", NFC):
        (project / name).write_text("x")
    return project


def tree_in(folder: Path) -> WorkTree:
    chat = make_workspace(folder.parent / "chat")
    return work_tree.find(chat, option=str(folder), variable=None, recorded=None, folder=str(folder))


def fold_below(patch: pytest.MonkeyPatch, folder: Path, form_of: Callable[[str], str]) -> None:
    """Makes a folder find names as a kernel that folds them does: under any name of the same form."""
    lstat, listdir = os.lstat, os.listdir

    def seen(path: str) -> str:
        if not path.startswith(f"{folder}/"):
            return path
        found = str(folder)
        for name in path[len(found) + 1 :].split("/"):
            there = listdir(found) if os.path.isdir(found) else []
            alike = [each for each in there if form_of(each) == form_of(name)]
            found = f"{found}/{alike[0] if alike else name}"
        return found

    patch.setattr(os, "lstat", lambda path: lstat(seen(path)))
    patch.setattr(os, "listdir", lambda path: listdir(seen(path)))


def folds_of(tree: WorkTree, *texts: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(found.path.normalized_path, found.folds) for found in map(tree.locate, texts)]


@linux
def test_a_folder_that_folds_case_gives_one_key_in_the_spelling_of_the_disk(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold_below(monkeypatch, project, names.fold)
    assert folds_of(
        tree_in(project), "readme.MD", "src/MAIN.py", "SRC/new.py", "New", NFD.upper(), str(project / "src")
    ) == [
        ("README.md", (CASE,)),
        ("Src/Main.py", (CASE, CASE)),
        ("Src/new.py", (CASE, CASE)),
        ("New", (CASE,)),
        (NFC, (CASE,)),
        ("Src", (CASE,)),
    ]


@linux
def test_names_that_are_not_there_yet_meet_in_any_case_where_the_folder_folds(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold_below(monkeypatch, project, names.fold)
    tree = tree_in(project)
    for one, other in (
        ("New/a", "nEW/A"),
        ("Src/x", "src/X"),
        ("empty/a", "EMPTY/A"),
        ("a", "A/b"),
        ("123/a", "123/A"),
    ):
        assert meets(tree.locate(one), tree.locate(other).path)
        assert meets(tree.locate(other), tree.locate(one).path)
    assert not meets(tree.locate("New"), tree.locate("News").path)


@linux
def test_a_folder_that_folds_forms_alone_keeps_case_apart(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fold_below(monkeypatch, project, names.normal_form)
    tree = tree_in(project)
    assert folds_of(tree, NFD, "readme.md", unicodedata.normalize("NFD", "né")) == [
        (NFC, (FORM,)),
        ("readme.md", (FORM,)),
        (unicodedata.normalize("NFD", "né"), (FORM,)),
    ]
    assert same(tree.locate("né"), tree.locate(unicodedata.normalize("NFD", "né")).path)
    assert not meets(tree.locate("né"), tree.locate("NÉ").path)


@linux
def test_the_chat_root_is_known_in_any_case(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "Chat/dev").mkdir(parents=True)
    fold_below(monkeypatch, project.parent, names.fold)
    for root in ("Chat", "chat", "new"):
        chat = make_workspace(project / root)
        tree = work_tree.find(
            chat, option=str(project.parent / "PROJECT"), variable=None, recorded=None, folder=str(project)
        )
        assert tree.root == str(project)
        with pytest.raises(ChatError, match="in the chat root"):
            tree.locate(f"{root.upper()}/Dev/x")


@linux
def test_two_files_of_almost_one_name_show_that_case_counts_even_as_hard_links(project: Path) -> None:
    os.link(project / "README.md", project / "readme.MD")
    os.link(project / NFC, project / NFD)
    tree = tree_in(project)
    assert folds_of(tree, "README.md", "readme.MD", NFC, NFD) == [
        ("README.md", (EXACT,)),
        ("readme.MD", (EXACT,)),
        (NFC, (EXACT,)),
        (NFD, (EXACT,)),
    ]


@linux
def test_an_empty_folder_is_asked_of_the_system(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def casefold(descriptor: int, request: int, argument: bytes) -> bytes:
        asked.append((request & 0xFFFF, os.readlink(f"/proc/self/fd/{descriptor}")))
        return real_place._CASEFOLD_FLAG.to_bytes(4, sys.byteorder) + bytes(4)

    assert tree_in(project).locate("empty/a").folds == (EXACT, EXACT)
    monkeypatch.setattr(fcntl, "ioctl", casefold)
    tree = tree_in(project)
    assert tree.locate("empty/a").folds == (EXACT, CASE)
    assert tree.locate("empty/b/c").folds == (EXACT, CASE, CASE)
    assert asked == [(0x6601, str(project / "empty"))]


@linux
@pytest.mark.parametrize("number", [errno.ENOTTY, errno.EPERM, errno.EINVAL])
def test_where_the_system_cannot_say_an_empty_folder_is_like_the_one_around_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def cannot(*_: object) -> bytes:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "ioctl", cannot)
    (project / "1/2").mkdir(parents=True)
    assert tree_in(project).locate("empty/a").folds == (EXACT, EXACT)
    assert tree_in(project).locate("1/2/a").folds == (EXACT, EXACT, EXACT)
    fold_below(monkeypatch, project, names.fold)
    assert tree_in(project).locate("empty/a").folds == (CASE, CASE)
    assert tree_in(project).locate("1/2/a").folds[2] == CASE


@linux
def test_an_empty_folder_of_another_file_system_is_not_like_the_one_around_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold_below(monkeypatch, project, names.fold)
    assert tree_in(project).locate("empty/a").folds == (CASE, CASE)
    folding = os.lstat

    def lstat(path: str) -> os.stat_result:
        found = folding(path)
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]]) if path.endswith("/empty") else found

    monkeypatch.setattr(os, "lstat", lstat)
    assert tree_in(project).locate("empty/a").folds == (CASE, EXACT)


@linux
def test_an_error_while_asking_the_system_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "ioctl", fails)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        tree_in(project).locate("empty/a")


@linux
def test_a_folder_that_may_not_be_listed_is_taken_to_fold(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listdir = os.listdir

    def refuse(path: str) -> list[str]:
        if path == str(project / "Src"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    tree = tree_in(project)
    assert folds_of(tree, "Src/Main.py", "Src/new.py", "Src/main.py") == [
        ("Src/Main.py", (EXACT, EXACT)),
        ("Src/new.py", (EXACT, CASE)),
        ("Src/main.py", (EXACT, CASE)),
    ]


@linux
def test_links_that_lead_to_each_other_cannot_be_locked(project: Path) -> None:
    os.symlink("two", project / "one")
    os.symlink("one", project / "two")
    with pytest.raises(ChatError, match="a loop of links") as caught:
        tree_in(project).locate("one/x")
    assert caught.value.code == "PATH_LOCK_INVALID_PATH"


@linux
def test_other_systems_are_taken_at_their_word(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_place, "MACOS", True)
    assert folds_of(tree_in(project), "Src/Main.py", "Src/new") == [
        ("Src/Main.py", (FORM, FORM)),
        ("Src/new", (FORM, FORM)),
    ]
    monkeypatch.setattr(real_place, "WINDOWS", True)
    assert folds_of(tree_in(project), "Src/Main.py", "Src/new") == [
        ("Src/Main.py", (CASE, CASE)),
        ("Src/new", (CASE, CASE)),
    ]
    for text in ("src/a.py:stream", "C:/x", "src\\a.py"):
        with pytest.raises(ChatError, match="cannot be locked"):
            tree_in(project).locate(text)


@pytest.mark.parametrize(
    ("name", "other"),
    [("README", "readme"), ("123", None), ("Їжак", "їЖАК"), ("Їжак.md", "Їжак.MD"), ("ß", None), ("日本", None)],
)
def test_the_other_case_of_a_name_is_one_that_every_folding_file_system_knows(name: str, other: str | None) -> None:
    assert real_place._other_case(name) == other


@pytest.fixture
def casefold_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder of a real ext4 file system with `chattr +F`."""
    image, mount = tmp_path / "image", tmp_path / "mount"
    mount.mkdir()
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    steps = [
        ["mkfs.ext4", "-q", "-O", "casefold", str(image)],
        ["mount", "-o", "loop", str(image), str(mount)],
        ["mkdir", str(mount / "Project")],
        ["chattr", "+F", str(mount / "Project")],
    ]
    try:
        for step in steps:
            try:
                subprocess.run(step, check=True, capture_output=True)
            except (FileNotFoundError, subprocess.CalledProcessError) as error:
                pytest.skip(f"no ext4 with casefold here: {step[0]} failed: {getattr(error, 'stderr', b'')!r}")
        yield mount / "Project"
    finally:
        if os.path.ismount(mount):
            subprocess.run(["umount", str(mount)], check=True)


@linux
@pytest.mark.slow
def test_a_real_folder_that_folds_case(casefold_folder: Path) -> None:
    tree = tree_in(casefold_folder)
    assert folds_of(tree, "new", "New/x") == [("new", (CASE,)), ("New/x", (CASE, CASE))]
    (casefold_folder / "README.md").write_text("x")
    (casefold_folder / "Src").mkdir()
    assert folds_of(tree_in(casefold_folder), "readme.MD", "SRC/a") == [
        ("README.md", (CASE,)),
        ("Src/a", (CASE, CASE)),
    ]
