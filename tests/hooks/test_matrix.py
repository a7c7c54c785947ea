"""Every hook of every host under every condition: status 0, in time, an answer in its form or none, nothing changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.hooks import conditions
from tests.hooks.payloads import HOSTS
from tests.hooks.running import REPOSITORY, SCRIPTS, Case, Ended, Office, print_of, require_promise
from tests.support import verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hooks.conditions import Condition

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="they are started by a shell of POSIX"),
]
HELD, UNREAD = "src/a.txt is locked by carol in dev", "unread for bob"
EVERY = (*conditions.ODD_INPUT, *conditions.STREAMS, *conditions.ROOTS, *conditions.LIMITS)


def all_hosts(office: Office, event: str, case: Case) -> dict[str, Ended]:
    """Runs the hook of all hosts at the same time, half of them as scripts; what they write keeps to its schema."""
    with verdicts.judged_files(office.root):
        running = {
            host: office.start(event, host, case, script=bool((number + len(event)) % 2))
            for number, host in enumerate(HOSTS)
        }
        return {host: each.finish() for host, each in running.items()}


@pytest.mark.parametrize("event", SCRIPTS)
@pytest.mark.parametrize("condition", EVERY, ids=[each.name for each in EVERY])
def test_a_hook_keeps_its_promise(tmp_path: Path, condition: Condition, event: str) -> None:
    if "may not" in condition.name and (not hasattr(os, "geteuid") or os.geteuid() or not shutil.which("setpriv")):
        pytest.skip("nobody here can give up the right to pass over modes")
    base = tmp_path / "base"
    base.mkdir()
    office = Office(base)
    case = condition.make(office)
    before = print_of(office.root)
    found = all_hosts(office, event, case)
    assert print_of(office.root) == before
    for host, ended in found.items():
        require_promise(ended, event, host)
    if condition.speaks:
        # All hosts have one session here: of several that are held or told, one is at a time.
        wanted = HELD if event == "pre-tool-use" else UNREAD
        speaking = found.values() if event in ("session-start", "pre-tool-use", "stop") else [max(found.values())]
        assert [each for each in speaking if wanted not in each.out + each.err] == []


@pytest.mark.parametrize("event", SCRIPTS)
@pytest.mark.parametrize("place", conditions.LOCKS.values(), ids=conditions.LOCKS)
def test_a_lock_that_somebody_holds_keeps_no_hook_waiting(tmp_path: Path, place: str, event: str) -> None:
    office = Office(tmp_path)
    (office.folder / ".cursors").mkdir(exist_ok=True)
    with contextlib.contextmanager(conditions.locked)(office, place):
        before = print_of(office.root)
        found = all_hosts(office, event, Case())
        assert print_of(office.root) == before
    for host, ended in found.items():
        require_promise(ended, event, host)
        if event == "stop" and "_hooks" in place:
            assert "block" not in ended.out
            assert '"deny"' not in ended.out
            assert "locked by another hook" in ended.err


def test_without_the_package_a_script_is_a_line_and_status_0(tmp_path: Path) -> None:
    office = Office(tmp_path)
    for event in SCRIPTS:
        ended = office.run(event, CLAUDE_PLUGIN_ROOT=str(tmp_path))
        assert (ended.status, ended.out, ended.err.count("\n")) == (0, "", 1)
        assert ended.err.startswith("agent-chat: hook not run: ")


@pytest.mark.parametrize("event", SCRIPTS)
def test_a_disk_that_does_not_answer_is_left_within_two_seconds(tmp_path: Path, event: str) -> None:
    """A file system on a network hangs in the kernel; here a call of Python sleeps for it."""
    office = Office(tmp_path)
    lines = (
        "import time",
        "from agent_chat.storage.filesystem import FileSystem",
        "FileSystem.list_folder = lambda self, path: time.sleep(60)",
        "from agent_chat.hooks import entry",
        f"entry.run([{event!r}])",
    )
    variables = {"CODE": "\n".join(lines), "PYTHONPATH": str(REPOSITORY)}
    ended = office.run(event, case=Case(shell='exec "$1" -S -c "$CODE"', variables=variables))
    require_promise(ended, event, "claude")
    assert ended.seconds > 1.0
    assert "there was no time to look" in ended.err
    assert ("there was no time to look" in ended.out) == (event not in ("stop", "post-tool-batch"))
