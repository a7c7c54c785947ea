"""Replies that show pages of messages: the JSON fields, the text, and what is said beside the messages."""

from __future__ import annotations

from agent_chat.cli import message_text
from agent_chat.cli.command import Reply
from agent_chat.cli.output import safe_line
from agent_chat.records.message import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_chat.operations.reading import Page
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_store import Stored

LATE_NAMED = 10


def page_fields(page: Page, cursor: int) -> dict[str, object]:
    """Returns the JSON fields of one page; `cursor` is the value about to be stored."""
    fields: dict[str, object] = {
        **page.channel.where(),
        "messages": [to_json(stored.message, stored.file) for stored in page.stored],
        "latest_seq": page.latest,
        "has_more": page.has_more,
        "next_after": page.passed,
        "cursor": cursor,
    }
    if page.late_count:
        fields["late"] = list(page.late)
    if page.held:
        fields["held"] = page.held
    return fields


def page_warnings(page: Page) -> tuple[str, ...]:
    """Returns what must be said beside a page: files set aside, a file still being written, a cursor out of range."""
    found = [f"set aside, no message: {text}" for text in page.set_aside]
    if page.held:
        found.append(f"stopped before {page.held}; read again")
    if page.start > page.latest:
        name = page.channel.name
        found.append(
            f"reading starts after #{page.start}, but the last message of {name} is #{page.latest}; "
            f"if that is wrong: {page.channel.workspace.call(f'ack {name} --reset {page.latest}')}"
        )
    return tuple(found)


def late_line(channel: Channel, late: Sequence[str], count: int) -> str:
    """Returns the announcement of messages that arrived below the cursor in a channel; "" when none did."""
    if not count:
        return ""
    call = channel.workspace.call
    if not late:
        return f"late: {count} messages arrived below the cursor; {call(f'read {channel.name} --after 0')} shows all"
    shown = safe_line(", ".join(late[:LATE_NAMED]))
    more = count - LATE_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"late: arrived below the cursor: {shown}{rest}; {call(f'show {channel.name} FILE')}"


def page_text(page: Page, again: Sequence[Stored] = ()) -> str:
    """Returns a page as text."""
    more = f"more: {page.latest - page.passed} numbers follow; call again\n" if page.has_more and not page.held else ""
    late = late_line(page.channel, page.late, page.late_count)
    return (late and late + "\n") + message_text.blocks((*again, *page.stored), page.channel.name) + more


def page_reply(
    page: Page,
    *,
    cursor: int,
    nothing: str,
    after: Callable[[], None] | None = None,
    text: Callable[[], str] | None = None,
) -> Reply:
    """Returns the reply of a command that shows one page."""

    def shown() -> str:
        # What could not be looked at is not "nothing": the error or the warning stands alone then.
        return (text or (lambda: page_text(page)))() or ("" if page.error or page.held else nothing)

    return Reply(
        data=page_fields(page, cursor),
        text=shown,
        warnings=page_warnings(page),
        after=after,
        error=page.error,
    )
