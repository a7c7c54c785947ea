"""A claim: the lease that one agent has on a task."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import json_codec
from agent_chat.records.lease import Lease
from agent_chat.records.record_fields import INVALID, SCHEMA_VERSION, RecordError, RecordFields, instant_text
from agent_chat.records.value import Value

END = ".json"
_DOT = "%2E"
_REQUIRED = (
    "task_id",
    "channel",
    "owner",
    "lease_expires_at",
    "claimed_at",
    "updated_at",
    "previous_owner",
    "previous_lease_expires_at",
    "recovery_reason",
)
_ADDED = ("fence", "lease_seconds", "boot_id", "boot_expires", "session")


class Claim(Value):
    """One claim; times are POSIX seconds, `fence` is the number of the audit message that granted it."""

    task_id: str
    channel: str
    owner: str
    lease: Lease
    claimed_at: float
    previous_owner: str | None = None
    previous_lease_expires_at: float | None = None
    recovery_reason: str | None = None
    fence: int | None = None
    session: str | None = None


def file_name(task_id: str, owner: str) -> str:
    """Returns the file name of a claim; the owner is written without dots, so that no two pairs share a file."""
    return f"{task_id}.{owner.replace('.', _DOT)}{END}"


def may_be_of(name: str, task_id: str) -> bool:
    """Tells whether a file name may be that of a claim on a task; another program leaves dots in the owner."""
    begins = names.fold(name).startswith(names.fold(task_id) + ".")
    return begins and name.endswith(END) and len(name) > len(task_id) + 1 + len(END)


def is_of(name: str, task_id: str) -> bool:
    """Tells whether a file name of ours is that of a claim on a task, whatever the file holds."""
    return names.same(name[: -len(END)].rpartition(".")[0], task_id)


def parse(data: bytes) -> Claim:
    """Returns the claim that a file's bytes hold; fails with RecordError."""
    fields = RecordFields(data, "the claim", required=_REQUIRED, added=_ADDED)
    task_id = fields.text("task_id")
    fault = names.fault_of_task_id(task_id)
    if fault:
        raise RecordError(INVALID, f"{names.quoted(task_id)} is no task id: {fault}")
    return Claim(
        task_id=task_id,
        channel=fields.text("channel"),
        owner=fields.agent("owner"),
        lease=Lease(
            expires=fields.instant("lease_expires_at"),
            granted=fields.instant("updated_at"),
            seconds=fields.optional_number("lease_seconds"),
            boot_id=fields.optional_text("boot_id"),
            boot_expires=fields.optional_number("boot_expires"),
        ),
        claimed_at=fields.instant("claimed_at"),
        previous_owner=fields.optional_agent("previous_owner"),
        previous_lease_expires_at=fields.optional_instant("previous_lease_expires_at"),
        recovery_reason=fields.optional_text("recovery_reason"),
        fence=fields.optional_integer("fence"),
        session=fields.optional_text("session"),
    )


def to_json(claim: Claim) -> dict[str, object]:
    """Returns the fields of a claim's record, in their order."""
    return {
        "schema_version": SCHEMA_VERSION,
        "task_id": claim.task_id,
        "channel": claim.channel,
        "owner": claim.owner,
        "lease_expires_at": instant_text(claim.lease.expires),
        "claimed_at": instant_text(claim.claimed_at),
        "updated_at": instant_text(claim.lease.granted),
        "previous_owner": claim.previous_owner,
        "previous_lease_expires_at": instant_text(claim.previous_lease_expires_at),
        "recovery_reason": claim.recovery_reason,
        "fence": claim.fence,
        "lease_seconds": claim.lease.seconds,
        "boot_id": claim.lease.boot_id,
        "boot_expires": claim.lease.boot_expires,
        "session": claim.session,
    }


def render(claim: Claim) -> bytes:
    """Returns the bytes of a claim's file."""
    return json_codec.canonical(to_json(claim))
