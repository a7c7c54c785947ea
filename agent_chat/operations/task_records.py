"""Loading tasks and their claims, and whether a task is ready; damaged records stop only themselves."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import DAMAGED, ChatError
from agent_chat.records import claim as claim_record
from agent_chat.records import record_fields
from agent_chat.records import task as task_record
from agent_chat.records.claim import Claim
from agent_chat.records.lease import Lease
from agent_chat.records.task import DONE, Task
from agent_chat.records.value import Value
from agent_chat.storage.journal import CLAIMS, TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_chat.storage.record_store import RecordStore

END = ".json"
_CLAIM_CODES = {
    record_fields.MISSING: "LEASE_REQUIRED_FIELD_MISSING",
    record_fields.UNKNOWN: "LEASE_UNKNOWN_FIELD",
    record_fields.TIMESTAMP: "LEASE_INVALID_TIMESTAMP",
    record_fields.IDENTITY: "LEASE_RECORD_ID_MISMATCH",
    record_fields.VERSION: "RECORD_VERSION",
}
# The codes by which a claim is set aside, and only the task that it is on is not shown as ready.
DAMAGED_CLAIM = ("LEASE_INCONSISTENT", "LEASE_INVALID_RECORD", *_CLAIM_CODES.values())
MOST_SHOWN = 5


class StoredTask(Value):
    """A task and where it lies; `data` are its file's bytes."""

    task: Task
    place: str
    data: bytes


class StoredClaim(Value):
    """A claim and where it lies; `data` is None for one that only the task's own record tells of."""

    claim: Claim
    place: str
    data: bytes | None


class Dependency(Value):
    """A dependency that is not done: its id, and its status or "missing"."""

    id: str
    status: str


def place_of(task_id: str) -> str:
    """Returns the place of a task's record."""
    return f"{TASKS}/{task_id}{END}"


def load_task(records: RecordStore, task_id: str) -> StoredTask:
    """Returns a task by id, case aside; fails with TASK_NOT_FOUND, TASK_INVALID_RECORD or RECORD_VERSION."""
    found = find_task(records, task_id)
    if found is None:
        channel = records.channel
        known = tuple(name[: -len(END)] for name in records.names(TASKS))
        raise channel.refusal(
            "TASK_NOT_FOUND",
            f"no task {names.quoted(task_id)} in {channel.name} ({channel.workspace.describe()})",
            call=f"task list {channel.name}",
            near=(task_id, known),
        )
    return found


def find_task(records: RecordStore, task_id: str) -> StoredTask | None:
    """Returns a task by id, case aside, None where there is none; fails as `load_task` does for a damaged one."""
    place = place_of(task_id)
    data = records.read(place)
    if data is None:
        spelled = names.spelling(records.names(TASKS), task_id + END)
        if spelled is None:
            return None
        place = f"{TASKS}/{spelled}"
        data = records.read(place)
        if data is None:
            return None
    return parse_task(records, place, data)


def parse_task(records: RecordStore, place: str, data: bytes) -> StoredTask:
    """Returns the task in a file's bytes; fails with TASK_INVALID_RECORD or RECORD_VERSION."""
    try:
        task = task_record.parse(data)
        if not names.same(place, place_of(task.id)):
            raise record_fields.RecordError(record_fields.IDENTITY, f"it names the task {task.id}")
        if not names.same(task.channel, records.channel.name):
            raise record_fields.RecordError(
                record_fields.IDENTITY, f"it names the channel {names.quoted(task.channel)}"
            )
    except record_fields.RecordError as error:
        raise records.refusal(place, error, {"": "TASK_INVALID_RECORD"}) from error
    return StoredTask(task=task, place=place, data=data)


def every_task(records: RecordStore) -> tuple[list[StoredTask], dict[str, str]]:
    """Returns all tasks in order of their ids, and a warning for each that is set aside, by its folded id."""
    found: list[StoredTask] = []
    warnings: dict[str, str] = {}
    seen: dict[str, str] = {}
    for name in records.names(TASKS):
        place = f"{TASKS}/{name}"
        other = seen.setdefault(names.fold(name), name)
        if other != name:
            warnings[names.fold(name)] = (
                f"{records.channel.name}/{place} has the id of {other} but for case; see doctor"
            )
        try:
            data = records.read(place)
            if data is not None:
                found.append(parse_task(records, place, data))
        except ChatError as error:
            if error.kind != DAMAGED:
                raise
            warnings[names.fold(name[: -len(END)])] = f"{error.code}: {error.message}"
    return sorted(found, key=lambda stored: stored.task.id), warnings


