"""A disk that fails at any primitive: an error with a stable code, nothing half-done, and never "nothing there"."""

from __future__ import annotations

import errno
import functools
import itertools
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse
from agent_chat.storage import filesystem
from tests.crash.interrupted import ALL_APPLIED, ANNOUNCED
from tests.crash.lock_rows import interrupted_lock, locked
from tests.crash.loops import CODES_OF_DISKS, check_errors, complain, faults_of_answer, trial_of
from tests.crash.row import Row
from tests.crash.rows import (
    KEYED,
    QUICK,
    ROWS,
    announced,
    conversation,
    due,
    in_session,
    late_arrival,
    marker,
    name_of,
    peopled,
    pruned,
)
from tests.crash.state_rows import crowded, meaningful, summarized
from tests.crash.task_rows import claimed, interrupted_claim
from tests.support import tally
from tests.support.cli import run
from tests.support.recording import FailingFileSystem
from tests.support.staging import Stage
from tests.support.tokens import session
from tests.support.views import temporaries, view_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A call of every command that shows something, on a root where there is something, and where there is nothing new.
READERS: tuple[tuple[Callable[[Stage], None], tuple[str, ...]], ...] = (
    (conversation, ("read", "dev", "--as", "bob", "--peek")),
    (conversation, ("read", "dev", "--as", "bob", "--after", "1")),
    (conversation, ("read", "dev", "--as", "carol", "--all", "--peek")),
    (late_arrival, ("read", "dev", "--as", "bob", "--peek")),
    (conversation, ("wait", "dev", "--as", "bob", "--timeout", "0", "--peek")),
    (conversation, ("wait", "dev", "--as", "bob", "--timeout", "0", "--after", "3")),
    (conversation, ("wait", "dev", "--as", "bob", "--timeout", "0", "--reply-to", "1")),
    (conversation, ("inbox", "--as", "bob")),
    (marker, ("inbox", "--as", "dave")),
    (conversation, ("channels",)),
    (conversation, ("roster", "dev")),
    (late_arrival, ("doctor",)),
    (pruned, ("doctor", "dev")),
    (pruned, ("read", "dev", "--as", "carol", "--peek")),
    (pruned, ("read", "dev", "--as", "bob", "--peek")),
    (pruned, ("thread", "dev", "2")),
    (due, ("prune", "dev", "--dry-run")),
    (marker, ("doctor", "dev")),
    (conversation, ("search", "dev", "sentence")),
    (conversation, ("search", "dev", "nowhere")),
    (conversation, ("show", "dev", "2")),
    (conversation, ("thread", "dev", "1")),
    (conversation, ("peek", "dev")),
    (claimed, ("task", "list", "dev")),
    (claimed, ("task", "ready", "dev")),
    (claimed, ("task", "show", "dev", "T")),
    (interrupted_claim(ANNOUNCED), ("task", "list", "dev")),
    (interrupted_claim(ALL_APPLIED), ("task", "ready", "dev")),
    (interrupted_claim(ALL_APPLIED), ("task", "show", "dev", "U")),
    (locked, ("locks", "dev")),
    (locked, ("check", "dev", "src/main.py", "free.txt")),
    (locked, ("check", "dev", "free.txt")),
    (interrupted_lock(ALL_APPLIED), ("locks", "dev")),
    (interrupted_lock(ALL_APPLIED), ("check", "dev", "a.txt")),
    (meaningful, ("state", "dev")),
    (meaningful, ("state", "dev", "--strict")),
    (summarized, ("state", "dev")),
    (summarized, ("state", "dev", "--saved")),
    (crowded, ("state", "dev")),
    (interrupted_claim(ALL_APPLIED), ("state", "dev")),
    (interrupted_lock(ALL_APPLIED), ("state", "dev")),
    (announced, ("event", "read", "dev")),
    (announced, ("event", "read", "dev", "--type", "capability")),
    (conversation, ("event", "read", "dev")),
    (peopled, ("owner",)),
    (in_session, ("session", "show", session().id)),
)
TOUCH_NO_DISK = {("completion",), ("help",), ("version",)}
TOUCH_NO_ROOT = {("setup",)}  # but the files of hosts
NEVER_FAIL = {("hook",)}  # whatever the disk does; see tests/hooks/test_failing_disk.py


def test_every_command_that_reads_is_tried() -> None:
    tried = {parse(argv, COMMANDS).command.path for _, argv in READERS} | {row.command for row in ROWS}
    assert {command.path for command in COMMANDS} - TOUCH_NO_DISK - TOUCH_NO_ROOT - NEVER_FAIL <= tried


@pytest.mark.parametrize(("prepare", "argv"), READERS, ids=[" ".join(argv) for _, argv in READERS])
def test_a_failing_disk_is_never_taken_for_nothing(
    prepare: Callable[[Stage], None], argv: tuple[str, ...], folder: Path
) -> None:
    stage = Stage(str(folder / "root"))
    prepare(stage)
    healthy = stage.call(*argv)
    found: list[str] = []
    for n in itertools.count(1):
        answer = stage.call(*argv, files=functools.partial(FailingFileSystem, n=n, code=errno.EIO))
        if not answer.files.failed:
            break
        tally.count("error points")
        found += [f"EIO at {n}, {answer.files.failed[0]}: {text}" for text in faults_of_answer(answer, healthy)]
    assert n > 2
    complain(found)


@pytest.mark.parametrize("row", QUICK, ids=name_of)
def test_a_failing_disk_is_an_error_and_leaves_a_sound_root(row: Row, folder: Path) -> None:
    before = tally.COUNTED["error points"]
    complain(check_errors(trial_of(row, folder), (errno.EIO,)))
    assert tally.COUNTED["error points"] > before


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_any_error_of_the_disk_at_any_primitive_leaves_a_sound_root(row: Row, folder: Path) -> None:
    complain(check_errors(trial_of(row, folder), CODES_OF_DISKS))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_disk_that_takes_nothing_any_more_leaves_a_sound_root(row: Row, folder: Path) -> None:
    """From some primitive on every change fails, those that would take something back too."""
    complain(check_errors(trial_of(row, folder), (errno.ENOSPC,), for_good=True))


@pytest.mark.parametrize("nth", [1, 2])
def test_a_file_or_folder_that_cannot_be_synced_is_not_published(
    nth: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a post on the real file system, whose own cleaning up no recording stands in for."""
    stage = Stage(str(folder / "root"))
    conversation(stage)
    before = stage.disk()
    syncs = itertools.count(1)
    really = filesystem._sync

    def sync(descriptor: int) -> None:
        if next(syncs) == nth:
            raise OSError(errno.EIO, "Input/output error")
        really(descriptor)

    monkeypatch.setattr(filesystem, "_sync", sync)
    failed = run([*KEYED, "--json"], folder / "root")
    after = stage.disk()
    assert (failed.status, failed.code) == (2, "IO_ERROR")
    assert (view_of(after), temporaries(after)) == (view_of(before), [])
    assert run(KEYED, folder / "root").status == 0
