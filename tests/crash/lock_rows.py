"""The rows of the commands on path locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash.interrupted import ALL_APPLIED, ANNOUNCED, interrupted, undecided
from tests.crash.row import HOUR, Row, plant
from tests.crash.task_rows import EXPIRED, LATER, talk
from tests.support.workspaces import START

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.staging import Stage

PENDING = "locks/audit/.pending.md"


def others_lock(stage: Stage) -> None:
    """Has a lock of carol's."""
    talk(stage)
    stage.must("lock", "dev", "other/", "z.txt", "--as", "carol")


def locked(stage: Stage) -> None:
    """Has a lock of bob's on a folder and a file beside it."""
    others_lock(stage)
    stage.must(*LOCK)


def interrupted_lock(at: tuple[str, int]) -> Callable[[Stage], None]:
    """Returns what leaves a lock whose making was killed."""

    def prepare(stage: Stage) -> None:
        others_lock(stage)
        interrupted(stage, LOCK, at)

    return prepare


def interrupted_unlock(at: tuple[str, int]) -> Callable[[Stage], None]:
    """Returns what leaves a lock that was given back by a call that was killed."""

    def prepare(stage: Stage) -> None:
        locked(stage)
        interrupted(stage, UNLOCK, at)

    return prepare


def damaged_entry(stage: Stage) -> None:
    """Has a pending entry that cannot be read."""
    locked(stage)
    plant(stage, PENDING, b"---\nschema_version: 1\n", at=START - HOUR)


LOCK = ("lock", "dev", "src/", "a.txt", "--as", "bob", "--reason", "to mend it")
UNLOCK = ("unlock", "dev", "a.txt", "--as", "bob")
RECOVER = ("recover", "dev", "src/", "--as", "dave", "--reason", "bob has gone")
SETTLE = ("recover-pending", "dev", "--as", "carol")

# What all rows of this journal have in common.
PATH_LOCK = Row(
    "",
    (),
    talk,
    between=undecided,
    journal="locks",
    looks=(
        ("locks", "dev"),
        ("check", "dev", "src/main.py", "z.txt"),
        ("check", "dev", "a.txt"),
        ("check", "dev", "nobodys.txt"),
        ("check", "dev", "src/", "other/", "--as", "carol"),
    ),
    settle=SETTLE,
)


def _row(name: str, argv: tuple[str, ...], prepare: Callable[[Stage], None]) -> Row:
    return PATH_LOCK._replace(name=name, argv=argv, prepare=prepare)


ROWS: tuple[Row, ...] = (
    _row("lock, first in a channel", ("lock", "dev", "src/", "--as", "bob"), talk)._replace(settles=False),
    _row("lock, several paths", LOCK, others_lock)._replace(settles=False, quick=True),
    _row("lock, what one holds", ("lock", "dev", "src/", "--as", "bob"), locked)._replace(settles=False, turned=LATER),
    _row("renew-lock", ("renew-lock", "dev", "src/", "--as", "bob"), locked)._replace(settles=False, turned=LATER),
    _row("unlock", UNLOCK, locked)._replace(refusals=("PATH_LOCK_NOT_FOUND",), turned=LATER),
    _row("recover", RECOVER, locked)._replace(refusals=("PATH_LOCK_NOT_STALE",), turned=EXPIRED),
    _row("recover-pending, applied", SETTLE, interrupted_lock(ALL_APPLIED)),
    _row("recover-pending, announced", SETTLE, interrupted_lock(ANNOUNCED)),
    _row("recover-pending, unlocking applied", SETTLE, interrupted_unlock(ALL_APPLIED)),
    _row("recover-pending, damaged", (*SETTLE, "--keep"), damaged_entry)._replace(
        keeps_messages=False, settle=(*SETTLE, "--keep")
    ),
)
