"""Checks of single answers and of numbers, which several of the larger checks make."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.staging import Answer, Stage
    from tests.support.views import Identity, RootView

CHANNEL = "dev"


def doctors_findings(stage: Stage, *, turned: float = 0.0) -> frozenset[tuple[str, str]]:
    """Returns what the doctor finds, as ids and paths."""
    answer = stage.call("doctor", turned=turned)
    assert answer.status in (0, 1), answer
    return frozenset((str(each["id"]), str(each["path"])) for each in answer.data["findings"])


def used(*views: RootView) -> dict[tuple[str, int], set[Identity]]:
    """Returns every number that was ever seen, with the messages that carried it."""
    found: dict[tuple[str, int], set[Identity]] = {}
    for view in views:
        for number, identities in view.identities().items():
            found.setdefault(number, set()).update(identities)
    return found


def reused(history: dict[tuple[str, int], set[Identity]], view: RootView, answer: Answer) -> list[str]:
    """Returns which numbers carry another message than before, or went back; the answer's own number counts too."""
    found = [
        f"#{number[1]} is used twice: {sorted(identities | history[number])}"
        for number, identities in view.identities().items()
        if number in history and not identities <= history[number]
    ]
    seq = answer.data.get("seq")
    was_given = not answer.data.get("repeated", False) and "body" not in answer.data
    if answer.status == 0 and isinstance(seq, int) and was_given:
        highest = max((number for _, number in history), default=0)
        if seq <= highest:
            found.append(f"#{seq} was given after #{highest}")
        if (CHANNEL, seq) not in view.identities():
            found.append(f"#{seq} was reported and is not there")
    return found


def must_be_prompt(answer: Answer, what: str, refusals: Iterable[str] = (), status: int | None = 0) -> list[str]:
    """A call that nothing stands in the way of succeeds at once, or is refused because it was done before."""
    found = [] if not answer.slept else [f"{what} waited {answer.slept} s for a lock"]
    good = answer.status in (0, status) or answer.code in refusals
    # `wait` that is called again finds that all was shown: the negative answer.
    good = good or bool(answer.status == 1 and answer.data.get("timed_out"))
    return found if good else [*found, f"{what} fails: {answer.status} {answer.out}{answer.err}"]
