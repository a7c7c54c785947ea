"""The watcher sees every kind of reply and record, and what breaks a schema fails the test in which it happens.

That it sees the reply of each command is tested where each is called, in test_json_replies.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli import output
from agent_chat.operations import hook_traces
from agent_chat.operations.glance import Count
from agent_chat.operations.session_memory import HELD, SessionMemory
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Workspace
from tests.cli import leasing
from tests.cli.json_calls import CALLS, answer, make_root, prepare
from tests.support import schemas, verdicts
from tests.support.cli import REPOSITORY, FakeClock, message_file, plant, run, run_process, workspace_on
from tests.support.leases import legacy_task
from tests.support.processes import Cli, Worker
from tests.support.record_forms import phase_faults, record_faults
from tests.support.recording import RecordingFileSystem
from tests.support.seeding import Edit, seeded
from tests.support.verdicts import JUDGED, RECORD, REPLY, WRONG
from tests.support.watched import PLACES, Printed, Written, kind_of

if TYPE_CHECKING:
    from pathlib import Path

META = "agent_chat.records.channel_meta"
TASK = "agent_chat.records.task"
MESSAGE = "agent_chat.records.message"
ENTRY = "agent_chat.records.journal_entry"
KEPT = re.compile(r"/audit/.*-kept-")
FRONT = "agent_chat.records.frontmatter"
COMMIT = "agent_chat.storage.transaction"
AUDITED = "agent_chat.operations.audited"
TASKS = "agent_chat.operations.tasks"
CHANNELS = "agent_chat.cli.channel_commands"
INIT = ("init", "fresh", "--json")
PUBLISH = """    files.append(places.record(journal.entry), journal_entry.phase_line(journal_entry.PUBLISHED))
    recovery.file"""
CREATE = ("task", "create", "work", "t-9", "--from", "alice", "--title", "t")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root")


# -- it sees all -------------------------------------------------------------------------------------------------------


def test_an_error_of_a_command_and_one_to_no_command_are_judged(root: Path) -> None:
    before = JUDGED[REPLY + "read"], JUDGED[REPLY + WRONG]
    run(["read", "nosuch", "--as", "bob", "--json"], root)
    run(["nosuch", "--json"], root)
    assert (JUDGED[REPLY + "read"], JUDGED[REPLY + WRONG]) == (before[0] + 1, before[1] + 1)


def test_what_is_no_json_is_not_judged(root: Path) -> None:
    before = sum(JUDGED[name] for name in list(JUDGED) if name.startswith(REPLY))
    for words in (["read", "dev", "--as", "bob"], ["help", "post"], ["nosuch"], ["show", "dev", "1"]):
        run(words, root)
    assert sum(JUDGED[name] for name in list(JUDGED) if name.startswith(REPLY)) == before


def everything(root: Path) -> None:
    """Makes every kind of record, and every event of an audit message."""
    held = ("task", "claim", "work", "t-1", "--as", "bob")
    for call in (
        ("task", "update", "work", "t-1", "--as", "bob", "--branch", "b"),
        held,
        ("task", "renew", "work", "t-1", "--as", "bob"),
        ("task", "release", "work", "t-1", "--as", "bob"),
        held,
        ("task", "done", "work", "t-1", "--as", "bob"),
        ("lock", "work", "src/a.py", "--as", "bob"),
        ("renew-lock", "work", "src/a.py", "--as", "bob"),
        ("unlock", "work", "src/a.py", "--as", "bob"),
        CALLS["task create"],
        ("task", "update", "work", "t-2", "--as", "alice", "--depends-on", "t-1"),
        ("task", "claim", "work", "t-2", "--as", "bob"),
        ("lock", "work", "src/b.py", "--as", "bob"),
    ):
        assert leasing.call(root, *call).status == 0, call
    late = FakeClock()
    late.turn(1000)
    why = ("--as", "carol", "--reason", "bob is gone")
    for call in (("task", "recover", "work", "t-2", *why), ("recover", "work", "src/b.py", *why)):
        assert leasing.call(root, *call, clock=late).status == 0, call
    calls = ("session start", "init", "claim", "post", "event post")
    for call in (*(CALLS[name] for name in calls), ("compact", "work", "--as", "bob")):
        answer(root, *call)
    unread = Count(channel="dev", unread=1, latest=1, highest=1)
    assert SessionMemory(Workspace(str(root)), "alice", "s-1").note(HELD, [unread])
    assert hook_traces.leave(Workspace(str(root)), "claude", "alice") == []
    for place, call in (
        ("tasks", ("task", "recover-pending", "work", "--as", "bob", "--keep")),
        ("locks", ("recover-pending", "work", "--as", "bob", "--keep")),
    ):
        plant(root / "work" / place / "audit" / ".pending.md", "damaged")
        assert answer(root, *call)["outcome"] == "kept"
    # From here on, what is written by the clock of a test is older than the term.
    answer(root, *CALLS["owner retention"])
    answer(root, *prepare(root, "prune"))
    (root / "_owner.json").unlink()  # planted


@pytest.mark.usefixtures("seated")
def test_every_kind_of_record_and_every_event_is_judged(root: Path) -> None:
    before = dict(JUDGED)
    everything(root)
    for kind in PLACES:
        assert JUDGED[RECORD + kind] > before.get(RECORD + kind, 0), kind
    events = set()
    for path in root.rglob("*"):
        place = path.relative_to(root).as_posix()
        if path.is_file() and kind_of(place) is not None and not KEPT.search(place):
            assert verdicts.is_good(place, path.read_bytes()), f"{place} was not judged"
            if kind_of(place) == "message":
                events.add(path.read_text("utf-8").partition("\nstatus: ")[2].partition("\n")[0])
    assert set(schemas.schemas()["audit-body"]["properties"]["event"]["enum"]) <= events
    assert any(event.startswith("event.") for event in events)


@pytest.mark.parametrize("files", [FileSystem, RecordingFileSystem])
def test_a_journal_is_judged_at_each_phase(files: type[FileSystem], root: Path) -> None:
    before = JUDGED[RECORD + "journal-entry"]
    clock = FakeClock()
    assert run(CREATE, root, workspace=workspace_on(root, clock=clock, files=files(str(root), clock))).status == 0
    assert JUDGED[RECORD + "journal-entry"] == before + 4  # prepared, applied, published, filed


def test_calls_that_lie_in_one_another_are_told_apart(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = run

    def show(*given: object, **options: object) -> None:
        monkeypatch.undo()
        inner(["channels", "--json"], root)
        output.show_reply(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(output, "show_reply", show)
    before = JUDGED[REPLY + "channels"], JUDGED[REPLY + "roster"]
    run(["roster", "dev", "--json"], root)
    assert (JUDGED[REPLY + "channels"], JUDGED[REPLY + "roster"]) == (before[0] + 1, before[1] + 1)


# -- it can fail -------------------------------------------------------------------------------------------------------


WRONG_REPLIES = [
    (Edit(CHANNELS, '"path": channel.layout.folder,', '"path": "/", "more": 1,'), "'more' was unexpected"),
    (Edit(CHANNELS, '"path": channel.layout.folder,', ""), "'path' is a required property"),
    (Edit(CHANNELS, '"path": channel.layout.folder,', '"path": 7,'), "7 is not of type 'string'"),
    (
        Edit("agent_chat.cli.output", "write_out(text)", "write_out(text + text)"),
        "one document was to be printed, not 2",
    ),
]


@pytest.mark.parametrize(("edit", "sign"), WRONG_REPLIES, ids=[sign for _, sign in WRONG_REPLIES])
def test_a_reply_that_breaks_its_schema_is_found_though_the_program_catches_it(
    edit: Edit, sign: str, root: Path
) -> None:
    with verdicts.expected() as found, seeded(edit, judged=True):
        done = run(INIT, root)
    assert (done.status, "INTERNAL: SchemaError" in done.stderr) == (70, True)
    assert [text.partition("\n")[0] for text in found] == ["what init printed breaks its schema"]
    assert sign in found[0]


def test_an_error_with_a_detail_that_is_not_described_is_found(root: Path) -> None:
    with (
        verdicts.expected() as found,
        seeded(Edit("agent_chat.errors", "**(where or {}), ", '"colour": 1, '), judged=True),
    ):
        run(["read", "nosuch", "--as", "bob", "--json"], root)
    assert "reply-error: $.error: Additional properties are not allowed ('colour' was unexpected)" in found[0]


MADE, FILED = "work/tasks/t-9.json", "work/tasks/audit/20260102T030405Z-alice-create-t-9.md"
PENDING, TOLD = "work/tasks/audit/.pending.md", "work/0002-alice-yes.md"
POST = ("post", "work", "--from", "alice", "--title", "yes")
WRONG_RECORDS = [
    (Edit(META, '"closed": meta.closed', '"closed": int(meta.closed)'), INIT, "fresh/_meta.json", "$.closed: 0 is not"),
    (Edit(META, '"level": meta.level,', '"level": "", "more": 1,'), INIT, "fresh/_meta.json", "'more' is not one of"),
    (Edit(TASK, '"branch": task.branch,', ""), CREATE, MADE, "'branch' is a required property"),
    (Edit(TASK, '"schema_version": SCHEMA_VERSION,', ""), CREATE, MADE, "'schema_version' is a required property"),
    (Edit(TASK, "canonical(to_json(task))", "encode(to_json(task)).encode()"), CREATE, MADE, "not the canonical ones"),
    (Edit(FRONT, "if _is_plain(value):", "if True:"), POST, TOLD, "PyYAML reads"),
    (Edit(MESSAGE, '("from", message.sender)]', '("from", "a b")]'), POST, TOLD, "$.from: 'a b' does not match"),
    (
        Edit(MESSAGE, "(header + body).encode", "(header + body[:-1]).encode"),
        (*POST, "--body", "y"),
        TOLD,
        "its last line has no end",
    ),
    (Edit(TASKS, '"task_id": task.id,', ""), CREATE, PENDING, "'task_id' is a required property"),
    (Edit(AUDITED, "dict(sorted(body.items()))", "body"), CREATE, PENDING, "its keys are not sorted"),
    (
        Edit(AUDITED, '_id": ticket.transaction', '_id": "0" * 16'),
        CREATE,
        PENDING,
        "transaction_id is '0000000000000000'",
    ),
    (Edit(AUDITED, 'f"{event} {target}"', "event"), CREATE, PENDING, "does not tell of task.created t-9"),
    (Edit(ENTRY, '("actor", entry.actor)', '("actor", 7)'), CREATE, PENDING, "$.actor: 7 is not of type 'string'"),
    (Edit(COMMIT, "phase_line(journal_entry.PUBLISHED)", 'phase_line("over")'), CREATE, PENDING, "its phases are"),
    (Edit(COMMIT, PUBLISH, "    recovery.file"), CREATE, FILED, "it was filed as 'prepared\\napplied\\n'"),
]


@pytest.mark.parametrize(("edit", "call", "place", "sign"), WRONG_RECORDS, ids=[row[3] for row in WRONG_RECORDS])
def test_a_record_that_breaks_its_schema_is_found(
    edit: Edit, call: tuple[str, ...], place: str, sign: str, root: Path
) -> None:
    with verdicts.expected() as found, seeded(edit, judged=True):
        leasing.call(root, *call)
    assert f"{place}, as it was written, breaks its schema" in found[0]
    assert sign in found[0]


def test_what_was_caught_is_raised_once_more_when_the_test_ends(root: Path) -> None:
    with verdicts.expected():
        with seeded(WRONG_REPLIES[0][0], judged=True):
            run(INIT, root)
        with pytest.raises(verdicts.SchemaError, match="what init printed"):
            verdicts.require_none()
        verdicts.require_none()


@pytest.mark.slow
def test_a_test_fails_for_what_it_did_not_notice(tmp_path: Path) -> None:
    module = tmp_path / "test_it.py"
    module.write_text(
        "from tests.cli.test_verdicts import INIT, WRONG_REPLIES, run, seeded\n"
        "def test_swallowed(tmp_path):\n"
        "    with seeded(WRONG_REPLIES[0][0], judged=True):\n"
        "        run(INIT, tmp_path / 'root')\n"
        "def test_sound(tmp_path):\n"
        "    run(INIT, tmp_path / 'root')\n",
        encoding="utf-8",
    )
    words = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", str(module)]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "SchemaError: what init printed breaks its schema" in done.stdout


def test_what_belongs_nowhere_is_found() -> None:
    for place in ("dev/odd.json", "dev/tasks/.t.json.new", "_sessions/1.md", "dev/locks/x.md"):
        assert record_faults(place, b"{}") == [f"{place}: no schema says what belongs there"]
    for place in (".gitignore", "dev/state.md", "dev/.cache/x", "dev/.cursors/bob.txt", "dev/task-1.CLAIMED-bob.md"):
        assert record_faults(place, b"x") == []


@pytest.mark.parametrize(
    ("phases", "good", "filed"),
    [
        ("prepared\n", True, False),
        ("prepared\napplied\n", True, False),
        ("prepared\napplied\npublished\n", True, True),
        ("prepared\napplied\nrecovered by bob\n", True, True),
        ("prepared\nappl\nrecovered by bob\n", True, True),
        ("prepared\napplied\n\0\0\0\nrecovered by bob\n", True, True),
        ("", False, False),
        ("prepared\napplied", False, False),
        ("applied\nprepared\n", False, False),
        ("prepared\nprepared\n", False, False),
        ("prepared\nundone\n", False, False),
        ("prepared\nrecovered by bob\napplied\n", False, False),
    ],
)
def test_phases_stand_in_their_order(phases: str, good: bool, filed: bool) -> None:
    assert (phase_faults(phases, filed=False) == [], phase_faults(phases, filed=True) == []) == (good, good and filed)


# -- what is passed over -----------------------------------------------------------------------------------------------


def test_what_a_test_plants_is_not_judged(root: Path) -> None:
    before = {name: count for name, count in JUDGED.items() if name.startswith(RECORD)}
    plant(root / "dev" / "0009-zoe-by-hand.md", message_file(9, "zoe"))
    plant(root / "dev" / "tasks" / "t-1.json", "{}")
    run(["read", "dev", "--as", "bob"], root)
    assert {name: count for name, count in JUDGED.items() if name.startswith(RECORD)} == before


def test_what_another_program_wrote_may_be_put_back_and_nothing_else(root: Path) -> None:
    for create in (("T-1", "open"), ("T-2", "open")):
        plant(root / "dev" / "tasks" / f"{create[0]}.json", legacy_task(create[0]))
    leasing.killed(root, leasing.UNANNOUNCED, "task", "claim", "dev", "T-1", "--as", "bob")
    assert answer(root, "task", "recover-pending", "dev", "--as", "bob")["outcome"] == "undone"
    assert (root / "dev" / "tasks" / "T-1.json").read_bytes() == legacy_task("T-1")
    edit = Edit(TASK, "canonical(to_json(task))", "canonical({**to_json(task), 'x': 1})")
    with verdicts.expected() as found, seeded(edit, judged=True):
        leasing.call(root, "task", "claim", "dev", "T-2", "--as", "bob")
    assert "dev/tasks/T-2.json, as it was written, breaks its schema" in found[0]


def test_what_was_cut_is_no_document() -> None:
    before = dict(JUDGED)
    for status, out in ((-9, b'{"x"\n'), (141, b'{"x"\n'), (0, b'{"x"'), (0, b""), (130, b"{}\n")):
        verdicts.judge_words(["channels", "--json"], status, out)
    verdicts.judge_words(["channels"], 0, b"dev\n")
    assert dict(JUDGED) == before
    with verdicts.expected(), pytest.raises(verdicts.SchemaError, match="no JSON"):
        verdicts.judge_words(["--json", "channels"], 0, b"dev\n")


# -- processes of their own --------------------------------------------------------------------------------------------


def test_what_a_child_prints_and_writes_is_judged(root: Path) -> None:
    def counted() -> tuple[int, int]:
        return JUDGED[REPLY + "post"], JUDGED[RECORD + "message"]

    words = ["post", "dev", "--from", "bob", "--title", "t", "--json"]
    before = counted()
    run_process(words, root)
    assert counted() == (before[0] + 1, before[1] + 1)
    Cli(root).run(*words)
    assert counted() == (before[0] + 2, before[1] + 2)
    with Worker(root) as worker:
        worker.call(*words)
    assert counted() == (before[0] + 3, before[1] + 3)


def test_what_a_child_does_wrong_is_found() -> None:
    with verdicts.expected() as found:
        for seen in (Printed("version", "{}\n"), Written("/root", "dev/_meta.json", b'{"schema_version": 1}')):
            with pytest.raises(verdicts.SchemaError):
                verdicts.judge_child([seen])
    assert len(found) == 2
