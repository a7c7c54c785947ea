"""What arrived below a cursor: told exactly where it can be, never made up, and only to whom it concerns."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations.late import Late, arrivals, below_every_cursor, is_for, told_apart
from agent_chat.storage.channel import Channel
from agent_chat.storage.message_numbers import names_sum
from tests.support.cli import message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

LONG_AGO = 1_700_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A channel of four messages, written long ago, all read by bob."""
    assert run(["init", "dev"], tmp_path).status == 0
    for seq in range(1, 5):
        plant(tmp_path / "dev" / f"{seq:04d}-alice-m.md", message_file(seq), at=LONG_AGO)
    time.sleep(0.02)  # the clock of the file system is coarse
    channel(tmp_path / "dev").cursors.store("bob", 4, channel(tmp_path / "dev").messages.numbers())
    time.sleep(0.02)
    return tmp_path / "dev"


def channel(folder: Path) -> Channel:
    return Channel(workspace_on(folder.parent), folder.name)


def late(folder: Path, agent: str = "bob") -> Late:
    here = channel(folder)
    return arrivals(here, is_for(agent), here.cursors.load(agent), here.messages.numbers())


def doctors(folder: Path) -> tuple[list[str], list[str]]:
    here = channel(folder)
    numbers = here.messages.numbers()
    stored = [item for seq, files in numbers.after(0) for item in here.messages.stored(seq, files)]
    return below_every_cursor(here, numbers, stored)


def touch_all(folder: Path) -> None:
    for path in folder.glob("0*.md"):
        path.chmod(0o640)


def test_nothing_arrived_where_nothing_changed(folder: Path) -> None:
    assert late(folder) == Late()


def test_an_arrival_is_told_by_name_and_wakes(folder: Path) -> None:
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed"), at=LONG_AGO)
    assert late(folder) == Late(files=("0002-zed-m.md",), stale=True, wakes=True)
    assert doctors(folder) == (["0002-zed-m.md"], [])


def test_a_cursor_of_another_program_tells_no_arrivals(folder: Path) -> None:
    (folder / ".cursors" / "bob.txt").write_bytes(b"4")
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed"))
    assert late(folder) == Late()


def test_an_arrival_for_others_is_not_told_and_wakes_nobody(folder: Path) -> None:
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed", to="carol"))
    plant(folder / "0003-bob-m.md", message_file(3, sender="bob"))
    assert late(folder) == Late(stale=True)
    assert doctors(folder) == ([], [])


def test_an_audit_message_is_told_but_wakes_nobody(folder: Path) -> None:
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed", status="task.created"))
    assert late(folder) == Late(files=("0002-zed-m.md",), stale=True)


def test_new_permissions_and_a_deletion_name_no_arrivals(folder: Path) -> None:
    touch_all(folder)
    (folder / "0003-alice-m.md").unlink()
    assert late(folder).files == ()
    assert doctors(folder)[0] == []


def test_an_arrival_among_new_permissions_is_told_exactly(folder: Path) -> None:
    touch_all(folder)
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed"), at=LONG_AGO)
    assert late(folder).files == ("0002-zed-m.md",)


def test_an_edit_in_place_beside_an_arrival_is_no_arrival(folder: Path) -> None:
    plant(folder / "0001-alice-m.md", message_file(1, body="a typo less\n"), at=time.time())
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed"), at=time.time())
    assert late(folder).files == ("0002-zed-m.md",)


def test_sets_of_one_size_that_were_swapped_are_told(folder: Path) -> None:
    (folder / "0004-alice-m.md").unlink()
    plant(folder / "0004-zed-m.md", message_file(4, sender="zed"), at=time.time())
    assert late(folder).files == ("0004-zed-m.md",)


def test_what_cannot_be_told_by_name_is_counted(folder: Path) -> None:
    cursor = folder / ".cursors" / "bob.txt"
    lines = cursor.read_bytes().split(b"\n")
    cursor.write_bytes(b"\n".join([lines[0], b"2", *lines[2:]]))
    os.utime(cursor, (time.time() + 60, time.time() + 60))
    assert late(folder) == Late(unnamed=2, stale=True, wakes=True)
    assert doctors(folder) == ([], ["bob"])


@pytest.mark.parametrize("arrived", [["c"], ["a", "d"], ["a", "b", "c", "d", "e"]])
def test_the_right_names_are_found_among_candidates(arrived: list[str]) -> None:
    assert list(told_apart(list("abcde"), len(arrived), names_sum(arrived)) or ()) == arrived


def test_names_that_do_not_make_the_difference_are_not_found() -> None:
    assert told_apart(["a", "b"], 1, names_sum(["c"])) is None
    assert told_apart(["a", "b"], 0, 0) is None
    assert told_apart([str(number) for number in range(40)], 20, 1) is None  # too many ways to try


def test_a_rebase_in_which_much_was_written_anew_names_only_what_is_new(folder: Path) -> None:
    for seq in range(5, 73):
        plant(folder / f"{seq:04d}-alice-m.md", message_file(seq), at=LONG_AGO)
    time.sleep(0.02)
    channel(folder).cursors.store("bob", 72, channel(folder).messages.numbers())
    time.sleep(0.02)
    for seq in range(60, 72):  # written anew under their old names
        path = folder / f"{seq:04d}-alice-m.md"
        path.unlink()
        plant(path, message_file(seq), at=time.time())
    for seq in (61, 65, 70):
        plant(folder / f"{seq:04d}-zed-m.md", message_file(seq, sender="zed"), at=time.time())
    assert late(folder).files == ("0061-zed-m.md", "0065-zed-m.md", "0070-zed-m.md")


def test_an_unfinished_arrival_is_kept_for_later_and_then_told(folder: Path) -> None:
    plant(folder / "0002-zed-m.md", b"---\nseq: 2\nfrom: zed\n", at=time.time())
    result = run(["read", "dev", "--as", "bob", "--json"], folder.parent)
    assert "0002-zed-m.md" in result.json["held"]
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed"), at=LONG_AGO)
    assert run(["read", "dev", "--as", "bob", "--json"], folder.parent).json["late"] == ["0002-zed-m.md"]
    assert "late" not in run(["read", "dev", "--as", "bob", "--json"], folder.parent).json


def test_an_announced_arrival_is_not_announced_again_beside_a_new_one(folder: Path) -> None:
    plant(folder / "0002-zed-m.md", message_file(2, sender="zed"), at=time.time())
    assert run(["read", "dev", "--as", "bob", "--json"], folder.parent).json["late"] == ["0002-zed-m.md"]
    plant(folder / "0003-zed-m.md", message_file(3, sender="zed"), at=time.time())
    (folder / "0001-alice-m.md").unlink()
    assert run(["read", "dev", "--as", "bob", "--json"], folder.parent).json["late"] == ["0003-zed-m.md"]
