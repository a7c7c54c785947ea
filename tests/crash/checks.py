"""What must hold on every disk that an interrupted operation leaves, whichever operation it was.

Each check returns what is wrong as sentences, so that a loop can count them and a test of the tests can want some.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from tests.crash.answers import CHANNEL, doctors_findings, must_be_prompt, reused, used
from tests.crash.journal_checks import faults_of_journal
from tests.crash.row import HOUR
from tests.support.recording import RecordingFileSystem
from tests.support.staging import NumberedIds, whole_document
from tests.support.views import (
    RootView,
    alike_but_for_numbers,
    has_lost_numbers,
    is_derived,
    is_of_owner,
    is_of_sessions,
    temporaries,
    view_of,
)

if TYPE_CHECKING:
    from tests.crash.journal_checks import After
    from tests.crash.row import Row
    from tests.support.disks import Disk
    from tests.support.staging import Answer, FilesMaker, Stage

FIRST_IDS, SECOND_IDS = "f", "e"
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
        self.findings_before = doctors_findings(stage, turned=row.turned) if row.journal else frozenset()
        self.undisturbed = self.call(*row.argv, ids=FIRST_IDS)
        assert self.undisturbed.status in (0, 1, 2), self.undisturbed
        self.new = view_of(stage.disk())
        self.findings = doctors_findings(stage, turned=row.turned)
        self.settled: dict[object, After] = {}
        self._checked: dict[object, list[str]] = {}

    def call(self, *argv: str, files: FilesMaker = RecordingFileSystem, ids: str = "") -> Answer:
        """Makes a call at the row's time; with `ids` one whose random ids are the same as in others of that digit."""
        return self.stage.call(*argv, files=files, turned=self.row.turned, ids=NumberedIds(ids) if ids else None)

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
            found = [*self._of_state(disk, shown), *self._of_others(disk)]
            self._checked[key] = found + (
                faults_of_journal(self, disk) if self.row.journal else self._of_repeat(disk, shown)
            )
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
        posted = self.call("post", CHANNEL, "--from", row.other, *AFTERMATH)
        if not view.settings.access:
            return [] if posted.code == "ACCESS_DISABLED" else [f"chat is off, and a post meets {posted}"]
        found = must_be_prompt(posted, "a post by another agent")
        found += reused(history, view_of(stage.disk()), posted)
        return found + self._of_reader(view, posted)

    def _of_reader(self, view: RootView, posted: Answer) -> list[str]:
        """A reader is shown all that its cursor has not passed, and nothing else."""
        agent = self.row.reader or next(iter(view.channels[CHANNEL].meta.members), "bob")
        peeked = self.call("read", CHANNEL, "--as", agent, "--peek")
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
        first = self.call(*row.argv)
        middle = view_of(stage.disk())
        found = must_be_prompt(first, "the call again", row.refusals, self.undisturbed.status)
        found += reused(history, middle, first)
        found += self._of_shown_again(start, first)
        if "as_of" in self.undisturbed.data and row.settles and first.data != self.undisturbed.data:
            found.append(f"called again it shows another state: {first.out}{first.err}")
        same = middle == self.new or (has_lost_numbers(disk) and alike_but_for_numbers(middle, self.new))
        if row.settles and not same:
            found.append("calling again does not lead where the undisturbed call leads")
        news = doctors_findings(stage, turned=row.turned) - self.findings
        if news:
            found.append(f"after calling again the doctor finds {sorted(news)}")
        second = self.call(*row.argv)
        end = view_of(stage.disk())
        found += must_be_prompt(second, "the third call", row.refusals, self.undisturbed.status)
        found += reused(used(self.old, middle), end, second)
        if row.settles and end != middle:
            found.append("the third call changes something")
        if row.reader and _numbers(second.data):
            found.append(f"shown twice though it was stored: {_numbers(second.data)}")
        return found + self.of_leftovers()

    def _of_shown_again(self, start: RootView, first: Answer) -> list[str]:
        if not self.row.reader:
            return []
        wanted = start.channels[CHANNEL].unread(self.row.reader)
        shown = _numbers(first.data)
        return [] if shown == wanted else [f"called again it shows {shown}, not {wanted}"]

    def of_leftovers(self) -> list[str]:
        """A temporary that a dead writer left is found stale, and gone after the next post, or summary if it is one."""
        stage = self.stage
        left = temporaries(stage.disk())
        if not left:
            return []
        later = self.row.turned + 2 * HOUR
        stale = {path for name, path in doctors_findings(stage, turned=later) if name == "temporary.stale"}
        found = [f"the doctor does not find {path}" for path in left if os.path.join(stage.root, path) not in stale]
        if any(is_derived(path) for path in left):
            stage.call("state", CHANNEL, "--write", turned=later)
        if any(is_of_owner(path) for path in left):
            stage.call("owner", "access", "on", "--as", "carol", turned=later)
        if any(is_of_sessions(path) for path in left):
            stage.call("session", "start", "--as", "carol", turned=later)
        stage.call("post", CHANNEL, "--from", self.row.other, *AFTERMATH, turned=later)
        kept = temporaries(stage.disk())
        found += [f"left behind for good: {kept}"] if kept else []
        stale = {path for name, path in doctors_findings(stage, turned=later) if name == "temporary.stale"}
        return found + [f"the doctor finds {path}" for path in stale]


def _documents(shown: str) -> list[dict[str, Any]]:
    """Returns the replies in a text: each call shows one line, and what is torn is none."""
    return [whole_document(line) for line in shown.splitlines()]


def _numbers(reply: dict[str, Any]) -> list[int]:
    messages = reply.get("messages", ())
    return [int(message["seq"]) for message in messages]
