"""What a channel says of itself in _meta.json: members, people, topic, and whether it is closed."""

from __future__ import annotations

from agent_chat import names
from agent_chat.records import json_codec
from agent_chat.records.value import Value

SCHEMA_VERSION = 1
LEVELS = ("PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED")
ROLES = ("top-level", "subordinate", "human")
MAX_BYTES = 1 << 20
_KNOWN = (
    "schema_version",
    "channel",
    "members",
    "humans",
    "topic",
    "created",
    "closed",
    "owner",
    "level",
    "roles",
    "workspace",
)


class MetaError(ValueError):
    """The bytes are no channel record; the message says why."""


class LaterVersionError(MetaError):
    """The record was written by a later version of the program."""


class ChannelMeta(Value):
    """One channel's record; `extra` are fields of another program, kept when the record is rewritten."""

    channel: str
    members: tuple[str, ...] = ()
    humans: tuple[str, ...] = ()
    topic: str = ""
    created: str = ""
    closed: bool = False
    owner: str = ""
    level: str = "PUBLIC"
    roles: tuple[tuple[str, str], ...] = ()
    workspace: str = ""
    extra: tuple[tuple[str, object], ...] = ()

    def spelled(self, name: str) -> str | None:
        """Returns a known name as it was first written, or None when the channel does not know it."""
        return names.spelling(self.members + self.humans, name)


def parse(data: bytes) -> ChannelMeta:
    """Returns the record that the bytes hold; fails with MetaError."""
    if len(data) > MAX_BYTES:
        raise MetaError(f"it is larger than {MAX_BYTES} bytes")
    try:
        fields = json_codec.object_of(json_codec.decode(data, "_meta.json"), "_meta.json")
    except ValueError as error:
        raise MetaError(str(error)) from error
    version = fields.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        raise LaterVersionError(f"schema_version {version} is later than {SCHEMA_VERSION}")
    if version is not None and (type(version) is not int or version != SCHEMA_VERSION):
        raise MetaError(f"schema_version {version!r} is unknown")
    unknown = [key for key in fields if key not in _KNOWN]
    if unknown and version is not None:
        raise MetaError(f"unknown field {names.quoted(unknown[0])}")
    level = _text(fields, "level") or "PUBLIC"
    if level not in LEVELS:
        raise MetaError(f"unknown level {names.quoted(level)}")
    closed = fields.get("closed", False)
    if not isinstance(closed, bool):
        raise MetaError("closed must be true or false")
    return ChannelMeta(
        channel=_text(fields, "channel"),
        members=_names(fields, "members"),
        humans=_names(fields, "humans"),
        topic=_text(fields, "topic"),
        created=_text(fields, "created"),
        closed=closed,
        owner=_text(fields, "owner"),
        level=level,
        roles=_roles(fields),
        workspace=_text(fields, "workspace"),
        extra=tuple((key, fields[key]) for key in unknown),
    )


def render(meta: ChannelMeta) -> bytes:
    """Returns the canonical bytes of a record."""
    fields: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "channel": meta.channel,
        "members": list(meta.members),
        "humans": list(meta.humans),
        "topic": meta.topic,
        "created": meta.created,
        "closed": meta.closed,
        "owner": meta.owner,
        "level": meta.level,
        "roles": dict(meta.roles),
    }
    if meta.workspace:
        fields["workspace"] = meta.workspace
    if meta.extra:
        # Another program's fields are refused in a record that carries our version, so it stays without one.
        del fields["schema_version"]
        fields.update(meta.extra)
    return json_codec.canonical(fields)


def odd_fields(data: bytes) -> tuple[str, ...]:
    """Returns the fields of a record of ours that can be read, and that we would not have written so."""
    meta = parse(data)
    fields = json_codec.object_of(json_codec.decode(data))
    if fields.get("schema_version") is None:
        return ()  # another program's
    written = json_codec.object_of(json_codec.decode(render(meta)))
    odd = {key for key in fields.keys() | written.keys() if key not in fields or fields[key] != written.get(key)}
    return tuple(sorted(odd | ({"owner"} if meta.owner and names.fault_of_name(meta.owner) else set())))


def _text(fields: dict[str, object], key: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MetaError(f"{key} must be text")
    return value


def _names(fields: dict[str, object], key: str) -> tuple[str, ...]:
    value = fields.get(key, [])
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MetaError(f"{key} must be a list of names")
    found: list[str] = []
    for name in value:
        if not isinstance(name, str) or names.fault_of_name(name):
            raise MetaError(f"{names.quoted(str(name))} in {key} is no name")
        found.append(name)
    return tuple(found)


def _roles(fields: dict[str, object]) -> tuple[tuple[str, str], ...]:
    value = fields.get("roles", {})
    if not isinstance(value, dict):
        raise MetaError("roles must be an object")
    for name, role in value.items():
        if names.fault_of_name(name) or role not in ROLES:
            raise MetaError(f"{names.quoted(str(role))} of {names.quoted(name)} is no role")
    return tuple(value.items())
