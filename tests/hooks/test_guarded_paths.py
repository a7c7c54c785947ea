"""Who holds a path: in any channel, under any of its names, in every work tree of its repository, and nowhere else."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat import names
from agent_chat.operations import channels, path_locks
from agent_chat.operations.guarded_paths import Guarded, holders
from agent_chat.operations.leases import Actor
from agent_chat.storage import work_tree
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import may_hold_locks, names_like_channels
from tests.operations.lock_room import ANNOUNCED, UNANNOUNCED, LockRoom, legacy_lock
from tests.storage.test_real_place import fold_below
from tests.support.cli import FaultyFiles, workspace_on

if TYPE_CHECKING:
    from agent_chat.storage.workspace import Workspace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "other-program"
posix = pytest.mark.skipif(os.name == "nt", reason="Windows makes no links without a privilege")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the file systems of other systems fold names")


class Guarding(LockRoom):
    """A room with a repository as its work tree, a linked work tree, and a project that has nothing to do with them."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.base = base
        self.sister, self.stranger = base / "sister", base / "stranger"
        for folder in (self.tree / "src", self.sister / "src", self.stranger / "src"):
            folder.mkdir(parents=True)
            (folder / "a.py").write_text("x")
        (self.stranger / ".git").mkdir()
        own = self.tree / ".git" / "worktrees" / "sister"
        own.mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        (own / "gitdir").write_text(f"{self.sister}/.git\n")
        (self.sister / ".git").write_text(f"gitdir: {own}\n")

    def make(self, name: str) -> None:
        """Makes another channel."""
        given = dict.fromkeys(("members", "humans", "topic", "owner", "level"))
        channels.create(self.workspace, channels.plan_channel(name, **given))

    def held(self, *paths: str, actor: str = "carol", channel: str = "dev", **options: Any) -> str:
        """Locks paths of the work tree and returns the lock's id."""
        located = [self.locate(path) for path in paths]
        here = Channel(self.workspace, channel)
        lease, why = options.get("lease"), options.get("why")
        return path_locks.lock(here, Actor(name=actor), located, lease_seconds=lease, why=why).lock.lock_id

    def asked(self, *paths: str | Path, folder: Path | None = None, variable: str = "", **more: Any) -> Guarded:
        """Who holds some paths, which are relative to the work tree."""
        workspace: Workspace = more.get("workspace") or self.workspace
        lockable = may_hold_locks(workspace, names_like_channels(workspace, more.get("only")))
        texts = [os.path.join(self.tree, path) for path in paths]
        return holders(workspace, lockable, texts, folder=str(folder or self.tree), variable=variable)

    def owners(self, *paths: str | Path, **options: Any) -> list[tuple[str, str]]:
        """The channel and owner of each lock that is in the way, where all could be looked at."""
        found = self.asked(*paths, **options)
        assert found.faults == ()
        return [(held.channel, held.owner) for held in found.held]


@pytest.fixture
def room(tmp_path: Path) -> Guarding:
    return Guarding(tmp_path.resolve())


HELD = [("dev", "carol")]


# -- what is held ------------------------------------------------------------------------------------------------------


def test_a_path_that_somebody_holds_is_told_with_all_that_helps(room: Guarding) -> None:
    room.held("src/a.py", "docs/", why="new parser", lease="600")
    [held] = room.asked("src/a.py").held
    assert held.asked == str(room.tree / "src/a.py")
    assert (held.paths, held.channel, held.owner) == ("src/a.py, docs/", "dev", "carol")
    assert (held.left, held.reason) == ("10 min left", "new parser")
    assert room.owners("src/b.py") == []


def test_nothing_is_held_where_nothing_is_locked(room: Guarding) -> None:
    assert room.asked("src/a.py") == Guarded()
    room.held("src/a.py")
    room.unlock("src/a.py", "carol")
    assert room.asked("src/a.py") == Guarded()


