"""What must hold beside and after a change of records that was interrupted, whichever change it was.

Whoever looks is told at once what a recovery will make of it; other commands of the journal are refused with the way
out, those of the other journal go on; one recovery settles it, and a second has nothing to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.crash.answers import doctors_findings, must_be_prompt, reused, used
from tests.support.views import alike_but_for_numbers, has_lost_numbers, temporaries, view_of

if TYPE_CHECKING:
    from tests.crash.checks import Trial
    from tests.support.disks import Disk
    from tests.support.staging import Answer
    from tests.support.views import RootView

# Another change of each journal, which nothing but a pending entry stands in the way of.
CHANGES = {
    "tasks": ("task", "create", "dev", "Other", "--from", "erin", "--title", "Another"),
    "locks": ("lock", "dev", "quite/another.txt", "--as", "erin"),
}
REFUSALS = {"tasks": "LEASE_TRANSACTION_PENDING", "locks": "PATH_LOCK_TRANSACTION_PENDING"}
WAYS_OUT = {"tasks": "agent-chat task recover-pending dev", "locks": "agent-chat recover-pending dev"}
NOTHING = "nothing pending"
# Codes that say that something is left to decide, and those that come after all was done.
_PENDING_ENDS = ("_ROLLBACK_FAILED", "_RECOVERY_FAILED", "_PUBLICATION_UNKNOWN")
_DONE = ("OUTPUT_FAILED",)
_ITEMS = ("tasks", "locks", "conflicts")


def faults_of_journal(trial: Trial, disk: Disk) -> list[str]:
    """Returns what is wrong with a disk, for all who work with the records of the row's journal."""
    if "dev" not in view_of(disk).channels:
        return []
    found = _of_other_changes(trial, disk)
    shown, texts = _of_looks(trial, disk)
    return [*found, *texts, *_of_settling(trial, disk, shown)]


def is_pending(trial: Trial, view: RootView) -> bool:
    """Tells whether something is pending in the row's journal."""
    return trial.row.journal in view.channels["dev"].records.pending


def look(trial: Trial) -> list[Answer]:
    """Calls all commands that show the records."""
    return [trial.call(*words) for words in trial.row.looks]


def _of_looks(trial: Trial, disk: Disk) -> tuple[list[Answer], list[str]]:
    """Whoever looks is answered at once, changes nothing, and is told when something is pending."""
    trial.stage.put(disk)
    pending = is_pending(trial, view_of(disk))
    shown = look(trial)
    found: list[str] = []
    if trial.stage.disk().key != disk.key:
        found.append("looking changes something")
    told = any(id == "journal.pending" or id == "journal.valid" for id, _ in doctors_findings(trial.stage))
    if told != pending:
        found.append(f"something is {'' if pending else 'not '}pending, and the doctor says otherwise")
    for words, answer in zip(trial.row.looks, shown):
        what = " ".join(words)
        if answer.slept or answer.status not in _fitting(words, answer):
            found.append(f"{what} is answered with {answer.status} after {answer.slept} s: {answer.out}{answer.err}")
        warned = " ".join(answer.data.get("warnings", ()))
        if answer.status == 2:
            continue
        if pending and not ("pending" in warned and WAYS_OUT[trial.row.journal] in warned):
            found.append(f"{what} does not say that something is pending: {answer.out}")
        if not pending and warned:
            found.append(f"{what} warns: {warned}")
    return shown, found


def _fitting(words: tuple[str, ...], answer: Answer) -> tuple[int, ...]:
    """The statuses with which a command may answer: what is not there is an error, what is free is no conflict."""
    if words[0] == "check":
        return (0, 1)
    return (0, 2) if answer.code == "TASK_NOT_FOUND" else (0,)


def _of_other_changes(trial: Trial, disk: Disk) -> list[str]:
    """Other changes of the journal are refused while something is pending; those of the other journal go on."""
    found: list[str] = []
    view = view_of(disk)
    for journal, change in CHANGES.items():
        trial.stage.put(disk)
        answer = trial.call(*change)
        after = trial.stage.disk()
        if journal in view.channels["dev"].records.pending:
            hint = str(answer.data.get("error", {}).get("next"))
            if (answer.status, answer.code) != (2, REFUSALS[journal]) or not hint.startswith(WAYS_OUT[journal]):
                found.append(f"while something is pending, {change} is answered with {answer.status} {answer.out}")
            if _without_lock(after) != _without_lock(disk):
                found.append(f"{change} is refused and changes something")
        else:
            found += must_be_prompt(answer, " ".join(change))
            found += reused(used(trial.old, view), view_of(after), answer)
    return found


