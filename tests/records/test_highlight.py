"""What a message means beyond talk: by its title, by its status, and which reply closes which blocker."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat.records import highlight, json_codec
from agent_chat.records.highlight import (
    BLOCKER,
    DECISION,
    EVENT,
    MAX_DETAILS,
    RESOLVING,
    VERIFICATION,
    Highlight,
    kinds_of,
    of_message,
    resolved_by,
    titled,
)
from agent_chat.records.message import AUDIT_PREFIXES, Message
from tests.support.leases import STAMP

WORDS = {"decision": DECISION, "blocker": BLOCKER, "verification": VERIFICATION, "evidence": VERIFICATION}


def message(title: str = "t", body: str = "", **fields: Any) -> Message:
    """A message of alice's."""
    return Message(**{"seq": 7, "sender": "alice", "created": STAMP, **fields}, title=title, body=body)


# --- by the title ---------------------------------------------------------------------------------------------------

FORMS = (
    *("{}: x", "{}:x", "  {} :  x  ", "[{}] x", "[{}]x", "[{}]: x", "[{}] : x", "[ {} ] x", "({}) x", "({}): x"),
    *("[{}:] x", "[{}: ] x", "[{}: x]", "({}: x)", "[ {} : x ]", "[{}: x", " [{}:x]"),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("word", WORDS)
def test_a_title_says_what_it_is_in_any_form_and_case(word: str, form: str) -> None:
    spellings = (word, word.upper(), word.title(), word[:3].upper() + word[3:])
    assert [titled(form.format(each)) for each in spellings] == [(WORDS[word], "x")] * 4


@pytest.mark.parametrize(
    ("title", "rest"),
    [
        ("Decision: keep: both", "keep: both"),
        ("Decision: Blocker: x", "Blocker: x"),
        ("[Decision] [api] x", "[api] x"),
        ("[Decision: use a[0]]", "use a[0]"),
        ("[Decision: use a[0]] now", "use a[0] now"),
        ("[Decision: x] see [1]", "x see [1]"),
        ("[Decision: use a[0]", "use a[0]"),
        ("(Decision: keep f(x))", "keep f(x)"),
        ("Decision: :", ":"),
        ("Decision: 多言語 ✅", "多言語 ✅"),
        ("[DECISION]: огляд – é", "огляд – é"),
        ("decision:\u00a0x\u3000", "x"),
        ("Decision: a\nb", "a\nb"),
        ("Decision: <b>", "<b>"),
    ],
)
def test_the_rest_of_a_title_is_what_it_says(title: str, rest: str) -> None:
    assert titled(title) == (DECISION, rest)


@pytest.mark.parametrize(
    "title", ["Decision:", " Decision : ", "[Decision]", "(decision):", "[Decision:]", "[decision: ]"]
)
def test_a_title_that_says_nothing_else_stays_whole(title: str) -> None:
    assert titled(title) == (DECISION, title.strip())


@pytest.mark.parametrize(
    "title",
    [
        *(
            "",
            " ",
            ":",
            "[",
            "[]",
            "x",
            "Decision",
            "decision x",
            "Decisions: x",
            "Decisions",
            "Deci: x",
            "Decision; x",
        ),
        *("Re: Decision: x", "re: [Decision] x", "The decision: x", "[api] Decision: x", "[[Decision]] x"),
        *("[Decision) x", "(Decision] x", "[Decision x]", "{Decision} x", "**Decision:** x", "# Decision: x"),
        *("Decision\uff1a x", "De\u0441ision: x", "Decisio\u0308n: x", "Evidence", "Evidences: x", "Blocked: x"),
        *("Blockers: x", "Unblocker: x", "Verified: x", "[Blockers] x", "event:status", "Resolution: x"),
    ],
)
def test_any_other_title_says_nothing(title: str) -> None:
    assert titled(title) == ("", title)


@given(st.text())
def test_no_title_breaks_it(title: str) -> None:
    kind, rest = titled(title)
    assert kind in {"", *WORDS.values()}
    assert rest in title


# --- by the status --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "title", "kinds"),
    [
        ("decision", "t", (DECISION,)),
        ("Decision", "t", (DECISION,)),
        ("BLOCKER", "t", (BLOCKER,)),
        ("verification", "t", (VERIFICATION,)),
        ("discussion", "Evidence: x", (VERIFICATION,)),
        ("decision", "Decision: x", (DECISION,)),
        ("blocker", "Decision: x", (BLOCKER, DECISION)),
        ("verification", "[blocker] x", (BLOCKER, VERIFICATION)),
        ("", "t", ()),
        ("discussion", "t", ()),
        ("evidence", "t", ()),
        ("decisions", "t", ()),
        ("resolving", "t", ()),
        ("event", "t", ()),
        ("resolved", "t", ()),
        ("done", "t", ()),
        ("done", "Decision: x", (DECISION,)),
        ("event.status", "t", (EVENT,)),
        ("Event.Capability", "Decision: x", (EVENT,)),
        ("event.anything", "t", (EVENT,)),
    ],
)
def test_a_status_says_the_same_as_a_title(status: str, title: str, kinds: tuple[str, ...]) -> None:
    assert kinds_of(message(title, status=status)) == kinds


