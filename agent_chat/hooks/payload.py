"""What a host sends to a hook: one JSON object on standard input, read with patience that ends.

The fields have other names in other hosts, and a newer host leaves some out and adds others (docs/hosts.md); so each
is looked for by all its names, and what is not there is simply not known. Nothing in it tells who the agent is.
"""

from __future__ import annotations

import sys

from agent_chat.cli.input_stream import is_ready, read_some
from agent_chat.records import json_codec
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Callable

MAX_BYTES = 1 << 20
READ_SECONDS = 1.0
# The Unicode byte order mark in UTF-8, which some hosts on Windows put before the JSON.
_MARK = b"\xef\xbb\xbf"
_LONGEST_ESCAPE = 6  # characters: what is left of one at the end is no text
# What closes a text within an object, two, or an object in a list of one, as edits are.
_ENDS = ('"}', '"}}', '"}]}}')
_NOTHING: dict[str, object] = {}


class Payload(Value):
    """What a host sent; `fault` says why it could not be read, "" where it was.

    `is_cut` tells that there was more than is read, so that fields may be missing.
    """

    fields: Mapping[str, object]
    fault: str = ""
    is_cut: bool = False

    def text(self, *names: str) -> str:
        """Returns the first of some fields that holds text, "" where none does."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def event(self) -> str:
        """The host's own name of the event."""
        return self.text("hook_event_name", "hookEventName")

    @property
    def session(self) -> str:
        """The id of the session, "" where the host tells none."""
        return self.text("session_id", "sessionId", "conversation_id")

    @property
    def turn(self) -> str:
        """The id of the turn or prompt, by which two hooks know that they were started for the same one."""
        return self.text("prompt_id", "turn_id", "generation_id")

    @property
    def folder(self) -> str:
        """The session's current folder; the folder of the hook's own process may be another one."""
        roots = self.fields.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        return self.text("cwd") or first

    @property
    def tool(self) -> str:
        """The name of the tool that is about to run."""
        return self.text("tool_name", "toolName", "tool")

    @property
    def tool_input(self) -> Mapping[str, object]:
        """The arguments of that tool; text that is no JSON object is its "input"."""
        for name in ("tool_input", "toolInput", "toolArgs", "tool_args", "args", "input"):
            value = self.fields.get(name)
            if isinstance(value, dict):
                return value
            if isinstance(value, str) and value:
                return _object_in(value.encode("utf-8", "surrogatepass")) or {"input": value}
        # Cursor's beforeShellExecution has the command beside the other fields.
        command = self.fields.get("command")
        return {"command": command} if isinstance(command, str) else _NOTHING

    @property
    def goes_on_after_a_hold(self) -> bool:
        """Whether the session stops after a hook held it once already; what nobody understands counts as yes."""
        count = self.fields.get("loop_count")
        flags = (self.fields.get("stop_hook_active"), self.fields.get("stopHookActive"))
        return any(flag is not None and flag is not False for flag in flags) or (
            isinstance(count, (int, float)) and count > 0
        )

    @property
    def has_background_tasks(self) -> bool:
        """Whether the session only pauses, since something of it still runs."""
        return bool(self.fields.get("background_tasks") or self.fields.get("backgroundTasks"))

    @property
    def is_of_a_helper(self) -> bool:
        """Whether it comes from an agent that the session's own agent started; its mail is not that one's."""
        return bool(self.fields.get("agent_id") or self.fields.get("agentId"))


def parse(data: bytes) -> Payload:
    """Returns the payload in some bytes; nothing at all is an empty one."""
    data = data[len(_MARK) :] if data.startswith(_MARK) else data
    if not data.strip():
        return Payload(fields=_NOTHING)
    fields = _object_in(data)
    is_cut = fields is None and len(data) > MAX_BYTES
    fields = _object_in_beginning(data) if is_cut else fields
    if fields is None:
        more = f" in its first {MAX_BYTES} bytes" if is_cut else ""
        return Payload(fields=_NOTHING, fault=f"the host sent no JSON object{more}")
    return Payload(fields=fields, is_cut=is_cut)


def _object_in_beginning(data: bytes) -> dict[str, object] | None:
    """Returns what the beginning of a JSON object tells, where it ends in a long text; None where it ends elsewhere.

    So ends, nearly always, what is too long: in the content of a file that a tool is to write, after its path.
    """
    text = data.decode("utf-8", "ignore")
    from json import loads

    try:
        loads(text)
    except RecursionError:
        return None
    except ValueError as error:
        if not str(error).startswith(("Unterminated string", "Invalid \\")):
            return None
    for length in range(len(text), max(len(text) - _LONGEST_ESCAPE, 0), -1):
        for end in _ENDS:
            fields = _object_in((text[:length] + end).encode("utf-8"))
            if fields is not None:
                return fields
    return None


def _object_in(data: bytes) -> dict[str, object] | None:
    """Returns the JSON object in some bytes; None where there is none.

    What a tool is to write may hold what our own records may not: half a surrogate pair, a number of many digits.
    """
    try:
        value = json_codec.decode(data)
    except json_codec.JsonError:
        from json import loads

        try:
            value = loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def read(monotonic: Callable[[], float]) -> Payload:
    """Reads the payload from standard input: at most 1 MiB, and for at most a second.

    A host that leaves the pipe open is not waited for once a whole object is there.
    """
    if sys.stdin is None or sys.stdin.closed:
        return Payload(fields=_NOTHING)
    deadline = monotonic() + READ_SECONDS
    data = b""
    while len(data) <= MAX_BYTES:
        if not is_ready(max(deadline - monotonic(), 0)):
            break
        part = read_some()
        if part is None:
            continue
        if not part:
            return parse(data)
        data += part
        if data.rstrip().endswith(b"}") and not is_ready(0):
            payload = parse(data)
            if not payload.fault:
                return payload
    payload = parse(data)
    if not data:
        return payload.replace(fault=f"the host sent nothing for {READ_SECONDS:.0f} s")
    return payload
