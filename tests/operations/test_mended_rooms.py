"""After `doctor --fix` the rest works: whatever was damaged, what is not part of it can be used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_chat.names import message_file_name
from agent_chat.operations import doctor
from agent_chat.records import message as message_record
from agent_chat.records.message import Message
from tests.operations import test_doctor, test_record_checks
from tests.operations.room import Room
from tests.support.cli import LATER, FakeClock, run, workspace_on

if TYPE_CHECKING:
    from collections.abc import Callable


posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


def with_messages(room: Room) -> Room:
    """A channel with two messages by hand."""
    room.plant(1)
    room.plant(2, reply_to="1")
    return room


ALL = [
    *((id, with_messages, damage.plant) for id, damage in test_doctor.DAMAGES.items()),
    *((damage.id, test_record_checks.furnished, damage.plant) for damage in test_record_checks.DAMAGES),
]
# What may still be refused after mending, by the invariant that stays broken: the doctor names it, with its remedy.
REFUSED: dict[str, set[str]] = {
    "root.writable": set(),
    # Who may have switched chat off, nobody guesses: a person mends the settings.
    "owner.valid": {"OWNER_SETTINGS_INVALID"},
    "channel.meta": {"CHANNEL_DAMAGED"},
    "channel.lock": {"PATH_REFUSED", "TASK_IO_ERROR", "PATH_LOCK_STORAGE_ERROR", "STATE_IO_ERROR"},
    "channel.folders": {
        "PATH_REFUSED",
        "TASK_PATH_OUTSIDE_WORKSPACE",
        "LEASE_STORAGE_INVALID",
        "LEASE_PATH_OUTSIDE_WORKSPACE",
        "PATH_LOCK_STORAGE_INVALID",
        "STATE_IO_ERROR",
        "TASK_IO_ERROR",
        "CURSOR_NOT_STORED",
        "TASK_NOT_FOUND",
    },
    "lock.overlap": {"PATH_LOCK_CONFLICT", "PATH_LOCK_NOT_FOUND"},
    "channel.numbers": {"CHANNEL_DAMAGED", "TASK_NOT_FOUND", "PATH_LOCK_NOT_FOUND", "STATE_AUDIT_FAILED"},
    "channel.workspace": {"PATH_LOCK_PATH_OUTSIDE_WORKSPACE"},
    "journal.pending": {"LEASE_TRANSACTION_PENDING", "PATH_LOCK_TRANSACTION_PENDING"},
    "journal.valid": {"LEASE_TRANSACTION_PENDING", "PATH_LOCK_TRANSACTION_PENDING", "RECORD_VERSION"},
}
CREATED = "2026-01-02T03:04:05+00:00"
REST = [
    ["post", "dev", "--from", "zoe", "--title", "t"],
    ["read", "dev", "--as", "zoe"],
    ["inbox", "--as", "zoe"],
    ["task", "create", "dev", "rest-1", "--from", "zoe", "--title", "t"],
    ["task", "claim", "dev", "rest-1", "--as", "zoe"],
    ["task", "done", "dev", "rest-1", "--as", "zoe"],
    ["lock", "dev", "rest/file.py", "--as", "zoe"],
    ["unlock", "dev", "rest/file.py", "--as", "zoe"],
    ["event", "post", "dev", "--from", "zoe", "--type", "status", "--harness", "h", "--status", "busy"],
    ["event", "read", "dev"],
    ["state", "dev"],
    ["compact", "dev"],
]


@posix
@pytest.mark.slow
@pytest.mark.parametrize(("id", "furnished", "plant"), ALL, ids=[id for id, _, _ in ALL])
def test_after_mending_the_rest_works(
    room: Room,
    tmp_path_factory: pytest.TempPathFactory,
    id: str,
    furnished: Callable[[Room], Room],
    plant: Callable[[Room], object],
) -> None:
    plant(furnished(room))
    run(["doctor", "--fix"], workspace=workspace_on(room.root))
    tree = tmp_path_factory.mktemp("tree")
    variables = {"AGENT_CHAT_WORKSPACE": str(tree)}
    answers = [run(argv, workspace=workspace_on(room.root), environment=variables) for argv in REST]
    failed = {answer.code for answer in answers if answer.status == 2}
    bugs = [answer.stderr for answer in answers if answer.status not in (0, 2)]
    assert bugs == []
    assert failed <= REFUSED.get(id, set()), [answer.stderr for answer in answers if answer.status == 2]
    if failed:
        assert run(["doctor", "dev"], workspace=workspace_on(room.root)).status == 1


@pytest.mark.slow
def test_a_healthy_channel_of_many_messages_has_no_finding(room: Room) -> None:
    """Also not once there is a cache of what they mean, and that is compared."""
    for seq in range(1, 20_001):
        status = "decision" if seq % 500 == 0 else ""
        message = Message(
            seq=seq, sender=f"agent-{seq % 7}", title=f"note {seq}", body="text\n", status=status, created=CREATED
        )
        (room.folder / message_file_name(seq, message.sender, message.title)).write_bytes(
            message_record.render(message.replace(reply_to=seq - 1) if seq % 3 == 0 else message)
        )
    room.workspace = workspace_on(room.root, clock=FakeClock(LATER))
    assert doctor.examine(room.reopened()).findings == ()
    shown = run(["state", "dev"], workspace=room.workspace)
    assert shown.stdout.count("\n- #") == 40
    assert {"messages.index", "highlights.index"} <= set(os.listdir(room.folder / ".cache"))
    assert doctor.examine(room.reopened()).findings == ()
    assert run(["state", "dev"], workspace=room.workspace) == shown