@pytest.mark.parametrize("status", ["resolved", "done", "Resolved", "DONE"])
def test_only_a_reply_resolves(status: str) -> None:
    assert kinds_of(message(status=status)) == ()
    assert kinds_of(message(status=status, reply_to=3)) == (RESOLVING,)
    assert kinds_of(message("Decision: x", status=status, reply_to=3)) == (DECISION, RESOLVING)
    assert kinds_of(message(status="discussion", reply_to=3)) == ()


@pytest.mark.parametrize("prefix", [prefix for prefix in AUDIT_PREFIXES if prefix != "event."])
@pytest.mark.parametrize("rest", ["decision", "blocker", "done", "resolved"])
def test_an_audit_message_is_nothing_whatever_its_title_says(prefix: str, rest: str) -> None:
    found = [message(title, status=prefix + rest, reply_to=3) for title in ("Decision: x", "[Blocker] x", "t")]
    assert [kinds_of(each) for each in found] == [()] * 3
    assert [of_message(each) for each in found] == [None] * 3


# --- what is kept of it ---------------------------------------------------------------------------------------------


def test_a_message_is_kept_with_all_that_is_shown_of_it() -> None:
    found = message(" Blocker: é ", "body\n", reply_to=3, was=(2, 5), status="decision", to=("bob",), topic="x")
    assert of_message(found) == Highlight(
        seq=7,
        kinds=(BLOCKER, DECISION),
        title="é",
        author="alice",
        created=STAMP,
        details="body\n",
        length=5,
        parent=3,
        was=(2, 5),
    )


def test_one_that_is_told_by_its_status_alone_keeps_its_title() -> None:
    found = of_message(message(" as it is: ", status="decision"))
    assert found == Highlight(seq=7, kinds=(DECISION,), title=" as it is: ", author="alice", created=STAMP)


def test_of_an_event_nothing_but_its_number_is_kept() -> None:
    assert of_message(message("Decision: x", "{}\n", status="event.status", reply_to=3)) == Highlight(
        seq=7, kinds=(EVENT,)
    )


def test_talk_is_nothing() -> None:
    assert of_message(message("Re: Decision: x", "Blocker: y\n", reply_to=3)) is None


@pytest.mark.parametrize("size", [0, 1, MAX_DETAILS - 1, MAX_DETAILS, MAX_DETAILS + 1, 10 * MAX_DETAILS])
def test_details_are_so_many_characters_and_no_more(size: int) -> None:
    found = of_message(message("Decision: x", "✅" * size))
    assert found is not None
    assert (found.details, found.length) == ("✅" * min(size, MAX_DETAILS), size)
    assert found.is_cut == (size > MAX_DETAILS)


NUMBERS = st.integers(0, 10**18 - 1)
HIGHLIGHTS = st.builds(
    Highlight,
    seq=st.integers(1, 999_999_999),
    kinds=st.lists(st.sampled_from([DECISION, BLOCKER, VERIFICATION, RESOLVING, EVENT]), min_size=1).map(tuple),
    title=st.text(),
    author=st.text(),
    created=st.text(),
    details=st.text(),
    length=NUMBERS,
    parent=st.none() | NUMBERS,
    was=st.lists(NUMBERS).map(tuple),
)


