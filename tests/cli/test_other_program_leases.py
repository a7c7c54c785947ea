"""Tasks, claims, path locks and interrupted changes of agent-chat-plugin 0.7: read, gone on with, and settled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli import foreign, leasing
from tests.support import schemas
from tests.support.cli import Result, plant, run, tree_of
from tests.tidy.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FIXTURES = ROOT / "tests" / "fixtures" / "other-program"
LEASE_MARKER, LOCK_MARKER = "claims/.lease-transaction.json", "locks/.path-lock-transaction.json"
TASK, CLAIM, LOCK = "tasks/T-1.json", "claims/T-1.bob.json", f"locks/{foreign.LOCK_ID}.json"
CLAIMED = {TASK: foreign.task("dev", "T-1", owner="bob"), CLAIM: foreign.claim("dev", "T-1")}
LOCKED = {LOCK: foreign.lock("dev", "src/a.py", "docs/")}
# Its messages about the two, which carry the id of the transaction in their bodies.
TOLD_OF_CLAIM = {
    "0002-bob-lease-claimed-t-1.md": foreign.audit_message("dev", 2, "lease.claimed", "T-1", {"task_id": "T-1"})
}
TOLD_OF_LOCK = {"0002-bob-path-locked.md": foreign.audit_message("dev", 2, "path.locked", foreign.LOCK_ID, {})}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a channel of that program's, in which alice made a task."""
    root = tmp_path / "root"
    meta = {"channel": "dev", "members": ["alice", "bob"], "topic": "t", "created": foreign.AT}
    fill(root, {"_meta.json": json.dumps(meta), TASK: foreign.task("dev", "T-1"), "_tasks.lock": ""})
    (root / ".gitignore").write_text("", "utf-8")
    return root


