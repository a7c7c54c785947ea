"""Which paths a shell command plainly writes to: redirections, and the arguments of commands that change files.

A shell cannot be judged from outside. What is found here is worth a note and never a refusal; what is not found may be
written to all the same.
"""

from __future__ import annotations

from agent_chat.records.value import Value

_CHANGING = frozenset(
    "tee mv rm cp rmdir truncate install ln touch patch dd shred set-content add-content out-file remove-item"
    " move-item copy-item new-item clear-content".split()
)
_GIT_CHANGING = frozenset("checkout restore stash reset clean apply am merge rebase pull revert switch rm mv".split())
_BEFORE = frozenset("sudo env time nice nohup command exec xargs then do else !".split())
_ENDS = frozenset((";", "&&", "||", "|", "&", "\n", "(", ")", "{", "}"))
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
    for token in [*_tokens(command[:MAX_COMMAND]), ";"]:
        if token in _ENDS:
            found, all_of_it = _of_simple(words)
            paths += found
            tree = tree or all_of_it
            words = []
        else:
            words.append(token)
    return Writes(paths=tuple(dict.fromkeys(paths))[:MAX_PATHS], tree=tree)


def _of_simple(words: list[str]) -> tuple[list[str], bool]:
    """Returns what one simple command writes to."""
    paths: list[str] = []
    rest: list[str] = []
    expects = False
    for word in words:
        if expects:
            paths.append(word)
            expects = False
        elif word.lstrip("0123456789&").startswith(">"):
            target = word.lstrip("0123456789&").lstrip(">|")
            if not target:
                expects = True
            elif not target.startswith("&"):
                paths.append(target)
        else:
            rest.append(word)
    while rest and (rest[0] in _BEFORE or "=" in rest[0].partition("/")[0]):
        rest = rest[1:]
    paths = [path for path in paths if not path.startswith("/dev/")]
    if not rest:
        return paths, False
    name = rest[0].rpartition("/")[2].lower()
    arguments = [word for word in rest[1:] if not word.startswith("-")]
    if name == "git":
        return paths + (arguments[1:] if arguments[:1] and arguments[0] in _GIT_CHANGING else []), bool(
            arguments[:1] and arguments[0] in _GIT_CHANGING and not arguments[1:]
        )
    in_place = name in ("sed", "perl", "ruby") and any(word.startswith("-i") or word == "--in-place" for word in rest)
    if name in _CHANGING or in_place:
        return paths + [word[3:] if name == "dd" and word.startswith("of=") else word for word in arguments], False
    return paths, False


def _tokens(command: str) -> list[str]:
    """Splits a command into words and the signs between commands; quotes and backslashes are taken off."""
    tokens: list[str] = []
    word: list[str] = []
    quote = ""
    started = False
    signs = iter(range(len(command)))
    for at in signs:
        sign = command[at]
        if quote:
            if sign == quote:
                quote = ""
            else:
                word.append(sign)
        elif sign in "'\"":
            quote, started = sign, True
        elif sign == "\\" and at + 1 < len(command):
            word.append(command[at + 1])
            next(signs)
        elif sign in " \t":
            _end(tokens, word, started=started)
            started = False
        elif sign in ";|&\n(){}" and not (sign in "|&" and word and word[-1] in "><"):
            _end(tokens, word, started=started)
            started = False
            tokens.append(sign)
        elif sign == ">" and word and not all(each in "0123456789&>" for each in word):
            _end(tokens, word, started=started)
            started = False
            word.append(sign)
        else:
            word.append(sign)
    _end(tokens, word, started=started)
    return tokens


def _end(tokens: list[str], word: list[str], *, started: bool) -> None:
    if word or started:
        tokens.append("".join(word))
    word.clear()
