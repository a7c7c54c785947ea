"""Tasks: make one, change one, and see which are ready."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations import task_records
from agent_chat.operations.audited import Ticket, carry_out, ticket
from agent_chat.operations.participants import first_spelling, participant
from agent_chat.operations.task_records import StoredClaim, StoredTask
from agent_chat.records import claim as claim_record
from agent_chat.records import task as task_record
from agent_chat.records.claim import Claim
from agent_chat.records.journal_entry import Change
from agent_chat.records.record_fields import instant_text
from agent_chat.records.task import (
    BLOCKED,
    CANCELLED,
    DONE,
    NEEDS_DEPENDENCIES,
    OPEN,
    STATUSES,
    TRANSITIONS,
    Task,
)
from agent_chat.records.value import Value
from agent_chat.storage.journal import OF_TASKS, TASKS
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.storage.channel import Channel, Mutation

MAX_TEXT_BYTES = 4096
MAX_RECORD_BYTES = 1 << 18
# The command that takes a claimed task to a status.
_VERBS = {OPEN: "release", BLOCKED: "block", DONE: "done", CANCELLED: "cancel"}


class TaskChanges(Value):
    """The fields that a caller sets, None where it does not; `clear` names fields to empty."""

    title: str | None = None
    owner: str | None = None
    depends_on: tuple[str, ...] | None = None
    files_hint: tuple[str, ...] | None = None
    acceptance: tuple[str, ...] | None = None
    branch: str | None = None
    status: str | None = None
    clear: tuple[str, ...] = ()


class Changed(Value):
    """What became of a task; `seq` is None when nothing had to change."""

    task: Task
    claim: Claim | None = None
    seq: int | None = None


def checked_id(text: str, code: str = "TASK_INVALID_ARGUMENT") -> str:
    """Returns a task id; refuses what is none."""
    fault = names.fault_of_task_id(text)
    if fault:
        raise ChatError(code, f"{names.quoted(text)} is no task id: {fault}")
    return text


def checked_text(what: str, text: str) -> str:
    """Returns a text that may stand in a record: one line, UTF-8, not empty, not too long."""
    if not text.strip():
        raise ChatError("TASK_INVALID_ARGUMENT", f"the {what} is empty")
    if any(sign < " " or "\x7f" <= sign <= "\x9f" or "\ud800" <= sign <= "\udfff" for sign in text):
        raise ChatError("TASK_INVALID_ARGUMENT", f"the {what} must be one line of UTF-8 without control characters")
    if len(text.encode("utf-8")) > MAX_TEXT_BYTES:
        raise ChatError("TASK_INVALID_ARGUMENT", f"the {what} has more than {MAX_TEXT_BYTES} bytes")
    return text


def create(channel: Channel, actor: str, task_id: str, changes: TaskChanges) -> Changed:
    """Makes a task; fails with TASK_ALREADY_EXISTS, TASK_UNKNOWN_DEPENDENCY or TASK_DEPENDENCY_CYCLE."""
    creator = participant(channel, actor)
    checked_id(task_id)
    if names.is_device(task_id) or task_id.endswith("."):
        raise ChatError(
            "TASK_INVALID_ARGUMENT", f"{names.quoted(task_id)} cannot be the name of a file on Windows; choose another"
        )
    with channel.mutation(OF_TASKS, actor=creator) as mutation:
        records = RecordStore(channel, OF_TASKS, locked=True)
        numbers = mutation.numbers()
        creator = first_spelling(channel, numbers, creator)
        taken = names.spelling(records.names(TASKS), task_id + task_records.END)
        if taken is not None:
            raise channel.refusal(
                "TASK_ALREADY_EXISTS",
                f"the task {names.quoted(taken[: -len(task_records.END)])} exists in {channel.name}",
                call=f"task show {channel.name} {taken[: -len(task_records.END)]}",
            )
        given = ticket(mutation, numbers)
        draft = Task(id=task_id, channel=channel.name, title="", created_by=creator, updated_at=given.now.wall // 1)
        task = plan_update(records, draft, changes)
        commit_task(mutation, given, "create", creator, "task.created", None, task, records=records)
    return Changed(task=task, seq=given.seq)


def update(channel: Channel, actor: str, task_id: str, changes: TaskChanges) -> Changed:
    """Changes fields of a task; one that is claimed keeps its owner and status (LEASE_MUTATION_REQUIRED)."""
    name = participant(channel, actor)
    checked_id(task_id)
    if changes == TaskChanges():
        raise ChatError("TASK_INVALID_UPDATE", "the update names nothing to change")
    for field in changes.clear:
        if changes.__dict__[field] is not None:
            raise ChatError("TASK_INVALID_UPDATE", f"the update both sets and clears {field}")
    with channel.mutation(OF_TASKS, actor=name) as mutation:
        records = RecordStore(channel, OF_TASKS, locked=True)
        stored = task_records.load_task(records, task_id)
        task = plan_update(records, stored.task, changes)
        if task == stored.task:
            return Changed(task=task)
        claim = task_records.the_claim(records, stored.task)
        if claim is not None and (task.owner, task.status) != (stored.task.owner, stored.task.status):
            raise _leased(channel, stored.task, claim, name, task.status)
        numbers = mutation.numbers()
        given = ticket(mutation, numbers)
        task = task.replace(updated_at=given.now.wall // 1)
        name = first_spelling(channel, numbers, name)
        commit_task(mutation, given, "update", name, "task.updated", stored, task, records=records)
    return Changed(task=task, seq=given.seq)


def _leased(channel: Channel, task: Task, claim: StoredClaim, actor: str, status: str) -> ChatError:
    verb = _VERBS.get(status) if names.same(claim.claim.owner, actor) and status != task.status else None
    return channel.refusal(
        "LEASE_MUTATION_REQUIRED",
        f"task {task.id} is claimed by {claim.claim.owner}, so its owner and status change through the claim only",
        call=f"task {verb} {channel.name} {task.id} --as {actor}" if verb else f"task show {channel.name} {task.id}",
        owner=claim.claim.owner,
    )


def plan_update(records: RecordStore, task: Task, changes: TaskChanges) -> Task:
    """Returns a task with fields changed; refuses what breaks a rule. Reads the dependencies, and theirs."""
    channel = records.channel
    fields: dict[str, object] = dict.fromkeys(changes.clear)
    if changes.title is not None or not task.title:
        fields["title"] = checked_text("title", changes.title or "")
    if changes.owner is not None:
        owner = participant(channel, changes.owner)
        fields["owner"] = task.owner if task.owner is not None and names.same(task.owner, owner) else owner
    if changes.branch is not None:
        fields["branch"] = checked_text("branch", changes.branch)
    for field in ("files_hint", "acceptance"):
        items = changes.__dict__[field]
        if items is not None:
            fields[field] = tuple(dict.fromkeys(checked_text(field, item) for item in items))
    if changes.depends_on is not None:
        fields["depends_on"] = _dependencies(records, task.id, changes.depends_on)
    changed = task.replace(**fields)
    if changes.status is not None:
        require_transition(channel, task, changes.status)
        changed = changed.replace(status=changes.status)
        if changes.status != task.status:
            require_dependencies(records, changed, changes.status)
    if len(task_record.render(changed)) > MAX_RECORD_BYTES:
        raise ChatError("TASK_INVALID_ARGUMENT", f"the task's record would be larger than {MAX_RECORD_BYTES} bytes")
    return changed


def _dependencies(records: RecordStore, task_id: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Returns dependencies as their records spell them; refuses unknown ones and cycles, at any depth."""
    found: list[str] = []
    for wanted_id in wanted:
        checked_id(wanted_id)
        if names.same(wanted_id, task_id):
            raise ChatError("TASK_DEPENDENCY_CYCLE", f"task {task_id} cannot depend on itself")
        stored = task_records.find_task(records, wanted_id)
        if stored is None:
            channel = records.channel
            raise channel.refusal(
                "TASK_UNKNOWN_DEPENDENCY",
                f"no task {names.quoted(wanted_id)} in {channel.name} to depend on",
                near=(wanted_id, tuple(name[: -len(task_records.END)] for name in records.names(TASKS))),
                call=f"task list {channel.name}",
            )
        if not names.contains(found, stored.task.id):
            found.append(stored.task.id)
    _refuse_cycle(records, task_id, found)
    return tuple(found)