def fill(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        plant(root / "dev" / name, text)


def records(root: Path) -> dict[str, str]:
    """The records and markers of the channel."""
    found = (path for folder in ("tasks", "claims", "locks") for path in (root / "dev" / folder).glob("*"))
    return {path.relative_to(root / "dev").as_posix(): path.read_text("utf-8") for path in found if path.is_file()}


def call(root: Path, *argv: str) -> Result:
    return run(argv, root, environment=leasing.tree_beside(root))


def reply(root: Path, *argv: str) -> dict[str, Any]:
    """The document that a call answers with; it keeps to the schema, whoever wrote the records."""
    result = call(root, *argv, "--json")
    schemas.check_reply(schemas.command_in(argv), result.json)
    return result.json


# -- records -----------------------------------------------------------------------------------------------------------


def test_looking_shows_everything_and_changes_nothing(root: Path) -> None:
    fill(root, {**CLAIMED, **LOCKED, "tasks/T-2.json": foreign.task("dev", "T-2", depends_on=["T-1"])})
    before = tree_of(root)
    one, two = reply(root, "task", "list", "dev")["tasks"]
    assert (one["id"], one["status"], one["owner"], one["ready"]) == ("T-1", "in_progress", "bob", True)
    assert two["waiting_for"] == [{"id": "T-1", "status": "in_progress"}]
    assert [task["id"] for task in reply(root, "task", "ready", "dev")["tasks"]] == ["T-1"]
    claim = reply(root, "task", "show", "dev", "t-1")["claim"]
    assert (claim["owner"], claim["lease_expires_at"], claim["fence"]) == ("bob", "2025-05-06T07:54:12+00:00", None)
    (lock,) = reply(root, "locks", "dev")["locks"]
    assert (lock["lock_id"], lock["owner"], lock["expired"]) == (foreign.LOCK_ID, "bob", True)
    for path, status in (("src/a.py", 1), ("src", 1), ("docs/deep/x.md", 1), ("src/b.py", 0)):
        assert call(root, "check", "dev", path).status == status
    shown = call(root, "task", "show", "dev", "T-1")
    assert shown.stderr == ""
    assert "\nclaim: bob since 2025-05-06T07:49:12+00:00\n" in shown.stdout
    assert tree_of(root) == before


def test_a_lease_of_its_is_recovered_and_becomes_ours(root: Path) -> None:
    fill(root, {**CLAIMED, **LOCKED})
    for argv in (["task", "claim", "dev", "T-1"], ["task", "done", "dev", "T-1"]):
        assert call(root, *argv, "--as", "bob").code == "LEASE_RECOVERY_REQUIRED"
    assert call(root, "unlock", "dev", "src/a.py", "--as", "bob").code == "PATH_LOCK_RECOVERY_REQUIRED"
    why = ("--as", "carol", "--reason", "bob is gone")
    claim = reply(root, "task", "recover", "dev", "T-1", *why)["claim"]
    lock = reply(root, "recover", "dev", "src/a.py", *why)["lock"]
    assert (claim["previous_owner"], claim["fence"]) == ("bob", 1)
    assert (lock["previous_owner"], lock["fence"], lock["lock_id"]) == ("bob", 2, foreign.LOCK_ID)
    there = records(root)
    assert sorted(there) == ["claims/T-1.carol.json", LOCK, TASK]
    for place, name in ((TASK, "task"), ("claims/T-1.carol.json", "claim"), (LOCK, "path-lock")):
        schemas.check(name, json.loads(there[place]))
    assert reply(root, "task", "done", "dev", "T-1", "--as", "carol")["task"]["status"] == "done"
    assert call(root, "unlock", "dev", foreign.LOCK_ID, "--as", "carol").status == 0


def test_a_running_lease_of_its_goes_on(root: Path) -> None:
    late = {name: text.replace("2025-05-06T07:54", "2999-01-01T00:00") for name, text in {**CLAIMED, **LOCKED}.items()}
    early = {name: text.replace("2025-05-06T07:49", "2998-12-31T23:58") for name, text in late.items()}
    fill(root, late)
    # It was granted long ago for a day long hence: some clock was wrong.
    assert "suspect" in call(root, "task", "show", "dev", "T-1").stdout
    fill(root, early)
    assert call(root, "task", "renew", "dev", "T-1", "--as", "carol").code == "LEASE_OWNER_MISMATCH"
    assert reply(root, "task", "renew", "dev", "T-1", "--as", "bob", "--ttl", "60")["claim"]["owner"] == "bob"
    assert call(root, "task", "claim", "dev", "T-1", "--as", "carol").code == "LEASE_CONFLICT"
    assert reply(root, "task", "release", "dev", "T-1", "--as", "bob")["task"]["owner"] is None
    assert reply(root, "renew-lock", "dev", "docs", "--as", "bob", "--ttl", "60")["lock"]["owner"] == "bob"
    assert call(root, "unlock", "dev", "docs", "--as", "bob").status == 0
    assert sorted(records(root)) == [TASK]


def test_a_task_of_its_is_claimed_and_done(root: Path) -> None:
    taken = reply(root, "task", "claim", "dev", "t-1", "--as", "bob")
    assert (taken["seq"], taken["task"]["id"], taken["task"]["created_by"]) == (1, "T-1", "alice")
    assert sorted(records(root)) == [CLAIM, TASK]
    assert reply(root, "task", "done", "dev", "T-1", "--as", "bob")["task"]["status"] == "done"
    assert sorted(records(root)) == [TASK]


def test_an_owner_with_dots_in_its_name_has_one_claim_under_either_file_name(root: Path) -> None:
    owned = {
        TASK: foreign.task("dev", "T-1", owner="b.o.b"),
        "claims/T-1.b.o.b.json": foreign.claim("dev", "T-1", "b.o.b"),
    }
    fill(root, owned)
    assert reply(root, "task", "show", "dev", "T-1")["claim"]["owner"] == "b.o.b"
    reply(root, "task", "recover", "dev", "T-1", "--as", "b.o.b", "--reason", "I am back")
    assert sorted(records(root)) == ["claims/T-1.b%2Eo%2Eb.json", TASK]


def test_a_claim_without_a_file_is_one_all_the_same(root: Path) -> None:
    fill(root, {TASK: CLAIMED[TASK]})
    assert call(root, "task", "claim", "dev", "T-1", "--as", "carol").code == "LEASE_RECOVERY_REQUIRED"
    assert call(root, "task", "recover", "dev", "T-1", "--as", "carol", "--reason", "r").status == 0


def test_the_channel_of_the_fixtures_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for path in (FIXTURES / "garden").rglob("*"):
        if path.is_file():
            plant(root / "garden" / path.relative_to(FIXTURES / "garden"), path.read_bytes())
    assert "BED-1 in_progress, ben, ran out" in call(root, "task", "list", "garden").stdout
    assert "plan.txt: ben, lock 0f1e2d3c" in call(root, "check", "garden", "plan.txt").stdout
    for argv in (["task", "recover", "garden", "BED-1"], ["recover", "garden", "plan.txt"]):
        assert call(root, *argv, "--as", "ada", "--reason", "ben went home").status == 0
    assert call(root, "doctor", "garden").stdout.count("error") == 0


# -- interrupted changes -----------------------------------------------------------------------------------------------


def lease_marker(phase: str, version: int = 2) -> dict[str, str]:
    return {LEASE_MARKER: foreign.lease_marker("dev", "T-1", version=version, phase=phase)}


LEASE_STATES: dict[str, tuple[dict[str, str], str]] = {
    "prepared": (lease_marker("prepared"), "undone"),
    "prepared, the task written": ({**lease_marker("prepared"), TASK: CLAIMED[TASK]}, "undone"),
    "prepared, all written": ({**lease_marker("prepared"), **CLAIMED}, "undone"),
    "applied": ({**lease_marker("applied"), **CLAIMED}, "undone"),
    "applied, announced": ({**lease_marker("applied"), **CLAIMED, **TOLD_OF_CLAIM}, "finished"),
    "published": ({**lease_marker("published"), **CLAIMED, **TOLD_OF_CLAIM}, "finished"),
    "version 1, prepared": ({**lease_marker("prepared", 1), **CLAIMED}, "undone"),
    "version 1, published": ({**lease_marker("published", 1), **CLAIMED, **TOLD_OF_CLAIM}, "finished"),
}


@pytest.mark.parametrize("state", LEASE_STATES)
def test_an_interrupted_change_of_a_task_is_shown_as_it_will_be_and_settled(root: Path, state: str) -> None:
    files, outcome = LEASE_STATES[state]
    fill(root, files)
    done = outcome == "finished"
    before = records(root)
    for argv in (["task", "claim", "dev", "T-1"], ["task", "create", "dev", "T-2", "--title", "t"]):
        refused = call(root, *argv, "--as", "carol")
        assert refused.code == "LEASE_TRANSACTION_PENDING"
        assert "agent-chat task recover-pending dev --as carol" in refused.stderr
    (task,) = reply(root, "task", "list", "dev")["tasks"]
    assert (task["status"], task["ready"], task["pending"]) == ("in_progress" if done else "open", False, True)
    assert call(root, "post", "dev", "--from", "alice", "--title", "hello").status == 0
    assert call(root, "lock", "dev", "b.py", "--as", "alice").status == 0
    assert before.items() <= records(root).items()
    assert reply(root, "task", "recover-pending", "dev", "--as", "carol")["outcome"] == outcome
    settled = {name: text for name, text in records(root).items() if not name.startswith("locks/")}
    assert settled == (CLAIMED if done else {TASK: foreign.task("dev", "T-1")})
    assert reply(root, "task", "recover-pending", "dev", "--as", "carol")["outcome"] == "nothing pending"
    assert call(root, "task", "create", "dev", "T-2", "--title", "t", "--as", "carol").status == 0


@pytest.mark.parametrize(("how", "outcome"), [("rollback", "undone"), ("published", "finished")])
def test_what_cannot_be_proved_is_left_until_somebody_has_looked(root: Path, how: str, outcome: str) -> None:
    fill(root, {**lease_marker("applied", 1), **CLAIMED})
    before = tree_of(root)
    result = call(root, "task", "recover-pending", "dev", "--as", "carol")
    assert result.code == "LEASE_TRANSACTION_PUBLICATION_UNKNOWN"
    assert {name: data for name, data in tree_of(root).items() if not name.endswith(".lock")} == {
        name: data for name, data in before.items() if not name.endswith(".lock")
    }
    assert reply(root, "task", "list", "dev")["tasks"][0]["ready"] is False
    settled = reply(root, "task", "recover-pending", "dev", "--as", "carol", "--resolve-publication", how)
    assert settled["outcome"] == outcome
    assert records(root) == (CLAIMED if outcome == "finished" else {TASK: foreign.task("dev", "T-1")})
    again = call(root, "task", "recover-pending", "dev", "--as", "carol", "--resolve-publication", how)
    assert again.code == "LEASE_TRANSACTION_NOT_FOUND"


def test_a_resolution_does_not_go_against_what_is_proved(root: Path) -> None:
    fill(root, {**lease_marker("applied"), **CLAIMED})
    settle = ("task", "recover-pending", "dev", "--as", "carol", "--resolve-publication", "published")
    assert reply(root, *settle)["outcome"] == "undone"
    fill(root, {**lease_marker("applied"), **CLAIMED, **TOLD_OF_CLAIM})
    assert reply(root, *settle[:-1], "rollback")["outcome"] == "finished"


def lock_marker(phase: str) -> dict[str, str]:
    return {LOCK_MARKER: foreign.lock_marker("dev", "src/a.py", "docs/", phase=phase)}


LOCK_STATES: dict[str, tuple[dict[str, str], str]] = {
    "prepared": (lock_marker("prepared"), "undone"),
    "prepared, written": ({**lock_marker("prepared"), **LOCKED}, "undone"),
    "applied": ({**lock_marker("applied"), **LOCKED}, "undone"),
    "applied, announced": ({**lock_marker("applied"), **LOCKED, **TOLD_OF_LOCK}, "finished"),
    "published": ({**lock_marker("published"), **LOCKED, **TOLD_OF_LOCK}, "finished"),
}


@pytest.mark.parametrize("state", LOCK_STATES)
def test_an_interrupted_change_of_a_lock_holds_its_paths_and_is_settled(root: Path, state: str) -> None:
    files, outcome = LOCK_STATES[state]
    fill(root, files)
    done = outcome == "finished"
    for path in ("src/a.py", "docs/x.md"):
        (conflict,) = reply(root, "check", "dev", path)["conflicts"]
        assert conflict["pending"] is True
    assert len(reply(root, "locks", "dev")["locks"]) == done
    refused = call(root, "lock", "dev", "b.py", "--as", "carol")
    assert refused.code == "PATH_LOCK_TRANSACTION_PENDING"
    assert "agent-chat recover-pending dev --as carol" in refused.stderr
    assert call(root, "task", "claim", "dev", "T-1", "--as", "carol").status == 0
    settled = reply(root, "recover-pending", "dev", "--as", "carol")
    assert (settled["outcome"], settled["transaction"]) == (outcome, foreign.TRANSACTION)
    found = {name: text for name, text in records(root).items() if name.startswith("locks/")}
    assert found == (LOCKED if done else {})
    assert call(root, "lock", "dev", "b.py", "--as", "carol").status == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (LEASE_MARKER, "{"),
        (LEASE_MARKER, lease_marker("prepared")[LEASE_MARKER].replace('"version": 2', '"version": 3')),
        (LEASE_MARKER, lease_marker("prepared")[LEASE_MARKER].replace("T-1.bob.json", "../T-1.bob.json")),
        (LEASE_MARKER, lease_marker("cleaned")[LEASE_MARKER]),
        (LOCK_MARKER, "{}"),
        (LOCK_MARKER, lock_marker("prepared")[LOCK_MARKER].replace('"before": null', '"before": "%"')),
    ],
    ids=["no JSON", "version 3", "another folder", "no phase", "no fields", "no base64"],
)
def test_a_damaged_marker_is_refused_then_kept_as_it_is(root: Path, name: str, text: str) -> None:
    fill(root, {**CLAIMED, **LOCKED, name: text})
    words = ["task", "recover-pending"] if name == LEASE_MARKER else ["recover-pending"]
    before = records(root)
    assert call(root, *words, "dev", "--as", "carol").code.endswith("_TRANSACTION_INVALID")
    assert records(root) == before
    kept = reply(root, *words, "dev", "--as", "carol", "--keep")
    assert kept["outcome"] == "kept"
    assert records(root) == {place: data for place, data in before.items() if place != name}
    (filed,) = (root / "dev").glob("*/audit/*kept*")
    assert filed.read_text("utf-8") == text
    assert call(root, *words, "dev", "--as", "carol").stdout == "nothing pending\n"


def test_a_file_that_somebody_changed_since_is_not_overwritten(root: Path) -> None:
    fill(root, {**lease_marker("applied"), **CLAIMED, TASK: foreign.task("dev", "T-1", owner="dora")})
    before = records(root)
    assert call(root, "task", "recover-pending", "dev", "--as", "carol").code == "LEASE_TRANSACTION_INVALID"
    assert records(root) == before
