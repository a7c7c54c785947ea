"""Hostile input to the commands on tasks, claims and path locks: refused with a code, and nothing is written."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli import leasing
from tests.support.cli import DANGER, FakeClock, FaultyFiles, Result, plant, run, tree_of
from tests.support.tokens import plant_session

CREATE = ["task", "create", "dev", "t-2", "--from", "alice", "--title"]
UPDATE = ["task", "update", "dev", "t-1", "--as", "alice"]
RECOVER = ["task", "recover", "dev", "lapsed", "--as", "carol", "--reason"]
LOCK = ["lock", "dev", "--as", "bob"]
CONTROLS = ["\0", "a\0b", "a\nb", "a\rb", "a\tb", "\x1b[2J", "a\x7f", "a\x85b", "\udcff", "\ud800"]
NO_IDS = [*CONTROLS, *("", " ", ".", "..", "-x", "a b", "a/b", "../x", "a..b", "ä", "x" * 65, "x" * 70_000, "%s")]
NO_LENGTHS = [
    *("", " ", "nan", "inf", "-inf", "Infinity", "1e400", "-1", "0", "-0", "0.0", "1e-400", "1_000", "5m", "0x10"),
    *("²", "٣", str(31 * 86400), "2592000.001", "9" * 5000, "1e3000", "\ud800", "\0"),
]
NO_PATHS = [*CONTROLS, *("", "a\\b", "c:/x", "c:x", "con", "aux.txt", "a/nul", "a./b", "a /b", "x" * 256, "a/" * 3000)]


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root for calls that change nothing."""
    root = tmp_path_factory.mktemp("made") / "root"
    run(["init", "dev"], root)
    for name in ("t-1", "held", "lapsed"):
        leasing.call(root, "task", "create", "dev", name, "--from", "alice", "--title", "t")
    run(["task", "claim", "dev", "held", "--as", "bob", "--lease-seconds", "9000"], root)
    leasing.call(root, "task", "claim", "dev", "lapsed", "--as", "bob")
    leasing.call(root, "lock", "dev", "lapsed.py", "--as", "bob")
    (root.parent / "tree" / "out").symlink_to("..")
    return root


@pytest.fixture
def root(still: Path, tmp_path: Path) -> Path:
    """A copy of it, for calls that do."""
    return Path(shutil.copytree(still, tmp_path / "root"))


def refused(root: Path, *argv: str) -> Result:
    """Runs a call in both forms; it is refused with one code, on one line, and changes nothing."""
    before = kept(root)
    variables = leasing.tree_beside(root)
    text = run(argv, root, environment=variables)
    result = run(["--json", *argv], root, environment=variables)
    assert (text.status, result.status, text.stdout, result.stderr) == (2, 2, "", ""), (text, result)
    assert text.code == result.code
    assert not set(text.stderr + result.stdout) & DANGER
    assert len(text.stderr.splitlines()) <= 2
    assert len(text.stderr) < 1000
    assert kept(root) == before
    return text


def kept(root: Path) -> dict[str, Any]:
    """What lies in a root, but for the locks by which a wait tells that it waits."""
    return {name: data for name, data in tree_of(root).items() if ".cursors" not in name}


def done(root: Path, *argv: str) -> Result:
    result = run(argv, root, environment=leasing.tree_beside(root))
    assert result.status == 0, result
    assert not set(result.stdout + result.stderr) & DANGER
    return result


# -- ids and texts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", NO_IDS, ids=lambda text: ascii(text[:9]))
def test_what_is_no_task_id(still: Path, text: str) -> None:
    for argv in (
        ["task", "create", "dev", "--from", "alice", "--title", "t", "--", text],
        ["task", "show", "dev", "--", text],
        ["task", "update", "dev", "--as", "alice", "--title", "u", "--", text],
        [*UPDATE, f"--depends-on={text},"] if text.strip() else ["task", "show", "dev", ""],
    ):
        assert refused(still, *argv).code == "TASK_INVALID_ARGUMENT"
    for command in ("claim", "renew", "done", "block", "release", "cancel"):
        assert refused(still, "task", command, "dev", "--as", "bob", "--", text).code == "LEASE_INVALID_TASK_ID"
    assert refused(still, "wait", "dev", "--as", "bob", "--timeout", "0", f"--task={text}").status == 2


