"""The transcripts say what really happens; what differs is shown as a transcript would have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.transcript import replay, steps

PAGES = sorted((Path(__file__).parent / "transcripts").glob("*.md"))


def test_there_are_transcripts() -> None:
    assert len(PAGES) >= 7
    for page in PAGES:
        assert len(steps(page.read_text("utf-8"))) >= 3, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_transcript_is_true(page: Path, tmp_path: Path) -> None:
    expected, actual = replay(page.read_text("utf-8"), tmp_path / "root")
    assert actual == expected


def test_a_transcript_that_is_not_true_is_found(tmp_path: Path) -> None:
    text = "prose\n\n```\n$ agent-chat init dev\nmade dev\n$ agent-chat raed\n! x\n? 2\n```\n"
    expected, actual = replay(text, tmp_path / "root")
    assert expected == ["4: $ agent-chat init dev", "made dev", "6: $ agent-chat raed", "! x", "? 2"]
    assert actual[:3] == ["4: $ agent-chat init dev", "made dev in {root}/dev", "6: $ agent-chat raed"]
    assert actual[-1] == "? 2"
    with pytest.raises(AssertionError, match="no end"):
        steps("```\n$ x\n")
