"""Our hooks in the settings of a host: put in, known again, taken out, with every byte of the rest as it was."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records import hook_line
from agent_chat.records.hook_line import Program
from agent_chat.records.hook_settings import HostHooks, made, made_member, unwired, wired, with_member, without_member
from agent_chat.records.json_edit import Document, JsonEditError
from tests.records import jsonc
from tests.records.jsonc import Written

EVENTS = ("SessionStart", "PreToolUse", "Stop")
OF_OURS = ("session-start", "pre-tool-use", "stop")


def hooks(program: Program, *, root: str = "", flat: bool = False) -> HostHooks:
    """What a host of ours needs."""
    elements: list[dict[str, object]] = []
    for event in OF_OURS:
        handler: dict[str, object] = {"command": hook_line.line(program, event, "claude", root)}
        elements.append(handler if flat else {"matcher": "Edit|Write", "hooks": [{"type": "command", **handler}]})
    return HostHooks(host="claude", events=tuple(zip(EVENTS, ((each,) for each in elements))), versioned=flat)


NESTED, FLAT = hooks(Program()), hooks(Program(), flat=True)
OLDER = (
    hooks(Program(script="/old place/chat.py")),
    hooks(Program(executable="/opt/b in/agent-chat"), root="/a $b/.agent-chat"),
    hooks(Program(script="/x/chat.py", python="py -3"), root="C:/p/.agent-chat"),
)


def value_of(text: str) -> Any:
    document = Document(text)
    return document.value(document.root)


@st.composite
def foreign_elements(draw: st.DrawFn) -> Written:
    """A group or a handler of somebody else."""
    handler = {"command": Written("their.sh", '"their.sh"'), "timeout": draw(jsonc.scalars())}
    one = draw(jsonc.objects(handler))
    if draw(st.booleans()):
        return one
    members = {"hooks": draw(jsonc.arrays(st.just(one))), "matcher": draw(jsonc.scalars())}
    chosen: Written = draw(st.one_of(jsonc.objects(members), jsonc.values(depth=1)))
    return chosen


@st.composite
def settings(draw: st.DrawFn) -> Written:
    """The settings of a host, which may have hooks of others already."""
    members = draw(st.dictionaries(jsonc.NAMES.filter(lambda name: name != "hooks"), jsonc.values(), max_size=3))
    if draw(st.sampled_from([True, True, False])):
        events = {}
        for event in draw(st.lists(st.sampled_from([*EVENTS, "Notification"]), unique=True)):
            events[event] = draw(jsonc.arrays(foreign_elements()))
        if draw(st.booleans()):
            events["disabled"] = draw(jsonc.values(depth=1))
        members["hooks"] = draw(jsonc.objects(events))
    return draw(jsonc.objects(members))


def merged(value: Any, wanted: HostHooks) -> Any:
    """What the settings must say with these hooks."""
    value = copy.deepcopy(value)
    if wanted.versioned and "hooks" not in value:
        value.setdefault("version", 1)
    there = value.setdefault("hooks", {})
    for event, elements in wanted.events:
        there.setdefault(event, []).extend(elements)
    return value


@given(jsonc.documents(settings()), st.sampled_from([NESTED, FLAT]))
def test_what_is_put_in_is_all_that_changes_and_can_be_taken_out_again(doc: Written, wanted: HostHooks) -> None:
    assert value_of(doc.text) == doc.value
    text = wired(doc.text, wanted)
    assert value_of(text) == merged(doc.value, wanted)
    assert wired(text, wanted) == text
    assert unwired(text, "claude") == doc.text
    assert unwired(doc.text, "claude") == doc.text


@given(jsonc.documents(settings()), st.sampled_from(OLDER))
def test_an_older_set_gives_way_to_the_wanted_one(doc: Written, older: HostHooks) -> None:
    assert wired(wired(doc.text, older), NESTED) == wired(doc.text, NESTED)
    assert unwired(wired(doc.text, older), "claude") == doc.text


@given(jsonc.documents(settings()), jsonc.gaps(), st.booleans())
def test_what_others_add_meanwhile_stays(doc: Written, gap: str, first: bool) -> None:
    """Somebody adds a hook before or after ours; it is there when ours are gone, and nothing else is lost."""
    text = wired(doc.text, NESTED)
    document = Document(text)
    member = document.member(document.root, "hooks")
    assert member is not None
    stop = document.member(member.node, "Stop")
    assert stop is not None
    node = stop.node
    mine = '{"command": "mine"}'
    if first:
        text = text[: node.start + 1] + gap + mine + gap + "," + text[node.start + 1 :]
    else:
        last = node.items[-1]
        at = last.node.end if last.comma is None else last.comma + 1
        comma = ("," + gap, "") if last.comma is None else (gap, ",")
        text = text[:at] + comma[0] + mine + gap + comma[1] + text[at:]
    left = unwired(text, "claude")
    assert left is not None
    expected = value_of(text)
    for event in EVENTS:
        kept = [each for each in expected["hooks"][event] if "agent-chat" not in json.dumps(each)]
        expected["hooks"][event] = kept
        if not kept and event not in doc.value.get("hooks", {}):
            del expected["hooks"][event]
    assert value_of(left) == expected


@given(jsonc.documents(settings()))
def test_a_reformatted_file_is_left_as_it_is(doc: Written) -> None:
    text = json.dumps(merged(doc.value, NESTED), indent=4)
    assert wired(text, NESTED) == text
    left = unwired(text, "claude")
    assert left is None or "agent-chat" not in left


@given(st.text(max_size=30) | st.text(alphabet='{}[]",:/*\\u0e1-.tn \n', max_size=30))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        document = Document(text)
    except JsonEditError:
        return
    assert document.text[document.root.start : document.root.end] in text
    document.value(document.root)
    assert unwired(text, "claude") == text


@given(jsonc.values(depth=3), st.sampled_from([None, 1, "\t"]))
def test_plain_json_is_read_as_json_reads_it(written: Written, indent: int | str | None) -> None:
    text = json.dumps(written.value, indent=indent)
    assert value_of(text) == json.loads(text)


@st.composite
def with_env(draw: st.DrawFn) -> Written:
    """Settings that may have an `env`."""
    members = draw(st.dictionaries(jsonc.NAMES, jsonc.values(depth=1), max_size=2))
    if draw(st.booleans()):
        members["env"] = draw(jsonc.objects(draw(st.dictionaries(jsonc.NAMES, jsonc.scalars(), max_size=2))))
    return draw(jsonc.objects(members))


@given(jsonc.documents(with_env()), st.sampled_from(["/p/.agent-chat", "C:/ї $x/.agent-chat"]))
def test_a_member_is_put_in_and_taken_out_again(doc: Written, root: str) -> None:
    text = with_member(doc.text, "env", "ROOT", root)
    expected = copy.deepcopy(doc.value)
    expected.setdefault("env", {})["ROOT"] = root
    assert value_of(text) == expected
    assert with_member(text, "env", "ROOT", root) == text
    assert without_member(text, "env", "ROOT", root) == doc.text
    assert without_member(doc.text, "env", "ROOT", root) == doc.text
    assert without_member(text, "env", "ROOT", "/srv/team/.agent-chat") == text


def test_a_member_of_somebody_else_is_left_alone() -> None:
    text = '{"env": {"ROOT": "/their/root"}}'
    assert without_member(text, "env", "ROOT", "/p/.agent-chat") == text
    with pytest.raises(JsonEditError, match="line 1: ROOT is '/their/root' already"):
        with_member(text, "env", "ROOT", "/p/.agent-chat")
    with pytest.raises(JsonEditError, match="env is no object"):
        with_member('{\n"env": 1}', "env", "ROOT", "/p/.agent-chat")
    text = made_member("env", "ROOT", "/p/.agent-chat")
    assert json.loads(text) == {"env": {"ROOT": "/p/.agent-chat"}}
    with pytest.raises(JsonEditError, match=r"ROOT is '/p/\.agent-chat' already"):
        with_member(text, "env", "ROOT", "/q/.agent-chat")
    assert without_member(text, "env", "ROOT", "/p/.agent-chat") is None


@pytest.mark.parametrize("wanted", [NESTED, FLAT])
def test_a_file_of_ours_is_nothing_but_ours(wanted: HostHooks) -> None:
    text = made(wanted)
    assert wired(text, wanted) == text
    assert unwired(text, "claude") is None
    assert json.loads(text) == merged({}, wanted)
    for end in ("", "\n", "\n\n"):
        for older in OLDER if wanted == NESTED else ():
            assert wired(made(older).rstrip("\n") + end, wanted) == text.rstrip("\n") + end
