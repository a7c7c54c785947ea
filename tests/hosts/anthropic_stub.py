"""The Messages interface of Anthropic, as far as Claude Code and Copilot CLI use it, with a script for a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.hosts.loopback import Json, Move, Stub

if TYPE_CHECKING:
    from collections.abc import Iterator

# Requests for a title or a summary come with few tools or none; they are no turn of the session.
FEWEST_TOOLS = 4


class AnthropicStub(Stub):
    """A model for clients that speak `POST /v1/messages`."""

    def is_turn(self, path: str, request: Json) -> bool:
        """A streamed message with the tools of a session; not the counting of tokens."""
        return (
            path.partition("?")[0].endswith("/v1/messages")
            and bool(request.get("stream"))
            and len(request.get("tools") or []) >= FEWEST_TOOLS
        )

    def conversation(self, request: Json) -> list[object]:
        """The messages; in some the client puts what its hooks said."""
        return list(request["messages"])

    def plain(self, path: str, request: Json) -> Json:
        """A whole message, or a number of tokens."""
        if "count_tokens" in path:
            return {"input_tokens": 10}
        return {**_message(request, 0), "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}

    def events(self, request: Json, number: int, move: Move) -> Iterator[Json]:
        """The message in pieces: its start, one block, its end."""
        yield {"type": "message_start", "message": _message(request, number)}
        if move.tool:
            start = {"type": "tool_use", "id": f"toolu_{number}", "name": move.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(move.given)}
        else:
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": move.text}
        yield {"type": "content_block_start", "index": 0, "content_block": start}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = "tool_use" if move.tool else "end_turn"
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 5},
        }
        yield {"type": "message_stop"}


def _message(request: Json, number: int) -> Json:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "stub"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