def _without_lock(disk: Disk) -> dict[str, bytes]:
    return {path: data for path, data in disk.files.items() if not path.endswith(".lock")}


def _of_settling(trial: Trial, disk: Disk, shown: list[Answer]) -> list[str]:
    """One recovery makes the old state or the new one, as everybody was shown before."""
    stage, row = trial.stage, trial.row
    start = view_of(disk)
    pending = is_pending(trial, start)
    stage.put(disk)
    first = trial.call(*row.settle)
    settled = stage.disk()
    end = view_of(settled)
    found = must_be_prompt(first, "the recovery")
    if (first.data.get("outcome") == NOTHING) == pending or is_pending(trial, end):
        found.append(f"the recovery of {start.channels['dev'].records.pending} answers {first.out}")
    if not pending and end != start:
        found.append("with nothing pending the recovery changes something")
    lost = {n: texts for n, texts in start.identities().items() if end.identities().get(n) != texts}
    if lost:
        found.append(f"the recovery loses {lost}")
    left = temporaries(settled)
    key = bool(left), frozenset(item for item in settled.files.items() if item[0] not in left)
    if key not in trial.settled:
        trial.settled[key] = _after(trial, settled)
    after = trial.settled[key]
    return [*found, *_of_answers(trial, shown, after.shown), *after.faults]


class After(NamedTuple):
    """What is shown after a recovery, and what is wrong with what it made."""

    shown: list[Answer]
    faults: list[str]


def _after(trial: Trial, settled: Disk) -> After:
    """What a recovery made is the old state or the new one; a second does nothing, and everybody can go on."""
    stage = trial.stage
    end = view_of(settled)
    found = [f"after the recovery: partial: {text}" for text in end.broken]
    if not any(_is_same(view, end, settled) for view in _decided(trial)):
        found.append("the recovered state is neither the old nor the new one")
    shown = look(trial)
    found += held_twice(end)
    second = trial.call(*trial.row.settle)
    if second.data.get("outcome") != NOTHING or stage.disk().key != settled.key:
        found.append(f"a second recovery answers {second.out}")
    found += _of_doctor(trial, "the recovery")
    return After(shown, [*found, *_of_going_on(trial, settled)])


def _of_doctor(trial: Trial, what: str) -> list[str]:
    news = doctors_findings(trial.stage, turned=trial.row.turned) - trial.findings - trial.findings_before
    return [f"after {what} the doctor finds {sorted(news)}"] if news else []


def _decided(trial: Trial) -> tuple[RootView, ...]:
    return (trial.new,) if is_pending(trial, trial.old) else (trial.old, trial.new)


def _of_answers(trial: Trial, shown: list[Answer], settled: list[Answer]) -> list[str]:
    """What was shown beside the interrupted change is what is shown after the recovery; what was pending was held."""
    found: list[str] = []
    for words, before, after in zip(trial.row.looks, shown, settled):
        what = " ".join(words)
        if words[0] == "check":
            found += [f"{what}: {text}" for text in _of_conflicts(before, after)]
        elif words == ("task", "ready", "dev"):
            found += [f"{what}: {text}" for text in _of_ready(before, after, shown[0])]
        elif (before.status, before.code, _plain(before)) != (after.status, after.code, _plain(after)):
            found.append(f"{what} showed {before.out}, after the recovery it shows {after.out}")
    return found


def _plain(answer: Answer) -> dict[str, Any]:
    """Returns what was shown, but for what depends on something being pending."""
    data = {key: value for key, value in answer.data.items() if key not in ("warnings", "pending", "ready", "error")}
    for name in _ITEMS:
        if name in data:
            data[name] = [{k: v for k, v in item.items() if k not in ("pending", "ready")} for item in data[name]]
    return data


def _of_conflicts(before: Answer, after: Answer) -> list[str]:
    """A path that is locked before or after a pending change is in the way of others; nothing else is."""
    were, are = ({each["lock_id"]: each for each in answer.data["conflicts"]} for answer in (before, after))
    missing = sorted(set(are) - set(were))
    odd = sorted(id for id in set(were) - set(are) if not were[id].get("pending"))
    found = [f"is offered though it is held by {missing}"] if missing else []
    found += [f"is held by {odd}, of which nothing is left"] if odd else []
    return found if before.status == bool(were) else [*found, f"ends with {before.status} for {sorted(were)}"]


