"""Messages: post one, find one by number or file name, and the views that move no cursor."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.participants import first_spelling, participant, recipients
from agent_chat.records import message as message_record
from agent_chat.records.message import Message
from agent_chat.records.value import Value
from agent_chat.storage.message_numbers import seq_of
from agent_chat.storage.message_store import Refused, Stored, Unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_chat.records.ref import Ref
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.seen_store import Absent

MAX_KEY_BYTES = 200


class Draft(Value):
    """What a caller wants to post, not yet checked. `to`, `reply`, `topic`, `status` and `key` are None when absent.

    `refs` are as `refs.keep` gives them.
    """

    sender: str
    title: str
    body: str
    to: str | None = None
    reply: str | None = None
    topic: str | None = None
    status: str | None = None
    refs: tuple[str, ...] = ()
    key: str | None = None
    if_seq: int | None = None


class Posted(Value):
    """What became of a draft; `repeated` when an earlier post with the same key was found instead.

    `absent` are recipients, named by it, that were not seen in the channel within a day.
    """

    seq: int
    file: str
    repeated: bool = False
    absent: tuple[Absent, ...] = ()
    warnings: tuple[str, ...] = ()


def post(channel: Channel, draft: Draft) -> Posted:
    """Publishes one message, durably, or nothing at all."""
    posted = _publish(channel, draft)
    channel.seen.note(draft.sender)
    try:
        return posted.replace(absent=channel.seen.absent(recipients(channel, draft.sender, draft.to)))
    except OSError as error:
        return posted.replace(warnings=(f"when its recipients were seen cannot be told: {error}",))


def _publish(channel: Channel, draft: Draft) -> Posted:
    sender = participant(channel, draft.sender)
    message = plan_message(draft, sender, recipients(channel, sender, draft.to))
    with channel.mutation() as mutation:
        numbers = mutation.numbers()
        message = message.replace(sender=first_spelling(channel, numbers, sender))
        if draft.key is not None:
            earlier = _posted_with_key(channel, numbers, message, draft)
            if earlier is not None:
                return earlier
        if draft.reply is not None:
            message = plan_reply(message, parent_of(channel, numbers, draft.reply), draft.topic)
        if draft.if_seq is not None:
            _require_not_moved(channel, numbers, draft.if_seq, sender)
        message = channel.workspace.signed(message.replace(created=channel.workspace.clock.timestamp()))
        seq, file = mutation.publish(message, numbers)
    return Posted(seq=seq, file=file)


def plan_message(draft: Draft, sender: str, to: tuple[str, ...]) -> Message:
    """Returns the message that a draft asks for, without number, time and parent; refuses what breaks a rule."""
    for what, text, limit in (
        ("title", draft.title, message_record.MAX_TITLE_BYTES),
        ("body", draft.body, message_record.MAX_BODY_BYTES),
        ("key", draft.key or "", MAX_KEY_BYTES),
    ):
        _require_text(what, text, limit)
    if not draft.title.strip() and not draft.body:
        raise ChatError("MESSAGE_EMPTY", "neither title nor body holds anything")
    status = names.status_label(draft.status) if draft.status is not None else ""
    if message_record.is_audit_status(status):
        raise ChatError("MESSAGE_STATUS_RESERVED", f"{names.quoted(status)} is a status of audit messages")
    if draft.key == "":
        raise ChatError("MESSAGE_INVALID", "the key is empty")
    for ref in draft.refs:
        checked_ref(ref)
    message = Message(
        seq=0,
        sender=sender,
        title=draft.title,
        body=draft.body if not draft.body or draft.body.endswith("\n") else draft.body + "\n",
        to=to,
        topic=names.topic_name(draft.topic) if draft.topic is not None else "",
        status=status,
        refs=draft.refs,
        key=draft.key or "",
    )
    header = len(message_record.render(message.replace(body="")))
    if header > message_record.MAX_HEADER_BYTES:
        raise ChatError("MESSAGE_TOO_LARGE", f"title, refs and recipients make a header of {header} bytes")
    return message


def checked_ref(text: str) -> Ref:
    """Returns what a ref says; refuses what has no form of one."""
    from agent_chat.records import ref as ref_record

    _require_text("ref", text, message_record.MAX_TITLE_BYTES)
    ref = ref_record.parse(text)
    if ref is None:
        raise ChatError("MESSAGE_INVALID", f"{names.quoted(text)} is no ref: {ref_record.FORM}")
    return ref


def plan_reply(message: Message, parent: Message | Tombstone, topic: str | None) -> Message:
    """Returns a message as a reply: it takes over its parent's topic, and may not ask for another."""
    inherited = parent.topic or "general"
    if topic is not None and topic != inherited:
        raise ChatError(
            "MESSAGE_TOPIC_MISMATCH", f"#{parent.seq} has the topic {inherited}, so its replies cannot have {topic}"
        )
    return message.replace(reply_to=parent.seq, topic=parent.topic)


