"""A journal entry: one change of records as it is prepared, applied and published; and what a recovery decides.

An entry is a Markdown file: a header, one fenced JSON block with the bytes before and after of every file and the whole
audit message, then a line per phase, appended as the phase is reached. A line counts only with its end; what a kill
tore off is passed over. `decide` is the table of docs/journal.md.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import frontmatter, json_codec
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA_VERSION = 1
MAX_BYTES = 16 << 20

PREPARED = "prepared"
APPLIED = "applied"
PUBLISHED = "published"
PHASES = (PREPARED, APPLIED, PUBLISHED)
RECOVERED = "recovered by "

# What a file of an entry is found to be.
BEFORE = "before"
AFTER = "after"
NEITHER = "neither"
UNCHANGED = "both"  # before and after are the same bytes

UNDO = "undo"
FINISH = "finish"
REFUSE = "refuse"

_FENCE_START = "```json\n"
_FENCE_END = "\n```\n"
_FIELDS = ("schema_version", "id", "operation", "actor", "target", "created")


class EntryError(ValueError):
    """The bytes are no journal entry; the text says why."""


class LaterEntryError(EntryError):
    """The entry was written by a later version of the program."""


class Change(Value):
    """One file of a change: its path in the channel, and its bytes before and after, None where it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


class Entry(Value):
    """One change: who did what to what, the files, the audit message, and the phase that was reached.

    `message_file` is the name under which the audit message is published; it is empty in what another program left,
    whose message is found by `proof`, the status and the transaction id of its body; both are empty where nothing can
    prove publication. `torn` tells that bytes follow the last whole line.
    """

    id: str
    operation: str
    actor: str
    target: str
    created: str
    changes: tuple[Change, ...]
    message_file: str
    message: bytes = b""
    phase: str = PREPARED
    proof: tuple[str, str] = ("", "")
    torn: bool = False

    @property
    def is_foreign(self) -> bool:
        """Whether another program left it."""
        return not self.message_file

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders, below the channel's, in which it changes names."""
        return tuple(dict.fromkeys(change.path.rpartition("/")[0] for change in self.changes))


def render(entry: Entry) -> bytes:
    """Returns the bytes of an entry as it appears, with its first phase."""
    header = frontmatter.render(
        [
            ("schema_version", SCHEMA_VERSION),
            ("id", entry.id),
            ("operation", entry.operation),
            ("actor", entry.actor),
            ("target", entry.target),
            ("created", entry.created),
        ]
    )
    block = {
        "changes": [
            {"path": change.path, "before": _text(change.before), "after": _text(change.after)}
            for change in entry.changes
        ],
        "message": {"file": entry.message_file, "text": _text(entry.message)},
    }
    body = _FENCE_START + json_codec.encode(block, indent=2) + _FENCE_END
    return f"{header}{body}{PREPARED}\n".encode()


def phase_line(phase: str, *, torn: bool = False) -> bytes:
    """Returns what is appended when a phase is reached; after a torn line it begins with a line's end."""
    return (("\n" if torn else "") + phase + "\n").encode("utf-8")


def parse(data: bytes) -> Entry:
    """Returns the entry that a file's bytes hold; fails with EntryError."""
    if len(data) > MAX_BYTES:
        raise EntryError(f"it is larger than {MAX_BYTES} bytes")
    try:
        head, rest = frontmatter.split(data)
        values = frontmatter.parse(head).values
        text, end, tail = rest.partition(_FENCE_END.encode("ascii"))
        if not end or not text.startswith(_FENCE_START.encode("ascii")):
            raise EntryError("it has no JSON block")
        block = json_codec.object_of(json_codec.decode(text[len(_FENCE_START) :], "the block"), "the block")
    except (UnicodeDecodeError, frontmatter.FrontmatterError, json_codec.JsonError) as error:
        raise EntryError(str(error)) from error
    version = values.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise LaterEntryError(f"schema_version {version} is later than {SCHEMA_VERSION}")
    if version != SCHEMA_VERSION or tuple(values) != _FIELDS:
        raise EntryError("its header is not that of an entry")
    transaction, operation, actor, target, created = (_word(values[name]) for name in _FIELDS[1:])
    if set(block) != {"changes", "message"} or not isinstance(block["changes"], list):
        raise EntryError("its block is not that of an entry")
    message = _message(block["message"])
    phase, torn = _phase(tail)
    return Entry(
        id=transaction,
        operation=operation,
        actor=actor,
        target=target,
        created=created,
        changes=tuple(_change(item) for item in block["changes"]),
        message_file=message[0],
        message=message[1],
        phase=phase,
        torn=torn,
    )


