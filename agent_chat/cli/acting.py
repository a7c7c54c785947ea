"""What many commands share: the acting agent, the channel, the bounds of a page."""

from __future__ import annotations

from agent_chat.cli.message_text import AUDIT_RUN, json_size, text_size
from agent_chat.errors import ChatError
from agent_chat.operations.participants import participant
from agent_chat.operations.reading import Bounds
from agent_chat.storage.channel import open_channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.cli.command import Reply, Request
    from agent_chat.storage.channel import Channel


def agent_text(request: Request) -> str:
    """Returns the acting agent as it was named: by option, else by AGENT_CHAT_NAME; fails with AGENT_MISSING."""
    named = request.optional_text("agent")
    if named is None:
        from os import fsencode

        named = fsencode(request.environment.get("AGENT_CHAT_NAME", "")).decode("utf-8", "surrogateescape") or None
    if named is None:
        option = next(a.label for a in request.command.arguments if a.name == "agent")
        raise ChatError("AGENT_MISSING", f"who acts? add {option} NAME or set AGENT_CHAT_NAME")
    return named


def channel_of(request: Request) -> Channel:
    """Opens the channel that a request names."""
    return open_channel(request.workspace, request.text("channel"))


def reader_of(request: Request, channel: Channel) -> str:
    """Returns the acting agent as the channel spells it."""
    return participant(channel, agent_text(request))


def after_failures(reply: Reply, failures: Sequence[tuple[str, ChatError | OSError]]) -> Reply:
    """Returns a reply that could not look everywhere: the first failure is its error, the others are warnings."""
    if not failures:
        return reply
    others = tuple(f"{name}: {failure}" for name, failure in failures[1:])
    return reply.replace(error=failures[0][1], warnings=reply.warnings + others)


def bounds_of(request: Request, *, limit: str = "limit") -> Bounds:
    """Returns how much a page may hold, in the form in which it will be printed."""
    return Bounds(
        limit=request.integer(limit),
        max_bytes=request.integer("max_bytes"),
        measure=json_size if request.as_json else text_size,
        audit_run=None if request.as_json else AUDIT_RUN,
    )
