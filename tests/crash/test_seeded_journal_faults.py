"""Deliberate bugs in how records are changed, each of which the crash lane must notice: these test the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.deleted_locks import check_deleted_lock
from tests.crash.failing_turns import check_looks_beside_a_failing_change
from tests.crash.faults import Fault, failing, on
from tests.crash.interrupted import ANNOUNCED
from tests.crash.journal_loops import (
    check_altered_records,
    check_interrupts,
    check_power_losses_after_a_kill,
)
from tests.crash.journal_turns import check_looks_beside_a_change, check_rivals
from tests.crash.loops import check_kills, check_power_losses
from tests.support import tally
from tests.support.seeding import Edit, moved, seeded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.checks import Trial

CHANNEL = "agent_chat.storage.channel"
ENTRY = "agent_chat.records.journal_entry"
INDEX = "agent_chat.storage.lock_index"
RECORDS = "agent_chat.storage.record_store"
RECOVERY = "agent_chat.storage.recovery"
VIEWS = "agent_chat.operations.task_views"
TRANSACTION = "agent_chat.storage.transaction"

CLAIM, LOCK, CREATE = "task claim", "lock, several paths", "task create, first in a channel"
SYNC_RECORDS = "    for folder in entry.folders:\n        files.sync_folder(places.record(folder))\n"
APPLIED = "    files.append(places.record(journal.entry), journal_entry.phase_line(journal_entry.APPLIED))\n"
PREPARED = "    progress.phase = journal_entry.PREPARED\n"
HOLDS_LOCK = ", holds_lock=lambda: mutation.holds_lock"
PUBLISH = "    mutation.publish_as(entry.message_file, plan.message.seq, entry.message, stays=True)\n"

# The recovery that undoes takes the entry away first.
FORGETS = (
    Edit(
        RECOVERY,
        "    for change in reversed(entry.changes):\n",
        "    mutation.files.remove(channel.layout.record(place))\n    for change in reversed(entry.changes):\n",
    ),
    Edit(
        RECOVERY,
        "    _sync(mutation, journal, entry)\n    mutation.files.remove(channel.layout.record(place))\n"
        '    mutation.files.sync_folder(channel.layout.record(place.rpartition("/")[0]))\n\n\ndef _finish',
        "    _sync(mutation, journal, entry)\n\n\ndef _finish",
    ),
)


def telling_power_losses(trial: Trial) -> list[str]:
    """Loses the power with the end of the changes, or one of them."""
    return check_power_losses(trial, limit=0)


def recovered(trial: Trial) -> list[str]:
    """Loses the power after a recovery that came after a kill."""
    return check_power_losses_after_a_kill(trial, trial.row.settle, limit=0)


def repeated(trial: Trial) -> list[str]:
    """Loses the power during the same call after a kill."""
    return check_power_losses_after_a_kill(trial, trial.row.argv, limit=0)


FAULTS = (
    Fault(
        "the entry is not synced",
        (
            Edit(
                TRANSACTION,
                "temporary = mutation.write_temporary(journal_entry.render(entry))",
                "temporary = places.temporary(entry.id)\n"
                "    files.write_new(temporary, journal_entry.render(entry), sync=False)",
            ),
        ),
        on(CLAIM, telling_power_losses),
        "the recovery fails",
    ),
    Fault(
        "the folder of the entry is not synced before records are written",
        (
            Edit(
                TRANSACTION,
                f"publication.name_new(files, temporary, places.record(journal.entry){HOLDS_LOCK})",
                "files.link(temporary, places.record(journal.entry))\n    files.remove(temporary)",
            ),
        ),
        on(CLAIM, telling_power_losses),
        "neither the old nor the new",
    ),
    Fault(
        "applied is said before the records are synced",
        (Edit(TRANSACTION, SYNC_RECORDS, ""),),
        on(CLAIM, telling_power_losses),
        "the recovery fails",
    ),
    Fault(
        "published before it is applied",
        (Edit(TRANSACTION, APPLIED, ""), Edit(TRANSACTION, PUBLISH, PUBLISH + APPLIED)),
        on(CLAIM, check_kills),
        "the recovery fails",
    ),
    Fault(
        "two phases are swapped",
        (
            Edit(TRANSACTION, "phase_line(journal_entry.APPLIED)", "phase_line(journal_entry.PHASES[2])"),
            Edit(TRANSACTION, "phase_line(journal_entry.PUBLISHED)", "phase_line(journal_entry.PHASES[1])"),
        ),
        on(LOCK, check_kills),
        "the recovery fails",
    ),
    Fault(
        "the message is published before the records are written",
        (
            Edit(TRANSACTION, PUBLISH, ""),
            Edit(TRANSACTION, PREPARED, PREPARED + PUBLISH),
        ),
        on(CLAIM, check_kills),
        "the recovery fails",
    ),
    Fault(
        "a recovery syncs nothing of what it relied on",
        (Edit(RECOVERY, "for folder in [*folders, channel.layout.folder]:", "for folder in ():"),),
        on("task recover-pending, mixed", recovered),
        "neither the old nor the new",
    ),
    Fault(
        "a recovery does not sync the folder of the messages",
        (Edit(RECOVERY, "for folder in [*folders, channel.layout.folder]:", "for folder in folders:"),),
        on("unlock", recovered),
        "neither the old nor the new",
    ),
    Fault(
        "a recovery that was announced by a killed one does not sync the announcement",
        (Edit(RECOVERY, "mutation.files.sync_folder(channel.layout.folder)  # whoever", "pass  # whoever"),),
        on("task recover-pending, damaged", recovered),
        "neither the old nor the new",
    ),
    Fault(
        "the folder that a killed writer made is never synced",
        (Edit(TRANSACTION, "    files.sync_folder(places.record(journal.name))\n", ""),),
        on(CREATE, repeated),
        "neither the old nor the new",
    ),
    Fault(
        "undoing restores only some",
        (Edit(RECOVERY, "reversed(entry.changes)", "reversed(entry.changes[1:])"),),
        on(CLAIM, check_kills),
        "neither the old nor the new",
    ),
    Fault(
        "the entry is removed before the records are restored",
        FORGETS,
        on("task recover-pending, mixed", check_kills),
        "the state is neither the old nor the new",
    ),
    Fault(
        "a published change is finished whatever its files are",
        (
            Edit(ENTRY, "if NEITHER in found or visible is None", "if visible is None"),
            Edit(ENTRY, "and BEFORE not in found", ""),
        ),
        lambda folder: check_altered_records(folder, ANNOUNCED),
        "the recovery answers",
    ),
    Fault(
        "a reader takes what is pending for settled",
        (
            Edit(
                RECORDS,
                "if entry is None or self._decision not in (journal_entry.UNDO, journal_entry.FINISH):",
                "if True:",
            ),
        ),
        on(CLAIM, check_kills),
        "after the recovery it shows",
    ),
    Fault(
        "a reader shows what is pending as it will never be",
        (Edit(RECORDS, "undo = self._decision == journal_entry.UNDO", "undo = self._decision != journal_entry.UNDO"),),
        on(LOCK, check_kills),
        "after the recovery it shows",
    ),
    Fault(
        "a reader looks once only whether something is pending",
        (Edit(RECORDS, "self._looked = self.mark() == self._mark", "self._looked = True"),),
        lambda folder: check_looks_beside_a_change(folder, CLAIM, every=True),
        "held up at",
    ),
    Fault(
        "what is pending is offered",
        (Edit(VIEWS, "ready = not (waits or pending or fault)", "ready = not (waits or fault)"),),
        on(CLAIM, check_kills),
        "are offered though they are pending",
    ),
    Fault(
        "a pending entry stops nobody",
        (Edit(CHANNEL, "if self._journal is not None and not self._pending:", "if False:"),),
        on(CLAIM, check_kills),
        "while something is pending",
    ),
    Fault(
        "a failed change is not undone",
        (Edit(TRANSACTION, "if not _settled(mutation, journal, entry, plan, progress, error):", "if True:"),),
        on(CLAIM, failing),
        "the state is not the old one",
    ),
    Fault(
        "Ctrl-C settles nothing",
        (Edit(TRANSACTION, "except (OSError, ChatError, KeyboardInterrupt) as error", "except OSError as error"),),
        on(LOCK, check_interrupts),
        "something is left pending",
    ),
    Fault(
        "the lock is given back before the records are changed",
        (
            Edit(
                TRANSACTION,
                "    progress = _Progress()\n",
                "    progress = _Progress()\n    mutation._lock.release()\n",
            ),
            Edit(
                CHANNEL,
                "        self._lock.release()\n        if",
                "        self._lock.held and self._lock.release()\n        if",
            ),
            Edit(CHANNEL, "assert self._lock.held", "pass"),
            Edit(CHANNEL, "holds_lock=self._lock.is_on_disk", "holds_lock=None"),
            Edit(CHANNEL, "return self._lock.is_on_disk()", "return True"),
        ),
        lambda folder: check_rivals(folder, CLAIM),
        "held up at",
    ),
    Fault(
        "what is announced is taken back",
        (Edit(TRANSACTION, "entry.message, stays=True", "entry.message"),),
        lambda folder: check_looks_beside_a_failing_change(folder, CLAIM, stride=1000),
        "was shown as made, and was undone",
    ),
    Fault(
        "whatever is pending is settled",
        (
            Edit(TRANSACTION, "found.entry.id != entry.id", "False"),
            Edit(TRANSACTION, "    if not mutation.holds_lock:\n", "    if False:\n"),
        ),
        lambda folder: check_deleted_lock(folder, CLAIM, ("task", "claim", "dev", "T", "--as", "carol"), stride=4),
        "it settles the entry of another",
    ),
    Fault(
        "nothing is looked at once the lock was lost",
        (
            Edit(TRANSACTION, HOLDS_LOCK, ""),
            Edit(TRANSACTION, "if not mutation.holds_lock:\n            raise", "if False:\n            raise"),
            Edit(TRANSACTION, "    try:\n        _require_before(mutation, entry)\n", "    try:\n        pass\n"),
        ),
        lambda folder: check_deleted_lock(folder, CLAIM, ("task", "claim", "dev", "T", "--as", "carol")),
        " and ",
    ),
    Fault(
        "a failed recovery forgets its entry",
        FORGETS,
        on("task recover-pending, mixed", failing),
        "a failed recovery left nothing pending",
    ),
    Fault(
        "a lock that cannot be read is no obstacle",
        (
            Edit(
                INDEX,
                "        except ChatError as error:\n",
                '        except ChatError as error:\n            return ""\n',
            ),
        ),
        on("lock, what one holds", failing),
        "a failing disk is answered with 0",
    ),
)


def test_every_deliberate_bug_is_a_piece_of_the_source() -> None:
    found = [f"{fault.name}: {text}" for fault in FAULTS for text in moved(*fault.edits)]
    assert not found, "\n".join(found)
    assert moved(Edit(CHANNEL, "no such piece of the source", ""))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_fault_is_noticed(fault: Fault, folder: Path) -> None:
    with seeded(*fault.edits):
        found = fault.check(folder)
    assert any(fault.sign in text for text in found), found[:5]
    tally.count("seeded faults noticed")
