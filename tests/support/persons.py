"""A person where a test has no terminal: one is said to be there, and what is asked for is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_chat.cli import terminal

if TYPE_CHECKING:
    import pytest


def seat(patch: pytest.MonkeyPatch, *typed: str | None, missing: str = "") -> list[str]:
    """Seats a person, who types some lines and then what each question asks for; returns the questions asked.

    None ends the input; `missing` is a stream that is no terminal all the same.
    """
    lines = list(typed)
    asked: list[str] = []

    def ask(question: str) -> str | None:
        asked.append(question)
        return lines.pop(0) if lines else question.split()[1]

    patch.setattr(terminal, "missing", lambda: missing)
    patch.setattr(terminal, "ask", ask)
    return asked
