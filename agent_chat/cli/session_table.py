"""The rows of the command table about sessions."""

from __future__ import annotations

from agent_chat.cli.arguments import AGENT
from agent_chat.cli.command import Argument, Command

SESSIONS = "agent_chat.cli.session_commands"

ROWS = (
    Command(
        path=("session", "start"),
        summary="Makes a session of an agent and prints its token, once.",
        handler=f"{SESSIONS}:start",
        mutates=True,
        notes="""\
With the token in AGENT_CHAT_TOKEN a command acts as that agent, and its messages name the session:
  eval "$(agent-chat session start --as alice)"
Under a token the new session shares its connection.""",
        arguments=(
            AGENT.replace(help="whose (else of the token, $AGENT_CHAT_NAME)"),
            Argument(name="harness", spellings=("--harness",), metavar="NAME", help="the tool that the agent runs in"),
            Argument(name="name", spellings=("--name",), metavar="NAME", help="what the session is called"),
            Argument(name="channel", spellings=("--channel",), metavar="CHANNEL", help="the channel that it is for"),
        ),
    ),
    Command(
        path=("session", "end"),
        summary="Ends the session of AGENT_CHAT_TOKEN: the token is refused from now on.",
        handler=f"{SESSIONS}:end",
        mutates=True,
    ),
    Command(
        path=("session", "show"),
        summary="Shows a session: agent, channel, user, level, connection.",
        handler=f"{SESSIONS}:show",
        arguments=(
            Argument(name="session", metavar="id", optional=True, help="the session (else that of $AGENT_CHAT_TOKEN)"),
        ),
    ),
)
