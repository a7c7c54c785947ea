"""What a tool is about to touch, by its name and arguments: the paths that it edits, or the command that it runs.

Each host names its tools and their arguments in its own way (docs/hosts.md). A tool that only reads touches nothing.
"""

from __future__ import annotations

from agent_chat.hooks.shell_words import END, Folders, is_absolute, tokens
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 4
PATCH_START = "*** Begin Patch"
PATCH_END = "*** End Patch"
_PATCH_PATHS = ("*** Update File:", "*** Add File:", "*** Delete File:", "*** Move to:")
_PATCHING = ("apply_patch", "applypatch", "apply-patch")
_SHELLS = frozenset(
    "bash shell powershell pwsh cmd sh zsh exec exec_command local_shell run_shell_command run_terminal_cmd"
    " run_in_terminal run_command terminal execute_command".split()
)
_WRITING = frozenset(
    "edit edits multiedit write create replace insert delete remove move rename patch update append save overwrite"
    " notebook hashline copy put".split()
)
_READING = frozenset("read view grep glob ls list search find fetch get open cat todo todowrite".split())
_PLAINLY_WRITING = frozenset("edit write replace delete move".split())
# Without case and signs between words.
_PATH_KEYS = frozenset(
    "filepath filepaths path paths notebookpath targetfile targetnotebook absolutepath relativepath source destination"
    " src dst oldpath newpath frompath topath pathinproject file files filename uri".split()
)
_TEXT_KEYS = ("command", "input", "patch", "patchText", "patch_text", "cmd", "script", "code")


class Touched(Value):
    """What a call touches: `paths` that it edits, and the `command` that a shell gets; empty where there is none.

    `guesses` are paths that it edits if they mean what they would mean here.
    """

    paths: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    command: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether it touches nothing that is known."""
        return not (self.paths or self.guesses or self.command)


def touched(tool: str, arguments: Mapping[str, object]) -> Touched:
    """Returns what a call of a tool touches; of a tool that nobody knows nothing is known."""
    text = _text(arguments)
    plain = tool.lower()
    of_server = plain.startswith("mcp")
    # `mcp__<server>__<tool>`: what the server is called tells nothing.
    words = _words(tool.rpartition("__")[2] if of_server else tool)
    if plain in _PATCHING or (PATCH_START in text and words & _WRITING):
        return Touched(paths=(*patched_paths(text), *_paths(arguments)))
    if plain in _SHELLS:
        patched = _patched_by_shell(text)
        return Touched(paths=patched) if patched else Touched(command=text)
    if not words & _WRITING or (words & _READING and not words & _PLAINLY_WRITING):
        return Touched()
    if arguments.get("command") == "view":
        return Touched()  # one tool that views and edits
    paths = _paths(arguments)
    if not of_server:
        return Touched(paths=tuple(paths))
    # Where a server takes relative paths from is not known; an issue tracker's are not of this machine.
    certain = tuple(path for path in paths if is_absolute(path))
    return Touched(paths=certain, guesses=tuple(path for path in paths if path not in certain))


def patched_paths(text: str) -> list[str]:
    """Returns the paths that a patch names, in the form that Codex and OpenCode apply."""
    paths: list[str] = []
    for line in map(str.strip, text.splitlines()):
        for start in _PATCH_PATHS:
            if line.startswith(start):
                paths.append(line[len(start) :].strip())
    return [path for path in dict.fromkeys(paths) if path]


def _patched_by_shell(command: str) -> tuple[str, ...]:
    """Returns the paths of the patches that a shell command applies, from the session's folder; none where it does not.

    Codex carries out `apply_patch` itself where a shell is asked for it, also after a `cd`.
    """
    found: list[str] = []
    folders = Folders()
    before, body, applies, inside = "", "", False, False
    for line in command.splitlines(keepends=True):
        if inside:
            # Within a patch its marks count at the very beginning of a line: after a sign or a space they are text.
            inside = not line.startswith(PATCH_END)
            body += line
            if not inside and applies:
                found += map(folders.below, patched_paths(body))
        elif PATCH_START in line:
            applies = _applies(before + line[: line.index(PATCH_START)], folders)
            before, body, inside = "", "", True
        else:
            before += line
    if inside and applies:
        found += map(folders.below, patched_paths(body))
    return tuple(dict.fromkeys(found))


def _applies(command: str, folders: Folders) -> bool:
    """Follows a shell through a command; tells whether what it ends with applies a patch."""
    words: list[str] = []
    for kind, text in tokens(command):
        if kind != END:
            words.append(text)
            continue
        folders.follow(words, text)
        words = []
    applies = any(word in _PATCHING for word in words)
    # The mark of the here-document stands on the line before the patch.
    return applies or any(name in command.rstrip().rpartition("\n")[2] for name in _PATCHING)


def _words(tool: str) -> set[str]:
    """Returns the words of a tool's name, however they are joined: `mcp__files__writeFile`."""
    spaced = "".join(f" {sign}" if sign.isupper() else sign if sign.isalnum() else " " for sign in tool)
    return {*spaced.lower().split(), *"".join(s if s.isalnum() else " " for s in tool).lower().split()}


def _text(arguments: Mapping[str, object]) -> str:
    """Returns the text that a shell or a patch is in: one argument, or a list of words."""
    for key in _TEXT_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return "\n".join(map(str, value)) if PATCH_START in str(value) else " ".join(map(str, value))
    return ""


def _paths(arguments: Mapping[str, object]) -> list[str]:
    """Returns all paths among arguments, also in lists of edits."""
    return list(dict.fromkeys(_gathered(arguments, 0, is_path=False)))


def _gathered(value: object, depth: int, *, is_path: bool) -> Iterator[str]:
    if isinstance(value, str):
        if is_path and value:
            path = _of_uri(value) if value.startswith("file://") else value
            yield from (path,) if path else ()
    elif depth < MAX_DEPTH and isinstance(value, dict):
        for key, item in value.items():
            yield from _gathered(item, depth + 1, is_path=_plain(key) in _PATH_KEYS)
    elif depth < MAX_DEPTH and isinstance(value, list):
        for item in value:
            yield from _gathered(item, depth + 1, is_path=is_path)


def _plain(key: object) -> str:
    return str(key).lower().replace("_", "").replace("-", "")


def _of_uri(uri: str) -> str:
    """Returns the path in a file URI (RFC 8089)."""
    first, *rest = uri[len("file://") :].encode("utf-8", "surrogatepass").split(b"%")
    path = first
    for part in rest:
        code = part[:2]
        is_code = len(code) == 2 and not code.strip(b"0123456789abcdefABCDEF")
        path += bytes((int(code, 16),)) + part[2:] if is_code else b"%" + part
    return path.decode("utf-8", "surrogateescape")