@pytest.mark.parametrize(
    ("locked", "path", "is_held"),
    [
        ("src/", "src/a.py", True),
        ("src/", "src/deep/new.py", True),
        ("src/", "src", True),
        ("src/a.py", "src", True),
        (".", "src/a.py", True),
        ("src/a.py", ".", True),
        ("src/new.py", "src/new.py", True),
        ("src/", "src2/a.py", False),
        ("src/a.py", "src/a.pyi", False),
        ("src/a.py", "src/./b/../a.py", True),
    ],
)
def test_a_file_and_the_folder_that_it_lies_in_meet(room: Guarding, locked: str, path: str, is_held: bool) -> None:
    room.held(locked)
    assert room.owners(path) == (HELD if is_held else [])


def test_every_path_that_is_asked_for_is_judged(room: Guarding) -> None:
    room.held("src/a.py")
    room.held("src/c.py", actor="dave")
    assert room.owners("src/x.py", "src/a.py", "src/b.py", "src/c.py") == [("dev", "carol"), ("dev", "dave")]


def test_every_channel_counts_unless_some_are_named(room: Guarding) -> None:
    room.make("ops")
    room.held("src/a.py", actor="dave", channel="ops")
    room.held("src/b.py")
    assert room.owners("src/a.py") == [("ops", "dave")]
    assert room.owners("src/a.py", only=frozenset({"dev"})) == []
    assert room.owners("src/a.py", only=frozenset({"ops"})) == [("ops", "dave")]


def test_ones_own_lock_is_told_as_well(room: Guarding) -> None:
    """Whose session asks is judged by who asks."""
    room.held("src/a.py", actor="bob")
    assert room.owners("src/a.py") == [("dev", "bob")]


# -- under any of its names --------------------------------------------------------------------------------------------


@posix
def test_a_link_is_the_file_that_it_leads_to(room: Guarding) -> None:
    (room.tree / "link.py").symlink_to(room.tree / "src/a.py")
    (room.tree / "linked").symlink_to("src")
    (room.base / "outside").symlink_to(room.tree)
    room.held("src/a.py")
    for path in ("link.py", "linked/a.py", room.base / "outside/src/a.py", room.base / "outside/linked/a.py"):
        assert room.owners(path) == HELD


@posix
def test_a_link_that_leads_out_of_the_tree_is_another_file(room: Guarding) -> None:
    (room.tree / "out.py").symlink_to(room.stranger / "src/a.py")
    room.held("src/a.py")
    assert room.owners("out.py") == []