def _refuse_cycle(records: RecordStore, task_id: str, first: Sequence[str]) -> None:
    """Refuses dependencies from which the task itself can be reached."""
    seen = {names.fold(each) for each in first}
    pending = list(first)
    while pending:
        above = pending.pop()
        # A task that cannot be read may close the cycle: then it is refused, with that task's code.
        stored = task_records.find_task(records, above)
        for below in stored.task.depends_on if stored is not None else ():
            if names.same(below, task_id):
                raise ChatError("TASK_DEPENDENCY_CYCLE", f"task {task_id} would depend on itself through {above}")
            if names.fold(below) not in seen:
                seen.add(names.fold(below))
                pending.append(below)


def require_transition(channel: Channel, task: Task, status: str) -> None:
    """Refuses a status that is none, or that does not follow the task's own."""
    if status not in STATUSES:
        raise channel.refusal(
            "TASK_INVALID_STATUS",
            f"{names.quoted(status)} is no status: {', '.join(STATUSES)}",
            near=(status, STATUSES),
        )
    if status != task.status and status not in TRANSITIONS[task.status]:
        allowed = ", ".join(TRANSITIONS[task.status])
        how = f"it may become {allowed}, not {status}" if allowed else "which is final"
        raise channel.refusal(
            "TASK_INVALID_TRANSITION",
            f"task {task.id} is {task.status}, {how}",
            call=f"task show {channel.name} {task.id}",
        )


