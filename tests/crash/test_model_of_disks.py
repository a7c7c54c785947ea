"""The model of what a power loss leaves of what is added to a file, and of a folder that was renamed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.support.disks import Disk, crash_points
from tests.support.recording import EMPTY, HALF, KillingFileSystem, RecordingFileSystem, Step
from tests.support.staging import StageClock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ROOT = os.sep + "root"
FILE = os.path.join(ROOT, "entry")
SAFE, MORE = b"prepared\n", b"applied\n"


def left_of(before: Disk, steps: Iterable[Step]) -> dict[str, set[bytes | None]]:
    """What each moment's power loss may leave of the file."""
    points = crash_points(before, list(steps), ROOT)
    return {point.where: {disk.files.get("entry") for disk in point.lost} for point in points}


def disk(data: bytes | None = None) -> Disk:
    """A root with the file, or without one."""
    return Disk(frozenset([""]), {} if data is None else {"entry": data}, {})


def test_bytes_that_are_added_are_lost_torn_or_whole_until_they_are_synced() -> None:
    left = left_of(disk(SAFE), [Step("append", (FILE, MORE))])
    torn = {SAFE, SAFE + b"appl", SAFE + b"\0" * len(MORE), SAFE + MORE}
    assert left["before anything"] == left["empty append entry"] == {SAFE}
    assert left["half-way in append entry"] == {SAFE, SAFE + b"ap", SAFE + b"appl", SAFE + b"\0" * 4}
    assert left["unsynced append entry"] == torn
    assert left["after append entry"] == {SAFE + MORE}


def test_what_a_killed_process_added_is_unsafe_until_somebody_syncs_the_file() -> None:
    torn = Step("append", (FILE, MORE[:4], False))
    left = left_of(disk(SAFE), [torn, Step("sync_folder", (ROOT,))])
    assert SAFE in left["after sync_folder root"]
    assert left_of(disk(SAFE), [torn, Step("append", (FILE, b"\nrest\n"))])["after append entry"] == {
        SAFE + b"appl\nrest\n"
    }


def test_what_is_added_to_a_file_that_is_not_safe_itself_saves_its_bytes_and_not_its_name() -> None:
    steps = [Step("write_new", (FILE, SAFE, False)), Step("append", (FILE, MORE))]
    left = left_of(disk(), steps)
    assert left["after write_new entry"] == {None, b"", SAFE[: len(SAFE) // 2], SAFE}
    assert left["after append entry"] == {None, SAFE + MORE}


def test_a_process_that_is_killed_in_the_middle_has_added_a_half(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    found = {}
    for when in (EMPTY, HALF):
        path.write_bytes(SAFE)
        files = KillingFileSystem(str(tmp_path), StageClock(), n=1, when=when)
        try:
            files.append(str(path), MORE)
        except BaseException as death:
            found[when] = type(death).__name__, path.read_bytes()
    assert found == {EMPTY: ("Killed", SAFE), HALF: ("Killed", SAFE + MORE[:4])}


def test_adding_is_recorded_as_one_primitive_and_sets_the_time(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    path.write_bytes(SAFE)
    files = RecordingFileSystem(str(tmp_path), StageClock())
    files.append(str(path), MORE)
    assert files.log == [Step("append", (str(path), MORE))]
    assert (path.read_bytes(), path.stat().st_mtime) == (SAFE + MORE, files.clock.now())


def test_what_was_done_in_a_folder_whose_renaming_is_lost_was_done_under_its_old_name() -> None:
    before = Disk(frozenset(["", "dev"]), {"dev/a": SAFE, "dev/b": SAFE}, {})
    new = os.path.join(ROOT, "gone")
    steps = [Step("replace", (os.path.join(ROOT, "dev"), new)), Step("remove", (os.path.join(new, "a"),))]
    left = {point.where: {frozenset(disk.files) for disk in point.lost} for point in crash_points(before, steps, ROOT)}
    whole, half = {"dev/a", "dev/b"}, {"gone/a", "gone/b"}
    assert left["after replace dev gone"] == {frozenset(whole), frozenset(half)}
    assert left["after remove a"] == {frozenset(each) for each in (whole, half, {"dev/b"}, {"gone/b"})}
    synced = [steps[0], Step("sync_folder", (ROOT,)), steps[1]]
    last = list(crash_points(before, synced, ROOT))[-1]
    assert {frozenset(disk.files) for disk in last.lost} == {frozenset(half), frozenset({"gone/b"})}
