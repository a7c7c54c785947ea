"""docs/journal.md is true: its example is an entry, its table decides as the code does, its names are the code's."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from agent_chat.errors import CODES
from agent_chat.records import journal_entry, message, task
from agent_chat.records.journal_entry import AFTER, BEFORE, NEITHER, PHASES, PUBLISHED, UNCHANGED
from agent_chat.storage import recovery
from agent_chat.storage.journal import JOURNALS
from tests.docs.pages import blocks
from tests.tidy import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = "docs/journal.md"
HEAD = "| phase | audit message | files | decision |"
MESSAGE = {True: "there", False: "not there", None: "unknown"}
CODE = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)`")


def rows() -> list[list[str]]:
    """The rows of the table of decisions, as cells."""
    lines = tree.text_of(PAGE).partition(HEAD + "\n")[2].splitlines()
    table = itertools.takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table][1:]


def decided(phase: str, visible: bool | None, states: Iterable[str]) -> str:
    """What the table says: the decision of the first row that fits."""
    found = set(states)
    for phases, shown, files, decision in rows():
        fits = {
            "any": True,
            "one is neither": NEITHER in found,
            "all as after": not found & {BEFORE, NEITHER},
        }[files]
        if fits and phases in ("any", *_named(phases, phase)) and shown in ("any", MESSAGE[visible]):
            return decision
    raise AssertionError("no row fits")


def _named(cell: str, phase: str) -> tuple[str, ...]:
    named = cell.split(", ")
    assert cell == "any" or {*named} <= {*PHASES}, cell
    return (cell,) if phase in named else ()


def test_the_table_decides_as_the_code_does() -> None:
    kinds = (BEFORE, AFTER, NEITHER, UNCHANGED)
    mixes = [mix for count in range(len(kinds) + 1) for mix in itertools.combinations(kinds, count)]
    cases = list(itertools.product(PHASES, MESSAGE, mixes))
    assert len(cases) == 3 * 3 * 16
    assert [decided(*case) for case in cases] == [journal_entry.decide(*case) for case in cases]
    assert {cell[3] for cell in rows()} == {journal_entry.UNDO, journal_entry.FINISH, journal_entry.REFUSE}


def test_the_example_is_an_entry() -> None:
    (example,) = blocks(PAGE, "markdown")
    data = "".join(line + "\n" for line in example.lines).encode()
    entry = journal_entry.parse(data)
    assert (entry.phase, entry.torn) == (PUBLISHED, False)
    assert data.startswith(journal_entry.render(entry))
    (change,) = entry.changes
    assert change.after is not None
    assert change.after == task.render(task.parse(change.after))
    assert message.parse(entry.message).transaction == entry.id
    text = tree.text_of(PAGE)
    assert f"`{recovery.history_name(entry)}`" in text
    assert f"at most {journal_entry.MAX_BYTES >> 20} MiB" in text


def test_its_names_are_those_of_the_code() -> None:
    text = tree.text_of(PAGE)
    for journal in JOURNALS:
        for word in (journal.entry, journal.foreign, journal.recovery, journal.pending, journal.kept_status):
            assert f"`{word}`" in text, word
        assert all(f"`{folder}/*.json`" in text for folder in journal.folders)
    for outcome in (recovery.UNDONE, recovery.FINISHED, recovery.KEPT, recovery.NOTHING):
        assert f"`{outcome}`" in text
    codes = CODE.findall(text)
    assert codes
    assert {*codes} <= {*CODES}
