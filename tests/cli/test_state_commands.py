"""The commands state and compact: who acts, what they change and what not, and what is said when something fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import WRITING, FileSystem
from tests.cli import leasing
from tests.support.cli import (
    FakeClock,
    FaultyFiles,
    Result,
    failing,
    message_file,
    plant,
    run,
    run_process,
    tree_of,
    workspace_on,
)

if TYPE_CHECKING:
    from pathlib import Path

MANY = 300
DERIVED = ("state.md", ".lock", ".cache")
FIRST = "wrote state.md of dev (#2): 1 decision, 0 open tasks, 0 blockers, 0 path locks"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a channel in which something was decided."""
    run(["init", "dev", "--topic", "t"], tmp_path / "root")
    run(["post", "dev", "--from", "alice", "--title", "Decision: files", "--body", "why"], tmp_path / "root")
    return tmp_path / "root"


def messages_of(root: Path) -> list[dict[str, Any]]:
    return list(run(["peek", "dev", "-n", "9", "--json"], root).json["messages"])


def others(root: Path) -> dict[str, Any]:
    """Everything but what is derived."""
    return {name: data for name, data in tree_of(root / "dev").items() if name.split("/")[0] not in DERIVED}


def crowd(root: Path) -> None:
    """Plants so many messages that what they mean is kept in a cache."""
    for seq in range(2, MANY + 1):
        title = "Decision: another" if seq % 100 == 0 else "talk"
        plant(root / "dev" / f"{seq:04d}-alice-m.md", message_file(seq, title=title))


# -- who acts ----------------------------------------------------------------------------------------------------------


def test_nobody_needs_to_be_named(root: Path) -> None:
    assert run(["state", "dev"], root).status == 0
    assert run(["compact", "dev"], root).stdout == FIRST + "\n"
    (decision, audit) = messages_of(root)
    assert (audit["from"], audit["status"], audit["to"]) == ("system", "state.compacted", [])
    assert run(["compact", "dev"], root, environment={"AGENT_CHAT_NAME": ""}).status == 0
    assert messages_of(root)[-1]["from"] == "system"
    assert decision["from"] == "alice"


@pytest.mark.parametrize("option", ["--as", "--from", "--owner", "--actor"])
def test_whoever_is_named_compacts(root: Path, option: str) -> None:
    named = {"AGENT_CHAT_NAME": "carol"}
    assert run(["compact", "dev"], root, environment=named).status == 0
    assert run(["compact", "dev", option, "bob"], root, environment=named).status == 0
    assert run(["compact", "dev", option, "ALICE"], root).status == 0
    assert [message["from"] for message in messages_of(root)[1:]] == ["carol", "bob", "alice"]


def test_a_name_that_is_none_writes_nothing(root: Path) -> None:
    before = tree_of(root)
    for name, code in (("b b", "AGENT_INVALID"), ("", "AGENT_INVALID"), ("system", "AGENT_RESERVED")):
        assert run(["compact", "dev", "--as", name], root).code == code
    assert tree_of(root) == before


def test_a_closed_channel_is_compacted_by_those_whom_it_knows_and_by_the_system(root: Path) -> None:
    run(["init", "ops", "--members", "alice,bob"], root)
    before = tree_of(root)
    for argv, variables in ((["--as", "carol"], {}), ([], {"AGENT_CHAT_NAME": "carol"})):
        refused = run(["compact", "ops", *argv, "--no-audit"], root, environment=variables)
        assert (refused.status, refused.code) == (2, "AGENT_UNKNOWN")
    assert tree_of(root) == before
    assert run(["state", "ops"], root, environment={"AGENT_CHAT_NAME": "carol"}).status == 0
    for argv, sender in ((["--as", "Bob"], "bob"), ([], "system")):
        seq = run(["compact", "ops", *argv, "--json"], root).json["seq"]
        assert run(["show", "ops", str(seq), "--json"], root).json["message"]["from"] == sender


# -- what is changed ---------------------------------------------------------------------------------------------------


def test_a_compaction_changes_the_summary_and_adds_one_message(root: Path) -> None:
    leasing.call(root, "task", "create", "dev", "t-1", "--from", "alice", "--title", "t")
    leasing.call(root, "task", "claim", "dev", "t-1", "--as", "bob")
    leasing.call(root, "lock", "dev", "a.py", "--as", "bob")
    run(["read", "dev", "--as", "bob"], root)
    before = others(root)
    assert leasing.call(root, "state", "dev", "--write").status == 0
    assert leasing.call(root, "compact", "dev", "--no-audit").status == 0
    assert others(root) == before
    done = leasing.call(root, "compact", "dev", "--as", "bob", "--json").json
    after = others(root)
    (added,) = set(after) - set(before)
    assert {name: after[name] for name in before} == before
    assert added.startswith(f"{done['seq']:04d}-bob-state-compacted")
    audit = run(["show", "dev", str(done["seq"]), "--json"], root).json["message"]
    assert audit["body"] == (
        '{\n  "blockers_count": 0,\n  "channel": "dev",\n  "compacted_at": "2026-01-02T03:04:05+00:00",\n'
        '  "decisions_count": 1,\n  "event": "state.compacted",\n  "last_seq": 4,\n  "open_tasks_count": 1,\n'
        '  "path_locks_count": 1\n}\n'
    )


