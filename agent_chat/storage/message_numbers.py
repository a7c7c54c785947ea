"""The numbers of a channel's messages, read off the names of its files: which there are, and in what order."""

from __future__ import annotations

from binascii import crc32

from agent_chat.names import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agent_chat.storage.removed_numbers import RemovedNumbers

_CONFLICT = ".sync-conflict-"
# A number this far above all others is no number of a message, unless the file is one: a date, say.
PLAUSIBLE_LEAD = 1000


def seq_of(name: str) -> int | None:
    """Returns the number in a message file's name, NNNN-….md, or None when the name is none of a message.

    Names that sync programs give to conflict copies (parentheses, ".sync-conflict-") are none.
    """
    head = name[: name.find("-")]
    if len(head) < 4 or not head.isdigit() or not head.isascii() or not name.endswith(".md"):
        return None
    if "(" in name or "\n" in name or _CONFLICT in name or len(head) > 9:
        return None
    return int(head) or None


class Numbers:
    """The message files of one listing: their names in the order of their numbers, found without looking at each.

    A channel has thousands of files and a call concerns a few. Names of four digits sort as their numbers do, so most
    questions are comparisons of text; only wider numbers, and listings with odd names, are taken apart one by one.
    `odd` are the names that are none of a message. `again` lists the channel once more: see `after`. `listed_at` is
    when the listing began, in seconds of the monotonic clock. `removed` tells what retention removed, None where it
    never did.
    """

    def __init__(
        self,
        names: Iterable[str],
        *,
        again: Callable[[], Iterable[str]] | None = None,
        listed_at: float | None = None,
        removed: RemovedNumbers | None = None,
    ) -> None:
        self.listed_at = listed_at
        self.removed = removed
        self._narrow, self._wide, self.odd = _message_names(names)
        self.highest = self._highest()
        self._known = {0: (0, 0)}
        self._again = again

    def __len__(self) -> int:
        return len(self._narrow) + len(self._wide)

    def __contains__(self, name: str) -> bool:
        return name in self._narrow or name in self._wide

    def highest_trace(self) -> int:
        """Returns the highest number that any file shows to have been used, conflict copies and editors' files too."""
        highest = latest = self.latest
        for name in self.odd:
            head = name.lstrip("._#~")[:10].partition("-")[0]
            if len(head) >= 4 and head.isdigit() and head.isascii() and int(head) <= latest + PLAUSIBLE_LEAD:
                highest = max(highest, int(head))
        return highest

    @property
    def highest_removed(self) -> int:
        """The highest number of what retention removed, 0 where it never did."""
        return 0 if self.removed is None else self.removed.highest

    @property
    def latest(self) -> int:
        """The latest number that was used: of a message that is there, or of one that retention removed."""
        return max(self.highest, self.highest_removed)

    @property
    def has_wide_gap(self) -> bool:
        """Whether so many numbers are missing that the highest may be none of messages.

        Up to the highest that retention removed all were used.
        """
        used = self.highest_removed
        if self.highest - used < PLAUSIBLE_LEAD:
            return False
        return self.highest - used - len(self._between(used, self.highest)) >= PLAUSIBLE_LEAD

    def leave_out(self, seq: int) -> None:
        """Counts the files of a number among the odd ones."""
        names = self.names_of(seq)
        self.odd += names
        self._narrow = [name for name in self._narrow if name not in names]
        self._wide = {name: number for name, number in self._wide.items() if number != seq}
        self.highest = self._highest()
        self._known = {0: (0, 0)}

    def _highest(self) -> int:
        highest = int(max(self._narrow)[:4]) if self._narrow else 0
        return max(highest, *self._wide.values()) if self._wide else highest

    def spelled_otherwise(self, sender: str) -> list[str]:
        """Returns the files that a sender of that name, spelled in another case, may have posted, in order.

        None when a file of that very spelling is there: then it is settled, and that is told without a loop.
        """
        everything = "\n".join(self._narrow + list(self._wide))
        start = fold(sender) + "-"
        if _has_sender(everything, sender) or not _has_sender(fold(everything), fold(sender)):
            return []
        every = [*self._narrow, *self._wide]
        return sorted(name for name in every if fold(name.partition("-")[2]).startswith(start))

    def known_at(self, seq: int) -> tuple[int, int]:
        """Returns how many messages were ever seen at or below a number, and a sum that tells sets of names apart.

        What retention removed counts as if it were there: for who knew of it nothing has come.
        """
        count, total = self.present_at(seq)
        if self.removed is None:
            return count, total
        more, other = self.removed.known_at(seq)
        # A removal that was interrupted leaves files that are counted among the removed already.
        both = self.also_removed(seq)
        return count + more - len(both), (total + other - names_sum(both)) & _MASK

    def also_removed(self, seq: int) -> list[str]:
        """Returns the names at or below a number that a removed message had too: of a removal that was interrupted, or
        of another message that came since.
        """
        if self.removed is None:
            return []
        return [name for name in self._between(0, min(seq, self.removed.highest)) if self.removed.has(name)]

    def present_at(self, seq: int) -> tuple[int, int]:
        """Returns how many messages lie at or below a number, and a sum over their names that tells sets apart."""
        if seq not in self._known:
            start = max(number for number in self._known if number <= seq)
            count, total = self._known[start]
            between = self._between(start, seq)
            self._known[seq] = (count + len(between), (total + names_sum(between)) & _MASK)
        return self._known[seq]

    def names_up_to(self, seq: int) -> list[str]:
        """Returns the names at or below a number, in no order."""
        return self._between(0, seq)

    def names_of(self, seq: int) -> list[str]:
        """Returns the file names under one number."""
        return sorted(self._between(seq - 1, seq))

    def after(self, seq: int) -> Iterator[tuple[int, list[str]]]:
        """Yields the numbers above one with their file names, in order; names under one number are one unit.

        Writers make numbers visible in order, so where no number is missing nothing can be missing. At the first gap
        the channel is listed once more: what was added below the highest number while we listed is there by now.
        """
        window = _WINDOW
        while seq < self.highest:
            end = min(seq + window, self.highest)
            for number, files in _units(self._between(seq, end)):
                if number > seq + 1 and self._again is not None:
                    break
                yield number, files
                seq = number
            else:
                if seq < end and self._again is not None:
                    self._list_again(seq)
                    continue
                seq = end
                window *= 4
                continue
            self._list_again(seq)

    def _list_again(self, above: int) -> None:
        """Adds the names that the first listing missed above a number, up to the highest number that it saw.

        What came at or below that number meanwhile stays unknown: it was not shown, so the next call must find it new.
        """
        assert self._again is not None
        narrow, wide, _ = _message_names(self._again())
        self._again = None
        start, end = _bound(min(above, 9_999)), _bound(min(self.highest, 9_999))
        self._narrow = sorted({*self._narrow, *(name for name in narrow if start < name < end)})
        self._wide.update((name, seq) for name, seq in wide.items() if above < seq <= self.highest)
        self._known = {0: (0, 0)}

    def before(self, seq: int) -> Iterator[tuple[int, list[str]]]:
        """Yields the numbers below one with their file names, the highest first."""
        window = _WINDOW
        end = min(seq - 1, self.highest)
        while end > 0:
            start = max(end - window, 0)
            yield from reversed(_units(self._between(start, end)))
            end = start
            window *= 4

    def _between(self, low: int, high: int) -> list[str]:
        """Returns the names whose numbers are above `low` and not above `high`."""
        found: list[str] = []
        if low < 10_000:
            lowest, highest = _bound(low), _bound(min(high, 9_999))
            found = [name for name in self._narrow if lowest < name < highest]
        if self._wide:
            found += [name for name, seq in self._wide.items() if low < seq <= high]
        return found


