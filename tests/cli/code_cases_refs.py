"""How each code about refs is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tests.cli.code_case import POST

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

REFS: dict[str, Callable[[Case], Result]] = {
    "MESSAGE_REF_UNREADABLE": lambda do: do(*POST, "--ref", f"path:{do.root}/none"),
}
