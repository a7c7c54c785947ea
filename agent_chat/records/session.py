"""A session: one run of an agent, which proves itself by a token (`records/token.py`).

Sessions that are started under another's token share its connection. An id is the connection and a number, so that
whoever knows a connection finds its sessions by their file names.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import json_codec
from agent_chat.records.channel_meta import LEVELS
from agent_chat.records.record_fields import (
    IDENTITY,
    INVALID,
    SCHEMA_VERSION,
    RecordError,
    RecordFields,
    instant_text,
)
from agent_chat.records.value import Value

END = ".json"
CONNECTION_DIGITS = 16
NUMBER_DIGITS = 9
MAX_HARNESS_CHARACTERS = 100
_HEXADECIMAL = frozenset("0123456789abcdef")
_REQUIRED = (
    "id",
    "name",
    "agent",
    "channel",
    "harness",
    "user",
    "taint",
    "created",
    "connection",
    "secret_sha256",
    "parent",
    "ended",
)


class Session(Value):
    """One session; times are POSIX seconds. `channel`, `harness`, `parent` and `ended` are None where there is none.

    `name` was chosen by the agent and proves nothing, `user` is the user of the operating system that started it.
    """

    id: str
    name: str
    agent: str
    user: str
    created: float
    connection: str
    secret_sha256: str
    taint: str = LEVELS[0]
    channel: str | None = None
    harness: str | None = None
    parent: str | None = None
    ended: float | None = None


def is_connection(text: str) -> bool:
    """Tells whether a text can be a connection."""
    return len(text) == CONNECTION_DIGITS and _HEXADECIMAL.issuperset(text)


def is_id(text: str) -> bool:
    """Tells whether a text can be the id of a session: a connection and a number."""
    connection, dash, number = text.partition("-")
    plain = number.isascii() and number.isdigit() and not number.startswith("0") and len(number) <= NUMBER_DIGITS
    return bool(dash) and is_connection(connection) and plain


def connection_in(session_id: str) -> str:
    """Returns the connection of the session that has an id."""
    return session_id.partition("-")[0]


def file_name(session_id: str) -> str:
    """Returns the file name of a session."""
    return session_id + END


def id_in(name: str) -> str | None:
    """Returns the id of the session whose record has a file name, None for any other name."""
    session_id = name[: -len(END)]
    return session_id if name.endswith(END) and is_id(session_id) else None


def parse(data: bytes, *, session_id: str) -> Session:
    """Returns the session that the bytes of `<session_id>.json` hold; fails with RecordError."""
    fields = RecordFields(data, "the session", required=_REQUIRED, added=())
    if not fields.is_ours:
        raise RecordError(INVALID, "it has no schema_version")
    if fields.text("id") != session_id or not is_id(session_id):
        raise RecordError(IDENTITY, f"it has the id {names.quoted(fields.text('id'))}")
    connection, digest, taint = fields.text("connection"), fields.text("secret_sha256"), fields.text("taint")
    if connection != connection_in(session_id):
        raise RecordError(IDENTITY, f"it has the connection {names.quoted(connection)}")
    if len(digest) != 64 or not _HEXADECIMAL.issuperset(digest):
        raise RecordError(INVALID, "secret_sha256 is no SHA-256")
    if taint not in LEVELS:
        raise RecordError(INVALID, f"its taint {names.quoted(taint)} is no level")
    return Session(
        id=session_id,
        name=fields.agent("name"),
        agent=fields.agent("agent"),
        user=fields.text("user"),
        created=fields.instant("created"),
        connection=connection,
        secret_sha256=digest,
        taint=taint,
        channel=fields.optional_agent("channel"),
        harness=fields.optional_text("harness"),
        parent=fields.optional_text("parent"),
        ended=fields.optional_instant("ended"),
    )


def render(session: Session) -> bytes:
    """Returns the canonical bytes of a session's record."""
    return json_codec.canonical(
        {
            "schema_version": SCHEMA_VERSION,
            **to_json(session),
            "secret_sha256": session.secret_sha256,
        }
    )


def to_json(session: Session) -> dict[str, object]:
    """Returns what may be shown of a session: everything but the hash of its secret."""
    return {
        "id": session.id,
        "name": session.name,
        "agent": session.agent,
        "channel": session.channel,
        "harness": session.harness,
        "user": session.user,
        "taint": session.taint,
        "created": instant_text(session.created),
        "connection": session.connection,
        "parent": session.parent,
        "ended": instant_text(session.ended),
    }
