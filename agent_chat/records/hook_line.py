"""The line by which a host calls a hook of ours: how it is written, and how one of ours is known again.

A line is for `sh -c`. It never changes from one release to the next, since a host may trust it by its hash: no version
stands in it, and whatever a hook learns to do is behind the same words. Every form that was ever written is known.
"""

from __future__ import annotations

from agent_chat.records.value import Value

EVENTS = ("session-start", "prompt", "pre-tool-use", "post-tool-batch", "stop", "wait")
WAIT = "wait"
NAME = "agent-chat"
SCRIPT = "chat.py"
OWN_ROOT = ".agent-chat"

_PYTHONS = ("python3", "python", "py")
_FLAGS = ("-3", "-I", "-S", "-P")
_NEVER_FAILS = ["||", "exit", "0"]
_IF_THERE = ["test", "!", "-f"]
# What a shell obeys between double quotes. `$` is left to single quotes: some hosts put variables in its place first.
_QUOTED = {'"': '\\"', "\\": "\\\\", "`": "\\`", "$": "\"'$'\""}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./!|")


class Program(Value):
    """How a hook starts this program.

    By its name where that is found on PATH for good, else by the path of its `executable`, else by the `script` that an
    interpreter runs.
    """

    executable: str = ""
    script: str = ""
    python: str = "python3"


def line(program: Program, event: str, host: str, root: str = "") -> str:
    """Returns the line that calls a hook; with a root the one that it is to look at.

    Python ends with status 2 where its script is gone, which hosts take for "block": so such a line ends with 0.
    The waiter's 2 is meant, so it looks for the script first.
    """
    words = [*(["--root", quoted(root)] if root else []), "hook", event, "--host", host]
    if not program.script:
        return " ".join([quoted(program.executable) if program.executable else NAME, *words])
    script = quoted(program.script)
    call = " ".join([program.python, "-I", "-S", script, *words])
    if event == WAIT:
        return f"test ! -f {script} || exec {call}"
    return f"{call} || exit 0"


def quoted(path: str) -> str:
    """Returns a path in double quotes, for a shell."""
    return '"' + "".join([_QUOTED.get(sign, sign) for sign in path]) + '"'


def event_of(text: object, host: str) -> str:
    """Returns the event of a line that was written here for that host, empty for every other text."""
    words = words_of(text) if isinstance(text, str) else []
    if words[:3] == _IF_THERE and words[4:6] == ["||", "exec"]:
        words = words[6:]
    if words[-3:] == _NEVER_FAILS:
        words = words[:-3]
    words = _arguments(words)
    if words[:1] == ["--root"]:
        words = words[2:]
    is_ours = len(words) == 4 and words[0] == "hook" and words[1] in EVENTS and words[2:] == ["--host", host]
    return words[1] if is_ours else ""


def _arguments(words: list[str]) -> list[str]:
    """Returns what follows the program in the words of a call; none where it is another program."""
    if not words:
        return []
    name = _name(words[0])
    if name in (NAME, f"{NAME}.exe"):
        return words[1:]
    if name.removesuffix(".exe") not in _PYTHONS:
        return []
    rest = words[1:]
    while rest and rest[0] in _FLAGS:
        rest = rest[1:]
    return rest[1:] if rest and _name(rest[0]) == SCRIPT else []


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def words_of(text: str) -> list[str]:
    """Returns the words of a simple line of a shell; none where it does more than call a program with words."""
    words: list[str] = []
    at, size = 0, len(text)
    while at < size:
        if text[at] == " ":
            at += 1
            continue
        parts: list[str] = []
        while at < size and text[at] != " ":
            part, at = _part(text, at)
            if at < 0:
                return []
            parts.append(part)
        words.append("".join(parts))
    return words


def _part(text: str, at: int) -> tuple[str, int]:
    """Returns a piece of a word and where it ends: plain, or in quotes; -1 where it is anything else."""
    if text[at] in _PLAIN:
        return text[at], at + 1
    if text[at] == "'":
        end = text.find("'", at + 1)
        return text[at + 1 : end], end + 1 or -1
    signs: list[str] = []
    if text[at] == '"':
        at += 1
        while at < len(text) and text[at] not in '"`$':
            at += text[at] == "\\" and text[at + 1 : at + 2] in tuple(_QUOTED)
            signs.append(text[at])
            at += 1
        if text[at : at + 1] == '"':
            return "".join(signs), at + 1
    return "", -1
