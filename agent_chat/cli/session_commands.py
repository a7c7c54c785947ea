"""The commands on sessions: start, end and show."""

from __future__ import annotations

from agent_chat.cli.acting import session_of, variable
from agent_chat.cli.command import Reply
from agent_chat.errors import ChatError
from agent_chat.operations import sessions
from agent_chat.records.session import to_json
from agent_chat.records.shown_text import safe_line
from agent_chat.storage.channel import open_channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.records.session import Session


def start(request: Request) -> Reply:
    """Makes a session; its token is shown here and never again."""
    workspace = request.workspace
    under, doubts = _session_above(request)
    agent = request.optional_text("agent")
    if agent is None:
        agent = under.agent if under is not None else variable(request, "AGENT_CHAT_NAME")
    if not agent:
        raise ChatError("AGENT_MISSING", "whose session? add --as NAME or set AGENT_CHAT_NAME")
    named = request.optional_text("channel")
    channel = open_channel(workspace, named) if named is not None else None
    wanted = sessions.Wanted(
        agent=agent, name=request.optional_text("name"), harness=request.optional_text("harness"), under=under
    )
    started = sessions.start(workspace, wanted, channel)
    session = started.session
    about = f"session {session.name} of {session.agent}, connection {session.connection}"
    others = [f"{each.id} of {each.agent}, since {sessions.since(each)}" for each in started.namesakes]
    # A shell is to evaluate this text. Names hold no sign that means something to one (`names.fault_of_name`); nothing
    # else that a caller chose may stand in it.
    return Reply(
        data={**workspace.where(), "session": to_json(session), "token": started.token},
        text=f": {about}\nexport AGENT_CHAT_TOKEN={started.token}",
        summary=f"made the {about}",
        warnings=(
            *doubts,
            *(f"{session.name} is the name of another session too: {each}" for each in others),
            *(f"whether it has the name {session.name} is not known: {fault}" for fault in started.faults),
        ),
    )


def _session_above(request: Request) -> tuple[Session | None, tuple[str, ...]]:
    """Returns the session of the caller's token, an ended one too, and what is to be said of a token that is none.

    Such a token keeps nobody from getting a good one.
    """
    token = request.environment.get("AGENT_CHAT_TOKEN", "")
    if not token:
        return None, ()
    try:
        return sessions.of_token(request.workspace, token, ended=True), ()
    except ChatError as error:
        if error.code not in ("SESSION_TOKEN_INVALID", "SESSION_UNKNOWN", "ROOT_NOT_FOUND"):
            raise
        why = "AGENT_CHAT_TOKEN is of no session here" if error.code == "ROOT_NOT_FOUND" else error.message
        return None, (f"{why}; the new session has a connection of its own",)


def end(request: Request) -> Reply:
    """Ends the caller's session."""
    session = sessions.end(request.workspace, _own(request))
    line = f"session {session.name} of {session.agent} has ended"
    return Reply(data={**request.workspace.where(), "session": to_json(session)}, text=line, summary=line)


def show(request: Request) -> Reply:
    """Shows a session, by default the caller's."""
    named = request.optional_text("session")
    session = sessions.find(request.workspace, named) if named is not None else _own(request)
    parts = [
        f"{session.id} {session.name} of {session.agent}",
        f"channel {session.channel}" if session.channel else "",
        f"in {safe_line(session.harness)}" if session.harness else "",
        f"user {safe_line(session.user)}",
        session.taint,
        f"since {sessions.since(session)}",
        f"connection {session.connection}",
        "ended" if session.ended is not None else "",
    ]
    return Reply(
        data={**request.workspace.where(), "session": to_json(session)},
        text=" | ".join(part for part in parts if part),
    )


def _own(request: Request) -> Session:
    """Returns the caller's session; fails with SESSION_MISSING without a token."""
    session = session_of(request)
    if session is None:
        raise ChatError(
            "SESSION_MISSING",
            "AGENT_CHAT_TOKEN is not set",
            next=request.workspace.call("session start --as NAME"),
            where=request.workspace.where(),
        )
    return session
