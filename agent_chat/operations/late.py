"""Late arrivals: what came at or below a cursor after it was stored (a merge, a checkout, a hand), and so lies unread.

A cursor remembers how many messages lay at or below it and a sum over their names. Where these are others now, the
files that came since are told by the file system's times; where only the right number of names with the right sum can
have come, they are told exactly.
"""

from __future__ import annotations

from itertools import combinations

from agent_chat.records.value import Value
from agent_chat.storage.message_numbers import names_sum
from agent_chat.storage.message_store import Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.storage.channel import Channel
    from agent_chat.storage.cursor_store import Cursor
    from agent_chat.storage.message_numbers import Numbers

# Of more candidates than this, any but a single one is not sought by trying.
_FEW = 14


class Late(Value):
    """What arrived below a cursor for its agent: files, and how many there are that cannot be told by name.

    `stale` says that the set of messages there is another one, so that the cursor should be stored anew; `wakes` that
    something is among them that a waiting agent should be told, `error` that one of them could not be read.
    """

    files: tuple[str, ...] = ()
    unnamed: int = 0
    stale: bool = False
    wakes: bool = False
    error: OSError | None = None

    @property
    def count(self) -> int:
        """How many arrived."""
        return len(self.files) + self.unnamed


def arrivals(channel: Channel, agent: str, cursor: Cursor | None, numbers: Numbers) -> Late:
    """Returns what arrived below an agent's cursor since it was stored; what is not for the agent is left out."""
    if cursor is None or cursor.count is None or cursor.names_sum is None:
        return Late()
    count, total = numbers.known_at(cursor.seq)
    if (count, total) == (cursor.count, cursor.names_sum):
        return Late()
    below = numbers.names_up_to(cursor.seq)
    changed, written = channel.messages.changed_since(below, cursor.written_at - cursor.listed_before / 1000)
    more = count - cursor.count
    names = told_apart(changed, more, total - cursor.names_sum)
    # Another set that is not smaller has new names in it.
    least = max(more, 1) if more >= 0 else 0
    if names is None:
        names = changed
        if 2 * len(changed) > len(below) and (len(written) >= least or len(changed) > _FEW):
            # Where most files seem to have come, it was their permissions that changed, or the folder was copied.
            names = written
    unnamed = max(least - len(names), 0)
    found: list[Stored] = []
    error: OSError | None = None
    for name in names:
        try:
            found += [item for item in channel.messages.stored_in((name,)) if item.message.is_for(agent)]
        except OSError as failure:
            unnamed += 1  # it came, and nobody can tell yet for whom it is
            error = failure
    return Late(
        files=tuple(sorted(item.file for item in found)),
        unnamed=unnamed,
        stale=True,
        wakes=unnamed > 0 or any(not item.message.is_audit for item in found),
        error=error,
    )


def told_apart(candidates: Sequence[str], count: int, difference: int) -> Sequence[str] | None:
    """Returns those `count` candidates whose names make a difference of two sums, None where that cannot be told."""
    if not 1 <= count <= len(candidates) or (count > 1 and count < len(candidates) > _FEW):
        return None
    wanted = difference & 0xFFFFFFFF
    return next((chosen for chosen in combinations(candidates, count) if names_sum(chosen) == wanted), None)


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
        late = arrivals(channel, agent, cursor, numbers)
        files.update(name for name in (*cursor.late, *late.files) if name in valid)
        if late.unnamed:
            unclear.append(agent)
    return sorted(files), sorted(unclear)