@given(HIGHLIGHTS)
@example(Highlight(seq=1, kinds=(RESOLVING,), parent=0))
@example(Highlight(seq=1, kinds=(BLOCKER,), title="\t\n\r\u2028\0\x85", was=(0,)))
def test_what_is_kept_comes_back_from_one_line_of_json(found: Highlight) -> None:
    line = json_codec.encode(highlight.to_json(found))
    assert not {"\n", "\t", "\r", "\u2028"} & set(line)
    assert highlight.from_json(json_codec.object_of(json_codec.decode(line.encode()))) == found


@pytest.mark.parametrize("fields", [{}, {"seq": 1}, {"seq": 1, "kinds": ["event"], "more": 1}])
def test_fields_of_nothing_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="fields"):
        highlight.from_json(fields)


# --- what is over ---------------------------------------------------------------------------------------------------


def blocker(seq: int, parent: int | None = None, was: tuple[int, ...] = ()) -> Highlight:
    return Highlight(seq=seq, kinds=(BLOCKER,), parent=parent, was=was)


def resolved(seq: int, parent: int, *more: str) -> Highlight:
    return Highlight(seq=seq, kinds=(RESOLVING, *more), parent=parent)


def closed(*found: Highlight, **talk: int) -> dict[int, int]:
    """The numbers of what is closed and of what closed it; `talk` are the parents of other messages: n3=1."""
    others = {int(name[1:]): parent for name, parent in talk.items()}
    parents = {**others, **{each.seq: each.parent for each in found if each.parent is not None}}
    there = Counter([*(each.seq for each in found), *others])
    return {seq: by.seq for seq, by in resolved_by(found, parents, there).items()}


def test_a_reply_closes_the_blocker_that_it_answers() -> None:
    assert closed(blocker(1), blocker(2), resolved(3, 2)) == {2: 3}


def test_a_reply_within_the_thread_closes_it_too() -> None:
    assert closed(blocker(1), resolved(4, 3), n2=1, n3=2) == {1: 4}


def test_only_the_nearest_blocker_is_closed() -> None:
    assert closed(blocker(1), blocker(2, 1), resolved(4, 3), n3=2) == {2: 4}
    assert closed(blocker(1), blocker(2, 1), resolved(3, 2), resolved(4, 3)) == {2: 3}
    assert closed(blocker(1), blocker(2, 1), resolved(3, 2), resolved(4, 1)) == {2: 3, 1: 4}


def test_what_answers_no_blocker_closes_none() -> None:
    assert closed(blocker(1), resolved(3, 2), resolved(5, 4), n2=9, n4=4) == {}
    assert closed(resolved(3, 2), resolved(5, 99)) == {}


def test_the_first_that_resolves_it_wins_whatever_their_order() -> None:
    assert closed(resolved(9, 1), resolved(5, 2), blocker(1), resolved(7, 1), n2=1) == {1: 5}


def test_what_resolves_one_blocker_may_be_another() -> None:
    assert closed(blocker(1), resolved(2, 1, BLOCKER), resolved(3, 2)) == {1: 2, 2: 3}


def test_a_reply_that_repeats_the_title_of_what_it_resolves_is_no_blocker() -> None:
    assert kinds_of(message("Blocker: db down", status="resolved", reply_to=1)) == (RESOLVING,)
    assert kinds_of(message("Decision: keep it", status="done", reply_to=1)) == (DECISION, RESOLVING)


def test_replies_in_a_circle_come_to_an_end() -> None:
    assert closed(blocker(1), resolved(5, 4), n2=4, n3=2, n4=3) == {}
    assert closed(blocker(1), resolved(5, 5)) == {}
    assert closed(blocker(1, 3), resolved(5, 3), n3=1) == {1: 5}


def test_of_two_blockers_under_one_number_nobody_can_tell_which_is_meant() -> None:
    assert closed(blocker(1), blocker(2), blocker(2), resolved(3, 2), resolved(4, 1)) == {1: 4}
    assert closed(blocker(1), blocker(2, 1), blocker(2, 1), resolved(3, 2)) == {}


