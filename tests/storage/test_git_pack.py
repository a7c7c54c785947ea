"""The index of a pack: searched in slices, whatever it holds, and refused where it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_chat.storage import git_pack
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.git_pack import CannotTellError, PackIndex
from tests.storage.test_git_objects import everything, git
from tests.support.cli import FakeClock

if TYPE_CHECKING:
    from pathlib import Path


def test_a_large_index_is_searched_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path
    git(repository, "init", "-q")
    git(repository, "config", "fastimport.unpackLimit", "1")
    blobs = b"".join(b"blob\nmark :%d\ndata <<E\n%d\nE\n" % (number, number) for number in range(1, 3001))
    git(repository, "fast-import", "--quiet", given=blobs)
    known = everything(repository)
    monkeypatch.setattr(git_pack, "_AT_ONCE", 64)
    packed = [path for path in repository.glob(".git/objects/pack/*.idx") if path.stat().st_size > 3000 * 20]
    assert packed or git(repository, "repack", "-adq", "-k") == ""
    index = PackIndex(
        FileSystem(str(repository), FakeClock()), str(next(repository.glob(".git/objects/pack/*.idx")))[:-4], 20
    )
    for each in known[::7] + known[:3] + known[-3:]:
        assert index.holds(each)
        assert index.holds(each[:5])
        assert index.holds(each[:-1] + format(int(each[-1], 16) ^ 1, "x")) is False
    for digits in ("00" * 20, "ff" * 20, "0000", "ffff", *(format(number * 257, "04x") for number in range(255))):
        assert index.holds(digits) == any(each.startswith(digits) for each in known), digits


def index_of(names: list[bytes], size: int) -> bytes:
    """An index of version 2 as git writes it, its sums of objects and offsets aside."""
    counts = [sum(name[0] <= first for name in names) for first in range(256)]
    head = b"\xfftOc\0\0\0\2" + b"".join(count.to_bytes(4, "big") for count in counts)
    return head + b"".join(names) + bytes(8 * len(names)) + b"p" * size + b"i" * size


@settings(deadline=None)
@given(
    names=st.lists(st.binary(min_size=20, max_size=20), unique=True, max_size=60).map(sorted),
    near=st.binary(min_size=20, max_size=20),
    length=st.integers(4, 40),
    slice_size=st.sampled_from([0, 20, 100, 1 << 14]),
)
def test_any_index_is_searched_right(
    tmp_path_factory: pytest.TempPathFactory, names: list[bytes], near: bytes, length: int, slice_size: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "p.idx").write_bytes(index_of(names, 20))
    (folder / "p.pack").write_bytes(b"PACK\0\0\0\2" + len(names).to_bytes(4, "big") + b"p" * 20)
    index = PackIndex(FileSystem(str(folder), FakeClock()), str(folder / "p"), 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git_pack, "_AT_ONCE", slice_size)
        for each in (*names, near):
            digits = each.hex()[:length]
            assert index.holds(digits) == any(name.hex().startswith(digits) for name in names)


@settings(deadline=None)
@given(data=st.binary(max_size=3000), place=st.integers(0, 1200))
def test_any_bytes_for_an_index_end_in_an_answer(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, place: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = index_of([bytes([number]) * 20 for number in range(9)], 20)
    (folder / "q.idx").write_bytes(whole[:place] + data + whole[place + len(data) :])
    (folder / "q.pack").write_bytes(b"PACK\0\0\0\2\0\0\0\x09" + b"p" * 20)
    try:
        found = PackIndex(FileSystem(str(folder), FakeClock()), str(folder / "q"), 20).holds("0505")
    except CannotTellError as error:
        found = str(error).startswith(str(folder / "q"))
    assert found in (True, False)
