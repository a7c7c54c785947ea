"""The rows of the command table about hosts: the tools that agents run in."""

from __future__ import annotations

from agent_chat.cli.command import Argument, Command

SETUP = "agent_chat.cli.setup_commands"
EVENTS = ("session-start", "prompt", "pre-tool-use", "post-tool-batch", "stop", "wait")
HOSTS = ("claude", "codex", "copilot", "gemini", "cursor", "opencode", "omp", "pi")

ROWS = (
    Command(
        path=("setup",),
        summary="Wires our hooks into a host's settings; can be repeated, and undone.",
        handler=f"{SETUP}:setup",
        mutates=True,
        notes="""\
It writes into the project in the current folder; what is in its files stays.
Without a host, --root-here makes the root alone.""",
        arguments=(
            Argument(name="host", choices=HOSTS, optional=True, help="the tool that the agents run in"),
            Argument(
                name="print", spellings=("--print",), flag=True, help="print our part of each file, write nothing"
            ),
            Argument(name="remove", spellings=("--remove",), flag=True, help="take out what setup has put in"),
            Argument(name="user", spellings=("--user",), flag=True, help="the user's own settings, for all projects"),
            Argument(
                name="root_here",
                spellings=("--root-here",),
                flag=True,
                help="make the project's own root in .agent-chat/, and wire that one",
            ),
            Argument(name="wake", spellings=("--wake",), flag=True, help="claude only: wake an idle session"),
        ),
    ),
    Command(
        path=("hook",),
        summary="Answers an event of a host; its hooks call this.",
        handler="agent_chat.cli.hook_commands:hook",
        unlisted=True,
        notes="""\
Reads the host's JSON from standard input, moves no cursor, and ends with 0 whatever happens.
Only wait ends with 2, to wake a session of Claude Code. It looks at AGENT_CHAT_NAME,
AGENT_CHAT_CHANNELS, AGENT_CHAT_STOP=block, AGENT_CHAT_GUARD=strict and AGENT_CHAT_WAIT=always.""",
        arguments=(
            Argument(name="event", choices=EVENTS, help="the event"),
            Argument(name="host", spellings=("--host",), choices=HOSTS, help="who calls (else told by what it sends)"),
            Argument(
                name="timeout",
                spellings=("--timeout",),
                metavar="SECONDS",
                kind="seconds",
                default=3600.0,
                help="how long wait waits",
            ),
        ),
    ),
)
