"""Sessions: start one, end one, and find out whose token a caller holds."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.channels import write_git_files
from agent_chat.operations.participants import participant
from agent_chat.records import token as token_record
from agent_chat.records.channel_meta import LEVELS
from agent_chat.records.digest import sha256_of
from agent_chat.records.session import MAX_HARNESS_CHARACTERS, Session, connection_in
from agent_chat.records.value import Value
from agent_chat.storage.session_store import SessionStore
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.workspace import Workspace


class Wanted(Value):
    """The session that is asked for; None is what was not named. `under` is the session of the caller's token."""

    agent: str
    name: str | None = None
    harness: str | None = None
    under: Session | None = None


class Started(Value):
    """A new session and its token, which is told this once.

    `namesakes` are the other sessions of its name, as far as there are no `faults`: why some could not be looked at.
    """

    session: Session
    token: str
    namesakes: tuple[Session, ...] = ()
    faults: tuple[str, ...] = ()


def start(workspace: Workspace, wanted: Wanted, channel: Channel | None = None) -> Started:
    """Makes a session, in `channel` if it is to have one; fails with AGENT_…, SESSION_INVALID or CHANNEL_BUSY.

    Under another session it shares that one's connection and inherits its taint.
    """
    agent = names.agent_name(wanted.agent)
    if channel is not None:
        agent = participant(channel, agent)
    _require_fitting(wanted)
    store = SessionStore(workspace)
    workspace.files.make_root()
    workspace.require_root()
    with store.locked():
        write_git_files(workspace, store.make_folder())
        # Its taint may have risen since it was looked at.
        under = (store.load(wanted.under.id) or wanted.under) if wanted.under is not None else None
        secret = _new_secret(workspace, store, under)
        plan = wanted.replace(agent=agent, under=under)
        session = store.publish(
            under.connection if under is not None else token_record.connection_of(secret),
            lambda session_id: _planned(workspace, plan, channel, session_id, secret),
        )
    faults: list[str] = []
    others = _living_namesakes(store, session, faults) if wanted.name is not None else []
    return Started(
        session=session,
        token=token_record.render(session, secret),
        namesakes=tuple(others),
        faults=tuple(faults),
    )


def _new_secret(workspace: Workspace, store: SessionStore, under: Session | None) -> bytes:
    """Returns a secret; that of a new connection is one whose connection nobody has."""
    secret = workspace.ids.secret(token_record.SECRET_BYTES)
    while under is None and store.ids(connection=token_record.connection_of(secret)):
        secret = workspace.ids.secret(token_record.SECRET_BYTES)
    return secret


def _planned(workspace: Workspace, wanted: Wanted, channel: Channel | None, session_id: str, secret: bytes) -> Session:
    under = wanted.under
    return Session(
        id=session_id,
        name=names.normal_form(wanted.name) if wanted.name is not None else default_name(wanted.agent, session_id),
        agent=wanted.agent,
        user=workspace.account,
        created=workspace.clock.now(),
        connection=connection_in(session_id),
        secret_sha256=sha256_of(secret),
        taint=under.taint if under is not None else LEVELS[0],
        channel=channel.name if channel is not None else None,
        harness=wanted.harness,
        parent=under.id if under is not None else None,
    )


def default_name(agent: str, session_id: str) -> str:
    """Returns the name of a session that was given none: the agent's, and a beginning and the end of the id."""
    connection, _, number = session_id.rpartition("-")
    name = f"{agent}-{connection[:4]}" + (f"-{number}" if number != "1" else "")
    return name if names.fault_of_name(name) is None else session_id


def _require_fitting(wanted: Wanted) -> None:
    """Refuses a name or a harness that no record could hold."""
    if wanted.name is not None:
        fault = names.fault_of_name(names.normal_form(wanted.name))
        if fault is not None:
            raise ChatError("SESSION_INVALID", f"{names.quoted(wanted.name)} is no name of a session: {fault}")
    if wanted.harness is not None:
        size = len(wanted.harness)
        if not wanted.harness.isprintable() or not 1 <= size <= MAX_HARNESS_CHARACTERS:
            raise ChatError(
                "SESSION_INVALID",
                f"the harness is one line of 1 to {MAX_HARNESS_CHARACTERS} characters",
            )


def _living_namesakes(store: SessionStore, session: Session, faults: list[str]) -> list[Session]:
    """Returns the other sessions of its name that have not ended; why one cannot be read goes to `faults`."""
    try:
        ids = store.ids()
    except OSError as error:
        # The session is there by now, so this is no failure to start it.
        faults.append(str(error))
        return []
    others = store.readable([each for each in ids if each != session.id], faults)
    return [each for each in others if each.ended is None and names.same(each.name, session.name)]


def of_token(workspace: Workspace, token: str, *, agent: str = "NAME", ended: bool = False) -> Session:
    """Returns the session that a token is of.

    Fails with SESSION_TOKEN_INVALID, SESSION_UNKNOWN, SESSION_INVALID_RECORD, and, unless `ended` ones count, with
    SESSION_ENDED. What is told never holds a part of the token. `agent` is who would start a new session.
    """
    parsed = token_record.parse(token)
    if parsed is None:
        raise _refusal(workspace, "SESSION_TOKEN_INVALID", "AGENT_CHAT_TOKEN is no token: <id>.<secret>", agent)
    session_id, secret = parsed
    session = SessionStore(workspace).load(session_id)
    if session is None or not token_record.has_secret(session, secret):
        workspace.require_root()
        message = f"AGENT_CHAT_TOKEN is of no session in {workspace.describe()}"
        raise _refusal(workspace, "SESSION_UNKNOWN", message, agent)
    if session.ended is not None and not ended:
        raise _refusal(workspace, "SESSION_ENDED", f"the session {session.name} has ended", session.agent)
    return session


def _refusal(workspace: Workspace, code: str, message: str, agent: str) -> ChatError:
    who = agent if names.fault_of_name(names.normal_form(agent)) is None else "NAME"
    return ChatError(code, message, next=workspace.call(f"session start --as {who}"), where=workspace.where())


def since(session: Session) -> str:
    """Returns when a session was started, as text."""
    return format_utc(session.created)


def end(workspace: Workspace, session: Session) -> Session:
    """Ends a session: its token is refused from now on."""
    store = SessionStore(workspace)
    with store.locked():
        # What others changed meanwhile stays: its taint, or that it has ended already.
        there = store.load(session.id) or session
        ended = there if there.ended is not None else there.replace(ended=workspace.clock.now())
        store.replace(ended)
    return ended


def find(workspace: Workspace, session_id: str) -> Session:
    """Returns a session by its id; fails with SESSION_NOT_FOUND or SESSION_INVALID_RECORD."""
    store = SessionStore(workspace)
    session = store.load(session_id)
    if session is None:
        raise ChatError(
            "SESSION_NOT_FOUND",
            f"no session {names.quoted(session_id)} in {workspace.describe()}",
            near=(session_id.partition(".")[0], tuple(store.ids())),
            where=workspace.where(),
        )
    return session
