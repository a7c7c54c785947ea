"""What a message means beyond talk: a decision, a blocker, verification, what resolves a blocker, or an event."""

from __future__ import annotations

from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
    is that of the whole body. `parent` is the number of the message that it answers, `was` the numbers that it had
    before. `session` and `connection` are those that the message names.
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
    session: str = ""
    connection: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the body is longer than its details."""
        return self.length > len(self.details)


def titled(title: str) -> tuple[str, str]:
    """Returns what a title says that it is, "" when it says nothing, and the rest of it.

    `Decision: x`, `[decision] x`, `(Decision): x`, `[Decision: x]` and `[Decision:] x` say the same, in any case.
    """
    text = title.strip()
    closing = _BRACKETS.get(text[:1], "")
    end = _end_of_bracket(text, text[0], closing) if closing else 0
    inner, tail = (text[1 : end or None], text[end + 1 :] if end else "") if closing else (text, "")
    inner = inner.strip()
    for word, kind in _WORDS.items():
        after = inner[len(word) :].lstrip()
        if inner[: len(word)].lower() != word or not (after.startswith(":") or (end and not after)):
            continue
        rest = tail.strip()
        rest = rest[1:].lstrip() if rest.startswith(":") else rest
        return kind, " ".join(filter(None, (after[1:].strip(), rest))) or text
    return "", title


def _end_of_bracket(text: str, opening: str, closing: str) -> int:
    """Returns where the bracket with which a text begins is closed, 0 where it is not."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == opening) - (sign == closing)
        if not depth:
            return at
    return 0


def kinds_of(message: Message) -> tuple[str, ...]:
    """Returns what a message means beyond talk: by its status, by its title, or by both; empty for most messages."""
    status = message.status.lower()
    if message.is_audit:
        return (EVENT,) if message.is_event else ()
    kinds = {_STATUSES.get(status, ""), titled(message.title)[0]}
    if message.reply_to is not None and status in _RESOLVED:
        # The title is often that of the blocker itself; what it says of its own end is what counts.
        kinds = (kinds - {BLOCKER}) | {RESOLVING}
    kinds.discard("")
    return tuple(sorted(kinds))


def of_message(message: Message) -> Highlight | None:
    """Returns what a message is beyond talk, None for one that is nothing.

    One that had other numbers is told of in any case: who answered it may have named one of them.
    """
    kinds = kinds_of(message)
    if not kinds and not message.was:
        return None
    if kinds in ((), (EVENT,)):
        return Highlight(seq=message.seq, kinds=kinds, was=message.was)
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
        session=message.session,
        connection=message.connection,
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
    highlights: Iterable[Highlight], parents: Mapping[int, int], there: Mapping[int, int]
) -> dict[int, Highlight]:
    """Returns the reply that resolved each blocker which is over, by the blocker's number; the first where several did.

    A reply with the status `resolved` or `done` resolves the nearest blocker above it, so that one within the thread
    can end alone. `parents` has the number that each reply answers, by its own, `there` how many messages carry each
    number. Where nobody can tell which message was answered nothing is resolved: an open blocker too many is seen.
    """
    ordered = sorted(highlights, key=lambda found: found.seq)
    meant = _Meant(ordered, there)
    blockers = {found.seq for found in ordered if BLOCKER in found.kinds}
    resolved: dict[int, Highlight] = {}
    for found in ordered:
        if RESOLVING not in found.kinds or found.parent is None:
            continue
        seen: set[int] = set()
        number = meant.by(found.parent, found.seq)
        while number is not None and number not in blockers and number not in seen:
            seen.add(number)
            parent = parents.get(number)
            number = meant.by(parent, number) if parent is not None else None
        if number in blockers:
            resolved.setdefault(number, found)
    return resolved


class _Meant:
    """Which message a number means that another message names: some had other numbers when it was written."""

    def __init__(self, highlights: Iterable[Highlight], there: Mapping[int, int]) -> None:
        self._there = there
        self._moved: dict[int, list[int]] = {}
        self._first: dict[int, int] = {}
        for found in highlights:
            for number in found.was:
                self._moved.setdefault(number, []).append(found.seq)
                self._first.setdefault(found.seq, number)

    def by(self, number: int, writer: int) -> int | None:
        """Returns the present number of the message that the message `writer` meant, None where that cannot be told."""
        written = self._first.get(writer, writer)
        moved = self._moved.get(number, [])
        if number not in self._there:
            return moved[0] if len(moved) == 1 else None
        # What moved away carried the number too. Who wrote before that, or on a branch that did not know of it, as
        # whoever was given another number himself, may have meant either.
        knew = writer not in self._first and all(seq < written for seq in moved)
        return number if self._there[number] == 1 and (knew or not moved) else None
