"""Reading the fields of a record strictly: each is there, of its kind, and no other is."""

from __future__ import annotations

from agent_chat import names, timestamps
from agent_chat.records import json_codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA_VERSION = 1
MAX_BYTES = 1 << 20

INVALID = "invalid"
MISSING = "missing"
UNKNOWN = "unknown"
TIMESTAMP = "timestamp"
IDENTITY = "identity"
VERSION = "version"


class RecordError(ValueError):
    """The bytes are no record; `fault` is one of this module's words, the text says why."""

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class RecordFields:
    """The fields of one record. `required` are those that every version wrote, `added` those that ours writes too.

    A record of another program has no `schema_version` and none of the added fields. Every accessor fails with
    RecordError.
    """

    def __init__(self, data: bytes, what: str, *, required: Sequence[str], added: Sequence[str]) -> None:
        if len(data) > MAX_BYTES:
            raise RecordError(INVALID, f"it is larger than {MAX_BYTES} bytes")
        try:
            self._values = json_codec.object_of(json_codec.decode(data, what), what)
        except json_codec.JsonError as error:
            raise RecordError(INVALID, str(error)) from error
        version = self._values.get("schema_version")
        self.is_ours = version is not None
        if type(version) is int and version > SCHEMA_VERSION:
            raise RecordError(VERSION, f"schema_version {version} is later than {SCHEMA_VERSION}")
        if self.is_ours and (type(version) is not int or version != SCHEMA_VERSION):
            raise RecordError(INVALID, f"schema_version {version!r} is unknown")
        wanted = ("schema_version", *required, *added) if self.is_ours else required
        for name in wanted:
            if name not in self._values:
                raise RecordError(MISSING, f"the field {name} is missing")
        if len(self._values) != len(wanted):
            extra = next(name for name in self._values if name not in wanted)
            raise RecordError(UNKNOWN, f"unknown field {names.quoted(extra)}")

    def text(self, name: str) -> str:
        """Returns a text that is not empty."""
        value = self._values[name]
        if not isinstance(value, str) or not value:
            raise RecordError(INVALID, f"{name} must be a text")
        return value

    def optional_text(self, name: str) -> str | None:
        """Returns a text, or None for null and for a field that only ours has."""
        if self._values.get(name) is None:
            return None
        return self.text(name)

    def agent(self, name: str) -> str:
        """Returns the name of an agent."""
        value = self.text(name)
        fault = names.fault_of_name(value)
        if fault or names.normal_form(value) != value:
            raise RecordError(INVALID, f"{name} {names.quoted(value)} is no agent name")
        return value

    def optional_agent(self, name: str) -> str | None:
        """Returns the name of an agent, or None."""
        return None if self._values.get(name) is None else self.agent(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Returns a list of texts."""
        value = self.values(name)
        if not all(isinstance(item, str) and item for item in value):
            raise RecordError(INVALID, f"{name} must be a list of texts")
        return tuple(str(item) for item in value)

    def values(self, name: str) -> list[object]:
        """Returns a list."""
        value = self._values[name]
        if not isinstance(value, list):
            raise RecordError(INVALID, f"{name} must be a list")
        return value

    def instant(self, name: str) -> float:
        """Returns a time as POSIX seconds."""
        try:
            return timestamps.parse(self.text(name))
        except (timestamps.TimestampError, RecordError) as error:
            raise RecordError(TIMESTAMP, f"{name}: {error}") from error

    def optional_instant(self, name: str) -> float | None:
        """Returns a time as POSIX seconds, or None."""
        return None if self._values.get(name) is None else self.instant(name)

    def optional_number(self, name: str) -> float | None:
        """Returns a number that is not negative, or None."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise RecordError(INVALID, f"{name} must be a number that is not negative")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Returns a whole number that is not negative, or None."""
        value = self.optional_number(name)
        if value is not None and not isinstance(value, int):
            raise RecordError(INVALID, f"{name} must be a whole number")
        return value


def instant_text(seconds: float | None) -> str | None:
    """Writes a time of a record in whole seconds, None as null."""
    return None if seconds is None else timestamps.format_utc(seconds)
