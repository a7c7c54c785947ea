"""A message: its fields, for whom it is, and its file as bytes."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import frontmatter
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    Writable = Union[str, int, tuple[str, ...], tuple[int, ...]]

MAX_BODY_BYTES = 1 << 20
MAX_TITLE_BYTES = 1 << 16
MAX_HEADER_BYTES = 1 << 19  # half of what is read, so that what is added on the way (number, time, topic) fits
MAX_FILE_BYTES = 4 << 20
# What a reader sees of a file that another program is writing ends at the end of a page of memory.
PAGE_BYTES = 4096
# Statuses of audit messages: written by commands about what they did, refused in `post`, waking nobody.
AUDIT_PREFIXES = ("task.", "lease.", "path.", "state.", "event.", "marker.", "lock.", "claim.", "access.", "retention.")
EVENT_PREFIX = "event."
_TEXT_KEYS = ("topic", "status", "account", "session", "connection", "level", "key", "transaction")
_NAME_LISTS = ("mentions", "summons")
_KNOWN = frozenset(
    ("seq", "from", "to", "title", "created", "reply_to", "refs", "was", "ts", "channel", *_TEXT_KEYS, *_NAME_LISTS)
)


class MessageError(ValueError):
    """The bytes are no message; the text says why."""


class Message(Value):
    """One message.

    `to` is empty for all; `was` are the numbers that it had before, in order; `unknown` are header lines that are kept
    though they mean nothing here.
    """

    seq: int
    sender: str
    title: str
    body: str
    created: str = ""
    to: tuple[str, ...] = ()
    reply_to: int | None = None
    topic: str = ""
    status: str = ""
    mentions: tuple[str, ...] = ()
    summons: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    account: str = ""
    session: str = ""
    connection: str = ""
    level: str = ""
    key: str = ""
    transaction: str = ""
    was: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_audit(self) -> bool:
        """Whether a command wrote it about what it did."""
        return is_audit_status(self.status)

    @property
    def is_event(self) -> bool:
        """Whether its body is meant to be an event."""
        return self.status.lower().startswith(EVENT_PREFIX)

    def is_for(self, agent: str) -> bool:
        """Tells whether an agent should see it: for all, for it by name or by mention, and not its own."""
        if names.same(self.sender, agent):
            return False
        return not self.to or names.contains(self.to, agent) or names.contains(self.mentions, agent)


def is_renumbered(message: Message, original: Message) -> bool:
    """Tells whether a message is another one under a new number; a final newline may have been added on the way."""
    if message.was != (*original.was, original.seq):
        return False
    return render(message.replace(seq=original.seq, was=original.was)) == render(original)


def is_audit_status(status: str) -> bool:
    """Tells whether a status is one of audit messages."""
    return status.lower().startswith(AUDIT_PREFIXES)


def parse(data: bytes, *, seq: int | None = None) -> Message:
    """Returns the message that a file's bytes hold; `seq` is what the file name says. Fails with MessageError."""
    if len(data) > MAX_FILE_BYTES:
        raise MessageError(f"it is larger than {MAX_FILE_BYTES} bytes")
    try:
        text, raw_body = frontmatter.split(data)
        header = frontmatter.parse(text)
        body = raw_body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MessageError(f"its body is no UTF-8 at byte {error.start}") from error
    except frontmatter.FrontmatterError as error:
        raise MessageError(str(error)) from error
    values = header.values
    number = _integer(values, "seq")
    if number is None or not 1 <= number <= names.MAX_SEQ:
        raise MessageError("its header has no seq")
    if seq is not None and number != seq:
        raise MessageError(f"its header says seq {number}")
    sender = names.normal_form(_text(values, "from"))
    if names.fault_of_name(sender) or names.fold(sender) == "all":
        raise MessageError("its header names no sender")
    message = Message(
        seq=number,
        sender=sender,
        title=_text(values, "title"),
        body=body,
        created=_text(values, "created") or _text(values, "ts"),
        to=_recipients(values),
        reply_to=_integer(values, "reply_to"),
        refs=_list(values, "refs"),
        was=_numbers(values, "was"),
        unknown=tuple(header.unknown_lines(_KNOWN)),
    )
    changes: dict[str, object] = {key: _text(values, key) for key in _TEXT_KEYS if key in values}
    changes.update((key, _names(values, key)) for key in _NAME_LISTS if key in values)
    return message.replace(**changes) if changes else message