def number_in(text: str) -> int | None:
    """Returns the number that a caller means by 12, #12 or a message's file name; None when it means none."""
    digits = text[1:] if text.startswith("#") else text
    if digits.isascii() and digits.isdigit() and len(digits) <= 10:
        return int(digits)
    return seq_of(text)


def find(channel: Channel, numbers: Numbers, text: str) -> Stored:
    """Returns the message that a number (12, #12) or a file name means.

    Fails with MESSAGE_NOT_FOUND, MESSAGE_DAMAGED, MESSAGE_AMBIGUOUS for a number that several files carry, or
    MESSAGE_PRUNED for a message that retention removed.
    """
    seq = number_in(text) or 0
    file = text if text.endswith(".md") else ""
    files = [name for name in numbers.names_of(seq) if file in ("", name)]
    if not files:
        removed = pruned(channel, numbers, text)
        if removed is not None:
            raise _pruned_refusal(channel, removed)
        moved = _renumbered(channel, numbers, seq, file)
        if moved:
            return _the_one(channel, seq, moved)
        raise channel.refusal(
            "MESSAGE_NOT_FOUND",
            f"no message {names.quoted(text)} in {channel.name} ({channel.workspace.describe()}); "
            f"the last is #{numbers.latest}",
            call=f"peek {channel.name}",
        )
    loaded = channel.messages.load_unit(seq, files)
    stored = [item for item in loaded if isinstance(item, Stored)]
    if stored:
        return _the_one(channel, seq, stored)
    reason = next(item for item in loaded if isinstance(item, (Refused, Unfinished)))
    raise channel.refusal(
        "MESSAGE_DAMAGED",
        f"{reason.file} is no message: {reason.reason}",
        call=f"doctor {channel.name}",
    )


def parent_of(channel: Channel, numbers: Numbers, text: str) -> Message | Tombstone:
    """Returns the message that is to be answered, or what is kept of it; fails as `find` does for any other."""
    try:
        return find(channel, numbers, text).message
    except ChatError as error:
        removed = pruned(channel, numbers, text) if error.code == "MESSAGE_PRUNED" else None
        if removed is None:
            raise
        return removed


def pruned(channel: Channel, numbers: Numbers, text: str) -> Tombstone | None:
    """Returns what is kept of the message that a number or a file name means, None unless retention removed it."""
    seq = number_in(text) or 0
    if numbers.removed is None or not seq:
        return None
    file = text if text.endswith(".md") else ""
    if any(file in ("", name) for name in numbers.names_of(seq)):
        return None
    every = channel.messages.tombstones.load()
    found = [each for each in every if each.seq == seq and file in ("", each.file)]
    rest = file.partition("-")[2]
    found += [each for each in every if seq in each.was and rest in ("", each.file.partition("-")[2])]
    return found[0] if found else None


def _pruned_refusal(channel: Channel, removed: Tombstone) -> ChatError:
    topic = f", topic {removed.topic}" if removed.topic else ""
    sender: dict[str, Any] = {"from": removed.sender}
    return channel.refusal(
        "MESSAGE_PRUNED",
        f"#{removed.seq} of {removed.sender}{topic}, sent {removed.created or 'at an unknown time'}, was pruned "
        f"({channel.workspace.describe()}); its file had the SHA-256 {removed.sha256}",
        call=f"thread {channel.name} {removed.seq}",
        seq=removed.seq,
        topic=removed.topic or None,
        created=removed.created,
        sha256=removed.sha256,
        **sender,
    )


def _the_one(channel: Channel, seq: int, stored: list[Stored]) -> Stored:
    """Returns the only one of the messages that a number means; MESSAGE_AMBIGUOUS where there are several."""
    if len(stored) == 1:
        return stored[0]
    choices = [item.file for item in stored]
    raise channel.refusal(
        "MESSAGE_AMBIGUOUS",
        f"#{seq} is carried by {len(choices)} files: {', '.join(choices)}",
        call=f"show {channel.name} {choices[0]}",
        files=choices,
    )


