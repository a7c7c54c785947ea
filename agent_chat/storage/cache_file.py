"""A cache, a file that saves reading others: deletable at any time, and as good as none when damaged.

The first line holds a version and the CRC-32 of the rest. Whoever loads it checks what it tells before believing it.
"""

from __future__ import annotations

from binascii import crc32

from agent_chat.storage import layout, publication

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace

MAX_BYTES = 256 << 20


class CacheFile:
    """One cache; `warnings` tell that it could not be used, which costs time and nothing else.

    Its `folder` is made when the cache is first stored.
    """

    def __init__(self, workspace: Workspace, folder: str, name: str, version: str) -> None:
        self._workspace = workspace
        self._folder = folder
        self._path = layout.join(folder, name)
        self._version = version
        self.warnings: list[str] = []

    def load(self) -> bytes:
        """Returns what was stored last; nothing where there is no such file, or a damaged one, or another version's."""
        try:
            return self.load_or_fail()
        except OSError as error:
            self._warn("read", error)
            return b""

    def load_or_fail(self) -> bytes:
        """Returns what `load` does, but fails with OSError where the file cannot be read."""
        try:
            data = self._workspace.files.read_file(self._path, MAX_BYTES)
        except FileNotFoundError:
            return b""
        head, _, rest = data.partition(b"\n")
        return rest if head == self._head(rest) else b""

    def store(self, data: bytes) -> None:
        """Replaces the file, without a sync; where nobody may write there it is left as it is."""
        files = self._workspace.files
        temporary = layout.temporary_in(self._folder, self._workspace.ids.fresh())
        try:
            if not publication.exists(files, self._folder):
                if not files.writable(self._folder.rpartition(layout.SEPARATOR)[0]):
                    return
                files.make_folder(self._folder)
            elif not files.writable(self._folder):
                return
            files.write_new(temporary, self._head(data) + b"\n" + data, sync=False)
            publication.replace(files, temporary, self._path)
        except OSError as error:
            self._warn("stored", error)

    def remove(self) -> None:
        """Removes the file, if it is there."""
        if publication.exists(self._workspace.files, self._path):
            self._workspace.files.remove(self._path)

    def _head(self, data: bytes) -> bytes:
        return f"{self._version} {crc32(data):08x}".encode("ascii")

    def _warn(self, what: str, error: OSError) -> None:
        reason = error.strerror or str(error)
        where = "/".join(self._path.split(layout.SEPARATOR)[-2:])
        self.warnings.append(f"{where} cannot be {what}, so calls are slower: {reason}")
