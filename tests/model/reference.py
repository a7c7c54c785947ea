"""The reference: what a channel must hold and show, in dictionaries and a few lines."""

from __future__ import annotations

from typing import NamedTuple


class Said(NamedTuple):
    """One message file."""

    file: str
    seq: int
    sender: str
    to: tuple[str, ...]
    title: str
    arrived: int
    audit: bool = False
    reply_to: int | None = None
    was: tuple[int, ...] = ()

    def is_for(self, agent: str) -> bool:
        """Whether an agent is meant."""
        return self.sender != agent and (not self.to or agent in self.to)


class Cursor:
    """An agent's cursor: where it is, when it was stored, and what it has announced."""

    def __init__(self) -> None:
        self.seq = 0
        self.stored = -1
        self.announced: list[str] = []


class Shown(NamedTuple):
    """A page as it must be."""

    files: list[str]
    passed: int
    has_more: bool


class Reference:
    """One channel."""

    def __init__(self, *, members: tuple[str, ...] = ()) -> None:
        self.closed = bool(members)
        self.members = list(members)
        self.messages: dict[str, Said] = {}
        self.removed: dict[str, Said] = {}
        self.cursors: dict[str, Cursor] = {}
        self.foreign: set[str] = set()
        self.named: set[str] = set()
        self.free: set[str] = set()
        self.claimed: dict[str, str] = {}

    def knows(self, agent: str) -> bool:
        """Whether an agent may take part."""
        return not self.closed or agent in self.members

    @property
    def highest(self) -> int:
        """The last number that was used."""
        return max((said.seq for said in (*self.messages.values(), *self.removed.values())), default=0)

    def units(self, after: int) -> list[tuple[int, list[Said]]]:
        """The messages above a number, by number, then by file name."""
        found: dict[int, list[Said]] = {}
        for file in sorted(self.messages):
            said = self.messages[file]
            if said.seq > after:
                found.setdefault(said.seq, []).append(said)
        return sorted(found.items())

    def unread(self, agent: str) -> list[str]:
        """The files that an agent has yet to read."""
        return [
            said.file
            for _, unit in self.units(self.cursor(agent).seq)
            for said in unit
            if said.is_for(agent) and not said.audit
        ]

    def cursor(self, agent: str) -> Cursor:
        """An agent's cursor; one at 0 where none is stored."""
        return self.cursors.get(agent) or Cursor()

    def page(self, agent: str, limit: int, *, everything: bool, skipped: tuple[str, ...] = ()) -> Shown:
        """What a read must show: whole units, as many messages as the limit lets in, audit messages besides.

        Messages of `skipped` senders are passed over, unless everything is to be shown.
        """
        passed = self.cursor(agent).seq
        files: list[str] = []
        count = 0
        for seq, unit in self.units(passed):
            here = [said for said in unit if everything or (said.is_for(agent) and said.sender not in skipped)]
            speech = sum(not said.audit for said in here)
            if here and count and count + speech > limit:
                return Shown(files, passed, True)
            files += [said.file for said in here]
            count += speech
            passed = seq
        return Shown(files, max(passed, self.highest), False)

    def late(self, agent: str, skipped: tuple[str, ...] = ()) -> list[str]:
        """What arrived below an agent's cursor since it was stored, but for that of `skipped` senders."""
        cursor = self.cursors.get(agent)
        if cursor is None:
            return []
        return sorted(
            said.file
            for said in self.messages.values()
            if said.seq <= cursor.seq and said.arrived > cursor.stored and said.is_for(agent)
            if said.file not in cursor.announced and said.sender not in skipped
        )

    def waiting(self) -> set[str]:
        """Every file that waits for a new number: late for somebody, announced or not."""
        announced = {file for cursor in self.cursors.values() for file in cursor.announced}
        late = {file for agent in self.cursors for file in self.late(agent)}
        return (announced & set(self.messages)) | late

    def store(self, agent: str, seq: int, now: int, *, late: list[str], back: bool = False) -> None:
        """Stores an agent's cursor."""
        cursor = self.cursors.setdefault(agent, Cursor())
        kept = [file for file in [*cursor.announced, *late] if file in self.messages]
        cursor.announced = [file for file in kept if not back or self.messages[file].seq <= seq]
        cursor.seq = seq if back else max(seq, cursor.seq)
        cursor.stored = now

    def announce(self, agent: str, late: list[str]) -> None:
        """Remembers what was announced to an agent whose cursor stays where it is."""
        self.cursors[agent].announced += late

    def doubled(self) -> set[str]:
        """The files that share a number with an earlier name."""
        return {said.file for _, unit in self.units(0) for said in unit[1:]}

    def moving(self) -> list[Said]:
        """What a repair gives a new number, in order: of one number all but the first by name, and what is late."""
        late = self.waiting()
        found: list[Said] = []
        for _, unit in self.units(0):
            stay = next((said for said in unit if said.file not in late), None)
            found += [said for said in unit if said is not stay]
        return found

    def orphans(self) -> set[str]:
        """The replies whose parent is not there, under its number or the one that it had."""
        every = [*self.messages.values(), *self.removed.values()]
        known = {said.seq for said in every} | {was for said in every for was in said.was}
        return {
            said.file for said in self.messages.values() if said.reply_to is not None and said.reply_to not in known
        }

    def disagreeing(self) -> set[str]:
        """The files that have a number of which another one was removed."""
        gone: dict[int, set[str]] = {}
        for said in self.removed.values():
            gone.setdefault(said.seq, set()).add(said.file)
        return {said.file for said in self.messages.values() if said.file not in gone.get(said.seq, {said.file})}

    def lost(self, agent: str, passed: int, skipped: tuple[str, ...] = ()) -> list[int]:
        """The numbers of what was removed above an agent's cursor, up to where a page ends, but for what it skips."""
        start, own = self.cursor(agent).seq, (agent, *skipped)
        gone = [said for file, said in self.removed.items() if file not in self.messages]
        return sorted(s.seq for s in gone if start < s.seq <= passed and s.sender not in own and not s.audit)

    def leaving(self, sent: dict[str, float], seen: dict[str, float], now: float, term: float) -> set[str]:
        """The files that retention removes: what is due, unless something waits for it."""
        waiting = self.waiting()
        audits = {f"marker.claimed {marker[5:-3]}" for marker in self.claimed}
        readers = [agent for agent, at in seen.items() if now - at <= term]
        found: set[str] = set()
        for _, unit in self.units(0):
            for said in unit:
                age = now - sent[said.file]
                unread = any(said.seq > self.cursor(agent).seq and said.is_for(agent) for agent in readers)
                held = said.title in audits if said.audit else unread and age <= 2 * term
                if age > term and len(unit) == 1 and said.file not in waiting and not held:
                    found.add(said.file)
        return found
