"""The run of retention that follows other commands: one an hour, of one batch, and never in anybody's way."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import retention
from agent_chat.storage import layout
from agent_chat.storage.file_lock import FileLock
from tests.operations.keeping_room import DAY, DAYS, KeepingRoom
from tests.operations.room import refused
from tests.support.cli import FaultyFiles, Result, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

POST = ("post", "dev", "--from", "carol", "--title", "t")


@pytest.fixture
def kept(tmp_path: Path) -> KeepingRoom:
    return KeepingRoom(tmp_path)


def test_a_run_an_hour_of_one_batch(kept: KeepingRoom) -> None:
    for seq in range(1, retention.BATCH + 3):
        kept.sent(seq, DAYS + 1)
    first = kept.hourly()
    assert first is not None
    assert len(first.removed) == retention.BATCH
    kept.clock.turn(retention.HOUR_SECONDS - 1)
    assert kept.hourly() is None
    kept.clock.turn(1)
    second = kept.hourly()
    assert second is not None
    assert len(second.removed) == 2


def test_a_run_in_the_future_was_none(kept: KeepingRoom) -> None:
    assert kept.hourly() is not None
    kept.clock.turn(-10 * DAY)
    assert kept.hourly() is not None


def test_a_busy_channel_is_left_for_later(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    lock = FileLock(kept.workspace.files, kept.channel.layout.lock, kept.clock)
    assert lock.acquire(0)
    before = kept.clock.now()
    assert kept.hourly() is None
    assert kept.clock.now() - before < 1
    lock.release()
    assert kept.hourly() is not None


def test_the_hourly_run_ends_where_all_is_young(kept: KeepingRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PATIENCE", 3)
    kept.sent(1, DAYS + 1)
    for seq in (2, 3, 4):
        kept.sent(seq, 1)
    kept.sent(5, DAYS + 1)
    pruned = kept.hourly()
    assert pruned is not None
    assert pruned.removed == (1,)
    assert kept.gone() == [5]


def test_without_a_term_it_is_refused(kept: KeepingRoom) -> None:
    plant(kept.root / "_owner.json", '{"schema_version": 1}')
    refused("RETENTION_OFF", lambda: retention.term_of(kept.workspace))
    assert layout.TOMBSTONES not in kept.names()


# -- after commands ----------------------------------------------------------------------------------------------------


def typed(kept: KeepingRoom, *words: str) -> Result:
    return run(words, kept.root, workspace=kept.workspace)


@pytest.mark.parametrize(
    "words",
    [
        POST,
        ("read", "dev", "--as", "bob"),
        ("read", "dev", "--as", "bob", "--json"),
        ("ack", "dev", "1", "--as", "bob"),
        ("wait", "dev", "--as", "bob", "--timeout", "0"),
        ("join", "dev", "--as", "dora"),
        ("task", "create", "dev", "t-1", "--from", "bob", "--title", "t"),
    ],
)
def test_a_command_that_changes_something_is_followed_by_it(kept: KeepingRoom, words: tuple[str, ...]) -> None:
    kept.sent(1, 3 * DAYS)
    done = typed(kept, *words)
    assert (done.status, done.stderr) == (0, "")
    assert 1 not in kept.there()


@pytest.mark.parametrize(
    "words",
    [
        ("peek", "dev"),
        ("show", "dev", "1"),
        ("inbox", "--as", "bob"),
        ("channels",),
        ("hook", "session-start", "--host", "claude"),
        ("prune", "dev", "--dry-run"),
        ("post", "dev", "--from", "bob", "--title", "t", "--reply", "77"),
        ("init", "ops"),
    ],
)
def test_others_are_not(kept: KeepingRoom, words: tuple[str, ...]) -> None:
    kept.sent(1, 3 * DAYS)
    typed(kept, *words)
    assert kept.there() == [1]


def test_it_works_while_chat_is_off(kept: KeepingRoom) -> None:
    plant(kept.root / "_owner.json", '{"schema_version": 1, "retention_days": 14, "access": "off"}')
    kept.sent(1, 3 * DAYS)
    kept.sent(2, 3 * DAYS)
    assert typed(kept, *POST).code == "ACCESS_DISABLED"
    assert kept.there() == [1, 2]
    assert typed(kept, "ack", "dev", "2", "--as", "bob").status == 0
    assert kept.there() == []
    kept.sent(3, 3 * DAYS)
    assert typed(kept, "prune").stdout == "dev: 1 removed\n"


def test_without_a_term_it_costs_one_look(kept: KeepingRoom) -> None:
    kept.sent(1, 3 * DAYS)
    (kept.root / "_owner.json").unlink()
    files = FaultyFiles(str(kept.root), kept.clock)
    run(["ack", "dev", "1", "--as", "bob"], kept.root, workspace=workspace_on(kept.root, clock=kept.clock, files=files))
    assert files.calls[-1] == "status _owner.json"
    assert files.calls.count("status _owner.json") == 1
    assert kept.there() == [1]


def test_each_channel_that_was_named_has_its_turn(kept: KeepingRoom) -> None:
    run(["init", "ops"], kept.root, workspace=kept.workspace)
    kept.clock.turn(2 * retention.HOUR_SECONDS)
    kept.sent(1, 3 * DAYS)
    (kept.root / "ops" / "0001-alice-m.md").write_bytes((kept.folder / "0001-alice-m.md").read_bytes())
    typed(kept, "wait", "dev", "ops", "--as", "bob", "--timeout", "0")
    assert kept.there() == []
    assert not (kept.root / "ops" / "0001-alice-m.md").exists()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_failure_is_one_warning_and_nothing_else(kept: KeepingRoom, form: list[str]) -> None:
    kept.sent(1, 3 * DAYS)
    healthy = typed(kept, "ack", "dev", "1", "--as", "bob", *form)
    kept.sent(1, 3 * DAYS)
    kept.clock.turn(2 * retention.HOUR_SECONDS)
    files = FaultyFiles(str(kept.root), kept.clock, at=1, code=errno.ENOSPC, only=("append",), where=layout.TOMBSTONES)
    plant(kept.folder / layout.TOMBSTONES, "")
    done = run(
        ["ack", "dev", "1", "--as", "bob", *form],
        kept.root,
        workspace=workspace_on(kept.root, clock=kept.clock, files=files),
    )
    assert files.fired
    assert (done.status, done.stdout.count("\n")) == (healthy.status, healthy.stdout.count("\n"))
    (line,) = done.stderr.splitlines()
    assert line.startswith("agent-chat: warning: not all messages of dev that are due were removed: ")
    assert kept.there() == [1]


def test_damaged_settings_are_a_warning_to_who_may_still_work(kept: KeepingRoom) -> None:
    plant(kept.root / "_owner.json", "{")
    done = typed(kept, "join", "dev", "--as", "dora")
    assert done.status == 0
    assert done.stderr.startswith("agent-chat: warning: ")


# -- the command -------------------------------------------------------------------------------------------------------


def test_all_channels_are_pruned_and_a_failure_hides_none(kept: KeepingRoom) -> None:
    for name in ("ops", "web"):
        run(["init", name], kept.root, workspace=kept.workspace)
        path = kept.sent(1, 3 * DAYS)
        (kept.root / name / "0001-alice-m.md").write_bytes(path.read_bytes())
    plant(kept.root / "ops" / "tasks" / "audit" / ".pending.md", "x")
    done = typed(kept, "prune", "--json")
    assert (done.status, done.code) == (2, "LEASE_TRANSACTION_PENDING")
    assert done.json["removed"] == [{"channel": "dev", "seq": 1}, {"channel": "web", "seq": 1}]


def test_git_is_named_where_its_history_keeps_the_text(kept: KeepingRoom) -> None:
    kept.sent(1, 3 * DAYS)
    assert typed(kept, "prune", "--json", "--dry-run").json["git_history"] is False
    (kept.root / ".git").mkdir()
    assert typed(kept, "prune", "--json", "--dry-run").json["git_history"] is True
    assert typed(kept, "prune").stdout.endswith("git keeps their text in its history: the root lies in a work tree\n")


def test_what_is_kept_is_told_with_its_reason(kept: KeepingRoom) -> None:
    kept.sent(1, DAYS + 1)
    kept.sent(2, DAYS + 1)
    kept.seen("bob", 1)
    assert typed(kept, "prune").stdout == "dev: 0 removed\n  kept: 2 unread by bob\n"
    reply = typed(kept, "prune", "dev", "--json").json
    assert reply["kept"] == [{"channel": "dev", "seq": seq, "reason": "unread by bob"} for seq in (1, 2)]
    assert (reply["removed"], reply["dry_run"]) == ([], False)


def test_nothing_is_due(kept: KeepingRoom) -> None:
    kept.sent(1, 1)
    assert typed(kept, "prune").stdout == "nothing is due\n"
