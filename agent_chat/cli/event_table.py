"""The rows of the command table about events."""

from __future__ import annotations

from agent_chat.cli.arguments import CHANNEL, SENDER
from agent_chat.cli.command import Argument, Command

EVENTS = "agent_chat.cli.event_commands"

# No choices: whether a word fits is for the event to say, with a code of its own.
TYPE = Argument(name="type", spellings=("--type",), metavar="TYPE", help="capability or status")

ROWS = (
    Command(
        path=("event", "post"),
        summary="Announces what an agent can do, or what it is about; wakes nobody.",
        handler=f"{EVENTS}:post",
        speaks=True,
        mutates=True,
        notes="Primitives: messages, cursors, wait, tasks, dependencies, leases, path_locks, state_summary.",
        arguments=(
            CHANNEL,
            SENDER,
            TYPE.replace(required=True),
            Argument(
                name="harness",
                spellings=("--harness",),
                metavar="NAME",
                required=True,
                help="the tool that the agent runs in, such as claude-code",
            ),
            Argument(
                name="primitives",
                spellings=("--primitives",),
                metavar="A,B",
                repeatable=True,
                help="what the agent uses of this protocol, of a capability event (all); may be repeated",
            ),
            Argument(
                name="status",
                spellings=("--status",),
                metavar="STATUS",
                help="of a status event: ready, busy, idle, blocked or stopped",
            ),
            Argument(name="detail", spellings=("--detail",), metavar="TEXT", help="of a status event: one line more"),
        ),
    ),
    Command(
        path=("event", "read"),
        summary="Prints the events of a channel, oldest first; moves no cursor.",
        handler=f"{EVENTS}:read",
        speaks=True,
        notes="A malformed event is a warning. With --json each event is a document on a line of its own.",
        arguments=(CHANNEL, TYPE.replace(help="only capability or only status events")),
    ),
)
