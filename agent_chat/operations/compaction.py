"""Writing the state of a channel to its file: a derived summary, replaced as a whole, never a source."""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations.participants import first_spelling, participant
from agent_chat.operations.state import summarize
from agent_chat.operations.state_text import markdown
from agent_chat.records import json_codec
from agent_chat.records.message import Message
from agent_chat.records.value import Value
from agent_chat.storage.layout import STATE
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.operations.state import State
    from agent_chat.storage.channel import Channel, Mutation
    from agent_chat.storage.message_index import Progress
    from agent_chat.storage.message_numbers import Numbers

STATUS = "state.compacted"
SYSTEM = "system"
_MAX_BYTES = 64 << 20


class Written(Value):
    """A state that was written to its file; `seq` is the number of the audit message, None without one."""

    state: State
    seq: int | None


def compact(
    channel: Channel,
    *,
    agent: str | None = None,
    audit: bool = True,
    strict: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Replaces the channel's state.md and, with `audit`, posts one message that says so, by `agent` or by the system.

    Nothing else changes. Nothing is written where it fails as `summarize` does, with CHANNEL_BUSY, or, for an agent
    that is named, with AGENT_… or CHANNEL_DAMAGED. It fails with OSError where state.md could not be replaced, and with
    STATE_AUDIT_FAILED or MESSAGE_PUBLICATION_UNKNOWN where it was, and the message is not there, or may not be.
    """
    sender = participant(channel, agent) if agent is not None else SYSTEM
    # What takes long is read before others have to wait for the channel.
    summarize(channel, strict=strict, exact=True, progress=progress)
    with channel.mutation() as mutation:
        # What would be stored now is worth nothing once state.md has its new name.
        state = summarize(channel, strict=strict, exact=True, store=False)
        numbers = mutation.numbers()
        if agent is not None:
            sender = first_spelling(channel, numbers, sender)
        mutation.replace_derived(STATE, markdown(state).encode("utf-8"))
        seq = _publish(mutation, numbers, sender, state) if audit else None
    return Written(state=state, seq=seq)


def _publish(mutation: Mutation, numbers: Numbers, sender: str, state: State) -> int:
    """Posts the audit message of a compaction and returns its number."""
    channel = mutation.channel
    created = format_utc(state.now.wall)
    body = {
        "blockers_count": len(state.blockers),
        "channel": channel.name,
        "compacted_at": created,
        "decisions_count": len(state.decisions),
        "event": STATUS,
        "last_seq": state.latest,
        "open_tasks_count": len(state.tasks) if state.tasks is not None else None,
        "path_locks_count": len(state.locks) if state.locks is not None else None,
    }
    text = json_codec.encode(body, indent=2) + "\n"
    try:
        draft = Message(
            seq=0, sender=sender, title=f"{STATUS} {channel.name}", body=text, created=created, status=STATUS
        )
        return mutation.publish(channel.workspace.signed(draft), numbers)[0]
    except (ChatError, OSError) as error:
        if isinstance(error, ChatError) and error.code == "MESSAGE_PUBLICATION_UNKNOWN":
            raise
        reason = error.message if isinstance(error, ChatError) else error.strerror or str(error)
        raise channel.refusal(
            "STATE_AUDIT_FAILED", f"{STATE} is written, but its audit message could not be posted: {reason}"
        ) from error


def saved(channel: Channel) -> str:
    """Returns the text of state.md as it was written last; STATE_RECORD_NOT_FOUND where it never was."""
    try:
        data = channel.workspace.files.read_file(channel.layout.file(STATE), _MAX_BYTES)
    except FileNotFoundError:
        raise channel.refusal(
            "STATE_RECORD_NOT_FOUND",
            f"no {STATE} in {channel.name} ({channel.workspace.describe()})",
            call=f"compact {channel.name}",
        ) from None
    if len(data) > _MAX_BYTES:
        raise channel.refusal("STATE_IO_ERROR", f"{channel.name}/{STATE} is larger than {_MAX_BYTES} bytes")
    return data.decode("utf-8", "backslashreplace")