def render(message: Message) -> bytes:
    """Returns the bytes of a message's file; a missing final newline of the body is added."""
    pairs: list[tuple[str, Writable]] = [("seq", message.seq), ("from", message.sender)]
    if message.to:
        pairs.append(("to", message.to))
    pairs += [("title", message.title), ("created", message.created)]
    if message.reply_to is not None:
        pairs.append(("reply_to", message.reply_to))
    rest: tuple[tuple[str, Writable], ...] = (
        ("topic", message.topic),
        ("status", message.status),
        ("mentions", message.mentions),
        ("summons", message.summons),
        ("refs", message.refs),
        ("account", message.account),
        ("session", message.session),
        ("connection", message.connection),
        ("level", message.level),
        ("key", message.key),
        ("transaction", message.transaction),
    )
    pairs += [pair for pair in rest if pair[1]]
    if message.was:
        pairs.append(("was", message.was[0] if len(message.was) == 1 else message.was))
    header = frontmatter.render(pairs, message.unknown)
    body = message.body
    if body and not body.endswith("\n"):
        body += "\n"
    data = (header + body).encode("utf-8")
    if len(data) % PAGE_BYTES:
        return data
    # An empty line in the header means nothing; it keeps the file from looking like one that is still being written.
    end = len(header) - len("---\n")
    return (header[:end] + "\n" + header[end:] + body).encode("utf-8")


def to_json(message: Message, file: str, *, unverified: bool = False) -> dict[str, object]:
    """Returns the JSON form of a message: the least fields always, the others where they apply.

    One that names a session says whether it is known to come from it.
    """
    data: dict[str, object] = {
        "seq": message.seq,
        "from": message.sender,
        "to": list(message.to),
        "title": message.title,
        "created": message.created,
        "body": message.body,
        "file": file,
    }
    if message.reply_to is not None:
        data["reply_to"] = message.reply_to
    for name in ("topic", "status", "session", "connection", "level"):
        value = message.__dict__[name]
        if value:
            data[name] = value
    if message.session or message.connection:
        data["verified"] = not unverified
    for name in ("mentions", "summons", "refs"):
        value = message.__dict__[name]
        if value:
            data[name] = list(value)
    return data


def _text(values: dict[str, frontmatter.Field], key: str) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if isinstance(value, tuple):
        raise MessageError(f"{key} must be text")
    return str(value)


def _integer(values: dict[str, frontmatter.Field], key: str) -> int | None:
    value = values.get(key)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)  # written by hand: quoted, or padded as in the file's name
    raise MessageError(f"{key} must be a number")


def _numbers(values: dict[str, frontmatter.Field], key: str) -> tuple[int, ...]:
    value = values.get(key)
    if isinstance(value, tuple):
        numbers = tuple(item for item in value if isinstance(item, int))
        if len(numbers) != len(value):
            raise MessageError(f"{key} must be numbers")
        return numbers
    number = _integer(values, key)
    return () if number is None else (number,)


def _list(values: dict[str, frontmatter.Field], key: str) -> tuple[str, ...]:
    value = values.get(key)
    if value is None:
        return ()
    if isinstance(value, tuple):
        return tuple(str(item) for item in value)
    # A comma list, or, written by hand, lines that begin with a hyphen.
    text = str(value).replace("\n", ",")
    parts = (part.strip().removeprefix("- ").strip() for part in text.split(","))
    return tuple(part for part in parts if part)


def _names(values: dict[str, frontmatter.Field], key: str) -> tuple[str, ...]:
    found = tuple(names.normal_form(name) for name in _list(values, key))
    for name in found:
        if names.fault_of_name(name):
            raise MessageError(f"{key} holds {names.quoted(name)}, which is no name")
    return found


def _recipients(values: dict[str, frontmatter.Field]) -> tuple[str, ...]:
    found = _names(values, "to")
    return () if names.contains(found, "all") else found
