"""Symbolic links planted where a file or folder of ours belongs: what they point to is never read nor written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.roots import Root, make_root, message_text, tree

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = [
    ("post", "dev", "--from", "alice", "--title", "new"),
    ("read", "dev", "--as", "bob"),
    ("wait", "dev", "--as", "bob", "--timeout", "0"),
    ("wait", "dev", "--as", "bob", "--timeout", "0", "--reply-to", "1"),
    ("ack", "dev", "1", "--as", "bob"),
    ("ack", "dev", "--reset", "0", "--as", "bob"),
    ("peek", "dev"),
    ("show", "dev", "2"),
    ("thread", "dev", "1"),
    ("inbox", "--as", "bob"),
    ("search", "dev", "secret"),
    ("channels",),
    ("roster", "dev"),
    ("join", "dev", "--as", "carol"),
    ("leave", "dev", "--as", "carol"),
    ("claim", "dev", "task-1.md", "--as", "alice"),
    ("doctor",),
    ("doctor", "dev"),
    ("doctor", "dev", "--fix"),
    ("init", "dev"),
    ("init", "other"),
]
FILES = [
    "_meta.json",
    ".lock",
    ".cursors/bob.txt",
    ".cursors/bob.lock",
    ".cursors/bob.waiting",
    "task-1.md",
    "0002-zoe-secret.md",
    "0001-alice-one.md",
]
FOLDERS = [".cursors", ".cache", "."]
SECRET = "TOPSECRET"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = make_root(tmp_path / "root")
    made.post("one")
    made.plant("task-1.md", "a task\n")
    made.run("wait", "dev", "--as", "bob", "--timeout", "0")
    return made


def _check_every_command(root: Root, outside: Path, link: Path) -> None:
    """Runs every command, and checks that what lies outside is as it was and is shown by none."""
    before, target = tree(outside), os.readlink(link)
    for arguments in COMMANDS:
        for extra in ((), ("--json",)):
            done = root.run(*arguments, *extra)
            assert done.status in (0, 1, 2), (arguments, done)
            assert SECRET not in done.out + done.err, arguments
            assert tree(outside) == before, arguments
            assert not link.is_symlink() or os.readlink(link) == target


@pytest.mark.parametrize("there", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["existing", "dangling"])
@pytest.mark.parametrize("name", FILES)
def test_a_link_in_the_place_of_a_file_leads_nowhere(tmp_path: Path, root: Root, name: str, there: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "victim"
    if there:
        number = 1 if name.startswith("0001") else 2
        victim.write_text(
            '{"channel": "dev", "members": [], "humans": [], "topic": "TOPSECRET", "created": ""}'
            if name == "_meta.json"
            else message_text(number, "zoe", "TOPSECRET title", "TOPSECRET body\n")
            if name.endswith(".md")
            else "1\n"
        )
    place = root.channel() / name
    place.unlink(missing_ok=True)
    place.symlink_to(victim)
    _check_every_command(root, outside, place)
    assert any(finding["remedy"] for finding in root.doctor("dev").get(place.name, [{"remedy": "none"}]))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_in_the_place_of_a_folder_leads_nowhere(tmp_path: Path, root: Root, name: str) -> None:
    outside = tmp_path / "outside"
    place = root.channel() / name if name != "." else root.channel()
    place.rename(outside)
    (outside / "bob.txt").write_text("1\n")
    place.symlink_to(outside)
    _check_every_command(root, outside, place)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("_meta.json", ("post", "dev", "--from", "alice", "--title", "x"), "CHANNEL_DAMAGED"),
        (".lock", ("post", "dev", "--from", "alice", "--title", "x"), "PATH_REFUSED"),
        (".cursors/bob.txt", ("read", "dev", "--as", "bob"), "PATH_REFUSED"),
        ("task-1.md", ("claim", "dev", "task-1.md", "--as", "bob"), "MARKER_INVALID"),
        ("0001-alice-one.md", ("show", "dev", "1"), "MESSAGE_DAMAGED"),
    ],
)
def test_a_link_is_refused_with_its_path(
    tmp_path: Path, root: Root, name: str, arguments: tuple[str, ...], code: str
) -> None:
    place = root.channel() / name
    place.unlink(missing_ok=True)
    place.symlink_to(tmp_path / "nowhere")
    done = root.run(*arguments, "--json")
    assert (done.status, done.json["error"]["code"]) == (2, code)
    assert name.rpartition("/")[2] in done.json["error"]["message"]


def test_a_root_that_is_a_link_is_used(tmp_path: Path, root: Root) -> None:
    (tmp_path / "alias").symlink_to(root.path)
    assert Root(tmp_path / "alias").titles("carol") == ["one"]
