"""How each code about the owner's settings is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tests.support.persons import seat

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

PEOPLED = '{"schema_version": 1, "channel": "work", "humans": ["carol"]}'
OFF = '{"schema_version": 1, "access": "off"}'


def at_a_terminal(do: Case, *argv: str, typed: str | None = None) -> Result:
    """A call of a person, who is in the humans of a channel."""
    seat(do.patch, typed)
    return do.with_file("_meta.json", PEOPLED)(*argv)


OWNER: dict[str, Callable[[Case], Result]] = {
    "ACCESS_DISABLED": lambda do: do.with_root_file("_owner.json", OFF)("read", "dev", "--as", "bob"),
    "OWNER_SETTINGS_INVALID": lambda do: do.with_root_file("_owner.json", "{")("read", "dev", "--as", "bob"),
    "ACCESS_NOT_A_PERSON": lambda do: do("owner", "access", "off", "--as", "carol"),
    "ACCESS_NOT_CONFIRMED": lambda do: at_a_terminal(do, "channel", "delete", "work", "--as", "carol"),
}
