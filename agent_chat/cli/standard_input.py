"""The body of a message: from an option, a file, or standard input, which may be silent, closed or nothing."""

from __future__ import annotations

import sys

from agent_chat.cli.input_stream import is_ready, read_some
from agent_chat.errors import ChatError
from agent_chat.records.message import MAX_BODY_BYTES
from agent_chat.storage.filesystem import kind_of_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request

SILENT_SECONDS = 10.0


def body(request: Request) -> str:
    """Returns the body that a call to post means; fails with MESSAGE_EMPTY, _NOT_TEXT, _TOO_LARGE or _BODY_SILENT."""
    text = request.optional_text("body")
    file = request.optional_text("body_file")
    if text is not None and file is not None:
        raise ChatError("USAGE", "--body and --body-file exclude each other", next="agent-chat post --help")
    if text is not None:
        if not text:
            raise ChatError("MESSAGE_EMPTY", "--body is empty")
        return text
    if file is not None and file != "-":
        return _decoded(_named(request, file), file)
    kind = kind_of_stream(sys.stdin)
    if kind in ("closed", "null"):
        if file is None:
            return ""
        raise ChatError("MESSAGE_EMPTY", "standard input is closed, so --body-file - has nothing to read")
    if kind == "terminal":
        from agent_chat.cli.output import note

        note("body, ended by Ctrl-D (Ctrl-Z and Enter on Windows):")
        return _decoded(_all(None), "standard input")
    return _decoded(_all(None if file == "-" else SILENT_SECONDS), "standard input")


def _named(request: Request, file: str) -> bytes:
    try:
        data: bytes = request.workspace.files.read_named(file, MAX_BODY_BYTES)
    except OSError as error:
        raise ChatError("MESSAGE_FILE_UNREADABLE", f"{file}: {error.strerror or error}", path=file) from None
    return data


def _decoded(data: bytes, source: str) -> str:
    if not data:
        raise ChatError("MESSAGE_EMPTY", f"{source} is empty")
    if len(data) > MAX_BODY_BYTES:
        raise ChatError("MESSAGE_TOO_LARGE", f"{source} has more than {MAX_BODY_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ChatError("MESSAGE_NOT_TEXT", f"{source} is no valid UTF-8 at byte {error.start}") from None


def _all(patience: float | None) -> bytes:
    """Reads standard input to its end or past the limit; `patience` is how long each silence may last, in seconds."""
    parts: list[bytes] = []
    size = 0
    while size <= MAX_BODY_BYTES:
        if patience is not None and not is_ready(patience):
            raise ChatError(
                "MESSAGE_BODY_SILENT", f"standard input was open but silent for {patience:.0f} s; nothing was posted"
            )
        part = read_some()
        if part is None:
            is_ready(patience)
            continue
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
