"""A tombstone: what is kept of a message that retention removed, one line of `tombstones.md`, without its text.

The file is Markdown and only grows. Each batch begins with an empty line and a heading, so that a line that was torn by
a kill ends before it. Readers pass over what is no tombstone: torn lines, what people wrote, the marks of a git merge.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import json_codec
from agent_chat.records.digest import sha256_of
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_BYTES = 1 << 30
_START = b"- "
_HEADING = b"#"
_CONFLICTS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
_HEX = frozenset("0123456789abcdef")


class TombstoneError(ValueError):
    """A line that is no tombstone, or a message that can have none; the text says why."""


class Tombstone(Value):
    """What is kept of one message.

    `sha256` is of its file's bytes. `key` and `content` are there where it had a key: what its sender may post again.
    `status` is there for audit messages alone; `was` are the numbers that it had before.
    """

    seq: int
    file: str
    sender: str
    created: str
    sha256: str
    topic: str = ""
    reply_to: int | None = None
    key: str = ""
    content: str = ""
    status: str = ""
    transaction: str = ""
    was: tuple[int, ...] = ()

    def has_content(self, content: Mapping[str, object], reply_to: int | None) -> bool:
        """Tells whether the message had a content, as an answer to a number or to none."""
        return self.content == content_digest(content, reply_to)


def content_digest(content: Mapping[str, object], reply_to: int | None) -> str:
    """Returns what tells whether a post is the same one: a digest of what is compared, and of the number answered."""
    fields = {**content, "reply_to": reply_to}
    return sha256_of(json_codec.canonical({name: fields[name] for name in sorted(fields)}))


def to_json(tombstone: Tombstone) -> dict[str, object]:
    """Returns the JSON form of a tombstone: the least fields always, the others where they apply."""
    fields: dict[str, object] = {"seq": tombstone.seq, "file": tombstone.file, "from": tombstone.sender}
    if tombstone.topic:
        fields["topic"] = tombstone.topic
    if tombstone.reply_to is not None:
        fields["reply_to"] = tombstone.reply_to
    fields["created"] = tombstone.created
    for name in ("key", "content", "status", "transaction"):
        if tombstone.__dict__[name]:
            fields[name] = tombstone.__dict__[name]
    if tombstone.was:
        fields["was"] = list(tombstone.was)
    fields["sha256"] = tombstone.sha256
    return fields


def render_line(tombstone: Tombstone) -> bytes:
    """Returns the line of a tombstone; fails with TombstoneError where a file's name is no text."""
    try:
        return b"- " + json_codec.encode(to_json(tombstone)).encode("utf-8") + b"\n"
    except (json_codec.JsonError, UnicodeEncodeError) as error:
        raise TombstoneError(str(error)) from error


def render_batch(tombstones: Iterable[Tombstone], moment: str) -> bytes:
    """Returns the lines of one batch with what begins it."""
    return f"\n## {moment}\n\n".encode("ascii") + b"".join(map(render_line, tombstones))


def parse_line(line: bytes) -> Tombstone:
    """Returns the tombstone in a line; unknown fields are left alone. Fails with TombstoneError."""
    if not line.startswith(_START):
        raise TombstoneError("it is no list item")
    try:
        fields = json_codec.object_of(json_codec.decode(line[len(_START) :]))
    except ValueError as error:
        raise TombstoneError(str(error)) from error
    seq, was, reply_to = fields.get("seq"), fields.get("was", []), fields.get("reply_to")
    if not _is_seq(seq):
        raise TombstoneError("it has no seq")
    texts = {name: fields.get(name, "") for name in ("file", "from", "created", "sha256", *_OPTIONAL)}
    wrong = [name for name, value in texts.items() if not isinstance(value, str)]
    if wrong or not isinstance(was, list) or not all(map(_is_seq, was)):
        raise TombstoneError(f"{wrong[0] if wrong else 'was'} is of the wrong kind")
    if type(reply_to) is not int and reply_to is not None:
        raise TombstoneError("reply_to is of the wrong kind")
    found = {name: str(value) for name, value in texts.items()}
    if found["topic"] and not names.is_topic(found["topic"]):
        raise TombstoneError("its topic is none")
    head = found["file"].partition("-")[0]
    if not (head.isascii() and head.isdigit() and len(head) <= 10 and int(head) == seq) or "\n" in found["file"]:
        raise TombstoneError("its file has another number")
    if names.fault_of_name(found["from"]):
        raise TombstoneError("it names no sender")
    if len(found["sha256"]) != 64 or not _HEX.issuperset(found["sha256"]):
        raise TombstoneError("it has no hash")
    assert isinstance(seq, int)
    return Tombstone(
        seq=seq,
        file=found["file"],
        sender=found["from"],
        created=found["created"],
        sha256=found["sha256"],
        reply_to=reply_to,
        was=tuple(was),
        **{name: found[name] for name in _OPTIONAL},
    )


_OPTIONAL = ("topic", "key", "content", "status", "transaction")


def _is_seq(value: object) -> bool:
    return type(value) is int and 1 <= value <= names.MAX_SEQ


def parse(data: bytes) -> tuple[list[Tombstone], list[tuple[int, str]]]:
    """Returns the tombstones of a file, each once, and the malformed lines by number with what is wrong with them.

    A malformed line at the end of a batch is one that a kill tore: it is passed over.
    """
    found: dict[tuple[int, str], Tombstone] = {}
    faults: list[tuple[int, str]] = []
    doubt: tuple[int, str] | None = None
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.rstrip(b"\r")
        if text.startswith(_HEADING):
            doubt = None
        if not text.strip() or text.startswith((_HEADING, *_CONFLICTS)):
            continue
        if doubt is not None:
            faults.append(doubt)
            doubt = None
        try:
            tombstone = parse_line(text)
        except TombstoneError as error:
            doubt = (number, str(error))
        else:
            found[tombstone.seq, tombstone.file] = tombstone
    return list(found.values()), faults
