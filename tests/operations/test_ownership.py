"""What a person decides: it is logged first, what was is never lost, and a channel is whole or gone."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import channels, ownership
from agent_chat.records.owner_settings import OwnerSettings
from agent_chat.storage import channel as channel_module
from agent_chat.storage import owner_store
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names
from agent_chat.storage.file_lock import FileLock
from tests.operations.room import Room, refused
from tests.support.cli import FakeClock, FaultyFiles, plant, run, tree_of, workspace_on

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "root", humans="carol")


def log(root: Path) -> list[dict[str, Any]]:
    """The lines of the log, each without its time."""
    lines = (root / "_owner.log").read_text("utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "at"} for line in lines]


def access(was: str, now: str, **more: str) -> dict[str, Any]:
    return {"who": "carol", "account": "you", "what": "access", "was": was, "is": now, **more}


def faulty(root: Path, *, code: int = errno.EIO, at: int = 1, **options: Any) -> Workspace:
    clock = FakeClock()
    return workspace_on(root, clock=clock, files=FaultyFiles(str(root), clock, at=at, code=code, **options))


# -- settings ----------------------------------------------------------------------------------------------------------


def test_each_change_keeps_the_other_setting_and_is_logged(room: Room) -> None:
    assert ownership.set_access(room.workspace, "carol", on=False) == OwnerSettings(access=False)
    after = OwnerSettings(access=False, retention_days=14)
    assert ownership.set_retention(room.workspace, "carol", 14) == after == owner_store.load(room.workspace)
    assert log(room.root) == [
        access("on", "off"),
        {"who": "carol", "account": "you", "what": "retention", "was": None, "is": 14},
    ]


def test_a_change_that_changes_nothing_is_logged_too(room: Room) -> None:
    for _ in range(2):
        ownership.set_access(room.workspace, "carol", on=True)
    assert log(room.root) == [access("on", "on")] * 2


@pytest.mark.parametrize("text", ["{", '{"schema_version": 2}', ""])
def test_settings_that_cannot_be_read_are_never_overwritten(room: Room, text: str) -> None:
    plant(room.root / "_owner.json", text)
    before = tree_of(room.root)
    for act in (
        lambda: ownership.set_access(room.workspace, "carol", on=False),
        lambda: ownership.set_retention(room.workspace, "carol", 3),
    ):
        error = refused("OWNER_SETTINGS_INVALID", act)
        assert "mend _owner.json by hand" in error.told
    assert {name: data for name, data in tree_of(room.root).items() if name != ".lock"} == {
        name: data for name, data in before.items() if name != ".lock"
    }


def test_where_the_log_cannot_be_written_nothing_is_changed(room: Room) -> None:
    (room.root / "_owner.log").mkdir()
    with pytest.raises(ChatError, match=r"nor does _owner\.log say"):
        ownership.set_access(room.workspace, "carol", on=False)
    assert not (room.root / "_owner.json").exists()


def test_where_the_settings_cannot_be_replaced_the_log_says_so(room: Room) -> None:
    with pytest.raises(OSError, match="Input/output"):
        ownership.set_access(faulty(room.root, only=("replace",), where="_owner.json"), "carol", on=False)
    first, second = log(room.root)
    assert first == access("on", "off")
    assert "Input/output error" in second.pop("failed")
    assert second == access("on", "on")
    assert sorted(path.name for path in room.root.iterdir() if path.name.startswith("._")) == []


def test_where_it_is_not_known_to_be_durable_the_log_says_what_stands(room: Room) -> None:
    workspace = faulty(room.root, only=("sync_folder",), at=2)
    with pytest.raises(OSError, match="Input/output"):
        ownership.set_access(workspace, "carol", on=False)
    assert [line["is"] for line in log(room.root)] == ["off", "off"]
    assert "failed" in log(room.root)[1]
    assert not owner_store.load(room.workspace).access


def test_half_a_line_of_a_writer_that_died_stays_a_line_of_its_own(room: Room) -> None:
    plant(room.root / "_owner.log", '{"at": "20')
    ownership.set_access(room.workspace, "carol", on=False)
    half, whole, rest = (room.root / "_owner.log").read_text("utf-8").split("\n")
    assert (half, json.loads(whole)["is"], rest) == ('{"at": "20', "off", "")


def test_what_a_writer_that_died_left_goes_with_the_next_change(room: Room) -> None:
    old, young = room.root / "._owner.json.tmp.dead", room.root / "._owner.json.tmp.new"
    plant(old, "half", at=room.clock.now() - 7200)
    plant(young, "half", at=room.clock.now() - 60)
    ownership.set_access(room.workspace, "carol", on=False)
    assert (old.exists(), young.exists()) == (False, True)


def test_whatever_is_changed_is_in_the_log(tmp_path: Path) -> None:
    """At each primitive of a change that fails: settings that are new without a line of the log are never seen."""
    for n in range(1, 40):
        root = tmp_path / str(n)
        Room(root, humans="carol")
        workspace = faulty(root, at=n, forever=True)
        try:
            ownership.set_access(workspace, "carol", on=False)
        except (OSError, ChatError):
            done = False
        else:
            done = True
        if not owner_store.load(workspace_on(root)).access:
            assert log(root)[0] == access("on", "off")
        if done:
            assert n > 8
            return
    raise AssertionError("it never ended")


def test_two_at_once_wait_for_each_other(room: Room) -> None:
    lock = FileLock(room.workspace.files, str(room.root / ".lock"), room.clock)
    assert lock.acquire(0)
    try:
        refused("CHANNEL_BUSY", lambda: ownership.set_access(room.workspace, "carol", on=False))
    finally:
        lock.release()
    assert sum(room.clock.slept) >= channel_module.LOCK_SECONDS
    assert not (room.root / "_owner.log").exists()


# -- deleting a channel ------------------------------------------------------------------------------------------------


def test_a_channel_goes_with_all_that_is_in_it(room: Room) -> None:
    room.post()
    room.read()
    room.post("bob", "answer", reply="1")
    deleted = ownership.delete_channel(room.workspace, "DEV", "carol")
    assert deleted == ownership.Deleted(channel="dev", messages=2, warnings=())
    assert sorted(path.name for path in room.root.iterdir()) == [".gitattributes", ".gitignore", ".lock", "_owner.log"]
    assert log(room.root) == [
        {"who": "carol", "account": "you", "what": "channel", "channel": "dev", "was": "2 messages", "is": "deleted"}
    ]
    refused("CHANNEL_NOT_FOUND", lambda: ownership.delete_channel(room.workspace, "dev", "carol"))


def test_a_new_channel_of_that_name_starts_empty_at_one(room: Room) -> None:
    for _ in range(3):
        room.post()
    room.read()
    ownership.delete_channel(room.workspace, "dev", "carol")
    made = Room(room.root)
    assert made.read() == []
    assert made.post().seq == 1


def test_what_is_left_of_others_goes_too(room: Room) -> None:
    plant(room.root / ".deleted-1" / "tasks" / "audit" / "x.md")
    ownership.delete_channel(room.workspace, "dev", "carol")
    assert not [path for path in room.root.iterdir() if path.name.startswith(".deleted-")]


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("tasks/audit/.pending.md", "LEASE_TRANSACTION_PENDING"),
        ("claims/.lease-transaction.json", "LEASE_TRANSACTION_PENDING"),
        ("locks/audit/.pending.md", "PATH_LOCK_TRANSACTION_PENDING"),
    ],
)
def test_while_a_change_is_pending_it_stays(room: Room, place: str, code: str) -> None:
    plant(room.folder / place)
    error = refused(code, lambda: ownership.delete_channel(room.workspace, "dev", "carol"))
    assert "--as carol" in str(error.next)
    assert (room.folder / "_meta.json").exists()
    assert not (room.root / "_owner.log").exists()


def test_while_somebody_writes_it_stays(room: Room) -> None:
    lock = FileLock(room.workspace.files, str(room.folder / ".lock"), room.clock)
    assert lock.acquire(0)
    try:
        refused("CHANNEL_BUSY", lambda: ownership.delete_channel(room.workspace, "dev", "carol"))
    finally:
        lock.release()
    assert (room.folder / "_meta.json").exists()


def test_what_cannot_be_removed_is_a_warning_and_the_channel_is_gone(room: Room) -> None:
    room.post()
    workspace = faulty(room.root, only=("remove",), where=".deleted-", forever=True, code=errno.EACCES)
    deleted = ownership.delete_channel(workspace, "dev", "carol")
    assert len(deleted.warnings) == 1
    assert "could not be removed in full" in deleted.warnings[0]
    refused("CHANNEL_NOT_FOUND", lambda: channel_module.open_channel(room.workspace, "dev"))
    assert ownership.sweep(room.workspace)
    assert not ownership.sweep(room.workspace)


@pytest.mark.parametrize("back", [True, False])
def test_a_rename_that_is_not_durable_is_taken_back_if_it_can_be(room: Room, back: bool) -> None:
    room.post()
    only = ("sync_folder", "replace") if not back else ("sync_folder",)
    # The syncs of a root: of the log, then of the rename; before that the replacing itself is counted where it fails.
    workspace = faulty(room.root, only=only, at=2 if back else 3, forever=not back)
    with pytest.raises((OSError, ChatError)) as caught:
        ownership.delete_channel(workspace, "dev", "carol")
    assert (room.folder / "_meta.json").exists() is back
    if back:
        assert [line["is"] for line in log(room.root)] == ["deleted", "1 messages"]
    else:
        assert "may be back after a loss of power" in str(caught.value)


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_the_lock_is_held_while_the_folder_is_renamed_where_the_system_lets_it(
    room: Room, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """Windows renames no folder in which a file is open."""
    monkeypatch.setattr(channel_module, "system", system)
    files, held = room.workspace.files, []
    rename = files.replace

    def replace(source: str, target: str) -> None:
        lock = FileLock(files, os.path.join(source, ".lock"), room.clock)
        held.append(not lock.acquire(0, create=False))
        if lock.held:
            lock.release()
        rename(source, target)

    monkeypatch.setattr(files, "replace", replace)
    assert ownership.delete_channel(room.workspace, "dev", "carol").warnings == ()
    assert held == [system == "posix"]


def test_a_lock_that_was_deleted_while_it_was_held_stops_it(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileLock, "is_on_disk", lambda _: False)
    refused("CHANNEL_BUSY", lambda: ownership.delete_channel(room.workspace, "dev", "carol"))
    assert (room.folder / "_meta.json").exists()
    assert "failed" in log(room.root)[1]


def test_a_writer_that_waited_meanwhile_is_told_that_the_channel_is_gone(room: Room) -> None:
    """It has opened the channel, and has its lock file open, when the channel goes."""
    channel = Channel(room.workspace, "dev")
    channel.require_meta()
    plant(room.folder / ".lock")

    class Deleting(FakeClock):
        def sleep(self, seconds: float) -> None:
            """Another process deletes the channel while this one waits."""
            super().sleep(seconds)
            if held.held:
                os.rename(room.folder, room.root / ".deleted-1")
                held.release()

    held = FileLock(room.workspace.files, str(room.folder / ".lock"), room.clock)
    assert held.acquire(0)
    clock = Deleting()
    late = Channel(workspace_on(room.root, clock=clock), "dev")
    error = refused("CHANNEL_NOT_FOUND", lambda: late.mutation().__enter__())
    assert clock.slept
    assert "no channel 'dev'" in error.message
    assert not room.folder.exists()


def test_a_channel_is_deleted_whatever_lies_in_it(room: Room, tmp_path: Path) -> None:
    plant(tmp_path / "outside" / "file", "kept")
    (room.folder / "link").symlink_to(tmp_path / "outside")
    (room.folder / "deep" / "er" / "still").mkdir(parents=True)
    plant(room.folder / "deep" / "er" / "still" / "file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(room.folder / "pipe")
    assert ownership.delete_channel(room.workspace, "dev", "carol").warnings == ()
    assert (tmp_path / "outside" / "file").read_bytes() == b"kept"


def test_channels_go_on_beside_it(room: Room) -> None:
    other = channels.create(
        room.workspace, channels.plan_channel("ops", members=None, humans=None, topic=None, owner=None, level=None)
    )
    before = tree_of(room.root / "ops")
    ownership.delete_channel(room.workspace, "dev", "carol")
    assert tree_of(room.root / "ops") == before
    assert channel_names(room.workspace) == [other.name]


def test_the_doctor_sweeps_what_a_killed_call_left(room: Room) -> None:
    plant(room.root / ".deleted-1" / "a" / "b")
    plant(room.root / "._owner.json.tmp.dead", at=0)
    told = run(["doctor", "--json"], room.root).json
    assert [finding["id"] for finding in told["findings"]] == ["root.deleted", "temporary.stale"]
    mended = run(["doctor", "--fix", "--json"], room.root)
    assert (mended.status, mended.json["findings"], len(mended.json["fixed"])) == (0, [], 2)
