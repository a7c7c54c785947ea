"""Sessions whose tokens are known beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_chat.records import session as session_record
from agent_chat.records import token
from agent_chat.records.digest import sha256_of
from agent_chat.records.session import Session
from tests.support.cli import START, plant

if TYPE_CHECKING:
    from pathlib import Path


def secret_of(number: int) -> bytes:
    """A secret of the right size."""
    return bytes([number]) * token.SECRET_BYTES


def session(number: int = 1, agent: str = "bob", **fields: Any) -> Session:
    """The session that has the secret of that number, over a connection of its own."""
    secret = secret_of(number)
    connection = token.connection_of(secret)
    own = {
        "id": f"{connection}-1",
        "name": f"{agent}-{connection[:4]}",
        "agent": agent,
        "user": "root",
        "created": START,
        "connection": connection,
        "secret_sha256": sha256_of(secret),
    }
    return Session(**{**own, **fields})


def plant_session(root: Path, number: int = 1, agent: str = "bob", **fields: Any) -> str:
    """Puts that session into a root and returns its token."""
    made = session(number, agent, **fields)
    plant(root / "_sessions" / session_record.file_name(made.id), session_record.render(made))
    return token.render(made, secret_of(number))
