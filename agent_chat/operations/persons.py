"""Persons: names in the humans of some channel, acting at a terminal and without a session's token.

With one OS user and plain files this is a seat-belt, not a wall: it keeps an agent from deciding by mistake what people
decide, and no more.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace


def require_person(workspace: Workspace, name: str, *, has_token: bool, elsewhere: str) -> str:
    """Returns a person's name as a channel spells it; fails with ACCESS_NOT_A_PERSON where it is none.

    `elsewhere` says which of the streams that a person looks at and types to is no terminal, "" where both are. Where a
    channel that might have the name cannot be read it fails with the code of that, which does not say "no person".
    """
    if has_token:
        raise _refusal(workspace, "AGENT_CHAT_TOKEN is set, and what acts under a session is no person")
    if elsewhere:
        raise _refusal(workspace, f"{elsewhere} is no terminal, so nobody can be asked")
    return _spelled(workspace, names.agent_name(name))


def _refusal(workspace: Workspace, message: str, call: str = "") -> ChatError:
    next_call = workspace.call(call) if call else None
    return ChatError("ACCESS_NOT_A_PERSON", message, next=next_call, where=workspace.where())


def _spelled(workspace: Workspace, name: str) -> str:
    """Returns a name as the first channel spells it that has it among its humans."""
    there = channel_names(workspace)
    failure: tuple[str, ChatError | OSError] | None = None
    for each in there:
        try:
            humans = Channel(workspace, each).read_meta().humans
        except (ChatError, OSError) as error:
            if isinstance(error, ChatError) and error.code == "CHANNEL_NOT_FOUND":
                continue  # it was deleted just now
            failure = failure or (each, error)
            continue
        spelled = names.spelling(humans, name)
        if spelled is not None:
            return spelled
    if failure is not None:
        raise _not_looked(workspace, name, *failure)
    call = f"join {there[0]} --as {name} --role human" if there else "init --help"
    message = f"{names.quoted(name)} is not in the humans of any channel of {workspace.describe()}"
    raise _refusal(workspace, message, call)


def _not_looked(workspace: Workspace, name: str, channel: str, error: ChatError | OSError) -> ChatError:
    """Returns the error of who could not look: the channel that cannot be read may be the one that has the name."""
    reason = error.message if isinstance(error, ChatError) else f"{channel}: {error.strerror or error}"
    return ChatError(
        error.code if isinstance(error, ChatError) else "IO_ERROR",
        f"whether {names.quoted(name)} is a person cannot be told: {reason}",
        next=workspace.call(f"doctor {channel}"),
        where=workspace.where(),
    )
