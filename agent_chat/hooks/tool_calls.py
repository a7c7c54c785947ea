"""What a tool is about to touch, by its name and arguments: the paths that it edits, or the command that it runs.

Each host names its tools and their arguments in its own way (docs/hosts.md). A tool that only reads touches nothing.
"""

from __future__ import annotations

from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 4
PATCH_START = "*** Begin Patch"
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
_PATH_KEYS = frozenset(
    "file_path filepath file_paths path paths notebook_path notebookpath target_file target_notebook absolute_path"
    " relative_path source destination src dst old_path new_path from_path to_path file files filename uri".split()
)
_TEXT_KEYS = ("command", "input", "patch", "patchText", "patch_text", "cmd", "script", "code")


class Touched(Value):
    """What a call touches: `paths` that it edits, and the `command` that a shell gets; empty where there is none."""

    paths: tuple[str, ...] = ()
    command: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether it touches nothing that is known."""
        return not (self.paths or self.command)


def touched(tool: str, arguments: Mapping[str, object]) -> Touched:
    """Returns what a call of a tool touches; of a tool that nobody knows nothing is known."""
    text = _text(arguments)
    plain = tool.lower()
    if plain in _PATCHING or (PATCH_START in text and _words(tool) & _WRITING):
        return Touched(paths=(*patched_paths(text), *_paths(arguments)))
    if plain in _SHELLS:
        folder = _patched_by_shell(text)
        if folder is not None:
            return Touched(paths=tuple(_below(folder, path) for path in patched_paths(text)))
        return Touched(command=text)
    words = _words(tool)
    # The last word of what an MCP server names tells what its tool does; the first may be the server's.
    if not words & _WRITING or (words & _READING and not words & {"edit", "write", "replace", "delete", "move"}):
        return Touched()
    paths = _paths(arguments)
    if plain.startswith("mcp"):
        # Where a server takes relative paths from is not known; of an issue tracker's it is not this machine.
        paths = [path for path in paths if _is_absolute(path)]
    return Touched(paths=tuple(paths))


def patched_paths(text: str) -> list[str]:
    """Returns the paths that a patch names, in the form that Codex and OpenCode apply."""
    paths: list[str] = []
    for line in text.splitlines():
        for start in _PATCH_PATHS:
            if line.strip().startswith(start):
                paths.append(line.strip()[len(start) :].strip())
    return [path for path in dict.fromkeys(paths) if path]


def _patched_by_shell(command: str) -> str | None:
    """Returns the folder in which a shell command applies a patch, "" for the current one; None where it does not.

    Codex carries out `apply_patch` itself where a shell is asked for it, also after a `cd`.
    """
    at = command.find(PATCH_START)
    if at < 0:
        return None
    before = command[:at]
    if not any(name in before for name in _PATCHING):
        return None
    folder = ""
    for part in before.replace("&&", ";").replace("\n", ";").split(";"):
        words = part.split()
        if len(words) == 2 and words[0] == "cd":
            folder = _below(folder, words[1].strip("'\""))
    return folder


def _below(folder: str, path: str) -> str:
    return path if not folder or _is_absolute(path) else f"{folder}/{path}"


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\", "file:")) or path[1:3] in (":\\", ":/")


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
            yield value[len("file://") :] if value.startswith("file://") else value
    elif depth < MAX_DEPTH and isinstance(value, dict):
        for key, item in value.items():
            yield from _gathered(item, depth + 1, is_path=str(key).lower() in _PATH_KEYS)
    elif depth < MAX_DEPTH and isinstance(value, list):
        for item in value:
            yield from _gathered(item, depth + 1, is_path=is_path)