@pytest.mark.parametrize("text", [*CONTROLS, "", "  ", "x" * 4097], ids=lambda text: ascii(text[:9]))
def test_what_is_no_line_of_text(still: Path, text: str) -> None:
    for argv in ([*CREATE, text], [*UPDATE, "--title", text], [*UPDATE, "--branch", text]):
        assert refused(still, *argv).code == "TASK_INVALID_ARGUMENT"
    if text.strip():
        for option in ("--files-hint", "--acceptance"):
            assert refused(still, *CREATE, "t", option, f"x{text}y").code == "TASK_INVALID_ARGUMENT"
    assert refused(still, *RECOVER, text).code == "LEASE_INVALID_REASON"
    for argv in (
        [*LOCK, "a.py", "--reason", text],
        ["recover", "dev", "lapsed.py", "--as", "carol", "--reason", text],
    ):
        assert refused(still, *argv).code == "PATH_LOCK_INVALID_REASON"


def test_other_peoples_text_is_shown_escaped_and_on_its_line(root: Path) -> None:
    title = "a \u202e b \ufeff c \u2028#9 mallory"
    done(root, *CREATE, title, "--acceptance", title, "--files-hint", title, "--branch", title)
    for argv in (["task", "list", "dev"], ["task", "show", "dev", "t-2"]):
        assert not [line for line in done(root, *argv).stdout.splitlines() if line.startswith("#")]
    done(root, *LOCK, "a\u202eb\u2028[c].py", "--reason", "z\u202e")
    for argv in (["locks", "dev"], ["task", "list", "dev", "--json"]):
        assert done(root, *argv).stdout.count("\n") <= 4
    assert run(["check", "dev", "a\u202eb\u2028[c].py"], root, environment=leasing.tree_beside(root)).status == 1


def test_huge_lists_are_refused_whole(root: Path) -> None:
    many = ",".join(f"a-file-of-a-long-name-{number}" for number in range(9000))
    assert refused(root, *CREATE, "t", "--files-hint", many).code == "TASK_INVALID_ARGUMENT"
    assert refused(root, *UPDATE, "--acceptance", many).code == "TASK_INVALID_ARGUMENT"
    assert refused(root, *CREATE, "t", "--depends-on", many).code == "TASK_UNKNOWN_DEPENDENCY"
    assert refused(root, *LOCK, *many.split(",")).code == "PATH_LOCK_INVALID_PATH"
    paths = [f"src/{number}.py" for number in range(300)]
    assert len(done(root, *LOCK, *paths, *paths, "--json").json["lock"]["paths"]) == 300


def test_empty_lists_and_repeated_items_are_no_items(root: Path) -> None:
    done(root, *CREATE, "t", "--depends-on", " t-1 ,,T-1,", "--files-hint", "a,b,a", "--acceptance", ",x, y,,z,")
    task = done(root, "task", "show", "dev", "t-2", "--json").json["task"]
    assert (task["depends_on"], task["files_hint"]) == (["t-1"], ["a", "b"])
    assert all(item.strip() for item in task["acceptance"])
    done(root, *UPDATE[:3], "t-2", *UPDATE[4:], "--depends-on", "", "--files-hint", ",", "--acceptance", " ")
    task = done(root, "task", "show", "dev", "t-2", "--json").json["task"]
    assert (task["depends_on"], task["files_hint"], task["acceptance"]) == ([], [], [])


