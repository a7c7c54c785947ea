"""Whether messages come from the sessions that they name.

That tells of mistakes, not of forgery: whoever can write the files can copy another message's connection, and that is
not detected.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.records import session as session_record
from agent_chat.storage.session_store import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.session import Session
    from agent_chat.storage.message_store import Stored
    from agent_chat.storage.workspace import Workspace


class Witness:
    """Tells whether messages come from the sessions that they name; what cannot be looked at is not verified."""

    def __init__(self, workspace: Workspace) -> None:
        self._store = SessionStore(workspace)
        self._sessions: dict[str, list[Session]] = {}

    def checked(self, stored: Stored) -> Stored:
        """Returns a message with what is to be said of its session: nothing where it names none."""
        message = stored.message
        if not message.session and not message.connection:
            return stored
        return stored.replace(unverified=not self.verifies(message.sender, message.session, message.connection))

    def verifies(self, sender: str, session: str, connection: str) -> bool:
        """Tells whether a sender has, or had, a session of that name over that connection."""
        return any(names.same(each.name, session) and names.same(each.agent, sender) for each in self._over(connection))

    def _over(self, connection: str) -> list[Session]:
        """Returns the sessions over a connection."""
        if connection not in self._sessions:
            self._sessions[connection] = self._load(connection) if session_record.is_connection(connection) else []
        return self._sessions[connection]

    def _load(self, connection: str) -> list[Session]:
        found: list[Session] = []
        try:
            for session_id in self._store.ids(connection=connection):
                session = self._store.load(session_id)
                if session is not None and session.connection == connection:
                    found.append(session)
        except (OSError, ChatError):
            return found
        return found
