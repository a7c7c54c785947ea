"""Markers: a file task-<id>.md that exactly one agent can take by one rename, with one audit message."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.participants import first_spelling, participant
from agent_chat.records import json_codec
from agent_chat.records.message import Message
from agent_chat.records.value import Value
from agent_chat.storage.filesystem import is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_chat.storage.channel import Channel, Mutation
    from agent_chat.storage.message_numbers import Numbers

STATUS = "marker.claimed"
_START = "task-"
_CLAIMED = ".CLAIMED-"
_END = ".md"


class Claimed(Value):
    """A claimed marker: the file's name before, its name now, and the number of the audit message."""

    marker: str
    claimed_as: str
    seq: int


def task_of(marker: str) -> str | None:
    """Returns the task id in a free marker's name, or None when the name is none of a free marker."""
    if not (marker.startswith(_START) and marker.endswith(_END)) or _CLAIMED.lower() in marker.lower():
        return None
    task = marker[len(_START) : -len(_END)]
    return None if names.fault_of_task_id(task) else task


def claimed_name(marker: str, agent: str) -> str:
    """Returns the name of a marker once an agent has claimed it."""
    return f"{marker[: -len(_END)]}{_CLAIMED}{agent}{_END}"


def parse_claimed(name: str) -> tuple[str, str] | None:
    """Returns the marker and the agent that a claimed marker's name tells, or None when it is the name of none."""
    start, sign, agent = name.rpartition(_CLAIMED)
    marker = start + _END
    if not sign or not agent.endswith(_END) or task_of(marker) is None or names.fault_of_name(agent[: -len(_END)]):
        return None
    return marker, agent[: -len(_END)]


def owner_of(marker: str, listed: Iterable[str]) -> str | None:
    """Returns who has claimed a marker, from the names in the channel, or None."""
    for name in sorted(listed):
        claimed = parse_claimed(name)
        if claimed is not None and claimed[0] == marker:
            return claimed[1]
    return None


def claim(channel: Channel, marker: str, agent: str) -> Claimed:
    """Takes a marker; fails with MARKER_INVALID, MARKER_NOT_FOUND, MARKER_CLAIMED or MARKER_AUDIT_FAILED.

    A claim whose process died before the audit message is completed by its owner's next call.
    """
    name = participant(channel, agent)
    task = task_of(marker)
    if task is None:
        raise ChatError("MARKER_INVALID", f"{names.quoted(marker)} is no marker: task-<id>.md", where=channel.where())
    with channel.mutation() as mutation:
        numbers = mutation.numbers()
        listed = numbers.odd
        name = first_spelling(channel, numbers, name)
        target = claimed_name(marker, name)
        owner = owner_of(marker, listed)
        if owner is not None:
            _require_unfinished(channel, marker, owner, name)
            target = claimed_name(marker, owner)
        elif marker not in listed:
            raise channel.refusal(
                "MARKER_NOT_FOUND",
                f"there is no {marker} in {channel.name} ({channel.workspace.describe()})",
                near=(marker, tuple(file for file in listed if task_of(file))),
                call=f"peek {channel.name}",
            )
        else:
            _rename(channel, mutation, marker, target)
        seq = _audit(channel, mutation, marker, target, name, task, numbers)
    return Claimed(marker=marker, claimed_as=target, seq=seq)


def _rename(channel: Channel, mutation: Mutation, marker: str, target: str) -> None:
    if not is_file(channel.workspace.files.status(channel.layout.file(marker))):
        raise ChatError("MARKER_INVALID", f"{marker} is no ordinary file", where=channel.where())
    mutation.rename(marker, target)


def _audit(
    channel: Channel, mutation: Mutation, marker: str, target: str, agent: str, task: str, numbers: Numbers
) -> int:
    """Posts the audit message; a failure leaves the claim to be completed by the same call."""
    fields = {
        "agent": agent,
        "channel": channel.name,
        "claimed_as": target,
        "event": STATUS,
        "marker": marker,
        "task_id": task,
    }
    message = Message(
        seq=0,
        sender=agent,
        title=f"{STATUS} {task}",
        body=json_codec.encode(fields, indent=2) + "\n",
        created=channel.workspace.clock.timestamp(),
        status=STATUS,
    )
    try:
        return mutation.publish(channel.workspace.signed(message), numbers)[0]
    except (OSError, ChatError) as error:
        if isinstance(error, ChatError) and error.code == "MESSAGE_PUBLICATION_UNKNOWN":
            raise  # the audit message may be there: that is what the caller has to know
        raise channel.refusal(
            "MARKER_AUDIT_FAILED",
            f"{agent} has {marker} as {target}, but its audit message failed: {error}",
            call=f"claim {channel.name} {marker} --as {agent}",
        ) from error


def is_audited(channel: Channel, marker: str) -> bool:
    """Tells whether a marker's claim has its audit message."""
    task = task_of(marker)
    numbers = channel.messages.numbers()
    for seq, files in numbers.before(numbers.highest + 1):
        for stored in channel.messages.stored(seq, files):
            if stored.message.status == STATUS and stored.message.title == f"{STATUS} {task}":
                return True
    return False


def _require_unfinished(channel: Channel, marker: str, owner: str, agent: str) -> None:
    """Refuses a marker that is taken, unless its owner asks and the claim lacks its audit message."""
    if names.same(owner, agent) and not is_audited(channel, marker):
        return
    raise channel.refusal(
        "MARKER_CLAIMED",
        f"{marker} is claimed by {owner}",
        call=f"peek {channel.name}",
        owner=owner,
    )
