"""The command roster: who is in a channel, who waits there now and on what, and when each was last seen."""

from __future__ import annotations

from agent_chat import names
from agent_chat.cli.acting import after_failures, channel_of
from agent_chat.cli.command import Reply
from agent_chat.cli.message_text import short_time
from agent_chat.operations import access, events
from agent_chat.records import event as event_record
from agent_chat.records.shown_text import safe_line
from agent_chat.records.value import Value
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.errors import ChatError
    from agent_chat.records.event import Event
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.seen_store import Seen

# Who is no member and was not seen for so long is counted, not named.
GONE_SECONDS = 7 * 86_400.0


class _Present(Value):
    """Somebody of a channel: whether it waits now, when it was last seen, and what it last said of itself."""

    name: str
    waits: bool
    seen: Seen | None
    said: Event | None


def roster(request: Request) -> Reply:
    """Shows who is in a channel, and who is there."""
    channel = channel_of(request)
    meta = channel.meta
    failures: list[tuple[str, ChatError | OSError]] = []
    waiting = [meta.spelled(name) or name for name in _waiting(channel, failures)]
    seen = channel.seen.every(failures)
    said = _said(channel, failures)
    known = meta.members + meta.humans
    others = [meta.spelled(name) or name for name in (*seen, *waiting) if meta.spelled(name) is None]
    now = channel.workspace.clock.now()
    present: list[_Present] = []
    gone = 0
    for name in (*known, *dict.fromkeys(others)):
        folded = names.fold(name)
        person = _Present(name=name, waits=names.contains(waiting, name), seen=seen.get(folded), said=said.get(folded))
        is_gone = person.seen is None or now - person.seen.at > GONE_SECONDS
        if names.contains(known, name) or person.waits or not is_gone:
            present.append(person)
        else:
            gone += 1
    messages = len(channel.messages.numbers())
    lines = [
        f"members: {_named(present, meta.members) or '-'}" + ("" if meta.closed else " (open: anyone may take part)"),
        f"humans: {_named(present, meta.humans)}" if meta.humans else "",
        f"others: {_named(present, [each.name for each in present if not names.contains(known, each.name)])}",
        f"not seen for a week: {gone} more" if gone else "",
        f"topic: {safe_line(meta.topic)}" if meta.topic else "",
        f"messages: {messages}",
    ]
    reply = Reply(
        data={
            **channel.where(),
            "members": list(meta.members),
            "humans": list(meta.humans),
            "topic": meta.topic,
            "messages": messages,
            "open": not meta.closed,
            "roles": dict(meta.roles),
            "waiting": waiting,
            "presence": [_fields(person) for person in present],
            "gone": gone,
        },
        text="\n".join(line for line in lines if line and line != "others: "),
    )
    return after_failures(reply, failures)


def _waiting(channel: Channel, failures: list[tuple[str, ChatError | OSError]]) -> list[str]:
    """Returns who waits, by folded name; adds what kept it from being told."""
    try:
        return channel.cursors.waiting(failures)
    except OSError as error:
        failures.append(("who waits", error))
        return []


def _said(channel: Channel, failures: list[tuple[str, ChatError | OSError]]) -> dict[str, Event]:
    """Returns, by folded name, the last status event of each agent, none while chat is off; adds what hid some."""
    if not access.is_on(channel.workspace):
        return {}
    try:
        found = events.read(channel, type=event_record.STATUS)
    except OSError as error:
        failures.append(("status events", error))
        return {}
    failures += found.failures
    said = [each.event for each in found.read if each.event is not None and each.verified]
    return {names.fold(event.agent): event for event in said}


def _named(present: list[_Present], wanted: list[str] | tuple[str, ...]) -> str:
    """Returns some people in words: `alice (waits for messages), bob (seen 2026-01-02 03:04Z, busy: tests)`."""
    return ", ".join(_in_words(person) for person in present if names.contains(wanted, person.name))


def _in_words(person: _Present) -> str:
    if person.waits:
        parts = [f"waits for {safe_line(person.seen.waits)}" if person.seen and person.seen.waits else "waits"]
    elif person.seen is not None:
        parts = [f"seen {short_time(format_utc(person.seen.at))}"]
    else:
        parts = ["not seen"]
    if person.said is not None:
        detail = f": {safe_line(person.said.detail)}" if person.said.detail else ""
        parts.append(f"{person.said.status}{detail}")
    return f"{person.name} ({', '.join(parts)})"


def _fields(person: _Present) -> dict[str, object]:
    seen, said = person.seen, person.said
    return {
        "name": person.name,
        "waiting": person.waits,
        "waits_for": (seen.waits or None) if person.waits and seen is not None else None,
        "seen": None if seen is None else format_utc(seen.at),
        "status": None if said is None else {"status": said.status, "detail": said.detail, "ts": said.ts},
    }
