"""What the commands on tasks, claims and path locks answer with --json, in states of all kinds, by their schemas."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli import leasing
from tests.cli.json_calls import CALLS, answer, make_root
from tests.support.cli import plant

if TYPE_CHECKING:
    from pathlib import Path

CLAIM, LOCK = CALLS["task claim"], CALLS["lock"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root")


# -- tasks and claims --------------------------------------------------------------------------------------------------


def test_a_task_that_is_so_already_is_answered_without_a_message(root: Path) -> None:
    answer(root, *CLAIM)
    for words in ("done", "block", "release", "cancel"):
        (root / "work" / "tasks" / "t-2.json").unlink(missing_ok=True)
        answer(root, *CALLS["task create"][:6], "--title", "t")
        call = ("task", words, "work", "t-2", "--as", "alice")
        if words == "done":
            answer(root, "task", "update", "work", "t-2", "--as", "alice", "--status", "in_progress")
        first, second = answer(root, *call), answer(root, *call)
        assert (first["seq"] is None) is (words == "release"), "an open task is released already"
        assert (second["seq"], second["task"]) == (None, first["task"])
    same = answer(root, "task", "update", "work", "t-1", "--as", "bob", "--title", "t")
    assert (same["seq"], same["task"]["title"]) == (None, "t")


def test_a_claim_and_what_becomes_of_it(root: Path) -> None:
    taken = answer(root, *CLAIM, "--lease-seconds", "90")
    assert taken["claim"]["fence"] == taken["seq"]
    assert (taken["claim"]["owner"], taken["claim"]["lease_seconds"]) == ("bob", 90)
    assert (taken["task"]["status"], taken["task"]["owner"]) == ("in_progress", "bob")
    assert taken["task"]["lease_expires_at"] == taken["claim"]["lease_expires_at"]
    renewed = answer(root, *CALLS["task renew"])
    assert (renewed["claim"]["fence"], renewed["claim"]["lease_seconds"]) == (taken["seq"], 0.5)
    blocked = answer(root, *CALLS["task block"])
    assert answer(root, *CALLS["task show"])["claim"] == renewed["claim"]
    assert blocked["task"]["status"] == "blocked"
    done = answer(root, *CALLS["task release"])
    assert (done["task"]["status"], done["task"]["owner"], done["task"]["lease_expires_at"]) == ("open", None, None)
    assert answer(root, *CALLS["task show"])["claim"] is None


def test_a_recovery_says_from_whom_and_why(root: Path) -> None:
    leasing.call(root, *CLAIM)
    claim = answer(root, *CALLS["task recover"])["claim"]
    assert (claim["owner"], claim["previous_owner"], claim["recovery_reason"]) == ("carol", "bob", "bob is gone")
    assert claim["previous_lease_expires_at"] == "2026-01-02T03:09:05+00:00"


def test_lists_say_what_is_ready_and_what_it_waits_for(root: Path) -> None:
    answer(root, *CALLS["task create"])
    answer(root, "task", "create", "work", "t-3", "--from", "alice", "--title", "t", "--depends-on", "t-2,t-1")
    (root / "work" / "tasks" / "t-2.json").rename(root / "t-2.json")
    one, three = answer(root, *CALLS["task list"])["tasks"]
    assert (one["id"], one["ready"], one["waiting_for"]) == ("t-1", True, [])
    assert three["waiting_for"] == [{"id": "t-2", "status": "missing"}, {"id": "t-1", "status": "open"}]
    assert [task["id"] for task in answer(root, *CALLS["task ready"])["tasks"]] == ["t-1"]
    error = answer(root, "task", "claim", "work", "t-3", "--as", "bob", expect=2)["error"]
    assert (error["code"], error["waiting_for"]) == ("TASK_DEPENDENCY_NOT_READY", three["waiting_for"])


def test_a_damaged_record_stops_no_other(root: Path) -> None:
    answer(root, *CALLS["task create"])
    plant(root / "work" / "tasks" / "bad.json", "{")
    plant(root / "work" / "tasks" / "new.json", '{"schema_version": 9}')
    plant(root / "work" / "claims" / "t-2.bob.json", "{")
    reply = answer(root, *CALLS["task list"])
    assert [task["id"] for task in reply["tasks"]] == ["t-1", "t-2"]
    assert sorted(warning.partition(":")[0] for warning in reply["warnings"]) == [
        "LEASE_INVALID_RECORD",
        "RECORD_VERSION",
        "TASK_INVALID_RECORD",
    ]
    shown = answer(root, "task", "show", "work", "t-2")
    assert (shown["claim"], shown["ready"], len(shown["warnings"])) == (None, False, 1)
    assert answer(root, "task", "show", "work", "bad", expect=2)["error"]["code"] == "TASK_INVALID_RECORD"


# -- path locks --------------------------------------------------------------------------------------------------------


def test_a_conflict_is_a_negative_answer_with_the_records(root: Path) -> None:
    lock = answer(root, *LOCK)["lock"]
    assert (lock["reason"], lock["fence"]) == ("tidying", 2)
    assert lock["paths"] == [
        {"display_path": "src/a.py", "kind": "file", "normalized_path": "src/a.py"},
        {"display_path": "docs/", "kind": "directory", "normalized_path": "docs"},
    ]
    (conflict,) = answer(root, "check", "work", "docs/x.md", "free", expect=1)["conflicts"]
    assert conflict == {**lock, "expired": False}
    assert answer(root, "check", "work", "docs/x.md", "--as", "bob")["conflicts"] == []
    assert answer(root, *CALLS["locks"])["locks"] == [conflict]
    error = answer(root, "lock", "work", "free", "src", "--as", "carol", expect=2)["error"]
    assert (error["code"], error["conflicts"]) == ("PATH_LOCK_CONFLICT", [conflict])
    again = answer(root, "lock", "work", "docs/x.md", "--as", "bob", "--lease-seconds", "60")
    assert (again["lock"]["lock_id"], again["lock"]["lease_seconds"]) == (lock["lock_id"], 300)
    assert answer(root, *CALLS["unlock"])["lock"] == again["lock"]
    assert answer(root, *CALLS["locks"])["locks"] == []


def test_a_lock_that_ran_out_is_in_the_way_and_says_so(root: Path) -> None:
    leasing.call(root, *LOCK)
    (conflict,) = answer(root, "check", "work", "src", expect=1)["conflicts"]
    assert conflict["expired"] is True
    lock = answer(root, *CALLS["recover"])["lock"]
    assert (lock["owner"], lock["previous_owner"], lock["recovery_reason"]) == ("carol", "bob", "bob is gone")
    assert (lock["lock_id"], lock["previous_expires_at"]) == (conflict["lock_id"], conflict["expires_at"])


def test_of_a_damaged_lock_what_can_be_read_is_shown(root: Path) -> None:
    lock = answer(root, *LOCK)["lock"]
    path = root / "work" / "locks" / f"{lock['lock_id']}.json"
    plant(path, path.read_text("utf-8").replace('"bob"', '"b b"'))
    plant(path.with_name("0123456789abcdef.json"), "{")
    reply = answer(root, "check", "work", "src/a.py", "--as", "bob", expect=1)
    (conflict,) = reply["conflicts"]
    assert (conflict["owner"], conflict["paths"], conflict["expired"]) == (None, lock["paths"], False)
    untold = "work/locks/0123456789abcdef.json is damaged, and nothing tells what it holds; see doctor work"
    assert reply["warnings"] == [untold, conflict["damaged"]]
    assert len(answer(root, *CALLS["locks"])["locks"]) == 2


# -- what is pending ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "outcome"),
    [(leasing.UNANNOUNCED, "undone"), (leasing.ANNOUNCED, "finished"), (leasing.UNFILED, "finished")],
)
def test_what_is_pending_is_shown_as_it_will_be_and_settled(root: Path, where: int, outcome: str) -> None:
    done = outcome == "finished"
    leasing.killed(root, where, *CLAIM)
    leasing.killed(root, where, *LOCK)
    for name in ("task list", "task ready", "task show", "locks"):
        assert len(answer(root, *CALLS[name])["warnings"]) == 1
    (task,) = answer(root, *CALLS["task list"])["tasks"]
    assert (task["pending"], task["ready"], task["status"]) == (True, False, "in_progress" if done else "open")
    assert answer(root, *CALLS["task show"])["pending"] is True
    (conflict,) = answer(root, "check", "work", "src", expect=1)["conflicts"]
    assert conflict["pending"] is True
    assert len(answer(root, *CALLS["locks"])["locks"]) == done
    for name in ("task create", "task claim", "lock"):
        assert answer(root, *CALLS[name], expect=2)["error"]["code"].endswith("_TRANSACTION_PENDING")
    for name in ("task recover-pending", "recover-pending"):
        first, second = answer(root, *CALLS[name]), answer(root, *CALLS[name])
        assert (first["outcome"], second["outcome"], second["transaction"]) == (outcome, "nothing pending", None)
        assert first["transaction"]
    (task,) = answer(root, *CALLS["task list"])["tasks"]
    assert ("pending" in task, task["status"]) == (False, "in_progress" if done else "open")
    assert len(answer(root, *CALLS["locks"])["locks"]) == done


def test_a_damaged_entry_is_kept_and_told_of(root: Path) -> None:
    for name, folder in (("task recover-pending", "tasks"), ("recover-pending", "locks")):
        plant(root / "work" / folder / "audit" / ".pending.md", "x")
        assert answer(root, *CALLS[name], expect=2)["error"]["code"].endswith("_TRANSACTION_INVALID")
        kept = answer(root, *CALLS[name], "--keep")
        assert (kept["outcome"], kept["transaction"]) == ("kept", f"damaged-{0x8CDC1683:08x}")
        body = answer(root, "show", "work", str(kept["seq"]))["message"]["body"]
        assert json.loads(body)["transaction_id"] == kept["transaction"]


# -- wait --------------------------------------------------------------------------------------------------------------


def test_a_wait_for_a_task(root: Path) -> None:
    wait = ("wait", "work", "--as", "carol", "--timeout", "0", "--task", "t-1")
    ready = answer(root, *wait)
    assert (ready["ready"], ready["claim"], ready["messages"], ready["timed_out"]) == (True, None, [], False)
    taken = answer(root, *CLAIM)
    held = answer(root, *wait, expect=1)
    assert (held["claim"], held["task"], held["timed_out"]) == (taken["claim"], taken["task"], True)
    answer(root, *CALLS["task done"])
    assert answer(root, *wait)["task"]["status"] == "done"
    assert answer(root, *wait[:-1], "t-9", expect=2)["error"]["code"] == "TASK_NOT_FOUND"


def test_a_wait_for_a_path(root: Path) -> None:
    wait = ("wait", "work", "--as", "carol", "--timeout", "0", "--path", "docs/x.md")
    free = answer(root, *wait)
    assert (free["path"], free["conflicts"], free["timed_out"]) == ("docs/x.md", [], False)
    lock = answer(root, *LOCK)["lock"]
    held = answer(root, *wait, expect=1)
    assert (held["conflicts"], held["timed_out"]) == ([{**lock, "expired": False}], True)
    assert answer(root, *wait[:3], "bob", *wait[4:])["conflicts"] == []


@pytest.mark.parametrize(
    "more", [("--task", "t", "--path", "p"), ("--task", "t", "--after", "1"), ("dev", "--path", "p")]
)
def test_a_wait_for_a_task_or_a_path_is_for_that_alone(root: Path, more: tuple[str, ...]) -> None:
    assert answer(root, "wait", "work", *more, "--as", "bob", expect=2)["error"]["code"] == "USAGE"


# -- the work tree of a channel ----------------------------------------------------------------------------------------


def test_a_channel_may_record_its_work_tree(root: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    answer(root, "init", "lib", "--workspace", str(tmp_path / "project"))
    meta = json.loads((root / "lib" / "_meta.json").read_text("utf-8"))
    assert meta["workspace"] == str(tmp_path / "project")
    shutil.rmtree(tmp_path / "project")
    error = answer(root, "init", "none", "--workspace", str(tmp_path / "project"), expect=2)["error"]
    assert error["code"] == "PATH_LOCK_INVALID_PATH"
    assert not (root / "none").exists()
