"""Which root a call works on, and the words of its environment as the text that their bytes are."""

from __future__ import annotations

from agent_chat.storage.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_ROOT = "~/agent-chat"


def open_root(option: str | None, environment: Mapping[str, str]) -> Workspace:
    """Opens the root: --root, else $AGENT_CHAT_ROOT, else ~/agent-chat; an empty value counts as unset."""
    named = environment.get("AGENT_CHAT_ROOT")
    if option:
        root, root_from = option, "option"
    elif named:
        root, root_from = recoded(named), "variable"
    else:
        root, root_from = DEFAULT_ROOT, "default"
    return Workspace(expanded(root), root_from=root_from)


def expanded(path: str) -> str:
    """Returns a path with `~` or `~user` at its beginning replaced by that home folder."""
    if not path.startswith("~"):
        return path
    from os.path import expanduser

    end = min((path.find(sign) for sign in "/\\" if sign in path), default=len(path))
    return recoded(expanduser(path[:end])) + path[end:]


def recoded(text: str) -> str:
    """Returns a word of the command line or environment as the UTF-8 that its bytes are, whatever the locale says."""
    if text.isascii():
        return text
    from os import fsencode

    try:
        return fsencode(text).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text  # no operating system passes such a word on; whoever checks it refuses it
