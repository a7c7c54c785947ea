"""Many processes at one task, or at many: one winner each, nobody waits for long, and what is shown is never torn."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.operations import tasks
from agent_chat.operations.tasks import TaskChanges
from agent_chat.storage.channel import open_channel
from agent_chat.storage.workspace import Workspace
from tests.support.processes import Cli, Done, Worker
from tests.support.roots import Root, make_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLAIMANTS = 8
CHECKOUT = str(Path(__file__).parents[2])


def at_once(workers: Sequence[Worker], calls: Sequence[Sequence[str]]) -> list[Done]:
    """Gives each worker its call, then waits for all."""
    for worker, call in zip(workers, calls):
        worker.give(*call)
    return [worker.take() for worker in workers]


def make_tasks(root: Root, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes tasks T-0, T-1 … in this process, without the syncs that nobody will need."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        channel = open_channel(Workspace(str(root.path)), "dev")
        for number in range(count):
            tasks.create(channel, "alice", f"T-{number}", TaskChanges(title="what is to be done"))


def claim_rounds(root: Root, rounds: int) -> None:
    """Lets all claimants claim one task after the other, at once."""
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(root.path)) for _ in range(CLAIMANTS)]
        for number in range(rounds):
            names = [f"agent{each}" for each in range(CLAIMANTS)]
            ended = at_once(
                workers, [("task", "claim", "dev", f"T-{number}", "--as", name, "--json") for name in names]
            )
            won = [done for done in ended if done.status == 0]
            lost = [done.json["error"] for done in ended if done.status == 2]
            assert len(won) == 1, ended
            claim = won[0].json["claim"]
            assert claim["fence"] == won[0].json["seq"]
            assert [(error["code"], error["owner"]) for error in lost] == [("LEASE_CONFLICT", claim["owner"])] * 7
            assert all(claim["owner"] in error["message"] for error in lost)
            assert root.must("task", "show", "dev", f"T-{number}", "--json").json["claim"] == claim
    assert len(list((root.path / "dev" / "claims").iterdir())) == rounds
    assert root.doctor("dev") == {}


def test_eight_processes_that_claim_one_task_have_one_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_root(tmp_path / "root")
    make_tasks(root, 4, monkeypatch)
    claim_rounds(root, 4)


@pytest.mark.slow
def test_eight_processes_have_one_winner_in_25_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_root(tmp_path / "root")
    make_tasks(root, 25, monkeypatch)
    claim_rounds(root, 25)


@pytest.mark.slow
def test_forty_processes_claim_forty_of_two_thousand_tasks_and_none_waits_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_root(tmp_path / "root")
    make_tasks(root, 2000, monkeypatch)
    cli = Cli(root.path)
    children = [
        cli.start("task", "claim", "dev", f"T-{number * 50}", "--as", f"agent{number}", "--json")
        for number in range(40)
    ]
    ended = [(child.communicate(timeout=60), child.returncode) for child in children]
    assert [status for _, status in ended] == [0] * 40, ended
    assert len(list((root.path / "dev" / "claims").iterdir())) == 40
    taken = [view for view in root.must("task", "list", "dev", "--json").json["tasks"] if view["owner"] is not None]
    assert {view["id"] for view in taken} == {f"T-{number * 50}" for number in range(40)}


def test_a_renewal_and_a_recovery_at_once_never_both_succeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_root(tmp_path / "root")
    make_tasks(root, 12, monkeypatch)
    outcomes: set[tuple[int, int]] = set()
    with Worker(root.path) as holder, Worker(root.path) as other:
        for number in range(12):
            task = f"T-{number}"
            holder.call("task", "claim", "dev", task, "--as", "alice", "--ttl", "0.08")
            threading.Event().wait(0.074 + number * 0.0005)
            ended = at_once(
                (holder, other),
                (
                    ("task", "renew", "dev", task, "--as", "alice", "--ttl", "60", "--json"),
                    ("task", "recover", "dev", task, "--as", "bob", "--reason", "it lapsed", "--json"),
                ),
            )
            outcomes.add((ended[0].status, ended[1].status))
            owner = root.must("task", "show", "dev", task, "--json").json["claim"]["owner"]
            assert owner == ("bob" if ended[1].status == 0 else "alice")
            codes = {done.json["error"]["code"] for done in ended if done.status}
            assert codes <= {"LEASE_NOT_EXPIRED", "LEASE_RECOVERY_REQUIRED", "LEASE_OWNER_MISMATCH"}
    assert (0, 0) not in outcomes
    assert root.doctor("dev") == {}


def test_a_reader_beside_claimants_is_shown_each_task_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_root(tmp_path / "root")
    make_tasks(root, 6, monkeypatch)
    over = threading.Event()
    shown: list[dict[str, Any]] = []

    def read() -> None:
        with Worker(root.path) as worker:
            while not over.is_set():
                shown.append(worker.call("task", "list", "dev", "--json").json)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with Worker(root.path) as one, Worker(root.path) as other:
            for _ in range(3):
                for verb in ("claim", "release"):
                    for pair in ((0, 1), (2, 3), (4, 5)):
                        calls = [("task", verb, "dev", f"T-{each}", "--as", f"agent{each}") for each in pair]
                        assert [done.status for done in at_once((one, other), calls)] == [0, 0]
    finally:
        over.set()
        reader.join()
    assert len(shown) > 3
    for reply in shown:
        assert [text for text in reply.get("warnings", ()) if "pending" not in text] == []
        assert len(reply["tasks"]) == 6
        for task in reply["tasks"]:
            assert (task["owner"] is None) == (task["status"] == "open") == (task["lease_expires_at"] is None)


def as_user(user: int) -> list[str]:
    """Returns the words before a command that run it as an ordinary user of the group 2001, without root's powers."""
    return [
        "setpriv",
        f"--reuid={user}",
        "--regid=2001",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]


