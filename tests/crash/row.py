"""A row of the table of what is crashed: one way in which a command changes files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, NamedTuple

from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse

if TYPE_CHECKING:
    from tests.support.staging import Stage
    from tests.support.views import RootView

HOUR = 3600.0


def _is_no_state(view: RootView, old: RootView, new: RootView) -> bool:
    return False


class Row(NamedTuple):
    """One operation as it is typed.

    `between(view, old, new)` tells whether a state that is neither old nor new may be seen. `settles`: calling again
    after a crash leads where the undisturbed call leads, however often. `durable`: what was reported outlives a power
    loss. `keeps_messages`: a call that fails publishes nothing. `refusals` are the codes of calling again when it was
    done already. `reader` is the agent that is shown messages, `other` one that may post. `links`: whether the disk has
    hard links. `quick` rows are looked at in the fast lane.

    `journal` names the journal that the command changes records by, if it does; `looks` are the commands that show
    them, whose answers must be right at once. `settle` is the call that decides what is pending, and `turned` how much
    later than its preparation everything happens.
    """

    name: str
    argv: tuple[str, ...]
    prepare: Callable[[Stage], None]
    between: Callable[[RootView, RootView, RootView], bool] = _is_no_state
    settles: bool = True
    durable: bool = True
    keeps_messages: bool = True
    refusals: tuple[str, ...] = ()
    reader: str = ""
    other: str = "dave"
    links: bool = True
    quick: bool = False
    journal: str = ""
    looks: tuple[tuple[str, ...], ...] = ()
    settle: tuple[str, ...] = ()
    turned: float = 0.0

    @property
    def command(self) -> tuple[str, ...]:
        """The path of the command in the table of commands."""
        return parse(self.argv, COMMANDS).command.path


def plant(stage: Stage, name: str, data: bytes, *, at: float) -> None:
    """Writes a file into the channel as another program would."""
    path = os.path.join(stage.root, "dev", name)
    with open(path, "wb") as stream:
        stream.write(data)
    os.utime(path, (at, at))
