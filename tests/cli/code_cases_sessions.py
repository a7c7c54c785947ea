"""How each code about sessions is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from tests.cli.code_case import POST
from tests.support.tokens import plant_session

if TYPE_CHECKING:
    from tests.cli.code_case import Case
    from tests.support.cli import Result

UNKNOWN = f"0123456789abcdef-1.{'0' * 64}"


def ended(do: Case) -> Case:
    """The root for somebody whose session has ended."""
    return do.settled_with_token(plant_session(do.root, agent="alice", ended=1.0))


def of_bob(do: Case) -> Case:
    """The root for somebody with bob's token."""
    return do.settled_with_token(plant_session(do.root))


def damaged(do: Case) -> Case:
    """The root for somebody whose session's record is of a later version."""
    case = of_bob(do)
    (path,) = (do.root / "_sessions").glob("*.json")
    path.write_text(path.read_text("utf-8").replace('"schema_version": 1', '"schema_version": 2'), "utf-8")
    return case.settled_with_token(case.variables["AGENT_CHAT_TOKEN"])


SESSIONS: dict[str, Callable[[Case], Result]] = {
    "SESSION_TOKEN_INVALID": lambda do: do.with_token("no-token")(*POST),
    "SESSION_UNKNOWN": lambda do: do.with_token(UNKNOWN)(*POST),
    "SESSION_ENDED": lambda do: ended(do)(*POST),
    "SESSION_IDENTITY": lambda do: of_bob(do)(*POST),
    "SESSION_MISSING": lambda do: do("session", "show"),
    "SESSION_INVALID": lambda do: do("session", "start", "--as", "bob", "--name", "b b"),
    "SESSION_NOT_FOUND": lambda do: do("session", "show", "0123456789abcdef-1"),
    "SESSION_INVALID_RECORD": lambda do: damaged(do)(*POST),
}
