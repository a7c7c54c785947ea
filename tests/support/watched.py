"""Watches the program: hands on every JSON document that it prints and every record that it writes, as it happens.

`install` puts the watcher between the program and what it calls: `output.write_out`, and the primitives of the file
system by which something gets its name. What a test plants by itself is not seen. `verdicts` judges what is; a child
process sends it to its parent (`processes.Worker`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from agent_chat.cli import output
from agent_chat.storage import layout
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.project_files import ProjectFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

MAIN = "agent_chat.cli.main"
MESSAGE, ENTRY, UNKNOWN = "message", "journal-entry", "unknown"
SESSION, TRACE, OWNER = "session-memory", "hook-trace", "owner-settings"
SESSION_RECORD, TOMBSTONE = "session", "tombstone"
# The place of each kind of record, below the root, written with slashes.
PLACES = {
    OWNER: re.compile(r"_owner\.json"),
    "channel-meta": re.compile(r"[^/]+/_meta\.json"),
    MESSAGE: re.compile(r"[^/]+/\d{4,9}-[^/]+\.md"),
    "task": re.compile(r"[^/]+/tasks/[^./][^/]*\.json"),
    "claim": re.compile(r"[^/]+/claims/[^./][^/]*\.json"),
    "path-lock": re.compile(r"[^/]+/locks/[^./][^/]*\.json"),
    ENTRY: re.compile(r"[^/]+/(tasks|locks)/audit/(\.pending|[^./][^/]*)\.md"),
    SESSION_RECORD: re.compile(r"_sessions/[^./][^/]*\.json"),
    TOMBSTONE: re.compile(r"[^/]+/tombstones\.md"),
    SESSION: re.compile(r"_hooks/[^/]+\.session"),
    TRACE: re.compile(r"_hooks/[^/]+\.ran"),
}
OF_ROOT = (OWNER, SESSION, TRACE, SESSION_RECORD)
# What is no record: caches, cursors, locks, what git is told, the summary, and the markers that people lay down.
_OTHERS = re.compile(
    r"_owner\.log|\._owner\.json\.tmp\.[0-9a-f]{16}|\.git(ignore|attributes)|\.lock|(_sessions/)?tmp-[^/]*|_hooks/(tmp-.*|.*\.(unread|lock|waiting))|[^/]+/(\.lock|\.cache/.*|\.cursors/.*|\.?state\.md(\..*)?|task-[^/]*\.md)"
)
_PENDING = f"{os.sep}.pending.md"
_CACHE = f"{os.sep}.cache{os.sep}"


class Printed(NamedTuple):
    """What a command has printed in JSON; of words that are no command the name is empty."""

    command: str
    text: str


class Written(NamedTuple):
    """What stands at a place below a root, written by the program."""

    root: str
    place: str
    data: bytes


Seen = Union[Printed, Written]
_original = {name: getattr(FileSystem, name) for name in ("write_new", "append", "link", "replace")}
_write_out = output.write_out
_sink: list[Callable[[Seen], None]] = []
# What the program has written and not yet given its final name, and what may still be added to.
_unnamed: dict[str, bytes] = {}


def kind_of(place: str) -> str | None:
    """The kind of record that belongs at a place; None where none does, UNKNOWN at one that nobody has heard of."""
    if place.startswith(layout.DELETED_PREFIX):
        return None  # it was a channel
    for kind, pattern in PLACES.items():
        if pattern.fullmatch(place):
            return kind
    return None if _OTHERS.fullmatch(place) else UNKNOWN


def install(sink: Callable[[Seen], None]) -> None:
    """Puts the watcher in its place, for good; what it sees is handed to the sink, which may raise."""
    _sink[:] = [sink]
    output.write_out = functools.wraps(_write_out)(_watch_out)
    watchers: dict[str, Any] = {
        "write_new": _watch_write_new,
        "append": _watch_append,
        "link": _watch_link,
        "replace": _watch_replace,
    }
    for name, watcher in watchers.items():
        setattr(FileSystem, name, functools.wraps(_original[name])(watcher))


@contextlib.contextmanager
def blind() -> Iterator[None]:
    """Sees nothing meanwhile."""
    before = _sink[:]
    _sink[:] = [lambda seen: None]
    try:
        yield
    finally:
        _sink[:] = before


def forget() -> None:
    """Forgets what was written and never named: the roots of the test that did it are gone."""
    _unnamed.clear()


# -- what is printed ---------------------------------------------------------------------------------------------------


def _watch_out(text: str) -> None:
    command, as_json = _call(sys._getframe(1))
    if as_json and command is not None:
        _sink[0](Printed(command, text))
    _write_out(text)


def _call(frame: FrameType | None) -> tuple[str | None, bool]:
    """The command that a frame belongs to, and whether it prints JSON now; None where no command is under way.

    Calls may lie in one another and on several threads; the stack alone tells them apart.
    """
    as_json: bool | None = None
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if as_json is None and name == output.__name__ and "as_json" in frame.f_code.co_varnames:
            as_json = frame.f_locals["as_json"]
        if name == MAIN and frame.f_code.co_name == "main":
            return frame.f_locals["command"], bool(as_json)
        frame = frame.f_back
    return None, False


# -- what is written ---------------------------------------------------------------------------------------------------


def _watch_write_new(files: FileSystem, path: str, data: bytes, *, sync: bool = True) -> None:
    _original["write_new"](files, path, data, sync=sync)
    _unnamed[path] = bytes(data)
    if _CACHE not in path and not getattr(files, "is_cut", False):
        _hand_on(files, path, data)


def _watch_append(files: FileSystem, path: str, data: bytes) -> None:
    _original["append"](files, path, data)
    appended(files, path, data)


def appended(files: FileSystem, path: str, data: bytes) -> None:
    """Hands on a file that the program has written and now added to; none that a test has put there."""
    whole = _unnamed.pop(path, b"") + data
    if _holds(path, whole):
        _unnamed[path] = whole
        _hand_on(files, path, whole)


def _watch_link(files: FileSystem, source: str, target: str) -> None:
    _original["link"](files, source, target)
    _named(files, source, target)


def _watch_replace(files: FileSystem, source: str, target: str) -> None:
    _original["replace"](files, source, target)
    _named(files, source, target)


def _named(files: FileSystem, source: str, target: str) -> None:
    data = _unnamed.pop(source, None)
    # An entry that is filed may have been damaged since: that is not the program's.
    if data is None or (source.endswith(_PENDING) and not _holds(target, data)):
        return
    if target.endswith(_PENDING):
        _unnamed[target] = data
    _hand_on(files, target, data)


def _holds(path: str, data: bytes) -> bool:
    """Whether an ordinary file with these bytes is at a path."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read() == data


def _hand_on(files: FileSystem, path: str, data: bytes) -> None:
    place = path[len(files.root) + 1 :].replace(os.sep, "/")
    if kind_of(place) is not None and not isinstance(files, ProjectFiles):  # settings of hosts are no records
        _sink[0](Written(files.root, place, bytes(data)))
