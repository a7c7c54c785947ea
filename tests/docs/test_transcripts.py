"""The console blocks of the documentation are true: each page's commands run in order, in a home of their own."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

from agent_chat.cli.main import main
from tests.docs.pages import Step, blocks, markdown, steps

HOME = "/home/you"
LOCK_ID = "0f1e2d3c4b5a6978"
CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\dZ"), "YYYY-MM-DD HH:MMZ"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "YYYY-MM-DDTHH:MM:SS+00:00"),
    (re.compile(r"\b[0-9a-f]{16}\b"), LOCK_ID),
)


@pytest.mark.skipif(sys.platform == "win32", reason="the pages show paths with slashes")
@pytest.mark.parametrize("page", [page for page in markdown() if blocks(page, "console")])
def test_the_page_shows_what_really_happens(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for block in blocks(page, "console"):
        for step in steps(block):
            shown = _normal(_run(step, tmp_path), tmp_path)
            where = f"{page}:{block.line}: {' '.join(step.words)}"
            assert shown == list(step.expected), where + "\n" + "\n".join(shown)


def test_readme_shows_a_conversation() -> None:
    words = [step.words[:2] for block in blocks("README.md", "console") for step in steps(block)]
    assert {("agent-chat", name) for name in ("init", "post", "read", "wait", "inbox", "task", "lock")} <= set(words)


def _run(step: Step, home: Path) -> str:
    """Carries out one command in this process; returns what a terminal would show, and the status if it is not 0."""
    if step.words[0] == "cat":
        return Path(os.path.expanduser(step.words[1])).read_text(encoding="utf-8")
    assert step.words[0] == "agent-chat", step.words
    given = home.parent / (home.name + ".stdin")
    given.write_text(step.stdin or "", encoding="utf-8")
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        open(os.devnull if step.stdin is None else given, encoding="utf-8") as stdin,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stdin", stdin)
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        status = main(step.words[1:], os.environ)
    screen.seek(0)
    return screen.read() + (f"[exit status {status}]\n" if status else "")


def _normal(text: str, home: Path) -> list[str]:
    """The lines of an output with what differs from run to run replaced as the pages have it."""
    text = text.replace(str(home), HOME)
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text.splitlines()
