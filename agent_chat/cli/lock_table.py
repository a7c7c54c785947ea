"""The rows of the command table about path locks."""

from __future__ import annotations

from agent_chat.cli.arguments import (
    AGENT,
    CHANNEL,
    FENCE,
    KEEP,
    LEASE,
    LOCK,
    PATHS,
    REASON,
    RESOLVE,
    WORK_TREE,
)
from agent_chat.cli.command import Command

LOCKS = "agent_chat.cli.lock_commands"

ROWS = (
    Command(
        path=("lock",),
        summary="Locks files and folders for one agent: all of them, or none.",
        handler=f"{LOCKS}:lock",
        mutates=True,
        notes="Asking again for what one's own lock covers makes its lease run anew.",
        arguments=(
            CHANNEL,
            PATHS,
            AGENT,
            LEASE,
            REASON.replace(required=False, help="what for, in one line"),
            WORK_TREE,
        ),
    ),
    Command(
        path=("renew-lock",),
        summary="Makes a lock's lease run anew from now.",
        handler=f"{LOCKS}:renew",
        mutates=True,
        arguments=(
            CHANNEL,
            LOCK,
            AGENT,
            LEASE.replace(help="how long, at most 30 days (as before)"),
            FENCE,
            WORK_TREE,
        ),
    ),
    Command(
        path=("check",),
        summary="Tells whether a lock stands in the way; exit status 1 if one does.",
        handler=f"{LOCKS}:check",
        notes="With --as the locks of that agent are left out.",
        arguments=(CHANNEL, PATHS, AGENT.replace(help="whose locks are no obstacle"), WORK_TREE),
    ),
    Command(
        path=("unlock",),
        summary="Gives a whole lock back.",
        handler=f"{LOCKS}:unlock",
        mutates=True,
        arguments=(CHANNEL, LOCK, AGENT, FENCE, WORK_TREE),
    ),
    Command(
        path=("locks",),
        summary="Lists all path locks.",
        handler=f"{LOCKS}:list_all",
        arguments=(CHANNEL,),
    ),
    Command(
        path=("recover",),
        summary="Takes over a lock whose lease ran out, with a reason.",
        handler=f"{LOCKS}:recover",
        mutates=True,
        arguments=(CHANNEL, LOCK, AGENT, REASON, LEASE, FENCE, WORK_TREE),
    ),
    Command(
        path=("recover-pending",),
        summary="Undoes or finishes an interrupted change of locks; reassigns nothing.",
        handler=f"{LOCKS}:recover_pending",
        mutates=True,
        arguments=(CHANNEL, AGENT, RESOLVE, KEEP),
    ),
)
