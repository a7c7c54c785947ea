"""How a host can start this program later on: by the name, the console script, or chat.py."""

from __future__ import annotations

import os
import sys

from agent_chat.cli.acting import variable
from agent_chat.errors import ChatError
from agent_chat.records.hook_line import NAME, SCRIPT, Program
from agent_chat.storage import real_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request

_NAMES = (NAME, f"{NAME}.exe")


def own_program(request: Request) -> Program:
    """Returns how a hook starts this program: as it was started now, if that lasts; else SETUP_PROGRAM_UNKNOWN.

    Never as a module: `python -m` would look for it in the folder of the project first, and run what it finds there.
    """
    started = sys.argv[0] if sys.argv else ""
    name = os.path.basename(started)
    if name.lower() in _NAMES:
        return _installed(started, request)
    here = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.join(os.path.dirname(os.path.dirname(here)), SCRIPT)
    script = os.path.abspath(started) if name == SCRIPT else checkout
    if _is_there(script):
        return Program(script=_slashed(script), python="py -3" if os.name == "nt" else "python3")
    for folder in _folders_of_path(request):
        for each in _NAMES:
            if _is_there(os.path.join(folder, each)):
                return _installed(os.path.join(folder, each), request)
    raise ChatError("SETUP_PROGRAM_UNKNOWN", f"it was started as {started!r}, which a host could not repeat")


def _installed(started: str, request: Request) -> Program:
    """Returns the console script: by its name where PATH leads to it for good, else by its path."""
    path = os.path.abspath(started)
    for folder in _folders_of_path(request):
        found = os.path.join(folder, os.path.basename(started))
        if _is_there(found):
            if not os.path.dirname(started):
                path = found
            if _ends_at(found) == _ends_at(path) and not _is_activated(folder, request):
                _require_lasting(path)
                return Program()
            break
    _require_lasting(path)
    return Program(executable=_slashed(path))


def _is_activated(folder: str, request: Request) -> bool:
    """Tells whether a folder is on PATH only because an environment was activated, in this shell alone."""
    environment = variable(request, "VIRTUAL_ENV")
    return bool(environment) and os.path.dirname(folder) == os.path.abspath(environment)


def _require_lasting(path: str) -> None:
    """Fails for a program in a cache, as uvx and `pipx run` leave it."""
    for place in (path, _ends_at(path)):
        names = place.replace("\\", "/").split("/")
        of_uv = any(name.startswith(("archive-v", "environments-v")) for name in names)
        if of_uv or (".cache" in names and "pipx" in names):
            raise ChatError("SETUP_PROGRAM_UNKNOWN", f"{path} is in a cache, which may be emptied at any time")


def _folders_of_path(request: Request) -> list[str]:
    return [os.path.abspath(folder) for folder in variable(request, "PATH").split(os.pathsep) if os.path.isabs(folder)]


def _is_there(path: str) -> bool:
    return real_place.status_at(path) is not None


def _ends_at(path: str) -> str:
    """Returns the real path of a file, links followed."""
    return real_place.Walker().walk(real_place.Place(os.sep), path).path


def _slashed(path: str) -> str:
    """Returns a path as every shell takes it."""
    return path.replace("\\", "/") if os.name == "nt" else path
