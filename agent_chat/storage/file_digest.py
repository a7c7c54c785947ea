"""The SHA-256 of a file that a message names, read piece by piece, so that a large one takes no memory."""

from __future__ import annotations

from agent_chat.storage.named_files import is_unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.filesystem import FileSystem

PIECE = 1 << 20


class DigestError(Exception):
    """A file has no hash that would mean anything; the text says why."""


class TooLargeError(DigestError):
    """A file is larger than the caller wants to read."""


def sha256_of(files: FileSystem, path: str, limit: int) -> tuple[str, int]:
    """Returns the hash of an ordinary file in hexadecimal digits, and its size.

    Fails with TooLargeError, with DigestError where it changes while it is read, and with OSError.
    """
    from hashlib import sha256

    data, first = files.read_part(path, 0, PIECE)
    if first.st_size > limit:
        raise TooLargeError(f"it has {first.st_size} bytes")
    digest, done = sha256(), 0
    while data:
        digest.update(data)
        done += len(data)
        # One byte past what the status says shows that there is an end: some files of a system have none.
        data, status = files.read_part(path, done, min(PIECE, first.st_size - done + 1))
        if done > first.st_size or not is_unchanged(first, status):
            raise DigestError("it changes while it is read")
    if done != first.st_size:
        raise DigestError("it changes while it is read")
    return digest.hexdigest(), done
