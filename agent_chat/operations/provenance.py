"""What a message is signed with: the user of the operating system, the session, and the connection it came over."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.message import Message
    from agent_chat.storage.workspace import Workspace


def signed(workspace: Workspace, message: Message) -> Message:
    """Returns a message as who acts here signs it."""
    session = workspace.session
    if session is None:
        return message.replace(account=workspace.account)
    return message.replace(account=workspace.account, session=session.name, connection=session.connection)
