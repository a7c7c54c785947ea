"""What a repository holds is what git itself says: loose, packed, borrowed, abbreviated; and damage is no absence."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from agent_chat.storage import git_objects
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.git_objects import GitObjects
from agent_chat.storage.git_pack import CannotTellError
from tests.support.cli import FakeClock, FaultyFiles

if TYPE_CHECKING:
    from pathlib import Path

ABSENT = "0123456789abcdef" * 4


def git(folder: Path, *words: str, given: bytes = b"") -> str:
    """Runs the real git."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, input=given)
    return done.stdout.decode().strip()


def commit(folder: Path, text: str) -> str:
    """Makes a commit and returns its hash."""
    (folder / "file").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def objects_for(folder: Path, files: FileSystem | None = None) -> GitObjects:
    return GitObjects(files or FileSystem(str(folder), FakeClock()))


def look(folder: Path, digits: str, files: FileSystem | None = None) -> bool:
    """What we say of a hash in the repository around a folder."""
    objects = objects_for(folder, files)
    return objects.holds(objects.repository_around(str(folder)), digits)


def doubt(folder: Path, digits: str, files: FileSystem | None = None) -> str:
    """Why we cannot say it."""
    with pytest.raises((CannotTellError, OSError)) as caught:
        look(folder, digits, files)
    return str(caught.value)


def everything(folder: Path) -> list[str]:
    """All hashes that git lists."""
    return git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()


def assert_as_git(folder: Path) -> None:
    """We find what git lists, at any length; and nothing else."""
    known = everything(folder)
    assert known
    for each in known:
        for length in (4, 5, 7, 39, len(each)):
            assert look(folder, each[:length]), each[:length]
        changed = each[:-1] + format(int(each[-1], 16) ^ 1, "x")
        assert look(folder, changed) == (changed in known)
    for number in range(64):
        digits = format(number * 1021, "04x")
        assert look(folder, digits) == any(each.startswith(digits) for each in known), digits


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_loose_and_packed_objects_are_found(tmp_path: Path, form: str) -> None:
    folder = tmp_path.resolve() / form
    folder.mkdir()
    git(folder, "init", "-q", f"--object-format={form}")
    for number in range(3):
        commit(folder, f"{number}")
    assert_as_git(folder)
    git(folder, "gc", "-q")
    assert not list(folder.glob(".git/objects/??"))
    assert_as_git(folder)
    commit(folder, "more")
    git(folder, "repack", "-q")
    commit(folder, "even more")
    assert len(list(folder.glob(".git/objects/pack/*.idx"))) == 2
    assert_as_git(folder)
    assert not look(folder, ABSENT)
    assert not look(folder, ABSENT[:40])


def test_a_hash_that_several_begin_with_is_there(repository: Path) -> None:
    commit(repository, "x")
    first = everything(repository)[0]
    other = first[:4] + "0" * 36
    (repository / ".git/objects" / other[:2]).mkdir(exist_ok=True)
    (repository / ".git/objects" / other[:2] / other[2:]).write_bytes(b"x")
    assert look(repository, first[:4])


# -- which repository --------------------------------------------------------------------------------------------------


def test_the_repository_is_found_from_within_and_from_every_kind(repository: Path) -> None:
    head = commit(repository, "x")
    top = repository.parent
    git(repository, "worktree", "add", "-q", "../linked")
    git(top, "clone", "-q", "--bare", "repository", "bare.git")
    (repository / "deep/er").mkdir(parents=True)
    git(top, "init", "-q", "--separate-git-dir", "elsewhere", "apart")
    git(top / "apart", "pull", "-q", "../repository")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(top / "bare.git"), "sub")
    places = ["repository", "repository/deep/er", "linked", "bare.git", "bare.git/objects", "repository/.git", "apart"]
    places += ["repository/sub", "repository/.git/worktrees/linked", "elsewhere"]
    for place in places:
        assert look(top / place, head), place
        assert not look(top / place, ABSENT[:40]), place
    assert objects_for(top).repository_around(str(top)) == ""
    (top / "link").symlink_to("repository/deep")
    assert look(top / "link", head)


