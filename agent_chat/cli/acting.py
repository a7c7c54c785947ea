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
from agent_chat.operations.skipping import Skips
from agent_chat.storage.channel import open_channel, open_channel_unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_chat.cli.command import Reply, Request
    from agent_chat.records.session import Session
    from agent_chat.storage.channel import Channel


def agent_text(request: Request) -> str:
    """Returns the acting agent: the session's, else as named by option or AGENT_CHAT_NAME; fails with AGENT_MISSING."""
    named = optional_agent(request)
    if named is None:
        option = next(a.label for a in request.command.arguments if a.name == "agent")
        raise ChatError("AGENT_MISSING", f"who acts? add {option} NAME or set AGENT_CHAT_NAME")
    return named


def optional_agent(request: Request) -> str | None:
    """Returns the acting agent, or None where it need not be named and was not; fails with SESSION_…."""
    named = request.optional_text("agent")
    session = session_of(request)
    if session is None:
        return named if named is not None else variable(request, "AGENT_CHAT_NAME") or None
    if named is not None and not names.same(named, session.agent):
        raise ChatError(
            "SESSION_IDENTITY",
            f"AGENT_CHAT_TOKEN is of {session.agent}, so {names.quoted(named)} cannot act under it",
            where=request.workspace.where(),
        )
    return session.agent


def session_of(request: Request) -> Session | None:
    """Returns the session whose token is in the environment, None without a token; fails with SESSION_….

    From then on it is the one that acts in this workspace.
    """
    token = request.environment.get("AGENT_CHAT_TOKEN", "")
    if not token:
        return None
    if request.workspace.session is None:
        from agent_chat.operations.sessions import of_token

        named = request.values.get("agent") or variable(request, "AGENT_CHAT_NAME") or "NAME"
        request.workspace.session = of_token(request.workspace, token, agent=str(named))
    session: Session = request.workspace.session
    return session


def variable(request: Request, name: str) -> str:
    """Returns a variable of the environment as the UTF-8 that its bytes are, whatever the locale; empty when unset."""
    return recoded(request.environment.get(name, ""))


def actor_of(request: Request) -> Actor:
    """Returns who acts on a lease: the agent, its session, and the fence that it gives."""
    fence = request.optional_integer("fence") if "fence" in request.values else None
    agent, session = agent_text(request), session_of(request)
    return Actor(name=agent, session=session.id if session is not None else None, fence=fence)


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


def skips_of(request: Request) -> Skips:
    """Returns what the caller skips; fails with MESSAGE_INVALID or AGENT_INVALID for what can be no topic or name."""
    topics = tuple(names.topic_name(text) for text in request.texts("skip_topic"))
    return Skips(
        topics=topics, senders=tuple(names.agent_name(text, reserved=True) for text in request.texts("skip_from"))
    )


def bounds_of(request: Request, *, limit: str = "limit") -> Bounds:
    """Returns how much a page may hold, in the form in which it will be printed."""
    return Bounds(
        limit=request.integer(limit),
        max_bytes=request.integer("max_bytes"),
        measure=json_size if request.as_json else text_size,
        audit_run=None if request.as_json else AUDIT_RUN,
    )


def guard_of(request: Request) -> Callable[[], None]:
    """Returns what a call that takes its time asks meanwhile: it fails once chat is off, or its session has ended."""
    token = request.environment.get("AGENT_CHAT_TOKEN", "")

    def guard() -> None:
        if request.workspace.has_owner_settings:
            from agent_chat.operations.access import require_on

            require_on(request.workspace)
        if token:
            from agent_chat.operations.sessions import of_token

            of_token(request.workspace, token)

    return guard
