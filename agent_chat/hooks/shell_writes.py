"""Which paths a shell command plainly writes to: redirections, and the arguments of commands that change files.

A shell cannot be judged from outside. What is found here is worth a note and never a refusal; what is not found may be
written to all the same.
"""

from __future__ import annotations

from agent_chat.hooks.shell_words import END, READS, WRITES, Folders, joined, tokens
from agent_chat.records.value import Value

_CHANGING = frozenset(
    "tee mv rm cp rmdir truncate install ln touch patch dd shred set-content add-content out-file remove-item"
    " move-item copy-item new-item clear-content".split()
)
_GIT_CHANGING = frozenset("checkout restore stash reset clean apply am merge rebase pull revert switch rm mv".split())
_IN_PLACE = frozenset("sed perl ruby".split())
_BEFORE = frozenset("sudo env time nice nohup command exec xargs then do else !".split())
MAX_COMMAND = 20_000
MAX_PATHS = 50


class Writes(Value):
    """The paths that a command writes to; `tree` tells that it may change the whole work tree (`git stash`)."""

    paths: tuple[str, ...] = ()
    tree: bool = False


def writes_of(command: str) -> Writes:
    """Returns what a command plainly writes to."""
    paths: list[str] = []
    tree = False
    words: list[str] = []
    folders = Folders()
    for kind, text in (*tokens(command[:MAX_COMMAND]), (END, "")):
        if kind == WRITES:
            paths.append(folders.below(text))
        elif kind == END:
            found, whole = _of_simple(words)
            paths += map(folders.below, found)
            tree = tree or whole
            folders.follow(words, text)
            words = []
        elif kind != READS:
            words.append(text)
    written = [path for path in dict.fromkeys(paths) if path and not path.startswith("/dev/")]
    return Writes(paths=tuple(written[:MAX_PATHS]), tree=tree)


def _of_simple(words: list[str]) -> tuple[list[str], bool]:
    """Returns what the words of one simple command say that it writes to."""
    at = 0
    while at < len(words) and (words[at] in _BEFORE or "=" in words[at].partition("/")[0]):
        at += 1
    if at == len(words):
        return [], False
    name = words[at].rpartition("/")[2].lower()
    rest = words[at + 1 :]
    arguments = [word for word in rest if not word.startswith("-")]
    if name == "git":
        there = rest[1] if rest[:1] == ["-C"] and len(rest) > 1 else ""
        arguments = arguments[1:] if there else arguments
        changes = bool(arguments) and arguments[0] in _GIT_CHANGING
        named = [joined(there, word) for word in arguments[1:]]
        return (named, not named) if changes else ([], False)
    if name == "dd":
        return [word[3:] for word in arguments if word.startswith("of=")], False
    in_place = name in _IN_PLACE and any(word.startswith("-i") or word == "--in-place" for word in rest)
    return (arguments, False) if name in _CHANGING or in_place else ([], False)
