"""What the doctor checks about sessions: their records, and what else lies beside them."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.findings import Finding, mode_findings, unreadable
from agent_chat.records import session as session_record
from agent_chat.storage import layout, publication
from agent_chat.storage.filesystem import is_folder
from agent_chat.storage.session_store import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.storage.workspace import Workspace


def check(workspace: Workspace) -> Iterator[Finding]:
    """Yields what is wrong with the sessions of a root; a root without sessions has nothing wrong."""
    files, store = workspace.files, SessionStore(workspace)
    if not publication.exists(files, store.folder):
        return
    if not is_folder(files.status(store.folder)):
        yield Finding(
            id="channel.folders",
            path=store.folder,
            message="it is no real folder",
            remedy="move it away; session start makes it anew",
        )
        return
    try:
        listed = files.list_folder(store.folder)
        yield from mode_findings(files, store.folder)
        yield from _check_leftovers(workspace, store)
    except OSError as error:
        yield unreadable(store.folder, error, id="session.valid")
        return
    for name in sorted(listed):
        path = layout.join(store.folder, name)
        session_id = session_record.id_in(name)
        if session_id is not None:
            yield from _check_record(store, session_id)
        elif not name.startswith(layout.TEMPORARY_PREFIX):
            yield Finding(
                id="file.foreign",
                path=path,
                message="it is no session's record",
                remedy="move it away; nothing reads it",
            )


def _check_leftovers(workspace: Workspace, store: SessionStore) -> Iterator[Finding]:
    for path in store.leftovers():
        yield Finding(
            id="temporary.stale",
            path=path,
            message="its writer died more than an hour ago",
            remedy=workspace.call("doctor --fix") + " removes it",
        )


def _check_record(store: SessionStore, session_id: str) -> Iterator[Finding]:
    path = store.path(session_id)
    try:
        store.load(session_id)
        yield from mode_findings(store.files, path)
    except ChatError as error:
        yield Finding(
            id="session.valid",
            path=path,
            message=error.message.removeprefix(f"{path}: "),
            remedy="restore it, or move it away: its token is refused then, and what it posted stays unverified",
        )
    except OSError as error:
        yield unreadable(path, error, id="session.valid")
