"""What hooks remember of a host's session: which unread messages it was told of, and which it was held for.

It lies in a folder of the root beside the channels, in a file for each session. Who cannot remember must not act: what
is not noted would be said again and again. Of several hooks that run at once for one session, one notes first.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.records import json_codec
from agent_chat.records.shown_text import shortened
from agent_chat.storage import layout, publication
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_chat.operations.glance import Count
    from agent_chat.storage.workspace import Workspace

    Marks = dict[str, list[int]]
    Renew = Callable[[dict[str, object]], bool]

HELD = "held"
TOLD = "told"
TURNS = "turns"
LOCK_SECONDS = 0.3
KEPT_SECONDS = 30 * 86400.0
MAX_BYTES = 1 << 20
END = ".session"
VERSION = 1
MAX_NAME_BYTES = 200
MAX_TURN_BYTES = 200
_OF_SESSIONS = (END, END + layout.LOCK_END, layout.WAITING_END)


class SessionMemory:
    """The memory of one session of an agent; one without an id shares its agent's. `faults` say what failed."""

    def __init__(self, workspace: Workspace, agent: str, session: str) -> None:
        self._workspace = workspace
        self._folder = layout.hooks_folder(workspace.root)
        self._path = layout.join(self._folder, _file_name(names.fold(agent), session))
        self.faults: list[str] = []

    def note(self, what: str, counts: Sequence[Count]) -> bool:
        """Notes that unread messages were told of, or held for; tells whether some of them had not been yet.

        False where that cannot be noted. A mark never goes back, whatever became of the messages: who moved a cursor
        back, or made another channel of that name, is not held again for the same numbers.
        """

        def renew(fields: dict[str, object]) -> bool:
            marks = _marks(fields, what)
            new = [count for count in counts if _is_new(count, marks.get(count.channel))]
            for count in counts:
                last, late = marks.get(count.channel, (0, 0))
                # Where there was no time to look for late ones, those that were noted may still be there.
                late = max(late, count.late) if count.late or count.more else 0
                marks[count.channel] = [max(last, count.highest), late]
            fields[what] = marks
            return bool(new)

        return self._change(renew)

    def note_once(self, what: str) -> bool:
        """Notes that something was said in this session; tells whether it had not been, True where nobody knows."""
        return self.note_turn(what, "once")

    def note_turn(self, what: str, turn: str) -> bool:
        """Notes that something was said in a turn; tells whether it had not been yet, True where that is not known."""
        if not turn:
            return True
        turn = shortened(turn, MAX_TURN_BYTES)

        def renew(fields: dict[str, object]) -> bool:
            known = fields.get(TURNS)
            turns = known if isinstance(known, dict) else {}
            new = turns.get(what) != turn
            fields[TURNS] = {**turns, what: turn}
            return new

        return self._change(renew, otherwise=True)

    def waiter(self) -> FileLock | None:
        """Returns the lock of the one process that waits for this session, held; None where another holds it."""
        lock = FileLock(self._workspace.files, self._path[: -len(END)] + layout.WAITING_END, self._workspace.clock)
        try:
            self._workspace.files.make_folder(self._folder)
            return lock if lock.acquire(0) else None
        except (OSError, ChatError) as error:
            self.faults.append(f"hooks cannot tell whether one waits already: {error}")
            return None

    def _change(self, renew: Renew, *, otherwise: bool = False) -> bool:
        """Changes what is stored, one process at a time, and returns what `renew` does; else `otherwise`."""
        files = self._workspace.files
        try:
            is_new = not publication.exists(files, self._path)
            if is_new:
                files.make_folder(self._folder)
            lock = FileLock(files, self._path + layout.LOCK_END, self._workspace.clock)
            if not lock.acquire(LOCK_SECONDS):
                self.faults.append(f"{self._path} is locked by another hook")
                return otherwise
            try:
                fields, sound = self._load()
                before = json_codec.encode(fields)
                found = renew(fields)
                if json_codec.encode(fields) != before or not sound:
                    self._store(fields)
            finally:
                lock.release()
            if is_new:
                self._forget_old()
        except (OSError, ChatError) as error:
            self.faults.append(f"hooks cannot remember what they said: {error}")
            return otherwise
        # What was forgotten by damage may have been noted.
        return found if sound else otherwise

    def _load(self) -> tuple[dict[str, object], bool]:
        """Returns what is stored, and whether it is whole; fails with ChatError for that of a later version."""
        try:
            data = self._workspace.files.read_file(self._path, MAX_BYTES)
            fields = json_codec.object_of(json_codec.decode(data))
        except FileNotFoundError:
            return {"schema_version": VERSION}, True
        except json_codec.JsonError:
            return {"schema_version": VERSION}, False
        version = fields.get("schema_version")
        if isinstance(version, int) and version > VERSION:
            raise ChatError("RECORD_VERSION", f"{self._path} is of the later version {version}")
        known = {name: fields[name] for name in (HELD, TOLD, TURNS) if isinstance(fields.get(name), dict)}
        is_whole = version == VERSION and len(known) + 1 == len(fields)
        return {"schema_version": VERSION, **known}, is_whole

    def _store(self, fields: dict[str, object]) -> None:
        files = self._workspace.files
        temporary = layout.temporary_in(self._folder, self._workspace.ids.fresh())
        # Not synced: after a power loss the session is gone too.
        files.write_new(temporary, (json_codec.encode(fields, indent=2) + "\n").encode("utf-8"), sync=False)
        publication.replace(files, temporary, self._path)

    def _forget_old(self) -> None:
        """Removes the files of sessions that nobody has used for a month; what cannot be removed stays."""
        files = self._workspace.files
        old = self._workspace.clock.now() - KEPT_SECONDS
        try:
            for name in files.list_folder(self._folder):
                path = layout.join(self._folder, name)
                if (name.endswith(_OF_SESSIONS) or name.startswith(layout.TEMPORARY_PREFIX)) and self._is_old(
                    path, old
                ):
                    files.remove(path)
        except OSError as error:
            self.faults.append(f"what is old in {self._folder} stays: {error.strerror or error}")

    def _is_old(self, path: str, instant: float) -> bool:
        try:
            status = self._workspace.files.status(path)
        except FileNotFoundError:
            return False  # another hook was quicker
        return is_file(status) and status.st_mtime < instant


def _file_name(agent: str, session: str) -> str:
    """Returns the name of the file of an agent's session, which no other agent or session has."""
    plain = all(sign.isascii() and (sign.islower() or sign.isdigit() or sign == "-") for sign in session)
    data = session.encode("utf-8", "surrogatepass")
    key = "any" if not session else f"id-{session}" if plain else f"hex-{data.hex()}"
    name = f"{agent}.{key}"
    if len(name.encode("utf-8")) > MAX_NAME_BYTES:
        from hashlib import sha256

        digest = sha256(agent.encode("utf-8") + b"\0" + data).hexdigest()
        name = f"{digest}.long"
    return name + END


def _marks(fields: dict[str, object], what: str) -> Marks:
    """Returns, by channel, the number of the last message noted and how many late ones were."""
    stored = fields.get(what)
    marks: Marks = {}
    for channel, mark in stored.items() if isinstance(stored, dict) else ():
        if isinstance(mark, list) and len(mark) == 2 and all(isinstance(number, int) for number in mark):
            marks[channel] = mark
    return marks


def _is_new(count: Count, mark: Sequence[int] | None) -> bool:
    """Tells whether messages of a channel are unread that were not noted."""
    if mark is None:
        return bool(count.unread or count.late)
    return count.highest > mark[0] or count.late > mark[1]
