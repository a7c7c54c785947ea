"""Changes of files that belong to hosts and their users: planned, carried out as a whole, taken back when one fails.

All is read and decided before the first byte is written. Each file is replaced by one that was written and synced
beside it; should a later one fail, those before it are put back. A link or a folder in the way is refused. What was
made for our sake goes again: files that hold nothing else, and folders that are empty then.

A folder that was there, and empty, stays. That it was is told by the file that was made in it, by the number of line
breaks at its end: one as a rule, none where the file's own folder was there, two where the one above it was, and so on.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.host_extensions import ExtensionError
from agent_chat.records.env_file import EnvFileError
from agent_chat.records.json_edit import JsonEditError
from agent_chat.records.value import Value
from agent_chat.storage import filesystem, layout
from agent_chat.storage.filesystem import NotOrdinaryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from agent_chat.storage.project_files import ProjectFiles
    from agent_chat.storage.workspace import Clock, Ids

    class Content(Protocol):
        """What is put into a file: see `host_files`."""

        def made(self) -> str: ...
        def put(self, text: str) -> str: ...
        def take(self, text: str) -> str | None: ...


MAX_BYTES = 1 << 20
CREATED, CHANGED, UNCHANGED, REMOVED, DELETED = "created", "changed", "unchanged", "removed", "deleted"
STALE_SECONDS = 60.0


class Part(Value):
    """One content and the file that it belongs in, by its path below the folder, written with slashes.

    An `optional` one is put into a file that is there, and makes none. `ends`: the file's end tells of its folders.
    """

    path: str
    content: Content
    optional: bool = False
    ends: bool = True


class Change(Value):
    """What becomes of one file: its bytes before and after, None for no file; `taken`: by taking something out.

    `ends`: the end of the file tells of its folders.
    """

    path: str
    before: bytes | None
    after: bytes | None
    taken: bool = False
    ends: bool = True

    @property
    def word(self) -> str:
        """What the change is to the user."""
        if self.before == self.after:
            return UNCHANGED
        if self.after is None:
            return DELETED
        if self.before is None:
            return CREATED
        return REMOVED if self.taken else CHANGED


class Place:
    """The folder that files are written in: a project's, or one of the user's.

    `start` is what a user sees before a path in it; `manual` the command that shows what to write by hand.
    """

    def __init__(self, files: ProjectFiles, clock: Clock, ids: Ids, *, start: str, manual: str) -> None:
        self.files, self._clock, self._ids = files, clock, ids
        self._start, self._manual = start, manual

    def path(self, relative: str) -> str:
        """Returns the path of a file or folder that is named with slashes."""
        return layout.join(self.files.root, relative.replace("/", layout.SEPARATOR))

    def shown(self, relative: str) -> str:
        """Returns a path as the user knows it."""
        return self._start + relative

    def names_in(self, folder: str) -> list[str]:
        """Returns the names in a folder, none when it is missing."""
        try:
            return self.files.list_if_there(self.path(folder))
        except OSError as error:
            raise self._failure(error) from error

    def mentions(self, relative: str, text: str) -> bool:
        """Tells whether a file holds a text; False when it is missing."""
        data = self._read(relative)
        return data is not None and text.encode("utf-8") in data

    # -- plans -----------------------------------------------------------------------------------------------------

    def plan(self, put: Iterable[Part], taken: Iterable[Part] = ()) -> list[Change]:
        """Returns the changes that put some parts in, each into its file, and take others out."""
        changes = [self._plan_put(part) for part in put]
        return [*changes, *[self._plan_taken(part) for part in taken]]

    def _plan_put(self, part: Part) -> Change:
        before = self._read(part.path)
        if before is None:
            after = None if part.optional else self._made(part)
            return Change(path=part.path, before=None, after=after)
        text = self._asked(part, "put", before)
        assert text is not None
        after = text.encode("utf-8")
        if len(after) > MAX_BYTES:
            raise self._invalid(
                part.path, f"it would be larger than {MAX_BYTES >> 10} KiB, and could not be read again"
            )
        return Change(path=part.path, before=before, after=after)

    def _plan_taken(self, part: Part) -> Change:
        before = self._read(part.path)
        text = None if before is None else self._asked(part, "take", before)
        after = None if text is None else text.encode("utf-8")
        return Change(path=part.path, before=before, after=after, taken=True, ends=part.ends)

    def _read(self, path: str) -> bytes | None:
        try:
            data = self.files.read_if_there(self.path(path), MAX_BYTES)
        except OSError as error:
            raise self._failure(error) from error
        if data is not None and len(data) > MAX_BYTES:
            raise self._invalid(path, f"it is larger than {MAX_BYTES >> 10} KiB")
        return data

    def _asked(self, part: Part, what: str, data: bytes) -> str | None:
        """Returns the text that a content makes of that of a file."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._invalid(part.path, f"byte {error.start} is no UTF-8") from None
        try:
            return part.content.put(text) if what == "put" else part.content.take(text)
        except JsonEditError as error:
            raise self._invalid(part.path, str(error)) from None
        except (EnvFileError, ExtensionError) as error:
            raise self._refusal("SETUP_FILE_CONFLICT", part.path, str(error)) from None

    def _made(self, part: Part) -> bytes:
        """Returns the bytes of a new file, whose end says which of its folders was there and empty."""
        text = part.content.made().rstrip("\n") + "\n" * _breaks(self._empty_folder(part.path))
        return text.encode("utf-8")

    def _empty_folder(self, path: str) -> int | None:
        """Returns which of the folders of a new file is there and empty: 0 is its own; None for none of them."""
        for level, folder in enumerate(_folders(path)):
            try:
                return None if self.files.list_folder(self.path(folder)) else level
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._failure(error) from error
        return None

    # -- carrying out ----------------------------------------------------------------------------------------------

    def carry_out(self, changes: Sequence[Change]) -> None:
        """Makes the changes; when one fails those before it are taken back, and the error says if that failed."""
        done: list[Change] = []
        try:
            for change in changes:
                self._apply(change, done)
            self._remove_folders(changes)
        except (OSError, ChatError) as error:
            failure = self._failure(error)
            for change in reversed(done):
                inverse = change.replace(before=change.after, after=change.before)
                try:
                    self._apply(inverse, [])
                    self._remove_folders([inverse])
                except (OSError, ChatError) as second:
                    failure.message += f"; {change.path} could not be put back: {second}"
            raise failure from error

    def _apply(self, change: Change, done: list[Change]) -> None:
        """Makes one change; `done` gets it as soon as it may be seen."""
        if change.before == change.after or self._read(change.path) == change.after:
            return  # there is nothing to do, or another call was quicker
        path = self.path(change.path)
        folder = path.rpartition(layout.SEPARATOR)[0]
        made: list[str] = []
        try:
            self._make_folders(change.path, made)
            self._sweep(path)
            if change.after is None:
                self._require(change)
                self.files.remove(path)
            else:
                self._replace(change)
            done.append(change)
            self.files.sync_folder(folder)
        except (OSError, ChatError) as error:
            failure = self._failure(error)
            for place in [] if change in done else reversed(made):
                try:
                    self.files.remove_folder(place)
                except FileNotFoundError:
                    continue  # it could not even be made
                except OSError as second:
                    failure.message += f"; {place} could not be removed: {second.strerror}"
            raise failure from error

    def _replace(self, change: Change) -> None:
        """Writes the new bytes of a file beside it and gives them its name; on failure only the old ones are there."""
        path = self.path(change.path)
        temporary = _temporary(path) + f"{self._ids.fresh()}.tmp"
        assert change.after is not None
        if change.before is None:
            self.files.write_new(temporary, change.after)
        else:
            self.files.write_like(temporary, change.after, path)
        try:
            self._require(change)
            self.files.replace(temporary, path)
        except (OSError, ChatError) as error:
            failure = self._failure(error)
            try:
                self.files.remove(temporary)
            except OSError as second:
                failure.message += f"; {temporary} could not be removed: {second.strerror}"
            raise failure from error

    def _require(self, change: Change) -> None:
        """Fails unless a file is as it was read: its host, or somebody else, may write it too."""
        if self._read(change.path) != change.before:
            raise self._refusal("SETUP_FILE_CONFLICT", change.path, "it was changed meanwhile")

    def _sweep(self, path: str) -> None:
        """Removes what a call left that was killed while it wrote a file."""
        start = _temporary(path)
        folder, _, prefix = start.rpartition(layout.SEPARATOR)
        for name in self.files.list_folder(folder):
            left = layout.join(folder, name)
            if name.startswith(prefix) and self._clock.now() - self.files.status(left).st_mtime > STALE_SECONDS:
                self.files.remove(left)

    def _make_folders(self, path: str, made: list[str]) -> None:
        """Makes the folders of a file where they are missing; `made` gets them, the outermost first."""
        for folder in reversed(_folders(path)):
            place = self.path(folder)
            try:
                self.files.status(place)
            except FileNotFoundError:
                made.append(place)
                self.files.make_folder(place)
                self.files.sync_folder(place.rpartition(layout.SEPARATOR)[0])

    def _remove_folders(self, changes: Iterable[Change]) -> None:
        """Removes the folders of deleted files that are empty now and were not before there was anything of ours."""
        deleted = [change for change in changes if change.after is None and change.before is not None]
        kept = {folder for change in deleted for folder in _kept_folder(change)}
        for change in deleted:
            for folder in _folders(change.path):
                place = self.path(folder)
                try:
                    names = self.files.list_folder(place)
                except FileNotFoundError:
                    continue  # it went with a file before this one
                if folder in kept or names:
                    break
                self.files.remove_folder(place)
                self.files.sync_folder(place.rpartition(layout.SEPARATOR)[0])

    # -- errors ----------------------------------------------------------------------------------------------------

    def _refusal(self, code: str, path: str, why: str) -> ChatError:
        return ChatError(code, f"{self.shown(path)}: {why}", next=self._manual, path=self.path(path))

    def _invalid(self, path: str, why: str) -> ChatError:
        return self._refusal("SETUP_FILE_INVALID", path, why)

    def _failure(self, error: OSError | ChatError) -> ChatError:
        """Returns the error that a failed file operation is to the user."""
        if isinstance(error, ChatError):
            return error
        path = filesystem.path_of(error) or self.files.root
        relative = path[len(self.files.root) + 1 :].replace(layout.SEPARATOR, "/")
        if isinstance(error, NotOrdinaryError):
            return self._refusal("SETUP_FILE_REFUSED", relative, "a link, or no ordinary file or folder, is there")
        shown = self.shown(relative) if relative else path
        return ChatError("SETUP_IO_ERROR", f"{shown}: {error.strerror or error}", path=path)


def _folders(path: str) -> list[str]:
    """Returns the folders of a file, the innermost first."""
    names = path.split("/")[:-1]
    return ["/".join(names[:length]) for length in range(len(names), 0, -1)]


def _temporary(path: str) -> str:
    """Returns with what the path begins that a file is written under before it has its name."""
    folder, separator, name = path.rpartition(layout.SEPARATOR)
    return f"{folder}{separator}.{name}.agent-chat-"


def _breaks(level: int | None) -> int:
    return 1 if level is None else 0 if level == 0 else level + 1


def _kept_folder(change: Change) -> list[str]:
    """Returns the folder that was there, and empty, before a file was made in it."""
    if change.before is None or not change.ends:
        return []
    breaks = len(change.before) - len(change.before.rstrip(b"\n"))
    level = max(0, breaks - 1)
    return [] if breaks == 1 else _folders(change.path)[level : level + 1]
