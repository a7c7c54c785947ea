"""Runs transcripts: pages of prose with commands, and what each is to answer.

In a fenced block, a line `$ …` is a command (`<<'END'` gives it the following lines, up to END, as standard input;
`> FILE` lines of a heredoc to `put FILE` write a file), the lines after it are its standard output, `! …` lines its
standard error, `? N` its status where that is not 0. `{root}` stands for the root. Everything else is prose.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from tests.support.cli import LATER, NULL, START, ArrivalFiles, FakeClock, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


class Step(NamedTuple):
    """One command of a transcript and what it must answer."""

    line: int
    words: list[str]
    stdin: str | None
    expected: list[str]


def steps(text: str) -> list[Step]:
    """The commands of a transcript, in order."""
    found: list[Step] = []
    inside = False
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        if line.startswith("```"):
            inside = not inside
        elif inside and line.startswith("$ "):
            command, heredoc, end = line[2:].partition(" <<")
            stdin = None
            if heredoc:
                stop = end.strip("'\"")
                taken = []
                for _, given in lines:
                    if given == stop:
                        break
                    taken.append(given + "\n")
                stdin = "".join(taken)
            found.append(Step(number, shlex.split(command), stdin, []))
        elif inside:
            assert found, f"line {number}: output before any command"
            found[-1].expected.append(line)
    assert not inside, "the last block has no end"
    return found


def played(step: Step, root: Path, clock: FakeClock) -> list[str]:
    """Carries out a step and returns its lines as a transcript shows them."""
    tool, *argv = step.words
    if tool == "put":  # put FILE [young|arrived]: writes a file as another program would, long ago unless it says so
        at = {"young": START - 0.5, "arrived": LATER}.get("".join(argv[1:]), START - 3600)
        plant(root / argv[0], step.stdin or "", at=at)
        return []
    if tool == "later":  # later SECONDS: turns the clock
        clock.turn(float(argv[0]))
        return []
    assert tool == "agent-chat", f"line {step.line}: {tool}"
    stdin = NULL if step.stdin is None else step.stdin.encode()
    result = run(
        argv, root, stdin=stdin, workspace=workspace_on(root, clock=clock, files=ArrivalFiles(str(root), clock))
    )
    shown = result.stdout.splitlines()
    shown += [f"! {line}" for line in result.stderr.splitlines()]
    shown += [f"? {result.status}"] if result.status else []
    return [line.replace(str(root), "{root}") for line in shown]


def replay(text: str, root: Path) -> tuple[list[str], list[str]]:
    """Plays a transcript; returns what it says and what really happened, each line after its command."""
    clock = FakeClock()
    expected: list[str] = []
    actual: list[str] = []
    for step in steps(text):
        command = f"{step.line}: $ {' '.join(step.words)}"
        expected += [command, *step.expected]
        actual += [command, *played(step, root, clock)]
    return expected, actual
