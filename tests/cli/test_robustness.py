"""Odd states of a root: what is not looked for must not wake, hide, spend or stop anything else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli.main import main
from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Workspace
from tests.support.cli import REPOSITORY, FakeClock, message_file, plant, run, tree_of, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    assert run(["init", "dev"], tmp_path / "root").status == 0
    return tmp_path / "root"


def audits(root: Path, count: int, *, start: int = 1, body: str = "{}\n") -> None:
    for seq in range(start, start + count):
        plant(root / "dev" / f"{seq:04d}-alice-m.md", message_file(seq, status="task.created", body=body))


WAIT = ["wait", "dev", "--as", "bob", "--timeout", "0", "--json"]


def test_audit_messages_that_overfill_a_page_wake_nobody(root: Path) -> None:
    audits(root, 7, body="x" * 9000 + "\n")
    result = run(WAIT, root)
    assert (result.status, result.json["timed_out"]) == (1, True)
    plant(root / "dev" / "0008-alice-m.md", message_file(8))
    result = run(WAIT, root)
    assert (result.status, result.json["timed_out"]) == (0, False)


def test_many_audit_messages_take_the_room_of_one_line_in_text(root: Path) -> None:
    audits(root, 900)
    plant(root / "dev" / "0901-alice-m.md", message_file(901))
    result = run(["read", "dev", "--as", "bob"], root)
    assert result.stdout.startswith("#1-#900 900 audit messages (task.created)\n#901 alice -> all")


def test_audit_messages_do_not_use_up_what_peek_shows(root: Path) -> None:
    plant(root / "dev" / "0001-alice-m.md", message_file(1))
    audits(root, 5, start=2)
    assert [m["seq"] for m in run(["peek", "dev", "-n", "1", "--json"], root).json["messages"]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("fields", [{"to": "carol"}, {"status": "task.created"}])
def test_a_late_message_that_is_not_for_the_agent_wakes_it_not(root: Path, fields: dict[str, str]) -> None:
    for seq in (1, 2, 3):
        plant(root / "dev" / f"{seq:04d}-alice-m.md", message_file(seq))
    assert run(["read", "dev", "--as", "bob"], root).status == 0
    plant(root / "dev" / "0002-zed-m.md", message_file(2, sender="zed", **fields))
    assert run(WAIT, root).status == 1
    plant(root / "dev" / "0003-zed-m.md", message_file(3, sender="zed"))
    result = run(WAIT, root)
    assert result.status == 0
    assert "0003-zed-m.md" in result.json["late"]


def test_a_cursor_past_the_end_is_told_of_by_wait_and_inbox_too(root: Path) -> None:
    plant(root / "dev" / ".cursors" / "bob.txt", "99999999")
    for argv in (["read", "dev", "--as", "bob"], WAIT, ["inbox", "--as", "bob"]):
        result = run([*argv, "--json"], root)
        (warning,) = result.json["warnings"]
        assert "the cursor of bob is at #99999999, but the last message of dev is #0" in warning
        assert "ack dev --reset 0 --as bob" in warning
    (warning,) = run(["wait", "dev", "--as", "zoe", "--after", "9", "--timeout", "0", "--json"], root).json["warnings"]
    assert warning == "the last message of dev is #0, nothing is after #9"


@pytest.mark.parametrize("name", ["999999999-x.md", "20250401-notes.md", "2026-11-30-notes.md", ".20250401-x.swp"])
def test_a_stray_number_spends_no_numbers_and_moves_no_cursor(root: Path, name: str) -> None:
    run(["post", "dev", "--from", "alice", "--title", "one"], root)
    plant(root / "dev" / name, "no message")
    assert run(["read", "dev", "--as", "bob", "--json"], root).json["cursor"] == 1
    assert run(["post", "dev", "--from", "alice", "--title", "two", "--json"], root).json["seq"] == 2
    assert name in run(["doctor", "dev"], root).stdout


def test_a_message_far_above_all_others_is_one_all_the_same(root: Path) -> None:
    run(["post", "dev", "--from", "alice", "--title", "one"], root)
    plant(root / "dev" / "90000-carol-m.md", message_file(90000, sender="carol"))
    assert run(["read", "dev", "--as", "bob", "--json"], root).json["cursor"] == 90000
    assert run(["post", "dev", "--from", "alice", "--title", "two", "--json"], root).json["seq"] == 90001


def test_a_wild_cursor_spends_no_numbers(root: Path) -> None:
    plant(root / "dev" / ".cursors" / "bob.txt", "999999999")
    assert run(["post", "dev", "--from", "alice", "--title", "one", "--json"], root).json["seq"] == 1


class Closed(FileSystem):
    """A channel that its owner has closed to others: chmod 000."""

    def refuse(self, path: str) -> None:
        if "/shut/" in path.replace(os.sep, "/"):
            raise PermissionError(13, "Permission denied", path)

    def status(self, path: str) -> os.stat_result:
        self.refuse(path)
        return super().status(path)

    def read_file(self, path: str, limit: int) -> bytes:
        self.refuse(path)
        return super().read_file(path, limit)

    def list_folder(self, path: str) -> list[str]:
        self.refuse(path + "/")
        return super().list_folder(path)


def test_one_channel_that_cannot_be_looked_into_hides_no_other(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("shut", "zoo"):
        run(["init", name], root)
    run(["post", "zoo", "--from", "alice", "--title", "hello"], root)
    clock = FakeClock()
    closed = Workspace(str(root), root_from="variable", clock=clock, files=Closed(str(root), clock))
    for argv, told in (
        (["channels"], "zoo: 1 messages"),
        (["inbox", "--as", "bob"], "zoo: 1 unread"),
        (["init", "new"], "made new"),
        (["read", "zoo", "--as", "bob"], "hello"),
        (["doctor"], "shut"),
    ):
        main(argv, {}, workspace=closed)
        assert told in capfd.readouterr().out
    assert main(["read", "typo", "--as", "bob"], {}, workspace=closed) == 2
    assert "CHANNEL_NOT_FOUND" in capfd.readouterr().err


def test_fixing_goes_on_after_a_channel_that_cannot_be_fixed(root: Path) -> None:
    for name in ("ant", "bee"):
        run(["init", name], root)
        for sender in ("alice", "zed"):
            plant(root / name / f"0001-{sender}-m.md", message_file(1, sender=sender))
    (root / "ant" / ".lock").mkdir()
    result = run(["doctor", "--fix", "--json"], root)
    assert (result.status, result.json["error"]["code"]) == (2, "PATH_REFUSED")
    assert [line.partition(":")[0] for line in result.json["fixed"]] == ["bee"]
    assert {finding["id"] for finding in result.json["findings"]} >= {"channel.lock", "message.unique"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_the_doctor_names_what_is_of_the_wrong_kind_under_names_of_ours(root: Path) -> None:
    for name in ("task-1.md", "state.md"):
        os.mkfifo(root / "dev" / name)
    (root / "dev" / "tombstones.md").symlink_to("/nowhere")
    plant(root / "dev" / "tasks")
    findings = run(["doctor", "--json"], root).json["findings"]
    assert {os.path.basename(f["path"]) for f in findings} == {"task-1.md", "state.md", "tombstones.md", "tasks"}


def test_a_renumbering_that_was_cut_off_is_finished_not_repeated(root: Path) -> None:
    """Also of a message without a final newline, which it gets on the way."""
    plant(root / "dev" / "0001-alice-m.md", message_file(1))
    plant(root / "dev" / "0001-zed-m.md", message_file(1, sender="zed", body="no newline"))
    assert run(["doctor", "--fix"], root).status == 0
    plant(root / "dev" / "0001-zed-m.md", message_file(1, sender="zed", body="no newline"))
    assert run(["doctor", "--fix"], root).status == 0
    assert sorted(name for name in tree_of(root / "dev") if name.startswith("0")) == [
        "0001-alice-m.md",
        "0002-zed-by-hand.md",
    ]


def test_a_copy_is_blamed_not_the_original_and_is_given_to_nobody(root: Path) -> None:
    posted = run(["post", "dev", "--from", "alice", "--title", "t3", "--json"], root).json["file"]
    run(["read", "dev", "--as", "bob"], root)
    time.sleep(0.02)
    data = (root / "dev" / posted).read_bytes()
    plant(root / "dev" / "0001-alice-copy.md", data)
    (finding,) = run(["doctor", "--fix", "--json"], root).json["findings"]
    assert (finding["id"], os.path.basename(finding["path"])) == ("message.copy", "0001-alice-copy.md")
    assert run(["read", "dev", "--as", "bob", "--json"], root).json["messages"] == []


def test_a_lock_that_was_deleted_under_its_holder_publishes_nothing(root: Path) -> None:
    class Deleting(FileSystem):
        def write_new(self, path: str, data: bytes, *, sync: bool = True) -> None:
            super().write_new(path, data, sync=sync)
            (root / "dev" / ".lock").unlink()

    clock = FakeClock()
    files = Deleting(str(root), clock)
    result = run(
        ["post", "dev", "--from", "alice", "--title", "x"], root, workspace=workspace_on(root, clock=clock, files=files)
    )
    assert (result.status, result.stderr.split(": ")[1]) == (2, "CHANNEL_BUSY")
    assert not [name for name in tree_of(root / "dev") if name.startswith(("0", ".cache/tmp"))]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_was_written_in_part_does_not_count_as_shown(root: Path, unbuffered: str) -> None:
    """Unbuffered, a stream's own write may take a part and say so; a pipe that nobody reads takes 64 KiB."""
    body = "a" * 300_000
    run(["post", "dev", "--from", "alice", "--title", "big", "--body-file", "-"], root, stdin=body.encode())
    child = subprocess.Popen(
        [sys.executable, "-m", "agent_chat", "read", "dev", "--as", "bob", "--max-bytes", "5000000"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "AGENT_CHAT_ROOT": str(root), "PYTHONUNBUFFERED": unbuffered},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdout is not None
    assert child.stdout.read(10) == b"#1 alice -"
    child.stdout.close()
    assert child.wait(timeout=30) == 141
    assert run(["inbox", "--as", "bob"], root).stdout.startswith("dev: 1 unread")


def test_a_file_with_a_date_in_its_name_spends_nothing_while_it_is_fresh(root: Path) -> None:
    plant(root / "dev" / "20260401-plan.md", "notes", at=time.time())
    assert run(["post", "dev", "--from", "alice", "--title", "one", "--json"], root).json["seq"] == 1


def test_a_retry_with_a_key_may_spell_its_recipients_and_topic_otherwise(root: Path) -> None:
    run(["post", "dev", "--from", "alice", "--title", "question"], root)
    post = ["post", "dev", "--from", "bob", "--title", "answer", "--key", "k", "--reply", "1", "--json"]
    assert run([*post, "--to", "Alice"], root).json["repeated"] is False
    assert run([*post, "--to", "alice", "--topic", "general"], root).json["repeated"] is True


def test_a_word_of_a_title_is_no_spelling_of_a_sender(root: Path) -> None:
    for sender, title in (("Alice", "one"), ("bob", "ask alice now")):
        run(["post", "dev", "--from", sender, "--title", title], root)
    assert run(["post", "dev", "--from", "alice", "--title", "x", "--json"], root).json["file"] == "0003-Alice-x.md"
    plant(root / "dev" / "task-1.md", "do it")
    assert run(["claim", "dev", "task-1.md", "--as", "ALICE", "--json"], root).json["claimed_as"] == (
        "task-1.CLAIMED-Alice.md"
    )


def test_a_renumbered_message_is_found_and_answered_by_its_old_number(root: Path) -> None:
    plant(root / "dev" / "0001-alice-m.md", message_file(1))
    plant(root / "dev" / "0001-zed-m.md", message_file(1, sender="zed"))
    run(["doctor", "--fix"], root)
    (root / "dev" / "0001-alice-m.md").unlink()
    assert run(["show", "dev", "1", "--json"], root).json["message"]["seq"] == 2
    assert run(["post", "dev", "--from", "bob", "--title", "re", "--reply", "1", "--json"], root).status == 0
    plant(root / "dev" / "0004-carol-m.md", message_file(4, sender="carol", reply_to="1"))
    assert [m["seq"] for m in run(["thread", "dev", "2", "--json"], root).json["messages"]] == [2, 3, 4]


def test_what_answers_a_doubled_number_is_the_file_name_even_if_one_of_the_two_is_not_shown(root: Path) -> None:
    plant(root / "dev" / "0001-alice-m.md", message_file(1))
    plant(root / "dev" / "0001-zed-m.md", message_file(1, sender="zed", to="carol"))
    header = run(["read", "dev", "--as", "bob"], root).stdout.splitlines()[0]
    assert header.endswith("| post dev --reply 0001-alice-m.md")


def test_a_wait_from_a_point_that_ran_out_goes_on_from_that_point(root: Path) -> None:
    for title in ("one", "two"):
        run(["post", "dev", "--from", "alice", "--title", title], root)
    result = run(["wait", "dev", "--as", "bob", "--after", "2", "--timeout", "0", "--json"], root)
    assert (result.json["timed_out"], result.json["next_after"], result.json["cursor"]) == (True, 2, 0)


def test_replies_that_were_read_before_keep_within_the_bounds(root: Path) -> None:
    run(["post", "dev", "--from", "bob", "--title", "question"], root)
    for _ in range(5):
        run(["post", "dev", "--from", "alice", "--title", "answer", "--reply", "1"], root)
    run(["read", "dev", "--as", "bob"], root)
    result = run(["wait", "dev", "--as", "bob", "--reply-to", "1", "--timeout", "0", "--limit", "2", "--json"], root)
    assert [message["seq"] for message in result.json["messages"]] == [2, 3]


def test_the_inbox_tells_of_late_messages(root: Path) -> None:
    run(["post", "dev", "--from", "alice", "--title", "one"], root)
    run(["read", "dev", "--as", "bob"], root)
    plant(root / "dev" / "0001-zed-m.md", message_file(1, sender="zed"))
    (warning,) = run(["inbox", "--as", "bob", "--json"], root).json["warnings"]
    assert "messages arrived below the cursor of bob in dev" in warning


def test_several_stray_numbers_spend_no_numbers_together(root: Path) -> None:
    for name in ("999999998-n.md", "999999999-n.md", "1500-a.md", "1600-a.md", "2500-a.md"):
        plant(root / "dev" / name, "no message")
    assert run(["post", "dev", "--from", "alice", "--title", "one", "--json"], root).json["seq"] == 1


def test_the_bounds_of_a_wait_hold_for_all_its_channels_together(root: Path) -> None:
    for name in ("ant", "bee", "cat"):
        run(["init", name], root)
        run(["post", name, "--from", "alice", "--title", "big", "--body", "x" * 20_000], root)
    argv = ["wait", "ant", "bee", "cat", "--as", "bob", "--timeout", "0", "--json"]
    first = run(argv, root).json
    assert [message["channel"] for message in first["messages"]] == ["ant"]
    assert (first["has_more"], first["cursor"]) == (True, {"ant": 1, "bee": 0, "cat": 0})
    assert [message["channel"] for message in run(argv, root).json["messages"]] == ["bee"]
    assert [message["channel"] for message in run([*argv, "--limit", "1"], root).json["messages"]] == ["cat"]
    assert run(argv, root).status == 1


def test_a_wait_ends_where_a_folders_time_never_moves(root: Path) -> None:
    class Still(FileSystem):
        def status(self, path: str) -> os.stat_result:
            found = super().status(path)
            if path.endswith("dev"):
                return os.stat_result(tuple(found), {"st_mtime_ns": 1_600_000_000 * 10**9})
            return found

    class Posting(FakeClock):
        """The message comes while the wait sleeps."""

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if not (root / "dev" / "0001-alice-m.md").exists():
                plant(root / "dev" / "0001-alice-m.md", message_file(1))

    clock = Posting()
    workspace = workspace_on(root, clock=clock, files=Still(str(root), clock))
    assert run(["wait", "dev", "--as", "bob", "--timeout", "20"], root, workspace=workspace).status == 0


def test_a_line_end_in_a_file_name_makes_it_no_message(root: Path) -> None:
    plant(root / "dev" / "0001-alice-m.md", message_file(1))
    run(["read", "dev", "--as", "bob"], root)
    plant(root / "dev" / "0001-carol-x\n0001-alice-m.md", message_file(1, sender="carol"))
    assert "late" not in run(["read", "dev", "--as", "bob", "--json"], root).json
    (finding,) = run(["doctor", "--json"], root).json["findings"]
    assert finding["id"] == "file.foreign"


def test_numbers_that_cannot_be_read_now_are_neither_hidden_nor_given_again(root: Path) -> None:
    plant(root / "dev" / "5000-x-m.md", message_file(5000, sender="x"))
    clock = FakeClock()

    class Unreadable(FileSystem):
        def read_file(self, path: str, limit: int) -> bytes:
            if path.endswith("-m.md"):
                raise PermissionError(13, "Permission denied", path)
            return super().read_file(path, limit)

    workspace = workspace_on(root, clock=clock, files=Unreadable(str(root), clock))
    assert run(["read", "dev", "--as", "bob"], root, workspace=workspace).status == 2
    assert (
        run(["post", "dev", "--from", "alice", "--title", "x", "--json"], root, workspace=workspace).json["seq"] == 5001
    )
