"""What the owner of a root decides for everybody in it: whether chat is on, and how long messages are kept."""

from __future__ import annotations

from agent_chat.records import json_codec
from agent_chat.records.value import Value

SCHEMA_VERSION = 1
MAX_BYTES = 1 << 20
MAX_RETENTION_DAYS = 36_500
_ACCESS = {"on": True, "off": False}
_KNOWN = ("schema_version", "access", "retention_days")


class SettingsError(ValueError):
    """The bytes are no settings; the message says why."""


class OwnerSettings(Value):
    """The settings of a root; what holds by default is what holds without a file.

    `retention_days` is None where messages are kept for good.
    """

    access: bool = True
    retention_days: int | None = None


def parse(data: bytes) -> OwnerSettings:
    """Returns the settings that the bytes hold; fails with SettingsError."""
    if len(data) > MAX_BYTES:
        raise SettingsError(f"they are larger than {MAX_BYTES} bytes")
    try:
        fields = json_codec.object_of(json_codec.decode(data, "_owner.json"), "_owner.json")
    except ValueError as error:
        raise SettingsError(str(error)) from error
    version = fields.get("schema_version")
    if type(version) is not int or version < 1:
        raise SettingsError("they have no schema_version")
    if version > SCHEMA_VERSION:
        raise SettingsError(f"schema_version {version} is later than {SCHEMA_VERSION}; update agent-chat")
    unknown = [key for key in fields if key not in _KNOWN]
    if unknown:
        raise SettingsError(f"unknown field {unknown[0]!r}")
    access = fields.get("access", "on")
    if access not in ("on", "off"):
        raise SettingsError("access must be on or off")
    days = fields.get("retention_days")
    if days is not None and (type(days) is not int or not 1 <= days <= MAX_RETENTION_DAYS):
        raise SettingsError(f"retention_days must be a whole number from 1 to {MAX_RETENTION_DAYS}, or null")
    return OwnerSettings(access=_ACCESS[str(access)], retention_days=days)


def to_json(settings: OwnerSettings) -> dict[str, object]:
    """Returns the JSON form of settings, without their version."""
    return {"access": "on" if settings.access else "off", "retention_days": settings.retention_days}


def render(settings: OwnerSettings) -> bytes:
    """Returns the canonical bytes of settings."""
    return json_codec.canonical({"schema_version": SCHEMA_VERSION, **to_json(settings)})
