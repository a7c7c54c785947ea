"""An event: what an agent announces of itself to other tools, as the JSON body of a message; reading it strictly.

There are two: a capability event says which parts of this protocol an agent uses, a status event what it is about. The
form is that of schemas/agent-chat-event.schema.json, and what one of the two accepts the other does. Who may announce
something is left to the callers.
"""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.records import json_codec
from agent_chat.records.value import Value

SCHEMA_VERSION = 1
CAPABILITY = "capability"
STATUS = "status"
TYPES = (CAPABILITY, STATUS)
PRIMITIVES = ("messages", "cursors", "wait", "tasks", "dependencies", "leases", "path_locks", "state_summary")
STATUSES = ("ready", "busy", "idle", "blocked", "stopped")
MAX_NAME_CHARACTERS = 64
FIRST_DAY, LAST_DAY = "1970-01-01", "9999-12-31"

_COMMON = ("schema_version", "event", "agent", "harness", "ts")
_FIELDS = {CAPABILITY: (*_COMMON, "primitives"), STATUS: (*_COMMON, "status", "detail")}
_OPTIONAL = ("detail",)


class EventError(ValueError):
    """The value is no event: `code` is one of EVENT_…, `near` what was given and the words that it may have meant."""

    def __init__(self, code: str, text: str, *, near: tuple[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.near = near


class Event(Value):
    """One event. `primitives` are those of a capability event, `status` and `detail` those of a status event."""

    event: str
    agent: str
    harness: str
    ts: str
    primitives: tuple[str, ...] = ()
    status: str = ""
    detail: str | None = None


def parse_body(text: str) -> Event:
    """Returns the event that a message's body holds; fails with EventError."""
    try:
        value = json_codec.decode(text.encode("utf-8", "surrogatepass"), "its body")
    except json_codec.JsonError as error:
        raise EventError("EVENT_MALFORMED_BODY", str(error)) from error
    return parse_value(value)


def parse_value(value: object) -> Event:
    """Returns the event that a JSON value is; fails with EventError, whose code tells the first rule that it breaks."""
    if not isinstance(value, dict):
        raise EventError("EVENT_INVALID_RECORD", "an event is a JSON object")
    version = value.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, (int, float)) or version != SCHEMA_VERSION:
        raise EventError("EVENT_UNSUPPORTED_VERSION", f"schema_version is {_shown(version)}, not {SCHEMA_VERSION}")
    kind = checked_type(value.get("event"))
    fields = _FIELDS[kind]
    for name in value:
        if name not in fields:
            raise EventError("EVENT_UNKNOWN_FIELD", f"a {kind} event has no field {_shown(name)}")
    for name in fields:
        if name not in value and name not in _OPTIONAL:
            raise EventError("EVENT_REQUIRED_FIELD_MISSING", f"a {kind} event must have the field {name}")
    return Event(
        event=kind,
        agent=_name(value, "agent"),
        harness=_name(value, "harness"),
        ts=_time(value["ts"]),
        primitives=_primitives(value["primitives"]) if kind == CAPABILITY else (),
        status=_status(value["status"]) if kind == STATUS else "",
        detail=_detail(value["detail"]) if "detail" in value else None,
    )


def checked_type(value: object) -> str:
    """Returns the type of an event; fails with EVENT_INVALID_TYPE."""
    if not isinstance(value, str) or value not in TYPES:
        text = f"{_shown(value)} is no type of event: {', '.join(TYPES)}"
        raise EventError("EVENT_INVALID_TYPE", text, near=_near(value, TYPES))
    return value


def to_json(event: Event) -> dict[str, object]:
    """Returns the fields of an event, in the order of the schema."""
    fields: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "event": event.event,
        "agent": event.agent,
        "harness": event.harness,
        "ts": event.ts,
    }
    if event.event == CAPABILITY:
        fields["primitives"] = list(event.primitives)
        return fields
    fields["status"] = event.status
    if event.detail is not None:
        fields["detail"] = event.detail
    return fields


def render(event: Event) -> str:
    """Returns the body of an event's message: one line of JSON with sorted keys."""
    return json_codec.encode(dict(sorted(to_json(event).items()))) + "\n"


def _shown(value: object) -> str:
    """Returns a value as it may stand in a message."""
    if isinstance(value, str):
        return names.quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return "a list" if isinstance(value, list) else "an object"


def _near(value: object, known: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    return (value, known) if isinstance(value, str) else None


def _is_plain(character: str) -> bool:
    """Tells whether a character is no control character, and no lone surrogate."""
    return not (character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff")


def _name(fields: dict[str, object], name: str) -> str:
    """Returns the name of an agent or a harness, as loosely as other programs choose them."""
    value = fields[name]
    if not isinstance(value, str):
        raise EventError("EVENT_INVALID_TEXT", f"{name} must be a text, not {_shown(value)}")
    if not 1 <= len(value) <= MAX_NAME_CHARACTERS:
        raise EventError("EVENT_INVALID_TEXT", f"{name} must have 1 to {MAX_NAME_CHARACTERS} characters")
    if value in (".", "..") or not all(_is_plain(character) and character not in "/\\:" for character in value):
        text = f"{name} {_shown(value)} must be no path and hold no control character: / \\ : are not allowed"
        raise EventError("EVENT_INVALID_TEXT", text)
    return value


def _time(value: object) -> str:
    """Returns a time as it was written.

    On the first and the last day that can be named no offset will do that leads towards the end, nor a fraction on the
    last, which may be rounded up: whether they lead out is more than a pattern can say, and the schema has to agree.
    """
    if not isinstance(value, str):
        raise EventError("EVENT_INVALID_TIMESTAMP", f"ts must be a text, not {_shown(value)}")
    try:
        timestamps.parse(value)
    except timestamps.TimestampError as error:
        raise EventError("EVENT_INVALID_TIMESTAMP", f"ts: {error}") from error
    day, rest = value[:10], value[19:]
    offset = "" if rest.endswith(("Z", "00:00", "0000")) else rest
    if (day == FIRST_DAY and "+" in offset) or (day == LAST_DAY and ("-" in offset or "." in rest)):
        raise EventError("EVENT_INVALID_TIMESTAMP", f"ts: {value} may lie outside the years 1970 to 9999")
    return value


def _primitives(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise EventError("EVENT_INVALID_PRIMITIVES", "primitives must be a list of one or more texts")
    for number, each in enumerate(value):
        if each in value[:number]:
            raise EventError("EVENT_DUPLICATE_PRIMITIVE", f"the primitive {_shown(each)} is there twice")
        if each not in PRIMITIVES:
            text = f"{_shown(each)} is no primitive: {', '.join(PRIMITIVES)}"
            raise EventError("EVENT_UNKNOWN_PRIMITIVE", text, near=_near(each, PRIMITIVES))
    return tuple(value)


def _status(value: object) -> str:
    if not isinstance(value, str) or value not in STATUSES:
        text = f"{_shown(value)} is no status of an event: {', '.join(STATUSES)}"
        raise EventError("EVENT_INVALID_STATUS", text, near=_near(value, STATUSES))
    return value


def _detail(value: object) -> str:
    if not isinstance(value, str) or not all(map(_is_plain, value)):
        raise EventError("EVENT_INVALID_TEXT", f"detail {_shown(value)} must be a text without control characters")
    return value