def _of_ready(before: Answer, after: Answer, listed: Answer) -> list[str]:
    """A task is offered when it can be claimed; one in a pending change is not."""
    were, are = ({each["id"] for each in answer.data["tasks"]} for answer in (before, after))
    pending = {each["id"] for each in listed.data["tasks"] if each.get("pending")}
    found = [f"{sorted(were & pending)} are offered though they are pending"] if were & pending else []
    if were | pending != are | pending:
        found.append(f"{sorted(were)} are offered, after the recovery {sorted(are)}")
    return found


def _of_failed_recovery(trial: Trial, view: RootView, answer: Answer) -> list[str]:
    """A recovery that failed is undecided, and its entry pending; or it is decided, and not yet known to be durable."""
    found: list[str] = []
    hint = str(answer.data.get("error", {}).get("next"))
    told = answer.code == "MESSAGE_PUBLICATION_UNKNOWN"  # of the message that would have told that it is kept
    if not told and not hint.startswith(WAYS_OUT[trial.row.journal]):
        found.append(f"a failed recovery names {hint} as the way out")
    if is_pending(trial, view):
        if view != trial.old and not trial.row.between(view, trial.old, trial.new):
            found.append("a failed recovery left what is pending in no state that the next can decide")
    elif view != trial.new:
        found.append("a failed recovery left nothing pending, and another state than it makes")
    return found


def faults_of_code(trial: Trial, view: RootView, answer: Answer, code: str) -> list[str]:
    """Returns where a call whose disk failed left something else than its code says."""
    records = view.channels["dev"].records
    pending = trial.row.journal in records.pending
    if code.endswith(_PENDING_ENDS) and trial.row.argv[: len(trial.row.settle)] == trial.row.settle:
        return _of_failed_recovery(trial, view, answer)
    if code.endswith(_PENDING_ENDS):
        return [] if pending else [f"it says {code}, and nothing is pending"]
    if code.endswith("_CLEANUP_FAILED"):
        made = view.channels["dev"]._replace(records=records._replace(pending={}, filed=()))
        wanted = trial.new.channels["dev"]
        wanted = wanted._replace(records=wanted.records._replace(pending={}, filed=()))
        return [] if pending and made == wanted else [f"it says {code}, and the change is not made, or not pending"]
    if code in _DONE:
        return [] if view == trial.new else [f"it says {code}, and the state is not the new one"]
    if code and view != trial.old:
        return [f"it says {code}, and the state is not the old one"]
    return []


def held_twice(view: RootView) -> list[str]:
    """Returns what more than one agent holds."""
    records = view.channels["dev"].records
    found = [f"{task} is held by {owners}" for task, owners in records.holders().items() if len(owners) > 1]
    for task in records.tasks.values():
        owners = records.holders().get(task.id, [])
        if owners and owners != [task.owner]:
            found.append(f"{task.id} is {task.owner}'s and held by {owners}")
        if (task.lease_expires_at is None) == bool(owners):
            found.append(f"{task.id} says of its lease {task.lease_expires_at}, and is held by {owners}")
    paths: dict[str, set[str]] = {}
    for lock in records.locks.values():
        for path in lock.paths:
            paths.setdefault(path.normalized_path, set()).add(lock.owner)
    return found + [f"{path} is locked by {sorted(owners)}" for path, owners in paths.items() if len(owners) > 1]


def _of_going_on(trial: Trial, settled: Disk) -> list[str]:
    """After the recovery the same call again works, or is refused because it was done."""
    stage, row = trial.stage, trial.row
    start = view_of(settled)
    stage.put(settled)
    first = trial.call(*row.argv)
    middle = view_of(stage.disk())
    found = must_be_prompt(first, "the call again", row.refusals, trial.undisturbed.status)
    found += reused(used(trial.old, start), middle, first)
    anew = start == trial.old != trial.new
    if anew and first.code:
        found.append(f"undone, and the call again is refused: {first.out}")
    if (anew or row.settles) and not _is_same(trial.new, middle, settled):
        found.append("the call again does not lead where the undisturbed call leads")
    second = trial.call(*row.argv)
    end = view_of(stage.disk())
    found += must_be_prompt(second, "the third call", row.refusals, trial.undisturbed.status)
    if row.settles and end != middle:
        found.append("the third call changes something")
    found += held_twice(end) + [f"after the third call: {text}" for text in end.broken]
    return found + _of_doctor(trial, "the third call") + trial.of_leftovers()


def _is_same(wanted: RootView, view: RootView, start: Disk) -> bool:
    return view == wanted or (has_lost_numbers(start) and alike_but_for_numbers(view, wanted))
