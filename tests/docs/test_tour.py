"""The tour of the README works: two real processes ask, wait, answer, and leave nothing behind."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.tidy import tree

SCRIPT = str(tree.ROOT / "examples" / "pair.sh")
CHAT = f"{shlex.quote(sys.executable)} {shlex.quote(str(tree.ROOT / 'chat.py'))}"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell script")


def tour(tmp_path: Path, chat: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "AGENT_CHAT": chat, "AGENT_CHAT_NAME": "somebody-else"}
    return subprocess.run(
        ["sh", SCRIPT], env=environment, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=60, check=False
    )


def test_two_processes_ask_wait_and_answer(tmp_path: Path) -> None:
    done = tour(tmp_path, CHAT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "#2 bob -> all | Re: Primary key?" in done.stdout
    assert "pair: 3 messages" in done.stdout
    assert done.stdout.endswith("no findings\n")
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_work_is_a_failure_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Here posting fails, so bob would wait for half a minute if he were not ended."""
    broken = tmp_path / "chat"
    broken.write_text(f'#!/bin/sh\n[ "$1" != post ] || exit 3\nexec {CHAT} "$@"\n', encoding="utf-8")
    broken.chmod(0o700)
    work = tmp_path / "work"
    work.mkdir()
    done = tour(work, str(broken))
    assert done.returncode == 3
    assert list(work.iterdir()) == []


def test_the_readme_names_the_tour_and_the_tests() -> None:
    lines = tree.text_of("README.md").splitlines()
    commands = blocks("README.md", "sh")[:2]
    assert [lines[block.line - 3] for block in commands] == ["<!-- tour -->", "<!-- tests -->"]
    assert commands[0].lines[0].endswith("sh examples/pair.sh")
    assert commands[1].lines[0].endswith("-m pytest")
