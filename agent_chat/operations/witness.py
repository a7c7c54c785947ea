"""Whether messages come from the sessions that they name.

That tells of mistakes, not of forgery: whoever can write the files can copy another message's connection, and that is
not detected.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import session as session_record
from agent_chat.storage.session_store import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.session import Session
    from agent_chat.storage.message_store import Stored
    from agent_chat.storage.workspace import Workspace


class Witness:
    """Tells whether messages come from the sessions that they name.

    What cannot be looked at verifies nothing; `faults` say why.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._store = SessionStore(workspace)
        self._sessions: dict[str, list[Session]] = {}
        self.faults: list[str] = []

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
        try:
            ids = self._store.ids(connection=connection)
        except OSError as error:
            self.faults.append(str(error))
            return []
        return self._store.readable(ids, self.faults)
