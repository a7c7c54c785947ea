"""The tombstones of a channel as a file: appended to, read as a whole, and their numbers by a cache.

Who posts or reads asks for the numbers alone, each time; so they are kept in a cache, which is believed while the file
has the times, size and inode that it had. Times younger than two seconds are not believed: the file may change again
within one tick of a coarse clock.
"""

from __future__ import annotations

from agent_chat.records import json_codec
from agent_chat.records import tombstone as tombstone_record
from agent_chat.records.digest import sha256_of
from agent_chat.records.message import MAX_FILE_BYTES
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.layout import TOMBSTONES
from agent_chat.storage.removed_numbers import FORM, RemovedNumbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import stat_result

    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.layout import ChannelLayout
    from agent_chat.storage.workspace import Workspace

CACHE_FILE = "tombstones.index"
_SETTLING_SECONDS = 2.0


class TombstoneStore:
    """The tombstones of one channel; where nothing was removed there is no file, and nobody asks."""

    def __init__(self, workspace: Workspace, layout: ChannelLayout) -> None:
        self._workspace = workspace
        self._layout = layout
        self._path = layout.file(TOMBSTONES)

    def load(self) -> list[Tombstone]:
        """Returns all tombstones; none where there is no such file, or no ordinary one."""
        return tombstone_record.parse(self._read())[0]

    def with_key(self, key: str) -> list[Tombstone]:
        """Returns the tombstones of messages with a key, without reading what the other lines say."""
        needle = json_codec.encode(key).encode("utf-8")
        lines = [line for line in self._read().split(b"\n") if needle in line]
        return [each for each in tombstone_record.parse(b"\n".join(lines))[0] if each.key == key]

    def faults(self) -> list[tuple[int, str]]:
        """Returns the malformed lines by number, with what is wrong with them."""
        return tombstone_record.parse(self._read())[1]

    def numbers(self, *, keep: bool = False) -> RemovedNumbers:
        """Returns the numbers of all tombstones, from the cache where that may be believed.

        With `keep` they are cached: by who may change files of the channel.
        """
        before = self._status()
        mark = self._mark(before)
        cache = CacheFile(self._workspace, self._layout.cache, CACHE_FILE, FORM)
        if mark:
            head, _, rest = cache.load().partition(b"\n")
            if head == mark:
                return RemovedNumbers.from_bytes(rest)
        found = RemovedNumbers.of((each.seq, each.file) for each in self.load())
        if keep and mark and self._mark(self._status()) == mark:
            cache.store(mark + b"\n" + found.to_bytes())
        return found

    def unlike(self, file_names: Sequence[str]) -> list[str]:
        """Returns those of some removed files that are there again with other bytes; fails with OSError."""
        removed = {(each.file, each.sha256) for each in self.load()}
        found: list[str] = []
        for name in file_names:
            try:
                data = self._workspace.files.read_file(self._layout.file(name), MAX_FILE_BYTES)
            except FileNotFoundError:
                continue
            if (name, sha256_of(data)) not in removed:
                found.append(name)
        return found

    def append(self, tombstones: Sequence[Tombstone]) -> None:
        """Adds a batch, durably; its caller holds the channel's lock."""
        data = tombstone_record.render_batch(tombstones, self._workspace.clock.timestamp())
        files = self._workspace.files
        try:
            files.append(self._path, data)
        except FileNotFoundError:
            files.write_new(self._path, data)
        # Also where it was there: whoever made it may have been killed before it synced the folder.
        files.sync_folder(self._layout.folder)

    def _read(self) -> bytes:
        try:
            return self._workspace.files.read_file(self._path, tombstone_record.MAX_BYTES)
        except (FileNotFoundError, NotOrdinaryError):
            return b""

    def _status(self) -> stat_result | None:
        try:
            return self._workspace.files.status(self._path)
        except FileNotFoundError:
            return None

    def _mark(self, status: stat_result | None) -> bytes:
        """Returns what tells that the file is as it was; nothing where that cannot be told."""
        if status is None or self._workspace.clock.now() - max(status.st_mtime, status.st_ctime) < _SETTLING_SECONDS:
            return b""
        return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}".encode("ascii")