def test_a_compaction_is_one_line_of_audit_and_is_not_unread(root: Path) -> None:
    run(["read", "dev", "--as", "bob"], root)
    run(["compact", "dev", "--as", "carol"], root)
    assert run(["inbox", "--as", "bob", "--json"], root).json["channels"] == []
    (line,) = run(["read", "dev", "--as", "bob"], root).stdout.splitlines()
    assert line.startswith("#2 carol: state.compacted")
    assert run(["compact", "dev", "--as", "carol"], root).status == 0
    assert run(["wait", "dev", "--as", "bob", "--timeout", "0"], root).status == 1


def test_a_compaction_wakes_nobody(root: Path) -> None:
    class Compacting(FakeClock):
        """Somebody compacts whenever the wait sleeps."""

        compacted = 0

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.compacted < 3:
                self.compacted += 1
                assert run(["compact", "dev"], root).status == 0

    run(["read", "dev", "--as", "bob"], root)
    clock = Compacting()
    argv = ["wait", "dev", "--as", "bob", "--timeout", "30", "--json"]
    waited = run(argv, root, workspace=workspace_on(root, clock=clock))
    assert (waited.status, waited.json["timed_out"], clock.compacted) == (1, True, 3)


def test_a_state_of_many_messages_touches_no_cursor(root: Path) -> None:
    crowd(root)
    run(["read", "dev", "--as", "bob", "--limit", "5"], root)
    run(["ack", "dev", "7", "--as", "carol"], root)
    before = others(root)
    times = {path: path.stat().st_mtime_ns for path in (root / "dev").glob(".cursors/*")}
    assert len(times) >= 2
    for command in (
        "state dev",
        "state dev --json",
        "state dev --strict",
        "state dev --write",
        "compact dev --no-audit",
    ):
        assert run(command.split(), root).status == 0
        assert others(root) == before
    assert {path: path.stat().st_mtime_ns for path in (root / "dev").glob(".cursors/*")} == times


class ReadOnly(FileSystem):
    """A root that cannot be written: its folders are read-only, or its disk is."""

    says = False

    def writable(self, path: str) -> bool:
        return self.says


def read_only(root: Path, *, says: bool) -> Any:
    clock = FakeClock()
    files = ReadOnly(str(root), clock)
    files.says = says

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), arguments[0])

    for name in WRITING:
        setattr(files, name, refuse)
    return workspace_on(root, clock=clock, files=files)


def test_a_state_is_shown_where_nothing_can_be_written(root: Path) -> None:
    crowd(root)
    wanted = run(["state", "dev"], root, workspace=workspace_on(root))
    (root / "dev" / ".cache" / "messages.index").unlink(missing_ok=True)
    before = tree_of(root)
    assert run(["state", "dev"], root, workspace=read_only(root, says=False)) == wanted
    for argv in (["state", "dev", "--write"], ["compact", "dev"]):
        refused = run(argv, root, workspace=read_only(root, says=False))
        assert (refused.status, refused.code) == (2, "STATE_IO_ERROR")
    assert tree_of(root) == before


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_state_is_shown_in_read_only_folders(root: Path) -> None:
    crowd(root)
    folders = [root / "dev", root]
    for folder in folders:
        folder.chmod(0o500)
    try:
        shown = run(["state", "dev"], root)
        refused = run(["state", "dev", "--write"], root)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert (shown.status, shown.stderr, refused.code) == (0, "", "STATE_IO_ERROR")


# -- what is said when something fails ---------------------------------------------------------------------------------


def test_a_compaction_whose_reply_cannot_be_shown_says_that_it_was_done(root: Path) -> None:
    for form in ([], ["--json"]):
        done = run(["compact", "dev", "--no-audit", *form], root, stdout_closed=True)
        assert done.status == 2
        assert "wrote state.md of dev: 1 decision" in done.stderr
        assert ", but the reply could not be written to stdout: it is closed" in done.stderr
    written = run(["state", "dev", "--write"], root, stdout_closed=True)
    assert written.stderr.startswith("agent-chat: OUTPUT_FAILED: wrote state.md of dev, but the reply could not")
    shown = run(["state", "dev"], root, stdout_closed=True)
    assert shown.stderr.startswith("agent-chat: OUTPUT_FAILED: the reply could not")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_full_stdout_is_told_on_stderr_and_the_summary_is_there(root: Path, form: list[str]) -> None:
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "AGENT_CHAT_ROOT": str(root)}
    command = [sys.executable, "-m", "agent_chat", "compact", "dev", *form]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, env=variables, stdout=full, stderr=subprocess.PIPE, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"agent-chat: OUTPUT_FAILED: {FIRST}, but the reply could not be written")
    assert (root / "dev" / "state.md").exists()
    assert len(messages_of(root)) == 2