def _has_sender(names: str, sender: str) -> bool:
    """Tells whether one of the names, a line each, is NNNN-<sender>-…; a slug may hold the same letters."""
    at = names.find(f"-{sender}-")
    while at >= 0:
        if names[names.rfind("\n", 0, at) + 1 : at].isdigit():
            return True
        at = names.find(f"-{sender}-", at + 1)
    return False


_WINDOW = 64
_MASK = 0xFFFFFFFF


def _bound(seq: int) -> str:
    """Returns the text that is above every name NNNN-… of a four-digit number and below those of the next."""
    return f"{seq:04d}."


def _message_names(names: Iterable[str]) -> tuple[list[str], dict[str, int], list[str]]:
    """Splits names into those of messages with four digits, the wider ones with their numbers, and all others."""
    every = list(names)
    narrow = [name for name in every if "0" <= name < ":"]
    odd = [name for name in every if not "0" <= name < ":"]
    wide: dict[str, int] = {}
    heads = "".join([name[:5] for name in narrow])
    text = "\n".join(narrow) + "\n"
    regular = (
        heads[4::5] == "-" * len(narrow)
        and heads.isascii()
        and heads.replace("-", "").isdigit()
        and len(heads) == 5 * len(narrow) == len(heads.replace("-", "")) + len(narrow)
        and text.count(".md\n") == text.count("\n") == len(narrow)
        and "(" not in text
        and _CONFLICT not in text
        and "0000-" not in heads
    )
    if narrow and not regular:
        digits, narrow = narrow, []
        for name in digits:
            seq = seq_of(name)
            if seq is None:
                odd.append(name)
            elif name[4] == "-":
                narrow.append(name)
            else:
                wide[name] = seq
    return narrow, wide, odd


def _units(names: list[str]) -> list[tuple[int, list[str]]]:
    """Groups names by number, in order."""
    units: dict[int, list[str]] = {}
    for name in sorted(names):
        units.setdefault(int(name[: name.index("-")]), []).append(name)
    return sorted(units.items())


def names_sum(names: Iterable[str]) -> int:
    """Returns a sum over names, in any order, that tells one set of them from another."""
    return sum(map(crc32, map(_encoded, names))) & _MASK


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
