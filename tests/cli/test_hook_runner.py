"""Lines are started as hosts start them, and ended with all that they started."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from agent_chat.cli import hook_runner
from agent_chat.cli.hook_runner import Runner
from agent_chat.operations.host_checks import Trial
from agent_chat.records.hook_answer import Ran
from tests.cli.hosts_desk import Desk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell of Windows is not tried")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def trial(line: str, folder: Path, payload: bytes = b"") -> Trial:
    """A line to start."""
    return Trial(line=line, payload=payload, folder=str(folder), variables={"OWN": "\u0456 'x'"})


def test_a_line_is_run_as_a_host_does(desk: Desk) -> None:
    runner = Runner({"PATH": str(desk.tools), "AGENT_CHAT_NAME": "alice", "KEPT": "kept"})
    ran = runner.run(
        trial('cat; printf "%s|" "$PWD" "$OWN" "$KEPT" "$AGENT_CHAT_NAME"; echo oops >&2; exit 3', desk.project, b"in")
    )
    assert ran == Ran(status=3, output=f"in{desk.project}|\u0456 'x'|kept||".encode(), errors=b"oops\n")


def test_more_than_is_kept_is_read_and_dropped(desk: Desk) -> None:
    runner = Runner({"PATH": str(desk.tools)})
    line = 'i=0; while [ $i -lt 400 ]; do printf "%01000d" 0; i=$((i+1)); done; echo end >&2'
    ran = runner.run(trial(line, desk.project, b"x" * 1_000_000))
    assert (ran.status, len(ran.output), ran.errors) == (0, hook_runner.MAX_BYTES, b"end\n")


def test_a_line_that_takes_too_long_is_ended_with_all_that_it_started(desk: Desk) -> None:
    runner = Runner({"PATH": str(desk.tools)}, seconds=0.2)
    for line in ("sleep 60 & echo $!; wait", "sleep 60 & echo $!"):
        ran = runner.run(trial(line, desk.project))
        assert ran.status == (None if "wait" in line else 0)
        assert ends(int(ran.output))


def ends(process: int) -> bool:
    """Whether a process ends within two seconds; one that has ended and that nobody asked about has."""
    for _ in range(200):
        try:
            os.kill(process, 0)
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        except (ProcessLookupError, FileNotFoundError):
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_folder_that_is_gone_is_told(desk: Desk) -> None:
    ran = Runner({"PATH": str(desk.tools)}).run(trial("true", desk.folder / "gone"))
    assert ran.status == 127
    assert ran.errors.startswith(b"cannot be started: ")
