"""How each code about the owner's settings is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

OFF = '{"schema_version": 1, "access": "off"}'

OWNER: dict[str, Callable[[Case], Result]] = {
    "ACCESS_DISABLED": lambda do: do.with_root_file("_owner.json", OFF)("read", "dev", "--as", "bob"),
    "OWNER_SETTINGS_INVALID": lambda do: do.with_root_file("_owner.json", "{")("read", "dev", "--as", "bob"),
}
