"""What git's repositories hold, without asking git: whether an object with a hash, abbreviated or not, is there.

An object is a loose file, or stands in the index of a pack (gitrepository-layout(5), gitformat-pack(5)); a repository
may borrow those of others (`objects/info/alternates`). What cannot be looked at, or is damaged, is never "not there".
"""

from __future__ import annotations

import os
import stat

from agent_chat.storage import real_place
from agent_chat.storage.git_pack import CannotTellError, PackIndex
from agent_chat.storage.git_trees import GitTrees
from agent_chat.storage.real_place import Place, Walker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.filesystem import FileSystem

_MAX_TEXT = 1 << 20
_MAX_STORES = 50
_TRIES = 3
_HASH_BYTES = {"sha1": 20, "sha256": 32}
_HEX = frozenset("0123456789abcdef")


class GitObjects:
    """The repositories that were met in one call."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._walker = Walker()
        self._trees = GitTrees(files, self._walker)
        self._hash_bytes: dict[str, int] = {}

    def repository_around(self, folder: str) -> str:
        """Returns the path of the repository that an absolute path of a folder belongs to, "" where there is none.

        Fails with CannotTellError where `.git` leads nowhere, and with OSError.
        """
        place = self._walker.walk(Place(os.sep), folder)
        for length in range(len(place.names) - place.missing, -1, -1):
            each = place.up_to(length)
            link = os.path.join(each.path, ".git")
            status = real_place.status_at(link)
            if status is not None:
                repository = self._trees.repository(each)
                if repository and self._is_repository(repository):
                    return repository
                if not stat.S_ISDIR(status.st_mode):
                    raise CannotTellError(f"{link} leads to no repository")
            if self._is_repository(each.path):
                return each.path
        return ""

    def holds(self, repository: str, digits: str) -> bool:
        """Tells whether a repository holds an object whose hash begins with these digits; several are there too.

        Fails with CannotTellError, or with OSError, where it was not seen and not everything could be looked at.
        """
        digits = digits.lower()
        size = self._size_of_hashes(repository)
        if len(digits) > 2 * size:
            return False
        for _ in range(_TRIES):
            stores, doubts = self._stores_of(repository)
            packs = [names_if_there(os.path.join(store, "pack")) for store in stores]
            for store, names in zip(stores, packs):
                if self._is_loose(store, digits, size, doubts) or self._is_packed(store, names, digits, size, doubts):
                    return True
            # Git moves objects between loose files and packs while others look for them.
            if packs == [names_if_there(os.path.join(store, "pack")) for store in stores]:
                if doubts:
                    raise doubts[0]
                return False
        raise CannotTellError("its packs change all the time")

    # -- where objects are -----------------------------------------------------------------------------------------

    @staticmethod
    def _is_repository(path: str) -> bool:
        """Tells whether a folder is a repository, as git tells it; a bare one has no other name."""
        statuses = [real_place.status_at(os.path.join(path, name)) for name in ("HEAD", "objects", "refs")]
        return all(statuses) and not stat.S_ISDIR(statuses[0].st_mode)  # type: ignore[union-attr]

    def _size_of_hashes(self, repository: str) -> int:
        """Returns how many bytes the hashes of a repository have (git-config(1), extensions.objectFormat)."""
        if repository not in self._hash_bytes:
            text = self._text(os.path.join(repository, "config"))
            form = _value_in(text or "", "extensions", "objectformat") or "sha1"
            if form not in _HASH_BYTES:
                raise CannotTellError(f"its object format is {form[:20]}")
            self._hash_bytes[repository] = _HASH_BYTES[form]
        return self._hash_bytes[repository]

    def _stores_of(self, repository: str) -> tuple[list[str], list[Exception]]:
        """Returns the folders in which a repository's objects are, its own first, and what could not be followed."""
        doubts: list[Exception] = []
        stores: list[str] = []
        pending = [os.path.join(repository, "objects")]
        while pending:
            place = self._walker.walk(Place(os.sep), pending.pop(0))
            store = place.path
            if place.missing:
                doubts.append(CannotTellError(f"{store} is missing"))
                if len(doubts) > _MAX_STORES:
                    break
            elif store not in stores:
                if len(stores) == _MAX_STORES:
                    doubts.append(CannotTellError("it borrows from too many others"))
                    break
                stores.append(store)
                try:
                    text = self._text(os.path.join(store, "info", "alternates"))
                except (OSError, CannotTellError) as error:
                    doubts.append(error)
                    continue
                for line in (text or "").split("\n"):
                    if line.startswith('"'):
                        doubts.append(CannotTellError("it names another store in quotes"))
                    elif line and not line.startswith("#"):
                        pending.append(os.path.join(store, line))
        return stores, doubts

    def _text(self, path: str) -> str | None:
        """Returns the text of a small ordinary file, None where there is none."""
        try:
            data, status = self._files.read_part(path, 0, _MAX_TEXT)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if status.st_size > len(data):
            raise CannotTellError(f"{path} is too large")
        return data.decode("utf-8", "surrogateescape")

    # -- looking ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _is_loose(store: str, digits: str, size: int, doubts: list[Exception]) -> bool:
        folder = os.path.join(store, digits[:2])
        rest = digits[2:]
        try:
            whole = len(digits) == 2 * size
            names = [rest] if whole else [name for name in names_if_there(folder) if name.startswith(rest)]
            for name in names:
                if len(name) != 2 * size - 2 or not _HEX.issuperset(name):
                    continue
                status = real_place.status_at(os.path.join(folder, name))
                if status is not None and stat.S_ISREG(status.st_mode) and status.st_size:
                    return True
                if status is not None:  # a crash leaves empty ones
                    doubts.append(CannotTellError(f"{os.path.join(folder, name)} is damaged"))
        except OSError as error:
            doubts.append(error)
        return False

    def _is_packed(self, store: str, names: list[str], digits: str, size: int, doubts: list[Exception]) -> bool:
        known = frozenset(names)
        for name in names:
            stem, ending = os.path.splitext(name)
            path = os.path.join(store, "pack", stem)
            if ending == ".pack" and stem.startswith("pack-") and stem + ".idx" not in known:
                doubts.append(CannotTellError(f"{path}.pack has no index"))
            if ending != ".idx" or stem + ".pack" not in known:
                continue
            try:
                if PackIndex(self._files, path, size).holds(digits):
                    return True
            except (OSError, CannotTellError) as error:
                doubts.append(error)
        return False


def names_if_there(folder: str) -> list[str]:
    """Returns the sorted names in a folder that need not be there."""
    try:
        return sorted(real_place.names_in(folder))
    except FileNotFoundError:
        return []


def _value_in(config: str, section: str, key: str) -> str:
    """Returns the last value of a key in a file of git's configuration, in lower case; "" where it has none."""
    found, inside = "", False
    for line in config.split("\n"):
        text = line.strip()
        if text.startswith("["):
            head, _, text = text[1:].partition("]")
            inside = head.strip().lower() == section
        name, _, value = text.partition("=")
        if inside and name.strip().lower() == key:
            found = value.split("#")[0].split(";")[0].strip().strip('"').lower()
    return found
