"""What may go wrong around a hook: each condition spoils an office, and tells how the hook is started then."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from agent_chat.hooks.payload import MAX_BYTES
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Clock
from tests.hooks.running import Case, Office

if TYPE_CHECKING:
    from collections.abc import Iterator

Made = Callable[[Office], Case]


class Condition(NamedTuple):
    """A condition; `speaks` tells that the answer is the ordinary one all the same."""

    name: str
    make: Made
    speaks: bool = False


def sent(data: bytes, **more: Any) -> Made:
    """Something else than what hosts send."""
    return lambda office: Case(sent=data, **more)


def started(shell: str, **variables: str | None) -> Made:
    """Started in another way."""
    return lambda office: Case(shell=shell, variables=variables)


WRONG = {
    "session_id": [],
    "generation_id": 5,
    "cwd": {"a": 1},
    "tool_name": ["Edit"],
    "tool_input": "file_path",
    "tool_calls": 7,
    "stop_hook_active": [],
    "background_tasks": "none",
    "source": 1.5,
    "agent_id": 0,
    "workspace_roots": [None],
    "hook_event_name": False,
}
ODD_INPUT = (
    Condition("an empty stdin", sent(b"")),
    Condition("x", sent(b"x")),
    Condition("truncated", sent(b'{"session_id": "s", "cwd": "/')),
    Condition("20 MB", sent(b'{"prompt": "' + b"x" * (20 << 20) + b'"}')),
    Condition("20 MB of nothing", sent(b" " * (20 << 20))),
    Condition("a mebibyte of brackets", sent(b"[" * MAX_BYTES)),
    Condition("no UTF-8", sent(b'{"session_id": "\xff\xfe"}')),
    Condition("UTF-16", sent('{"session_id": "s"}'.encode("utf-16"))),
    Condition("null", sent(b"null")),
    Condition("a list", sent(b"[]")),
    Condition("wrong types", sent(json.dumps(WRONG).encode())),
    Condition("a silent pipe", sent(b"", stays_open=True)),
    Condition("half an object and a silent pipe", sent(b'{"session_id": "s', stays_open=True)),
    Condition("no stdin", started('exec "$@" <&-')),
    Condition("the null device", started('exec "$@" </dev/null')),
)


def with_mark(office: Office) -> Case:
    """Started by a shell that puts a byte order mark before what the host sends."""
    return Case(shell='{ printf "\\357\\273\\277"; cat; } | "$@"')


STREAMS = (
    Condition("a byte order mark", with_mark, speaks=True),
    Condition("a pipe that stays open", lambda office: Case(stays_open=True), speaks=True),
    Condition("no stdout", started('exec "$@" >&-')),
    Condition("a full stdout", started('exec "$@" >/dev/full')),
    Condition("a full stderr", started('exec "$@" 2>/dev/full'), speaks=True),
    Condition("no stderr", started('exec "$@" 2>&-'), speaks=True),
    Condition("a reader that has gone", started('"$@" | true')),
    Condition("no stream at all", started('exec "$@" <&- >&- 2>&-')),
)


def spoiled(act: Callable[[Office], object], **variables: str | None) -> Made:
    """Something is done to the root before."""

    def make(office: Office) -> Case:
        act(office)
        return Case(variables=variables)

    return make


def replaced(name: str, data: bytes | None) -> Made:
    """A file of the channel holds something else; None makes it a pipe that nobody writes to."""

    def act(office: Office) -> None:
        path = office.folder / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if data is None:
            os.mkfifo(path)
        else:
            path.write_bytes(data)

    return spoiled(act)


def elsewhere(kind: str) -> Made:
    """The root is not what it should be."""

    def make(office: Office) -> Case:
        path = office.root.parent / "odd root"
        if kind == "file":
            path.write_bytes(b"x")
        elif kind == "dangling":
            path.symlink_to(office.root.parent / "nowhere")
        elif kind == "loop":
            path.symlink_to(path)
        return Case(variables={"AGENT_CHAT_ROOT": str(path)})

    return make


def under_mode(mode: int) -> Made:
    """Called by the root's owner without the right to pass over modes, who may do to it what this one says."""

    def make(office: Office) -> Case:
        base = office.root.parent.parent / "other"
        shutil.copytree(office.root, base, symlinks=True)
        base.chmod(mode)
        # capabilities(7): what a file's mode forbids, a process of root may do only with these.
        shell = 'exec setpriv --bounding-set=-dac_override,-dac_read_search "$@"'
        return Case(shell=shell, variables={"AGENT_CHAT_ROOT": str(base)})

    return make


