"""The rows of the command table for what a person decides: whether chat is on, how long messages stay, what goes."""

from __future__ import annotations

from agent_chat.cli.arguments import ACTOR, CHANNEL
from agent_chat.cli.command import Argument, Command

OWNER = "agent_chat.cli.owner_commands"

PERSON = ACTOR.replace(spellings=("--as", "--from", "--owner", "--actor"), help="the person (else $AGENT_CHAT_NAME)")
NOTES = "For a person at a terminal, without a session token; what is decided must be typed again."

ROWS = (
    Command(
        path=("owner",),
        summary="Shows whether chat is on, and how long messages stay.",
        handler=f"{OWNER}:show",
    ),
    Command(
        path=("owner", "access"),
        summary="Switches chat on or off for everybody in the root; nothing is deleted.",
        handler=f"{OWNER}:access",
        mutates=True,
        notes=NOTES,
        arguments=(Argument(name="value", choices=("on", "off"), help="whether chat is on"), PERSON),
    ),
    Command(
        path=("owner", "retention"),
        summary="Sets after how many days messages go, or that they stay.",
        handler=f"{OWNER}:retention",
        mutates=True,
        notes=NOTES,
        arguments=(
            Argument(name="days", metavar="days|off", optional=True, default="14", help="from 1 to 36500"),
            PERSON,
        ),
    ),
    Command(
        path=("channel", "delete"),
        summary="Deletes a channel with all that is in it.",
        handler=f"{OWNER}:delete_channel",
        mutates=True,
        notes=f"{NOTES}\nWhere the root lies in a work tree of git, git keeps what was committed.",
        arguments=(CHANNEL, PERSON),
    ),
)
