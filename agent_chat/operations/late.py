"""Late arrivals: what came at or below a cursor after it was stored (a merge, a checkout, a hand), and so lies unread.

A cursor remembers how many messages lay at or below it and a sum over their names. Where these are others now, the
files that came since are told by the file system's times; where only the right number of names with the right sum can
have come, they are told exactly.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

from agent_chat.records.value import Value
from agent_chat.storage.message_numbers import names_sum, seq_of
from agent_chat.storage.message_store import Refused, Stored, Unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_chat.records.message import Message
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.cursor_store import Cursor
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.message_store import Loaded

# So many ways to choose among candidates are tried at the most.
_TRIES = 200_000
# So few files are named even where most of a channel seems to have come.
_FEW = 14


class Late(Value):
    """What arrived below a cursor for its agent: files, and how many there may be that cannot be told by name.

    `stale` says that the set of messages there is another one, so that the cursor should be stored anew; `wakes` that
    something is among them that a waiting agent should be told. `unsettled` are files that are still on their way or
    cannot be read now, as `held` and `error` say: the cursor must not count them as known, nor forget `since` when they
    may have come. `set_aside` are files that are no messages, with the reasons.
    """

    files: tuple[str, ...] = ()
    unnamed: int = 0
    stale: bool = False
    wakes: bool = False
    unsettled: tuple[str, ...] = ()
    since: float | None = None
    held: str = ""
    set_aside: tuple[str, ...] = ()
    error: OSError | None = None

    @property
    def count(self) -> int:
        """How many arrived."""
        return len(self.files) + self.unnamed


def is_for(agent: str) -> Callable[[Message], bool]:
    """Returns the test whether a message is for an agent."""
    return lambda message: message.is_for(agent)


def arrivals(channel: Channel, concerns: Callable[[Message], bool], cursor: Cursor | None, numbers: Numbers) -> Late:
    """Returns what arrived below an agent's cursor since it was stored; what does not concern it is left out."""
    if cursor is None or cursor.count is None or cursor.names_sum is None:
        return Late()
    count, total = numbers.known_at(cursor.seq)
    namesakes = _namesakes(channel, cursor, numbers)
    if (count, total) == (cursor.count, cursor.names_sum) and not namesakes:
        return Late()
    if count < cursor.count and numbers.removed is None and channel.messages.has_tombstones():
        return Late()  # retention began while we listed; the next look sees what it removed
    since = cursor.written_at - cursor.listed_before / 1000
    names, unnamed = _candidates(channel, cursor, numbers, since)
    names = [*names, *(name for name in namesakes if name not in names)]
    found: list[Stored] = []
    unsettled: list[str] = []
    set_aside: list[str] = []
    held = ""
    error: OSError | None = None
    for name in names:
        try:
            item = _as_in_its_unit(channel, numbers, name)
        except OSError as failure:
            error = failure
            unsettled.append(name)
            continue
        if isinstance(item, Unfinished):
            held = f"{name}: {item.reason}"
            unsettled.append(name)
        elif isinstance(item, Refused):
            set_aside.append(f"{name}: {item.reason}")
        elif concerns(item.message):
            found.append(item)
    return Late(
        files=tuple(sorted(item.file for item in found)),
        unnamed=unnamed,
        stale=True,
        wakes=unnamed > 0 or any(not item.message.is_audit for item in found),
        unsettled=tuple(unsettled),
        since=since if unsettled else None,
        held=held,
        set_aside=tuple(set_aside),
        error=error,
    )


def _namesakes(channel: Channel, cursor: Cursor, numbers: Numbers) -> list[str]:
    """Returns the files below a cursor that have the name of a removed message, are none, and were not announced."""
    names = [name for name in numbers.also_removed(cursor.seq) if name not in cursor.late]
    return channel.messages.tombstones.unlike(names) if names else []