def test_a_message_that_cannot_be_posted_leaves_a_summary_and_is_posted_by_the_next_call(root: Path) -> None:
    refused = run(["compact", "dev"], root, workspace=failing(root, at=1, only=("link",)))
    assert refused.code == "STATE_AUDIT_FAILED"
    assert "state.md is written" in refused.stderr
    assert (root / "dev" / "state.md").exists()
    assert len(messages_of(root)) == 1
    assert run(["compact", "dev"], root).stdout == FIRST + "\n"


@pytest.mark.parametrize("step", ["open_lock", "write_new", "replace", "sync_folder"])
def test_a_summary_that_cannot_be_replaced_stays_as_it_is(root: Path, step: str) -> None:
    run(["compact", "dev"], root)
    run(["post", "dev", "--from", "alice", "--title", "Decision: more"], root)
    before = tree_of(root)
    refused = run(["compact", "dev"], root, workspace=failing(root, errno.ENOSPC, at=1, only=(step,)))
    assert refused.code == "STATE_IO_ERROR"
    after = tree_of(root)
    if step == "sync_folder":  # it is whole and new then
        assert b"more" in after["dev/state.md"][1]
        before["dev/state.md"] = after["dev/state.md"]
    assert after == before


SECTIONS = {
    "_meta.json": ("Topic",),
    "/tasks": ("Decisions", "Open tasks", "Blockers", "Verification"),
    "/claims": ("Decisions", "Open tasks", "Blockers", "Verification"),
    "/locks": ("Path locks",),
}


@pytest.mark.parametrize("where", SECTIONS)
def test_what_cannot_be_read_is_no_empty_section(root: Path, where: str) -> None:
    leasing.call(root, "task", "create", "dev", "t-1", "--from", "alice", "--title", "t")
    leasing.call(root, "lock", "dev", "a.py", "--as", "bob")
    (root / "dev" / "0001-alice-decision-files.md").unlink()

    def faulty(**options: Any) -> Result:
        files = FaultyFiles(
            str(root), at=1, code=errno.EIO, only=("list_folder", "read_file"), where=where, forever=True
        )
        return run(["state", "dev", *options.pop("argv", [])], root, workspace=workspace_on(root, files=files))

    shown = faulty()
    assert (shown.status, shown.stderr) == (0, "")
    sections = dict(part.split("\n", 1) for part in shown.stdout.split("\n## ")[1:])
    for name in SECTIONS[where]:
        assert "none" not in sections[name].splitlines(), name
        assert "cannot be read" in sections[name], name
    assert "Input/output error" in sections["Warnings"]
    refused = faulty(argv=["--strict"])
    assert (refused.status, refused.code) == (2, "STATE_IO_ERROR")


def test_a_message_that_cannot_be_read_is_named_and_its_sections_are_not_called_empty(root: Path) -> None:
    files = FaultyFiles(str(root), at=1, code=errno.EIO, only=("read_file",), where="0001-", forever=True)
    shown = run(["state", "dev"], root, workspace=workspace_on(root, files=files))
    sections = dict(part.split("\n", 1) for part in shown.stdout.split("\n## ")[1:])
    assert "not read: 0001-alice-decision-files.md: Input/output error" in sections["Warnings"]
    for name in ("Decisions", "Blockers", "Verification"):
        assert "none" not in sections[name].splitlines(), name


def test_a_channel_that_cannot_be_listed_is_an_error(root: Path) -> None:
    for argv in (["state", "dev"], ["compact", "dev"]):
        refused = run(argv, root, workspace=failing(root, at=1, only=("list_folder",), where="dev", forever=True))
        assert (refused.status, refused.code) == (2, "STATE_IO_ERROR")
        assert not (root / "dev" / "state.md").exists()


def test_a_state_is_shown_while_somebody_has_the_channel_locked(root: Path) -> None:
    clock = FakeClock()
    workspace = workspace_on(root, clock=clock)
    lock = FileLock(workspace.files, str(root / "dev" / ".lock"), clock)
    assert lock.acquire(0)
    try:
        assert run(["state", "dev"], root, workspace=workspace).status == 0
        assert clock.slept == []
        for argv in (["compact", "dev"], ["state", "dev", "--write"]):
            refused = run(argv, root, workspace=workspace)
            assert (refused.status, refused.code) == (2, "CHANNEL_BUSY")
    finally:
        lock.release()
    assert not (root / "dev" / "state.md").exists()


@pytest.mark.slow
def test_the_commands_work_as_processes_of_their_own(root: Path) -> None:
    assert run_process(["compact", "dev"], root).stdout == FIRST + "\n"
    saved = run_process(["state", "dev", "--saved"], root)
    assert saved.stdout.encode() == (root / "dev" / "state.md").read_bytes()
