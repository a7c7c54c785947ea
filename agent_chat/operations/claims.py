"""Claims: work that exactly one agent holds, for as long as its lease runs."""

from __future__ import annotations

from agent_chat import names
from agent_chat.operations import task_records
from agent_chat.operations.audited import Ticket, ticket
from agent_chat.operations.leases import (
    CLAIM,
    Actor,
    Holding,
    duration,
    known_actor,
    lapsed,
    reason,
    require_holder,
    require_recoverable,
    require_running,
    time_left,
)
from agent_chat.operations.participants import first_spelling
from agent_chat.operations.tasks import (
    Changed,
    checked_id,
    commit_task,
    require_dependencies,
    require_transition,
)
from agent_chat.records.claim import Claim
from agent_chat.records.lease import ACTIVE, DEFAULT_SECONDS, granted
from agent_chat.records.task import BLOCKED, CANCELLED, DONE, FINAL, IN_PROGRESS, OPEN
from agent_chat.storage.journal import OF_TASKS
from agent_chat.storage.record_store import RecordStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.errors import ChatError
    from agent_chat.operations.task_records import StoredClaim, StoredTask
    from agent_chat.records.task import Task
    from agent_chat.storage.channel import Channel, Mutation


class _Call:
    """One call on a task under the channel's lock: what is there, and who asks."""

    def __init__(self, channel: Channel, mutation: Mutation, task_id: str, actor: Actor) -> None:
        self.channel = channel
        self.mutation = mutation
        self.records = RecordStore(channel, OF_TASKS, locked=True)
        self.stored: StoredTask = task_records.load_task(self.records, task_id)
        self.task: Task = self.stored.task
        self.numbers = mutation.numbers()
        self.actor = actor.replace(name=first_spelling(channel, self.numbers, actor.name))
        self.ticket: Ticket = ticket(mutation, self.numbers)

    @property
    def look(self) -> str:
        """The words of the command that shows the task."""
        return f"task show {self.channel.name} {self.task.id}"

    @property
    def recovery(self) -> str:
        """The words of the command by which the caller recovers the task."""
        return f"task recover {self.channel.name} {self.task.id} --as {self.actor.name} --reason 'taking over'"

    def claim(self) -> StoredClaim | None:
        """Returns the claim on the task."""
        return task_records.the_claim(self.records, self.task)

    def holding(self, claim: Claim) -> Holding:
        """Returns a claim in the words that all leases share."""
        return Holding(
            id=self.task.id,
            owner=claim.owner,
            lease=claim.lease,
            since=claim.claimed_at,
            fence=claim.fence,
            session=claim.session,
            previous_owner=claim.previous_owner,
        )

    def require_rights(self, claim: Claim, *, running: bool = True) -> None:
        """Refuses whoever does not hold the claim, or holds it no longer."""
        holding = self.holding(claim)
        require_holder(self.channel, CLAIM, holding, self.actor, call=self.look)
        if running:
            require_running(self.channel, CLAIM, holding, self.ticket.now, call=self.recovery)

    @property
    def taking(self) -> str:
        """The words of the command by which the caller may take the task; of one that shows it where nobody can."""
        if self.task.status in FINAL:
            return self.look
        return f"task claim {self.channel.name} {self.task.id} --as {self.actor.name}"

    def no_claim(self, next_call: str) -> ChatError:
        """Returns the refusal of what needs a claim, or of a fence, where there is none."""
        return self.channel.refusal(
            "LEASE_NOT_FOUND",
            f"task {self.task.id} is {self.task.status} and has no claim ({self.channel.workspace.describe()})",
            call=next_call,
        )

    def commit(
        self,
        operation: str,
        event: str,
        task: Task,
        *,
        claims: tuple[StoredClaim, ...] = (),
        claim: Claim | None = None,
    ) -> Changed:
        """Commits the task and its claim."""
        task = task.replace(
            updated_at=self.ticket.now.wall // 1, lease_expires_at=claim.lease.expires if claim is not None else None
        )
        commit_task(
            self.mutation,
            self.ticket,
            operation,
            self.actor.name,
            event,
            self.stored,
            task,
            records=self.records,
            claims=claims,
            claim=claim,
        )
        return Changed(task=task, claim=claim, seq=self.ticket.seq)


