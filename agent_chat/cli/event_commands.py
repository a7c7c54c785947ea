"""The commands on events: post and read."""

from __future__ import annotations

from agent_chat.cli.acting import after_failures, agent_text, channel_of
from agent_chat.cli.command import Reply
from agent_chat.cli.output import error_fields
from agent_chat.operations import events
from agent_chat.records import event as event_record
from agent_chat.records.event import CAPABILITY
from agent_chat.records.shown_text import safe_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.events import ReadEvent
    from agent_chat.storage.channel import Channel

DETAIL_CHARACTERS = 200


def post(request: Request) -> Reply:
    """Publishes one event."""
    channel = channel_of(request)
    draft = events.EventDraft(
        sender=agent_text(request),
        type=request.text("type"),
        harness=request.text("harness"),
        primitives=_primitives(request),
        status=request.optional_text("status"),
        detail=request.optional_text("detail"),
    )
    posted = events.post(channel, draft)
    line = f"posted #{posted.seq} {safe_line(events.plan_message(posted.event).title)}"
    fields = {"seq": posted.seq, "file": posted.file, "event": event_record.to_json(posted.event)}
    return Reply(data={**channel.where(), **fields}, text=line, summary=line)


def _primitives(request: Request) -> tuple[str, ...] | None:
    """Returns the primitives that were named, in comma lists or one by one; None where none were asked about."""
    if "primitives" not in request.given:
        return None
    words = [word.strip() for text in request.texts("primitives") for word in text.split(",")]
    return tuple(word for word in words if word)


def read(request: Request) -> Reply:
    """Shows the events of a channel; what is malformed is reported beside them."""
    channel = channel_of(request)
    found = events.read(channel, type=request.optional_text("type"))
    malformed = [f"{each.file}: {each.error.code}: {each.error.message}" for each in found.read if each.error]
    silent = not found.read and not found.failures
    reply = Reply(
        data=channel.where(),
        stream=tuple(_document(channel, each) for each in found.read),
        text=lambda: "no events" if silent else "\n".join(_line(each) for each in found.read if each.event),
        # In JSON each has a document of its own.
        warnings=() if request.as_json else tuple(malformed),
    )
    return after_failures(reply, found.failures)


def _document(channel: Channel, each: ReadEvent) -> dict[str, object]:
    """Returns one line of the JSON form: an event's fields, or the error, and where it stands."""
    fields: dict[str, object] = {**channel.where(), "seq": each.seq, "file": each.file}
    if each.event is not None:
        signed = {"session": each.session, "verified": each.verified} if each.session else {}
        return {**fields, **event_record.to_json(each.event), **signed}
    assert each.error is not None
    return {**fields, "error": error_fields(each.error)}


def _line(each: ReadEvent) -> str:
    """Returns one line of the text form."""
    event = each.event
    assert event is not None
    doubt = "" if each.verified else f", unverified session {each.session}"
    who = f"#{each.seq} {event.agent} ({event.harness}{doubt})"
    if event.event == CAPABILITY:
        return safe_line(f"{who} can {', '.join(event.primitives)}")
    detail = event.detail or ""
    cut = detail if len(detail) <= DETAIL_CHARACTERS else detail[:DETAIL_CHARACTERS] + "…"
    return safe_line(f"{who} {event.status}{cut and ': ' + cut}, {event.ts}")
