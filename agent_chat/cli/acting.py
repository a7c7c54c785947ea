"""What many commands share: the acting agent, the channel, the bounds of a page."""

from __future__ import annotations

from agent_chat import names
from agent_chat.cli import root
from agent_chat.cli.message_text import AUDIT_RUN, json_size, text_size
from agent_chat.cli.root import recoded
from agent_chat.errors import ChatError
from agent_chat.operations.leases import Actor
from agent_chat.operations.participants import participant
from agent_chat.operations.reading import Bounds
from agent_chat.storage.channel import open_channel, open_channel_unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_chat.cli.command import Reply, Request
    from agent_chat.storage.channel import Channel


def agent_text(request: Request) -> str:
    """Returns the acting agent as it was named: by option, else by AGENT_CHAT_NAME; fails with AGENT_MISSING."""
    named = optional_agent(request)
    if named is None:
        option = next(a.label for a in request.command.arguments if a.name == "agent")
        raise ChatError("AGENT_MISSING", f"who acts? add {option} NAME or set AGENT_CHAT_NAME")
    return named


def optional_agent(request: Request) -> str | None:
    """Returns the acting agent as it was named, or None where it need not be named and was not."""
    named = request.optional_text("agent")
    return named if named is not None else variable(request, "AGENT_CHAT_NAME") or None


def variable(request: Request, name: str) -> str:
    """Returns a variable of the environment as the UTF-8 that its bytes are, whatever the locale; empty when unset."""
    return recoded(request.environment.get(name, ""))


def actor_of(request: Request) -> Actor:
    """Returns who acts on a lease: the agent, its session, and the fence that it gives."""
    fence = request.optional_integer("fence") if "fence" in request.values else None
    return Actor(name=agent_text(request), session=_session_id(request), fence=fence)


def _session_id(request: Request) -> str | None:
    """Returns the id in AGENT_CHAT_TOKEN, `<id>.<secret>`, None where there is no token; never the secret."""
    token = request.environment.get("AGENT_CHAT_TOKEN", "")
    if not token:
        return None
    session, _, secret = token.partition(".")
    if not secret or names.fault_of_session(session):
        raise ChatError("SESSION_TOKEN_INVALID", "AGENT_CHAT_TOKEN is no token: <id>.<secret>")
    return session


def expanded(path: str | None) -> str | None:
    """Returns a path with a home folder at its beginning written out."""
    return None if path is None else root.expanded(path)


def channel_with_codes(request: Request, codes: Mapping[str, str], *, unread: bool = False) -> Channel:
    """Opens the channel that a request names; errors about it have the codes that its nouns are known by.

    With `unread` its record is not read yet, so that a damaged one keeps nobody from seeing the rest.
    """
    try:
        return open_channel_unread(request.workspace, request.text("channel")) if unread else channel_of(request)
    except ChatError as error:
        error.code = codes.get(error.code, error.code)
        raise


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


def guard_of(request: Request) -> Callable[[], None]:
    """Returns what a call that takes its time asks meanwhile: it fails where the call may not go on."""

    from agent_chat.operations.access import require_on

    def guard() -> None:
        require_on(request.workspace)

    return guard
