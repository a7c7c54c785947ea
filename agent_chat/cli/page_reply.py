"""Replies that show pages of messages: the JSON fields, the text, and what is said beside the messages."""

from __future__ import annotations

from agent_chat.cli import message_text
from agent_chat.cli.command import Reply
from agent_chat.records.message import to_json
from agent_chat.records.shown_text import safe_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_chat.operations.late import Late
    from agent_chat.operations.reading import Page
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_store import Stored
    from agent_chat.storage.workspace import Workspace

LATE_NAMED = 10


def message_fields(stored: Stored) -> dict[str, object]:
    """Returns the JSON form of a message."""
    return to_json(stored.message, stored.file, unverified=stored.unverified)


def vouched(workspace: Workspace, items: Sequence[Stored]) -> tuple[tuple[Stored, ...], tuple[str, ...]]:
    """Returns messages as they are to be shown, those that name a session looked into, and why some could not be."""
    if not any(item.message.session or item.message.connection for item in items):
        return tuple(items), ()
    from agent_chat.operations.witness import Witness

    witness = Witness(workspace)
    checked = tuple(witness.checked(item) for item in items)
    return checked, tuple(f"some messages cannot be verified: {fault}" for fault in witness.faults)


def vouched_page(page: Page) -> tuple[Page, tuple[str, ...]]:
    """Returns a page as it is to be shown, and why some of its messages could not be looked into."""
    stored, doubts = vouched(page.channel.workspace, page.stored)
    return page.replace(stored=stored), doubts


def page_fields(page: Page, cursor: int) -> dict[str, object]:
    """Returns the JSON fields of one page; `cursor` is the value about to be stored."""
    fields: dict[str, object] = {
        **page.channel.where(),
        "messages": [message_fields(stored) for stored in page.stored],
        "latest_seq": page.latest,
        "has_more": page.has_more,
        "next_after": page.passed,
        "cursor": cursor,
    }
    if page.skipped:
        fields["skipped"] = page.skipped
    if page.late.count:
        fields["late"] = list(page.late.files)
        fields["late_count"] = page.late.count
    if page.lost is not None:
        fields["lost"] = {"count": page.lost.count, "first": page.lost.first, "last": page.lost.last}
    if page.held or page.late.held:
        fields["held"] = page.held or page.late.held
    return fields


def page_warnings(page: Page) -> tuple[str, ...]:
    """Returns what must be said beside a page: files set aside, a file still being written, a cursor out of range."""
    found = [f"set aside, no message: {text}" for text in page.set_aside]
    if page.held:
        found.append(f"stopped before {page.held}; read again")
    if page.late.held:
        found.append(f"below the cursor, not read yet: {page.late.held}; read again")
    if page.ahead:
        found.append(page.ahead)
    return tuple(found)


def late_line(channel: Channel, late: Late) -> str:
    """Returns the announcement of messages that arrived below the cursor in a channel; "" when none did."""
    if not late.count:
        return ""
    shown = safe_line(", ".join(late.files[:LATE_NAMED]))
    more = late.count - min(len(late.files), LATE_NAMED)
    if not late.files:
        return f"late: {late.unnamed} messages arrived below the cursor; read with --after 0 shows all"
    rest = f" and {more} more, which {channel.workspace.call(f'doctor {channel.name}')} names" if more > 0 else ""
    return f"late: arrived below the cursor: {shown}{rest}; {channel.workspace.call(f'show {channel.name} FILE')}"


def lost_line(page: Page) -> str:
    """Returns what to say of messages that retention removed before they were read; "" where none were."""
    if page.lost is None:
        return ""
    if page.lost.count == 1:
        return f"lost to retention: 1 message, #{page.lost.first}\n"
    return f"lost to retention: {page.lost.count} messages, #{page.lost.first} to #{page.lost.last}\n"


def page_text(page: Page, again: Sequence[Stored] = (), *, moves: bool = True) -> str:
    """Returns a page as text; `moves` says that the cursor will be where the page ends."""
    more = ""
    if page.has_more and not page.held:
        how = "call again" if moves else f"call again with --after {page.passed}"
        more = f"more: {page.latest - page.passed} numbers follow; {how}\n"
    late = late_line(page.channel, page.late)
    return (
        lost_line(page)
        + (late and late + "\n")
        + message_text.blocks((*again, *page.stored), page.channel.name, page.doubled)
        + more
    )


def page_reply(
    page: Page,
    *,
    cursor: int,
    nothing: str,
    after: Callable[[], None] | None = None,
    text: Callable[[Page], str] | None = None,
) -> Reply:
    """Returns the reply of a command that shows one page; `text` makes the text of the page as it is to be shown."""
    page, doubts = vouched_page(page)

    def whole() -> str:
        # What could not be looked at is not "nothing": the error or the warning stands alone then.
        shown = text(page) if text is not None else page_text(page, moves=after is not None)
        return shown or ("" if page.error or page.held else nothing)

    return Reply(
        data=page_fields(page, cursor),
        text=whole,
        warnings=(*page_warnings(page), *doubts),
        after=after,
        error=page.error,
    )
