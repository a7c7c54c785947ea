"""What the pages of the documentation hold: Markdown files, their fenced blocks, and the transcripts among these."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from tests.tidy import tree

FENCE = "```"


class Block(NamedTuple):
    """One fenced block: its page, the number of its first line, its language and its lines."""

    page: str
    line: int
    language: str
    lines: tuple[str, ...]


class Step(NamedTuple):
    """One command of a transcript: its words, what it gets on standard input, and what it must answer."""

    block: Block
    words: tuple[str, ...]
    stdin: str | None
    expected: tuple[str, ...]


def markdown() -> list[str]:
    """Every Markdown file of the checkout; data of the tests is none of the documentation's."""
    return [name for name in tree.files() if name.endswith(".md") and not name.startswith("tests/fixtures/")]


def blocks(page: str, *languages: str) -> list[Block]:
    """The fenced blocks of a page, of some languages or of all."""
    found: list[Block] = []
    language: str | None = None
    lines: list[str] = []
    start = 0
    fence = ""
    for number, line in enumerate(tree.text_of(page).splitlines(), 1):
        text = line.strip()
        if language is None and text.startswith(FENCE):
            fence = _fence_of(text)
            language, lines, start = text[len(fence) :], [], number + 1
        elif language is not None and text == fence:
            if not languages or language in languages:
                found.append(Block(page, start, language, tuple(lines)))
            language = None
        elif language is not None:
            lines.append(line)
    assert language is None, f"{page}: the block of line {start} has no end"
    return found


def outside_of_blocks(page: str) -> str:
    """The text of a page without its fenced blocks."""
    kept: list[str] = []
    fence = ""
    for line in tree.text_of(page).splitlines():
        text = line.strip()
        if fence:
            fence = "" if text == fence else fence
        elif text.startswith(FENCE):
            fence = _fence_of(text)
        else:
            kept.append(line)
    return "\n".join(kept)


def _fence_of(text: str) -> str:
    """The back-ticks with which a block begins; the same number ends it, so that it may hold a block of fewer."""
    return text[: len(text) - len(text.lstrip("`"))]


def steps(block: Block) -> list[Step]:
    """The commands of a console block: `$ command`, lines of its heredoc after `> `, then what it prints."""
    found: list[Step] = []
    index = 0
    lines = block.lines
    while index < len(lines):
        assert lines[index].startswith("$ "), f"{block.page}:{block.line + index}: expected a command"
        command, sign, word = lines[index][2:].partition(" <<")
        index += 1
        stdin: str | None = None
        if sign:
            end = shlex.split(word)[0]
            assert word == f"'{end}'", f"{block.page}:{block.line + index}: the word after << must be quoted"
            stdin = ""
            while lines[index] != f"> {end}":
                stdin += lines[index][2:] + "\n"
                index += 1
            index += 1
        first = index
        while index < len(lines) and not lines[index].startswith("$ "):
            index += 1
        found.append(Step(block, tuple(shlex.split(command)), stdin, lines[first:index]))
    return found
