"""The paths of all locks without opening each: a cache of what every lock's file says, checked before it is believed.

A line is believed only of a file that still has the time, size and number that it had when it was read; all others are
read. The cache may be deleted at any time, and a damaged one counts as none.
"""

from __future__ import annotations

from agent_chat.errors import DAMAGED, ChatError
from agent_chat.records.locked_path import LockedPath
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.damaged_locks import paths_of, sound_paths
from agent_chat.storage.journal import LOCKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_chat.storage.record_store import RecordStore

LOCKS_FILE = "locks.index"
_VERSION = "2"


class LockIndex:
    """The locks of a channel and their paths; `warnings` tell of what was set aside."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records
        self._workspace = records.channel.workspace
        self._layout = records.channel.layout
        self._cache = CacheFile(records.channel.workspace, records.channel.layout.cache, LOCKS_FILE, _VERSION)
        self._fresh: dict[str, str] = {}
        self.warnings = self._cache.warnings
        self._added: list[tuple[str, tuple[LockedPath, ...]]] = []

    def paths(
        self, may_matter: Callable[[str, str], bool] | None = None
    ) -> Iterator[tuple[str, tuple[LockedPath, ...]]]:
        """Yields the place of every lock and its paths; of a damaged one those that can be read.

        With `may_matter` only of those locks one of whose paths it accepts, by work tree and normalized path.
        """
        known = self._load()
        for name in self._records.names(LOCKS):
            place = f"{LOCKS}/{name}"
            mark = "" if self._records.concerns(place) else self._mark(place)
            line = known.get(name, "")
            if mark and line.startswith(mark):
                self._fresh[name] = line
            else:
                line = self._read_line(place, mark)
            tree, *texts = line.split("\t")[1:] or [""]
            found = [text.partition(" ") for text in texts if text]
            if may_matter is None or any(may_matter(tree, path) for _, _, path in found):
                yield (
                    place,
                    tuple(
                        LockedPath(normalized_path=path, display_path=path, kind=kind, tree=tree)
                        for kind, _, path in found
                    ),
                )

    def _read_line(self, place: str, mark: str) -> str:
        """Reads a lock and returns its line.

        It is kept unless the file was replaced between the two looks, or is damaged: what the journal tells of such a
        one may come later, with the journal.
        """
        try:
            data = self._records.read(place)
        except ChatError as error:
            if error.kind != DAMAGED:
                raise
            data = b""
        if data is None:
            return ""
        sound = sound_paths(data)
        paths = sound or paths_of(self._records, place, data)
        if not paths:
            channel = self._records.channel.name
            self.warnings.append(f"{channel}/{place} is damaged, and nothing tells what it holds; see doctor {channel}")
        line = _line(mark or "\t", paths)
        if sound and mark and mark == self._mark(place):
            self._fresh[place.rpartition("/")[2]] = line
        return line

    def add(self, place: str, paths: tuple[LockedPath, ...]) -> None:
        """Takes note of a lock that its caller has just written, under the channel's lock."""
        self._added.append((place, paths))

    def store(self) -> None:
        """Stores what `paths` and `add` gathered; a failure costs time only, and is a warning."""
        for place, paths in self._added:
            self._fresh[place.rpartition("/")[2]] = _line(self._mark(place), paths)
        # A file's name may be no text at all, and costs nobody anything.
        text = "\n".join(f"{name}\t{line}" for name, line in self._fresh.items())
        self._cache.store(text.encode("utf-8", "surrogatepass"))

    def _mark(self, place: str) -> str:
        """Returns what tells that a file is still the one that was read; empty where it cannot be looked at.

        Such a file is read, and it is that which fails.
        """
        try:
            status = self._workspace.files.status(self._layout.record(place))
        except OSError:
            return ""
        return f"{status.st_mtime_ns} {status.st_size} {status.st_ino}\t"

    def _load(self) -> dict[str, str]:
        """Returns the stored lines by file name; none where there is no index, or a damaged one."""
        try:
            lines = self._cache.load().decode("utf-8", "surrogatepass").split("\n")
        except UnicodeDecodeError:
            return {}
        return dict(line.split("\t", 1) for line in lines if "\t" in line)


def _line(mark: str, paths: tuple[LockedPath, ...]) -> str:
    tree = paths[0].tree if paths else ""
    return mark + "\t".join((tree, *(f"{path.kind} {path.normalized_path}" for path in paths)))
