"""What the doctor looks at in tasks, claims and path locks: each record, and whether they agree.

What is pending is judged as its recovery will decide. The doctor takes no lock for this, so what one look finds is
found only if a second look finds the same: between two files of one look a writer may have changed both.
"""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.errors import ChatError
from agent_chat.operations import journal_checks, lock_records, replay_checks, task_records
from agent_chat.operations.findings import Finding, mode_findings
from agent_chat.operations.leases import time_left
from agent_chat.records import claim as claim_record
from agent_chat.records import locked_path
from agent_chat.records.lease import EXPIRED, SUSPECT
from agent_chat.records.task import BLOCKED, FINAL, IN_PROGRESS
from agent_chat.storage.filesystem import NotOrdinaryError
from agent_chat.storage.journal import CLAIMS, JOURNALS, LOCKS, OF_LOCKS, OF_TASKS, TASKS
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from agent_chat.operations.lock_records import StoredLock
    from agent_chat.operations.replay import Filed
    from agent_chat.operations.task_records import StoredClaim, StoredTask
    from agent_chat.records.lease import Lease, Moment
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.message_store import Stored

    Record = TypeVar("Record")
    Parse = Callable[[RecordStore, str, bytes], Record]

_END = ".json"
_SHOWN = 5


def check(
    channel: Channel,
    numbers: Numbers,
    stored: Sequence[Stored],
    told: set[str],
    removed: Sequence[Tombstone] = (),
) -> list[Finding]:
    """Returns what is wrong with the records of a channel and their journals.

    `stored` are its messages, listed as `numbers`; `told` the paths of which the doctor has told already: that one of
    them cannot be read is no news. `removed` is what retention removed.
    """
    filed: dict[str, Filed] = {}
    found = journal_checks.check(channel, stored, filed, removed)
    records = _look(channel)
    if records:
        again = _look(channel)
        records = [finding for finding in records if finding in again]
    records += replay_checks.check(channel, numbers, stored, filed, removed)
    kept: dict[tuple[str, str], Finding] = {}
    explained = told | {finding.path for finding in found if finding.id != "record.file"}
    for finding in found + records:
        if finding.id != "record.file" or finding.path not in explained:
            kept.setdefault((finding.id, finding.path), finding)
    return list(kept.values())


def _look(channel: Channel) -> list[Finding]:
    """Looks at all records once."""
    now = channel.workspace.clock.moment()
    found = [*_check_tasks(channel, now), *_check_locks(channel, now)]
    try:
        left_out = {path for journal in JOURNALS for path in journal_checks.undecidable(channel, journal)}
    except OSError as error:
        left_out = {str(error.filename)}  # the finding about the journal tells of it
    return [finding for finding in found if finding.path not in left_out]


def _load(
    records: RecordStore, folder: str, parse: Parse[Record], invalid: str, findings: list[Finding]
) -> tuple[dict[str, Record], list[str]] | None:
    """Returns the sound records of a folder by their places, and the names of the others; None if it cannot be listed.

    What is found goes into `findings`; `invalid` is the id for a damaged record.
    """
    channel = records.channel
    sound: dict[str, Record] = {}
    others: list[str] = []
    try:
        listed = records.names(folder)
    except ChatError as error:
        findings.append(_unread(channel, folder, error))
        return None
    for name in listed:
        place = f"{folder}/{name}"
        path = channel.layout.record(place)
        try:
            data = records.read(place)
            if data is None:
                continue
            findings += mode_findings(channel.workspace.files, path)
        except (ChatError, OSError) as error:
            findings.append(_unread(channel, place, error))
            others.append(name)
            continue
        try:
            sound[place] = parse(records, place, data)
        except ChatError as error:
            others.append(name)
            later = error.code == "RECORD_VERSION"
            findings.append(
                Finding(
                    id=invalid,
                    path=path,
                    message=str(error.__cause__ or error.message),
                    remedy="use the version of the program that wrote it" if later else _MEND[invalid],
                )
            )
    return sound, others


_MEND = {
    "task.valid": "mend the file by hand, or restore it; until then the task counts as not done",
    "claim.valid": "mend the file by hand, or move it away: the task itself tells until when it is held",
    "lock.valid": "mend the file by hand, or move it away if nobody edits its paths; until then they count as held",
}


def _unread(channel: Channel, place: str, error: ChatError | OSError) -> Finding:
    """Returns the finding about a record or a folder that cannot be read."""
    cause = error.__cause__ if isinstance(error, ChatError) else error
    path = getattr(cause, "filename", None)
    ordinary = not isinstance(cause, NotOrdinaryError)
    reason = getattr(cause, "strerror", None) or str(error)
    return Finding(
        id="record.file",
        path=path if isinstance(path, str) else channel.layout.record(place),
        message=f"it cannot be read: {reason}",
        remedy="mend its permissions or the disk" if ordinary else "move it away",
    )


# -- tasks and claims --------------------------------------------------------------------------------------------------


