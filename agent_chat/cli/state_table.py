"""The rows of the command table about the state of a channel."""

from __future__ import annotations

from agent_chat.cli.arguments import AGENT, CHANNEL
from agent_chat.cli.command import Argument, Command

STATE = "agent_chat.cli.state_commands"

STRICT = Argument(
    name="strict", spellings=("--strict",), flag=True, help="refuse where a source cannot be read, instead of naming it"
)

ROWS = (
    Command(
        path=("state",),
        summary="Shows decisions, open tasks, blockers, leases and evidence.",
        handler=f"{STATE}:state",
        speaks=True,
        mutates=True,
        notes="What could not be read is named, never shown as empty.",
        arguments=(
            CHANNEL,
            Argument(name="write", spellings=("--write",), flag=True, help="also replace state.md; posts nothing"),
            STRICT,
            Argument(name="saved", spellings=("--saved",), flag=True, help="show state.md as it was last written"),
        ),
    ),
    Command(
        path=("compact",),
        summary="Writes the state of a channel to state.md, and posts that it did.",
        handler=f"{STATE}:compact",
        speaks=True,
        mutates=True,
        notes="Nothing is deleted: messages, tasks, claims, locks and cursors stay as they are.",
        arguments=(
            CHANNEL,
            AGENT.replace(help="who acts (else $AGENT_CHAT_NAME, else system)"),
            Argument(name="no_audit", spellings=("--no-audit",), flag=True, help="post nothing"),
            STRICT,
        ),
    ),
)
