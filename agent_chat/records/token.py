"""The token by which a session proves itself: `<id>.<secret>`, the secret 32 random bytes in hexadecimal digits.

The secret is stored nowhere: the session's record has its SHA-256, and the beginning of the SHA-256 of the first
session's secret is what tells a connection.
"""

from __future__ import annotations

from agent_chat.records.digest import sha256_of
from agent_chat.records.session import CONNECTION_DIGITS, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.session import Session

SECRET_BYTES = 32


def render(session: Session, secret: bytes) -> str:
    """Returns the token of a session."""
    return f"{session.id}.{secret.hex()}"


def parse(text: str) -> tuple[str, bytes] | None:
    """Returns the id and the secret that a token holds, None where it is none."""
    session, _, digits = text.partition(".")
    if not is_id(session) or len(digits) != 2 * SECRET_BYTES or digits.strip("0123456789abcdef"):
        return None
    return session, bytes.fromhex(digits)


def has_secret(session: Session, secret: bytes) -> bool:
    """Tells whether a secret is that of a session."""
    return sha256_of(secret) == session.secret_sha256


def connection_of(secret: bytes) -> str:
    """Returns the connection of the session that has a secret and was started under no other."""
    return sha256_of(secret)[:CONNECTION_DIGITS]
