"""Which file a caller means: one key for every spelling of a path, and a refusal for what is not the project's."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.errors import ChatError
from agent_chat.records.locked_path import DIRECTORY, EXACT, FILE, covers, meets, same
from agent_chat.storage import work_tree
from tests.support.cli import tree_of
from tests.support.workspaces import make_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.work_tree import WorkTree

posix = pytest.mark.skipif(os.name == "nt", reason="Windows makes no links without a privilege")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the file systems of other systems fold names")
NFC, NFD = "Zoë.md", unicodedata.normalize("NFD", "Zoë.md")
INVALID, OUTSIDE = "PATH_LOCK_INVALID_PATH", "PATH_LOCK_PATH_OUTSIDE_WORKSPACE"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder with a project as git makes one, a chat root beside it, and a folder that is nobody's business."""
    top = tmp_path.resolve()
    for folder in ("project/.git", "project/src/deep", "project/.github", "chat/dev", "elsewhere"):
        (top / folder).mkdir(parents=True)
    for file in ("project/README.md", "project/src/a.py", "project/src/a.pyi", "elsewhere/secret"):
        (top / file).write_text("x")
    return top


def find(folder: Path, *, chat: Path | None = None, **named: str | None) -> WorkTree:
    """The work tree of a caller in a folder; the chat root is the one in a folder above."""
    if chat is None:
        chat = next(above / "chat" for above in (folder, *folder.parents) if (above / "chat").is_dir())
    given = {"option": None, "variable": None, "recorded": None, **named}
    return work_tree.find(make_workspace(chat), folder=os.fspath(folder), **given)


def key(tree: WorkTree, text: str) -> tuple[str, str]:
    path = tree.locate(text).path
    assert path.display_path == text
    return path.normalized_path, path.kind


def refusal(act: Callable[..., object], *given: Any, **named: Any) -> tuple[str, str]:
    with pytest.raises(ChatError) as caught:
        act(*given, **named)
    return caught.value.code, caught.value.message


# -- which work tree ---------------------------------------------------------------------------------------------------


def test_the_nearest_name_wins(top: Path) -> None:
    for name in ("one", "two", "three"):
        (top / name).mkdir()
    one, two, three = (str(top / name) for name in ("one", "two", "three"))
    named = [
        find(top / "project/src", option=one, variable=two, recorded=three),
        find(top / "project/src", option="", variable=two, recorded=three),
        find(top / "project/src", option=None, variable="", recorded=three),
        find(top / "project/src", recorded=""),
        find(top / "elsewhere"),
    ]
    assert [(tree.root, tree.source) for tree in named] == [
        (one, "option"),
        (two, "variable"),
        (three, "channel"),
        (str(top / "project"), "git"),
        (str(top / "elsewhere"), "folder"),
    ]


def test_a_relative_name_begins_at_the_current_folder(top: Path) -> None:
    assert find(top / "project/src", option="../../elsewhere").root == str(top / "elsewhere")
    assert find(top / "project/src", variable=".").root == str(top / "project/src")


@pytest.mark.parametrize(
    ("source", "said"),
    [("option", "--workspace"), ("variable", "$AGENT_CHAT_WORKSPACE"), ("recorded", "recorded in the channel")],
)
def test_a_named_work_tree_that_is_no_folder_is_refused_with_where_it_came_from(
    top: Path, source: str, said: str
) -> None:
    for path, fault in (
        (top / "gone", "does not exist"),
        (top / "project/README.md", "is no folder"),
        (top / "project/README.md/x", "does not exist"),
        ("a\0b", "is no path"),
    ):
        code, message = refusal(find, top / "project", **{source: str(path)})
        assert (code, said in message, fault in message) == (INVALID, True, True), message


def test_a_relative_work_tree_in_a_channel_is_refused_since_each_caller_stands_elsewhere(top: Path) -> None:
    code, message = refusal(find, top / "project", recorded="src")
    assert (code, "no absolute path" in message) == (INVALID, True)