def gone_folder(office: Office) -> Case:
    """Started in a folder that is deleted then, with a root that is named from there."""
    shell = 'here=$(mktemp -d) && cd "$here" && rmdir "$here" && exec "$@"'
    return Case(shell=shell, variables={"AGENT_CHAT_ROOT": "root", "TMPDIR": str(office.root.parent)})


ROOTS = (
    Condition("no root", elsewhere("missing")),
    Condition("a root that is a file", elsewhere("file")),
    Condition("a root that leads nowhere", elsewhere("dangling")),
    Condition("a root that leads to itself", elsewhere("loop")),
    Condition("a root that may not be looked into", under_mode(0o000)),
    Condition("a root that may not be listed", under_mode(0o311)),
    Condition("a root that may not be written", under_mode(0o555)),
    Condition("a damaged record of the channel", replaced("_meta.json", b"{")),
    Condition("an empty record of the channel", replaced("_meta.json", b"")),
    Condition("a pipe as the record of the channel", replaced("_meta.json", None)),
    Condition("a pipe as a message", replaced("0001-alice-title.md", None)),
    Condition("a damaged cursor", replaced(".cursors/bob.txt", b"many")),
    Condition("a pipe as a cursor", replaced(".cursors/bob.txt", None)),
    Condition("a damaged lock", replaced("locks/0123456789abcdef.json", b"{")),
    Condition("a pipe as a lock", replaced("locks/0123456789abcdef.json", None)),
    Condition("a file where hooks remember", spoiled(lambda office: (office.root / "_hooks").write_bytes(b"x"))),
    Condition("a folder that is gone", gone_folder),
)

LIMITS = (
    Condition("a full disk", started('ulimit -f 0; exec "$@"')),
    Condition("few open files", started('ulimit -n 7; exec "$@"')),
    Condition("no home", started('exec "$@"', HOME=None), speaks=True),
    Condition("an empty home and path", started('exec "$@"', HOME="", PATH=""), speaks=True),
    Condition("another encoding", started('exec "$@"', PYTHONIOENCODING="cp932", LC_ALL="C"), speaks=True),
    Condition("no locale at all", started('exec "$@"', LC_ALL=None, PYTHONUTF8="0"), speaks=True),
    Condition("debugging", started('exec "$@"', AGENT_CHAT_DEBUG="1"), speaks=True),
    Condition("a root with a tilde", started('exec "$@"', AGENT_CHAT_ROOT="~nobody-of-that-name/x")),
    Condition("no name", started('exec "$@"', AGENT_CHAT_NAME=None)),
    Condition("no name at all", started('exec "$@"', AGENT_CHAT_NAME="no name")),
    Condition("no such channel", started('exec "$@"', AGENT_CHAT_CHANNELS="@,nowhere")),
    Condition("one channel among others", started('exec "$@"', AGENT_CHAT_CHANNELS="@,dev"), speaks=True),
    Condition("a guard that is strict", started('exec "$@"', AGENT_CHAT_GUARD="strict"), speaks=True),
)
LOCKS = {
    "the channel's lock": "dev/.lock",
    "the cursor's lock": "dev/.cursors/bob.lock",
    "the waiter's lock": "dev/.cursors/bob.waiting",
    "the root's lock": ".lock",
    "the session's lock": "_hooks/bob.id-00000001-0000-4000-8000-000000000000.session.lock",
}


def locked(office: Office, place: str) -> Iterator[None]:
    """Holds a lock of the root in this process, until it goes on."""
    path = office.root / place
    path.parent.mkdir(exist_ok=True)
    clock = Clock()
    lock = FileLock(FileSystem(str(office.root), clock), str(path), clock)
    assert lock.acquire(0)
    yield
    lock.release()
