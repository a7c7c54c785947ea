"""What a host sends: every field by all its names, and nothing that it sends makes the reading of it fail."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.cli import input_stream
from agent_chat.hooks import payload
from agent_chat.hooks.payload import MAX_BYTES, Payload, parse
from tests.hooks import payloads
from tests.hooks.desk import left_open, stdin
from tests.support.cli import CLOSED, NULL, SILENT, FakeClock, stdin_of

PROPERTIES = (
    "event",
    "session",
    "turn",
    "folder",
    "tool",
    "tool_input",
    "goes_on_after_a_hold",
    "has_background_tasks",
    "is_of_a_helper",
)
NOTHING = dict(zip(PROPERTIES, ("", "", "", "", "", {}, False, False, False)))
ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "",
    "\ud800",
    [],
    [[]],
    {},
    {"a": {}},
    ["x", 1],
    "x" * 9,
]


def of(**fields: Any) -> Payload:
    return parse(json.dumps(fields).encode())


def told(found: Payload) -> dict[str, Any]:
    """All that a payload tells."""
    return {name: getattr(found, name) for name in PROPERTIES}


# -- by all its names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({"event": "Stop"}, {"hook_event_name": "Stop"}),
        ({"event": "stop"}, {"hookEventName": "stop"}),
        ({"session": "s"}, {"session_id": "s"}),
        ({"session": "s"}, {"sessionId": "s"}),
        ({"session": "s"}, {"conversation_id": "s"}),
        ({"session": "s"}, {"session_id": "", "sessionId": 5, "conversation_id": "s"}),
        ({"session": "one"}, {"sessionId": "two", "session_id": "one"}),
        ({"turn": "t"}, {"prompt_id": "t"}),
        ({"turn": "t"}, {"turn_id": "t"}),
        ({"turn": "t"}, {"generation_id": "t"}),
        ({"folder": "/p"}, {"cwd": "/p"}),
        ({"folder": "/p"}, {"workspace_roots": ["/p", "/q"]}),
        ({"folder": "/p"}, {"cwd": "/p", "workspace_roots": ["/q"]}),
        ({}, {"cwd": 7, "workspace_roots": [7]}),
        ({}, {"workspace_roots": []}),
        ({"tool": "Edit"}, {"tool_name": "Edit"}),
        ({"tool": "edit"}, {"toolName": "edit"}),
        ({"tool": "edit"}, {"tool": "edit"}),
        ({"goes_on_after_a_hold": True}, {"stop_hook_active": True}),
        ({"goes_on_after_a_hold": True}, {"stopHookActive": True}),
        ({"goes_on_after_a_hold": True}, {"loop_count": 1}),
        ({}, {"loop_count": 0}),
        ({}, {"stop_hook_active": False, "stopHookActive": None, "loop_count": "many"}),
        # Who does not say no may mean yes: a session that was held is not held again.
        ({"goes_on_after_a_hold": True}, {"stop_hook_active": "false"}),
        ({"has_background_tasks": True}, {"background_tasks": [{"id": "b"}]}),
        ({"has_background_tasks": True}, {"backgroundTasks": 1}),
        ({}, {"background_tasks": []}),
        ({"is_of_a_helper": True}, {"agent_id": "a"}),
        ({"is_of_a_helper": True}, {"agentId": "a"}),
        ({}, {"agent_id": "", "agentId": None}),
    ],
)
def test_a_field_is_found_by_all_its_names(wanted: dict[str, Any], fields: dict[str, Any]) -> None:
    assert told(of(**fields)) == {**NOTHING, **wanted}


@pytest.mark.parametrize("name", ["tool_input", "toolInput", "toolArgs", "tool_args", "args", "input"])
def test_the_arguments_of_a_tool_are_an_object_or_text_that_holds_one(name: str) -> None:
    wanted = {"file_path": "a"}
    assert of(**{name: wanted}).tool_input == wanted
    assert of(**{name: json.dumps(wanted)}).tool_input == wanted
    assert of(**{name: "*** Begin Patch"}).tool_input == {"input": "*** Begin Patch"}
    assert of(**{name: "[1]"}).tool_input == {"input": "[1]"}
    assert of(**{name: '{"a": "\\ud800"}'}).tool_input == {"a": "\ud800"}
    odd: list[Any] = ["", [], 5, None]
    assert [of(**{name: each}).tool_input for each in odd] == [{}] * 4


def test_the_command_of_a_shell_may_stand_beside_the_other_fields() -> None:
    assert of(command="rm x").tool_input == {"command": "rm x"}
    assert of(command=["rm"]).tool_input == {}


@pytest.mark.parametrize("name", payloads.NAMES)
def test_what_hosts_really_sent_is_understood(name: str) -> None:
    found = of(**payloads.read(name))
    assert found.fault == ""
    assert found.session == payloads.SESSION
    assert found.folder == "/home/user/project"
    assert payloads.EVENTS[found.event] == payloads.event_of(name)
    assert found.goes_on_after_a_hold == name.endswith("-active")
    assert found.has_background_tasks == ("-background" in name or name == "claude-SubagentStop")
    assert found.is_of_a_helper == name.endswith(("PostToolBatch-subagent", "Edit-subagent", "SubagentStop"))
    assert bool(found.tool and found.tool_input) == (payloads.event_of(name) == "pre-tool-use")
    has_turn = payloads.host_of(name) in ("claude", "codex") and "SessionStart" not in name
    assert bool(found.turn) == has_turn


# -- whatever the bytes are --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b" \r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_nothing_is_an_empty_payload(data: bytes) -> None:
    assert parse(data) == Payload(fields={})


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (b'\xef\xbb\xbf{"cwd": "/p"}\r\n', {"cwd": "/p"}),
        ('{"cwd": "/шлях/Zoë 🦊"}'.encode(), {"cwd": "/шлях/Zoë 🦊"}),
        (b'{"prompt": "\\ud83d"}', {"prompt": "\ud83d"}),
        (b'{"prompt": "\\ud83e\\udd8a"}', {"prompt": "\U0001f98a"}),
        (b'{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        (b'{"n": 1e999, "cwd": "/p"}', {"n": float("inf"), "cwd": "/p"}),
        (b'{"cwd": "/a", "cwd": "/b"}', {"cwd": "/b"}),
        (b'{"cwd": "/p", "brand_new": {"deep": [[[1]]]}}', {"cwd": "/p", "brand_new": {"deep": [[[1]]]}}),
        (b'{"prompt": "\\u0000"}', {"prompt": "\0"}),
    ],
)
def test_an_object_is_read_whatever_our_own_records_may_hold(data: bytes, fields: dict[str, Any]) -> None:
    assert parse(data) == Payload(fields=fields)


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"null",
        b"[]",
        b"5",
        b'"text"',
        b'{"a": ',
        b'{"a": 1}}',
        b'{"a": 1}{"b": 2}',
        b"{'a': 1}",
        b'{"a": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"\0",
    ],
)
def test_what_is_no_object_is_a_fault_in_words(data: bytes) -> None:
    assert parse(data) == Payload(fields={}, fault="the host sent no JSON object")


def test_more_digits_than_python_reads_are_a_fault_and_no_crash() -> None:
    found = parse(b'{"n": ' + b"9" * 5000 + b"}")
    # Pythons without a limit of digits read it.
    assert found.fault == ("the host sent no JSON object" if hasattr(sys, "set_int_max_str_digits") else "")


@pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
def test_a_field_of_another_type_is_not_known(value: Any) -> None:
    names = (
        "hook_event_name session_id prompt_id cwd workspace_roots tool_name tool_input stop_hook_active loop_count"
        " background_tasks agent_id command"
    ).split()
    found = told(Payload(fields=dict.fromkeys(names, value)))
    assert {name: type(each) for name, each in found.items()} == {name: type(each) for name, each in NOTHING.items()}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.sampled_from(
    "session_id sessionId cwd workspace_roots tool_name tool_input toolArgs command loop_count stop_hook_active".split()
)


@given(st.dictionaries(FIELDS | st.text(), JSON) | st.binary())
def test_nothing_makes_it_fail(sent: dict[str, Any] | bytes) -> None:
    found = parse(sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    assert set(told(found)) == set(PROPERTIES)


# -- from standard input -----------------------------------------------------------------------------------------------


class Hurried(FakeClock):
    """A clock of which each look takes a while, so that no test waits for a second."""

    def monotonic(self) -> float:
        """A later time with each call."""
        self._now += payload.READ_SECONDS
        return self._now


def read(stream: Any, clock: FakeClock | None = None) -> Payload:
    with stdin(stream):
        return payload.read((clock or FakeClock()).monotonic)


@pytest.mark.parametrize("what", [NULL, CLOSED, b""], ids=["null", "closed", "empty"])
def test_a_host_that_sends_nothing_is_not_wrong(what: Any) -> None:
    with stdin_of(what) as stream:
        assert read(stream) == Payload(fields={})


def test_a_stream_that_was_closed_is_as_none() -> None:
    with stdin_of(NULL) as stream:
        stream.close()
        assert read(stream) == Payload(fields={})


def test_a_host_that_stays_silent_is_not_waited_for_longer_than_a_second() -> None:
    with stdin_of(SILENT) as stream:
        assert read(stream, Hurried()) == Payload(fields={}, fault="the host sent nothing for 1 s")


def test_a_host_that_stops_half_way_is_not_waited_for_longer_than_a_second() -> None:
    with left_open(b'{"cwd": "/p"') as stream:
        assert read(stream, Hurried()).fault == "the host sent no JSON object"


@pytest.mark.parametrize("end", [b"", b"\n", b"  \r\n"])
def test_a_pipe_that_is_left_open_is_not_waited_for_once_an_object_is_there(
    end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    is_ready = input_stream.is_ready

    def asked(patience: float) -> bool:
        waited.append(patience)
        return is_ready(0)

    monkeypatch.setattr(payload, "is_ready", asked)
    with left_open(b'{"cwd": "/p", "tool_input": {}}' + end) as stream:
        assert read(stream).fields == {"cwd": "/p", "tool_input": {}}
    assert waited == [payload.READ_SECONDS, 0]


@pytest.mark.parametrize("extra", [0, 1, 2, 20 << 20])
def test_a_mebibyte_is_read_and_no_more(extra: int) -> None:
    frame = b'{"cwd": "/p", "x": ""}'
    data = frame.replace(b'""', b'"' + b"x" * (MAX_BYTES - len(frame) + extra) + b'"')
    assert len(data) == MAX_BYTES + extra
    with stdin_of(data) as stream:
        found = read(stream)
        assert stream.buffer.raw.tell() < 2 * MAX_BYTES
    # One byte more is read, to see that there is more.
    assert (found.folder, found.fault, found.is_cut) == ("/p", "", extra > MAX_BYTES)


CONTENT = "x" * (2 * MAX_BYTES)
TOOL = {"cwd": "/p", "tool_name": "Write"}


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ({**TOOL, "tool_input": {"file_path": "a", "content": CONTENT}}, "a"),
        ({**TOOL, "tool_input": {"file_path": "a", "edits": [{"new_string": CONTENT}]}}, "a"),
        ({**TOOL, "tool_input": {"file_path": "a", "content": '\\"\u2028🦊' * MAX_BYTES}}, "a"),
        ({**TOOL, "tool_input": {"file_path": "a", "content": "\\" * MAX_BYTES}}, "a"),
        ({**TOOL, "tool_input": {"content": CONTENT, "file_path": "a"}}, ""),
        ({**TOOL, "tool_input": {}, "tool_response": CONTENT}, ""),
    ],
    ids=["content", "edits", "escapes", "backslashes", "before", "beside"],
)
def test_of_what_is_too_long_the_beginning_is_told(sent: dict[str, Any], path: str) -> None:
    for text in (json.dumps(sent), json.dumps(sent, ensure_ascii=False)):
        for start in (0, 1, 4):
            found = parse((" " * start + text).encode()[: MAX_BYTES + 1])
            assert (found.fault, found.is_cut) == ("", True)
            assert (found.tool, found.folder, found.tool_input.get("file_path", "")) == ("Write", "/p", path)


@pytest.mark.parametrize("data", [b"x" * (2 * MAX_BYTES), b"[" * (2 * MAX_BYTES), b'{"a": ' + b"1" * (2 * MAX_BYTES)])
def test_of_other_long_input_nothing_is_told(data: bytes) -> None:
    found = parse(data[: MAX_BYTES + 1])
    assert found.fault == "the host sent no JSON object in its first 1048576 bytes"
    assert found.fields == {}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "with a mark"])
def test_the_bytes_are_utf_8_whatever_the_locale_says(mark: bytes) -> None:
    with stdin_of(mark + '{"cwd": "/шлях"}'.encode()) as stream:
        assert stream.encoding == "ascii"
        assert read(stream).folder == "/шлях"
