"""Runs transcripts: pages of prose with commands, and what each is to answer.

In a fenced block, a line `$ …` is a command (`<<'END'` gives it the following lines, up to END, as standard input;
`> FILE` lines of a heredoc to `put FILE` write a file), the lines after it are its standard output, `! …` lines its
standard error, `? N` its status where that is not 0. `{root}` stands for the root, `{tree}` for the work tree beside
it, `{id1}`, `{id2}` … for the ids that were made, in the order in which they were shown. Words like NAME=value before a
command set its variables. Everything else is prose.

Other tools: `put FILE [young|arrived]` writes a file as another program would, long ago unless it says so; `later
SECONDS` turns the clock; `in-tree COMMAND` runs a command in the work tree; `killed-before-announcing COMMAND` and
`killed-after-announcing COMMAND` run a command that dies then.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from agent_chat.storage.workspace import Ids
from tests.cli import leasing
from tests.support.cli import LATER, NULL, START, ArrivalFiles, FakeClock, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


KILLED = {"killed-before-announcing": leasing.UNANNOUNCED, "killed-after-announcing": leasing.ANNOUNCED}
ID = re.compile(r"\b[0-9a-f]{16}\b")


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


class CountedIds(Ids):
    """Ids and secrets in order, so that what is sorted by them always stands in one order."""

    def __init__(self) -> None:
        self._count = 0
        self._secrets = 0

    def secret(self, size: int) -> bytes:
        """The next one: all ones, all twos …."""
        self._secrets += 1
        return bytes([0x11 * self._secrets]) * size

    def fresh(self) -> str:
        """The next one."""
        self._count += 1
        return f"{self._count:016x}"


class Stage:
    """A root on which the steps of one transcript are played, one after the other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._clock = FakeClock()
        self._fresh = CountedIds()
        self._ids: list[str] = []
        self._names = {str(root): "{root}", **dict.fromkeys(leasing.tree_beside(root).values(), "{tree}")}

    def play(self, step: Step) -> list[str]:
        """Carries out a step and returns its lines as a transcript shows them."""
        tool, *argv = [self._real(word) for word in step.words]
        if tool == "put":
            at = {"young": START - 0.5, "arrived": LATER}.get("".join(argv[1:]), START - 3600)
            plant(self._root / argv[0], self._real(step.stdin or ""), at=at)
            return []
        if tool == "later":
            self._clock.turn(float(argv[0]))
            return []
        if tool in KILLED:
            leasing.killed(self._root, KILLED[tool], *argv[1:], clock=self._clock, ids=self._fresh)
            return []
        if tool == "in-tree":
            before = os.getcwd()
            os.chdir(leasing.tree_beside(self._root)["AGENT_CHAT_WORKSPACE"])
            try:
                return self._called(argv, step)
            finally:
                os.chdir(before)
        return self._called([tool, *argv], step)

    def _called(self, words: list[str], step: Step) -> list[str]:
        """Calls the program and returns its lines; words like NAME=value before it are its variables."""
        set_here = dict(word.split("=", 1) for word in itertools.takewhile(lambda word: "=" in word, words))
        tool, *argv = words[len(set_here) :]
        assert tool == "agent-chat", f"line {step.line}: {tool}"
        workspace = workspace_on(self._root, clock=self._clock, files=ArrivalFiles(str(self._root), self._clock))
        workspace.ids = self._fresh
        stdin = NULL if step.stdin is None else self._real(step.stdin).encode()
        variables = {**leasing.tree_beside(self._root), **set_here}
        result = run(argv, self._root, stdin=stdin, environment=variables, workspace=workspace)
        shown = result.stdout.splitlines()
        shown += [f"! {line}" for line in result.stderr.splitlines()]
        shown += [f"? {result.status}"] if result.status else []
        return [self._shown(line) for line in shown]

    def _real(self, text: str) -> str:
        for number, made in enumerate(self._ids, 1):
            text = text.replace(f"{{id{number}}}", made)
        for real, name in self._names.items():
            text = text.replace(name, real)
        return text

    def _shown(self, text: str) -> str:
        for made in ID.findall(text):
            if made not in self._ids:
                self._ids.append(made)
            text = text.replace(made, f"{{id{self._ids.index(made) + 1}}}")
        for real, name in self._names.items():
            text = text.replace(real, name)
        return text


def replay(text: str, root: Path) -> tuple[list[str], list[str]]:
    """Plays a transcript; returns what it says and what really happened, each line after its command."""
    stage = Stage(root)
    expected: list[str] = []
    actual: list[str] = []
    for step in steps(text):
        command = f"{step.line}: $ {' '.join(step.words)}"
        expected += [command, *step.expected]
        actual += [command, *stage.play(step)]
    return expected, actual