def test_an_empty_folder_by_that_name_is_passed_over_as_git_does(repository: Path) -> None:
    head = commit(repository, "x")
    (repository / "inner/.git").mkdir(parents=True)
    assert git(repository / "inner", "rev-parse", "HEAD") == head
    assert look(repository / "inner", head)


@pytest.mark.parametrize("text", ["", "no gitdir", "gitdir: /no/such/place", "gitdir: ..", "gitdir: \0"])
def test_a_link_that_leads_to_no_repository_is_a_doubt(repository: Path, text: str) -> None:
    commit(repository, "x")
    (repository / "inner").mkdir()
    (repository / "inner/.git").write_text(text)
    assert "leads to no repository" in doubt(repository / "inner", ABSENT)


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_pipe_in_place_of_any_file_never_blocks(repository: Path) -> None:
    head = commit(repository, "x")
    inner = repository / "inner"
    inner.mkdir()
    os.mkfifo(inner / ".git")
    assert "leads to no repository" in doubt(inner, head)
    os.mkfifo(repository / ".git/objects/info/alternates")
    assert "ordinary" in doubt(repository, ABSENT[:40])
    assert look(repository, head)
    (repository / ".git/config").unlink()
    os.mkfifo(repository / ".git/config")
    assert "ordinary" in doubt(repository, head)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 20),
        ("[core]\n\tobjectformat = sha256\n", 20),
        ("[extensions]\n\tobjectFormat = sha256\n", 32),
        ("[Extensions] OBJECTFORMAT=SHA256 ; x\n", 32),
        ('[extensions "x"]\n\tobjectformat = sha256\n', 20),
        ('[extensions]\n\tobjectformat = "sha256" # x\n[core]\n\tbare = false\n', 32),
        ("[extensions]\n\tobjectformat = sha1\n", 20),
        ("[extensions]\n\tobjectformat = sha3\n", None),
    ],
)
def test_how_long_hashes_are_stands_in_the_configuration(repository: Path, text: str, expected: int | None) -> None:
    name = "00" + "1" * (2 * (expected or 20) - 2)
    (repository / ".git/config").write_text(text)
    (repository / ".git/objects/00").mkdir()
    (repository / ".git/objects/00" / name[2:]).write_bytes(b"x")
    if expected is None:
        assert "object format" in doubt(repository, name)
    else:
        assert look(repository, name)
        assert look(repository, name[:8])


# -- borrowed objects --------------------------------------------------------------------------------------------------


def test_borrowed_objects_are_found_also_by_way_of_others(repository: Path) -> None:
    head = commit(repository, "x")
    top = repository.parent
    git(top, "clone", "-q", "--shared", "repository", "second")
    git(top, "clone", "-q", "--shared", "second", "third")
    own = commit(top / "third", "own")
    assert look(top / "third", head)
    assert look(top / "third", own)
    assert not look(top / "second", own)
    alternates = top / "second/.git/objects/info/alternates"
    alternates.write_text("# a comment\n\n../../../repository/.git/objects\n../../../third/.git/objects\n")
    assert git(top / "second", "cat-file", "-t", own) == "commit"
    assert look(top / "second", own)
    assert not look(top / "third", ABSENT[:40])  # they lend to each other


def test_a_store_that_is_gone_is_a_doubt_only_where_nothing_was_found(repository: Path) -> None:
    head = commit(repository, "x")
    alternates = repository / ".git/objects/info/alternates"
    alternates.write_text("/no/such/store\n")
    assert look(repository, head)
    assert "missing" in doubt(repository, ABSENT[:40])
    alternates.write_text('"/in quotes"\n')
    assert "quotes" in doubt(repository, ABSENT[:40])


def test_stores_without_end_are_not_followed(repository: Path) -> None:
    commit(repository, "x")
    lines = []
    for number in range(60):
        (repository / f"store{number}").mkdir()
        lines.append(f"{repository}/store{number}\n")
    (repository / ".git/objects/info/alternates").write_text("".join(lines))
    assert "too many" in doubt(repository, ABSENT[:40])


# -- damage ------------------------------------------------------------------------------------------------------------


