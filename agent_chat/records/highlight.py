"""What a message means beyond talk: a decision, a blocker, verification, what resolves a blocker, or an event."""

from __future__ import annotations

from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import Callable

    from agent_chat.records.message import Message

DECISION = "decision"
BLOCKER = "blocker"
VERIFICATION = "verification"
RESOLVING = "resolving"
EVENT = "event"

# What begins a title that says what the message is, and the statuses that say the same.
_WORDS = {DECISION: DECISION, BLOCKER: BLOCKER, VERIFICATION: VERIFICATION, "evidence": VERIFICATION}
_STATUSES = {DECISION: DECISION, BLOCKER: BLOCKER, VERIFICATION: VERIFICATION}
_RESOLVED = ("resolved", "done")
_BRACKETS = {"[": "]", "(": ")"}
MAX_DETAILS = 2000


class Highlight(Value):
    """A message that means something beyond talk.

    `title` is without the word that it began with. `details` are the first MAX_DETAILS characters of the body, `length`
    is that of the whole body. `parent` is the number of the message that it answers, `was` those that it had itself.
    """

    seq: int
    kinds: tuple[str, ...]
    title: str = ""
    author: str = ""
    created: str = ""
    details: str = ""
    length: int = 0
    parent: int | None = None
    was: tuple[int, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether the body is longer than its details."""
        return self.length > len(self.details)


def titled(title: str) -> tuple[str, str]:
    """Returns what a title says that it is, "" when it says nothing, and the rest of it.

    `Decision: x`, `[decision] x`, `(Decision): x` and `[Decision: x]` say the same, in any case.
    """
    text = title.strip()
    closing = _BRACKETS.get(text[:1], "")
    rest = text[1:].lstrip() if closing else text
    for word, kind in _WORDS.items():
        if rest[: len(word)].lower() != word:
            continue
        after = rest[len(word) :].lstrip()
        if closing and after.startswith(closing):
            after = after[1:].lstrip()
            return kind, (after[1:].lstrip() if after.startswith(":") else after) or text
        if after.startswith(":"):
            said = after[1:].strip()
            if closing and said.endswith(closing):
                said = said[:-1].rstrip()
            return kind, said or text
    return "", title


def kinds_of(message: Message) -> tuple[str, ...]:
    """Returns what a message means beyond talk: by its status, by its title, or by both; empty for most messages."""
    status = message.status.lower()
    if message.is_audit:
        return (EVENT,) if message.is_event else ()
    kinds = {_STATUSES.get(status, ""), titled(message.title)[0]}
    if message.reply_to is not None and status in _RESOLVED:
        kinds.add(RESOLVING)
    kinds.discard("")
    return tuple(sorted(kinds))


def of_message(message: Message) -> Highlight | None:
    """Returns what a message is beyond talk, None for one that is nothing."""
    kinds = kinds_of(message)
    if not kinds:
        return None
    if kinds == (EVENT,):
        return Highlight(seq=message.seq, kinds=kinds)
    kind, title = titled(message.title)
    return Highlight(
        seq=message.seq,
        kinds=kinds,
        title=title if kind else message.title,
        author=message.sender,
        created=message.created,
        details=message.body[:MAX_DETAILS],
        length=len(message.body),
        parent=message.reply_to,
        was=message.was,
    )


def to_json(found: Highlight) -> dict[str, object]:
    """Returns the form in which a cache keeps a highlight: what is not empty."""
    fields = {name: value for name, value in found.__dict__.items() if value != Highlight._defaults.get(name)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def from_json(fields: dict[str, object]) -> Highlight:
    """Returns the highlight that a cache kept; fails with TypeError for fields that are none of a highlight."""
    make: Callable[..., Highlight] = Highlight
    return make(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})


def resolved_by(
    highlights: Iterable[Highlight], parents: Mapping[int, int], there: Container[int]
) -> dict[int, Highlight]:
    """Returns the reply that resolved each blocker which is over, by the blocker's number; the first where several did.

    A reply with the status `resolved` or `done` resolves the nearest blocker above it, so that one within the thread
    can end alone. Where two blockers carry one number nobody can tell which is meant, and both stay open.
    `parents` has the number that each reply answers, by its own, `there` the numbers of all messages: who answered a
    blocker by a number that it had before answered it, unless another message has that number.
    """
    ordered = sorted(highlights, key=lambda found: found.seq)
    blockers: dict[int, list[int]] = {}
    for found in ordered:
        if BLOCKER in found.kinds:
            for number in (found.seq, *(old for old in found.was if old not in there)):
                blockers.setdefault(number, []).append(found.seq)
    resolved: dict[int, Highlight] = {}
    for found in ordered:
        if RESOLVING in found.kinds:
            above = _nearest(found.parent, blockers, parents)
            if above is not None and len(blockers[above]) == 1:
                resolved.setdefault(blockers[above][0], found)
    return resolved


def _nearest(number: int | None, blockers: Container[int], parents: Mapping[int, int]) -> int | None:
    """Returns the first number of a blocker on the way up from a message, None where there is none."""
    seen: set[int] = set()
    while number is not None and number not in seen:
        if number in blockers:
            return number
        seen.add(number)
        number = parents.get(number)
    return None
