"""The terminal at which a person sits: whether there is one, and a question that is answered there.

What a person reads comes on standard error, what a person types on standard input, so that standard output may go
anywhere. A test that has no terminal puts its own functions in the place of these two.
"""

from __future__ import annotations

import sys

from agent_chat.cli.input_stream import is_ready, read_some
from agent_chat.cli.output import note
from agent_chat.storage.filesystem import kind_of_stream

MAX_BYTES = 4096


def missing() -> str:
    """Returns which stream is no terminal, "" where a person can be asked."""
    for name, stream in (("standard input", sys.stdin), ("standard error", sys.stderr)):
        if kind_of_stream(stream) != "terminal":
            return name
    return ""


def ask(question: str) -> str | None:
    """Shows a question and returns the line that is typed then, None where the input ends instead."""
    data = b""
    try:
        note(question, end="")
        while b"\n" not in data and len(data) <= MAX_BYTES:
            part = read_some()
            if part is None:  # somebody made the terminal non-blocking
                is_ready(None)
            elif not part:
                break
            else:
                data += part
    except KeyboardInterrupt:
        note("")
        raise KeyboardInterrupt("nothing was changed") from None
    if not data.endswith(b"\n"):
        note("")
    line = data.partition(b"\n")[0].decode("utf-8", "surrogateescape").rstrip("\r")
    return line if data else None