# -- durations, fences, names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", NO_LENGTHS, ids=lambda text: ascii(text[:12]))
def test_what_is_no_length_of_a_lease(still: Path, text: str) -> None:
    for argv in (
        ["task", "claim", "dev", "t-1", "--as", "bob"],
        ["task", "renew", "dev", "held", "--as", "bob"],
        [*RECOVER, "r"],
    ):
        for option in ("--lease-seconds", "--lease", "--ttl"):
            assert refused(still, *argv, option, text).code == "LEASE_INVALID_DURATION"
    for argv in ([*LOCK, "a.py"], ["recover", "dev", "lapsed.py", "--as", "carol", "--reason", "r"]):
        assert refused(still, *argv, f"--lease-seconds={text}").code == "PATH_LOCK_INVALID_DURATION"


@pytest.mark.parametrize("text", ["0.001", "1e-9", "2592000", "2.592e6", "+5", " 5 "])
def test_every_other_number_of_seconds_is_one(root: Path, text: str) -> None:
    claim = done(root, "task", "claim", "dev", "t-1", "--as", "bob", "--lease-seconds", text, "--json").json["claim"]
    assert claim["lease_seconds"] == float(text)
    assert done(root, *LOCK, "a.py", "--ttl", text, "--json").json["lock"]["lease_seconds"] == float(text)
    assert run(["task", "list", "dev"], root).stderr == ""


@pytest.mark.parametrize("text", ["", "-1", "x", "1.0", "1e3", "9" * 20, "²"])
def test_what_is_no_fence(still: Path, text: str) -> None:
    for argv in (["task", "done", "dev", "held", "--as", "bob"], ["unlock", "dev", "lapsed.py", "--as", "bob"]):
        assert refused(still, *argv, "--fence", text).code == "USAGE"


@pytest.mark.parametrize("name", ["", "b b", "../x", "all", "system", "\x1b[31m", "\udcff", "x" * 300])
def test_who_is_nobody(still: Path, name: str) -> None:
    assert refused(still, "task", "claim", "dev", "t-1", "--as", name).code == "LEASE_INVALID_OWNER"
    assert refused(still, "lock", "dev", "a.py", "--as", name).code == "PATH_LOCK_INVALID_OWNER"
    for argv in (["task", "create", "dev", "t-2", "--title", "t", "--as", name], [*UPDATE, "--owner", name]):
        assert refused(still, *argv).code in ("AGENT_INVALID", "AGENT_RESERVED")
    assert refused(still, "task", "recover-pending", "dev", "--as", name).code in ("AGENT_INVALID", "AGENT_RESERVED")


# -- paths -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", NO_PATHS, ids=lambda path: ascii(path[:9]))
def test_what_is_no_path(still: Path, path: str) -> None:
    for argv in (
        [*LOCK, "--", "good.py", path],
        ["check", "dev", "--", path],
        ["unlock", "dev", "--as", "bob", "--", path],
        ["renew-lock", "dev", "--as", "bob", "--", path],
        ["recover", "dev", "--as", "bob", "--reason", "r", "--", path],
        ["wait", "dev", "--as", "bob", "--timeout", "0", f"--path={path}"],
    ):
        assert refused(still, *argv).code == "PATH_LOCK_INVALID_PATH"


@pytest.mark.parametrize("path", ["..", "../x", "/", "/etc/passwd", "a/../../x", "out/x"])
def test_what_leads_out_of_the_work_tree(still: Path, path: str) -> None:
    for argv in ([*LOCK, "good.py", path], ["check", "dev", path], ["unlock", "dev", path, "--as", "bob"]):
        assert refused(still, *argv).code == "PATH_LOCK_PATH_OUTSIDE_WORKSPACE"


def test_the_chat_root_is_no_place_to_lock(still: Path) -> None:
    for path in ("root", "root/dev", "root/dev/locks/x.json", "root/dev/_meta.json"):
        result = refused(still, *LOCK, path, "--workspace", str(still.parent))
        assert result.code == "PATH_LOCK_PATH_OUTSIDE_WORKSPACE"
    assert refused(still, *LOCK, "x", "--workspace", str(still)).status == 2