def _check_tasks(channel: Channel, now: Moment) -> list[Finding]:
    """Checks all tasks and claims, and whether they agree."""
    records = RecordStore(channel, OF_TASKS)
    found: list[Finding] = []
    tasks = _load(records, TASKS, task_records.parse_task, "task.valid", found)
    claims = _load(records, CLAIMS, task_records.parse_claim, "claim.valid", found) if tasks is not None else None
    if tasks is None or claims is None:
        return found
    by_id: dict[str, StoredTask] = {}
    for stored in tasks[0].values():
        first = by_id.setdefault(names.fold(stored.task.id), stored)
        if first is not stored:
            found.append(
                Finding(
                    id="task.unique",
                    path=channel.layout.record(stored.place),
                    message=f"the task {first.task.id} has the same id but for case",
                    remedy="move one of the two away",
                )
            )
    damaged = {names.fold(name[: -len(_END)]) for name in tasks[1]}
    found += _check_dependencies(channel, by_id, damaged)
    by_task: dict[str, list[StoredClaim]] = {}
    for stored_claim in claims[0].values():
        by_task.setdefault(names.fold(stored_claim.claim.task_id), []).append(stored_claim)
    for task_id, claimed in by_task.items():
        if task_id not in damaged and any(_check_claims(channel, by_id.get(task_id), claimed)):
            found += _looked_at_again(records, claimed[0].claim.task_id)
        for each in claimed:
            found += _suspect(channel, each.place, each.claim.lease, now, f"task recover {{}} {each.claim.task_id}")
    for task_id, stored in by_id.items():
        odd = any(claim_record.may_be_of(name, task_id) for name in claims[1])
        if task_id not in by_task and not odd and any(_check_unclaimed(channel, stored)):
            found += _looked_at_again(records, stored.task.id)
    return found


def _looked_at_again(records: RecordStore, task_id: str) -> list[Finding]:
    """Returns what is wrong with one task and its claims, read at once; of a task that somebody is changing nothing."""
    try:
        before = task_records.find_task(records, task_id)
        names_of = [name for name in records.names(CLAIMS) if claim_record.may_be_of(name, task_id)]
        claimed = [_claim_of(records, f"{CLAIMS}/{name}", task_id) for name in names_of]
        after = task_records.find_task(records, task_id)
    except ChatError:
        return []  # that it cannot be read now is told elsewhere
    if before != after:
        return []
    sound = [stored for stored in claimed if stored is not None]
    if sound:
        return list(_check_claims(records.channel, after, sound))
    return list(_check_unclaimed(records.channel, after)) if after is not None else []


def _claim_of(records: RecordStore, place: str, task_id: str) -> StoredClaim | None:
    data = records.read(place)
    stored = task_records.parse_claim(records, place, data) if data is not None else None
    return stored if stored is not None and names.same(stored.claim.task_id, task_id) else None


def _check_dependencies(channel: Channel, tasks: Mapping[str, StoredTask], damaged: set[str]) -> Iterator[Finding]:
    """Checks that what tasks depend on is there, and that none can be reached from itself."""
    call = channel.workspace.call
    for stored in tasks.values():
        folded = {names.fold(below): below for below in stored.task.depends_on}
        missing = [below for key, below in folded.items() if key not in tasks and key not in damaged]
        if missing:
            yield Finding(
                id="task.dependency",
                path=channel.layout.record(stored.place),
                message=f"it depends on what is not there: {_listed(missing)}",
                remedy="restore that task, or "
                + call(f"task update {channel.name} {stored.task.id} --as NAME --depends-on ID"),
            )
    graph = {key: tuple(map(names.fold, stored.task.depends_on)) for key, stored in tasks.items()}
    for cycle in _cycles(graph):
        stored = tasks[cycle[0]]
        through = [tasks[key].task.id for key in cycle[1:]]
        yield Finding(
            id="task.cycle",
            path=channel.layout.record(stored.place),
            message="it depends on itself" + (f" through {_listed(through)}" if through else ""),
            remedy=call(f"task update {channel.name} {stored.task.id} --as NAME --depends-on ID")
            + " with what it really depends on",
        )


