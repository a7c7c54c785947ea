"""Output that does not arrive: what was not flushed is shown again, what was shown is not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli, Done, finish
from tests.support.roots import Root, make_root, tree

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices of POSIX")
READ = ("read", "dev", "--as", "bob")
WAIT = ("wait", "dev", "--as", "bob", "--timeout", "5")
# More than a pipe holds, so that a reader that has gone is noticed.
LARGE = "x" * 200_000


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = make_root(tmp_path / "root")
    for number in range(1, 4):
        made.post(f"large {number}", body=LARGE)
    return made


def _shell(root: Root, script: str) -> Done:
    """Runs a line of shell in which `"$@"` is the command line."""
    cli = Cli(root.path)
    child = subprocess.Popen(
        ["bash", "-c", script, "bash", *cli.command],
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return finish(child)


def _check_unread(root: Root, err: str) -> None:
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert root.titles() == ["large 1", "large 2", "large 3"]


@pytest.mark.parametrize("command", [READ, WAIT], ids=["read", "wait"])
@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_a_closed_stdout_moves_no_cursor(root: Root, command: tuple[str, ...], json: tuple[str, ...]) -> None:
    done = _shell(root, '"$@" ' + " ".join((*command, *json)) + " >&-")
    assert done.status == 2
    assert done.err.startswith("agent-chat: OUTPUT_FAILED: ")
    _check_unread(root, done.err)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", [READ, WAIT], ids=["read", "wait"])
def test_a_full_device_moves_no_cursor(root: Root, command: tuple[str, ...]) -> None:
    done = _shell(root, '"$@" ' + " ".join(command) + " >/dev/full")
    assert done.status == 2
    assert done.err.startswith("agent-chat: OUTPUT_FAILED: ")
    _check_unread(root, done.err)


@pytest.mark.parametrize("command", [READ, pytest.param(WAIT, marks=pytest.mark.slow)], ids=["read", "wait"])
@pytest.mark.parametrize(
    "reader", ["head -1", "head -c 70000", "true", pytest.param("(sleep 0.1)", marks=pytest.mark.slow)]
)
def test_a_reader_that_stops_early_moves_no_cursor(root: Root, command: tuple[str, ...], reader: str) -> None:
    done = _shell(root, '"$@" ' + " ".join(command) + " | " + reader + " >/dev/null; exit ${PIPESTATUS[0]}")
    assert (done.status, done.err) == (141, "")
    _check_unread(root, done.err)


def test_a_post_whose_reply_cannot_be_shown_says_that_it_was_posted(root: Root) -> None:
    done = _shell(root, '"$@" post dev --from alice --title "the fourth" >&-')
    assert done.status == 2
    assert "posted #4 dev/0004-alice-the-fourth.md" in done.err
    assert root.must("peek", "dev", "-n", "1", "--json").json["messages"][0]["seq"] == 4


def test_a_reader_killed_while_it_writes_has_moved_no_cursor(root: Root) -> None:
    child = Cli(root.path).start(*READ)
    assert child.stdout is not None
    assert child.stdout.read(1000).startswith(b"#1 alice -> all | large 1")
    child.kill()
    child.communicate()
    _check_unread(root, "")


def test_pages_that_were_shown_do_not_come_again(root: Root) -> None:
    # One message is larger than a page, so each comes alone.
    cli = Cli(root.path)
    assert cli.must(*READ, "--json").json["next_after"] == 1
    done = _shell(root, '"$@" ' + " ".join(READ) + " | head -1 >/dev/null; exit ${PIPESTATUS[0]}")
    assert done.status == 141
    assert root.titles() == ["large 2", "large 3"]


def test_peek_and_ack_lose_nothing_to_a_cut_pipe(root: Root) -> None:
    done = _shell(root, '"$@" ' + " ".join(READ) + " --peek --limit 1 | head -1")
    assert done.out.startswith("#1 alice -> all | large 1")
    assert root.titles("bob", "--peek") == ["large 1"]
    root.must("ack", "dev", "1", "--as", "bob")
    assert root.titles() == ["large 2", "large 3"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("peek", "dev"),
        ("show", "dev", "1"),
        ("search", "dev", "x"),
        ("inbox", "--as", "bob"),
        ("channels",),
        ("doctor",),
        ("help",),
    ],
)
def test_every_view_ends_cleanly_without_stdout(root: Root, arguments: tuple[str, ...]) -> None:
    before = tree(root.path)
    done = _shell(root, '"$@" ' + " ".join(arguments) + " >&-")
    assert (done.status, done.err.startswith("agent-chat: OUTPUT_FAILED: ")) == (2, True)
    assert tree(root.path) == before


def test_closed_stderr_and_stdin_do_not_disturb(root: Root) -> None:
    done = _shell(root, '"$@" ' + " ".join(READ) + " --json <&- 2>&-")
    assert done.status == 0
    assert done.json["messages"][0]["title"] == "large 1"
    # The number of the closed stream may be given to a file of ours; nothing of an error may end there.
    before = tree(root.path)
    assert _shell(root, '"$@" read nosuch --as bob <&- >&- 2>&-').status == 2
    assert tree(root.path) == before


def test_a_post_with_all_streams_closed_writes_nothing_into_its_own_files(root: Root) -> None:
    done = _shell(root, '"$@" post dev --from alice --title alone --json <&- >&- 2>&-')
    assert done.status == 2
    (file,) = (path for path in root.channel().glob("0004-*"))
    assert file.read_bytes().endswith(b"\n---\n")
    assert root.doctor() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="non-blocking pipes")
def test_a_non_blocking_stdout_gets_everything(root: Root) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    child = Cli(root.path).start(*READ, "--json", stdout=write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        out = pipe.read()
    assert finish(child).status == 0
    assert len(out) > 200_000
    assert out.endswith(b"}\n")