def test_a_blocker_is_answered_by_the_number_that_it_had() -> None:
    assert closed(blocker(8, was=(2, 5)), resolved(3, 2)) == {8: 3}
    assert closed(blocker(8, was=(2, 5)), resolved(9, 6), n6=5) == {8: 9}


def test_a_number_that_another_message_has_now_means_that_one() -> None:
    assert closed(blocker(8, was=(2,)), resolved(9, 2), n2=1) == {}
    assert closed(blocker(8, was=(2,)), blocker(2), resolved(9, 2)) == {2: 9}
    assert closed(blocker(8, was=(2,)), resolved(9, 8), n2=1) == {8: 9}


def test_what_was_said_while_two_had_a_number_resolves_neither() -> None:
    """A merge brings two messages under one number, and the doctor gives one a new number afterwards."""
    assert closed(blocker(8, was=(2,)), resolved(3, 2), n2=1) == {}
    assert closed(blocker(8, was=(2,)), blocker(2), resolved(3, 2)) == {}
    assert closed(Highlight(seq=8, kinds=(), was=(2,)), blocker(2), resolved(3, 2)) == {}
    assert closed(blocker(8, was=(2,)), blocker(2), resolved(9, 2).replace(was=(3,))) == {}
    assert closed(blocker(8, was=(2,)), blocker(1), resolved(4, 3), n3=2, n2=1) == {}
    assert closed(blocker(2, was=(1,)), blocker(1), resolved(3, 1).replace(was=(2,))) == {}
    assert closed(blocker(2, was=(1,)), blocker(1), Highlight(seq=2, kinds=(RESOLVING,), parent=1)) == {}


def test_a_number_that_a_blocker_shares_with_talk_means_neither() -> None:
    assert closed(blocker(2), Highlight(seq=2, kinds=(DECISION,)), resolved(3, 2)) == {}


def test_two_that_had_one_number_stay_open_and_are_closed_by_those_that_they_have() -> None:
    assert closed(blocker(8, was=(2,)), blocker(9, was=(2,)), resolved(3, 2)) == {}
    assert closed(blocker(8, was=(2,)), blocker(9, was=(2,)), resolved(10, 9)) == {9: 10}


SEQS = st.integers(1, 8)
KINDS = st.sampled_from([(BLOCKER,), (RESOLVING,), (DECISION,), (BLOCKER, RESOLVING)])
THREADS = st.lists(
    st.builds(
        Highlight,
        seq=SEQS,
        kinds=KINDS,
        parent=st.none() | SEQS,
        was=st.lists(st.integers(1, 9), max_size=2, unique=True).map(tuple),
    ),
    max_size=8,
)


def by_the_rule(found: list[Highlight], parents: dict[int, int], there: Counter[int]) -> dict[int, int]:
    """What is over, as the rule says it, message by message."""
    first = {each.seq: each.was[0] for each in reversed(found) if each.was}

    def meant(number: int | None, writer: int) -> int | None:
        now = [number] * there[number or 0]
        knew = writer not in first
        then = [each.seq for each in found if number in each.was and not (now and knew and each.seq < writer)]
        return (now + then)[0] if len(now + then) == 1 else None

    over: dict[int, int] = {}
    blockers = {each.seq for each in found if BLOCKER in each.kinds}
    for each in sorted(found, key=lambda found: found.seq):
        if RESOLVING in each.kinds:
            number, steps = meant(each.parent, each.seq), 0
            while number is not None and number not in blockers and steps < 20:
                number, steps = meant(parents.get(number), number), steps + 1
            if number in blockers:
                over.setdefault(number or 0, each.seq)
    return over


@given(THREADS, st.dictionaries(SEQS, SEQS))
def test_it_is_what_the_rule_says(found: list[Highlight], talk: dict[int, int]) -> None:
    parents = dict(talk)
    for each in reversed(found):
        if each.parent is not None:
            parents[each.seq] = each.parent
    ordered = sorted(found, key=lambda found: found.seq)
    there = Counter([*(each.seq for each in found), *(talk.keys() - {each.seq for each in found})])
    assert {seq: by.seq for seq, by in resolved_by(found, parents, there).items()} == by_the_rule(
        ordered, parents, there
    )
