"""A change of records with its audit message: the number, the id and the time that it gets, and its commit."""

from __future__ import annotations

from agent_chat.records import json_codec
from agent_chat.records.lease import Moment
from agent_chat.records.message import Message
from agent_chat.records.value import Value
from agent_chat.storage.transaction import Plan, commit
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_chat.records.journal_entry import Change
    from agent_chat.storage.channel import Mutation
    from agent_chat.storage.journal import Journal
    from agent_chat.storage.message_numbers import Numbers


class Ticket(Value):
    """What a change gets before it is planned: the number of its audit message, its transaction id, and the time."""

    seq: int
    transaction: str
    now: Moment

    @property
    def created(self) -> str:
        """The time as text."""
        return format_utc(self.now.wall)


def ticket(mutation: Mutation, numbers: Numbers) -> Ticket:
    """Returns the ticket of the next change; `numbers` are those listed under the lock."""
    workspace = mutation.channel.workspace
    return Ticket(seq=mutation.next_seq(numbers), transaction=workspace.ids.fresh(), now=workspace.clock.moment())


def carry_out(
    mutation: Mutation,
    journal: Journal,
    ticket: Ticket,
    *,
    operation: str,
    actor: str,
    target: str,
    event: str,
    changes: tuple[Change, ...],
    fields: Mapping[str, object],
    audit_failed: str,
) -> None:
    """Commits changes with the audit message that tells of them: status and title name the event, the body is JSON."""
    channel = mutation.channel
    body = {**fields, "channel": channel.name, "event": event, "transaction_id": ticket.transaction}
    message = Message(
        seq=ticket.seq,
        sender=actor,
        title=f"{event} {target}",
        body=json_codec.encode(dict(sorted(body.items())), indent=2) + "\n",
        created=ticket.created,
        status=event,
        transaction=ticket.transaction,
    )
    plan = Plan(
        operation=operation,
        actor=actor,
        target=target,
        changes=changes,
        message=channel.workspace.signed(message),
        audit_failed=audit_failed,
    )
    commit(mutation, journal, plan)