def _renumbered(channel: Channel, numbers: Numbers, seq: int, file: str) -> list[Stored]:
    """Returns the messages that had a number before they got another one; with `file` only one that had that name."""
    found: list[Stored] = []
    for _, files in numbers.after(0) if seq else ():
        for stored in channel.messages.stored_in(files):
            message = stored.message
            if seq in message.was and (not file or file in _old_names(message)):
                found.append(stored)
    return found


def _old_names(message: Message) -> list[str]:
    """Returns the file names that a message had under its old numbers, if they were of our making."""
    return [names.message_file_name(seq, message.sender, message.title) for seq in message.was]


def _require_text(what: str, text: str, limit: int) -> None:
    """Refuses what is no text or too much of it."""
    if "\0" in text:
        raise ChatError("MESSAGE_NOT_TEXT", f"the {what} holds a NUL at character {text.index(chr(0))}")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ChatError("MESSAGE_NOT_TEXT", f"the {what} is no valid UTF-8 at character {error.start}") from None
    if size > limit:
        raise ChatError("MESSAGE_TOO_LARGE", f"the {what} has {size} bytes, at most {limit} are allowed")


def _require_not_moved(channel: Channel, numbers: Numbers, if_seq: int, sender: str) -> None:
    if numbers.latest > if_seq:
        raise channel.refusal(
            "CHANNEL_MOVED",
            f"{channel.name} is at #{numbers.latest}, past {if_seq}; nothing was posted",
            call=f"read {channel.name} --after {if_seq} --as {sender}",
            latest_seq=numbers.latest,
        )


def _posted_with_key(channel: Channel, numbers: Numbers, message: Message, draft: Draft) -> Posted | None:
    """Returns the earlier post of the same sender with the same key, if there is one with the same content.

    The parent is compared by number alone: it need not be there, or be the only one of its number, any more.
    """
    parents = _parents(channel, numbers, draft.reply)
    wanted = content_of(message)
    if draft.reply is not None and draft.topic is None:
        del wanted["topic"]  # it is the parent's
    start = names.fold(message.sender) + "-"
    for seq, files in numbers.before(numbers.highest + 1):
        own = [file for file in files if names.fold(file.partition("-")[2]).startswith(start)]
        for stored in channel.messages.stored(seq, own) if own else ():
            earlier = stored.message
            if earlier.key != message.key or not names.same(earlier.sender, message.sender):
                continue
            content = content_of(earlier)
            changes = [field for field in wanted if content[field] != wanted[field]]
            if earlier.reply_to not in parents:
                changes.append("parent")
            if changes:
                raise channel.refusal(
                    "MESSAGE_KEY_CONFLICT",
                    f"the key {names.quoted(message.key)} was used for #{seq} with another {changes[0]}",
                    call=f"show {channel.name} {seq}",
                    seq=seq,
                )
            return Posted(seq=seq, file=stored.file, repeated=True)
    return _pruned_with_key(channel, numbers, message, draft, parents)


def _pruned_with_key(
    channel: Channel, numbers: Numbers, message: Message, draft: Draft, parents: set[int | None]
) -> Posted | None:
    """Returns the earlier post with the same key and content that retention removed, if there is one."""
    found = None
    for each in channel.messages.tombstones.with_key(message.key) if numbers.removed is not None else ():
        if names.same(each.sender, message.sender):
            found = each if found is None or each.seq > found.seq else found
    if found is None:
        return None
    content = content_of(message)
    if draft.reply is not None and draft.topic is None:
        content["topic"] = found.topic or "general"  # it is the parent's
    if not any(found.has_content(content, parent) for parent in parents):
        raise channel.refusal(
            "MESSAGE_KEY_CONFLICT",
            f"the key {names.quoted(message.key)} was used for #{found.seq} with another content; it was pruned",
            call=f"thread {channel.name} {found.seq}",
            seq=found.seq,
        )
    return Posted(seq=found.seq, file=found.file, repeated=True)


def _parents(channel: Channel, numbers: Numbers, reply: str | None) -> set[int | None]:
    """Returns the numbers that an earlier post of the same reply may have answered, old ones of the parent too."""
    if reply is None:
        return {None}
    number = number_in(reply)
    try:
        parent = parent_of(channel, numbers, reply)
    except ChatError:
        if number is None:
            raise
        return {number}
    return {number, parent.seq, *parent.was} - {None}


def content_of(message: Message) -> dict[str, object]:
    """Returns what makes two posts the same one, in a form in which spelling does not matter."""
    return {
        "title": message.title,
        "body": message.body,
        "to": sorted(names.fold(name) for name in message.to),
        "status": message.status,
        "refs": message.refs,
        "topic": message.topic or "general",
    }