def _listed(ids: Sequence[str]) -> str:
    more = len(ids) - _SHOWN
    return ", ".join(ids[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _cycles(graph: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yields cycles of a graph, one for each node at which one is met; each edge is followed once."""
    open_nodes: set[str] = set()
    closed: set[str] = set()
    met: set[str] = set()
    for start in sorted(graph):
        if start in closed:
            continue
        path, rest = [start], [iter(graph[start])]
        open_nodes.add(start)
        while path:
            below = next(rest[-1], None)
            if below is None:
                rest.pop()
                open_nodes.remove(path[-1])
                closed.add(path.pop())
            elif below in open_nodes:
                if below not in met:
                    met.add(below)
                    yield path[path.index(below) :]
            elif below in graph and below not in closed:
                path.append(below)
                rest.append(iter(graph[below]))
                open_nodes.add(below)


def _check_claims(channel: Channel, stored: StoredTask | None, claimed: Sequence[StoredClaim]) -> Iterator[Finding]:
    """Checks the claims on one task against each other and against the task, None where there is none."""
    claim, path = claimed[0].claim, channel.layout.record(claimed[0].place)
    recovery = channel.workspace.call(f"task recover {channel.name} {claim.task_id} --as NAME --reason WHY")
    task = stored.task if stored is not None else None
    if task is None or task.status not in (IN_PROGRESS, BLOCKED):
        how = "is not there" if task is None else f"is {task.status}"
        yield Finding(
            id="claim.task",
            path=path,
            message=f"the task {claim.task_id} {how}, so nobody can hold it",
            remedy="restore the task, or move the claim away" if task is None else "move it away",
        )
        return
    for extra in claimed[1:]:
        yield Finding(
            id="claim.unique",
            path=channel.layout.record(extra.place),
            message=f"{claimed[0].place.rpartition('/')[2]} is a claim on task {task.id} too",
            remedy=f"decide whose it is and move the other away, or, once no lease runs, {recovery}",
        )
    if len(claimed) > 1:
        return
    said = f"owner {task.owner or 'nobody'}, lease until {_instant(task.lease_expires_at)}"
    mine = f"owner {claim.owner}, lease until {_instant(claim.lease.expires)}"
    same = task.owner is not None and names.same(task.owner, claim.owner)
    if not same or task.lease_expires_at != claim.lease.expires:
        yield Finding(
            id="claim.agrees",
            path=path,
            message=f"it says {mine}; task {task.id} says {said}",
            remedy=f"mend the one that is wrong by hand, or, once the lease ran out, {recovery}",
        )


def _instant(seconds: float | None) -> str:
    return "never" if seconds is None else timestamps.format_utc(seconds)


def _check_unclaimed(channel: Channel, stored: StoredTask) -> Iterator[Finding]:
    """Checks that a task without a claim tells of none."""
    task = stored.task
    if task.lease_expires_at is not None and task.status not in FINAL:
        call = channel.workspace.call
        yield Finding(
            id="task.claim",
            path=channel.layout.record(stored.place),
            message=f"it tells of a lease until {_instant(task.lease_expires_at)}, and has no claim",
            remedy=call(f"task renew {channel.name} {task.id} --as {task.owner or 'NAME'}")
            + " makes the claim anew; once the lease ran out: task recover",
        )


# -- path locks, and leases --------------------------------------------------------------------------------------------


def _check_locks(channel: Channel, now: Moment) -> list[Finding]:
    """Checks all path locks, and that those that run do not meet."""
    found: list[Finding] = []
    loaded = _load(RecordStore(channel, OF_LOCKS), LOCKS, lock_records.parse_lock, "lock.valid", found)
    locks = list(loaded[0].values()) if loaded is not None else []
    for stored in locks:
        if stored.lock is not None:
            found += _suspect(channel, stored.place, stored.lock.lease, now, f"recover {{}} {stored.id}")
    found += _overlaps(channel, [stored for stored in locks if stored.lock and _runs(stored.lock.lease, now)])
    return found


def _runs(lease: Lease, now: Moment) -> bool:
    return lease.standing(now) != EXPIRED


def _overlaps(channel: Channel, locks: Sequence[StoredLock]) -> Iterator[Finding]:
    """Yields each lock with a path that another owner's is on, or leads through; stored paths are compared as they are.

    How names are compared where the files are is not known here, so `a` and `A` count as two.
    """
    on: dict[tuple[str, ...], StoredLock] = {}
    for stored in locks:
        for path in stored.paths:
            on.setdefault((path.tree, *locked_path.parts_of(path.normalized_path)), stored)
    for stored in locks:
        for path in stored.paths:
            parts = (path.tree, *locked_path.parts_of(path.normalized_path))
            above = (on.get(parts[:length]) for length in range(1, len(parts) + 1))
            other = next((each for each in above if each and not names.same(each.owner, stored.owner)), None)
            if other is not None:
                yield Finding(
                    id="lock.overlap",
                    path=channel.layout.record(stored.place),
                    message=f"{stored.owner} holds {path.normalized_path} while {other.owner} holds lock {other.id}",
                    remedy=channel.workspace.call(f"unlock {channel.name} {stored.id} --as {stored.owner}")
                    + ", or the other",
                )
                break


def _suspect(channel: Channel, place: str, lease: Lease, now: Moment, words: str) -> Iterator[Finding]:
    """Tells of a lease that some clock made too long. One that ran out is no finding: so leases end.

    `words` are those of its recovery, with {} for the channel.
    """
    if lease.standing(now) == SUSPECT:
        call = f"{words.format(channel.name)} --as NAME --reason WHY"
        yield Finding(
            id="lease.suspect",
            path=channel.layout.record(place),
            message=f"its lease is {time_left(lease, now)}",
            remedy=f"ask its owner to renew it, or {channel.workspace.call(call)}",
        )