@linux
def test_on_a_disk_that_folds_case_another_spelling_is_the_same_file(
    room: Guarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.held("src/a.py")
    assert room.owners("SRC/A.PY") == []
    fold_below(monkeypatch, room.tree, names.fold)
    assert room.owners("SRC/A.PY") == HELD
    assert room.owners("src/A.py", "Src/other.py") == HELD


def test_the_folder_of_the_caller_does_not_matter_for_an_absolute_path(room: Guarding) -> None:
    room.held("src/a.py")
    for folder in (room.tree / "src", room.sister, room.stranger, room.base, room.root, Path(os.sep)):
        assert room.owners("src/a.py", folder=folder) == HELD, folder


# -- which work tree ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["tree", "sister", "base"])
def test_a_file_is_one_in_all_work_trees_of_a_repository(room: Guarding, where: str) -> None:
    room.held("src/a.py")
    for tree in (room.tree, room.sister):
        assert room.owners(tree / "src/a.py", folder=getattr(room, where)) == HELD
        assert room.owners(tree / "src/b.py", folder=getattr(room, where)) == []


@pytest.mark.parametrize("where", ["tree", "stranger", "base"])
@pytest.mark.parametrize("locked", ["src/a.py", "src/", "."])
def test_a_file_of_that_name_in_another_project_is_nobodys(room: Guarding, locked: str, where: str) -> None:
    """One root serves all projects of a user; a lock in one must not stop the work on another."""
    room.held(locked)
    assert room.owners(room.stranger / "src/a.py", folder=getattr(room, where)) == []
    assert room.owners(room.base / "src/a.py", folder=getattr(room, where)) == []


def test_a_work_tree_that_a_variable_names_is_where_it_says(room: Guarding) -> None:
    room.held("src/a.py")
    for variable in (str(room.tree), str(room.sister), str(room.stranger), "/nowhere", "relative", "\0"):
        assert room.owners("src/a.py", variable=variable, folder=room.base) == HELD, variable
        assert room.owners(room.stranger / "src/a.py", variable=variable, folder=room.base) == [], variable


def test_a_work_tree_that_a_channel_records_need_not_be_there(room: Guarding) -> None:
    room.held("src/a.py")
    meta = room.folder / "_meta.json"
    fields = json.loads(meta.read_bytes())
    for recorded in (str(room.tree), "/on/another/machine", str(room.stranger)):
        meta.write_text(json.dumps({**fields, "workspace": recorded}))
        assert room.owners("src/a.py") == HELD, recorded
        assert room.owners(room.stranger / "src/a.py", folder=room.stranger) == [], recorded


def test_what_lies_in_the_root_is_locked_by_nobody(room: Guarding) -> None:
    room.held(".")
    inside = room.tree / ".agent-chat"
    shutil.copytree(room.root, inside)
    workspace = workspace_on(inside, clock=room.clock)
    assert room.owners(".agent-chat/dev/state.md", workspace=workspace) == []
    assert room.owners("src/a.py", workspace=workspace) == HELD


# -- how a lock stands -------------------------------------------------------------------------------------------------


def test_a_lock_that_ran_out_holds_nothing(room: Guarding) -> None:
    room.held("src/a.py", lease="60")
    room.clock.turn(59)
    assert room.owners("src/a.py") == HELD
    room.clock.turn(2)
    assert room.owners("src/a.py") == []


def test_a_suspect_lock_holds(room: Guarding) -> None:
    room.held("src/a.py", lease="60")
    room.clock.reboot()
    room.clock.step(-86400)
    [held] = room.asked("src/a.py").held
    assert (held.owner, held.left) == ("carol", "suspect")


@pytest.mark.parametrize("at", [UNANNOUNCED, ANNOUNCED])
def test_a_lock_in_a_pending_change_holds(room: Guarding, at: int) -> None:
    room.leave_pending(at, "src/a.py", actor="carol")
    assert room.owners("src/a.py") == HELD
    assert room.owners("src/b.py") == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"paths": [{"normalized_path": "src/a.py"}]}'])
def test_a_damaged_record_is_told_and_hides_no_other(room: Guarding, data: bytes) -> None:
    damaged = room.held("src/a.py")
    room.held("src/b.py", actor="dave")
    room.damage(damaged, data)
    found = room.asked("src/a.py")
    assert found.held == ()
    # What its bytes say is somebody's text, and no model's business.
    assert found.faults == (f"lock {damaged} on {room.tree}/src/a.py is damaged: agent-chat doctor dev",)
    assert [held.owner for held in room.asked("src/b.py").held] == ["dave"]


def test_a_damaged_record_whose_paths_can_be_read_concerns_them_alone(room: Guarding) -> None:
    damaged = room.held("src/a.py")
    room.damage(damaged, json.dumps({**room.record(damaged), "owner": 5}).encode())
    assert len(room.asked("src/a.py").faults) == 1
    assert room.asked("src/b.py") == Guarded()


@pytest.mark.parametrize("data", [b"{", b"", b'{"schema_version": 99}'])
def test_the_locks_of_a_channel_count_whatever_became_of_its_record(room: Guarding, data: bytes) -> None:
    room.held("src/a.py")
    (room.folder / "_meta.json").write_bytes(data)
    assert room.owners("src/a.py") == HELD


# -- what cannot be looked at ------------------------------------------------------------------------------------------


def test_what_the_disk_does_not_give_is_told(room: Guarding) -> None:
    room.held("src/a.py")
    for code, only in ((errno.EIO, "read_file"), (errno.EACCES, "list_folder")):
        files = FaultyFiles(str(room.root), room.clock, at=1, code=code, only=(only,), where="/locks", forever=True)
        found = room.asked("src/a.py", workspace=workspace_on(room.root, clock=room.clock, files=files))
        assert found.held == ()
        assert [os.strerror(code) in fault for fault in found.faults] == [True]


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5000, "a/" * 3000 + "b"])
def test_a_path_that_cannot_be_one_is_nobodys_and_hides_no_other(room: Guarding, path: str) -> None:
    room.held("src/a.py")
    found = room.asked(path, "src/a.py")
    assert [held.owner for held in found.held] == ["carol"]
    assert found.faults == ()