def _checked(channel: Channel, task_id: str, actor: Actor) -> Actor:
    """Returns who acts, known to the channel; refuses bad names and ids by the codes of leases."""
    checked_id(task_id, "LEASE_INVALID_TASK_ID")
    return known_actor(channel, CLAIM, actor)


def claim(channel: Channel, task_id: str, actor: Actor, lease_seconds: str | None = None) -> Changed:
    """Takes a task whose dependencies are done to in_progress, for the actor alone.

    Fails with LEASE_CONFLICT, LEASE_RECOVERY_REQUIRED, TASK_DEPENDENCY_NOT_READY or TASK_INVALID_TRANSITION.
    """
    who = _checked(channel, task_id, actor)
    seconds = duration(CLAIM, lease_seconds, DEFAULT_SECONDS)
    with channel.mutation(OF_TASKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, task_id, who)
        require_transition(channel, call.task, IN_PROGRESS)
        held = call.claim()
        if held is not None:
            _require_resumable(call, held.claim)
        elif call.task.owner is not None and not names.same(call.task.owner, call.actor.name):
            raise _conflict(call, f"task {call.task.id} is assigned to {call.task.owner}", call.task.owner)
        require_dependencies(call.records, call.task, IN_PROGRESS)
        taken = _granted(call, seconds)
        task = call.task.replace(status=IN_PROGRESS, owner=call.actor.name)
        return call.commit("claim", "lease.claimed", task, claims=(held,) if held else (), claim=taken)


def _require_resumable(call: _Call, held: Claim) -> None:
    """Refuses a task that somebody holds; its holder may claim it anew only to go on after a block."""
    now = call.ticket.now
    holding = call.holding(held)
    if held.lease.standing(now) != ACTIVE:
        raise lapsed(call.channel, CLAIM, holding, now, call=call.recovery)
    if not names.same(held.owner, call.actor.name):
        left = time_left(held.lease, now)
        raise _conflict(call, f"task {call.task.id} is held by {held.owner}, {left}", held.owner)
    call.require_rights(held)
    if call.task.status != BLOCKED:
        raise call.channel.refusal(
            "LEASE_CONFLICT",
            f"you hold task {call.task.id} already, {time_left(held.lease, now)}",
            call=f"task renew {call.channel.name} {call.task.id} --as {call.actor.name}",
            owner=held.owner,
            fence=held.fence,
        )


def _conflict(call: _Call, message: str, owner: str) -> ChatError:
    return call.channel.refusal(
        "LEASE_CONFLICT", message, call=f"task ready {call.channel.name} --as {call.actor.name}", owner=owner
    )


def _granted(call: _Call, seconds: float) -> Claim:
    """Returns a new claim of the actor, whose fence is the number of the audit message."""
    return Claim(
        task_id=call.task.id,
        channel=call.channel.name,
        owner=call.actor.name,
        lease=granted(call.ticket.now, seconds),
        claimed_at=call.ticket.now.wall // 1,
        fence=call.ticket.seq,
        session=call.actor.session,
    )


def renew(channel: Channel, task_id: str, actor: Actor, lease_seconds: str | None = None) -> Changed:
    """Makes the holder's lease run anew from now, for its own length where none is given."""
    who = _checked(channel, task_id, actor)
    duration(CLAIM, lease_seconds, DEFAULT_SECONDS)
    with channel.mutation(OF_TASKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, task_id, who)
        held = call.claim()
        if held is None:
            raise call.no_claim(next_call=call.taking)
        call.require_rights(held.claim)
        seconds = duration(CLAIM, lease_seconds, held.claim.lease.seconds or DEFAULT_SECONDS)
        renewed = held.claim.replace(lease=granted(call.ticket.now, seconds))
        return call.commit("renew", "lease.renewed", call.task, claims=(held,), claim=renewed)


def done(channel: Channel, task_id: str, actor: Actor) -> Changed:
    """Takes a task to done and clears its claim."""
    return _leave(channel, task_id, actor, "done", DONE, "lease.completed")


def release(channel: Channel, task_id: str, actor: Actor) -> Changed:
    """Takes a task back to open and clears its claim, and with it the owner."""
    return _leave(channel, task_id, actor, "release", OPEN, "lease.released")


def cancel(channel: Channel, task_id: str, actor: Actor) -> Changed:
    """Takes a task to cancelled and clears its claim; without a running lease it is for owner or creator."""
    return _leave(channel, task_id, actor, "cancel", CANCELLED, "task.updated")


