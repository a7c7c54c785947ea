"""Judges what the watcher saw: each JSON reply and each record keeps to its schema, in every test.

What does not is raised where it happens, and, since the program catches what it can, raised again when the test ends
(`conftest.py`). What was judged good once is good.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

from agent_chat.cli import parser
from agent_chat.cli.commands import COMMANDS
from agent_chat.errors import ChatError
from tests.support import schemas, watched
from tests.support.record_forms import record_faults
from tests.support.watched import Printed, Seen, Written, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import FrameType

OPERATIONS = "agent_chat.operations."
SHOWN = 1000  # characters of a document in a message
REPLY, RECORD = "reply ", "record "
WRONG = "to words that are no command"
# How much was judged, of each command's replies and each kind of record.
JUDGED: Counter[str] = Counter()
_found: list[str] = []
_good: set[int] = set()  # hashes: what was judged in a night would not fit in memory


class SchemaError(AssertionError):
    """The program printed or wrote what breaks its schema; no error that it expects."""


def require_none() -> None:
    """Fails with all that was found since the last call."""
    watched.forget()
    found, _found[:] = list(dict.fromkeys(_found)), []
    if found:
        raise SchemaError("\n\n".join(found))


@contextlib.contextmanager
def expected() -> Iterator[list[str]]:
    """Collects what is found meanwhile, which then fails no test; it is raised where it happens all the same."""
    before, _found[:] = list(_found), []
    caught: list[str] = []
    try:
        yield caught
    finally:
        caught += _found
        _found[:] = before


def judge(seen: Seen) -> None:
    """Fails unless what is seen at this moment, in this process, keeps to its schema."""
    if isinstance(seen, Printed):
        _judge_output(seen)
        return
    faults = _faults_of_file(seen)
    # A test of the storage writes bytes of its own; and what another program wrote is put back as it was.
    if not faults or (_is_of_the_program(sys._getframe(1)) and not _is_restored(seen)):
        _settle(seen, faults)


def is_good(place: str, data: bytes) -> bool:
    """Tells whether a record was judged, and good."""
    return hash((place, data)) in _good


def judge_child(seen: Iterable[Seen]) -> None:
    """Fails unless what a child did keeps to its schema, as far as it is the program's own."""
    for each in seen:
        if isinstance(each, Printed):
            _judge_output(each)
        elif not _is_foreign(each):
            _settle(each, _faults_of_file(each))


def _judge_output(seen: Printed) -> None:
    JUDGED[REPLY + (seen.command or WRONG)] += 1
    if hash(seen) in _good:
        return
    *lines, rest = seen.text.split("\n")
    faults = ["its last line has no end"] if rest else []
    if len(lines) != 1 and seen.command not in schemas.STREAMS:
        faults.append(f"one document was to be printed, not {len(lines)}")
    for line in lines:
        try:
            faults += schemas.reply_faults(seen.command, json.loads(line))
        except ValueError as error:
            faults.append(f"no JSON: {error}")
    if faults:
        _fail(f"what {seen.command or 'a call of no command'} printed", faults, seen.text)
    _good.add(hash(seen))


def _faults_of_file(seen: Written) -> list[str]:
    return [] if is_good(seen.place, seen.data) else record_faults(seen.place, seen.data)


def _settle(seen: Written, faults: list[str]) -> None:
    JUDGED[RECORD + str(kind_of(seen.place))] += 1
    if faults:
        _fail(f"{seen.place}, as it was written,", faults, seen.data.decode("utf-8", "replace"))
    _good.add(hash((seen.place, seen.data)))


def _fail(what: str, faults: Sequence[str], text: str) -> None:
    told = f"{what} breaks its schema\n  " + "\n  ".join(faults) + f"\n  {text[:SHOWN]}"
    _found.append(told)
    raise SchemaError(told)


def _is_of_the_program(frame: FrameType | None) -> bool:
    """Whether an operation of the program is under way in a frame."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(OPERATIONS):
            return True
        frame = frame.f_back
    return False


def _is_restored(seen: Written) -> bool:
    """Whether bytes were there before a change that is pending: another program's, put back or moved as they are."""
    channel = os.path.join(seen.root, seen.place.split("/", maxsplit=1)[0])
    for folder in ("tasks", "locks"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(os.path.join(channel, folder, "audit", ".pending.md"), "rb") as stream:
                block = json.loads(stream.read().decode("utf-8").split("```json\n")[1].split("\n```\n")[0])
            if any((each["before"] or "").encode() == seen.data for each in block["changes"]):
                return True
    for marker in ("claims/.lease-transaction.json", "locks/.path-lock-transaction.json"):
        with contextlib.suppress(OSError), open(os.path.join(channel, marker), "rb") as stream:
            if base64.b64encode(seen.data) in stream.read():
                return True
    return False


def _is_foreign(seen: Written) -> bool:
    """Whether a record looks like one that is put back, or filed, as it was found."""
    other = seen.place.endswith(".json") and b'"schema_version"' not in seen.data
    return other or ("/audit/" in seen.place and "-kept-" in seen.place)


# -- processes of their own --------------------------------------------------------------------------------------------


def judge_words(argv: Sequence[str | bytes], status: int, out: bytes) -> None:
    """Fails unless what a process of the command line has printed keeps to its schema; what was cut is passed over."""
    words = [os.fsdecode(word) for word in argv]
    if status not in (0, 1, 2) or not out.endswith(b"\n"):
        return
    try:
        request = parser.parse(words, COMMANDS)
    except ChatError:
        command, as_json = "", parser.wants_json(words)
    else:
        command, as_json = request.command.name, request.as_json
    if as_json:
        judge_child([Printed(command, out.decode("utf-8"))])


@contextlib.contextmanager
def judged_files(root: Path) -> Iterator[None]:
    """Fails unless each record of a root that is written meanwhile, by a process of its own, keeps to its schema."""
    before = _stamps(root)
    yield
    changed = [path for path, stamp in _stamps(root).items() if before.get(path) != stamp]
    for path in changed:
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as stream:
            judge_child([Written(str(root), os.path.relpath(path, root).replace(os.sep, "/"), stream.read())])


def _stamps(root: Path) -> dict[str, tuple[int, int, int]]:
    """When each record below a root was last changed."""
    found: dict[str, tuple[int, int, int]] = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and kind_of(os.path.relpath(path, root).replace(os.sep, "/")) is not None:
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(path)
                    found[path] = status.st_mtime_ns, status.st_size, status.st_ino
    return found


def summary() -> str:
    """The line that a run ends with."""
    replies = {name: count for name, count in JUDGED.items() if name.startswith(REPLY)}
    records = [f"{JUDGED[name]} {name[len(RECORD) :]}" for name in sorted(JUDGED) if name.startswith(RECORD)]
    commands = len(replies) - (REPLY + WRONG in replies)
    return f"schemas: {sum(replies.values())} JSON replies of {commands} commands; records: {', '.join(records)}"