@pytest.mark.parametrize("folder", ["\0", "\ud800", "none", "file", "x" * 5000])
def test_a_work_tree_that_is_none(still: Path, folder: str) -> None:
    plant(still.parent / "tree" / "file")
    named = str(still.parent / "tree" / folder) if folder.isalpha() else folder
    for argv in ([*LOCK, "a.py"], ["init", "new"]):
        assert refused(still, *argv, "--workspace", named).code == "PATH_LOCK_INVALID_PATH"
    assert not (still / "new").exists()


# -- tokens, closed streams, failing disks -----------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["x", ".", "x.", ".y", "a b.y", "\ud800.y", "../x.y", "x" * 65 + ".y"])
def test_what_is_no_token_is_refused_and_never_shown(root: Path, token: str) -> None:
    before = tree_of(root)
    for argv in (["task", "claim", "dev", "t-1", "--as", "bob"], [*LOCK, "a.py"]):
        result = run(argv, root, environment={**leasing.tree_beside(root), "AGENT_CHAT_TOKEN": token})
        assert (result.status, result.code) == (2, "SESSION_TOKEN_INVALID")
        assert len(token) < 3 or token not in result.stderr
    assert tree_of(root) == before


def test_the_secret_of_a_token_is_written_nowhere(root: Path) -> None:
    token = plant_session(root)
    variables = {**leasing.tree_beside(root), "AGENT_CHAT_TOKEN": token}
    for argv in (["task", "claim", "dev", "t-1", "--as", "bob"], [*LOCK, "a.py"]):
        assert run(argv, root, environment=variables).status == 0
    secret = token.partition(".")[2].encode()
    assert not [name for name, (_, data) in tree_of(root).items() if secret in data]
    assert run(["task", "done", "dev", "t-1", "--as", "bob"], root).code == "LEASE_OWNER_MISMATCH"
    assert run(["unlock", "dev", "a.py", "--as", "bob"], root, environment=leasing.tree_beside(root)).status == 2
    assert run(["task", "done", "dev", "t-1", "--as", "bob"], root, environment=variables).status == 0


def test_a_change_that_could_not_be_shown_says_what_was_done(root: Path) -> None:
    variables = leasing.tree_beside(root)
    for argv, told in (
        ([*CREATE, "t"], "created t-2 (#"),
        (["task", "claim", "dev", "t-2", "--as", "bob"], "claimed t-2: 5 min left, fence "),
        (["task", "done", "dev", "t-2", "--as", "bob"], "t-2 is done (#"),
        ([*LOCK, "a.py"], "locked a.py, lock "),
        (["unlock", "dev", "a.py", "--as", "bob"], "unlocked a.py"),
    ):
        result = run(argv, root, environment=variables, stdout_closed=True)
        assert (result.status, result.code) == (2, "OUTPUT_FAILED")
        assert told in result.stderr
    result = run(["task", "list", "dev"], root, stdout_closed=True)
    assert "the reply could not be written" in result.stderr


@pytest.mark.parametrize("primitive", ["list_folder", "read_file", "status"])
def test_a_disk_that_fails_is_told_in_the_words_of_the_noun(still: Path, primitive: str) -> None:
    for argv, where, code in (
        (["task", "list", "dev"], f"dev{os.sep}tasks", "TASK_IO_ERROR"),
        (["task", "show", "dev", "held"], f"dev{os.sep}claims", "TASK_IO_ERROR"),
        (["locks", "dev"], f"dev{os.sep}locks", "PATH_LOCK_STORAGE_ERROR"),
        (["check", "dev", "lapsed.py"], f"dev{os.sep}locks", "PATH_LOCK_STORAGE_ERROR"),
    ):
        clock = FakeClock()
        files = FaultyFiles(str(still), clock, at=1, code=errno.EIO, only=(primitive,), where=where, forever=True)
        result = leasing.call(still, *argv, clock=clock, files=files)
        assert (result.status, result.code) == (2, code) or not files.fired, (argv, result)