def block(channel: Channel, task_id: str, actor: Actor) -> Changed:
    """Takes a task to blocked; its claim stays."""
    who = _checked(channel, task_id, actor)
    with channel.mutation(OF_TASKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, task_id, who)
        held = call.claim()
        _require_may_change(call, held)
        require_transition(channel, call.task, BLOCKED)
        if call.task.status == BLOCKED:
            return Changed(task=call.task)
        task = call.task.replace(status=BLOCKED)
        kept = held.claim if held is not None else None
        return call.commit("block", "task.updated", task, claims=(held,) if held else (), claim=kept)


def _leave(channel: Channel, task_id: str, actor: Actor, operation: str, status: str, event: str) -> Changed:
    """Takes a task to a status in which nobody holds it."""
    who = _checked(channel, task_id, actor)
    with channel.mutation(OF_TASKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, task_id, who)
        task = call.task
        held = call.claim()
        if status == CANCELLED:
            _require_may_cancel(call, held)
        else:
            _require_may_change(call, held)
        require_transition(channel, task, status)
        if held is None and task.status == status:
            return Changed(task=task)
        if task.status != status:
            require_dependencies(call.records, task, status)
        left = task.replace(status=status, owner=None if held is not None and status == OPEN else task.owner)
        return call.commit(
            operation, event if held is not None else "task.updated", left, claims=(held,) if held else ()
        )


def _require_may_change(call: _Call, held: StoredClaim | None) -> None:
    """Refuses whoever is not the holder of a claim, where there is one; and a fence where there is none."""
    if held is not None:
        call.require_rights(held.claim)
    elif call.actor.fence is not None:
        raise call.no_claim(next_call=call.look)


def _require_may_cancel(call: _Call, held: StoredClaim | None) -> None:
    """Refuses whoever may not cancel: under a running lease all but its holder, else all but owner and creator."""
    now = call.ticket.now
    if held is not None and held.claim.lease.standing(now) == ACTIVE:
        call.require_rights(held.claim)
        return
    if held is not None:
        _require_fence(call, held.claim)
    elif call.actor.fence is not None:
        raise call.no_claim(next_call=call.look)
    allowed = [name for name in (call.task.owner, call.task.created_by) if name is not None]
    if not names.contains(allowed, call.actor.name):
        raise call.channel.refusal(
            "LEASE_OWNER_MISMATCH",
            f"task {call.task.id} can be cancelled by {' or '.join(dict.fromkeys(allowed))}",
            call=call.look,
            owner=call.task.owner,
        )


def recover(channel: Channel, task_id: str, actor: Actor, why: str, lease_seconds: str | None = None) -> Changed:
    """Gives a task whose lease has run out, or is suspect, to the actor, with a reason; the former owner included."""
    who = _checked(channel, task_id, actor)
    text = reason(CLAIM, why)
    seconds = duration(CLAIM, lease_seconds, DEFAULT_SECONDS)
    with channel.mutation(OF_TASKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, task_id, who)
        held = task_records.claims_on(call.records, call.task)
        if not held:
            raise call.no_claim(next_call=call.taking)
        for stored in held:
            require_recoverable(
                channel, CLAIM, "LEASE_NOT_EXPIRED", call.holding(stored.claim), call.ticket.now, call=call.look
            )
        last = max(held, key=lambda stored: stored.claim.lease.expires).claim
        _require_fence(call, last)
        status = BLOCKED if call.task.status == BLOCKED else IN_PROGRESS
        require_transition(channel, call.task, status)
        if status != call.task.status:
            require_dependencies(call.records, call.task, status)
        taken = _granted(call, seconds).replace(
            previous_owner=last.owner, previous_lease_expires_at=last.lease.expires, recovery_reason=text
        )
        task = call.task.replace(status=status, owner=call.actor.name)
        return call.commit("recover", "lease.recovered", task, claims=tuple(held), claim=taken)


def _require_fence(call: _Call, claim: Claim) -> None:
    """Refuses a fence that is not that of the claim, whoever gives it."""
    if call.actor.fence is not None and call.actor.fence != claim.fence:
        require_holder(
            call.channel, CLAIM, call.holding(claim).replace(owner=call.actor.name), call.actor, call=call.look
        )