def interpreter_for_all() -> str | None:
    """Returns an interpreter that an ordinary user can run on this checkout, None where there is none."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    for python in (sys.executable, "/usr/bin/python3"):
        probe = [*as_user(1001), python, "-c", "import agent_chat.cli.main"]
        if (
            os.path.exists(python)
            and subprocess.run(probe, cwd=CHECKOUT, capture_output=True, check=False).returncode == 0
        ):
            return python
    return None


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user can reach; those that pytest makes are private."""
    with tempfile.TemporaryDirectory(prefix="agent-chat-users-") as name:
        os.chmod(name, 0o755)
        folder = Path(name, "shared")
        folder.mkdir()
        yield folder


def test_two_users_of_a_shared_root_both_claim_and_lock(shared: Path) -> None:
    """The root belongs to a group that both are in, and is open to it."""
    python = interpreter_for_all()
    if python is None:
        pytest.skip("acting as two users takes root, setpriv, and an interpreter and checkout that all can read")
    os.chown(shared, 1001, 2001)
    shared.chmod(0o2770)

    def run(user: int, *words: str) -> Done:
        cli = Cli(shared, PYTHONPATH=CHECKOUT)
        cli.command = [*as_user(user), python, "-m", "agent_chat"]
        return cli.run(*words, cwd="/")

    assert run(1001, "init", "dev").status == 0
    assert run(1001, "task", "create", "dev", "T-1", "--from", "alice", "--title", "t").status == 0
    assert run(1002, "task", "create", "dev", "T-2", "--from", "bob", "--title", "t").status == 0
    assert run(1002, "task", "claim", "dev", "T-1", "--as", "bob").status == 0
    assert run(1001, "task", "claim", "dev", "T-2", "--as", "alice").status == 0
    assert run(1001, "task", "claim", "dev", "T-1", "--as", "alice").status == 2
    for user, agent, path in ((1001, "alice", "a.py"), (1002, "bob", "b.py"), (1001, "alice", "c.py")):
        locked = run(user, "lock", "dev", path, "--as", agent, "--workspace", str(shared.parent))
        assert locked.status == 0, locked
    assert run(1002, "task", "done", "dev", "T-1", "--as", "bob").status == 0
    assert run(1001, "doctor", "dev").status == 0
    assert run(1002, "doctor", "dev").status == 0
