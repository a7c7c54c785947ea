"""The numbers of a listing agree with a simple model, whatever the names are."""

from __future__ import annotations

from binascii import crc32
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat.storage.message_numbers import Numbers, seq_of

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADS = st.one_of(
    st.integers(0, 12).map("{:04d}".format),
    st.integers(9_990, 10_020).map("{:04d}".format),
    st.sampled_from(
        ["00012", "010003", "99999", "100000", "999999999", "1000000000", "12", "٠٠٠١", "00a1", "-0001", ""]
    ),
)
TAILS = st.sampled_from(
    [
        *("-a.md", "-b.md", "-a-b.md", ".md", "-a", "-a.md~", "-a (conflict).md", "-a.sync-conflict-1.md", "-.md"),
        *("-a.MD", "-0000-x.md", "-a.md\nx", "-a\n.md", "-\udcff.md", "a-b.md", "-x(.md", "-0000.md"),
    ]
)
ODD = st.sampled_from(
    ["_meta.json", ".lock", "task-1.md", "state.md", ".#0007-a.md", "~0009-a.md", "0000-a.md", "12-a.md"]
)
LISTINGS = st.lists(st.builds("{}{}".format, HEADS, TAILS) | ODD | st.text(max_size=6), unique=True, max_size=25)
SEQS = st.integers(0, 20) | st.integers(9_985, 10_030) | st.sampled_from([99_999, 999_999_999])


class Model:
    """The same by the plainest means: every name is looked at."""

    def __init__(self, listed: Iterable[str]) -> None:
        self.units: dict[int, list[str]] = {}
        self.odd: set[str] = set()
        for name in listed:
            seq = self.number(name)
            if seq is None:
                self.odd.add(name)
            else:
                self.units.setdefault(seq, []).append(name)

    @staticmethod
    def number(name: str) -> int | None:
        head, dash, _ = name.partition("-")
        good = dash and 4 <= len(head) <= 9 and all(c in "0123456789" for c in head) and name.endswith(".md")
        if not good or any(sign in name for sign in ("(", "\n", ".sync-conflict-")):
            return None
        return int(head) or None

    def between(self, low: int, high: int) -> list[tuple[int, list[str]]]:
        return [(seq, sorted(self.units[seq])) for seq in sorted(self.units) if low < seq <= high]


@given(LISTINGS, SEQS)
@example(["0020-a.md", "00012-b.md"], 12)
@example(["0001-a.md\nb"], 0)
@example(["0001-a.md\n.md", "0002-b"], 0)
@example(["9999-a.md", "10000-a.md", "10001-a.md"], 9_999)
@example(["0001-x.md", "999999999-x.md"], 1)
def test_a_listing_agrees_with_the_model(listed: list[str], seq: int) -> None:
    model = Model(listed)
    numbers = Numbers(listed)
    every = model.between(0, 10**9)
    upto = [name for _, files in model.between(0, seq) for name in files]
    assert len(numbers) == sum(len(files) for _, files in every)
    assert numbers.highest == max(model.units, default=0)
    assert set(numbers.odd) == model.odd
    assert list(numbers.after(seq)) == model.between(seq, 10**9)
    assert list(numbers.before(seq)) == model.between(0, seq - 1)[::-1]
    assert numbers.names_of(seq) == sorted(model.units.get(seq, []))
    assert sorted(numbers.names_up_to(seq)) == sorted(upto)
    total = sum(crc32(name.encode("utf-8", "surrogateescape")) for name in upto) & 0xFFFFFFFF
    assert numbers.known_at(seq) == (len(upto), total)
    assert numbers.known_at(0) == (0, 0)
    for name in listed:
        assert (name in numbers) is (name not in model.odd)
        assert seq_of(name) == model.number(name)


@given(LISTINGS, LISTINGS, SEQS)
def test_a_second_look_adds_what_the_first_one_missed_and_nothing_above_it(
    first: list[str], added: list[str], seq: int
) -> None:
    """A listing may show a newer file and miss an older one that was added meanwhile."""
    whole = Model(dict.fromkeys([*first, *added]))
    seen = Model(first)
    numbers = Numbers(first, again=lambda: [*first, *added])
    highest = numbers.highest
    found = list(numbers.after(seq))
    assert [number for number, _ in found] == sorted({number for number, _ in found})
    assert all(number <= highest for number, _ in found)
    assert {n for files in seen.between(seq, 10**9) for n in files[1]} <= {n for files in found for n in files[1]}
    present = {number for number, _ in seen.between(seq, highest)}
    gap = next((number for number in range(seq + 1, min(highest, seq + 100) + 1) if number not in present), None)
    if gap is not None:
        wanted = whole.between(gap - 1, highest)
        assert [unit for unit in found if unit[0] >= gap] == wanted


@given(LISTINGS)
def test_every_trace_of_a_number_counts(listed: list[str]) -> None:
    numbers = Numbers(listed)
    assert numbers.highest_trace() >= numbers.highest
    traces = {"0007-a.md": 7, ".#0031-a.md": 31, "0032-a (conflict).md": 32, "0033-a.md~": 33, "0034-a": 34}
    for name, seq in traces.items():
        assert Numbers([*listed, name]).highest_trace() >= seq


def test_what_is_no_trace() -> None:
    assert Numbers(["12-a.md", "task-0012.md", "1000000000-a.md", "x0012-a.md", "٠٠١٢-a.md", ""]).highest_trace() == 0


@pytest.mark.parametrize(
    ("listed", "sender", "found"),
    [
        (["0001-Bob-x.md"], "bob", ["0001-Bob-x.md"]),
        (["0001-Bob-x.md", "0002-bob-x.md"], "bob", []),
        (["0001-alice-x.md"], "bob", []),
        (["0001-Bobby-x.md"], "bob", []),
        (["0001-BOB-x.md", "12345-Bob-x.md"], "bob", ["0001-BOB-x.md", "12345-Bob-x.md"]),
        (["0001-Їжак-x.md"], "їжак", ["0001-Їжак-x.md"]),
        ([], "bob", []),
    ],
)
def test_the_files_of_a_sender_spelled_otherwise(listed: list[str], sender: str, found: list[str]) -> None:
    assert Numbers(listed).spelled_otherwise(sender) == found
