"""The index of messages where several files have one number, and where a folder's times do not tell what is in it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Callable

import pytest

from tests.storage.index_room import CACHES, EVERY, SHOWN, IndexRoom, names_of
from tests.support.cli import START, plant
from tests.support.recording import InterveningFileSystem, RecordingFileSystem

if TYPE_CHECKING:
    from tests.support.recording import Step

# --- several files under one number ---------------------------------------------------------------------------------

DOUBLES = [SHOWN[0], "0002-alice-n.md", SHOWN[2], "0004-bob-m.md"]


@pytest.fixture
def doubled(large: IndexRoom) -> IndexRoom:
    """The same channel with two messages under one number, and a copy of a message beside it."""
    large.write(4, "decision", sender="bob")
    shutil.copy2(large.folder / DOUBLES[0], large.folder / DOUBLES[1])
    large.age_folder()
    return large


def test_files_of_one_number_are_opened_once(doubled: IndexRoom) -> None:
    first = doubled.look()
    assert first.opened == sorted([*EVERY, "0002-alice-n.md", "0004-bob-m.md"])
    assert doubled.caches() == sorted(CACHES)
    for exact in (False, True):
        looked = doubled.look(exact=exact)
        assert looked.known == first.known == doubled.reading()
        assert (looked.opened, looked.warnings) == ([], [])
    assert [(fault.file, fault.is_copy) for fault in first.known.faults] == [("0002-alice-n.md", True)]
    assert [file for file, _ in first.known.highlights].count("0004-bob-m.md") == 1


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("what", ["edited", "gone", "renamed", "one more", "replaced"])
def test_files_of_one_number_are_opened_together_once_one_of_them_changes(
    doubled: IndexRoom, what: str, exact: bool
) -> None:
    """Which of them is a copy depends on them all."""
    doubled.look()
    own, copy = doubled.folder / DOUBLES[0], doubled.folder / DOUBLES[1]
    if what == "edited":
        doubled.write(2, "decision", at=START - 3000)
    elif what == "gone":
        own.unlink()
    elif what == "renamed":
        copy.rename(copy.with_name("0002-alice-z.md"))
    elif what == "one more":
        shutil.copy2(own, copy.with_name("0002-alice-o.md"))
    else:
        copy.unlink()
        doubled.write(2, "evidence", name="0002-carol-m.md")
    doubled.age_folder()
    looked = doubled.look(exact=exact)
    assert looked.known == doubled.reading()
    assert looked.opened == sorted(path.name for path in doubled.folder.glob("0002-*"))
    assert looked.known.faults != () or what not in ("renamed", "one more")
    assert doubled.look(exact=exact).opened == []


def test_who_edits_a_shown_one_of_several_under_a_number_in_place_is_noticed_at_once(doubled: IndexRoom) -> None:
    for name in DOUBLES:
        doubled.look()
        folder = doubled.folder.stat()
        doubled.write(int(name[:4]), "evidence", name=name, at=START - 3000)
        os.utime(doubled.folder, ns=(folder.st_atime_ns, folder.st_mtime_ns))
        looked = doubled.look()
        assert looked.known == doubled.reading()
        assert looked.opened == [each for each in DOUBLES if each[:4] == name[:4]]


def test_one_of_several_under_a_number_that_cannot_be_looked_at_has_all_of_them_opened(doubled: IndexRoom) -> None:
    doubled.look()
    doubled.write(4, "decision", sender="bob", at=START - 1)
    doubled.age_folder()
    for _ in range(2):
        looked = doubled.look()
        assert (looked.known, looked.opened) == (doubled.reading(), [SHOWN[2], "0004-bob-m.md"])


# --- a folder whose time tells nothing ------------------------------------------------------------------------------


class FrozenFolder(RecordingFileSystem):
    """A file system that leaves a folder's times as they were, whatever happens in it."""

    def __init__(self, room: IndexRoom) -> None:
        super().__init__(str(room.root), room.clock)
        self._path = str(room.folder)

    def status(self, path: str) -> os.stat_result:
        """The status; of the folder with times of long ago."""
        real = super().status(path)
        if path != self._path:
            return real
        at = START - 9000
        times = {f"st_{name}": at for name in ("atime", "mtime", "ctime")}
        return os.stat_result(real[:10], {**times, **{f"{name}_ns": at * 10**9 for name in times}})


def test_a_folder_whose_times_stand_still_hides_nothing(large: IndexRoom) -> None:
    """Some network file systems leave them as they are, or tell them late."""
    large.look(FrozenFolder(large))
    for change in (
        lambda: large.write(10, "decision"),
        lambda: large.write(4, "blocker", sender="bob"),
        (large.folder / SHOWN[0]).unlink,
        (large.folder / EVERY[5]).unlink,
        lambda: (large.folder / EVERY[4]).rename(large.folder / "0011-alice-m.md"),
        lambda: (large.folder / EVERY[8]).rename(large.folder / "0009-alice-n.md"),
        lambda: plant(large.folder / "0006-alice-again.md", b"damaged"),
    ):
        assert large.look(FrozenFolder(large)).cost["list_folder"] == 1, "it was believed"
        change()
        assert large.believed(FrozenFolder(large))[0] is None
        assert large.look(FrozenFolder(large)).known == large.reading()


def test_what_comes_between_the_looks_at_such_a_folder_is_not_hidden_afterwards(large: IndexRoom) -> None:
    """The files are listed after their names were noted: what came in between must not be taken for noted."""

    class Meddling(FrozenFolder, InterveningFileSystem):
        def __init__(self, n: int, act: Callable[[Step], object]) -> None:
            InterveningFileSystem.__init__(self, str(large.root), large.clock, n=n, act=act)
            self._path = str(large.folder)

    seen = set()
    for change, undo in (
        (lambda step: large.write(10, "decision"), (large.folder / names_of(10)[0]).unlink),
        (lambda step: (large.folder / SHOWN[2]).unlink(), lambda: large.write(4, "decision")),
    ):
        for n in range(1, 20):
            large.look(Meddling(n, change))
            looked = large.look(FrozenFolder(large))
            assert looked.known == large.reading(), n
            seen.add(looked.cost["list_folder"])
            undo()
            for name in large.caches():
                large.cache(name).unlink()
    assert 1 in seen, "some were believed"
    assert max(seen) > 1