@pytest.mark.parametrize("folder", ["project", "./project", "a\0b", ""])
def test_a_current_folder_that_is_no_absolute_path_is_refused(top: Path, folder: str) -> None:
    workspace = make_workspace(top / "chat")
    assert refusal(work_tree.find, workspace, option=None, variable=None, recorded=None, folder=folder)[0] == INVALID


def test_a_current_folder_that_was_deleted_is_refused_unless_a_work_tree_is_named(top: Path) -> None:
    assert refusal(find, top / "gone")[0] == INVALID
    assert key(find(top / "gone", option=str(top / "project")), "src/a.py") == ("src/a.py", FILE)


@pytest.mark.slow
def test_two_worktrees_of_one_repository_mean_the_same_file(top: Path) -> None:
    project, second = top / "project", top / "second"
    os.rmdir(project / ".git")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
        ["worktree", "add", "-q", str(second)],
    ):
        subprocess.run(["git", *words], cwd=project, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert (second / ".git").is_file()
    first, other = find(project / "src"), find(second / "src")
    assert (other.root, other.source) == (str(second), "git")
    assert same(other.locate("a.py"), first.locate(str(project / "src/a.py")).path)
    assert key(first, str(second / "src/a.py")) == ("src/a.py", FILE)


def test_a_git_file_marks_a_work_tree_too(top: Path) -> None:
    (top / "project/src/.git").write_text("gitdir: elsewhere\n")
    assert find(top / "project/src/deep").root == str(top / "project/src")


@posix
def test_the_root_of_the_disk_can_be_the_work_tree(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: real("/" if path == "/.git" else path))
    tree = find(top / "elsewhere")
    assert (tree.root, tree.source) == ("/", "git")
    assert key(tree, "secret") == (f"{top}/elsewhere/secret"[1:], FILE)
    assert key(tree, "/") == (".", DIRECTORY)


# -- one file, many spellings ------------------------------------------------------------------------------------------


def test_every_spelling_of_a_file_gives_one_key(top: Path) -> None:
    above, below = find(top / "project"), find(top / "project/src")
    spellings = "src/a.py ./src/a.py src//a.py src/x/../a.py src/deep/../a.py src/./a.py src/a.py/ .//src/a.py"
    for text in spellings.split():
        assert key(above, text) == ("src/a.py", FILE), text
    for text in ("a.py", "./a.py", "../src/a.py", "deep/../a.py", "x/y/../../a.py", "../README.md/../src/a.py"):
        assert key(below, text) == ("src/a.py", FILE), text
    for tree in (above, below):
        assert key(tree, str(top / "project/src/a.py")) == ("src/a.py", FILE)


def test_a_relative_path_begins_at_the_work_tree_for_who_stands_outside(top: Path) -> None:
    tree = find(top / "elsewhere", option=str(top / "project"))
    assert key(tree, "src/a.py") == ("src/a.py", FILE)
    assert key(tree, "secret") == ("secret", FILE)


def test_what_ends_inside_may_have_been_outside(top: Path) -> None:
    tree = find(top / "project/src")
    assert key(tree, "../../project/src/a.py") == ("src/a.py", FILE)
    assert key(tree, f"{top}/elsewhere/../project/README.md") == ("README.md", FILE)


def test_kinds_are_read_off_the_disk_and_off_the_text_where_nothing_is(top: Path) -> None:
    tree = find(top / "project")
    assert [
        key(tree, text) for text in ("src", "src/", "new", "new/", "new/x", "new/x/..", "new/.", ".", "src/..")
    ] == [
        ("src", DIRECTORY),
        ("src", DIRECTORY),
        ("new", FILE),
        ("new", DIRECTORY),
        ("new/x", FILE),
        ("new", DIRECTORY),
        ("new", DIRECTORY),
        (".", DIRECTORY),
        (".", DIRECTORY),
    ]


def test_a_file_written_with_a_slash_meets_the_file(top: Path) -> None:
    tree = find(top / "project")
    assert meets(tree.locate("src/a.py/"), tree.locate("src/a.py").path)
    assert meets(tree.locate("src/a.py/x"), tree.locate("src/a.py").path)


def test_neighbours_of_almost_one_name_do_not_meet(top: Path) -> None:
    tree = find(top / "project")
    for one, other in ((".git", ".github"), ("src/a.py", "src/a.pyi"), ("src", "src2/"), ("README.md", "README")):
        assert not meets(tree.locate(one), tree.locate(other).path)
        assert not meets(tree.locate(other), tree.locate(one).path)
    assert covers([tree.locate("src").path], tree.locate("src/deep/new.py"))


@linux
def test_names_are_exact_where_the_file_system_is(top: Path) -> None:
    (top / "project" / NFC).write_text("x")
    tree = find(top / "project")
    for one, other in (("README.md", "readme.md"), (NFC, NFD), ("New", "new"), ("src/a.py", "SRC/a.py")):
        assert not meets(tree.locate(one), tree.locate(other).path)
        assert not meets(tree.locate(other), tree.locate(one).path)
    assert tree.locate("src/a.py").folds == (EXACT, EXACT)
    assert tree.locate("src/new/er.py").folds == (EXACT, EXACT, EXACT)


# -- links -------------------------------------------------------------------------------------------------------------


@posix
def test_a_link_to_the_work_tree_leads_into_it(top: Path) -> None:
    os.symlink(top / "project", top / "way")
    assert key(find(top / "project"), str(top / "way/src/a.py")) == ("src/a.py", FILE)
    through = find(top / "way/src")
    assert (through.root, key(through, "a.py")) == (str(top / "project"), ("src/a.py", FILE))
    assert find(top / "elsewhere", option=str(top / "way")).root == str(top / "project")
    assert key(find(top / "way/src", option=str(top / "project")), "a.py") == ("src/a.py", FILE)


@posix
def test_a_link_locks_its_target(top: Path) -> None:
    project = top / "project"
    os.symlink("src", project / "short")
    os.symlink("a.py", project / "src/b.py")
    os.symlink(project / "src/deep", project / "whole")
    os.symlink("short/new.py", project / "dangling")
    tree = find(project)
    assert key(tree, "none/of/../../short") == ("src", DIRECTORY)
    assert [key(tree, text) for text in ("short", "short/b.py", "whole", "whole/../a.py", "dangling", "src/b.py/")] == [
        ("src", DIRECTORY),
        ("src/a.py", FILE),
        ("src/deep", DIRECTORY),
        ("src/a.py", FILE),
        ("src/new.py", FILE),
        ("src/a.py", FILE),
    ]


@posix
def test_what_leads_out_is_refused(top: Path) -> None:
    project = top / "project"
    os.symlink("../elsewhere", project / "out")
    os.symlink(top / "elsewhere/secret", project / "secret")
    os.symlink("/nowhere/at/all", project / "dangling")
    os.symlink("out", project / "twice")
    tree = find(project / "src")
    texts = [
        "../..",
        "../../elsewhere",
        "../../../../../../..",
        "/",
        "/etc/passwd",
        str(top),
        f"{top}/project2",
        "../../projec",
    ]
    for text in (*texts, "../out", "../out/new", "../secret", "../dangling", "../twice/secret"):
        code, message = refusal(tree.locate, text)
        assert (code, "outside the work tree" in message) == (OUTSIDE, True), text


@posix
def test_a_link_to_a_name_that_cannot_be_recorded_is_refused(top: Path) -> None:
    os.symlink("a\\b", top / "project/link")
    os.symlink(b"\xff", os.fsencode(top / "project/bytes"))
    tree = find(top / "project")
    assert [refusal(tree.locate, text)[0] for text in ("link", "bytes")] == [INVALID] * 2


@posix
def test_another_mount_of_the_work_tree_or_the_chat_root_leads_into_it(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat
    (top / "project/room").mkdir()

    def lstat(path: str) -> os.stat_result:
        """Shows the project at a second place, and the chat root in the project, as `mount --bind` does."""
        seen = path.replace(f"{top}/mounted", f"{top}/project").replace(f"{top}/project/room", f"{top}/chat")
        return real(seen)

    monkeypatch.setattr(os, "lstat", lstat)
    assert key(find(top / "project"), f"{top}/mounted/src/a.py") == ("src/a.py", FILE)
    assert key(find(top / "mounted/src", chat=top / "chat", option=str(top / "project")), "a.py") == ("src/a.py", FILE)
    assert refusal(find(top / "project").locate, "room/dev/x")[0] == OUTSIDE


# -- the chat root -----------------------------------------------------------------------------------------------------


def test_the_chat_root_in_the_work_tree_is_refused_and_what_holds_it_is_not(top: Path) -> None:
    chat = top / "project/src/chat"
    (chat / "dev").mkdir(parents=True)
    tree = find(top / "project", chat=chat)
    for text in ("src/chat", "src/chat/", "src/chat/dev", "src/chat/dev/_meta.json", "src/chat/new", f"{chat}/dev"):
        code, message = refusal(tree.locate, text)
        assert (code, "in the chat root" in message) == (OUTSIDE, True), text
    assert [key(tree, text) for text in ("src", ".", "src/chat2", "src/cha")] == [
        ("src", DIRECTORY),
        (".", DIRECTORY),
        ("src/chat2", FILE),
        ("src/cha", FILE),
    ]


def test_a_chat_root_that_is_not_there_yet_is_refused_too(top: Path) -> None:
    tree = find(top / "project", chat=top / "project/.chat")
    assert refusal(tree.locate, ".chat/dev")[0] == OUTSIDE
    assert key(tree, "src/a.py") == ("src/a.py", FILE)


@posix
def test_a_link_hides_no_chat_root(top: Path) -> None:
    os.symlink("../chat/dev", top / "project/room")
    assert refusal(find(top / "project").locate, "room/x")[0] == OUTSIDE
    (top / "project/talk/dev").mkdir(parents=True)
    os.symlink(top / "project/talk", top / "way")
    assert refusal(find(top / "project", chat=top / "way").locate, "talk/dev")[0] == OUTSIDE


def test_a_work_tree_in_the_chat_root_has_nothing_to_lock(top: Path) -> None:
    tree = find(top / "chat/dev")
    assert [refusal(tree.locate, text)[0] for text in (".", "x", "..")] == [OUTSIDE] * 3
    assert refusal(find, top, option=str(top / "chat/dev"), chat=top / "chat")[0] == INVALID


# -- refusals and errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "a\\b", "C:/a", "c:", "con", "src/aux.py", "a.", "src/a.py ", "a\nb", "a\0", "\ud800"]
)
def test_what_is_refused_by_its_text_is_refused_with_a_code(top: Path, text: str) -> None:
    code, message = refusal(find(top / "project").locate, text)
    assert (code, "cannot be locked: " in message) == (INVALID, True)


@posix
@pytest.mark.parametrize("text", ["é" * 200, "src/" + "é" * 200 + "/x"])
def test_a_name_too_long_for_the_file_system_is_refused(top: Path, text: str) -> None:
    assert refusal(find(top / "project").locate, text)[0] == INVALID


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize("place", ["project/src", "project/.git", "project", "chat"])
def test_what_cannot_be_looked_at_is_never_taken_for_missing(
    top: Path, monkeypatch: pytest.MonkeyPatch, number: int, place: str
) -> None:
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if os.fspath(path) == str(top / place):
            raise OSError(number, os.strerror(number), path)
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    with pytest.raises(OSError, match=place) as caught:
        find(top / "project", chat=top / "chat").locate("src/a.py")
    assert caught.value.errno == number


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may look everywhere; the test above stands in")
def test_a_folder_that_may_not_be_searched_is_an_error(top: Path) -> None:
    os.chmod(top / "project/src", 0)
    try:
        with pytest.raises(PermissionError):
            find(top / "project").locate("src/a.py")
    finally:
        os.chmod(top / "project/src", 0o755)


def test_looking_changes_nothing(top: Path) -> None:
    before = tree_of(top)
    tree = find(top / "project/src", chat=top / "project/.chat")
    for text in ("a.py", "new/x/", "../README.md", str(top / "project")):
        tree.locate(text)
    assert refusal(tree.locate, "../.chat")[0] == OUTSIDE
    assert tree_of(top) == before
