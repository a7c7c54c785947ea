"""The index of one of git's packs: whether it lists an object, looked up in slices, since it may be large.

gitformat-pack(5), version 2: a magic number, 256 counts of the names by their first byte, the sorted names, and more.
"""

from __future__ import annotations

from agent_chat.storage.named_files import is_unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from agent_chat.storage.filesystem import FileSystem

_MAGIC = b"\xfftOc"
_HEADER = 8
_FANOUT = 1024
_NAMES = _HEADER + _FANOUT
_AT_ONCE = 1 << 14  # names that lie closer together than this are read by one call
_PACK_HEADER = 12


class CannotTellError(Exception):
    """It cannot be told whether something is there; the text says why."""


class PackIndex:
    """One `.idx` file beside its `.pack`; `path` is theirs without the ending."""

    def __init__(self, files: FileSystem, path: str, hash_bytes: int) -> None:
        self._files = files
        self._path = path
        self._size = hash_bytes
        self._status: os.stat_result | None = None

    def holds(self, digits: str) -> bool:
        """Tells whether the pack holds an object whose hash begins with these digits, at least two.

        Fails with CannotTellError where index or pack is damaged or of another version, and with OSError.
        """
        counts = self._counts()
        first = int(digits[:2], 16)
        low, end = (counts[first - 1] if first else 0), counts[first]
        high = end
        wanted = bytes.fromhex(digits + "0" * (2 * self._size - len(digits)))
        while (high - low) * self._size > _AT_ONCE:
            middle = (low + high) // 2
            if self._names(middle, 1) < wanted:
                low = middle + 1
            else:
                high = middle
        names = self._names(low, min(high + 1, end) - low)
        found = any(names[at : at + self._size].hex().startswith(digits) for at in range(0, len(names), self._size))
        if found:
            self._require_pack(counts[-1])
        return found

    def _counts(self) -> list[int]:
        """Returns how many names there are up to each first byte, after checking that the file can be an index."""
        head = self._read(0, _NAMES)
        if len(head) < _NAMES or head[:4] != _MAGIC:
            raise CannotTellError(f"{self._path}.idx is damaged, or of version 1")
        if int.from_bytes(head[4:8], "big") != 2:
            raise CannotTellError(f"{self._path}.idx is of a later version")
        counts = [int.from_bytes(head[at : at + 4], "big") for at in range(_HEADER, _NAMES, 4)]
        total = counts[-1]
        # Each name has a check sum and an offset; all but one of the offsets may need eight bytes more.
        least = _NAMES + total * (self._size + 8) + 2 * self._size
        assert self._status is not None
        if counts != sorted(counts) or not least <= self._status.st_size <= least + 8 * max(0, total - 1):
            raise CannotTellError(f"{self._path}.idx is damaged")
        return counts

    def _names(self, number: int, count: int) -> bytes:
        data = self._read(_NAMES + number * self._size, count * self._size)
        if len(data) != count * self._size:
            raise CannotTellError(f"{self._path}.idx is damaged")
        return data

    def _read(self, offset: int, size: int) -> bytes:
        data, status = self._files.read_part(self._path + ".idx", offset, size)
        if self._status is not None and not is_unchanged(self._status, status):
            raise CannotTellError(f"{self._path}.idx changes while it is read")
        self._status = status
        return data

    def _require_pack(self, count: int) -> None:
        """Refuses a pack that is not the one of this index: by its header, its count, and the check sum at its end."""
        assert self._status is not None
        head, status = self._files.read_part(self._path + ".pack", 0, _PACK_HEADER)
        sum_in_pack, _ = self._files.read_part(self._path + ".pack", max(0, status.st_size - self._size), self._size)
        sum_in_index = self._read(self._status.st_size - 2 * self._size, self._size)
        if head[:4] != b"PACK" or int.from_bytes(head[8:12], "big") != count or sum_in_pack != sum_in_index:
            raise CannotTellError(f"{self._path}.pack is damaged")