def _word(value: object) -> str:
    """Returns a value of the header, which may become part of a file name."""
    if isinstance(value, str) and value.isprintable() and "/" not in value and "\\" not in value:
        if 0 < len(value.encode("utf-8")) <= names.MAX_NAME_BYTES:
            return value
    raise EntryError(f"its header holds {names.quoted(str(value))}")


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8")


def _bytes(value: object) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise EntryError("the bytes of a file must be text or null")
    return value.encode("utf-8")


def _change(item: object) -> Change:
    if not isinstance(item, dict) or set(item) != {"path", "before", "after"} or not isinstance(item["path"], str):
        raise EntryError("a change is not whole")
    path = item["path"]
    folder, _, name = path.partition("/")
    if not folder or not _is_file_name(name):
        raise EntryError(f"{names.quoted(path)} is no path of a record")
    return Change(path=path, before=_bytes(item["before"]), after=_bytes(item["after"]))


def _is_file_name(text: str) -> bool:
    """Tells whether a text is the name of a file in one folder, and not of a hidden one."""
    return bool(text) and text[0] != "." and not any(sign in "/\\" or sign < " " for sign in text)


def _message(item: object) -> tuple[str, bytes]:
    if not isinstance(item, dict) or set(item) != {"file", "text"}:
        raise EntryError("the audit message is not whole")
    file, text = item["file"], _bytes(item["text"])
    if not isinstance(file, str) or text is None or not _is_file_name(file):
        raise EntryError("the audit message is not whole")
    return file, text


def _phase(tail: bytes) -> tuple[str, bool]:
    """Returns the last phase whose line is whole, and whether bytes follow it that make no line."""
    lines = tail.split(b"\n")
    reached = 0
    for line in lines[:-1]:
        text = line.decode("utf-8", "replace")
        if reached < len(PHASES) and text == PHASES[reached]:
            reached += 1
        elif not (text.startswith(RECOVERED) or _is_torn(text)):
            raise EntryError(f"{names.quoted(text)} is no phase")
    if not reached:
        raise EntryError("it has no phase")
    return PHASES[reached - 1], bool(lines[-1])


def _is_torn(text: str) -> bool:
    """Tells whether a line is what a kill or a power loss left of one: its beginning, or zeros."""
    rest = text.rstrip("\0")
    return text not in PHASES and any(phase.startswith(rest) for phase in (*PHASES, RECOVERED))


def state_of(change: Change, data: bytes | None) -> str:
    """Returns what a file is found to be, by its bytes (None: it is not there)."""
    if change.before == change.after == data:
        return UNCHANGED
    if data == change.after:
        return AFTER
    return BEFORE if data == change.before else NEITHER


def decide(phase: str, visible: bool | None, states: Iterable[str]) -> str:
    """Returns what a recovery does: UNDO, FINISH or REFUSE; `visible` is None where nothing can prove publication."""
    found = set(states)
    if NEITHER in found or visible is None:
        return REFUSE
    if not visible:
        return UNDO if phase in (PREPARED, APPLIED) else REFUSE
    return FINISH if phase in (APPLIED, PUBLISHED) and BEFORE not in found else REFUSE
