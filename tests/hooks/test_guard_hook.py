"""The edit guard refuses in the form of the host at hand, tells what it could not judge, and allows nothing."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent_chat.hooks.hosts import HOSTS
from tests.hooks import payloads
from tests.hooks.desk import Desk, Heard, print_of
from tests.operations.lock_room import UNANNOUNCED
from tests.support.cli import DANGER, workspace_on

STRICT: dict[str, Any] = {"AGENT_CHAT_GUARD": "strict"}
NOT_CHECKED = "agent-chat did not check this edit for locks of others: "
TREE = Path("/home/user/project")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def held(desk: Desk) -> Desk:
    """A desk at which carol holds src/a.py."""
    desk.held("src/a.py", actor="carol", why="new parser")
    return desk


def shell(desk: Desk, command: str, **more: Any) -> Heard:
    sent = {"cwd": str(desk.tree), "tool_name": "Bash", "tool_input": {"command": command}}
    return desk.hook("pre-tool-use", sent, **more)


# -- the refusal -------------------------------------------------------------------------------------------------------


def test_it_names_the_owner_the_time_the_reason_and_what_to_do_instead(held: Desk) -> None:
    path = held.tree / "src/a.py"
    heard = held.edit("src/a.py")
    assert heard.refusal == (
        f"agent-chat: {path} is locked by carol in dev, 5 min left: 'new parser'. Work on something else meanwhile, or"
        f" wait for it: agent-chat wait dev --path {path} --as bob, or ask: agent-chat post dev --from bob --to carol"
        " --title 'May I edit it?'. Do not change it by other means."
    )
    assert (heard.notes, heard.status) == ((), 0)


@pytest.mark.parametrize("name", [name for name in payloads.NAMES if payloads.event_of(name) == "pre-tool-use"])
def test_it_refuses_what_hosts_really_send_in_the_form_that_they_obey(desk: Desk, name: str) -> None:
    host = payloads.host_of(name)
    sent = json.loads(json.dumps(payloads.read(name)).replace(str(TREE), str(desk.tree)))
    desk.held("src/", actor="carol")
    heard = desk.hook("pre-tool-use", sent, host="", **payloads.OF_HOOKS[host])
    assert heard.host == host
    fields = heard.fields if heard.output else {}
    if name.endswith(("Bash", "run_shell_command")):
        assert "deny" not in heard.output
        assert ("this command may change what others hold" in heard.output) == ("> src/b.txt" in json.dumps(sent))
    elif host == "gemini":
        assert (fields["decision"], "is locked by carol" in fields["reason"]) == ("deny", True)
    else:
        assert "is locked by carol" in heard.refusal
        assert set(fields) == {"hookSpecificOutput"}


@pytest.mark.parametrize("host", HOSTS)
def test_no_host_is_ever_told_that_something_is_allowed(held: Desk, host: str) -> None:
    variables: list[dict[str, Any]] = [{}, STRICT, {"AGENT_CHAT_NAME": None}]
    for path, more in itertools.product(("src/a.py", "src/b.py"), variables):
        output = held.edit(path, host=host, **more).output
        assert "allow" not in output
        assert "approve" not in output
    assert held.edit("src/b.py", host=host).output == ""


def test_copilot_by_its_own_names_is_refused_at_the_top(held: Desk) -> None:
    sent = {**payloads.COPILOT_NATIVE, "cwd": str(held.tree), "toolName": "edit", "toolArgs": '{"path": "src/a.py"}'}
    fields = held.hook("pre-tool-use", sent, host="", COPILOT_CLI="1").fields
    assert (fields["permissionDecision"], set(fields)) == ("deny", {"permissionDecision", "permissionDecisionReason"})


def test_a_helper_of_a_session_is_refused_as_well(held: Desk) -> None:
    sent = {"agent_id": "a", "cwd": str(held.tree), "tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}
    assert held.hook("pre-tool-use", sent).refusal


@pytest.mark.parametrize(
    "command",
    ["cd src && apply_patch <<'EOF'\n{}\nEOF", "cd 'src' && apply_patch <<'EOF'\n{}\nEOF", "cd src\napply_patch '{}'"],
)
def test_a_patch_through_a_shell_is_refused(held: Desk, command: str) -> None:
    patch = "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    heard = shell(held, command.format(patch), host="codex", AGENT_CHAT_NAME="bob")
    assert "src/a.py is locked by carol" in heard.refusal


def test_of_several_paths_the_first_is_named_and_the_others_counted(held: Desk) -> None:
    held.held("src/b.py", actor="dave")
    sent = {"cwd": str(held.tree), "tool_name": "write_files"}
    files = {"files": [{"path": name} for name in ("src/x.py", "src/a.py", "src/b.py")]}
    refusal = held.hook("pre-tool-use", {**sent, "tool_input": files}).refusal
    assert "src/a.py is locked by carol" in refusal
    assert "(1 more of its paths are locked too.)" in refusal


# -- what passes in silence --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, STRICT, {"AGENT_CHAT_NAME": None}, {"AGENT_CHAT_NAME": "no name"}], ids=str)
def test_where_nothing_is_locked_it_says_nothing(desk: Desk, more: dict[str, Any]) -> None:
    for heard in (desk.edit("src/a.py", **more), shell(desk, "rm -rf src", **more)):
        assert (heard.output, heard.notes) == ("", ())
    assert not (desk.root / "_hooks").exists()


def test_what_others_do_not_hold_passes(held: Desk) -> None:
    assert held.edit("src/b.py").output == ""
    assert held.edit("src/a.py", AGENT_CHAT_NAME="carol").output == ""
    assert held.edit("src/a.py", AGENT_CHAT_NAME="CAROL").output == ""
    for tool in ("Read", "Grep", "View", "frobnicate", ""):
        assert held.edit("src/a.py", tool=tool, **STRICT).output == ""
    held.clock.turn(3600)
    assert held.edit("src/a.py").output == ""


def test_an_owner_and_another_holder_of_one_path_are_told_apart(held: Desk) -> None:
    """In two channels two may hold one path."""
    shutil.copytree(held.folder, held.root / "ops")
    [record] = (held.root / "ops" / "locks").glob("*.json")
    text = record.read_text().replace('"dev"', '"ops"').replace('"carol"', '"dave"')
    record.write_text(text)
    assert "is locked by dave in ops" in held.edit("src/a.py", AGENT_CHAT_NAME="carol").refusal
    assert "is locked by carol in dev" in held.edit("src/a.py", AGENT_CHAT_NAME="dave").refusal


def test_who_sends_nothing_is_not_judged(held: Desk) -> None:
    assert "did not check this edit for locks of others: the host sent nothing." in held.hook("pre-tool-use", {}).output
    assert "AGENT_CHAT_GUARD=strict refuses it" in held.hook("pre-tool-use", {}, **STRICT).output


def test_a_call_without_paths_passes(held: Desk) -> None:
    for sent in ({"tool_name": "Edit"}, {"tool_name": "Edit", "tool_input": None}, {"tool_input": {"path": "a"}}):
        for more in ({}, STRICT):
            assert held.hook("pre-tool-use", sent, **more).output == ""


# -- shell commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["rm src/a.py", "echo x > src/a.py", "git stash", "mv src old", "sed -i s/x/y/ src/a.py"]
)
def test_a_command_that_may_change_what_others_hold_gets_a_note(held: Desk, command: str) -> None:
    for more in ({}, STRICT):
        heard = shell(held, command, **more)
        assert heard.refusal == ""
        assert heard.context == (
            "agent-chat: this command may change what others hold: src/a.py is locked by carol in dev, 5 min left:"
            " 'new parser'. Leave that as it is."
        )


@pytest.mark.parametrize("command", ["cat src/a.py", "rm src/b.py", "make", "", "git status", "grep x src/a.py > out"])
def test_a_command_that_does_not_gets_none(held: Desk, command: str) -> None:
    for more in ({}, STRICT):
        assert shell(held, command, **more).output == ""


def test_ones_own_lock_is_worth_no_note(held: Desk) -> None:
    assert shell(held, "rm src/a.py", AGENT_CHAT_NAME="carol").output == ""


# -- when it cannot look -----------------------------------------------------------------------------------------------


def damaged(desk: Desk) -> dict[str, Any]:
    [record] = (desk.folder / "locks").glob("*.json")
    record.write_bytes(b"{")
    return {}


def no_root(desk: Desk) -> dict[str, Any]:
    (desk.root.parent / "file").write_bytes(b"")
    return {"workspace": workspace_on(desk.root.parent / "file")}


@pytest.mark.parametrize("prepare", [damaged, no_root])
def test_what_could_not_be_judged_passes_and_the_model_is_told(held: Desk, prepare: Any) -> None:
    more = prepare(held)
    heard = held.edit("src/a.py", **more)
    assert heard.refusal == ""
    assert heard.context.startswith(NOT_CHECKED)
    refusal = held.edit("src/a.py", **more, **STRICT).refusal
    assert refusal.startswith("agent-chat could not check this edit: ")
    assert refusal.endswith("AGENT_CHAT_GUARD=strict refuses it. Run agent-chat doctor, or ask the user.")


def test_a_pending_change_is_judged_by_what_it_locks(desk: Desk) -> None:
    desk.leave_pending(UNANNOUNCED, "src/a.py", actor="carol")
    assert "is locked by carol" in desk.edit("src/a.py").refusal
    assert desk.edit("src/b.py").output == ""


@pytest.mark.parametrize("name", [None, "", "no name", "all"])
def test_a_session_without_a_name_is_warned_since_the_lock_may_be_its_own(held: Desk, name: str | None) -> None:
    heard = held.edit("src/a.py", AGENT_CHAT_NAME=name)
    assert heard.refusal == ""
    assert "is locked by carol in dev" in heard.context
    assert "this session has no name" in heard.context
    assert "so it may be its own" in heard.context
    assert held.edit("src/a.py", AGENT_CHAT_NAME=name, **STRICT).refusal
    assert held.edit("src/b.py", AGENT_CHAT_NAME=name, **STRICT).output == ""


@pytest.mark.parametrize("sent", [b"x", b"null", b"[]", b'{"tool_name": "Edit", "tool_in', b"\xff", b'"Edit"'])
def test_a_payload_that_is_none_passes_and_the_model_is_told(held: Desk, sent: bytes) -> None:
    heard = held.hook("pre-tool-use", sent)
    assert heard.context == f"{NOT_CHECKED}the host sent no JSON object."
    assert held.hook("pre-tool-use", sent, **STRICT).refusal


def test_a_refusal_is_never_said_where_the_edit_goes_on(held: Desk) -> None:
    """A guard that says "denied" while the tool runs is worse than none."""
    for sent, host in itertools.product((b"x", b"{}"), HOSTS):
        output = held.hook("pre-tool-use", sent, host=host).output
        for word in ("deny", "denied", "refuse", "block"):
            assert word not in output


@pytest.mark.parametrize("value", ["strict", "STRICT", " Strict "])
def test_strict_is_read_whatever_its_case(held: Desk, value: str) -> None:
    assert held.hook("pre-tool-use", b"x", AGENT_CHAT_GUARD=value).refusal


@pytest.mark.parametrize("value", [None, "", "off", "no", "stricter"])
def test_nothing_else_is_strict(held: Desk, value: str | None) -> None:
    assert not held.hook("pre-tool-use", b"x", AGENT_CHAT_GUARD=value).refusal


# -- which folder ------------------------------------------------------------------------------------------------------


def test_a_path_is_relative_to_the_folder_that_the_host_names(held: Desk) -> None:
    assert held.edit("a.py", cwd=str(held.tree / "src")).refusal
    assert held.edit("../src/a.py", cwd=str(held.tree / "docs")).refusal
    assert held.edit("src/a.py", cwd=str(held.root.parent)).output == ""
    assert held.edit(str(held.tree / "src/a.py"), cwd="/").refusal


def test_without_one_it_is_the_folder_of_the_hook(held: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(held.tree)
    for cwd in (None, "", 5, ["x"], "src", "\0", "\ud800", "x" * 70_000):
        sent = {"cwd": cwd, "tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}
        heard = held.hook("pre-tool-use", sent)
        assert heard.refusal or heard.context.startswith(NOT_CHECKED), cwd


def test_a_work_tree_may_be_named_by_the_environment(held: Desk) -> None:
    for variable in (str(held.tree), "/nowhere", "\0"):
        assert held.edit("src/a.py", AGENT_CHAT_WORKSPACE=variable).refusal


# -- how long ----------------------------------------------------------------------------------------------------------

NAMES = ["漢" * 60, "🦊" * 50, "ї" * 100, "'" * 200, "x" * 240, "a b" * 70]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:3])
@pytest.mark.parametrize("host", HOSTS)
def test_the_longest_refusal_and_note_are_short(desk: Desk, host: str, name: str) -> None:
    path = "/".join([name] * 3)
    desk.held(path, actor="ї" * 32, why=name * 3)
    before = print_of(desk.root)
    for agent, text in itertools.product(("ж" * 32, None, "x y" * 30), (f"rm '{path}'", "")):
        tool = {"command": text} if text else {"file_path": path}
        sent = {"cwd": str(desk.tree), "tool_name": "Bash" if text else "Edit", "tool_input": tool}
        for more in ({}, STRICT):
            workspace = workspace_on(desk.root, clock=desk.clock)
            workspace.root_from = "option"
            heard = desk.hook("pre-tool-use", sent, host=host, AGENT_CHAT_NAME=agent, workspace=workspace, **more)
            assert len(heard.output.encode()) <= 1000, heard
            assert not DANGER & set(heard.output)
            assert heard.output or text  # a name with a quote in it is no word of that command
    assert print_of(desk.root) == before
