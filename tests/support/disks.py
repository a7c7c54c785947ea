"""Disks: what lies below a root as a value, and every disk that a kill or a power loss during an operation may leave.

The model of a power loss is harsher than most file systems. The bytes of a file are lost, torn or whole until the write
was synced; so are bytes that are appended, of which zeros may be left too, while those before them that were safe stay.
A new name, a removed name, a rename and a new folder each reach the disk on their own, in any order, or not at all,
until the folder that holds the name was synced; syncing a file does not save its name. A rename is one stroke: it loses
neither both names nor the file. What a program reads says nothing of what the disk has.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, NamedTuple

from tests.support.recording import EMPTY, HALF, PRINT, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_FOLDER = 0  # stands where the number of a file's data would, for a folder
ALL_SUBSETS_UP_TO = 7
MODE = 0o700


def _relative(path: str, root: str) -> str:
    return path[len(root) + 1 :]


class Disk(NamedTuple):
    """Folders and files below a root by relative path, `""` being the root; `times` are those of files, where known."""

    folders: frozenset[str]
    files: dict[str, bytes]
    times: dict[str, float]

    @property
    def key(self) -> tuple[frozenset[str], frozenset[tuple[str, bytes]]]:
        """What makes two disks the same."""
        return self.folders, frozenset(self.files.items())

    @staticmethod
    def of(root: str) -> Disk:
        """Returns what lies below a root now."""
        folders: set[str] = set()
        files: dict[str, bytes] = {}
        times: dict[str, float] = {}
        for folder, _, names in os.walk(root):
            inside = _relative(folder, root)
            folders.add(inside)
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as stream:
                    files[os.path.join(inside, name)] = stream.read()
                times[os.path.join(inside, name)] = os.stat(path).st_mtime
        return Disk(frozenset(folders), files, times)

    def put(self, root: str, now: float) -> None:
        """Makes a root hold this disk and nothing else; what has no time gets that of `now`."""
        for place, _, names in os.walk(root, topdown=False):
            folder = _relative(place, root)
            for name in names:
                if os.path.join(folder, name) not in self.files:
                    os.unlink(os.path.join(place, name))
            if folder not in self.folders:
                os.rmdir(place)
        for folder in sorted(self.folders):
            path = os.path.join(root, folder) if folder else root
            if not os.path.isdir(path):
                os.mkdir(path, MODE)
        for name, data in self.files.items():
            path = os.path.join(root, name)
            with open(path, "wb") as stream:
                stream.write(data)
            at = self.times.get(name, now)
            os.utime(path, (at, at))


class Point(NamedTuple):
    """A moment of an operation: the disk after a kill there, those after a power loss, and what was shown before."""

    where: str
    alive: Disk
    lost: tuple[Disk, ...]
    shown: str


class _Change(NamedTuple):
    """A change of names that its folder has not been synced after; `source` is a name that goes in the same stroke."""

    folder: str
    name: str
    data: int | None  # None takes the name away
    source: str = ""


class _Model:
    """A disk in two parts: the names that are safe, and the changes that may be lost."""

    def __init__(self, before: Disk) -> None:
        self._times = before.times
        self.data: list[bytes] = [b""]
        self.unsynced: dict[int, int] = {}  # of data that may be lost or torn: how many of its bytes are safe
        self.safe: dict[str, int] = dict.fromkeys(before.folders, _FOLDER)
        self.pending: list[_Change] = []
        for name, data in before.files.items():
            self.safe[name] = self._store(data)
        self.live = dict(self.safe)

    def _store(self, data: bytes) -> int:
        self.data.append(data)
        return len(self.data) - 1

    def change(self, name: str, data: int | None, source: str = "") -> None:
        """Changes a name; its folder is not synced."""
        change = _Change(os.path.dirname(name), name, data, source)
        self.pending.append(change)
        _apply(self.live, change)

    def create(self, name: str, data: bytes = b"") -> int:
        """Makes a file whose bytes are not synced."""
        number = self._store(data)
        self.unsynced[number] = 0
        self.change(name, number)
        return number

    def append(self, name: str) -> int:
        """Begins to add bytes to a file, which are not synced."""
        number = self.live[name]
        self.unsynced.setdefault(number, len(self.data[number]))
        return number

    def sync_folder(self, folder: str) -> None:
        """Makes the names in a folder safe."""
        for change in self.pending:
            if change.folder == folder:
                _apply(self.safe, change)
        self.pending = [change for change in self.pending if change.folder != folder]

    def alive(self) -> Disk:
        """Returns what everybody sees now."""
        return self._disk(self.live, {})

    def lost(self, limit: int) -> Iterator[Disk]:
        """Yields the disks that a power loss may leave; a limit on the changes of which all subsets are taken."""
        for kept in _kept(self.pending, limit):
            names = dict(self.safe)
            chosen = {id(change) for change in kept}
            stayed: list[_Change] = []  # folders that still have their old names
            for change in self.pending:
                meant = _under_old_names(change, stayed)
                if id(change) in chosen:
                    _apply(names, meant)
                elif change.source and change.data == _FOLDER:
                    stayed.append(meant)
            torn = sorted({number for number in names.values() if number in self.unsynced})
            shares = [self._torn(number) for number in torn]
            for bytes_left in itertools.product(*shares):
                yield self._disk(names, dict(zip(torn, bytes_left)))

    def _torn(self, number: int) -> tuple[bytes, ...]:
        at = self.unsynced[number]
        safe, rest = self.data[number][:at], self.data[number][at:]
        # What is added to a file may be lost while the file has grown already: zeros.
        zeros = (b"\0" * len(rest),) if at else ()
        return tuple(dict.fromkeys(safe + left for left in (b"", rest[: len(rest) // 2], *zeros, rest)))

    def _disk(self, names: dict[str, int], torn: dict[int, bytes]) -> Disk:
        folders = {name for name, number in names.items() if number == _FOLDER and _is_reachable(name, names)}
        files = {
            name: torn.get(number, self.data[number])
            for name, number in names.items()
            if number != _FOLDER and os.path.dirname(name) in folders
        }
        return Disk(frozenset(folders), files, {name: at for name, at in self._times.items() if name in files})


def _under_old_names(change: _Change, stayed: Sequence[_Change]) -> _Change:
    """Returns a change as it meets a disk that lost the renaming of some folders: what is in them moved with them."""
    for folder in reversed(stayed):
        name, source = (
            folder.source + each[len(folder.name) :] if each.startswith(folder.name + os.sep) else each
            for each in (change.name, change.source)
        )
        change = change._replace(folder=os.path.dirname(name), name=name, source=source)
    return change


def _is_reachable(folder: str, names: dict[str, int]) -> bool:
    while folder:
        folder = os.path.dirname(folder)
        if folder not in names:
            return False
    return True


def _apply(names: dict[str, int], change: _Change) -> None:
    if change.data is None:
        names.pop(change.name, None)
        return
    names[change.name] = change.data
    if change.source:
        names.pop(change.source, None)
    if change.source and change.data == _FOLDER:
        inside = change.source + os.sep
        for name in [name for name in names if name.startswith(inside)]:
            names[os.path.join(change.name, name[len(inside) :])] = names.pop(name)


def _kept(pending: Sequence[_Change], limit: int) -> Iterable[tuple[_Change, ...]]:
    """Returns what of the pending changes may have reached the disk: all subsets of a few, else the telling ones."""
    if len(pending) <= limit:
        return itertools.chain.from_iterable(itertools.combinations(pending, size) for size in range(len(pending) + 1))
    prefixes = [tuple(pending[:size]) for size in range(len(pending) + 1)]
    without_one = [tuple(pending[:i]) + tuple(pending[i + 1 :]) for i in range(len(pending))]
    only_one = [(change,) for change in pending]
    return dict.fromkeys([*prefixes, *without_one, *only_one])


def crash_points(before: Disk, log: Sequence[Step], root: str, *, limit: int = ALL_SUBSETS_UP_TO) -> Iterator[Point]:
    """Yields the moments of an operation whose primitives were logged: before the first, in and after each."""
    model = _Model(before)
    shown = ""

    def point(where: str) -> Point:
        return Point(where, model.alive(), tuple(model.lost(limit)), shown)

    yield point("before anything")
    for step in log:
        if step.failed:
            continue
        if step.name == PRINT:
            yield point(f"{HALF} {PRINT}")._replace(shown=shown + step.args[0][: len(step.args[0]) // 2])
            shown += step.args[0]
        elif step.name == "write_new":
            path, data, synced = step.args
            name = _relative(path, root)
            number = model.create(name)
            yield point(f"{EMPTY} {step}")
            model.data[number] = data[: len(data) // 2]
            yield point(f"{HALF} {step}")
            model.data[number] = data
            yield point(f"unsynced {step}")
            if synced:
                del model.unsynced[number]
        elif step.name == "append":
            yield from _append(model, step, root, point)
        else:
            _carry_out(model, step, root)
        yield point(f"after {step}")


def _append(model: _Model, step: Step, root: str, point: Callable[[str], Point]) -> Iterator[Point]:
    """Adds bytes to a file; one of a process that was killed half-way is logged with `False`: it synced nothing."""
    path, data, *rest = step.args
    number = model.append(_relative(path, root))
    before = model.data[number]
    yield point(f"{EMPTY} {step}")
    model.data[number] = before + data[: len(data) // 2]
    yield point(f"{HALF} {step}")
    model.data[number] = before + data
    yield point(f"unsynced {step}")
    if rest != [False]:
        del model.unsynced[number]


def _carry_out(model: _Model, step: Step, root: str) -> None:
    """Does to the model what a step does to the disk in one stroke; reading does nothing."""
    names = [_relative(arg, root) for arg in step.args if isinstance(arg, str)]
    if step.name == "make_root":
        model.safe.setdefault("", _FOLDER)
        model.live.setdefault("", _FOLDER)
    elif step.name == "make_folder" and names[0] not in model.live:
        model.change(names[0], _FOLDER)
    elif step.name == "open_lock" and names[0] not in model.live:
        model.unsynced.pop(model.create(names[0]))
    elif step.name == "link":
        model.change(names[1], model.live[names[0]])
    elif step.name == "replace":
        model.change(names[1], model.live[names[0]], source=names[0])
    elif step.name in ("remove", "remove_folder"):
        model.change(names[0], None)
    elif step.name == "sync_folder":
        model.sync_folder(names[0])
