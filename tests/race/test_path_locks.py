"""Many processes at overlapping paths: no file is ever held by two, as the audit messages tell it in their order."""

from __future__ import annotations

import contextlib
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.race.test_claims import at_once
from tests.support.processes import Worker
from tests.support.roots import Root, make_root

if TYPE_CHECKING:
    from pathlib import Path

PATHS = ("src/", "src/app/", "src/app/main.py", "src/app/api.py", "src/lib.py", "docs/", "docs/a.md", "src.py")


def bodies(root: Root) -> list[dict[str, Any]]:
    """Returns what the audit messages of locks tell, in order."""
    found: list[dict[str, Any]] = []
    for path in sorted((root.path / "dev").glob("*-path-*.md")):
        found.append(json.loads(path.read_text().split("---\n", 2)[2]))
    return found


def meet(one: str, other: str) -> bool:
    """Tells whether two paths mean one file."""
    a, b = one.split("/"), other.split("/")
    return a[: len(b)] == b[: len(a)]


def replay(root: Root) -> int:
    """Replays the locks as they were granted and given back; returns how many were granted."""
    held: dict[str, tuple[str, list[str]]] = {}
    granted = 0
    for body in bodies(root):
        paths = [path["normalized_path"] for path in body["paths"]]
        if body["event"] == "path.lock.unlocked":
            assert held.pop(body["lock_id"])[0] == body["owner"]
            continue
        assert body["event"] in ("path.locked", "path.lock.renewed")
        for lock, (owner, others) in held.items():
            if owner != body["owner"]:
                assert not any(meet(one, other) for one in paths for other in others), (body, lock)
        granted += body["event"] == "path.locked"
        held[body["lock_id"]] = (body["owner"], paths)
    assert {path.stem for path in (root.path / "dev" / "locks").glob("*.json")} == set(held)
    return granted


def contend(root: Root, agents: int, rounds: int) -> None:
    """Lets agents lock and unlock paths at random, all at once, round after round."""
    chance = random.Random(7)
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(root.path)) for _ in range(agents)]
        own: list[list[str]] = [[] for _ in range(agents)]
        for _ in range(rounds):
            calls: list[list[str]] = []
            for agent in range(agents):
                tree = ["--as", f"agent{agent}", "--workspace", str(root.path.parent), "--json"]
                if own[agent] and chance.random() < 0.5:
                    calls.append(["unlock", "dev", own[agent].pop(), *tree])
                else:
                    calls.append(["lock", "dev", *chance.sample(PATHS, 2), *tree])
            for agent, done in enumerate(at_once(workers, calls)):
                if done.status == 0 and calls[agent][0] == "lock":
                    own[agent] = list(dict.fromkeys([*own[agent], done.json["lock"]["lock_id"]]))
                assert done.status == 0 or done.json["error"]["code"] == "PATH_LOCK_CONFLICT", done
    assert replay(root) >= 2
    assert root.doctor("dev") == {}


def test_agents_that_lock_overlapping_folders_at_once_never_hold_one_file_together(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    contend(root, 4, 6)


@pytest.mark.slow
def test_eight_agents_never_hold_one_file_together_for_many_rounds(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    contend(root, 8, 40)


def test_eight_processes_that_lock_what_overlaps_have_one_winner(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    paths = ["src", "src/a", "src/a/b", "src/a/b/c.py", "src/", "src/a/", "src/a/b/", "src/a/b/c.py"]
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(root.path)) for _ in range(8)]
        tree = ("--workspace", str(tmp_path), "--json")
        ended = at_once(workers, [("lock", "dev", path, "--as", f"agent{n}", *tree) for n, path in enumerate(paths)])
    won = [done.json["lock"]["owner"] for done in ended if done.status == 0]
    errors = [done.json["error"] for done in ended if done.status]
    assert len(won) == 1
    assert {(error["code"], error["conflicts"][0]["owner"]) for error in errors} == {("PATH_LOCK_CONFLICT", won[0])}
    assert replay(root) == 1
