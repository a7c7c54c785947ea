"""Events: post one, and read those of a channel; whatever else the channel holds is left alone.

An event is an audit message whose status begins with `event.` and whose body is one. Reading takes no lock and moves
no cursor. What is no event although it should be one, or cannot be told, is reported beside the others.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.participants import first_spelling, participant
from agent_chat.operations.witness import Witness
from agent_chat.records import event as event_record
from agent_chat.records import highlight
from agent_chat.records.event import CAPABILITY, PRIMITIVES, Event, EventError
from agent_chat.records.message import EVENT_PREFIX, MAX_BODY_BYTES, Message
from agent_chat.records.value import Value
from agent_chat.storage.message_index import MessageIndex
from agent_chat.storage.message_numbers import seq_of
from agent_chat.storage.message_store import Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_store import Loaded


class EventDraft(Value):
    """What a caller wants to announce, not yet checked; what was not given is None."""

    sender: str
    type: str
    harness: str
    primitives: tuple[str, ...] | None = None
    status: str | None = None
    detail: str | None = None


class PostedEvent(Value):
    """An event that was posted: the number and the file of its message."""

    seq: int
    file: str
    event: Event


class ReadEvent(Value):
    """A file that should hold an event: the event, or why there is none.

    `session` is the one that its message names, or its connection; `verified` tells whether it comes from there.
    """

    seq: int
    file: str
    session: str = ""
    verified: bool = True
    event: Event | None = None
    error: ChatError | None = None


class Events(Value):
    """The events of a channel in order, and what could not be looked at: the file that failed, and why."""

    read: tuple[ReadEvent, ...]
    failures: tuple[tuple[str, OSError], ...]


def post(channel: Channel, draft: EventDraft) -> PostedEvent:
    """Publishes one event, durably, or nothing at all; fails with EVENT_… where it would be none."""
    sender = participant(channel, draft.sender)
    event = plan_event(draft, sender, channel.workspace.clock.timestamp())
    with channel.mutation() as mutation:
        numbers = mutation.numbers()
        event = event.replace(agent=first_spelling(channel, numbers, sender), ts=channel.workspace.clock.timestamp())
        seq, file = mutation.publish(channel.workspace.signed(plan_message(event)), numbers)
    channel.seen.note(event.agent)
    return PostedEvent(seq=seq, file=file, event=event)


def plan_event(draft: EventDraft, sender: str, ts: str) -> Event:
    """Returns the event that a draft asks for; a capability event that names no primitives names all."""
    fields: dict[str, object] = {
        "schema_version": event_record.SCHEMA_VERSION,
        "event": draft.type,
        "agent": sender,
        "harness": draft.harness,
        "ts": ts,
    }
    primitives = draft.primitives
    if primitives is None and draft.type == CAPABILITY:
        primitives = PRIMITIVES
    given = {"primitives": primitives, "status": draft.status, "detail": draft.detail}
    fields.update((name, list(v) if isinstance(v, tuple) else v) for name, v in given.items() if v is not None)
    try:
        event = event_record.parse_value(fields)
    except EventError as error:
        raise ChatError(error.code, str(error), near=error.near) from error
    size = len(event_record.render(event).encode("utf-8"))
    if size > MAX_BODY_BYTES:
        raise ChatError("MESSAGE_TOO_LARGE", f"the event has {size} bytes, at most {MAX_BODY_BYTES} are allowed")
    return event


def plan_message(event: Event) -> Message:
    """Returns the message that carries an event, without its number."""
    status = f"{EVENT_PREFIX}{event.event}"
    return Message(
        seq=0,
        sender=event.agent,
        title=f"{status} {event.status or event.harness}",
        body=event_record.render(event),
        created=event.ts,
        status=status,
    )


def read(channel: Channel, *, type: str | None = None) -> Events:  # noqa: A002 - the word of the command line
    """Returns the events of a channel, with `type` those of one type; fails with EVENT_INVALID_TYPE.

    Malformed ones are among them whatever type is asked for: it cannot be told.
    """
    if type is not None:
        try:
            event_record.checked_type(type)
        except EventError as error:
            raise ChatError(error.code, str(error), near=error.near) from error
    found: list[ReadEvent] = []
    witness = Witness(channel.workspace)
    failures: list[tuple[str, OSError]] = []
    for seq, files in event_files(channel):
        try:
            unit = channel.messages.load_unit(seq, files)
        except OSError as error:
            failures.append((", ".join(files), error))
            continue
        each = (_event_of(channel, seq, loaded, witness, unique=len(files) == 1) for loaded in unit)
        found += [item for item in each if item is not None]
    if type is not None:
        found = [item for item in found if item.event is None or item.event.event == type]
    return Events(read=tuple(found), failures=tuple(failures))


def event_files(channel: Channel) -> list[tuple[int, list[str]]]:
    """Returns the numbers with those of their files that are events, or may be since they could not be read."""
    known = MessageIndex(channel).load()
    files = [file for file, found in known.highlights if highlight.EVENT in found.kinds]
    files += [fault.file for fault in known.faults]
    units: dict[int, list[str]] = {}
    for file in sorted(files):
        units.setdefault(seq_of(file) or 0, []).append(file)
    return sorted(units.items())


def _event_of(channel: Channel, seq: int, loaded: Loaded, witness: Witness, *, unique: bool) -> ReadEvent | None:
    """Returns what a file holds, None for any other message; `unique` says that its number means it alone."""
    call = channel.workspace.call
    if not isinstance(loaded, Stored):
        failure = ChatError("MESSAGE_DAMAGED", f"no message: {loaded.reason}", next=call(f"doctor {channel.name}"))
        return ReadEvent(seq=seq, file=loaded.file, error=failure)
    message = loaded.message
    if not message.is_event:
        return None
    try:
        event = event_in(message)
    except EventError as error:
        shown = str(seq) if unique else loaded.file
        failure = ChatError(error.code, str(error), next=call(f"show {channel.name} {shown}"))
        return ReadEvent(seq=seq, file=loaded.file, error=failure)
    doubted = witness.checked(loaded).unverified
    session = message.session or message.connection
    return ReadEvent(seq=seq, file=loaded.file, event=event, session=session, verified=not doubted)


def event_in(message: Message) -> Event:
    """Returns the event that a message carries; fails with EventError where it carries none, or another agent's."""
    event = event_record.parse_body(message.body)
    if not names.same(event.agent, message.sender):
        text = f"the event is of {names.quoted(event.agent)}, its message of {names.quoted(message.sender)}"
        raise EventError("EVENT_AGENT_MISMATCH", text)
    if message.status != f"{EVENT_PREFIX}{event.event}":
        text = f"the event is of the type {event.event}, the status of its message {names.quoted(message.status)}"
        raise EventError("EVENT_INVALID_TYPE", text)
    return event
