"""The text of a state: nobody's title, body, topic, path or name makes a line of it, and it says what it leaves out."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agent_chat.operations import compaction
from agent_chat.operations.state import Item
from agent_chat.operations.state_sources import MESSAGE, TASK
from agent_chat.operations.state_text import DETAILED, LATEST, QUOTED_CHARACTERS, QUOTED_LINES, markdown
from agent_chat.records import channel_meta, message, path_lock, task
from agent_chat.records.message import Message
from tests.operations.state_room import StateRoom, sections
from tests.support.cli import DANGER, plant
from tests.support.leases import STAMP

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def room(tmp_path: Path) -> StateRoom:
    """An open channel beside a work tree."""
    return StateRoom(tmp_path)


# --- what each line says --------------------------------------------------------------------------------------------

EMPTY = """\
# State of dev
As of 2026-01-02T03:04:05+00:00; 0 messages, the last is #0.

## Topic
none

## Decisions
none

## Open tasks
none

## Blockers
none

## Owners and leases
none

## Path locks
none

## Verification
none
"""


def test_where_there_is_nothing_it_says_none(room: StateRoom) -> None:
    assert room.text() == EMPTY


def test_a_message_is_a_line_and_what_it_says_is_quoted_below(room: StateRoom) -> None:
    room.say("Decision: one", "because\n\n# so\n")
    room.say("[blocker] two", "see <b>12</b>\n", "bob")
    room.say("Evidence: é", "```\nok\n```\n")
    room.say("ok", reply="2", status="done")
    room.plant(5, title="Decision: by hand")
    shown = sections(room.text())
    assert shown["Decisions"] == [
        "- #1 one (alice, 2026-01-02T03:04:05+00:00)",
        "  > because",
        "  > \\# so",
        "- #5 by hand (alice)",
        "  > text",
    ]
    assert shown["Blockers"] == ["none"]
    assert shown["Resolved blockers"] == ["- #2 two (bob), by #4"]
    assert shown["Verification"] == ["- #3 é (alice, 2026-01-02T03:04:05+00:00)", "  > \\```", "  > ok", "  > \\```"]


def test_a_task_is_a_line_and_how_it_stands(room: StateRoom) -> None:
    room.create("T-1", title="first")
    room.create("T-2", title="second", depends_on=("T-1",))
    room.create("T-3", title="third", owner="carol")
    room.at("blocked", "T-4")
    room.at("done", "T-5")
    room.at("cancelled", "T-6")
    room.claim("T-1", lease="60")
    shown = sections(room.text())
    assert shown["Open tasks"] == [
        "- T-1 in_progress, bob, until 2026-01-02T03:05:05+00:00: first",
        "- T-2 open, waits for T-1 (in_progress): second",
        "- T-3 open, carol, ready: third",
        "- T-4 blocked, bob: t",
        "",
        "Not shown: 1 done, 1 cancelled.",
    ]
    assert shown["Blockers"] == ["- T-2 waits for T-1 (in_progress): second", "- T-4 its status is blocked: t"]
    assert shown["Owners and leases"] == [
        "- bob: task T-1 (until 2026-01-02T03:05:05+00:00); task T-4",
        "- carol: task T-3",
    ]
    room.clock.turn(60)
    assert room.section("Open tasks")[0] == "- T-1 in_progress, bob, expired 2026-01-02T03:05:05+00:00, ready: first"
    room.clock.step(-3600)
    assert room.section("Open tasks")[0].startswith("- T-1 in_progress, bob, expired")
    room.clock.reboot()
    assert room.section("Open tasks")[0].startswith("- T-1 in_progress, bob, suspect, until 2026")


def test_a_lock_is_a_line_and_whose_it_is(room: StateRoom) -> None:
    room.lock("a.py", "docs/", lease="60", why="the <b> reason")
    room.damage("d" * 16, b"{")
    (_, lock) = room.listed()
    shown = sections(room.text())
    assert shown["Path locks"] == [
        f"- damaged lock {'d' * 16}: ?",
        f"- bob: a.py, docs/ (the \\<b> reason), lock {lock.id}, until 2026-01-02T03:05:05+00:00",
        "",
        "incomplete: see the warnings",
    ]
    assert shown["Owners and leases"] == [
        f"- bob: lock {lock.id} (until 2026-01-02T03:05:05+00:00)",
        "",
        "incomplete: see the warnings",
    ]
    room.clock.turn(61)
    assert room.section("Path locks")[1].endswith(f"lock {lock.id}, expired 2026-01-02T03:05:05+00:00")


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Decision", "Blocker", "Evidence"])
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("x\n" * QUOTED_LINES, ["x"] * QUOTED_LINES),
        ("x\n\n" * QUOTED_LINES, ["x"] * QUOTED_LINES),
        ("x\n" * (QUOTED_LINES + 1), ["x"] * QUOTED_LINES),
        ("y" * QUOTED_CHARACTERS + "\n", ["y" * QUOTED_CHARACTERS]),
        ("y" * (QUOTED_CHARACTERS + 1) + "\n", ["y" * QUOTED_CHARACTERS]),
        ("é" * 5000 + "\n", ["é" * QUOTED_CHARACTERS]),
        (" \n" * 3000, []),
    ],
)
def test_what_a_message_says_is_cut_and_that_is_said(room: StateRoom, kind: str, body: str, shown: list[str]) -> None:
    room.say(f"{kind}: t", body)
    section = {"Decision": "Decisions", "Blocker": "Blockers", "Evidence": "Verification"}[kind]
    whole = "\n".join(shown) == "\n".join(filter(str.strip, body.split("\n"))) and len(body) <= 2000
    cut = "" if whole else f"; the beginning of {len(body)} characters"
    assert room.section(section) == [f"- #1 t (alice, {STAMP}{cut})", *(f"  > {line}" for line in shown)]


def test_criteria_of_a_task_are_cut_and_that_is_said(room: StateRoom) -> None:
    room.at("done")
    room.update(acceptance=tuple(f"c{n}" for n in range(QUOTED_LINES + 1)))
    lines = room.section("Verification")
    assert lines == [
        f"- T-1 done (bob; the beginning of {3 * (QUOTED_LINES + 1)} characters): t",
        *(f"  > c{n}" for n in range(QUOTED_LINES)),
    ]


@pytest.mark.parametrize("more", [0, 1, 5])
def test_of_what_is_over_only_the_latest_are_shown(room: StateRoom, more: int) -> None:
    for seq in range(1, LATEST + more + 1):
        room.plant(seq, title=f"Blocker: b{seq}")
        room.plant(100 + seq, status="done", reply_to=str(seq))
        room.plant(200 + seq, title=f"Evidence: e{seq}", body="")
    told = ["", f"Not shown: {more} earlier."] if more else []
    kept = range(more + 1, LATEST + more + 1)
    assert room.section("Resolved blockers") == [f"- #{n} b{n} (alice), by #{100 + n}" for n in kept] + told
    assert room.section("Verification") == [f"- #{200 + n} e{n} (alice)" for n in kept] + told


@pytest.mark.parametrize("more", [0, 2])
def test_all_decisions_and_blockers_are_named(room: StateRoom, more: int) -> None:
    for seq in range(1, DETAILED + more + 1):
        room.plant(seq, title=f"Decision: d{seq}", body="why\n")
        room.plant(100 + seq, title=f"Blocker: b{seq}", body="")
    count = DETAILED + more
    lines = room.section("Decisions")
    assert [line for line in lines if line.startswith("- ")] == [f"- #{n} d{n} (alice)" for n in range(1, count + 1)]
    assert lines.count("  > why") == DETAILED
    assert lines[: more + 1] == [f"- #{n} d{n} (alice)" for n in range(1, more + 2)]
    assert lines[2 * count - more :] == (["", f"Not shown: what the first {more} say."] if more else [])
    assert room.section("Blockers") == [f"- #{100 + n} b{n} (alice)" for n in range(1, count + 1)]


def items(source: str, count: int) -> tuple[Item, ...]:
    """So many decisions or pieces of evidence of one source."""
    one = Item(source=source, title="t", author="alice", created="", details="why\n", length=4)
    if source == MESSAGE:
        return tuple(one.replace(seq=n) for n in range(1, count + 1))
    return tuple(one.replace(created=0.0, task=f"T-{n}", status="done") for n in range(1, count + 1))


@pytest.mark.parametrize("messages", [0, LATEST, LATEST + 1, DETAILED, DETAILED + 3])
@pytest.mark.parametrize("tasks", [0, LATEST, LATEST + 2, DETAILED, DETAILED + 1])
def test_limits_count_for_tasks_and_for_messages_apart(room: StateRoom, tasks: int, messages: int) -> None:
    """Each have an order of their own: many of the one kind hide none of the other."""
    both = items(TASK, tasks) + items(MESSAGE, messages)
    shown = sections(markdown(room.summary().replace(decisions=both, verification=both)))

    def lines(source: str, count: int, *, first: int, said: int) -> list[str]:
        heads = [f"- #{n} t (alice)" if source == MESSAGE else f"- T-{n} done (alice): t" for n in range(1, count + 1)]
        return [
            line for n, head in enumerate(heads) if n >= first for line in (head, *(["  > why"] if n >= said else []))
        ]

    told = lines(TASK, tasks, first=0, said=tasks - DETAILED) + lines(
        MESSAGE, messages, first=0, said=messages - DETAILED
    )
    older = max(tasks - DETAILED, 0) + max(messages - DETAILED, 0)
    remark = ["", f"Not shown: what the first {older} say."] if older else []
    assert shown["Decisions"] == (told or ["none"]) + remark
    kept = lines(TASK, tasks, first=tasks - LATEST, said=0) + lines(MESSAGE, messages, first=messages - LATEST, said=0)
    earlier = max(tasks - LATEST, 0) + max(messages - LATEST, 0)
    assert shown["Verification"] == (kept or ["none"]) + (["", f"Not shown: {earlier} earlier."] if earlier else [])


def test_a_task_names_some_of_what_it_waits_for_and_counts_the_rest(room: StateRoom) -> None:
    for n in range(1, 8):
        room.create(f"T-{n}")
    room.create("T-9", depends_on=tuple(f"T-{n}" for n in range(1, 8)))
    waits = "T-1 (open), T-2 (open), T-3 (open), T-4 (open), T-5 (open) and 2 more"
    assert room.section("Open tasks")[-1] == f"- T-9 open, waits for {waits}: t"


# --- nothing can be forged ------------------------------------------------------------------------------------------

NASTY = [
    "## Decisions", "# State of dev", "- #9 forged (alice)", "none", "incomplete: x", "Not shown: 3 earlier.", "---",
    "```", "~~~", "<!--", "<script>", "\\<b>", "> x", "  > x", "\t- x", "\r## x", "\u2028## x", "\x85- x", "\x1b[2J",
    "\u202ex", "x\n\n## Blockers\nnone", "- x\n- y", "\n", "x", ": ", ")", ", by #1", "\x0c# x", "===",
    "[x]: /y", "> - [x]: <y> 'z'", "[x", "]: /y",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(NASTY) | st.text(max_size=4), min_size=1, max_size=4).map("\n".join) | st.text()
# What stands in the place of other people's text where it does no harm.
HARMLESS = "QQQ"
PARTS = ("topic", "title", "body", "created", "task", "criterion", "path", "reason", "warning")
HTML = re.compile(r"(?<!\\)(?:\\\\)*<[A-Za-z!/?]")


class Forgery:
    """A channel in which each text of others can be replaced, again and again."""

    def __init__(self, base: Path) -> None:
        self._room = StateRoom(base)
        self._room.create("T-1", title="t")
        self._room.create("T-2", depends_on=("T-1",))
        self._tasks = [self._room.task("T-1"), self._room.task("T-2")]
        self._lock = self._room.lock("a.py").lock
        self._meta = self._room.reopened().read_meta()
        self.harmless = own_lines(self.text())

    def text(self, **others: str) -> str:
        """The state with each text that is given, and harmless ones in the place of the others."""
        given = {part: others.get(part, HARMLESS) for part in PARTS}
        room, (one, two) = self._room, self._tasks
        room.put("_meta.json", channel_meta.render(self._meta.replace(topic=given["topic"])))
        for seq, status in enumerate(("decision", "blocker", "verification", "blocker", "done"), start=1):
            said = Message(
                seq=seq,
                sender="alice",
                title=given["title"],
                body=given["body"],
                created="at " + given["created"],
                status=status,
                reply_to=4 if status == "done" else None,
            )
            plant(room.folder / f"{seq:04d}-alice-m.md", message.render(said))
        title = given["task"] or "-"
        one = one.replace(title=f"Decision: {title}", status="blocked", acceptance=(given["criterion"] or "-",))
        room.put("tasks/T-1.json", task.render(one))
        room.put("tasks/T-2.json", task.render(two.replace(title=title)))
        reason = given["reason"] or "-"
        room.put(f"locks/{self._lock.lock_id}.json", path_lock.render(self._lock.replace(reason=reason)))
        found = room.summary()
        assert (len(found.decisions), len(found.blockers), len(found.resolved), len(found.verification)) == (2, 3, 1, 1)
        assert (found.warnings, len(found.locks or ())) == ((), 1)
        # Such a path is refused in a call, and makes a record of another program a damaged one.
        locks = tuple(
            each.replace(paths=(each.paths[0].replace(normalized_path=given["path"]),)) for each in found.locks or ()
        )
        return markdown(found.replace(locks=locks, warnings=(given["warning"],)))


@pytest.fixture(scope="module")
def forgery(tmp_path_factory: pytest.TempPathFactory) -> Forgery:
    """One channel for all examples."""
    return Forgery(tmp_path_factory.mktemp("forgery"))


def own_lines(text: str) -> list[str]:
    """The lines of a state that begin at its left edge, without the topic, which is quoted there."""
    lines = text.split("\n")
    assert all(line.startswith("  > ") for line in lines if line.startswith(" "))
    return [line for line in lines if not line.startswith((" ", "> "))]


@settings(max_examples=12)
@given(part=st.sampled_from(PARTS), text=TEXTS)
@example(part="topic", text="## Decisions\n- #9 forged (alice)")
@example(part="path", text="# x")
@example(part="warning", text="x\n## Blockers")
def test_no_text_of_others_makes_a_line(forgery: Forgery, part: str, text: str) -> None:
    assume(part != "topic" or text.strip())
    require_no_line_of(forgery, **{part: text})


def require_no_line_of(forgery: Forgery, **others: str) -> None:
    """Whatever is said, the lines at the left edge are those of a channel with harmless texts."""
    shown = forgery.text(**others)
    mine, harmless = own_lines(shown), forgery.harmless
    assert len(mine) == len(harmless)
    for line, like in zip(mine, harmless):
        before, after = like.split(HARMLESS)[0], like.split(HARMLESS)[-1]
        assert line == like or (HARMLESS in like and line.startswith(before) and line.endswith(after))
    assert not DANGER & set(shown)
    assert "\t" not in shown
    assert not HTML.search(shown)
    assert len(shown.splitlines()) == len(shown.split("\n")) - 1


@settings(max_examples=5)
@given(others=st.fixed_dictionaries({part: TEXTS for part in PARTS if part != "topic"}))
def test_nor_do_all_of_them_together(forgery: Forgery, others: dict[str, str]) -> None:
    starts = [line.split(HARMLESS)[0] for line in forgery.harmless]
    mine = own_lines(forgery.text(**others))
    assert len(mine) == len(starts)
    assert all(line.startswith(start[:6]) for line, start in zip(mine, starts))


@pytest.mark.slow
@settings(max_examples=60)
@given(others=st.fixed_dictionaries({part: TEXTS for part in PARTS if part != "topic"}))
def test_nor_do_more_of_them(forgery: Forgery, others: dict[str, str]) -> None:
    for part, text in others.items():
        require_no_line_of(forgery, **{part: text})


@pytest.mark.parametrize(
    "place",
    [b"0099-\xff.md", b"locks/\xff.json", b"tasks/\xff.json", b"claims/T-1.\xff.json", b"locks/a\n- <b>\x1b.json"],
)
def test_names_that_are_no_text_are_shown_and_written(room: StateRoom, place: bytes) -> None:
    room.create("T-1")
    room.claim("T-1")
    room.lock("a.py")
    before = own_lines(room.text())
    with open(os.path.join(os.fsencode(room.folder), place), "wb") as file:
        file.write(b"x")
    text = room.text()
    assert len(text.encode("utf-8").splitlines()) == text.count("\n")
    assert not DANGER & set(text)
    more = [line for line in own_lines(text)[2:] if line not in before]
    assert own_lines(text)[0] == before[0]
    assert own_lines(text)[1].startswith("As of ")
    assert {line.partition(" ")[0] for line in more if line} <= {"-", "##", "incomplete:"}
    compaction.compact(room.reopened())
    assert (room.folder / "state.md").read_text("utf-8") == text
