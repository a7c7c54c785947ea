"""The rows of the commands on tasks and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash.interrupted import ALL_APPLIED, ANNOUNCED, MIXED, interrupted, undecided
from tests.crash.row import HOUR, Row, plant
from tests.support.workspaces import START

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.staging import Stage

LATER = 100.0
EXPIRED = 400.0
PENDING = "tasks/audit/.pending.md"


def talk(stage: Stage) -> None:
    """Makes a channel with one message."""
    stage.must("init", "dev")
    stage.must("post", "dev", "--from", "alice", "--title", "First", "--body", "What is to be done.")


def dependencies(stage: Stage) -> None:
    """Makes a task that is done and one that is open."""
    talk(stage)
    for task in ("A", "B"):
        stage.must("task", "create", "dev", task, "--from", "alice", "--title", f"Task {task}")
    stage.must("task", "claim", "dev", "A", "--as", "bob")
    stage.must("task", "done", "dev", "A", "--as", "bob")


def tasks(stage: Stage) -> None:
    """Makes a task and one that waits for it."""
    talk(stage)
    stage.must("task", "create", "dev", "T", "--from", "alice", "--title", "The first", "--branch", "topic/one")
    stage.must("task", "create", "dev", "U", "--from", "alice", "--title", "The second", "--depends-on", "T")


def claimed(stage: Stage) -> None:
    """Adds bob's claim of the first."""
    tasks(stage)
    stage.must(*CLAIM)


def blocked(stage: Stage) -> None:
    """Adds that bob is blocked."""
    claimed(stage)
    stage.must("task", "block", "dev", "T", "--as", "bob")


def interrupted_claim(at: tuple[str, int]) -> Callable[[Stage], None]:
    """Returns what leaves a claim that was killed."""

    def prepare(stage: Stage) -> None:
        tasks(stage)
        interrupted(stage, CLAIM, at)

    return prepare


def interrupted_recovery(at: tuple[str, int]) -> Callable[[Stage], None]:
    """Returns what leaves a recovery of an expired claim that was killed."""

    def prepare(stage: Stage) -> None:
        claimed(stage)
        interrupted(stage, RECOVER, at, turned=EXPIRED)

    return prepare


def damaged_entry(stage: Stage) -> None:
    """Has a pending entry that cannot be read."""
    claimed(stage)
    plant(stage, PENDING, b"half of an ent", at=START - HOUR)


def altered_record(stage: Stage) -> None:
    """Has a claim that was killed, whose task was changed by hand since."""
    interrupted_claim(ALL_APPLIED)(stage)
    alter(stage)


def alter(stage: Stage) -> None:
    """Changes the first task by hand."""
    data = stage.disk().files["dev/tasks/T.json"]
    plant(stage, "tasks/T.json", data.replace(b"The first", b"By hand"), at=START - HOUR)


CREATE = ("task", "create", "dev", "T", "--from", "alice", "--title", "The first")
CLAIM = ("task", "claim", "dev", "T", "--as", "bob")
RECOVER = ("task", "recover", "dev", "T", "--as", "carol", "--reason", "bob has gone")
SETTLE = ("task", "recover-pending", "dev", "--as", "carol")
LIST, READY, SHOW = ("task", "list", "dev"), ("task", "ready", "dev"), ("task", "show", "dev", "T")

# What all rows of this journal have in common.
TASK = Row(
    "",
    (),
    talk,
    between=undecided,
    journal="tasks",
    looks=(LIST, READY, SHOW, ("task", "show", "dev", "U")),
    settle=SETTLE,
)


def _row(name: str, argv: tuple[str, ...], prepare: Callable[[Stage], None]) -> Row:
    return TASK._replace(name=name, argv=argv, prepare=prepare)


def _by_bob(name: str, *options: str) -> tuple[str, ...]:
    return ("task", name, "dev", "T", "--as", "bob", *options)


ROWS: tuple[Row, ...] = (
    _row("task create, first in a channel", CREATE, talk)._replace(refusals=("TASK_ALREADY_EXISTS",)),
    _row("task create, with dependencies", (*CREATE, "--depends-on", "A,B"), dependencies)._replace(
        refusals=("TASK_ALREADY_EXISTS",), looks=(LIST, READY, SHOW)
    ),
    _row("task update", ("task", "update", "dev", "U", "--as", "alice", "--title", "Better", "--branch", "b/2"), tasks),
    _row("task claim", CLAIM, tasks)._replace(refusals=("LEASE_CONFLICT",), quick=True),
    _row("task claim, without hard links", CLAIM, tasks)._replace(refusals=("LEASE_CONFLICT",), links=False),
    _row("task claim, to go on after a block", CLAIM, blocked)._replace(refusals=("LEASE_CONFLICT",), turned=LATER),
    _row("task renew", _by_bob("renew"), claimed)._replace(settles=False, turned=LATER),
    _row("task done", _by_bob("done", "--fence", "4"), claimed)._replace(refusals=("LEASE_NOT_FOUND",), turned=LATER),
    _row("task release", _by_bob("release"), claimed)._replace(turned=LATER),
    _row("task block", _by_bob("block"), claimed)._replace(turned=LATER),
    _row("task block, without a claim", _by_bob("block"), tasks),
    _row("task cancel", _by_bob("cancel"), claimed)._replace(turned=LATER),
    _row("task recover", RECOVER, claimed)._replace(refusals=("LEASE_NOT_EXPIRED",), turned=EXPIRED),
    _row("task recover-pending, mixed", SETTLE, interrupted_recovery(MIXED))._replace(turned=EXPIRED),
    _row("task recover-pending, applied", SETTLE, interrupted_claim(ALL_APPLIED)),
    _row("task recover-pending, announced", SETTLE, interrupted_claim(ANNOUNCED)),
    _row("task recover-pending, nothing there", SETTLE, claimed),
    _row("task recover-pending, damaged", (*SETTLE, "--keep"), damaged_entry)._replace(
        keeps_messages=False, settle=(*SETTLE, "--keep")
    ),
    _row("task recover-pending, altered by hand", (*SETTLE, "--keep"), altered_record)._replace(
        keeps_messages=False, settle=(*SETTLE, "--keep")
    ),
)
