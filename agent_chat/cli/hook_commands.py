"""The command hook, as it is listed and completed; a process that runs one begins in hooks/entry.py."""

from __future__ import annotations

from agent_chat.cli.command import Reply
from agent_chat.hooks.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request


def hook(request: Request) -> Reply:
    """Answers a host's event, with what would be printed and what would be noted."""
    words = [request.text("event")]
    host = request.optional_text("host")
    if host is not None:
        words += ["--host", host]
    words += ["--timeout", str(request.seconds("timeout"))]
    call = Call(words, request.environment, workspace=request.workspace)
    answer = call.answer()
    return Reply(
        data=call.described(answer),
        text=answer.output.rstrip("\n"),
        status=answer.status,
        warnings=() if request.as_json else answer.notes,
    )
