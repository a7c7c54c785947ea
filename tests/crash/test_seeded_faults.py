"""Deliberate bugs, each of which the crash lane must notice: these test the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.faults import Fault, failing, on
from tests.crash.loops import check_kills, check_power_losses
from tests.crash.turns import check_intruder, check_reader_and_writer, check_two_readers, check_two_writers
from tests.support import tally
from tests.support.seeding import Edit, moved, seeded

if TYPE_CHECKING:
    from pathlib import Path

CHANNEL = "agent_chat.storage.channel"
COMPACTION = "agent_chat.operations.compaction"
CURSORS = "agent_chat.storage.cursor_store"
MAIN = "agent_chat.cli.main"
MENDING = "agent_chat.operations.mending"
MESSAGE_STORE = "agent_chat.storage.message_store"
MESSAGES = "agent_chat.operations.messages"
OWNER_CHANGES = "agent_chat.storage.owner_changes"
PUBLICATION = "agent_chat.storage.publication"
SOURCES = "agent_chat.operations.state_sources"

POST, READ, COMPACT = "post, a reply", "read, from a cursor", "compact, over another"

FAULTS = (
    Fault(
        "the folder is not synced",
        (Edit(PUBLICATION, "files.sync_folder(folder)", "pass"),),
        on(POST, check_power_losses),
        "success was reported and is not there",
    ),
    Fault(
        "the file is not synced",
        (Edit(PUBLICATION, "write_new(path, data)", "write_new(path, data, sync=False)"),),
        on(POST, check_power_losses),
        "partial",
    ),
    Fault(
        "a cursor is not synced",
        (Edit(PUBLICATION, "write_new(path, data)", "write_new(path, data, sync=False)"),),
        on(READ, check_power_losses),
        "partial",
    ),
    Fault(
        "the owner's settings are not synced",
        (Edit(OWNER_CHANGES, "owner_settings.render(settings))", "owner_settings.render(settings), sync=False)"),),
        on("owner retention", check_power_losses),
        "partial",
    ),
    Fault(
        "that a channel is deleted is not synced",
        (Edit(CHANNEL, "self.files.sync_folder(self.channel.workspace.root)", "pass"),),
        on("channel delete", check_power_losses),
        "neither the old nor the new",
    ),
    Fault(
        "a channel is removed where it lies",
        (
            Edit(
                CHANNEL,
                "        self.files.replace(self._layout.folder, target)\n        try:",
                "        for name in self.files.list_folder(self._layout.folder):\n"
                "            if name.endswith('.md'):\n"
                "                self.files.remove(self._layout.file(name))\n"
                "        self.files.replace(self._layout.folder, target)\n        try:",
            ),
        ),
        on("channel delete", check_kills),
        "neither the old nor the new",
    ),
    Fault(
        "publishing replaces",
        (
            Edit(PUBLICATION, "files.link(temporary, target)", "files.replace(temporary, target)"),
            Edit(PUBLICATION, "        else:\n            files.remove(temporary)\n", ""),
        ),
        check_intruder,
        "was replaced",
    ),
    Fault(
        "the file has its name before it is written",
        (
            Edit(
                CHANNEL,
                "        temporary = self.write_temporary(data)\n",
                "        self.files.write_new(self._layout.file(file_name), data)\n"
                "        self.files.sync_folder(self._layout.folder)\n"
                "        return\n",
            ),
        ),
        on(POST, check_kills),
        "partial",
    ),
    Fault(
        "the lock is given back before the message is published",
        (
            Edit(
                CHANNEL,
                "message = draft.replace(seq=self.next_seq(numbers))",
                "message = draft.replace(seq=self.next_seq(numbers))\n        self._lock.release()",
            ),
            Edit(CHANNEL, "assert self._lock.held", "pass"),
            Edit(CHANNEL, "holds_lock=self._lock.is_on_disk", "holds_lock=None"),
        ),
        check_two_writers,
        "the numbers are",
    ),
    Fault(
        "the number is chosen before the lock is held",
        (
            Edit(
                MESSAGES,
                "    with channel.mutation() as mutation:\n        numbers = mutation.numbers()\n",
                "    numbers = channel.messages.numbers()\n    with channel.mutation() as mutation:\n",
            ),
        ),
        check_two_writers,
        "the numbers are",
    ),
    Fault(
        "the reader lists once",
        (Edit(MESSAGE_STORE, "again=listed", "again=None"),),
        lambda folder: check_reader_and_writer(folder, every=False),
        "the reader is shown",
    ),
    Fault(
        "the cursor is stored before the reply is shown",
        (
            Edit(
                MAIN,
                "    try:\n        output.show_reply(",
                "    _ = reply.after and reply.after()\n    try:\n        output.show_reply(",
            ),
        ),
        on(READ, check_kills),
        "never shown and passed over",
    ),
    Fault(
        "a folder that cannot be listed is empty",
        (
            Edit(
                MESSAGE_STORE,
                "            return self._workspace.files.list_folder(self._layout.folder)\n",
                "            try:\n"
                "                return self._workspace.files.list_folder(self._layout.folder)\n"
                "            except OSError:\n"
                "                return []\n",
            ),
        ),
        on(READ, failing),
        "a failing disk is answered with 0",
    ),
    Fault(
        "a cursor goes back",
        (Edit(CURSORS, "there.seq > seq", "False"),),
        lambda folder: check_two_readers(folder, every=False),
        "the cursor goes",
    ),
    Fault(
        "a failed publication is not taken back",
        (Edit(PUBLICATION, "        _take_back(files, temporary, None if stays else target, aside, error)\n", ""),),
        on(POST, failing),
        "published, though it says IO_ERROR",
    ),
    Fault(
        "the old file is removed before the new one is published",
        (
            Edit(
                MENDING,
                "    old = stored.message.seq\n",
                "    old = stored.message.seq\n    mutation.files.remove(mutation.channel.layout.file(stored.file))\n",
            ),
        ),
        on("doctor, duplicate", check_kills),
        "neither the old nor the new",
    ),
    Fault(
        "a dead writer's temporary stays for good",
        (Edit(PUBLICATION, "status.st_mtime > STALE_TEMPORARY_SECONDS", "status.st_mtime < 0"),),
        on(POST, check_kills),
        "left behind for good",
    ),
    Fault(
        "a summary is written in place",
        (
            Edit(
                CHANNEL,
                "        self.files.write_new(temporary, data)\n"
                "        publication.replace(self.files, temporary, target)\n",
                "        publication.exists(self.files, self._layout.file(name)) and self.files.remove(\n"
                "            self._layout.file(name)\n"
                "        )\n"
                "        self.files.write_new(self._layout.file(name), data)\n",
            ),
        ),
        on(COMPACT, check_kills),
        "partial",
    ),
    Fault(
        "a summary is announced before it is there",
        (
            Edit(
                COMPACTION,
                'mutation.replace_derived(STATE, markdown(state).encode("utf-8"))\n'
                "        seq = _publish(mutation, numbers, sender, state) if audit else None\n",
                "seq = _publish(mutation, numbers, sender, state) if audit else None\n"
                '        mutation.replace_derived(STATE, markdown(state).encode("utf-8"))\n',
            ),
        ),
        on(COMPACT, check_kills),
        "neither the old nor the new",
    ),
    Fault(
        "a dead writer's summary stays for good",
        (Edit(CHANNEL, "self._remove_leftovers(derived=True)", "self._remove_leftovers()"),),
        on(COMPACT, check_kills),
        "left behind for good",
    ),
    Fault(
        "path locks that cannot be read are none",
        (Edit(SOURCES, 'self._unread(LOCK, "path locks", error)\n            return None', "return ()"),),
        on("compact, first", failing),
        "a failing disk is answered with 0",
    ),
    Fault(
        "a message that cannot be read is left out in silence",
        (
            Edit(
                SOURCES,
                'self._left_out(MESSAGE, "STATE_IO_ERROR" if fault.passing else "STATE_MALFORMED_SOURCE", text)',
                "pass",
            ),
        ),
        on("state, with a cache", failing),
        "a failing disk is answered with 0",
    ),
)


def test_every_deliberate_bug_is_a_piece_of_the_source() -> None:
    found = [f"{fault.name}: {text}" for fault in FAULTS for text in moved(*fault.edits)]
    assert not found, "\n".join(found)
    assert moved(Edit(CHANNEL, "no such piece of the source", ""))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_fault_is_noticed(fault: Fault, folder: Path) -> None:
    with seeded(*fault.edits):
        found = fault.check(folder)
    assert any(fault.sign in text for text in found), found[:5]
    tally.count("seeded faults noticed")


def test_a_seeded_fault_is_gone_afterwards(folder: Path) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "a cursor goes back")
    with seeded(*fault.edits):
        (folder / "wrong").mkdir()
        assert fault.check(folder / "wrong")
    assert fault.check(folder) == []
