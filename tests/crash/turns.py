"""The loops over interleavings: one reader and one writer, two readers of one name, two writers, and an intruder."""

from __future__ import annotations

import functools
import itertools
import os
from typing import TYPE_CHECKING, Any

from tests.support import tally
from tests.support.recording import InterveningFileSystem
from tests.support.staging import Stage, screens
from tests.support.stepping import LISTED, SLEEP, Player
from tests.support.views import view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.disks import Disk
    from tests.support.recording import Step
    from tests.support.staging import Answer

READ = ("read", "dev", "--as", "bob")
BODY = "one sentence.\n" * 9
MOST_TURNS = 500


def stage_of(folder: Path) -> tuple[Stage, Disk]:
    """Returns a stage with a channel of one message that bob has read and one that he has not, and its disk."""
    stage = Stage(str(folder / "root"))
    stage.must("init", "dev")
    stage.must(*post("Before"))
    stage.must(*READ)
    stage.must(*post("There"))
    return stage, stage.disk()


def post(title: str, sender: str = "alice") -> tuple[str, ...]:
    """Returns the command line of a post."""
    return ("post", "dev", "--from", sender, "--title", title, "--body", BODY)


def _is_seen_by_others(step: Step) -> bool:
    """Tells whether a step changes what a reader of the channel can see: it gives a name, or takes one away there."""
    target = next((arg for arg in reversed(step.args) if isinstance(arg, str)), "")
    return step.name in ("link", "replace", "remove") and os.path.basename(os.path.dirname(target)) == "dev"


def _looks(step: Step) -> bool:
    """Tells whether a step looks at what writers change: the folder, a message, or the reader's own cursor."""
    path = step.args[0] if step.args else ""
    inside = isinstance(path, str) and f"{os.sep}dev" in path and not path.endswith("_meta.json")
    return step == LISTED._replace(args=step.args) or (step.name in ("list_folder", "status", "read_file") and inside)


def check_reader_and_writer(folder: Path, *, every: bool) -> list[str]:
    """A reader against a writer of two messages: each publication at each point of the reader's call.

    Two steps that touch different files can change places without anybody seeing it; so what matters is between which
    steps of the reader each message gets its name. With `every` the reader stops at all of its steps, else only at
    those that look at what a writer changes.
    """
    stage, disk = stage_of(folder)
    found: list[str] = []
    wanted = [2, 3, 4]
    for first, second in _places(functools.partial(_read_against_posts, stage, disk, every=every)):
        tally.count("interleavings")
        shown = [*first.answers, stage.call(*READ), stage.call(*READ)]
        bodies = {message["body"] for answer in shown for message in answer.data.get("messages", ())}
        numbers = [message["seq"] for answer in shown for message in answer.data.get("messages", ())]
        if numbers != wanted or bodies != {BODY}:
            found.append(f"{second}: the reader is shown {numbers}, bodies {bodies}, not {wanted}")
        found += [f"{second}: {a.status} {a.out}{a.err}" for a in shown if a.status or a.err or "warnings" in a.data]
    return found


def _places(run: Callable[[int, int], tuple[Player, int]]) -> Iterator[tuple[Player, str]]:
    """Runs with every pair of places i <= j of a reader's stops, as many as there turn out to be."""
    for i in itertools.count():
        for j in itertools.count(i):
            reader, stops = run(i, j)
            yield reader, f"published at {i} and {j}"
            if j >= stops:
                break
        if i >= stops:
            return


def _read_against_posts(stage: Stage, disk: Disk, i: int, j: int, *, every: bool) -> tuple[Player, int]:
    """Lets the writer publish when the reader has made i stops, and again at j; returns the reader and its stops."""
    stage.put(disk)
    with screens():
        reader = Player(stage, READ)
        writer = Player(stage, post("One"), post("Two"))
        stops = 0
        while True:
            for place in (i, j):
                if place == stops:
                    writer.run_until(_is_seen_by_others)
            if reader.next is None:
                break
            stops += every or _looks(reader.next)
            reader.step()
        writer.finish()
    for player in (reader, writer):
        player.join()
    return reader, stops


def check_two_readers(folder: Path, *, every: bool) -> list[str]:
    """Two readers of one name: one is held up at each of its steps, a message comes, the other goes some steps on.

    The cursor never goes back, and nobody is shown a hole. With `every` the other is held up at each step too.
    """
    stage, disk = stage_of(folder)
    found: list[str] = []
    for i in itertools.count():
        for j in itertools.count() if every else (MOST_TURNS,):
            text, ended = _two_readers(stage, disk, i, j)
            tally.count("interleavings")
            found += [f"held up at {i} and {j}: {each}" for each in text]
            if ended[1]:
                break
        if ended[0]:
            return found
    raise AssertionError("never comes here")


