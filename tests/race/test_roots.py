"""Which root is used, that reading never makes one, and the modes of what is written into it."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli
from tests.support.roots import Root, make_root, tree

if TYPE_CHECKING:
    from pathlib import Path

READING = [
    ("read", "dev", "--as", "bob"),
    ("wait", "dev", "--as", "bob", "--timeout", "0"),
    ("ack", "dev", "1", "--as", "bob"),
    ("peek", "dev"),
    ("show", "dev", "1"),
    ("thread", "dev", "1"),
    ("search", "dev", "word"),
    ("inbox", "--as", "bob"),
    ("channels",),
    ("roster", "dev"),
    ("post", "dev", "--from", "bob", "--title", "x"),
    ("join", "dev", "--as", "bob"),
    ("claim", "dev", "task-1.md", "--as", "bob"),
    ("doctor",),
    ("doctor", "dev", "--fix"),
]


@pytest.mark.parametrize("arguments", READING, ids=[" ".join(words[:2]) for words in READING])
@pytest.mark.parametrize("origin", ["option", "variable", "default"])
def test_only_init_makes_a_root_and_the_error_says_which_root_was_looked_for(
    tmp_path: Path, arguments: tuple[str, ...], origin: str
) -> None:
    wrong = tmp_path / ("agent-chat" if origin == "default" else "wrong")
    root = Root(wrong, {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)})
    if origin != "variable":
        root.variables["AGENT_CHAT_ROOT"] = ""
    given = ("--root", str(wrong)) if origin == "option" else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        done = root.run(*given, *arguments, "--json")
    error = done.json["error"]
    assert (done.status, error["code"], error["root"], error["root_from"]) == (2, "ROOT_NOT_FOUND", str(wrong), origin)
    assert f"root {wrong} ({origin})" in error["message"]
    assert list(tmp_path.iterdir()) == []


def test_the_same_channel_of_two_roots_is_never_mixed_up(tmp_path: Path) -> None:
    one, other = make_root(tmp_path / "one"), make_root(tmp_path / "other")
    one.post("in one")
    assert other.read()["messages"] == []
    before = tree(other.path)
    assert other.read()["root"] == str(other.path)
    assert tree(other.path) == before
    missing = one.run("read", "nosuch", "--as", "bob", "--json").json["error"]
    assert (missing["code"], missing["root"], missing["root_from"]) == ("CHANNEL_NOT_FOUND", str(one.path), "variable")
    assert str(one.path) in missing["message"]


@pytest.mark.parametrize("what", ["file", "dangling"])
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, what: str) -> None:
    place = tmp_path / "root"
    if what == "file":
        place.write_text("text")
    else:
        place.symlink_to(tmp_path / "nowhere")
    for arguments in (("channels",), ("read", "dev", "--as", "bob"), ("post", "dev", "--from", "a", "--title", "x")):
        done = Root(place).run(*arguments, "--json")
        assert (done.status, done.json["error"]["code"][:5]) == (2, "ROOT_")
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def _use(cli: Cli, umask: int) -> None:
    """Runs every command that writes, under a umask."""
    for arguments in (
        ("init", "dev", "--members", "alice,bob"),
        ("post", "dev", "--from", "alice", "--title", "one"),
        ("read", "dev", "--as", "bob"),
        ("wait", "dev", "--as", "bob", "--timeout", "0"),
        ("ack", "dev", "1", "--as", "alice"),
        ("join", "dev", "--as", "carol"),
        ("claim", "dev", "task-1.md", "--as", "bob"),
        ("doctor", "dev", "--fix"),
    ):
        if arguments[0] == "claim":
            (cli.root / "dev" / "task-1.md").write_text("a task\n")
            os.chmod(cli.root / "dev" / "task-1.md", 0o600)
        command = " ".join(arguments)
        done = cli.run(*arguments, preexec_fn=lambda: os.umask(umask) and None)
        assert done.status in (0, 1), (command, done)


def _modes(folder: Path) -> dict[str, int]:
    return {name: mode for name, (mode, _) in tree(folder).items() if "task-1" not in name}


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
@pytest.mark.parametrize(
    "umask",
    [0o000, pytest.param(0o022, marks=pytest.mark.slow), 0o077, pytest.param(0o777, marks=pytest.mark.slow)],
    ids=oct,
)
def test_a_private_root_holds_private_files_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "root"
    if umask == 0o777:
        path.mkdir(0o700)  # its parents would be unusable otherwise
    _use(Cli(path), umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for name, mode in _modes(path).items():
        assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), name


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
@pytest.mark.parametrize(
    ("mode", "files", "umask"),
    [
        pytest.param(mode, files, umask, marks=[pytest.mark.slow] * ((mode, umask) != (0o2770, 0o077)))
        for mode, files in ((0o2770, 0o660), (0o2777, 0o666), (0o755, 0o644))
        for umask in (0o000, 0o022, 0o077)
    ],
    ids=oct,
)
def test_a_shared_root_is_shared_whatever_the_umask(tmp_path: Path, umask: int, mode: int, files: int) -> None:
    path = tmp_path / "root"
    path.mkdir()
    path.chmod(mode)
    _use(Cli(path), umask)
    for name, found in _modes(path).items():
        assert oct(stat.S_IMODE(found)) == oct(mode if stat.S_ISDIR(found) else files), name


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser can give files away")
def test_the_superuser_leaves_files_to_the_owner_of_the_root(tmp_path: Path) -> None:
    path = tmp_path / "root"
    path.mkdir(0o700)
    os.chown(path, 12345, 23456)
    _use(Cli(path), 0o022)
    owners = {(found.lstat().st_uid, found.lstat().st_gid) for found in path.rglob("*") if "task-1" not in found.name}
    assert owners == {(12345, 23456)}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of POSIX")
def test_reading_views_work_in_a_root_that_may_not_be_written(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("one")
    paths = [root.path, *root.path.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = tree(root.path)
    cli = Cli(root.path)
    if os.geteuid() == 0:
        # The superuser is bound by modes only without its capabilities.
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("nothing here takes capabilities away")
        cli.command[:0] = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
    try:
        for arguments, status in (
            (("peek", "dev"), 0),
            (("show", "dev", "1"), 0),
            (("search", "dev", "one"), 0),
            (("inbox", "--as", "bob"), 0),
            (("channels",), 0),
            (("roster", "dev"), 0),
            (("read", "dev", "--as", "bob", "--peek"), 0),
            (("read", "dev", "--as", "bob"), 2),
            (("wait", "dev", "--as", "bob", "--timeout", "5"), 2),
            (("post", "dev", "--from", "bob", "--title", "x"), 2),
            (("doctor",), 1),
        ):
            done = cli.run(*arguments)
            assert done.status == status, (arguments, done)
            assert "Traceback" not in done.err
        assert tree(root.path) == before
    finally:
        for path in paths:
            path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another way is tested without privileges")
def test_a_message_that_may_not_be_read_stops_the_cursor(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    for title in ("one", "two", "three"):
        root.post(title)
    (root.channel() / "0002-alice-two.md").chmod(0)
    cli = Cli(root.path)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("nothing here takes capabilities away")
    cli.command[:0] = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
    done = cli.run("read", "dev", "--as", "bob", "--json")
    assert done.status == 2
    assert [message["title"] for message in done.json["messages"]] == ["one"]
    assert (done.json["error"]["code"], done.json["error"]["errno"]) == ("IO_ERROR", "EACCES")
    found = cli.run("doctor", "dev", "--json").json["findings"]
    assert [(each["id"], each["path"].rpartition("/")[2]) for each in found] == [("message.file", "0002-alice-two.md")]
    assert root.titles() == ["two", "three"]