@pytest.mark.parametrize("name", ["aux.c", "con.py", "nul", "foo ", "foo.", "a\\b.c", "c:x", "new/aux.c"])
def test_what_no_lock_can_name_is_held_with_the_folder_that_it_lies_in(room: Guarding, name: str) -> None:
    room.held("src/")
    assert [held.owner for held in room.asked(f"src/{name}").held] == ["carol"]
    assert room.asked(f"other/{name}") == Guarded()


@pytest.mark.parametrize("name", ["aux.c", "foo "])
def test_what_no_lock_can_name_is_not_held_with_what_lies_beside_it(room: Guarding, name: str) -> None:
    room.held("src/a.py")
    assert room.asked(f"src/{name}") == Guarded()


@posix
def test_a_loop_of_links_leads_nowhere(room: Guarding) -> None:
    room.held("src/a.py")
    (room.tree / "loop").symlink_to("loop")
    assert room.asked("loop/a.py") == Guarded()


def test_what_could_not_be_looked_at_before_is_told_with_the_rest(room: Guarding) -> None:
    room.held("src/a.py")
    files = FaultyFiles(str(room.root), room.clock, at=1, code=errno.EACCES, only=("list_folder",), where="/locks")
    lockable = may_hold_locks(workspace_on(room.root, clock=room.clock, files=files), ["dev"])
    assert (lockable.channels, len(lockable.faults)) == ((), 1)
    found = holders(room.workspace, lockable, [str(room.tree / "src/a.py")], folder=str(room.tree), variable="")
    assert found.faults == lockable.faults


# -- of another program ------------------------------------------------------------------------------------------------


def test_a_lock_of_another_program_holds_in_every_tree_since_it_names_none(room: Guarding) -> None:
    room.put("locks/b559e5d6f1794fc2989549ae47e1db2c.json", legacy_lock("src/a.py", "docs/", owner="carol"))
    assert room.owners("src/a.py") == room.owners("docs/x/y.md") == HELD
    assert room.owners(room.stranger / "src/a.py", folder=room.stranger) == HELD
    room.clock.turn(361)  # of wall time, with the grace of a clock that may differ
    assert room.owners("src/a.py") == []


def test_channels_of_another_program_are_looked_into(room: Guarding) -> None:
    for name in ("garden", "review", "shed"):
        shutil.copytree(FIXTURES / name, room.root / name)
    room.clock.step(1746515280.0 - room.clock.now())  # 2025-05-06T07:08:00Z, when garden's lock was taken
    assert room.owners("plan.txt") == [("garden", "ben")]
    # The one of review was taken long after that: what runs longer than it may is suspect, and holds.
    assert [(held.channel, held.left) for held in room.asked("src/schema.py").held] == [("review", "suspect")]
    room.clock.step(1796100000.0 - room.clock.now())
    assert room.owners("plan.txt", "src/schema.py") == []


# -- what may hold locks -----------------------------------------------------------------------------------------------


def test_only_channels_with_a_lock_or_a_pending_change_are_looked_into(room: Guarding) -> None:
    for name in ("ops", "team"):
        room.make(name)
    (room.root / "file").write_bytes(b"")
    assert may_hold_locks(room.workspace, names_like_channels(room.workspace)).channels == ()
    room.held("src/a.py", channel="ops")
    room.leave_pending(UNANNOUNCED, "src/b.py")
    assert may_hold_locks(room.workspace, names_like_channels(room.workspace)).channels == ("dev", "ops")
    assert may_hold_locks(room.workspace, ["nowhere", "file", "team"]).channels == ()


def test_a_work_tree_is_looked_for_once_however_many_channels_there_are(
    room: Guarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        room.make(f"c{number}")
        room.held(f"src/{number}.py", channel=f"c{number}")
    found: list[str] = []
    find = work_tree.find

    def counted(*arguments: Any, **options: Any) -> work_tree.WorkTree:
        found.append(options["folder"])
        return find(*arguments, **options)

    monkeypatch.setattr(work_tree, "find", counted)
    assert [channel for channel, _ in room.owners(*[f"src/{number}.py" for number in range(5)])] == [
        f"c{number}" for number in range(5)
    ]
    assert len(found) <= 2
