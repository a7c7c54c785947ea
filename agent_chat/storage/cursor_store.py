"""Cursors: the last number that each agent has read, replaced as a whole and never moved back by itself.

A cursor file has, a line each: the number; how many messages lay at or below it when the channel was listed; a sum over
their names; how many milliseconds before the file was written that was; then the files that arrived below it later on
and were announced by name. The second to fourth line tell such arrivals; a file with the number alone (as
agent-chat-plugin writes it) is a whole cursor too.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.names import MAX_SEQ, fault_of_name
from agent_chat.records.value import Value
from agent_chat.storage import publication
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.layout import CURSOR_END, LOCK_END, WAITING_END
from agent_chat.storage.message_numbers import names_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.workspace import Workspace

MAX_BYTES = 4 << 20
MAX_LATE = 20_000
MAX_AGE_MILLISECONDS = 9_999_999_999
LOCK_SECONDS = 10.0
LOOK_SECONDS = 0.005


class Cursor(Value):
    """A stored cursor. `count` and `names_sum` are None where the file does not have them.

    The channel was listed `listed_before` milliseconds before `written_at`, which is in seconds of the file system.
    `late` are the files that arrived below the cursor and were announced; they wait for a new number.
    """

    seq: int
    count: int | None = None
    names_sum: int | None = None
    listed_before: int = 0
    late: tuple[str, ...] = ()
    written_at: float = 0.0


class CursorError(ValueError):
    """The bytes are no cursor."""


def parse(data: bytes) -> Cursor:
    """Returns the cursor that a file's bytes hold; fails with CursorError."""
    lines = data.split(b"\n")
    seq = _number(lines[0].strip(), 10)
    if len(data) > MAX_BYTES or seq is None or seq > MAX_SEQ:
        raise CursorError("the cursor file holds no number")
    count = _number(lines[1].strip(), 10) if len(lines) > 1 else None
    names_sum = _number(lines[2].strip(), 16) if len(lines) > 2 else None
    listed_before = _number(lines[3].strip(), 10) if len(lines) > 3 else None
    late = tuple(line.decode("utf-8", "surrogateescape") for line in lines[4:] if line)
    return Cursor(seq=seq, count=count, names_sum=names_sum, listed_before=listed_before or 0, late=late)


