"""Standard input piece by piece, without waiting for it longer than asked."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK = 65536


def read_some() -> bytes | None:
    """Returns what standard input holds next: b"" at its end, None when a non-blocking one has nothing yet."""
    buffer: Any = sys.stdin.buffer
    data: bytes | None = (buffer.read1 if sys.platform == "win32" else buffer.raw.read)(CHUNK)
    return data


def is_ready(patience: float | None) -> bool:
    """Waits until standard input has something or has ended; False when it stayed silent for so many seconds."""
    if sys.platform == "win32":
        return _is_ready_on_windows(patience)
    import select

    return bool(select.select([sys.stdin], [], [], patience)[0])


def _is_ready_on_windows(patience: float | None) -> bool:
    """As `is_ready`: select takes no pipes on Windows, so a thread looks ahead into the stream's buffer."""
    import threading

    buffer: Any = sys.stdin.buffer
    looker = threading.Thread(target=buffer.peek, args=(1,), daemon=True)
    looker.start()
    looker.join(patience)
    return not looker.is_alive()
