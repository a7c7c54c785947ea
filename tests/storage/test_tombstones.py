"""Tombstones on the disk: appended durably, their numbers cached, and believed only while the file is the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import doctor
from agent_chat.operations.mending import mend
from agent_chat.records.tombstone import Tombstone
from agent_chat.storage.cache_file import CacheFile
from agent_chat.storage.channel import Channel
from agent_chat.storage.layout import TOMBSTONES
from agent_chat.storage.message_numbers import PLAUSIBLE_LEAD, Numbers
from agent_chat.storage.removed_numbers import FORM, RemovedNumbers
from agent_chat.storage.tombstone_store import CACHE_FILE, TombstoneStore
from tests.support.cli import START, ArrivalFiles, FakeClock, FaultyFiles, message_file, plant, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

HASH = "ab" * 32


def tombstone(seq: int, sender: str = "alice") -> Tombstone:
    """A tombstone with what must be in it."""
    return Tombstone(seq=seq, file=f"{seq:04d}-{sender}-m.md", sender=sender, created="", sha256=HASH)


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    """A channel whose files came to their names when a test says that they were written."""
    plant(tmp_path / "dev" / "_meta.json", '{"channel": "dev"}')
    plant(tmp_path / "dev" / ".cache" / "x")
    clock = FakeClock()
    return Channel(workspace_on(tmp_path, clock=clock, files=ArrivalFiles(str(tmp_path), clock)), "dev")


def settled(channel: Channel, *seqs: int) -> Path:
    """Appends tombstones, whose file then looks an hour old."""
    channel.messages.tombstones.append([tombstone(seq) for seq in seqs])
    path = channel.layout.file(TOMBSTONES)
    os.utime(path, (START - 3600, START - 3600))
    return path  # type: ignore[return-value]


def counting(channel: Channel, root: Path) -> tuple[Channel, FaultyFiles]:
    """The channel on a disk that writes down what is done."""

    class Arrivals(FaultyFiles, ArrivalFiles):
        pass

    files = Arrivals(str(root), FakeClock())
    return Channel(workspace_on(root, clock=channel.workspace.clock, files=files), "dev"), files


def test_nothing_is_looked_at_where_nothing_was_removed(channel: Channel, tmp_path: Path) -> None:
    plant(tmp_path / "dev" / "0001-alice-m.md", message_file(1))
    watched, files = counting(channel, tmp_path)
    numbers = watched.messages.numbers(keep=True)
    assert (numbers.removed, numbers.latest) == (None, 1)
    assert files.calls == ["list_folder dev"]


def test_the_file_is_parsed_once_and_then_its_cache_is_read(channel: Channel, tmp_path: Path) -> None:
    settled(channel, 1, 2)
    plant(tmp_path / "dev" / "0003-alice-m.md", message_file(3))
    assert channel.messages.numbers(keep=True).highest_removed == 2
    watched, files = counting(channel, tmp_path)
    assert watched.messages.numbers().highest_removed == 2
    assert files.calls == ["list_folder dev", "status tombstones.md", f"read_file {CACHE_FILE}"]


def test_the_doctor_finds_a_cache_that_tells_what_is_not_so(channel: Channel, tmp_path: Path) -> None:
    settled(channel, 4)
    channel.messages.numbers(keep=True)
    path = tmp_path / "dev" / ".cache" / CACHE_FILE
    mark = path.read_bytes().split(b"\n")[1]
    CacheFile(channel.workspace, channel.layout.cache, CACHE_FILE, FORM).store(mark + b"\n" + removed(3).to_bytes())
    assert channel.messages.numbers().highest_removed == 3
    found = {finding.id for finding in doctor.examine(channel).findings}
    assert "cache.valid" in found
    mend(channel, doctor.examine(channel))
    assert channel.messages.numbers().highest_removed == 4


def test_a_key_is_found_among_others(channel: Channel) -> None:
    keyed = [tombstone(seq).replace(key=f"k-{seq}", content=HASH) for seq in (1, 11)]
    channel.messages.tombstones.append([*keyed, tombstone(3)])
    assert channel.messages.tombstones.with_key("k-1") == [keyed[0]]
    assert channel.messages.tombstones.with_key('odd "key"') == []


def test_who_may_change_nothing_stores_no_cache(channel: Channel, tmp_path: Path) -> None:
    settled(channel, 1)
    channel.messages.numbers()
    assert not (tmp_path / "dev" / ".cache" / CACHE_FILE).exists()


def test_a_young_file_is_not_believed_to_be_the_same(channel: Channel, tmp_path: Path) -> None:
    path = settled(channel, 1)
    os.utime(path, (START - 1, START - 1))
    assert channel.messages.numbers(keep=True).highest_removed == 1
    assert not (tmp_path / "dev" / ".cache" / CACHE_FILE).exists()


def test_a_changed_file_is_parsed_anew(channel: Channel) -> None:
    settled(channel, 1)
    assert channel.messages.numbers(keep=True).highest_removed == 1
    settled(channel, 7)
    assert channel.messages.numbers(keep=True).highest_removed == 7


def test_a_damaged_cache_counts_as_none(channel: Channel, tmp_path: Path) -> None:
    settled(channel, 4)
    channel.messages.numbers(keep=True)
    plant(tmp_path / "dev" / ".cache" / CACHE_FILE, "odd")
    assert channel.messages.numbers().highest_removed == 4


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("/nowhere", path)])
def test_what_is_no_ordinary_file_stops_nobody(channel: Channel, make: object) -> None:
    make(channel.layout.file(TOMBSTONES))  # type: ignore[operator]
    assert channel.messages.numbers(keep=True).highest_removed == 0


def test_the_next_number_is_above_all_that_was_removed(channel: Channel) -> None:
    settled(channel, 40, 41)
    with channel.mutation() as mutation:
        assert mutation.next_seq() == 42


def test_a_listing_without_the_last_numbers_is_made_once_more(channel: Channel, tmp_path: Path) -> None:
    """A message below the last tombstone may have come after the first listing: a reader must not pass over it."""
    settled(channel, 5)
    plant(tmp_path / "dev" / "0003-alice-m.md", message_file(3))
    watched, files = counting(channel, tmp_path)
    assert watched.messages.numbers().highest == 3
    assert files.calls.count("list_folder dev") == 2


# -- numbers -----------------------------------------------------------------------------------------------------------


def names(*seqs: int) -> list[str]:
    return [f"{seq:04d}-alice-m.md" for seq in seqs]


def removed(*seqs: int) -> RemovedNumbers:
    return RemovedNumbers.of(zip(seqs, names(*seqs)))


def test_removing_changes_nothing_of_what_is_known() -> None:
    before = Numbers(names(1, 2, 3, 4, 5))
    after = Numbers(names(2, 5), removed=removed(1, 3, 4))
    midway = Numbers(names(1, 2, 3, 5), removed=removed(1, 3, 4))
    for seq in range(7):
        assert before.known_at(seq) == after.known_at(seq) == midway.known_at(seq)
    assert after.present_at(5) != before.present_at(5)


def test_numbers_survive_their_cache() -> None:
    every = removed(9, 3, 20_000)
    again = RemovedNumbers.from_bytes(every.to_bytes())
    assert (len(again), again.highest, again.known_at(9)) == (3, 20_000, every.known_at(9))
    assert again.has("0003-alice-m.md")
    assert not again.has("0003-bob-m.md")


def test_a_wide_gap_is_one_above_what_was_removed() -> None:
    used = removed(*range(1, 5000))
    assert not Numbers(names(5000), removed=used).has_wide_gap
    assert not Numbers(names(3, 5001), removed=used).has_wide_gap
    assert Numbers(names(4999 + 2 * PLAUSIBLE_LEAD), removed=used).has_wide_gap
    assert Numbers(names(5000)).has_wide_gap


def test_a_stray_number_is_left_out_above_what_was_removed(channel: Channel, tmp_path: Path) -> None:
    settled(channel, 3000)
    plant(tmp_path / "dev" / "3001-alice-m.md", message_file(3001))
    plant(tmp_path / "dev" / "20260102-notes.md", "a date")
    numbers = channel.messages.numbers()
    assert (numbers.highest, numbers.latest) == (3001, 3001)


def test_appending_survives_a_torn_line(channel: Channel) -> None:
    path = settled(channel, 1)
    with open(path, "ab") as stream:
        stream.write(b'- {"seq": 2, "fi')
    settled(channel, 3)
    store = TombstoneStore(channel.workspace, channel.layout)
    assert [each.seq for each in store.load()] == [1, 3]
    assert store.faults() == []
