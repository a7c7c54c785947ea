"""Reads what belongs to hosts, wherever it is: settings, lists of plugins, what may be started. It only looks.

Links are followed, as the hosts follow them. What is missing is None or nothing; what cannot be read is a
`SourceError`, so that it never looks like what is not there.
"""

from __future__ import annotations

from agent_chat.records.json_edit import Document, JsonEditError
from agent_chat.storage import filesystem, layout, real_place
from agent_chat.storage.filesystem import FileSystem, is_file, is_folder
from agent_chat.storage.real_place import Place, Walker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_chat.storage.workspace import Clock

MAX_BYTES = 4 << 20
_NOTHING: dict[str, object] = {}


class SourceError(ValueError):
    """A file that is there and cannot be read, or not as its format; its text names it and is fit for a user."""


class Sources:
    """What lies on the disk; each file is read once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._texts: dict[str, str | None] = {}

    def real(self, path: str) -> str | None:
        """Returns where an absolute path ends, links followed; None where nothing is there."""
        if not filesystem.is_path(path):
            raise SourceError(f"{path!a} is no path")
        try:
            place = Walker().walk(Place(layout.SEPARATOR), path)
        except OSError as error:
            raise SourceError(f"{path} cannot be looked at: {error.strerror or error}") from error
        return None if place.missing else place.path

    def is_file(self, path: str) -> bool:
        """Tells whether an ordinary file is there, links followed."""
        real = self.real(path)
        status = None if real is None else real_place.status_at(real)
        return status is not None and is_file(status)

    def is_folder(self, path: str) -> bool:
        """Tells whether a folder is there, links followed."""
        real = self.real(path)
        status = None if real is None else real_place.status_at(real)
        return status is not None and is_folder(status)

    def names_in(self, path: str) -> list[str]:
        """Returns the names in a folder, sorted; none where it is missing."""
        real = self.real(path)
        if real is None:
            return []
        try:
            return sorted(FileSystem(real, self._clock).list_folder(real))
        except NotADirectoryError:
            return []
        except OSError as error:
            raise SourceError(f"{path} cannot be listed: {error.strerror or error}") from error

    def text(self, path: str) -> str | None:
        """Returns the text of a file, None where there is none."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str | None:
        if not self.is_file(path):
            if self.real(path) is not None:
                raise SourceError(f"{path} is no ordinary file")
            return None
        try:
            data = FileSystem(path, self._clock).read_named(path, MAX_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror or error}") from error
        if len(data) > MAX_BYTES:
            raise SourceError(f"{path} is larger than {MAX_BYTES >> 20} MiB")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SourceError(f"{path}: byte {error.start} is no UTF-8") from None

    def fields(self, path: str) -> Mapping[str, object]:
        """Returns the object in a file of JSON with comments, an empty one where the file is missing or empty."""
        text = self.text(path)
        if text is None or not text.strip():
            return _NOTHING
        try:
            document = Document(text)
            return fields_of(document.value(document.root))
        except JsonEditError as error:
            raise SourceError(f"{path}: {error}") from None


def fields_of(value: object) -> Mapping[str, object]:
    """Returns an object as it is, and of everything else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def items_of(value: object) -> list[object]:
    """Returns a list as it is, and of everything else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str:
    """Returns a text as it is, and of everything else an empty one."""
    return value if isinstance(value, str) else ""
