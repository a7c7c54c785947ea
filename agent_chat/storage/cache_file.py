"""A file in a channel's cache, which saves reading others: deletable at any time, and as good as none when damaged.

The first line holds a version and the CRC-32 of the rest. Whoever loads it checks what it tells before believing it.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat.storage import publication

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel

MAX_BYTES = 256 << 20


class CacheFile:
    """One cache of a channel; `warnings` tell that it could not be used, which costs time and nothing else."""

    def __init__(self, channel: Channel, name: str, version: str) -> None:
        self._workspace = channel.workspace
        self._layout = channel.layout
        self._name = name
        self._version = version
        self.warnings: list[str] = []

    def load(self) -> bytes:
        """Returns what was stored last; nothing where there is no such file, or a damaged one, or another version's."""
        try:
            data = self._workspace.files.read_file(self._layout.cached(self._name), MAX_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            self._warn("read", error)
            return b""
        head, _, rest = data.partition(b"\n")
        return rest if head == self._head(rest) else b""

    def store(self, data: bytes) -> None:
        """Replaces the file, without a sync; where nobody may write in the channel it is left as it is."""
        files = self._workspace.files
        temporary = self._layout.temporary(self._workspace.ids.fresh())
        try:
            if not publication.exists(files, self._layout.cache):
                if not files.writable(self._layout.folder):
                    return
                files.make_folder(self._layout.cache)
            elif not files.writable(self._layout.cache):
                return
            files.write_new(temporary, self._head(data) + b"\n" + data, sync=False)
            publication.replace(files, temporary, self._layout.cached(self._name))
        except OSError as error:
            self._warn("stored", error)

    def _head(self, data: bytes) -> bytes:
        return f"{self._version} {crc32(data):08x}".encode("ascii")

    def _warn(self, what: str, error: OSError) -> None:
        reason = error.strerror or str(error)
        self.warnings.append(f".cache/{self._name} cannot be {what}, so calls are slower: {reason}")
