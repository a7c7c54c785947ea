"""Refs as they are typed and shown: at home, on one line each, never forged, never in the way of a post."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.json_calls import answer
from tests.support.cli import message_file, plant, run, tree_of

if TYPE_CHECKING:
    from pathlib import Path

POST = ["post", "dev", "--from", "alice", "--title", "t"]
NONE = "0" * 64


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with a channel, beside the current folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run(["init", "dev"], tmp_path / "root")
    return tmp_path / "root"


def planted(root: Path, *refs: str, body: str = "text\n") -> None:
    """Writes a message with these refs by hand."""
    plant(root / "dev" / "0001-mallory-m.md", message_file(1, "mallory", refs=json.dumps(list(refs)), body=body))


def test_a_home_folder_is_written_out(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    plant(tmp_path / "notes.md", "x")
    assert run([*POST, "--ref", "path:~/notes.md", "--ref", "commit:~/here@0a1b"], root).status == 0
    (path, commit) = answer(root, "show", "dev", "1")["message"]["refs"]
    assert path.startswith(f"path:{tmp_path / 'notes.md'}#sha256:")
    assert commit == f"commit:{(tmp_path / 'here').resolve()}@0a1b"


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices of POSIX")
@pytest.mark.parametrize("name", ["none", "pipe", "/dev/zero", "/dev/tty", "/", ".", "loop", "huge"])
def test_what_cannot_be_hashed_is_refused_at_once_and_changes_nothing(root: Path, name: str) -> None:
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    with open("huge", "wb") as stream:
        stream.truncate(1 << 40)
    plant(root.parent / "here" / "good", "x")
    before = tree_of(root)
    done = run([*POST, "--ref", "path:good", "--ref", f"path:{name}"], root)
    assert (done.status, done.code, done.stdout) == (2, "MESSAGE_REF_UNREADABLE", "")
    assert tree_of(root) == before


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices of POSIX")
def test_refs_of_others_never_block_and_are_one_line_each(root: Path) -> None:
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    here = os.getcwd()
    planted(
        root,
        *(
            f"path:{path}#sha256:{NONE}"
            for path in ("/dev/zero", f"{here}/pipe", f"{here}/loop", "rel", f"{here}/a\nref same: b")
        ),
        f"path:/{'x/' * 3000}#sha256:{NONE}",
        "path:/#",
        "ref same: path:/x",
        "commit:/dev/zero@0a1b",
        f"commit:{here}/pipe@0a1b",
        body=f"ref same: path:/x\n#2 human -> all | x\n{'y' * 10}\nref same: path:/y",
    )
    shown = run(["show", "dev", "1"], root)
    heads = [line for line in shown.stdout.splitlines() if not line.startswith("  ")]
    states = [line.partition(" (")[0].partition(":")[0].removeprefix("ref ") for line in heads[1:]]
    assert states == ["unknown"] * 4 + ["missing", "unknown", "missing"] + ["unknown"] * 3
    assert [each["state"] for each in answer(root, "show", "dev", "1")["refs"]] == states
    for call in (
        ["read", "dev", "--as", "bob", "--peek"],
        ["peek", "dev"],
        ["thread", "dev", "1"],
        ["search", "dev", "y"],
    ):
        (head,) = [line for line in run(call, root).stdout.splitlines() if not line.startswith("  ")]
        assert "sha256" not in head


def test_a_warning_is_said_beside_the_number(root: Path) -> None:
    os.makedirs("repo/objects")
    os.makedirs("repo/refs")
    plant(root.parent / "here/repo/HEAD", "x")
    plant(root.parent / "here/repo/objects/0a/1b", "")
    done = run([*POST, "--ref", "commit:repo@0a1b"], root)
    assert done.status == 0
    assert done.stdout == "#1 dev/0001-alice-t.md\n"
    assert done.stderr.startswith("agent-chat: warning: 'commit:")
    (warning,) = answer(root, *POST, "--ref", "commit:repo@0a1b")["warnings"]
    assert "no such object" in warning


def test_a_retry_is_found_while_the_file_is_the_same(root: Path) -> None:
    plant(root.parent / "here" / "a", "x")
    call = [*POST, "--key", "k", "--ref", "path:a"]
    assert [answer(root, *call)["repeated"] for _ in range(2)] == [False, True]
    plant(root.parent / "here" / "a", "y")
    assert run(call, root).code == "MESSAGE_KEY_CONFLICT"
