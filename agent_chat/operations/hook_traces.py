"""The traces that hosts leave: when one last called a hook at the start of a session, as whom, by which version.

They lie among what hooks remember, a file for each host. Nobody depends on them: one that cannot be written is passed
over with a note, one that cannot be read is told as such. The doctor shows them, since a host that runs no hooks says
nothing about it.
"""

from __future__ import annotations

from agent_chat import __version__, names, timestamps
from agent_chat.errors import ChatError
from agent_chat.records import json_codec
from agent_chat.records.value import Value
from agent_chat.storage import layout, publication
from agent_chat.storage.channel_folders import names_like_channels
from agent_chat.storage.filesystem import is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from agent_chat.storage.workspace import Workspace

END = ".ran"
VERSION = 1
MAX_BYTES = 1 << 12
RENEWED_SECONDS = 60.0


class Trace(Value):
    """When a host last called a hook (ISO 8601 in UTC), for which agent, "" for none, and the program's version.

    `fault` says why that is not known although there is a trace.
    """

    host: str
    at: str = ""
    agent: str = ""
    version: str = ""
    fault: str = ""


def leave(workspace: Workspace, host: str, agent: str, only: Container[str] | None = None) -> list[str]:
    """Notes that a host called now, at most once a minute; returns what failed, a line each.

    Nothing is noted where there is no root, or neither an agent nor a channel (of `only`, if that is given).
    """
    files = workspace.files
    path = _path(workspace, host)
    try:
        if not agent and not names_like_channels(workspace, only):
            return []
        if _is_recent(workspace, path) or not publication.exists(files, workspace.root):
            return []
        folder = layout.hooks_folder(workspace.root)
        files.make_folder(folder)
        fields = {
            "schema_version": VERSION,
            "host": host,
            "at": workspace.clock.timestamp(),
            "agent": agent,
            "version": __version__,
        }
        temporary = layout.temporary_in(folder, workspace.ids.fresh())
        # Not synced: nothing is lost with it.
        files.write_new(temporary, (json_codec.encode(fields, indent=2) + "\n").encode("utf-8"), sync=False)
        publication.replace(files, temporary, path)
    except (OSError, ChatError) as error:
        return [f"hooks cannot note that they ran: {error}"]
    return []


def last(workspace: Workspace, host: str) -> Trace | None:
    """Returns the trace of a host, None where it left none."""
    try:
        data = workspace.files.read_file(_path(workspace, host), MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ChatError) as error:
        return Trace(host=host, fault=f"its trace cannot be read: {error}")
    try:
        fields = json_codec.object_of(json_codec.decode(data))
        if fields.get("schema_version") != VERSION or fields.get("host") != host:
            raise json_codec.JsonError("another host's, or another version's")
        at = timestamps.format_utc(timestamps.parse(str(fields["at"])))
        agent = str(fields["agent"])
        if agent and names.fault_of_name(agent) is not None:
            raise json_codec.JsonError("its agent is no name")
        return Trace(host=host, at=at, agent=agent, version=str(fields["version"]))
    except (KeyError, ValueError) as error:
        return Trace(host=host, fault=f"its trace is damaged: {error}")


def _path(workspace: Workspace, host: str) -> str:
    return layout.join(layout.hooks_folder(workspace.root), host + END)


def _is_recent(workspace: Workspace, path: str) -> bool:
    """Tells whether a trace was left within the last minute; one from the future is none."""
    try:
        status = workspace.files.status(path)
    except FileNotFoundError:
        return False
    return is_file(status) and 0 <= workspace.clock.now() - status.st_mtime < RENEWED_SECONDS
