"""What the doctor looks at in messages: each file, what answers what, events, and what lies unread below a cursor."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.events import event_in
from agent_chat.operations.findings import Finding, check_kind, mode_findings, unreadable
from agent_chat.operations.late import below_every_cursor
from agent_chat.records.digest import sha256_of
from agent_chat.records.event import EventError
from agent_chat.records.message import MAX_FILE_BYTES
from agent_chat.storage.filesystem import is_file
from agent_chat.storage.layout import TOMBSTONES
from agent_chat.storage.message_store import COPY, Refused, Stored, Unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers


def check_unit(channel: Channel, seq: int, files: list[str]) -> tuple[list[Stored], list[Finding]]:
    """Checks the files of one number."""
    findings: list[Finding] = []
    try:
        unit = channel.messages.load_unit(seq, files)
    except OSError as error:
        return [], [unreadable(channel.layout.file(files[0]), error, id="message.file")]
    stored = [item for item in unit if isinstance(item, Stored)]
    for item in unit:
        path = channel.layout.file(item.file)
        if isinstance(item, Unfinished):
            findings.append(
                Finding(id="message.unfinished", path=path, message=item.reason, remedy="look again in a moment")
            )
        elif isinstance(item, Refused):
            kind = "message.copy" if item.reason == COPY else "message.valid"
            if not is_file(channel.workspace.files.status(path)):
                kind = "message.file"
            remedy = "remove it" if kind == "message.copy" else "mend it by hand, or move it away"
            findings.append(Finding(id=kind, path=path, message=item.reason, remedy=remedy))
        else:
            findings += mode_findings(channel.workspace.files, path)
    for extra in stored[1:]:
        findings.append(
            Finding(
                id="message.unique",
                path=channel.layout.file(extra.file),
                message=f"{stored[0].file} carries #{seq} too",
                remedy=channel.workspace.call(f"doctor {channel.name} --fix") + " gives it the next free number",
            )
        )
    return stored, findings


def check_numbers(channel: Channel, numbers: Numbers) -> Iterator[Finding]:
    """Checks that a next message can have a number."""
    used = channel.highest_used(numbers, channel.taken_back())
    if used >= names.MAX_SEQ:
        files = numbers.names_of(used)
        yield Finding(
            id="channel.numbers",
            path=channel.layout.file(files[0]) if files else channel.layout.folder,
            message=f"#{used} is used, and {names.MAX_SEQ} is the last that a message can have",
            remedy="move away what carries that number, if it is none; else go on in another channel",
        )


def check_parents(channel: Channel, stored: Sequence[Stored], removed: Sequence[Tombstone] = ()) -> Iterator[Finding]:
    """Checks that what is answered is there, under its number or under the one that it had, or has a tombstone."""
    known = {number for item in stored for number in (item.message.seq, *item.message.was)}
    known.update(number for each in removed for number in (each.seq, *each.was))
    for item in stored:
        parent = item.message.reply_to
        if parent is not None and parent not in known:
            yield Finding(
                id="message.parent",
                path=channel.layout.file(item.file),
                message=f"it answers #{parent}, which is not there",
                remedy="restore that message, if it can be had",
            )


def check_tombstones(channel: Channel, stored: Sequence[Stored], removed: Sequence[Tombstone]) -> Iterator[Finding]:
    """Checks the lines of the tombstones, and that no message has the number of another that was removed."""
    for number, fault in channel.messages.tombstones.faults():
        yield Finding(
            id="tombstone.valid",
            path=channel.layout.file(TOMBSTONES),
            message=f"line {number} is no tombstone: {fault}",
            remedy="restore that line, or take it out; nothing reads it",
        )
    there = {item.message.seq: item.file for item in stored}
    of_number: dict[int, list[Tombstone]] = {}
    for each in removed:
        if each.seq in there:
            of_number.setdefault(each.seq, []).append(each)
    for item in stored:
        others = of_number.get(item.message.seq, [])
        path = channel.layout.file(item.file)
        if others:
            found = sha256_of(channel.workspace.files.read_file(path, MAX_FILE_BYTES))
            if all(each.sha256 != found for each in others):
                yield Finding(
                    id="tombstone.agrees",
                    path=path,
                    message=f"{others[0].file} had the number #{item.message.seq} too, and was removed",
                    remedy="keep it: readers are given it; who answers it should name its file",
                )


def check_events(channel: Channel, stored: Sequence[Stored]) -> Iterator[Finding]:
    """Checks that what is posted as an event is one."""
    for item in stored:
        if item.message.is_event:
            try:
                event_in(item.message)
            except EventError as error:
                yield Finding(
                    id="event.valid",
                    path=channel.layout.file(item.file),
                    message=f"{error.code}: {error}",
                    remedy="nothing counts it; post the event anew, or move the file away",
                )


def check_cursors(channel: Channel, numbers: Numbers, stored: Sequence[Stored]) -> tuple[list[str], list[Finding]]:
    """Checks the cursors; returns the files that arrived below one, too."""
    findings: list[Finding] = []
    try:
        every = channel.cursors.every()
        late, unclear = below_every_cursor(channel, numbers, stored)
        for path in channel.cursors.locks():
            findings += check_kind(channel.workspace.files, path)
    except (OSError, ChatError) as error:
        return [], [
            Finding(id="cursor.valid", path=channel.layout.cursors, message=str(error), remedy="mend its permissions")
        ]
    findings += _late_findings(channel, late, unclear)
    for name, cursor in sorted(every.items()):
        path = channel.layout.cursors_file(name + ".txt")
        if names.fault_of_name(name) is not None or names.fold(name) != name:
            findings.append(
                Finding(id="cursor.name", path=path, message="it is no agent's cursor", remedy="move it away")
            )
        elif cursor is None:
            findings.append(
                Finding(
                    id="cursor.valid",
                    path=path,
                    message="it holds no number",
                    remedy=channel.workspace.call(f"ack {channel.name} --reset 0 --as {name}"),
                )
            )
        elif cursor.seq > numbers.latest and cursor.seq > channel.messages.numbers().latest:
            findings.append(
                Finding(
                    id="cursor.range",
                    path=path,
                    message=f"it is at #{cursor.seq}, the last message is #{numbers.latest}",
                    remedy=channel.workspace.call(f"ack {channel.name} --reset {numbers.latest} --as {name}"),
                )
            )
    return late, findings


def _late_findings(channel: Channel, late: list[str], unclear: list[str]) -> Iterator[Finding]:
    """Tells of what lies unread below a cursor, by name, or by the agent whose cursor it is."""
    call = channel.workspace.call
    for file in late:
        yield Finding(
            id="message.late",
            path=channel.layout.file(file),
            message="it arrived below a cursor",
            remedy=call(f"doctor {channel.name} --fix") + " gives it the next free number",
        )
    for agent in unclear:
        yield Finding(
            id="message.late",
            path=channel.layout.cursor(agent),
            message="messages arrived below it that cannot be told by name",
            remedy=call(f"read {channel.name} --after 0 --as {agent}") + " shows all; then read once more",
        )