def parse_claim(records: RecordStore, place: str, data: bytes) -> StoredClaim:
    """Returns the claim in a file's bytes; fails with a LEASE_ code or RECORD_VERSION."""
    name = place.rpartition("/")[2]
    try:
        claim = claim_record.parse(data)
        of_another = f"{claim.task_id}.{claim.owner}{END}"
        ours = claim_record.file_name(claim.task_id, claim.owner)
        if not names.same(name, ours) and (claim.fence is not None or not names.same(name, of_another)):
            raise record_fields.RecordError(
                record_fields.IDENTITY, f"it names task {claim.task_id} and owner {claim.owner}"
            )
        if not names.same(claim.channel, records.channel.name):
            raise record_fields.RecordError(
                record_fields.IDENTITY, f"it names the channel {names.quoted(claim.channel)}"
            )
    except record_fields.RecordError as error:
        raise records.refusal(place, error, {"": "LEASE_INVALID_RECORD", **_CLAIM_CODES}) from error
    return StoredClaim(claim=claim, place=place, data=data)


def place_of_claim(claim: Claim) -> str:
    """Returns the place of a claim's record, as we name it."""
    return f"{CLAIMS}/{claim_record.file_name(claim.task_id, claim.owner)}"


def stray_at(records: RecordStore, place: str) -> StoredClaim | None:
    """Returns the claim that another program keeps under a name that means another pair to us, None without one.

    Fails with the code of a damaged one, and with LEASE_RECORD_ID_MISMATCH where the name of its own is taken too.
    """
    data = records.read(place)
    if data is None:
        return None
    stray = parse_claim(records, place, data)
    if records.read(place_of_claim(stray.claim)) is not None:
        raise records.channel.refusal(
            "LEASE_RECORD_ID_MISMATCH",
            f"{records.channel.name}/{place} is a claim of {stray.claim.owner} on {stray.claim.task_id}, as is another",
            call=f"doctor {records.channel.name}",
        )
    return stray


def claims_on(records: RecordStore, task: Task, listed: Iterable[str] | None = None) -> list[StoredClaim]:
    """Returns the claims on a task; fails with the code of a damaged one.

    A lease that only the task's own record tells of, its claim file gone, counts as one: nobody may take it over before
    it has run out. `listed` are the names of the claim files, where they are known.
    """
    found: list[StoredClaim] = []
    for name in records.names(CLAIMS) if listed is None else listed:
        if not claim_record.may_be_of(name, task.id):
            continue
        place = f"{CLAIMS}/{name}"
        try:
            data = records.read(place)
            if data is None:
                continue
            stored = parse_claim(records, place, data)
        except ChatError as error:
            if error.kind != DAMAGED or _may_hold(records, name, task.id):
                raise
            continue
        if names.same(stored.claim.task_id, task.id):
            found.append(stored)
    if not found and task.lease_expires_at is not None and task.owner is not None:
        found.append(_from_task(task, task.owner, task.lease_expires_at))
    return found


def _may_hold(records: RecordStore, name: str, task_id: str) -> bool:
    """Tells whether a damaged claim may be one on a task: by its name, unless that is of another task that is there."""
    other = name[: -len(END)].rpartition(".")[0]
    return claim_record.is_of(name, task_id) or names.spelling(records.names(TASKS), other + END) is None


def _from_task(task: Task, owner: str, expires: float) -> StoredClaim:
    """Returns the claim that a task's record tells of by its own fields."""
    claim = Claim(
        task_id=task.id,
        channel=task.channel,
        owner=owner,
        lease=Lease(expires=expires, granted=task.updated_at),
        claimed_at=task.updated_at,
    )
    return StoredClaim(claim=claim, place=place_of_claim(claim), data=None)


def the_claim(records: RecordStore, task: Task, listed: Iterable[str] | None = None) -> StoredClaim | None:
    """Returns the claim on a task, None without one; LEASE_INCONSISTENT where several or different ones are told of."""
    found = claims_on(records, task, listed)
    if not found:
        return None
    if len(found) > 1 or task.owner is None or not names.same(found[0].claim.owner, task.owner):
        owners = ", ".join(stored.claim.owner for stored in found)
        channel = records.channel
        raise channel.refusal(
            "LEASE_INCONSISTENT",
            f"task {task.id} has the owner {task.owner or 'nobody'}, and is claimed by {owners}",
            call=f"doctor {channel.name}",
        )
    return found[0]


def waiting_for(records: RecordStore, task: Task, known: dict[str, str] | None = None) -> list[Dependency]:
    """Returns the dependencies of a task that are not done, in its order; a damaged one has the status "damaged".

    `known` are the statuses by folded id, where all tasks were read.
    """
    found: list[Dependency] = []
    for below in task.depends_on:
        status = known.get(names.fold(below), "missing") if known is not None else _status_of(records, below)
        if status != DONE:
            found.append(Dependency(id=below, status=status))
    return found


def _status_of(records: RecordStore, task_id: str) -> str:
    try:
        stored = find_task(records, task_id)
    except ChatError as error:
        if error.kind != DAMAGED:
            raise
        return "damaged"
    return stored.task.status if stored is not None else "missing"


def waits_text(waits: Sequence[Dependency]) -> str:
    """Returns what a task waits for, in words."""
    shown = ", ".join(f"{each.id} ({each.status})" for each in waits[:MOST_SHOWN])
    more = len(waits) - MOST_SHOWN
    return shown + (f" and {more} more" if more > 0 else "")
