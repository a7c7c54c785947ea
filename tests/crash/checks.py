"""What must hold on every disk that an interrupted operation leaves, whichever operation it was.

Each check returns what is wrong as sentences, so that a loop can count them and a test of the tests can want some.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tests.crash.rows import HOUR
from tests.support.staging import whole_document
from tests.support.views import Identity, RootView, alike_but_for_numbers, has_lost_numbers, temporaries, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.crash.rows import Row
    from tests.support.disks import Disk
    from tests.support.staging import Answer, Stage

CHANNEL = "dev"
AFTERMATH = ("--title", "Aftermath", "--body", "The channel goes on.")


class Trial:
    """A row with its root before, after the undisturbed call, and what the doctor says of that."""

    def __init__(self, row: Row, stage: Stage) -> None:
        self.row = row
        self.stage = stage
        stage.links = row.links
        row.prepare(stage)
        self.before = stage.disk()
        self.old = view_of(self.before)
        self.undisturbed = stage.call(*row.argv)
        self.new = view_of(stage.disk())
        self.findings = doctors_findings(stage)
        self._checked: dict[object, list[str]] = {}

    def start(self) -> None:
        """Makes the root as it was before."""
        self.stage.put(self.before)

    def faults(self, disk: Disk, shown: str, *, kill: bool) -> list[str]:
        """Returns what is wrong with a disk that an interrupted call left after it had shown a text.

        What was looked at once is not looked at again. After a `kill` all that anybody saw is still there; a power loss
        may take away what nobody was promised.
        """
        key = (disk.key, shown, kill)
        if key not in self._checked:
            self._checked[key] = [*self._of_state(disk, shown), *self._of_others(disk), *self._of_repeat(disk, shown)]
        return self._checked[key]

    @property
    def distinct(self) -> int:
        """How many different states were looked at."""
        return len(self._checked)

    @functools.cached_property
    def told(self) -> bool:
        """Whether the undisturbed call reports success."""
        return self.undisturbed.status == 0

    def _of_state(self, disk: Disk, shown: str) -> list[str]:
        """The disk as it lies there: whole, old or new, true to what was reported."""
        view = view_of(disk)
        found = [f"partial: {text}" for text in view.broken]
        if view not in (self.old, self.new) and not self.row.between(view, self.old, self.new):
            found.append("the state is neither the old nor the new one")
        told = self.told and any(reply and "error" not in reply for reply in _documents(shown))
        again = not self.row.settles and self.row.between(view, self.old, self.new)
        if self.row.durable and told and view != self.new and not again:
            found.append("success was reported and is not there")
        return found + self._of_cursor(view, shown)

    def _of_cursor(self, view: RootView, shown: str) -> list[str]:
        """A cursor passes over nothing that was not shown."""
        if not self.row.reader or CHANNEL not in view.channels:
            return []
        before = self.old.channels[CHANNEL].unread(self.row.reader)
        left = view.channels[CHANNEL].unread(self.row.reader)
        skipped = set(before) - set(left) - {seq for reply in _documents(shown) for seq in _numbers(reply)}
        return [f"never shown and passed over: {sorted(skipped)}"] if skipped else []

    def _of_others(self, disk: Disk) -> list[str]:
        """What other agents meet at once: no lock, a number that was never used, whole messages."""
        stage, row = self.stage, self.row
        view = view_of(disk)
        if CHANNEL not in view.channels:
            return []
        stage.put(disk)
        history = used(self.old, view)
        posted = stage.call("post", CHANNEL, "--from", row.other, *AFTERMATH)
        found = _must_be_prompt(posted, "a post by another agent")
        found += reused(history, view_of(stage.disk()), posted)
        return found + self._of_reader(view, posted)

    def _of_reader(self, view: RootView, posted: Answer) -> list[str]:
        """A reader is shown all that its cursor has not passed, and nothing else."""
        agent = self.row.reader or next(iter(view.channels[CHANNEL].meta.members), "bob")
        peeked = self.stage.call("read", CHANNEL, "--as", agent, "--peek")
        wanted = view.channels[CHANNEL].unread(agent)
        if posted.status == 0 and agent != self.row.other:
            wanted.append(int(posted.data["seq"]))
        if peeked.status != 0 or "warnings" in peeked.data:
            return [f"a reader meets {peeked.status} {peeked.out}{peeked.err}"]
        shown = _numbers(peeked.data)
        return [] if shown == wanted else [f"a reader is shown {shown}, not {wanted}"]

    def _of_repeat(self, disk: Disk, shown: str) -> list[str]:
        """The same call again, twice: it ends where it would have ended, and the doctor is content."""
        stage, row = self.stage, self.row
        stage.put(disk)
        start = view_of(disk)
        history = used(self.old, start)
        first = stage.call(*row.argv)
        middle = view_of(stage.disk())
        found = _must_be_prompt(first, "the call again", row.refusals, self.undisturbed.status)
        found += reused(history, middle, first)
        found += self._of_shown_again(start, first)
        same = middle == self.new or (has_lost_numbers(disk) and alike_but_for_numbers(middle, self.new))
        if row.settles and not same:
            found.append("calling again does not lead where the undisturbed call leads")
        news = doctors_findings(stage) - self.findings
        if news:
            found.append(f"after calling again the doctor finds {sorted(news)}")
        second = stage.call(*row.argv)
        end = view_of(stage.disk())
        found += _must_be_prompt(second, "the third call", row.refusals, self.undisturbed.status)
        found += reused(used(self.old, middle), end, second)
        if row.settles and end != middle:
            found.append("the third call changes something")
        if row.reader and _numbers(second.data):
            found.append(f"shown twice though it was stored: {_numbers(second.data)}")
        return found + self._of_leftovers()

    def _of_shown_again(self, start: RootView, first: Answer) -> list[str]:
        if not self.row.reader:
            return []
        wanted = start.channels[CHANNEL].unread(self.row.reader)
        shown = _numbers(first.data)
        return [] if shown == wanted else [f"called again it shows {shown}, not {wanted}"]

    def _of_leftovers(self) -> list[str]:
        """A temporary that a dead writer left is found stale, and gone after the next post."""
        stage = self.stage
        left = temporaries(stage.disk())
        if not left:
            return []
        later = 2 * HOUR
        stage.call("post", CHANNEL, "--from", self.row.other, *AFTERMATH, turned=later)
        kept = temporaries(stage.disk())
        found = [f"left behind for good: {kept}"] if kept else []
        stale = [each for each in doctors_findings(stage, turned=later) if each[0] == "temporary.stale"]
        return found + [f"the doctor finds {each}" for each in stale]


def _documents(shown: str) -> list[dict[str, Any]]:
    """Returns the replies in a text: each call shows one line, and what is torn is none."""
    return [whole_document(line) for line in shown.splitlines()]


def _numbers(reply: dict[str, Any]) -> list[int]:
    messages = reply.get("messages", ())
    return [int(message["seq"]) for message in messages]


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
    if answer.status == 0 and isinstance(seq, int) and not answer.data.get("repeated", False):
        highest = max((number for _, number in history), default=0)
        if seq <= highest:
            found.append(f"#{seq} was given after #{highest}")
        if (CHANNEL, seq) not in view.identities():
            found.append(f"#{seq} was reported and is not there")
    return found


def _must_be_prompt(answer: Answer, what: str, refusals: Iterable[str] = (), status: int | None = 0) -> list[str]:
    """A call that nothing stands in the way of succeeds at once, or is refused because it was done before."""
    found = [] if not answer.slept else [f"{what} waited {answer.slept} s for a lock"]
    good = answer.status in (0, status) or answer.code in refusals
    # `wait` that is called again finds that all was shown: the negative answer.
    good = good or bool(answer.status == 1 and answer.data.get("timed_out"))
    return found if good else [*found, f"{what} fails: {answer.status} {answer.out}{answer.err}"]