def pack_of(repository: Path) -> Path:
    """The only pack of a repository, without ending."""
    git(repository, "gc", "-q")
    (index,) = repository.glob(".git/objects/pack/*.idx")
    for path in (index, index.with_suffix(".pack")):
        path.chmod(0o600)
    return index.with_suffix("")


def test_an_index_that_is_damaged_or_old_is_a_doubt(repository: Path) -> None:
    head = commit(repository, "x")
    pack = pack_of(repository)
    index = pack.with_suffix(".idx")
    whole = index.read_bytes()
    for broken in (
        b"",
        whole[:7],
        whole[:1000],
        whole[:-1],
        whole + b"\0" * 100,
        b"x" + whole[1:],
        whole[:7] + b"\3" + whole[8:],
        whole[:8] + b"\xff" * 4 + whole[12:],
    ):
        index.write_bytes(broken)
        assert ".idx is" in doubt(repository, head)
        assert ".idx is" in doubt(repository, ABSENT[:40])
    index.write_bytes(whole)
    assert look(repository, head)
    git(repository, "index-pack", "--index-version=1", "-o", str(index), str(pack.with_suffix(".pack")))
    assert "version 1" in doubt(repository, head)


def test_a_pack_that_is_damaged_or_has_no_index_is_a_doubt(repository: Path) -> None:
    head = commit(repository, "x")
    pack = pack_of(repository)
    data = pack.with_suffix(".pack")
    whole = data.read_bytes()
    for broken in (
        b"",
        whole[:40],
        whole[:-1] + bytes([whole[-1] ^ 1]),
        b"x" + whole[1:],
        whole[:11] + b"\x09" + whole[12:],
    ):
        data.write_bytes(broken)
        assert ".pack is damaged" in doubt(repository, head)
    data.write_bytes(whole)
    pack.with_suffix(".idx").unlink()
    assert "no index" in doubt(repository, head)


def test_an_index_without_its_pack_counts_for_nothing_as_for_git(repository: Path) -> None:
    head = commit(repository, "x")
    pack_of(repository).with_suffix(".pack").unlink()
    assert not look(repository, head)


def test_an_empty_loose_object_is_a_doubt(repository: Path) -> None:
    head = commit(repository, "x")
    path = repository / ".git/objects" / head[:2] / head[2:]
    path.unlink()
    path.write_bytes(b"")
    for digits in (head, head[:8]):
        assert "damaged" in doubt(repository, digits)
    (path.parent / "tmp_obj_x").write_bytes(b"x")
    path.unlink()
    assert not look(repository, head[:4])


def test_a_whole_copy_elsewhere_settles_a_doubt(repository: Path) -> None:
    head = commit(repository, "x")
    copy = repository.parent / "copy"
    shutil.copytree(repository, copy)
    pack_of(repository).with_suffix(".pack").write_bytes(b"")
    (repository / ".git/objects/info/alternates").write_text(f"{copy}/.git/objects\n")
    assert look(repository, head)


def test_a_disk_that_fails_is_a_doubt(repository: Path) -> None:
    commit(repository, "x")
    pack_of(repository)
    for at in range(1, 9):
        files = FaultyFiles(str(repository), FakeClock(), at=at, code=5, only=("read_part",))
        if at > 4:  # the configuration, the alternates, and the index twice
            assert not look(repository, ABSENT[:40], files)
        else:
            assert "Input/output" in doubt(repository, ABSENT[:40], files)
        assert files.fired == (at <= 4)


def test_packs_that_change_while_they_are_looked_at_are_looked_at_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = commit(repository, "x")
    loose = repository / ".git/objects"
    calls = 0
    listed = git_objects.names_if_there

    def packing(folder: str) -> list[str]:
        nonlocal calls
        names = listed(folder)
        calls += 1
        if calls == 1:
            git(repository, "gc", "-q", "--prune=now")
        return names

    monkeypatch.setattr(git_objects, "names_if_there", packing)
    assert look(repository, head)
    assert not list(loose.glob("??"))
    assert calls > 1
    monkeypatch.setattr(git_objects, "names_if_there", lambda folder: [os.urandom(4).hex()])
    assert "all the time" in doubt(repository, ABSENT[:40])
