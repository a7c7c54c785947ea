"""What a message points to: kept as it was when it was posted, and looked at without trusting who wrote it."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import refs
from agent_chat.operations.refs import CHANGED, MISSING, SAME, STATES, THERE, UNKNOWN, Looked
from tests.operations.room import refused
from tests.support.cli import failing, plant, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes and devices of POSIX")
EMPTY = hashlib.sha256(b"").hexdigest()


def sum_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    folder = tmp_path.resolve() / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_on(tmp_path / "root")


def keep(workspace: Workspace, *typed: str) -> list[str]:
    """What is kept, where nothing needs to be said about it."""
    kept = refs.keep(workspace, typed)
    assert kept.warnings == ()
    return list(kept.refs)


def look(workspace: Workspace, ref: str) -> tuple[str, str]:
    """The state of a ref, and the reason."""
    (looked,) = refs.look(workspace, [ref])
    assert looked.ref == ref
    assert looked.state in STATES
    assert bool(looked.reason) == (looked.state == UNKNOWN)
    return looked.state, looked.reason


def why(workspace: Workspace, ref: str) -> str:
    """Why the state of a ref is unknown."""
    state, reason = look(workspace, ref)
    assert state == UNKNOWN
    return reason


# -- files that are kept -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["a#b@c: d.py", "./a#b@c: d.py", "sub/../a#b@c: d.py", "{here}/a#b@c: d.py"])
def test_a_file_is_kept_by_its_absolute_path_and_hash(workspace: Workspace, here: Path, typed: str) -> None:
    plant(here / "a#b@c: d.py", "x")
    (here / "sub").mkdir()
    (ref,) = keep(workspace, f"path:{typed.format(here=here)}")
    assert ref == f"path:{here}/a#b@c: d.py#sha256:{sum_of(b'x')}"
    assert look(workspace, ref) == (SAME, "")
    assert keep(workspace, ref) == [ref]
    plant(here / "a#b@c: d.py", "y")
    assert look(workspace, ref) == (CHANGED, "")
    (here / "a#b@c: d.py").unlink()
    assert look(workspace, ref) == (MISSING, "")


@posix
def test_a_link_is_kept_and_followed_but_not_where_the_path_goes_back_over_it(workspace: Workspace, here: Path) -> None:
    plant(here / "one/deep/in.txt", "1")
    plant(here / "one/a.txt", "1")
    plant(here / "a.txt", "2")
    (here / "to").symlink_to("one/deep")
    (kept,) = keep(workspace, "path:to/in.txt")
    assert kept == f"path:{here}/to/in.txt#sha256:{sum_of(b'1')}"
    (kept,) = keep(workspace, "path:to/../a.txt")
    assert kept == f"path:{here}/one/a.txt#sha256:{sum_of(b'1')}"


def test_one_file_named_twice_is_kept_once(workspace: Workspace, here: Path) -> None:
    plant(here / "a", "x")
    plant(here / "b", "x")
    assert len(keep(workspace, "path:a", "path:b", f"path:{here}/a", "commit:0A1B", "commit:0a1b")) == 3


def test_a_hash_that_was_typed_must_be_that_of_the_file(workspace: Workspace, here: Path) -> None:
    plant(here / "a", "x")
    assert keep(workspace, f"path:a#sha256:{sum_of(b'x').upper()}") == [f"path:{here}/a#sha256:{sum_of(b'x')}"]
    assert "not the one" in refused("MESSAGE_REF_UNREADABLE", lambda: keep(workspace, f"path:a#sha256:{EMPTY}")).message


@posix
def test_what_cannot_be_hashed_is_refused_and_says_why(workspace: Workspace, here: Path) -> None:
    (here / "folder").mkdir()
    os.mkfifo(here / "pipe")
    (here / "loop").symlink_to("loop")
    (here / "dangling").symlink_to("nowhere")
    with open(here / "huge", "wb") as stream:
        stream.truncate((1 << 30) + 1)
    for name, reason in {
        "none": "No such file",
        "dangling": "No such file",
        "folder": "no ordinary file",
        "folder/": "no ordinary file",
        ".": "no ordinary file",
        "pipe": "no ordinary file",
        "/dev/zero": "no ordinary file",
        "/dev/stdin/x": "",
        "loop": "symbolic links",
        "loop/..": "symbolic links",
        "huge": "larger than 1 GiB",
        "x" * 5000: "too long",
    }.items():
        error = refused("MESSAGE_REF_UNREADABLE", lambda name=name: keep(workspace, f"path:{name}"))  # type: ignore[misc]
        assert reason in error.message, name
        assert error.details["path"] == name


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="modes keep nobody out here")
def test_a_file_that_may_not_be_read_is_refused_and_unknown(workspace: Workspace, here: Path) -> None:
    plant(here / "a", "x").chmod(0)
    refused("MESSAGE_REF_UNREADABLE", lambda: keep(workspace, "path:a"))
    assert why(workspace, f"path:{here}/a#sha256:{EMPTY}") == os.strerror(errno.EACCES)


def test_an_error_of_the_disk_refuses_and_is_never_missing(workspace: Workspace, here: Path, tmp_path: Path) -> None:
    plant(here / "a", "x")
    for code in (errno.EIO, errno.EACCES, errno.ESTALE):
        broken = failing(tmp_path / "root", code, at=1, forever=True, only=("read_part",))
        error = refused("MESSAGE_REF_UNREADABLE", lambda broken=broken: keep(broken, "path:a"))  # type: ignore[misc]
        assert os.strerror(code) in error.message
        assert why(broken, f"path:{here}/a#sha256:{EMPTY}") == os.strerror(code)


@posix
def test_a_current_folder_that_is_gone_refuses_relative_paths_alone(workspace: Workspace, here: Path) -> None:
    there = plant(here.parent / "a", "x")
    here.rmdir()
    refused("MESSAGE_REF_UNREADABLE", lambda: keep(workspace, "path:a"))
    assert len(keep(workspace, f"path:{there}", "commit:0a1b", "commit:x@0a1b")) == 3
    assert why(workspace, "commit:0a1b")


@pytest.mark.parametrize(
    ("code", "ref"),
    [
        ("MESSAGE_INVALID", "a"),
        ("MESSAGE_INVALID", "commit:HEAD"),
        ("MESSAGE_NOT_TEXT", "path:\0"),
        ("MESSAGE_NOT_TEXT", "path:\udcff"),
        ("MESSAGE_NOT_TEXT", "commit:\0@0a1b"),
        ("MESSAGE_TOO_LARGE", f"path:{'x' * (1 << 16)}"),
    ],
)
def test_what_is_no_ref_is_refused_before_the_disk_is_looked_at(tmp_path: Path, code: str, ref: str) -> None:
    broken = failing(tmp_path / "root", errno.EIO, at=1, forever=True)
    refused(code, lambda: keep(broken, ref))


# -- files that others named -------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/", "{here}", "{here}/pipe"])
def test_what_is_no_ordinary_file_is_unknown_at_once(workspace: Workspace, here: Path, path: str) -> None:
    os.mkfifo(here / "pipe")
    assert why(workspace, f"path:{path.format(here=here)}#sha256:{EMPTY}") == "no ordinary file"


@posix
def test_links_are_followed_and_those_that_lead_nowhere_told_apart(workspace: Workspace, here: Path) -> None:
    for name in ("loop", "dangling", "to", "pipe"):
        (here / name).symlink_to({"dangling": "nowhere", "to": "a", "pipe": "/dev/zero"}.get(name, name))
    plant(here / "a", "")
    states = {name: look(workspace, f"path:{here}/{name}#sha256:{EMPTY}") for name in os.listdir(here)}
    assert states == {
        "a": (SAME, ""),
        "to": (SAME, ""),
        "dangling": (MISSING, ""),
        "loop": (UNKNOWN, os.strerror(errno.ELOOP)),
        "pipe": (UNKNOWN, "no ordinary file"),
    }
    assert look(workspace, f"path:{here}/a/x#sha256:{EMPTY}") == (MISSING, "")


def test_what_a_file_written_by_hand_may_hold_is_unknown(workspace: Workspace, here: Path) -> None:
    plant(here / "a", "x")
    assert why(workspace, "a") == "not of the form of a ref"
    assert why(workspace, f"path:a#sha256:{EMPTY}") == "no absolute path on this machine"
    assert why(workspace, f"path:\\\\server\\share\\a#sha256:{EMPTY}") == "no absolute path on this machine"
    assert why(workspace, f"path:{here}/a\0#sha256:{EMPTY}") == "no absolute path on this machine"
    assert why(workspace, f"path:{here}/\ud800#sha256:{EMPTY}") == "no absolute path on this machine"
    assert why(workspace, f"path:{here}/{'x' * 9999}#sha256:{EMPTY}") == os.strerror(errno.ENAMETOOLONG)
    assert why(workspace, f"path:{here}/a") == "no hash was recorded"
    assert look(workspace, f"path:{here}/b") == (MISSING, "")
    assert look(workspace, f"path:{here}/b\n#x#sha256:{EMPTY}") == (MISSING, "")


def test_a_path_of_a_server_is_never_opened_on_windows(
    workspace: Workspace, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sep", "\\")
    monkeypatch.setattr(os.path, "isabs", lambda path: True)
    for path in ("//server/share/a", "\\\\server\\share\\a", "\\\\?\\C:\\a", "\\\\.\\pipe\\x"):
        assert why(workspace, f"path:{path}#sha256:{EMPTY}") == "no absolute path on this machine"
        assert why(workspace, f"commit:{path}@0a1b") == "no repository at hand"
    monkeypatch.undo()


def test_no_more_than_a_gibibyte_is_read_for_one_message(workspace: Workspace, here: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(refs, "MAX_BYTES", 10)
    texts = []
    for name, size in {"a": 6, "b": 5, "c": 4, "d": 0, "e": 11}.items():
        texts.append(f"path:{plant(here / name, 'x' * size)}#sha256:{sum_of(b'x' * size)}")
    looked = refs.look(workspace, texts)
    assert [each.state for each in looked] == [SAME, UNKNOWN, SAME, SAME, UNKNOWN]
    assert "together" in looked[1].reason
    assert why(workspace, texts[4]) == "larger than 1 GiB"


def test_refs_without_end_are_not_all_looked_at(workspace: Workspace, here: Path) -> None:
    looked = refs.look(workspace, [f"path:{here}/{number}" for number in range(1000)])
    assert [each.state for each in looked] == [MISSING] * 200 + [UNKNOWN] * 800


@pytest.mark.skipif(sys.platform != "linux", reason="a look at Linux's own files")
@pytest.mark.parametrize("path", ["/proc/self/pagemap", "/proc/self/mem", "/proc/self/status", "/proc/kcore"])
def test_files_of_the_kernel_end_in_an_answer(workspace: Workspace, path: str) -> None:
    state, _ = look(workspace, f"path:{path}#sha256:{EMPTY}")
    assert state in (UNKNOWN, MISSING)


# -- commits -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(here: Path) -> tuple[Path, str]:
    """A repository in the current folder, and its commit."""

    def git(*words: str) -> str:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        done = subprocess.run(["git", *who, *words], cwd=here, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    (here / "sub").mkdir()
    return here, git("rev-parse", "HEAD")


def test_a_commit_is_looked_for_where_the_caller_is_or_where_it_says(
    workspace: Workspace, repository: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, head = repository
    assert keep(workspace, f"commit:{head.upper()}") == [f"commit:{head}"]
    assert keep(workspace, f"commit:sub@{head[:7]}") == [f"commit:{here}/sub@{head[:7]}"]
    assert look(workspace, f"commit:{head[:4]}") == (THERE, "")
    monkeypatch.chdir(here / "sub")
    assert look(workspace, f"commit:{head}") == (THERE, "")
    monkeypatch.chdir(here.parent)
    assert why(workspace, f"commit:{head}") == "no repository at hand"
    assert why(workspace, f"commit:here@{head}") == "no repository at hand"  # the reader's folder must not matter
    assert look(workspace, f"commit:{here}@{head}") == (THERE, "")
    assert look(workspace, f"commit:{here}/sub@{EMPTY}") == (MISSING, "")
    assert why(workspace, f"commit:{here}/gone@{head}") == "no repository at hand"


def test_a_commit_that_is_not_there_is_kept_with_a_warning(workspace: Workspace, repository: tuple[Path, str]) -> None:
    here, _ = repository
    kept = refs.keep(workspace, ["commit:0123456789", "commit:sub@0123456789", "commit:https://x.org/y@0123456789"])
    assert kept.refs == ("commit:0123456789", f"commit:{here}/sub@0123456789", "commit:https://x.org/y@0123456789")
    assert [warning.partition(": ")[2] for warning in kept.warnings] == [
        "there is no such object in the repository at hand; posted all the same",
        f"there is no such object in {here}/sub; posted all the same",
    ]


def test_a_repository_that_cannot_be_looked_at_is_unknown_and_keeps_nobody_from_posting(
    workspace: Workspace, repository: tuple[Path, str], tmp_path: Path
) -> None:
    here, head = repository
    broken = failing(tmp_path / "root", errno.EIO, at=1, only=("read_part",))
    assert why(broken, f"commit:{head}") == os.strerror(errno.EIO)
    broken = failing(tmp_path / "root", errno.EIO, at=1, forever=True, only=("read_part",))
    assert keep(broken, f"commit:{head}") == [f"commit:{head}"]
    (here / ".git/config").write_text("[extensions]\nobjectFormat = none\n")
    assert why(workspace, f"commit:{head}") == "its object format is none"


def test_states_are_values(workspace: Workspace) -> None:
    assert refs.look(workspace, []) == []
    assert Looked(ref="a", state=SAME) == Looked(ref="a", state=SAME, reason="")
    with pytest.raises(ChatError):
        refs.keep(workspace, ["x"])