def require_dependencies(records: RecordStore, task: Task, status: str) -> None:
    """Refuses to enter a status that needs all dependencies done."""
    waits = task_records.waiting_for(records, task) if status in NEEDS_DEPENDENCIES else []
    if waits:
        channel = records.channel
        raise channel.refusal(
            "TASK_DEPENDENCY_NOT_READY",
            f"task {task.id} waits for {task_records.waits_text(waits)}",
            call=f"task ready {channel.name}",
            waiting_for=[{"id": each.id, "status": each.status} for each in waits],
        )


def _claim_changes(records: RecordStore, claims: Sequence[StoredClaim], claim: Claim | None) -> list[Change]:
    """Returns the changes of files by which a claim, or none, takes the place of others."""
    changes: list[Change] = []
    target = ""
    if claim is not None:
        target = task_records.place_of_claim(claim)
        # Where case does not matter to the disk, two spellings are one file.
        target = names.spelling([stored.place for stored in claims], target) or target
        there = next((stored.data for stored in claims if stored.place == target), None)
        stray = task_records.stray_at(records, target) if there is None else None
        if stray is not None:
            # Another program's claim on another task has the name that is ours; it gets the one that is its own.
            there = stray.data
            changes.append(Change(path=task_records.place_of_claim(stray.claim), before=None, after=stray.data))
        changes.append(Change(path=target, before=there, after=claim_record.render(claim)))
    others = [stored for stored in claims if stored.place != target]
    return [*changes, *(Change(path=stored.place, before=stored.data, after=None) for stored in others)]


def commit_task(
    mutation: Mutation,
    given: Ticket,
    operation: str,
    actor: str,
    event: str,
    before: StoredTask | None,
    task: Task,
    *,
    records: RecordStore,
    claims: Sequence[StoredClaim] = (),
    claim: Claim | None = None,
) -> None:
    """Commits a task, and the claim on it that takes the place of others, with the audit message."""
    place = before.place if before is not None else task_records.place_of(task.id)
    changes = [Change(path=place, before=before.data if before else None, after=task_record.render(task))]
    changes += _claim_changes(records, claims, claim)
    old = before.task if before is not None else None
    fields: dict[str, object] = {
        "task_id": task.id,
        "status": task.status,
        "owner": task.owner,
        "lease_expires_at": instant_text(task.lease_expires_at),
        "updated_at": instant_text(task.updated_at),
    }
    if old is not None:
        new_fields, old_fields = task_record.to_json(task), task_record.to_json(old)
        fields["changed_fields"] = sorted(name for name in new_fields if new_fields[name] != old_fields[name])
        fields["previous_status"] = old.status
    if claim is not None:
        fields["lease_owner"] = claim.owner
        fields["fence"] = claim.fence
        if event == "lease.recovered":
            fields["previous_owner"] = claim.previous_owner
            fields["previous_lease_expires_at"] = instant_text(claim.previous_lease_expires_at)
            fields["recovery_reason"] = claim.recovery_reason
    carry_out(
        mutation,
        OF_TASKS,
        given,
        operation=operation,
        actor=actor,
        target=task.id,
        event=event,
        changes=tuple(changes),
        fields=fields,
        audit_failed="LEASE_AUDIT_FAILED" if event.startswith("lease.") else "TASK_AUDIT_FAILED",
    )
