"""The Responses interface of OpenAI, as far as Codex uses it, with a script for a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.hosts.loopback import Json, Move, Stub

if TYPE_CHECKING:
    from collections.abc import Iterator


class ResponsesStub(Stub):
    """A model for clients that speak `POST /v1/responses`."""

    def is_turn(self, path: str, request: Json) -> bool:
        """Every response that is asked for."""
        return path.partition("?")[0].endswith("/responses")

    def conversation(self, request: Json) -> list[object]:
        """The input items; what hooks said is among them."""
        return list(request["input"])

    def plain(self, path: str, request: Json) -> Json:
        """Nothing."""
        return {}

    def events(self, request: Json, number: int, move: Move) -> Iterator[Json]:
        """The response with one finished item."""
        identity = f"resp_{number}"
        yield {"type": "response.created", "response": {"id": identity}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": _item(number, move)}
        usage = {
            "input_tokens": 10,
            "input_tokens_details": None,
            "output_tokens": 5,
            "output_tokens_details": None,
            "total_tokens": 15,
        }
        yield {"type": "response.completed", "response": {"id": identity, "usage": usage}}


def _item(number: int, move: Move) -> Json:
    call = {"id": f"item_{number}", "call_id": f"call_{number}", "name": move.tool}
    if not move.tool:
        text = {"type": "output_text", "text": move.text, "annotations": []}
        return {"type": "message", "role": "assistant", "id": f"item_{number}", "content": [text]}
    if isinstance(move.given, str):
        return {"type": "custom_tool_call", **call, "input": move.given}
    return {"type": "function_call", **call, "arguments": json.dumps(move.given)}
