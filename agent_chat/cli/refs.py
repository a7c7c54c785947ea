"""Refs as they are typed with `post` and shown by `show`."""

from __future__ import annotations

from agent_chat.cli.acting import expanded
from agent_chat.operations.refs import keep, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.cli.command import Request


def kept_refs(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the refs of a call to post as they will be stored, and warnings about them."""
    kept = keep(request.workspace, [_with_home(text) for text in request.texts("ref")])
    return kept.refs, kept.warnings


def looked_at_refs(request: Request, refs: Sequence[str]) -> list[dict[str, str]]:
    """Returns the JSON form of a message's refs and how each stands."""
    return [
        {"ref": each.ref, "state": each.state, **({"reason": each.reason} if each.reason else {})}
        for each in look(request.workspace, refs)
    ]


def _with_home(text: str) -> str:
    """Returns a ref with a home folder written out, which a shell does not do after a colon."""
    kind, colon, rest = text.partition(":")
    return kind + colon + str(expanded(rest))
