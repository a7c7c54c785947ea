"""One file in all work trees of one repository: linked ones beside and inside each other, submodules, damaged links."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from agent_chat.records.locked_path import FILE, covers, meets, same
from tests.storage.test_work_tree import INVALID, OUTSIDE, find, key, refusal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sisters(tmp_path: Path) -> Path:
    """A folder with a repository, a second work tree beside it, a third inside it, a submodule, and a stranger."""
    top = tmp_path.resolve()
    (top / "chat/dev").mkdir(parents=True)

    def git(*words: str, cwd: str = "main") -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"]
        subprocess.run(["git", *who, *words], cwd=top / cwd, check=True, capture_output=True)

    for name in ("main", "stranger"):
        (top / name / "src").mkdir(parents=True)
        (top / name / "src" / "a.py").write_text("x")
        git("init", "-q", cwd=name)
        git("add", "-A", cwd=name)
        git("commit", "-qm", "x", cwd=name)
    git("worktree", "add", "-q", "../second")
    git("worktree", "add", "-q", "./inner")
    git("submodule", "add", "-q", "../stranger", "sub")
    return top


@pytest.mark.parametrize("recorded", [None, "main", "second", "main/inner"])
def test_a_file_is_one_in_every_work_tree_of_its_repository(sisters: Path, recorded: str | None) -> None:
    at = str(sisters / recorded) if recorded is not None else None
    wanted = ("src/a.py", FILE)
    for folder, text in (
        ("main", "src/a.py"),
        ("main/src", "a.py"),
        ("second", "src/a.py"),
        ("second/src", "a.py"),
        ("main/inner/src", "a.py"),
        ("main", "inner/src/a.py"),
        ("second", "../main/src/a.py"),
        ("second", str(sisters / "main/src/a.py")),
        ("main", str(sisters / "second/src/a.py")),
    ):
        assert key(find(sisters / folder, recorded=at), text) == wanted, (folder, text)


def test_an_absolute_path_is_relative_to_its_own_work_tree_where_the_caller_is_in_none(sisters: Path) -> None:
    tree = find(sisters)
    assert tree.source == "folder"
    assert key(tree, str(sisters / "main/src/a.py")) == ("src/a.py", FILE)
    assert key(tree, "second/src/a.py") == ("src/a.py", FILE)
    assert key(tree, "notes.md") == ("notes.md", FILE)


def test_a_part_of_a_work_tree_is_the_same_part_in_its_sisters(sisters: Path) -> None:
    part = str(sisters / "main/src")
    assert key(find(sisters / "second/src", option=part), "a.py") == ("a.py", FILE)
    assert key(find(sisters / "second", option=part), "a.py") == ("a.py", FILE)
    assert refusal(find(sisters / "second", option=part).locate, str(sisters / "second/README"))[0] == OUTSIDE


def test_a_submodule_and_another_repository_are_no_sisters(sisters: Path) -> None:
    tree = find(sisters / "main")
    assert key(tree, "sub/src/a.py") == ("sub/src/a.py", FILE)
    assert refusal(tree.locate, "../stranger/src/a.py")[0] == OUTSIDE


@pytest.mark.parametrize("text", ["", "no gitdir", "gitdir: ", "gitdir: /no/such/place", "gitdir: ../main/src"])
def test_a_damaged_link_to_a_repository_makes_no_sister(sisters: Path, text: str) -> None:
    (sisters / "second/.git").write_text(text)
    assert refusal(find(sisters / "second").locate, str(sisters / "main/src/a.py"))[0] == OUTSIDE
    assert key(find(sisters / "second"), "src/a.py") == ("src/a.py", FILE)


def test_a_loop_of_links_is_refused(sisters: Path) -> None:
    (sisters / "main/loop").symlink_to("loop")
    assert refusal(find(sisters / "main").locate, "loop/x")[0] == INVALID


# -- work trees in each other: a file has a path in both ---------------------------------------------------------------


def test_a_file_of_a_nested_repository_is_one_from_outside_and_from_inside(sisters: Path) -> None:
    outside, inside = find(sisters / "main"), find(sisters / "main/sub/src")
    one, other = outside.locate("sub/src/a.py"), inside.locate("a.py")
    assert (one.path.normalized_path, other.path.normalized_path) == ("sub/src/a.py", "src/a.py")
    assert meets(one, other.path)
    assert meets(other, one.path)
    assert same(one, other.path)
    assert meets(outside.locate("sub"), other.path)
    assert covers([outside.locate("sub/").path], other)
    assert not meets(outside.locate("sub/src/b.py"), other.path)


def test_a_named_part_of_a_work_tree_meets_the_whole(sisters: Path) -> None:
    part = find(sisters / "main", option=str(sisters / "main/src")).locate("a.py")
    whole = find(sisters / "main").locate("src/a.py")
    assert same(part, whole.path)
    assert same(whole, part.path)


def test_the_same_path_of_two_copies_counts_as_one_file(sisters: Path) -> None:
    one, other = find(sisters / "main").locate("src/a.py"), find(sisters / "stranger").locate("src/a.py")
    assert one.path.tree != other.path.tree
    assert meets(one, other.path)
    assert not meets(one, find(sisters / "stranger").locate("src/b.py").path)


def test_parts_of_sister_work_trees_are_told_from_the_top_of_the_repository(sisters: Path) -> None:
    part = find(sisters / "main", option=str(sisters / "main/src")).locate("a.py")
    whole = find(sisters / "second").locate("src/a.py")
    assert same(whole, part.path)
    assert same(part, whole.path)


def test_a_file_of_a_submodule_is_one_in_all_work_trees(sisters: Path) -> None:
    (sisters / "second/sub/src").mkdir(parents=True, exist_ok=True)
    (sisters / "second/sub/.git").mkdir()
    outside = find(sisters / "main").locate("sub/src/a.py")
    inside = find(sisters / "second/sub").locate("src/a.py")
    assert same(inside, outside.path)
    assert same(outside, inside.path)


@pytest.mark.parametrize("kind", ["pipe", "loop", "folder in its place", "NUL", "long"])
def test_what_leads_to_no_repository_stands_in_nobodys_way(sisters: Path, kind: str) -> None:
    odd = sisters / "main/odd"
    odd.mkdir()
    git = odd / ".git"
    if kind == "pipe":
        os.mkfifo(git)
    elif kind == "loop":
        git.symlink_to(".git")
    elif kind == "folder in its place":
        git.write_text("gitdir: ../src")
        (sisters / "main/src/commondir").mkdir()
    else:
        git.write_bytes(b"gitdir: " + (b"a\0b" if kind == "NUL" else b"a" * 9000))
    assert key(find(sisters / "main"), "odd/x") == ("odd/x", FILE)
    assert key(find(odd), "x") == ("x", FILE)


def test_only_a_lock_on_the_same_place_is_renewed_or_given_back_by_path(sisters: Path) -> None:
    one, other = find(sisters / "main").locate("src/a.py"), find(sisters / "stranger").locate("src/a.py")
    assert not same(one, other.path)
    assert not covers([other.path], one)
    sister = find(sisters / "second").locate("src/a.py")
    assert same(one, sister.path.replace(tree=str(sisters / "second")))
    elsewhere = one.path.replace(tree=str(sisters / "no longer there"))
    assert same(one, elsewhere)
