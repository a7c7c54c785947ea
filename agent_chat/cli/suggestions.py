"""What a mistyped command, option or name was most likely meant as, and where to read on."""

from __future__ import annotations

from agent_chat.cli.command import PROGRAM
from agent_chat.errors import ChatError
from agent_chat.names import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_chat.cli.command import Command

GROUP_CODES = {"task": "TASK_INVALID_COMMAND"}
"""Groups whose unknown sub-commands have a code of their own."""


def near(word: str, candidates: Iterable[str]) -> str | None:
    """Returns the candidate that a mistyped word most likely meant, None if there is none."""
    from difflib import get_close_matches

    typed = word[:64].lower().lstrip("-")
    if not typed:
        return None
    known = {each.lower().lstrip("-"): each for each in sorted(set(candidates), reverse=True)}
    letters = sorted(known, key=lambda each: (len(each), each))
    begun = [each for each in letters if each.startswith(typed)]
    swapped = [each for each in letters if sorted(each) == sorted(typed)]
    found = begun or swapped or get_close_matches(typed, letters, 1)
    return known[found[0]] if found else None


def unknown_command(path: tuple[str, ...], word: str, commands: Iterable[Command]) -> ChatError:
    """Makes the error for a word that continues no command: `path` is the part before it that does."""
    depth = len(path)
    known = {row.path[depth] for row in commands if row.path[:depth] == path and len(row.path) > depth}
    suggestion = near(word, known)
    message = f"unknown command {quoted(' '.join((*path, word)))}"
    if suggestion:
        message += f"; did you mean {' '.join((*path, suggestion))}?"
    code = GROUP_CODES.get(path[0], "USAGE") if path else "USAGE"
    return ChatError(code, message, next=help_line((*path, suggestion) if suggestion else path))


def help_line(path: tuple[str, ...]) -> str:
    """Returns the command that explains a command."""
    return " ".join((PROGRAM, *path, "--help"))
