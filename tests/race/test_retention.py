"""Retention beside other processes: of many commands at once one removes, and a reader misses nothing that is left."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from agent_chat import timestamps
from agent_chat.records import tombstone
from agent_chat.storage.workspace import Clock
from tests.support.cli import message_file
from tests.support.processes import Done, Worker
from tests.support.roots import make_root

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = 8
DUE = 300
BATCH = 200


def old_channel(root: Path) -> None:
    """Makes a channel with messages that are past a term of a day."""
    make_root(root)
    (root / "_owner.json").write_text('{"schema_version": 1, "retention_days": 1}', "utf-8")
    created = timestamps.format_utc(Clock().now() - 5 * 86_400)
    for seq in range(1, DUE + 1):
        data = message_file(seq, "carol", created=f'"{created}"')
        (root / "dev" / f"{seq:04d}-carol-m.md").write_bytes(data)


@pytest.mark.slow
def test_of_eight_processes_at_once_one_removes_what_is_due(tmp_path: Path) -> None:
    root = tmp_path / "root"
    old_channel(root)
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(root)) for _ in range(PROCESSES)]
        for number, worker in enumerate(workers):
            worker.give("post", "dev", "--from", f"agent{number}", "--title", "t", "--json")
        posts: list[Done] = [worker.take() for worker in workers]
    assert [(done.status, done.err) for done in posts] == [(0, "")] * PROCESSES
    assert sorted(done.json["seq"] for done in posts) == list(range(DUE + 1, DUE + PROCESSES + 1))
    text = (root / "dev" / "tombstones.md").read_text("utf-8")
    assert (text.count("\n## "), text.count("\n- {")) == (1, BATCH)
    assert len(list((root / "dev").glob("0*.md"))) == DUE - BATCH + PROCESSES


@pytest.mark.slow
def test_a_reader_beside_a_prune_is_shown_or_told_each_message(tmp_path: Path) -> None:
    root = tmp_path / "root"
    old_channel(root)
    with Worker(root) as pruner, Worker(root) as reader, Worker(root) as poster:
        pruner.give("prune", "dev", "--json")
        for number in range(20):
            poster.give("post", "dev", "--from", "alice", "--title", str(number), "--json")
        seen: list[int] = []
        lost = 0
        for _ in range(60):
            done = reader.call("read", "dev", "--as", "bob", "--json")
            assert done.status == 0, done
            seen += [message["seq"] for message in done.json["messages"]]
            lost += done.json.get("lost", {"count": 0})["count"]
            assert done.json.get("late", []) == []
            if seen[-1:] == [DUE + 20]:
                break
        assert pruner.take().status == 0
        assert all(poster.take().status == 0 for _ in range(20))
    removed = [each.seq for each in tombstone.parse((root / "dev" / "tombstones.md").read_bytes())[0]]
    assert seen == sorted(set(seen))
    assert sorted(removed) == list(range(1, DUE + 1))  # by the command, or by what followed a post
    assert set(range(1, DUE + 21)) - set(seen) <= set(removed)
    assert lost == DUE + 20 - len(seen)
