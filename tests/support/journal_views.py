"""What the records and journals of a channel mean: tasks, claims and locks, what is pending, and what was filed.

What differs from call to call though it means the same is left out: times, the clocks of leases, and random ids.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from agent_chat.records import claim, journal_entry, path_lock, task
from agent_chat.records.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_chat.records.claim import Claim
    from agent_chat.records.message import Message
    from agent_chat.records.path_lock import PathLock
    from agent_chat.records.task import Task

JOURNALS = {"tasks": "claims/.lease-transaction.json", "locks": "locks/.path-lock-transaction.json"}
_ID = re.compile(r"[0-9a-f]{16}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|\+00:00)")
_WHOLE = re.compile(rb"```\n(.*\n)*(published|recovered by [^\n]+)\n\Z")


# The same bytes are met on thousands of disks.
remembered = functools.lru_cache(maxsize=4096)


class Deed(NamedTuple):
    """What an entry is about: who does what to what; all empty where the entry cannot be read."""

    operation: str = ""
    actor: str = ""
    target: str = ""


class Records(NamedTuple):
    """The records of a channel by what names them, and its journals by name; `filed` has no order of time."""

    tasks: dict[str, Task]
    claims: dict[str, Claim]
    locks: dict[tuple[str, ...], PathLock]
    pending: dict[str, Deed]
    filed: tuple[tuple[str, Deed], ...]

    def holders(self) -> dict[str, list[str]]:
        """Returns who holds each task that is claimed."""
        found: dict[str, list[str]] = {}
        for each in self.claims.values():
            found.setdefault(each.task_id, []).append(each.owner)
        return found

    def without_fences(self) -> Records:
        """The same, but for the numbers of the messages that granted something."""
        return self._replace(
            claims={name: each.replace(fence=None) for name, each in self.claims.items()},
            locks={name: each.replace(fence=None) for name, each in self.locks.items()},
        )


def records_of(files: Mapping[str, bytes], broken: list[str]) -> Records:
    """Returns what a channel's files mean, by their paths below it; adds what is not whole to `broken`."""
    found = Records({}, {}, {}, _pending(files), ())
    filed: list[tuple[str, Deed]] = []
    for path, data in sorted(files.items()):
        folder, _, name = path.rpartition("/")
        if name.startswith(".") or folder not in ("tasks", "claims", "locks", "tasks/audit", "locks/audit"):
            continue
        try:
            if folder.endswith("/audit"):
                filed.append((folder.partition("/")[0], _filed(name, data)))
            elif folder == "tasks":
                found.tasks[name] = _timeless_task(data)
            elif folder == "claims":
                found.claims[name] = _timeless_claim(data)
            else:
                lock = _timeless_lock(data)
                found.locks[(lock.owner, *(each.normalized_path for each in lock.paths))] = lock
        except ValueError as error:
            broken.append(f"{path}: {error}")
    return found._replace(filed=tuple(sorted(filed)))


def _pending(files: Mapping[str, bytes]) -> dict[str, Deed]:
    found: dict[str, Deed] = {}
    for journal, foreign in JOURNALS.items():
        data = files.get(f"{journal}/audit/.pending.md")
        if data is not None:
            found[journal] = _deed(data)
        elif foreign in files:
            found[journal] = Deed()
    return found


@remembered
def _deed(data: bytes) -> Deed:
    try:
        entry = journal_entry.parse(data)
    except journal_entry.EntryError:
        return Deed()
    return Deed(entry.operation, entry.actor, without_ids(entry.target))


@remembered
def _filed(name: str, data: bytes) -> Deed:
    """What a filed entry is about; one that was kept though it is damaged says so in its name."""
    if "-kept-" in name:
        return Deed("kept")
    entry = journal_entry.parse(data)
    if not _WHOLE.search(data):
        raise ValueError(f"it was filed at {entry.phase}")
    return _deed(data)


def without_ids(text: str) -> str:
    """Returns a text with every random id written alike."""
    return _ID.sub("ID", text)


def timeless(message: Message) -> Message:
    """Returns a message as it would be at any time; an audit message without the ids and times that it tells of."""
    message = message.replace(created="")
    if not message.transaction:
        return message
    body = _TIME.sub("TIME", without_ids(message.body))
    return message.replace(title=without_ids(message.title), body=body, transaction="ID")


@remembered
def _timeless_task(data: bytes) -> Task:
    value = task.parse(data)
    expires = None if value.lease_expires_at is None else 0.0
    return value.replace(updated_at=0.0, lease_expires_at=expires)


@remembered
def _timeless_claim(data: bytes) -> Claim:
    value = claim.parse(data)
    before = None if value.previous_lease_expires_at is None else 0.0
    return value.replace(lease=_timeless_lease(value.lease), claimed_at=0.0, previous_lease_expires_at=before)


@remembered
def _timeless_lock(data: bytes) -> PathLock:
    value = path_lock.parse(data)
    before = None if value.previous_expires_at is None else 0.0
    return value.replace(lock_id="ID", lease=_timeless_lease(value.lease), locked_at=0.0, previous_expires_at=before)


def _timeless_lease(value: Lease) -> Lease:
    return Lease(expires=0.0, granted=0.0, seconds=value.seconds)