def render(seq: int, known: tuple[int, int], listed_before: int, late: Iterable[str] = ()) -> bytes:
    """Returns the bytes of a cursor file; `known` is what `Numbers.known_at(seq)` says."""
    lines = [str(seq), str(known[0]), f"{known[1]:08x}", str(listed_before), *late, ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _number(text: bytes, base: int) -> int | None:
    """Returns a plain number of at most 10 digits, or None."""
    digits = b"0123456789abcdef"[:base]
    if not 1 <= len(text) <= 10 or text.strip(digits):
        return None
    return int(text, base)


class CursorStore:
    """The cursors of one channel."""

    def __init__(self, workspace: Workspace, layout: ChannelLayout, channel: str) -> None:
        self._workspace = workspace
        self._layout = layout
        self._channel = channel

    def _where(self) -> dict[str, object]:
        return {**self._workspace.where(), "channel": self._channel}

    def load(self, agent: str, *, damaged_as_none: bool = False) -> Cursor | None:
        """Returns an agent's cursor, None when it has none yet; fails with CURSOR_INVALID when it cannot be told.

        Who is about to replace it anyway takes a damaged one for none.
        """
        path = self._layout.cursor(agent)
        try:
            return self._read(path)
        except FileNotFoundError:
            return None
        except CursorError:
            if damaged_as_none:
                return None
            raise ChatError(
                "CURSOR_INVALID",
                f"the cursor of {agent} in {self._channel} holds no number: {path}",
                next=self._workspace.call(f"ack {self._channel} --reset 0 --as {agent}"),
                where=self._where(),
                path=path,
            ) from None

    def _read(self, path: str) -> Cursor:
        """Reads one cursor file."""
        files = self._workspace.files
        return parse(files.read_file(path, MAX_BYTES)).replace(written_at=files.status(path).st_mtime)

    def seq(self, agent: str) -> int:
        """Returns the number that an agent's cursor is at, 0 when it has none."""
        cursor = self.load(agent)
        return cursor.seq if cursor else 0

    def every(self) -> dict[str, Cursor | None]:
        """Returns the cursors by file name without its ending; None for one that holds no number."""
        found: dict[str, Cursor | None] = {}
        for name in self._workspace.files.list_if_there(self._layout.cursors):
            if not name.endswith(CURSOR_END):
                continue
            agent = name[: -len(CURSOR_END)]
            try:
                found[agent] = self._read(self._layout.cursors_file(name))
            except FileNotFoundError:
                continue
            except (CursorError, NotOrdinaryError):
                found[agent] = None
        return found

    def locks(self) -> list[str]:
        """Returns the paths of the locks among the cursors: of those who move one, and of those who wait."""
        names = self._workspace.files.list_if_there(self._layout.cursors)
        return [self._layout.cursors_file(name) for name in sorted(names) if name.endswith((LOCK_END, WAITING_END))]

    def waiting(self, failures: list[tuple[str, ChatError | OSError]]) -> list[str]:
        """Returns the folded names of the agents that `wait` or `watch` now; adds what could not be told."""
        found: list[str] = []
        for name in sorted(self._workspace.files.list_if_there(self._layout.cursors)):
            agent = name[: -len(WAITING_END)]
            if not name.endswith(WAITING_END) or fault_of_name(agent):
                continue
            lock = FileLock(self._workspace.files, self._layout.waiting(agent), self._workspace.clock)
            try:
                # Who looks at the same instant has it too, for a moment and alone; who waits has it for longer, shared.
                if lock.acquire(LOOK_SECONDS, create=False):
                    lock.release()
                elif not lock.is_held_alone():
                    found.append(agent)
            except FileNotFoundError:
                continue
            except (ChatError, OSError) as error:
                failures.append((f"whether {agent} waits", error))
        return found

    def store(
        self,
        agent: str,
        seq: int,
        numbers: Numbers,
        *,
        late: Iterable[str] = (),
        unknown: Sequence[str] = (),
        since: float | None = None,
        back: bool = False,
    ) -> int:
        """Stores a cursor and returns what is stored now: never less than before, unless `back` is asked for.

        `numbers` is the listing by which the cursor was moved, `late` what it found below the cursor and announced.
        What is `unknown` came below it too but could not be read: it is left out of the count, and the time `since`
        which it may have come is kept. Two readers of one name exclude each other by the cursor's lock.
        """
        files = self._workspace.files
        files.make_folder(self._layout.cursors)
        lock = FileLock(files, self._layout.cursor_lock(agent), self._workspace.clock)
        if not lock.acquire(LOCK_SECONDS):
            raise ChatError(
                "CHANNEL_BUSY",
                f"the cursor of {agent} in {self._channel} is locked{lock.holder()}",
                where=self._where(),
            )
        try:
            there = self.load(agent, damaged_as_none=back)
            present = numbers.names_up_to(seq) if back else numbers  # above a cursor that goes back they are unread
            known_late = [name for name in (there.late if there else ()) if name in present]
            known_late += [name for name in late if name not in known_late]
            known_late = known_late[-MAX_LATE:]
            if there is not None and there.seq > seq and not back:
                return self._announced(agent, there, known_late)
            count, total = numbers.known_at(seq)
            known = (count - len(unknown), (total - names_sum(unknown)) & 0xFFFFFFFF)
            age = self._listed_before(numbers) if since is None or not unknown else self._age(since)
            self._replace(agent, render(seq, known, age, known_late))
            return seq
        finally:
            lock.release()

    def _announced(self, agent: str, there: Cursor, late: list[str]) -> int:
        """Remembers in a cursor that is further on already what was announced below it; returns where it is."""
        new = [name for name in late if name not in there.late]
        if new and there.count is not None and there.names_sum is not None:
            known = (there.count + len(new), (there.names_sum + names_sum(new)) & 0xFFFFFFFF)
            age = self._age(there.written_at - there.listed_before / 1000)
            self._replace(agent, render(there.seq, known, age, late))
        return there.seq

    def _replace(self, agent: str, data: bytes) -> None:
        # Synced before it takes the name: after a power loss a cursor is the old or the new one, never torn.
        temporary = publication.write_temporary(self._workspace, self._layout, data)
        publication.replace(self._workspace.files, temporary, self._layout.cursor(agent))

    def _age(self, instant: float) -> int:
        """Returns how many milliseconds ago an instant of the wall clock was, rounded up."""
        return min(max(int((self._workspace.clock.now() - instant) * 1000) + 1, 0), MAX_AGE_MILLISECONDS)

    def _listed_before(self, numbers: Numbers) -> int:
        """Returns how many milliseconds ago a listing began, rounded up; at most ten digits."""
        if numbers.listed_at is None:
            return 0
        return min(int((self._workspace.clock.monotonic() - numbers.listed_at) * 1000) + 1, MAX_AGE_MILLISECONDS)
