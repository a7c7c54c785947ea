"""A server on 127.0.0.1 that stands in for a model: it answers from a script and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from typing_extensions import Self

Json = dict[str, Any]

# A client that asks more often than this runs in circles; it gets errors from then on.
MOST_REQUESTS = 20


@dataclass(frozen=True)
class Move:
    """One answer of the model: a text, or the use of a tool.

    `given` is what the tool gets: named arguments, or one text for a tool that takes free text. `meanwhile` is called
    before the answer goes out, so it happens while the client waits for its model.
    """

    text: str = "done"
    tool: str = ""
    given: Mapping[str, object] | str = ""
    meanwhile: Callable[[], object] | None = None


class Stub(ABC):
    """A model behind an HTTP interface, as a context manager. After its last move it says "done" to whatever comes."""

    def __init__(self, moves: Sequence[Move] = ()) -> None:
        self.requests: list[Json] = []
        self._moves = list(moves)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def news(self) -> list[str]:
        """Returns for each request the text that the model had not seen in the request before."""
        told, before = [], 0
        for request in self.requests:
            conversation = self.conversation(request)
            told.append("\n".join(text_in(conversation[before:])))
            before = len(conversation)
        return told

    def next_move(self, request: Json) -> tuple[int, Move] | None:
        """Keeps a request and returns its number and the answer to it; None for a client that runs in circles."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            move = self._moves.pop(0) if self._moves else Move()
        if number > MOST_REQUESTS:
            return None
        if move.meanwhile:
            move.meanwhile()
        return number, move

    @abstractmethod
    def is_turn(self, path: str, request: Json) -> bool:
        """Tells whether a request wants the next move; any other gets an answer that says nothing."""

    @abstractmethod
    def conversation(self, request: Json) -> list[object]:
        """Returns what was said so far, as a request holds it."""

    @abstractmethod
    def events(self, request: Json, number: int, move: Move) -> Iterator[Json]:
        """Yields the events of an answer; each has its `type`."""

    @abstractmethod
    def plain(self, path: str, request: Json) -> Json:
        """Returns the answer to a request that is not a turn, or that wants no stream."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing: a client that was ended in the middle of an answer is no news."""


def _handler_of(stub: Stub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: what matters is kept in `requests`."""

        def do_GET(self) -> None:
            self._send(200, "application/json", b'{"data": []}')

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            request: Json = json.loads(body or b"{}")
            if not stub.is_turn(self.path, request):
                self._send(200, "application/json", json.dumps(stub.plain(self.path, request)).encode())
                return
            answer = stub.next_move(request)
            if answer is None:
                self._send(400, "application/json", b'{"error": {"message": "asked too often"}}')
                return
            events = stub.events(request, *answer)
            stream = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
            self._send(200, "text/event-stream", stream.encode())

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def text_in(value: object) -> Iterator[str]:
    """Yields every text in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from text_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from text_in(each)
