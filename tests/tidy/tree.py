"""What the checkout holds: its files, its modules, its text."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Hidden folders that belong to the project; any other is a tool's.
_HIDDEN = {".ci", ".claude-plugin", ".github"}


@functools.cache
def files() -> tuple[str, ...]:
    """Every file that is or may be committed, relative to the root with `/`; without git, whatever lies there."""
    listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None and Path(_git("rev-parse", "--show-toplevel") or "").resolve() == ROOT:
        return tuple(sorted({name for name in listed.split("\0") if name and (ROOT / name).is_file()}))
    return tuple(sorted(_walk()))


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=ROOT, capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return os.fsdecode(done.stdout).rstrip("\n")


def _walk() -> list[str]:
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if (not name.startswith(".") or name in _HIDDEN) and name not in ("__pycache__", "build", "dist")
        ]
        found += [(Path(folder) / name).relative_to(ROOT).as_posix() for name in names if not name.endswith(".pyc")]
    return found


def text_of(name: str) -> str:
    """The text of one file of the checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def modules(*folders: str) -> dict[str, str]:
    """Module name -> source of every Python file under the folders."""
    return {
        name[: -len(".py")].replace("/", "."): text_of(name)
        for name in files()
        if name.endswith(".py") and name.split("/")[0] in folders
    }
