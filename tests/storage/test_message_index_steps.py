"""Whatever people, git and a bad disk do to messages and caches, the index says what reading every message says."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_chat.records.highlight import EVENT
from agent_chat.storage import message_index
from tests.storage.index_room import CACHES, FORMS, IndexRoom
from tests.support.cli import START, message_file, plant

SEQS = st.integers(1, 4)
SENDERS = st.sampled_from(["alice", "bob"])
WHICH = st.sampled_from(CACHES)
FORM = st.sampled_from(sorted(FORMS))
STEPS = st.one_of(
    st.tuples(st.just("write"), SEQS, SENDERS, FORM),
    st.tuples(st.just("edit in place"), SEQS, SENDERS, FORM),
    st.tuples(st.just("replace"), SEQS, SENDERS, FORM),
    st.tuples(st.just("young"), SEQS, SENDERS, FORM),
    st.tuples(st.just("damage"), SEQS, SENDERS, st.sampled_from([b"", b"---\n", b"\xff", message_file(9)])),
    st.tuples(st.just("copy"), SEQS, SENDERS),
    st.tuples(st.just("delete"), SEQS, SENDERS),
    st.tuples(st.just("look")),
    st.tuples(st.just("look at all")),
    st.tuples(st.just("wait")),
    st.tuples(st.just("forget"), WHICH),
    st.tuples(st.just("tear"), WHICH, st.integers(0, 400)),
    st.tuples(st.just("flip"), WHICH, st.integers(0, 10_000)),
    st.tuples(st.just("keep a copy")),
    st.tuples(st.just("bring back"), WHICH),
    st.tuples(st.just("bring another channel's"), WHICH),
)


class Machine:
    """A channel to which things happen, and what may be noticed late in it."""

    def __init__(self, base: Path) -> None:
        for name in ("here", "elsewhere"):
            (base / name).mkdir()
        self.room = IndexRoom(base / "here")
        other = IndexRoom(base / "elsewhere")
        other.fill(4, n1="decision", n2="blocker")
        other.look()
        self._foreign = {name: other.cache(name).read_bytes() for name in CACHES if other.cache(name).exists()}
        self._kept: dict[str, bytes] = {}
        self._count = 0
        # Whether a message that is not shown was edited in place since the folder changed: that may be noticed late.
        self.may_be_late = False

    def carry_out(self, step: tuple[Any, ...]) -> None:
        """Does one thing."""
        self._count += 1
        kind, *rest = step
        if kind in ("look", "look at all"):
            self.room.look(exact=kind == "look at all")
        elif kind == "wait":
            self.room.clock.turn(10)
        elif kind in ("forget", "tear", "flip", "keep a copy", "bring back", "bring another channel's"):
            self._to_cache(kind, *rest)
        else:
            self._to_message(kind, f"{rest[0]:04d}-{rest[1]}-m.md", *rest)

    def _to_cache(self, kind: str, name: str = "", at: int = 0) -> None:
        path = self.room.cache(name)
        data = path.read_bytes() if name and path.exists() else b""
        if kind == "keep a copy":
            self._kept = {each: self.room.cache(each).read_bytes() for each in self.room.caches()}
        elif kind == "forget":
            path.unlink(missing_ok=True)
        elif kind == "tear" and data:
            path.write_bytes(data[:at])
        elif kind == "flip" and data:
            place = at % len(data)
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << at % 8]) + data[place + 1 :])
        elif kind == "bring back" and name in self._kept:
            path.write_bytes(self._kept[name])
        elif kind.startswith("bring another") and name in self._foreign:
            path.write_bytes(self._foreign[name])

    def _to_message(self, kind: str, file: str, seq: int, sender: str, what: Any = "") -> None:
        path = self.room.folder / file
        if kind in ("copy", "delete", "edit in place") and not path.exists():
            return
        if kind == "edit in place":
            self._edit(path, seq, sender, what)
            return
        if kind == "delete":
            path.unlink()
        elif kind == "copy":
            plant(path.with_name(f"{seq:04d}-{sender}-copy.md"), path.read_bytes(), at=self._time())
        elif kind == "damage":
            plant(path, what, at=self._time())
        elif kind == "replace":
            new = plant(self.room.folder / "new", self._message(seq, sender, what), at=self._time())
            os.replace(new, path)
        else:
            at = self.room.clock.now() - 1 if kind == "young" else self._time()
            plant(path, self._message(seq, sender, what), at=at)
        self.room.age_folder()
        self.may_be_late = False

    def _edit(self, path: Path, seq: int, sender: str, form: str) -> None:
        """Writes another message over one; the folder does not notice."""
        before = self.room.reading()
        shown = {file for file, found in before.highlights if found.kinds != (EVENT,)}
        shown |= {fault.file for fault in before.faults}
        plant(path, self._message(seq, sender, form), at=self._time())
        self.may_be_late = self.may_be_late or path.name not in shown

    def _message(self, seq: int, sender: str, form: str) -> bytes:
        title, fields = FORMS[form]
        return message_file(seq, sender, title, **fields)

    def _time(self) -> float:
        return START - 10_000 + self._count


# How many messages are read without a cache, and how many are looked at one by one.
SIZES = {"small": (32, 1000), "middling": (0, 1000), "large": (0, 0)}


def check(size: str, steps: list[tuple[Any, ...]]) -> None:
    """Carries out steps in a channel of a size, and looks after each."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as base:
        for name, value in zip(("READ_DIRECTLY", "LOOK_AT_EACH"), SIZES[size]):
            patch.setattr(message_index, name, value)
        machine = Machine(Path(base))
        for step in steps:
            machine.carry_out(step)
            want = machine.room.reading()
            exact = machine.room.look(exact=True, store=False)
            assert (exact.known, exact.warnings) == (want, [])
            looked = machine.room.look(store=False)
            assert looked.warnings == []
            if size != "large" or not machine.may_be_late:
                assert looked.known == want


@pytest.mark.parametrize("size", SIZES)
@settings(max_examples=10)
@given(steps=st.lists(STEPS, max_size=10))
def test_it_says_what_reading_says(size: str, steps: list[tuple[Any, ...]]) -> None:
    check(size, steps)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@settings(max_examples=300)
@given(steps=st.lists(STEPS, max_size=25))
def test_it_says_what_reading_says_for_longer(size: str, steps: list[tuple[Any, ...]]) -> None:
    check(size, steps)
