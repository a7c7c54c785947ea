"""The numbers of messages that retention removed, in a form that is read without looking at each."""

from __future__ import annotations

import sys
from array import array
from binascii import crc32
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MASK = 0xFFFFFFFF
# The bytes are those of the machine, which is what a cache is for.
FORM = f"1-{sys.byteorder}-{array('I').itemsize}"


class RemovedNumbers:
    """The removed messages of a channel: their numbers in order, and a sum over each file's name."""

    def __init__(self, seqs: array[int], sums: array[int]) -> None:
        self._seqs = seqs
        self._sums = sums
        self._set: set[int] | None = None
        self.highest = seqs[-1] if seqs else 0

    @classmethod
    def of(cls, files: Iterable[tuple[int, str]]) -> RemovedNumbers:
        """Returns those of some files with their numbers."""
        pairs = sorted((seq, _sum_of(name)) for seq, name in set(files))
        return cls(array("I", [seq for seq, _ in pairs]), array("I", [total for _, total in pairs]))

    @classmethod
    def from_bytes(cls, data: bytes) -> RemovedNumbers:
        """Returns what `to_bytes` wrote; fails with ValueError for anything else."""
        both = array("I")
        both.frombytes(data)
        if len(both) % 2:
            raise ValueError("an odd count of numbers")
        half = len(both) // 2
        return cls(both[:half], both[half:])

    def to_bytes(self) -> bytes:
        """Returns a form for a cache of this machine."""
        return self._seqs.tobytes() + self._sums.tobytes()

    def __len__(self) -> int:
        return len(self._seqs)

    def known_at(self, seq: int) -> tuple[int, int]:
        """Returns how many lie at or below a number, and the sum over their names."""
        count = bisect_right(self._seqs, seq)
        return count, sum(self._sums[:count]) & _MASK

    def has(self, name: str) -> bool:
        """Tells whether a file of that name was removed."""
        if self._set is None:
            self._set = set(self._sums)
        return _sum_of(name) in self._set


def _sum_of(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogateescape"))