def _two_readers(stage: Stage, disk: Disk, i: int, j: int) -> tuple[list[str], tuple[bool, bool]]:
    """Returns what is wrong, and whether each of the two was at its end when it was held up."""
    stage.put(disk)
    cursors = [1]
    with screens():
        one = Player(stage, READ)
        ended_one = not _go(one, i, stage, cursors)
        stage.must(*post("Meanwhile"))
        other = Player(stage, READ)
        ended_other = not _go(other, j, stage, cursors)
        while one.next is not None or other.next is not None:
            _go(one, MOST_TURNS, stage, cursors)
            _go(other, MOST_TURNS, stage, cursors)
    found = [] if cursors == sorted(cursors) else [f"the cursor goes {cursors}"]
    shown: set[int] = set()
    for player in (one, other):
        player.join()
        (answer,) = player.answers
        numbers = [message["seq"] for message in answer.data["messages"]]
        shown |= set(numbers)
        if answer.status or numbers != list(range(numbers[0], numbers[-1] + 1) if numbers else []):
            found.append(f"{answer.status} {answer.err} {numbers}")
    left = [message["seq"] for message in stage.must(*READ).data["messages"]]
    if shown | set(left) != {2, 3}:
        found.append(f"shown {shown}, then {left}")
    return found, (ended_one, ended_other)


def _go(player: Player, turns: int, stage: Stage, cursors: list[int]) -> bool:
    """Gives a player some turns and notes each cursor; False at its end, and where it waits for the other."""
    for _ in range(turns):
        step = player.next
        goes_on = player.step()
        cursors.append(_cursor(stage))
        if step == SLEEP or not goes_on:
            return False
    return True


def _cursor(stage: Stage) -> int:
    with open(os.path.join(stage.root, "dev", ".cursors", "bob.txt"), "rb") as stream:
        return int(stream.read().split()[0])


def check_two_writers(folder: Path) -> list[str]:
    """A writer that is held up at each of its steps while another posts: it waits or goes first; all numbers differ."""
    stage, disk = stage_of(folder)
    found: list[str] = []
    for n in itertools.count(1):
        stage.put(disk)
        other: list[Answer] = []
        act = lambda step: other.append(stage.call(*post("Other", "carol")))  # noqa: E731, B023
        one = stage.call(*post("One"), files=functools.partial(InterveningFileSystem, n=n, act=act))
        if not one.files.intervened:
            return found
        tally.count("interleavings")
        found += [f"held up at {n}: {text}" for text in _of_posts([one, *other], stage.disk())]
    raise AssertionError("never comes here")


def _of_posts(answers: list[Answer], disk: Disk) -> list[str]:
    """Each post was published under a number of its own, or was told that the channel is busy."""
    view = view_of(disk)
    posted = [answer for answer in answers if answer.status == 0]
    found = [f"{a.status} {a.out}" for a in answers if a.status and a.code != "CHANNEL_BUSY"]
    seqs = sorted(message.seq for message in view.channels["dev"].messages.values())
    if seqs != list(range(1, 3 + len(posted))) or view.broken:
        found.append(f"{len(posted)} posts, and the numbers are {seqs}")
    return found


def check_intruder(folder: Path) -> list[str]:
    """A file of the very name that a post is about to take: whenever it appears, it is not replaced."""
    stage, disk = stage_of(folder)
    path = os.path.join(stage.root, "dev", "0003-alice-one.md")
    found: list[str] = []
    for n in itertools.count(1):
        stage.put(disk)
        answer = stage.call(*post("One"), files=functools.partial(InterveningFileSystem, n=n, act=_intrusion(path)))
        if not answer.files.intervened:
            return found
        tally.count("interleavings")
        with open(path, "rb") as stream:
            data = stream.read()
        ours = any(step.name in ("link", "replace") and step.args[1] == path for step in answer.files.log[: n - 1])
        if not ours and data != b"theirs":
            found.append(f"before {answer.files.log[n - 1]}: the file of somebody else was replaced")
        if answer.status not in (0, 2):
            found.append(f"before {answer.files.log[n - 1]}: {answer.status} {answer.out}{answer.err}")
    raise AssertionError("never comes here")


def _intrusion(path: str) -> Callable[[Step], Any]:
    def act(step: Step) -> None:
        if not os.path.exists(path):
            with open(path, "wb") as stream:
                stream.write(b"theirs")

    return act
