"""With --json every command answers with one document on one line, which keeps to its schema in any state."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.cli.command import HELP
from agent_chat.cli.commands import COMMANDS
from agent_chat.operations.findings import INVARIANTS
from agent_chat.storage.channel import Channel
from agent_chat.storage.file_lock import FileLock
from tests.cli.json_calls import (
    CALLS,
    FIELDS,
    ONCE,
    WITHOUT_ROOT,
    answer,
    document_of,
    make_root,
    prepare,
    variables_of,
)
from tests.support import schemas
from tests.support.cli import FakeClock, FaultyFiles, message_file, plant, run, workspace_on
from tests.support.verdicts import JUDGED, REPLY

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

pytestmark = pytest.mark.usefixtures("seated")

CHANNELS = {"dev", "work"}
# The form of a reply that shows a file as it is, and that of `doctor --hosts`: other fields than those of the command.
OTHER_FORMS = ("saved", "hosts")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root")


def broken(root: Path, code: int = errno.EIO, **options: Any) -> Workspace:
    """The root on a disk that fails at each read of a file whose path holds `where`."""
    clock = FakeClock()
    files = FaultyFiles(str(root), clock, at=1, code=code, only=("read_file",), forever=True, **options)
    return workspace_on(root, clock=clock, files=files)


# -- every command -----------------------------------------------------------------------------------------------------


def test_every_row_of_the_table_is_called_here_and_has_a_schema() -> None:
    rows = {row.name for row in COMMANDS}
    assert rows == set(CALLS) == set(schemas.OF_COMMAND)


@pytest.mark.parametrize("name", CALLS)
def test_a_command_answers_alike_with_json_before_and_after_it(name: str, root: Path) -> None:
    call = prepare(root, name)
    variables = variables_of(root, call)
    judged = JUDGED[REPLY + name]
    before = document_of(run(["--json", *call], root, environment=variables), call)
    assert JUDGED[REPLY + name] == judged + 1, "the watcher must see it"
    if name in ONCE:
        return
    after = document_of(run([*call, "--json"], root, environment=variables_of(root, call)), call)
    assert set(before) - {"unread_before"} == set(after) - {"unread_before"}


def test_leave_needs_somebody_who_is_there(root: Path) -> None:
    assert answer(root, *CALLS["leave"], expect=2)["error"]["code"] == "AGENT_UNKNOWN"
    answer(root, *CALLS["join"])
    assert answer(root, *CALLS["leave"])["members"] == []


@pytest.mark.parametrize("name", FIELDS)
def test_the_fields_that_scripts_rely_on_are_there(name: str, root: Path) -> None:
    fields = set(FIELDS[name].split())
    reply = answer(root, *prepare(root, name))
    assert fields <= set(reply)
    schema = schemas.schemas()[schemas.OF_COMMAND[name]]
    for form, asked in schema.get("$defs", {"": schema}).items():
        assert form in OTHER_FORMS or fields <= set(asked["required"]), "the schema must ask for them"


@pytest.mark.parametrize("name", [name for name in CALLS if name not in WITHOUT_ROOT])
def test_a_reply_says_which_root_was_used(name: str, root: Path) -> None:
    call = prepare(root, name)
    reply = document_of(run([*call, "--json", "--root", str(root)], environment=variables_of(root, call)), call)
    assert (reply["root"], reply["root_from"]) == (str(root), "option")
    for channel in CHANNELS.intersection(call):
        assert reply["channel"] == channel


@pytest.mark.parametrize("name", CALLS)
def test_wrong_usage_is_an_error_document(name: str, root: Path) -> None:
    words = name.split()
    for call in (["--json", *words, "--no-such-option"], [*words, "--no-such-option", "--json"]):
        reply = document_of(run(call, root), words, expect=2)
        assert reply["error"]["code"] == "USAGE"
        assert reply["error"]["next"]


OF_NOUNS = {
    "task": "TASK_CHANNEL_NOT_FOUND",
    "state": "STATE_CHANNEL_NOT_FOUND",
    "compact": "STATE_CHANNEL_NOT_FOUND",
}


@pytest.mark.parametrize("name", [name for name in CALLS if CHANNELS.intersection(CALLS[name])])
def test_a_channel_that_is_not_there_is_an_error_that_names_the_root(name: str, root: Path) -> None:
    (there,) = CHANNELS.intersection(CALLS[name])
    call = [word if word != there else there[1:] for word in CALLS[name]]
    error = answer(root, *call, expect=2)["error"]
    assert (error["code"], error["root"], error["root_from"], error["near"]) == (
        OF_NOUNS.get(name.split(maxsplit=1)[0], "CHANNEL_NOT_FOUND"),
        str(root),
        "variable",
        there,
    )


@pytest.mark.parametrize("name", [n for n in CALLS if n not in (*WITHOUT_ROOT, "init", "setup", "session start")])
def test_a_root_that_is_not_there_is_an_error(name: str, tmp_path: Path) -> None:
    error = answer(tmp_path / "nowhere", *CALLS[name], expect=2)["error"]
    assert (error["code"], error["root"]) == ("ROOT_NOT_FOUND", str(tmp_path / "nowhere"))


NEEDS_NOBODY = ("check", "task ready", "compact")  # all locks and all tasks count; the system compacts
ACTING = [row.name for row in COMMANDS if any(a.name == "agent" for a in row.arguments)]


def test_some_commands_need_nobody_who_acts(root: Path) -> None:
    assert answer(root, "check", "work", "src/a.py")["conflicts"] == []
    assert answer(root, *CALLS["task ready"])["tasks"] is not None
    assert answer(root, *CALLS["compact"])["file"] == "state.md"


@pytest.mark.parametrize("name", [name for name in ACTING if name not in NEEDS_NOBODY])
def test_nobody_who_acts_is_an_error(name: str, root: Path) -> None:
    words = list(prepare(root, name))
    at = next(index for index, word in enumerate(words) if word in ("--as", "--from"))
    del words[at : at + 2]
    assert answer(root, *words, expect=2)["error"]["code"] == "AGENT_MISSING"


def test_a_state_that_was_written_is_shown_as_it_is(root: Path) -> None:
    assert answer(root, "state", "work", "--write")["file"] == "state.md"
    saved = answer(root, "state", "work", "--saved")
    assert saved["text"] == (root / "work" / "state.md").read_text("utf-8")
    assert answer(root, "compact", "work", "--no-audit")["seq"] is None


def test_help_and_version_answer_as_options_too(root: Path) -> None:
    assert document_of(run(["post", "--help", "--json"], root), [HELP.name]) == answer(root, "help", "post")
    assert document_of(run(["--version", "--json"], root), ["version"]) == answer(root, "version")
    assert "error" in document_of(run(["--json"], root), ["help"], expect=2)


# -- odd states --------------------------------------------------------------------------------------------------------


def test_wait_on_one_channel_and_on_several(root: Path) -> None:
    answer(root, "init", "ops")
    answer(root, "post", "ops", "--from", "alice", "--title", "three")
    one = answer(root, "wait", "dev", "--as", "bob", "--peek")
    assert (one["channel"], one["cursor"], one["timed_out"]) == ("dev", 0, False)
    several = answer(root, "wait", "dev", "ops", "--as", "bob")
    assert [message["channel"] for message in several["messages"]] == ["dev", "dev", "ops"]
    assert (several["channels"], several["cursor"]) == (["dev", "ops"], {"dev": 2, "ops": 1})


def test_a_wait_that_runs_out_has_the_same_form(root: Path) -> None:
    answer(root, "init", "ops")
    answer(root, "read", "dev", "--as", "bob")
    one = answer(root, "wait", "dev", "--as", "bob", "--timeout", "0", expect=1)
    assert (one["timed_out"], one["messages"], one["cursor"], one["latest_seq"]) == (True, [], 2, 2)
    several = answer(root, "wait", "dev", "ops", "--as", "bob", "--timeout", "0", expect=1)
    assert (several["timed_out"], several["channels"], several["cursor"]) == (
        True,
        ["dev", "ops"],
        {"dev": 2, "ops": 0},
    )


def test_a_reply_that_was_read_before_is_shown_again(root: Path) -> None:
    answer(root, "post", "dev", "--from", "bob", "--title", "an answer", "--reply", "1")
    answer(root, "read", "dev", "--as", "alice")
    reply = answer(root, "wait", "dev", "--as", "alice", "--reply-to", "1")
    assert [(m["seq"], m["reply_to"]) for m in reply["messages"]] == [(3, 1)]
    assert answer(root, "wait", "dev", "--as", "alice", "--reply-to", "9", expect=2)["error"]["code"] == (
        "MESSAGE_NOT_FOUND"
    )


def test_a_page_that_is_full_says_so(root: Path) -> None:
    reply = answer(root, "read", "dev", "--as", "bob", "--limit", "1")
    assert (reply["has_more"], reply["next_after"], reply["cursor"], reply["latest_seq"]) == (True, 1, 1, 2)


def test_what_arrived_below_the_cursor_is_named(root: Path) -> None:
    answer(root, "read", "dev", "--as", "bob")
    plant(root / "dev" / "0001-zoe-late.md", message_file(1, "zoe"))
    assert answer(root, "read", "dev", "--as", "bob", "--peek")["late"] == ["0001-zoe-late.md"]
    several = answer(root, "wait", "dev", "--as", "bob", "--peek")
    assert several["late"] == ["0001-zoe-late.md"]
    assert answer(root, "show", "dev", "1", expect=2)["error"]["files"] == ["0001-alice-one.md", "0001-zoe-late.md"]


def test_a_file_that_is_not_complete_yet_holds_the_page(root: Path) -> None:
    (root / "dev" / "0003-zoe-half.md").write_text("---\nseq: 3\n", encoding="utf-8")
    reply = answer(root, "read", "dev", "--as", "bob")
    assert (reply["has_more"], reply["cursor"], len(reply["messages"])) == (True, 2, 2)
    assert reply["held"].startswith("0003-zoe-half.md: ")
    assert reply["warnings"] == [f"stopped before {reply['held']}; read again"]
    answer(root, "init", "ops")
    answer(root, "post", "ops", "--from", "alice", "--title", "three")
    assert list(answer(root, "wait", "dev", "ops", "--as", "bob")["held"]) == ["dev"]


def test_what_is_no_message_is_a_warning(root: Path) -> None:
    plant(root / "dev" / "0003-zoe-broken.md", "no front matter")
    for call in (("read", "dev", "--as", "bob", "--peek"), ("search", "dev", "one"), ("wait", "dev", "--as", "bob")):
        (warning,) = answer(root, *call)["warnings"]
        assert warning.startswith("set aside, no message: 0003-zoe-broken.md: ")
    assert answer(root, "show", "dev", "3", expect=2)["error"]["code"] == "MESSAGE_DAMAGED"


def test_a_cursor_past_the_end_is_a_warning(root: Path) -> None:
    plant(root / "dev" / ".cursors" / "bob.txt", "9\n")
    reply = answer(root, "read", "dev", "--as", "bob")
    assert (reply["cursor"], reply["messages"], len(reply["warnings"])) == (9, [], 1)
    assert answer(root, "ack", "dev", "--reset", "1", "--as", "bob") == {
        "root": str(root),
        "root_from": "variable",
        "channel": "dev",
        "cursor": 1,
        "previous": 9,
    }


def test_a_cursor_that_holds_no_number_is_an_error(root: Path) -> None:
    plant(root / "dev" / ".cursors" / "bob.txt", "x\n")
    assert answer(root, "read", "dev", "--as", "bob", expect=2)["error"]["code"] == "CURSOR_INVALID"
    failed = answer(root, "inbox", "--as", "bob", expect=2)
    assert (failed["channels"], failed["error"]["code"]) == ([], "CURSOR_INVALID")


@pytest.mark.parametrize("call", [("channels",), ("inbox", "--as", "bob")])
def test_a_damaged_channel_hides_no_other(call: tuple[str, ...], root: Path) -> None:
    for name in ("bad", "worse"):
        plant(root / name / "_meta.json", "{")
    reply = answer(root, *call, expect=2)
    assert {each["channel"] for each in reply["channels"]} <= CHANNELS
    assert (reply["error"]["code"], reply["error"]["channel"]) == ("CHANNEL_DAMAGED", "bad")
    assert [warning.partition(":")[0] for warning in reply["warnings"]] == ["worse"]


def test_a_disk_that_fails_ends_the_page_with_an_error(root: Path) -> None:
    for call in (("read", "dev", "--as", "bob"), ("wait", "dev", "--as", "bob"), ("search", "dev", "one")):
        reply = answer(root, *call, workspace=broken(root, where="0002-"), expect=2)
        assert [message["seq"] for message in reply["messages"]] == [1]
        assert (reply["has_more"], reply["cursor"]) == (True, 1)
        assert (reply["error"]["code"], reply["error"]["errno"]) == ("IO_ERROR", "EIO")
        plant(root / "dev" / ".cursors" / "bob.txt", "0\n")
    answer(root, "init", "ops")
    reply = answer(root, "wait", "dev", "ops", "--as", "bob", workspace=broken(root, where="0002-"), expect=2)
    assert (reply["cursor"], reply["error"]["errno"]) == ({"dev": 1, "ops": 0}, "EIO")


def test_a_cursor_that_cannot_be_stored_is_told_on_stderr_after_the_reply(root: Path) -> None:
    clock = FakeClock()
    files = FaultyFiles(str(root), clock, at=1, code=errno.ENOSPC, only=("replace",), where="bob.txt")
    done = run(["read", "dev", "--as", "bob", "--json"], root, workspace=workspace_on(root, clock=clock, files=files))
    assert (done.status, done.stderr.splitlines()[0].split(":")[1]) == (2, " CURSOR_NOT_STORED")
    schemas.check_reply("read", done.json)
    assert done.json["cursor"] == 2
    assert answer(root, "inbox", "--as", "bob")["channels"][0]["unread"] == 2


def test_post_that_finds_its_key_again(root: Path) -> None:
    call = ("post", "dev", "--from", "bob", "--title", "once", "--key", "k")
    first, second = answer(root, *call), answer(root, *call)
    assert (first["repeated"], second) == (False, {**first, "repeated": True})
    error = answer(root, *call, "--body", "other", expect=2)["error"]
    assert (error["code"], error["seq"]) == ("MESSAGE_KEY_CONFLICT", 3)
    assert answer(root, *call[:6], "--if-seq", "1", expect=2)["error"]["latest_seq"] == 3


def test_join_counts_what_lies_before_only_for_who_is_new(root: Path) -> None:
    assert answer(root, "join", "dev", "--as", "bob")["unread_before"] == 2
    answer(root, "read", "dev", "--as", "bob")
    assert answer(root, "join", "dev", "--as", "bob")["unread_before"] == 0


def test_roster_names_who_waits(root: Path) -> None:
    answer(root, "join", "dev", "--as", "Bob", "--role", "top-level")
    workspace = workspace_on(root)
    channel = Channel(workspace, "dev")
    workspace.files.make_folder(channel.layout.cursors)
    lock = FileLock(workspace.files, channel.layout.waiting("Bob"), workspace.clock)
    assert lock.acquire(0, shared=True)
    try:
        reply = answer(root, "roster", "dev")
    finally:
        lock.release()
    assert (reply["waiting"], reply["roles"], reply["open"]) == (["Bob"], {"Bob": "top-level"}, True)


def test_doctor_with_findings_and_with_things_done(root: Path) -> None:
    plant(root / "dev" / "0001-zoe-double.md", message_file(1, "zoe"))
    plant(root / "dev" / "notes.txt")
    found = answer(root, "doctor", "dev", expect=1)
    assert {finding["id"] for finding in found["findings"]} == {"message.unique", "file.foreign"}
    assert all(finding["id"] in INVARIANTS for finding in found["findings"])
    fixed = answer(root, "doctor", "--fix", expect=1)
    assert (len(fixed["fixed"]), [finding["id"] for finding in fixed["findings"]]) == (1, ["file.foreign"])
    assert "channel" in found
    assert "channel" not in fixed


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_file_name_that_is_no_text_is_shown_escaped(root: Path) -> None:
    with open(os.fsencode(root / "dev") + b"/\xff.txt", "wb"):
        (finding,) = answer(root, "doctor", "dev", expect=1)["findings"]
    assert finding["path"].endswith("/dev/\\udcff.txt")


def test_a_message_with_every_field(root: Path) -> None:
    fields = {
        "to": "[bob, 'all-of-us']",
        "created": "yesterday",
        "reply_to": "1",
        "topic": "data/base",
        "status": "blocker",
        "mentions": "[bob]",
        "summons": "[bob]",
        "refs": "['path:a b']",
        "session": "s",
        "connection": "c",
        "level": "PUBLIC",
        "later": "{a: [1]}",
    }
    plant(root / "dev" / "0003-zoe-full.md", message_file(3, "zoe", **fields))
    message = answer(root, "show", "dev", "3")["message"]
    optional = set(schemas.schemas()["message"]["properties"]) - {"channel"}
    assert set(message) == optional
    assert (message["to"], message["refs"]) == (["bob", "all-of-us"], ["path:a b"])


def test_text_of_any_kind_stays_one_line_of_json(root: Path) -> None:
    text = "a\u2028b\u2029c\x1b[31m\r\n\u202e\ufeffü😀"
    answer(root, "post", "dev", "--from", "bob", "--title", text, "--body", text)
    assert answer(root, "show", "dev", "3")["message"]["body"] == text + "\n"
    assert answer(root, "show", "dev", "3")["message"]["title"] == text
