"""Cursors: the last number that each agent has read, replaced as a whole and never moved back by itself.

A cursor file has the number, then how many messages lay at or below it when it was written, then a sum over their
names. The last two tell whether a message arrived below the cursor later on; a file with the number alone (as
agent-chat-plugin writes it) is a whole cursor too.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.names import MAX_SEQ
from agent_chat.records.value import Value
from agent_chat.storage import publication
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import NotOrdinaryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.workspace import Workspace

MAX_BYTES = 1024
LOCK_SECONDS = 10.0


class Cursor(Value):
    """A stored cursor. `count` and `names_sum` are None where the file does not have them; `written_at` is seconds."""

    seq: int
    count: int | None = None
    names_sum: int | None = None
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
    return Cursor(seq=seq, count=count, names_sum=names_sum)


def render(seq: int, count: int, names_sum: int) -> bytes:
    """Returns the bytes of a cursor file."""
    return f"{seq}\n{count}\n{names_sum:08x}\n".encode("ascii")


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

    def load(self, agent: str) -> Cursor | None:
        """Returns an agent's cursor, None when it has none yet; fails with CURSOR_INVALID when it cannot be told."""
        path = self._layout.cursor(agent)
        files = self._workspace.files
        try:
            data = files.read_file(path, MAX_BYTES)
            written_at = files.status(path).st_mtime
        except FileNotFoundError:
            return None
        except NotOrdinaryError:
            raise ChatError("PATH_REFUSED", f"{path} is no ordinary file", path=path) from None
        try:
            return parse(data).replace(written_at=written_at)
        except CursorError:
            raise ChatError(
                "CURSOR_INVALID",
                f"the cursor of {agent} in {self._channel} holds no number: {path}",
                next=f"agent-chat ack {self._channel} --reset SEQ --as {agent}",
                path=path,
            ) from None

    def seq(self, agent: str) -> int:
        """Returns the number that an agent's cursor is at, 0 when it has none."""
        cursor = self.load(agent)
        return cursor.seq if cursor else 0

    def every(self) -> dict[str, Cursor | None]:
        """Returns the cursors by file name without its ending; None for one that holds no number."""
        try:
            names = self._workspace.files.list_folder(self._layout.cursors)
        except FileNotFoundError:
            return {}
        found: dict[str, Cursor | None] = {}
        for name in names:
            if not name.endswith(".txt"):
                continue
            try:
                found[name[:-4]] = parse(self._workspace.files.read_file(self._layout.cursors_file(name), MAX_BYTES))
            except FileNotFoundError:
                continue
            except (CursorError, NotOrdinaryError):
                found[name[:-4]] = None
        return found

    def store(self, agent: str, seq: int, known: tuple[int, int], *, back: bool = False) -> int:
        """Stores a cursor and returns what is stored now: never less than before, unless `back` is asked for.

        `known` is what `Numbers.known_at(seq)` says. Two readers of one name exclude each other by the cursor's lock.
        """
        files = self._workspace.files
        files.make_folder(self._layout.cursors)
        lock = FileLock(files, self._layout.cursor_lock(agent), self._workspace.clock)
        if not lock.acquire(LOCK_SECONDS):
            raise ChatError("CHANNEL_BUSY", f"the cursor of {agent} in {self._channel} is locked{lock.holder()}")
        try:
            if not back:
                there = self.seq(agent)
                if there > seq:
                    return there
            # Synced before it takes the name: after a power loss a cursor is the old or the new one, never torn.
            temporary = publication.write_temporary(self._workspace, self._layout, render(seq, *known))
            publication.replace(files, temporary, self._layout.cursor(agent))
            return seq
        finally:
            lock.release()
