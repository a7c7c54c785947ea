"""What the commands on a state say beside it, of leases and of what could not be read, in text and in JSON."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli import leasing
from tests.cli.test_state_commands import crowd
from tests.support.cli import LATER, FakeClock, plant, run, workspace_on
from tests.support.leases import BootClock
from tests.support.recording import InterveningFileSystem

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a channel in which something was decided."""
    run(["init", "dev", "--topic", "t"], tmp_path / "root")
    run(["post", "dev", "--from", "alice", "--title", "Decision: files", "--body", "why"], tmp_path / "root")
    return tmp_path / "root"


def test_a_cache_that_cannot_be_used_is_said_beside_the_state_and_is_not_in_it(root: Path) -> None:
    crowd(root)
    clock = FakeClock(LATER)
    wanted = run(["state", "dev"], root, workspace=workspace_on(root, clock=clock))
    (root / "dev" / ".cache" / "messages.index").unlink(missing_ok=True)
    (root / "dev" / ".cache" / "messages.index").mkdir()
    says = ["read", "stored"]

    def require(texts: list[str], verbs: list[str]) -> None:
        assert [text.partition(",")[0] for text in texts] == [
            f".cache/messages.index cannot be {verb}" for verb in verbs
        ]

    for argv in (["state", "dev"], ["state", "dev", "--strict"]):
        shown = run(argv, root, workspace=workspace_on(root, clock=clock))
        assert (shown.status, shown.stdout) == (0, wanted.stdout)
        require([line.removeprefix("agent-chat: warning: ") for line in shown.stderr.splitlines()], says)
        document = run([*argv, "--json"], root, workspace=workspace_on(root, clock=clock)).json
        require(document["warnings"], says)
        assert document["incomplete"] == []
    written = run(["state", "dev", "--write"], root, workspace=workspace_on(root, clock=clock))
    assert (root / "dev" / "state.md").read_text("utf-8") == written.stdout == wanted.stdout
    compacted = run(["compact", "dev"], root, workspace=workspace_on(root, clock=clock))
    require([line.removeprefix("agent-chat: warning: ") for line in compacted.stderr.splitlines()], says[:1])
    assert compacted.status == 0


def test_what_the_state_shows_is_not_said_beside_it_too(root: Path) -> None:
    plant(root / "dev" / "0009-bob-x.md", "x")
    (warning,) = run(["state", "dev", "--json"], root).json["warnings"]
    shown = run(["state", "dev"], root)
    assert (shown.stderr, shown.stdout.count(warning)) == ("", 1)
    assert run(["state", "dev", "--write"], root).stderr == ""
    compacted = run(["compact", "dev"], root)
    assert compacted.stderr == f"agent-chat: warning: {warning}\n"


def test_a_copy_is_told_and_refused_by_nothing(root: Path) -> None:
    shutil.copy(root / "dev" / "0001-alice-decision-files.md", root / "dev" / "0001-alice-z.md")
    document = run(["state", "dev", "--strict", "--json"], root).json
    assert [text.partition(": it is a copy")[0] for text in document["warnings"]] == [
        "set aside, no message: 0001-alice-z.md"
    ]
    assert (document["incomplete"], document["messages"]) == ([], 2)
    assert run(["compact", "dev", "--strict"], root).status == 0


def test_owners_of_whom_nothing_could_be_read_are_null(root: Path) -> None:
    leasing.call(root, "task", "create", "dev", "t-1", "--from", "alice", "--title", "t", "--owner", "bob")
    leasing.call(root, "lock", "dev", "a.py", "--as", "bob")
    for folder, owners in (("tasks", ["bob"]), ("locks", None)):
        (root / "dev" / folder).rename(root.parent / folder)
        (root / "dev" / folder).write_text("x")
        for argv in (["state", "dev"], ["state", "dev", "--write"], ["compact", "dev"]):
            document = run([*argv, "--json"], root).json
            assert (document["owners"] and list(document["owners"])) == owners
            assert "owners" in document["incomplete"]


def test_a_lease_that_ran_out_or_may_have_is_told_of_alike(root: Path) -> None:
    clock = BootClock()
    leasing.call(root, "task", "create", "dev", "t-1", "--from", "alice", "--title", "t", clock=clock)
    leasing.call(root, "task", "claim", "dev", "t-1", "--as", "bob", "--lease-seconds", "60", clock=clock)
    leasing.call(root, "task", "create", "dev", "t-2", "--from", "alice", "--title", "t", "--owner", "bob", clock=clock)

    def expired() -> tuple[list[bool], list[bool]]:
        document = leasing.call(root, "state", "dev", "--json", clock=clock).json
        (owner,) = document["owners"].values()
        return [task["expired"] for task in owner["tasks"]], [
            task.get("expired", False) for task in document["open_tasks"]
        ]

    assert expired() == ([False, False], [False, False])
    clock.turn(61)
    assert expired() == ([True, False], [True, False])
    clock.step(-3600)
    assert expired() == ([True, False], [True, False])
    leasing.call(root, "task", "recover", "dev", "t-1", "--as", "bob", "--reason", "r", clock=clock)
    assert expired() == ([False, False], [False, False])
    clock.reboot()
    clock.step(-7200)
    assert expired() == ([True, False], [True, False]), "by which clock should it run?"


@pytest.mark.parametrize(
    "argv", [["state", "dev"], pytest.param(["compact", "dev"], marks=pytest.mark.slow)], ids=["state", "compact"]
)
def test_a_channel_that_goes_while_it_is_looked_at_has_the_code_of_states(root: Path, argv: list[str]) -> None:
    shutil.copytree(root, root.parent / "kept")
    codes, n, files = set(), 0, None
    while files is None or files.intervened:
        n += 1
        act = lambda step: (root / "dev" / "_meta.json").unlink()  # noqa: E731
        files = InterveningFileSystem(str(root), FakeClock(), n=n, act=act)
        done = run([*argv, "--json"], root, workspace=workspace_on(root, files=files))
        codes.add(done.code if done.status else None)
        shutil.rmtree(root)
        shutil.copytree(root.parent / "kept", root)
    assert codes - {None} == {"STATE_CHANNEL_NOT_FOUND"}
    assert n > 5
