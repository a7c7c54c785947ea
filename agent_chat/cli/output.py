"""What reaches standard output and standard error: text made safe for a terminal, JSON, errors. Nothing else prints."""

from __future__ import annotations

import sys

from agent_chat.names import without_secrets
from agent_chat.records import json_codec
from agent_chat.records.shown_text import ESCAPES, safe_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable

    from agent_chat.cli.command import Reply
    from agent_chat.errors import ChatError

PROGRAM = "agent-chat"
# JSON escapes the rest by itself; these stand in its strings only, where any character may be escaped (RFC 8259, 7).
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in ESCAPES if code >= 0x7F}


class OutputFailedError(Exception):
    """Standard output took not all of a reply; `broken_pipe` when its reader has gone."""

    def __init__(self, reason: str, *, broken_pipe: bool = False) -> None:
        super().__init__(reason)
        self.broken_pipe = broken_pipe


def show_reply(reply: Reply, *, as_json: bool) -> None:
    """Writes a reply to standard output in full, or fails with OutputFailedError; its warnings go to stderr."""
    if as_json:
        text = "".join([to_json(document) + "\n" for document in _documents(reply)])
    else:
        text = reply.as_text()
        if text and not text.endswith("\n"):
            text += "\n"
        for warning in reply.warnings:
            warn(warning)
    write_out(text)


def _documents(reply: Reply) -> list[dict[str, object]]:
    """Returns what a reply is in JSON: one document, or those of its stream and what must be said beside them."""
    data = dict(reply.data)
    if reply.warnings:
        data["warnings"] = list(reply.warnings)
    if reply.error is not None:
        from agent_chat.errors import ChatError

        assert isinstance(reply.error, ChatError)
        data["error"] = error_fields(reply.error)
    if reply.stream is None:
        return [data]
    return [*reply.stream, data] if reply.warnings or reply.error is not None else [*reply.stream]


def to_json(data: object) -> str:
    """Returns one line of JSON that a terminal shows safely; what is no valid Unicode (odd file names) is escaped."""
    try:
        text = json_codec.encode(data)
    except json_codec.JsonError:
        text = json_codec.encode(_valid(data))
    return text if text.isprintable() else text.translate(_JSON_ESCAPES)


def _valid(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_valid(item) for item in value]
    return value


def error_fields(error: ChatError) -> dict[str, object]:
    """Returns the JSON form of an error."""
    fields: dict[str, object] = {"code": error.code, "kind": error.kind, "message": error.told, "next": error.next}
    if error.near is not None:
        fields["near"] = suggestion(error)
    fields.update(error.details)
    # A token that was typed in the place of something else is not told again.
    return {name: without_secrets(value) if isinstance(value, str) else value for name, value in fields.items()}


def suggestion(error: ChatError) -> str | None:
    """Returns the known name that a mistyped one was most likely meant as."""
    if error.near is None:
        return None
    from agent_chat.cli.suggestions import near

    return near(*error.near)


def show_error(error: ChatError, *, as_json: bool) -> None:
    """Writes an error: one line and the next step to stderr, or one JSON document to stdout."""
    if as_json:
        write_out(to_json({"error": error_fields(error)}) + "\n")
        return
    meant = suggestion(error)
    hint = f"; did you mean {meant}?" if meant else ""
    note(without_secrets(f"{PROGRAM}: {error.code}: {safe_line(error.told)}{hint}"))
    if error.next:
        note(without_secrets(f"  next: {safe_line(error.next)}"))


def warn(text: str) -> None:
    """Writes a warning to stderr, as one line."""
    note(f"{PROGRAM}: warning: {safe_line(text)}")


def note(line: str, *, end: str = "\n") -> None:
    """Writes a line to stderr; when that cannot be had there is nobody left to tell."""
    try:
        _write(sys.stderr, line + end)
    except (OSError, ValueError):
        return


def write_out(text: str) -> None:
    """Writes a text to standard output and makes sure that it has left this process."""
    if not text:
        return
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        raise OutputFailedError("its reader has gone", broken_pipe=True) from None
    except (OSError, ValueError) as error:
        raise OutputFailedError(getattr(error, "strerror", None) or str(error)) from None


def reader_has_gone() -> bool:
    """Tells whether standard output is a pipe that nobody reads any more, where the system tells that."""
    import select

    poll = getattr(select, "poll", None)
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    if poll is None:
        return False
    look = poll()
    look.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in look.poll(0))


def _write(stream: Any, text: str) -> None:
    """Writes UTF-8 past the stream's own buffer and encoding, whatever the locale: a full write or an exception."""
    if stream is None:
        raise ValueError("it is closed")
    data = text.encode("utf-8", "backslashreplace")
    buffer = getattr(stream, "buffer", None)
    # With PYTHONUNBUFFERED the buffer is the raw file itself; either way a write may take only a part.
    raw = getattr(buffer, "raw", buffer)
    if raw is None:
        # Not a real file: something that collects the output in memory.
        stream.write(text)
        stream.flush()
        return
    view = memoryview(data)
    while view:
        written = raw.write(view)
        if written is None:
            _until_writable(raw)
        else:
            view = view[written:]


def _until_writable(raw: BinaryIO) -> None:
    """Waits until a pipe that its owner made non-blocking takes more."""
    import select

    select.select([], [raw], [])


class Progress:
    """Shows on a terminal's last line how far long work is, and leaves nothing of it there; elsewhere it is silent.

    `with Progress() as show:` gives what shows it, None unless stderr is a terminal.
    """

    def __enter__(self) -> Callable[[str, int, int], None] | None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        return progress if self._shown else None

    def __exit__(self, *error: object) -> None:
        if self._shown:
            progress("", 0, 0)


def progress(what: str, done: int, total: int) -> None:
    """Shows on a terminal's last line how far long work is; an empty `what` clears the line."""
    if not what:
        note("\r\x1b[K", end="")
    elif done % 500 == 0 and done:
        note(f"\r\x1b[K{safe_line(what)}: {done} of {total}", end="")
