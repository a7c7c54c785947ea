"""A shell command taken apart: words, redirections, and the signs between commands (POSIX Shell Command Language, 2.2).

Enough to tell what a command plainly writes to; variables, substitutions and here-documents are left as they stand.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Token = tuple[str, str]

WORD, END, WRITES, READS = "word", "end", "writes", "reads"
_ENDS = ";|&\n(){}"
_BLANK = " \t\r"


def tokens(command: str) -> Iterator[Token]:
    """Yields the tokens of a command as kind and text.

    Kinds are WORD, END (a sign between commands), and WRITES and READS, whose text is the word after `>` or `<`.
    """
    at = 0
    size = len(command)
    direction = WORD
    while at < size:
        sign = command[at]
        if sign in _BLANK:
            at += 1
        elif sign in "<>":
            direction, at = _redirection(command, at)
        elif sign == "&" and command[at + 1 : at + 2] == ">":
            at += 1  # both streams go where `>` says
        elif sign in _ENDS:
            direction = WORD
            yield END, sign
            at += 1
        else:
            word, at, is_plain = _word(command, at)
            if is_plain and word.isdigit() and command[at : at + 1] in ("<", ">"):
                continue  # the number of a stream
            yield direction, word
            direction = WORD


def _redirection(command: str, at: int) -> tuple[str, int]:
    """Returns what a redirection makes of the next word, and where that begins."""
    kind = WRITES if command[at] == ">" else READS
    size = len(command)
    while at < size and command[at] in "<>|":
        kind = WRITES if command[at] == ">" else kind
        at += 1
    if command[at : at + 1] == "&":
        # `>&2` and `>&-` name a stream, `>& file` a file.
        at += 1
        start = at
        while at < size and (command[at].isdigit() or command[at] == "-"):
            at += 1
        if at > start:
            return WORD, at
    return kind, at


def _word(command: str, at: int) -> tuple[str, int, bool]:
    """Returns a word without its quotes and backslashes, where it ends, and whether it had none."""
    parts: list[str] = []
    start = at
    size = len(command)
    quote = ""
    while at < size:
        sign = command[at]
        if quote:
            if sign == quote:
                quote = ""
            elif sign == "\\" and quote == '"' and command[at + 1 : at + 2] in ('"', "\\", "$", "`"):
                at += 1
                parts.append(command[at])
            else:
                parts.append(sign)
        elif sign in "'\"":
            quote = sign
        elif sign == "\\" and at + 1 < size:
            at += 1
            parts.append(command[at])
        elif sign in _BLANK or sign in _ENDS or sign in "<>":
            break
        else:
            parts.append(sign)
        at += 1
    word = "".join(parts)
    return word, at, len(word) == at - start


class Folders:
    """The folder that a shell is in, "" for the one that it began in, through `cd` and subshells."""

    def __init__(self) -> None:
        self._stack = [""]

    def follow(self, words: list[str], end: str) -> None:
        """Takes note of a simple command and of the sign that ends it."""
        if words[:1] == ["cd"] and len(words) > 1:
            self._stack[-1] = self.below(words[-1])
        if end == "(":
            self._stack.append(self._stack[-1])
        elif end == ")" and len(self._stack) > 1:
            self._stack.pop()

    def below(self, path: str) -> str:
        """Returns a path from the folder that the shell began in."""
        return joined(self._stack[-1], path)


def joined(folder: str, path: str) -> str:
    """Returns a path below a folder, unless it is absolute or the folder is ""."""
    return path if not folder or is_absolute(path) else f"{folder}/{path}"


def is_absolute(path: str) -> bool:
    """Tells whether a path, or a file URI, is absolute on any system: who sent it may not say on which it is."""
    return path.startswith(("/", "\\", "file:")) or path[1:3] in (":\\", ":/")
