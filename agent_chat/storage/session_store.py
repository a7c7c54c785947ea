"""The sessions of a root as files, one each: `_sessions/<id>.json`."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.records import session as session_record
from agent_chat.records.record_fields import MAX_BYTES, RecordError
from agent_chat.records.session import END, Session
from agent_chat.storage import layout, publication
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.root_lock import RootLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_chat.storage.workspace import Workspace

HIGHEST_GIVEN = 10**8


class SessionStore:
    """The sessions of one root."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.files = workspace.files
        self.folder = layout.sessions_folder(workspace.root)

    def path(self, session_id: str) -> str:
        """Returns the path of a session's record."""
        return layout.join(self.folder, session_record.file_name(session_id))

    def ids(self, *, connection: str = "") -> list[str]:
        """Returns the ids of all sessions, or of those of a connection, in order."""
        listed = self.files.list_if_there(self.folder)
        start = connection and f"{connection}-"
        found = [name[: -len(END)] for name in listed if name.endswith(END) and name.startswith(start)]
        return sorted(found, key=lambda each: (len(each), each))

    def load(self, session_id: str) -> Session | None:
        """Returns a session, None where there is none of that id; SESSION_INVALID_RECORD for a damaged record."""
        if not session_record.is_id(session_id):
            return None
        path = self.path(session_id)
        try:
            return session_record.parse(self.files.read_file(path, MAX_BYTES), session_id=session_id)
        except FileNotFoundError:
            return None
        except (RecordError, NotOrdinaryError) as error:
            raise ChatError(
                "SESSION_INVALID_RECORD",
                f"{path}: {getattr(error, 'strerror', None) or error}",
                next=self._workspace.call("doctor"),
                where=self._workspace.where(),
                path=path,
            ) from None

    def readable(self, ids: list[str], faults: list[str]) -> list[Session]:
        """Returns the sessions of these ids; why one cannot be read goes to `faults`, and hides no other."""
        found: list[Session] = []
        for session_id in ids:
            try:
                session = self.load(session_id)
            except (ChatError, OSError) as error:
                faults.append(str(error))
                continue
            if session is not None:
                found.append(session)
        return found

    def locked(self) -> RootLock:
        """Returns the lock under which sessions are made and changed: the root's."""
        return RootLock(self._workspace)

    def make_folder(self) -> str:
        """Makes the folder of the sessions, durably, where it is missing; returns it."""
        files = self.files
        if not publication.exists(files, self.folder):
            files.make_folder(self.folder)
            files.sync_folder(self._workspace.root)
        return self.folder

    def publish(self, connection: str, made: Callable[[str], Session]) -> Session:
        """Publishes the session that `made` makes of the next free id of a connection, durably; under the lock."""
        for path in self.leftovers():
            self.files.remove(path)
        taken = self.ids(connection=connection)
        # The highest numbers are nobody's: a file that was put there by hand leaves numbers for others.
        numbers = [int(each.partition("-")[2]) for each in taken if session_record.is_id(each)]
        number = max((each for each in numbers if each < HIGHEST_GIVEN), default=0) + 1
        while f"{connection}-{number}" in taken:
            number += 1
        session = made(f"{connection}-{number}")
        publication.name_new(self.files, self._written(session), self.path(session.id))
        return session

    def replace(self, session: Session) -> None:
        """Replaces the record of a session, durably; under the lock."""
        files = self.files
        publication.replace(files, self._written(session), self.path(session.id))
        files.sync_folder(self.folder)

    def leftovers(self) -> list[str]:
        """Returns the temporaries of writers that died."""
        return publication.stale_in(self._workspace, self.folder)

    def _written(self, session: Session) -> str:
        path = layout.temporary_in(self.folder, self._workspace.ids.fresh())
        self.files.write_new(path, session_record.render(session))
        return path
