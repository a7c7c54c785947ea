"""Hooks as processes, as hosts run them: what they say, and that nothing around them gets in their way."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.hooks.running import SCRIPTS, Case, Office, print_of, require_promise

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="they are started by a shell of POSIX")

ONE = "agent-chat: 1 unread for bob: dev 1 (alice). Read: `agent-chat read dev --as bob`."
HELD = "src/a.txt is locked by carol in dev"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


@pytest.mark.parametrize("event", SCRIPTS)
def test_each_script_says_what_its_event_asks_for(office: Office, event: str) -> None:
    before = print_of(office.root)
    ended = office.run(event)
    require_promise(ended, event, "claude")
    assert (HELD if event == "pre-tool-use" else ONE) in ended.out
    assert ended.err == ""
    assert print_of(office.root) == before


@pytest.mark.parametrize("host", ["codex", "copilot", "gemini"])
def test_each_host_is_answered_in_its_own_form_without_being_named(office: Office, host: str) -> None:
    for event in ("pre-tool-use", "stop"):
        ended = office.run(event, host, script=event == "stop")
        require_promise(ended, event, host)
        assert ('"deny"' if event == "pre-tool-use" or host == "gemini" else '"block"') in ended.out


@pytest.mark.parametrize(
    ("shell", "out"),
    [('exec "$@" <&-', ONE), ('exec "$@" >&-', ""), ('exec "$@" 2>&-', ONE), ('exec "$@" >/dev/full', "")],
    ids=["no stdin", "no stdout", "no stderr", "a full disk"],
)
def test_streams_that_are_closed_or_full_change_no_status(office: Office, shell: str, out: str) -> None:
    ended = office.run("prompt", case=Case(shell=shell))
    assert (ended.status, ended.out.rstrip("\n"), ended.err) == (0, out, "")


@pytest.mark.parametrize("script", [True, False], ids=["script", "chat.py"])
def test_a_host_that_leaves_its_pipe_open_gets_its_answer_at_once(office: Office, script: bool) -> None:
    ended = office.run("stop", case=Case(stays_open=True), script=script)
    assert ended.status == 0
    assert json.loads(ended.out)["decision"] == "block"
    assert ended.seconds < 30


def test_names_of_any_script_come_out_as_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    base = tmp_path / "Мої документи (x) & 'y'"
    base.mkdir()
    office = Office(base)
    office.post("Зоя", to="Їжак")
    office.held("дім/", actor="Зоя", lease="86400")
    locale: dict[str, Any] = {"LC_ALL": "C", "PYTHONIOENCODING": "cp932", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = office.run("prompt", AGENT_CHAT_NAME="їжак", **locale)
    assert "2 unread for їжак: dev 2 (alice, Зоя)" in ended.out
    for script in (True, False):
        sent = json.dumps({"cwd": str(office.tree), "tool_name": "Edit", "tool_input": {"file_path": "дім/x"}})
        case = Case(sent=sent.encode())
        ended = office.run("pre-tool-use", case=case, script=script, **locale)
        assert (
            f"{office.tree}/дім/x is locked by Зоя"
            in json.loads(ended.out)["hookSpecificOutput"]["permissionDecisionReason"]
        )


def test_nothing_is_imported_from_the_folder_of_a_project_that_nobody_trusts(office: Office) -> None:
    trap = "import os\nos.write(1, b'TRAPPED')\n"
    (office.tree / "agent_chat").mkdir()
    for name in ("agent_chat/__init__.py", "json.py", "select.py", "sitecustomize.py", "os.py", "_thread.py"):
        (office.tree / name).write_text(trap)
    for script in (True, False):
        ended = office.run("stop", case=Case(cwd=office.tree), script=script, PYTHONPATH=str(office.tree))
        assert "TRAPPED" not in ended.out
        assert "1 unread for bob" in ended.out


@pytest.mark.parametrize("event", ["prompt", "pre-tool-use"])
def test_without_a_root_it_says_nothing_and_where_a_file_is_in_its_place_it_says_so(
    office: Office, tmp_path: Path, event: str
) -> None:
    ended = office.run(event, AGENT_CHAT_ROOT=str(tmp_path / "nowhere"))
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "file").write_bytes(b"")
    ended = office.run(event, AGENT_CHAT_ROOT=str(tmp_path / "file"))
    require_promise(ended, event, "claude")
    assert "Not a directory" in ended.out


def test_wrong_words_never_end_with_2(office: Office) -> None:
    """In most hosts 2 is "block": it would erase the user's prompt."""
    for words in (
        "hook",
        "hook no-such-event",
        "hook stop --frobnicate x",
        "--as alice hook stop",
        "--root hook hook stop",
    ):
        shell = f'eval exec "$1" "$2" "$3" "$4" "$5" {words}'
        ended = office.run("stop", script=False, case=Case(shell=shell))
        assert ended.status == 0, words