def _as_in_its_unit(channel: Channel, numbers: Numbers, name: str) -> Loaded:
    """Reads a file together with the others of its number, so that a copy is told as one."""
    seq = seq_of(name)
    assert seq is not None
    return next(item for item in channel.messages.load_unit(seq, numbers.names_of(seq)) if item.file == name)


def _candidates(channel: Channel, cursor: Cursor, numbers: Numbers, since: float) -> tuple[Sequence[str], int]:
    """Returns the files that came below a cursor, and how many more must have come, or may have, unseen."""
    assert cursor.count is not None
    assert cursor.names_sum is not None
    count, total = numbers.known_at(cursor.seq)
    below = [name for name in numbers.names_up_to(cursor.seq) if name not in cursor.late]
    changed, written = channel.messages.changed_since(below, since)
    more = count - cursor.count
    names = told_apart(changed, more, total - cursor.names_sum)
    if names is not None:
        return names, 0
    gone = _removed_below(channel, numbers, cursor.seq) if more > 0 else set()
    names = told_apart([*changed, *gone], more, total - cursor.names_sum) if gone else None
    if names is not None:
        # What came and was removed before its reader came by was for others: else it would have stayed.
        return [name for name in names if name not in gone], 0
    # Another set that is not smaller has new names in it.
    least = max(more, 1) if more >= 0 else 0
    names = changed
    if 2 * len(changed) > len(below):
        # Where most files seem to have come, it was their permissions that changed, or the folder was copied. Of a
        # smaller set nobody knows whether anything came; it is not passed over in silence.
        if more < 0:
            names, least = written, max(len(written), 1)
        elif len(written) >= least or len(changed) > _FEW:
            names = written
    # Where others are there than before and no more, those may be among what was removed since, which is no news.
    since_removed = count - numbers.present_at(cursor.seq)[0] if more <= 0 else 0
    return names, max(least - len(names) - since_removed, 0)


def _removed_below(channel: Channel, numbers: Numbers, seq: int) -> set[str]:
    """Returns the files at or below a number that retention removed."""
    if numbers.removed is None:
        return set()
    there = set(numbers.names_up_to(seq))
    return {each.file for each in channel.messages.tombstones.load() if each.seq <= seq} - there


def told_apart(candidates: Sequence[str], count: int, difference: int) -> Sequence[str] | None:
    """Returns those `count` candidates whose names make a difference of two sums, None where that cannot be told."""
    size = len(candidates)
    if not 1 <= count <= size or comb(size, count) > _TRIES:
        return None
    sums = [names_sum((name,)) for name in candidates]
    wanted = difference & 0xFFFFFFFF
    if 2 * count > size:
        # Fewer to leave out than to choose.
        left = (sum(sums) - wanted) & 0xFFFFFFFF
        out = _of_sum(sums, size - count, left)
        return None if out is None else [name for at, name in enumerate(candidates) if at not in out]
    chosen = _of_sum(sums, count, wanted)
    return None if chosen is None else [candidates[at] for at in chosen]


def _of_sum(sums: Sequence[int], count: int, wanted: int) -> tuple[int, ...] | None:
    """Returns the places of `count` numbers whose sum is wanted, modulo 2^32."""
    for chosen in combinations(range(len(sums)), count):
        if sum([sums[at] for at in chosen]) & 0xFFFFFFFF == wanted:
            return chosen
    return None


def below_every_cursor(channel: Channel, numbers: Numbers, stored: Sequence[Stored]) -> tuple[list[str], list[str]]:
    """Returns the valid files that lie unread below some cursor, and the names of agents below whose cursor more does.

    Files that were announced to their reader count until they have a number above its cursor.
    """
    valid = {item.file for item in stored}
    files: set[str] = set()
    unclear: list[str] = []
    for agent, cursor in channel.cursors.every().items():
        if cursor is None:
            continue
        late = arrivals(channel, is_for(agent), cursor, numbers)
        if late.error is not None:
            raise late.error
        files.update(name for name in (*cursor.late, *late.files) if name in valid)
        if late.unnamed:
            unclear.append(agent)
    return sorted(files), sorted(unclear)
