"""The commands on messages: post, read, peek, show, thread, inbox, ack, search and claim."""

from __future__ import annotations

from agent_chat.cli import message_text
from agent_chat.cli.acting import after_failures, agent_text, bounds_of, channel_of, guard_of, reader_of, skips_of
from agent_chat.cli.command import Reply
from agent_chat.cli.page_reply import late_line, message_fields, page_reply, vouched
from agent_chat.errors import ChatError
from agent_chat.operations import messages, reading
from agent_chat.records.shown_text import safe_line
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_chat.cli.command import Request
    from agent_chat.operations.messages import Posted
    from agent_chat.operations.reading import Page
    from agent_chat.storage.seen_store import Absent

SHOWN_OF_PRUNED = ("seq", "file", "from", "topic", "created", "sha256")


def post(request: Request) -> Reply:
    """Publishes one message."""
    from agent_chat.cli.standard_input import body

    channel = channel_of(request)
    refs, warnings = _refs(request)
    draft = messages.Draft(
        sender=agent_text(request),
        title=request.text("title"),
        body=body(request),
        to=request.optional_text("to"),
        reply=request.optional_text("reply"),
        topic=request.optional_text("topic"),
        status=request.optional_text("status"),
        refs=refs,
        key=request.optional_text("key"),
        if_seq=request.optional_integer("if_seq"),
    )
    guard_of(request)()  # the body may have taken its time to come
    posted = messages.post(channel, draft)
    line = f"#{posted.seq} {channel.name}/{safe_line(posted.file)}" + (" (posted before)" if posted.repeated else "")
    return Reply(
        data={
            **channel.where(),
            "seq": posted.seq,
            "file": posted.file,
            "repeated": posted.repeated,
            "summoned": [],
            "missed": [],
            "not_seen": [_absent_fields(each) for each in posted.absent],
        },
        text="\n".join((line, *_not_seen(posted))),
        warnings=(*warnings, *posted.warnings),
        summary=f"posted {line}",
    )


def _refs(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the refs of a call to post as they will be stored, and warnings about them."""
    if not request.texts("ref"):
        return (), ()
    from agent_chat.cli.refs import kept_refs

    return kept_refs(request)


def _absent_fields(each: Absent) -> dict[str, object]:
    return {"name": each.name, "since": None if each.since is None else format_utc(each.since)}


def _not_seen(posted: Posted) -> list[str]:
    """Returns what is to be said of recipients that may not see a message soon: it is stored, and no more."""
    never = [each.name for each in posted.absent if each.since is None]
    lines = [f"stored; {', '.join(never)} not seen here yet"] if never else []
    for each in posted.absent:
        if each.since is not None:
            lines.append(f"stored; {each.name} not seen since {message_text.short_time(format_utc(each.since))}")
    return lines


def read(request: Request) -> Reply:
    """Shows what is new for an agent; the cursor moves once it was shown."""
    channel = channel_of(request)
    agent = reader_of(request, channel)
    after = request.optional_integer("after")
    page = reading.read_page(
        channel, agent, bounds_of(request), after=after, everything=request.flag("all"), skips=skips_of(request)
    )
    keeps = after is not None or request.flag("peek")
    stored = channel.cursors.seq(agent) if after is not None else page.start
    return page_reply(
        page,
        cursor=stored if keeps else page.passed,
        nothing=f"nothing new for {agent} in {channel.name} (at #{page.passed}{_skipped(page)})",
        after=None if keeps else lambda: reading.advance(page, agent),
    )


def _skipped(page: Page) -> str:
    return f", {page.skipped} skipped" if page.skipped else ""


def peek(request: Request) -> Reply:
    """Shows the last messages, whoever they are for."""
    channel = channel_of(request)
    page = reading.last(channel, request.integer("number"), bounds_of(request, limit="number"))
    return page_reply(page, cursor=page.passed, nothing=f"no messages in {channel.name}")


def show(request: Request) -> Reply:
    """Shows one message."""
    channel = channel_of(request)
    found = messages.find(channel, channel.messages.numbers(), request.text("seq"))
    (stored,), doubts = vouched(request.workspace, (found,))
    by_file = len(channel.messages.numbers().names_of(stored.message.seq)) > 1
    refs: list[dict[str, str]] = []
    if stored.message.refs:
        from agent_chat.cli.refs import looked_at_refs

        refs = looked_at_refs(request, stored.message.refs)

    def text() -> str:
        return message_text.shown_alone(stored, channel.name, refs, by_file=by_file)

    data = {**channel.where(), "message": message_fields(stored), "refs": refs}
    return Reply(data=data, text=text, warnings=doubts)


def thread(request: Request) -> Reply:
    """Shows a message and what answers it."""
    channel = channel_of(request)
    numbers = channel.messages.numbers()
    removed = messages.pruned(channel, numbers, request.text("seq"))
    root = removed or messages.find(channel, numbers, request.text("seq"))
    page = reading.thread(channel, root, numbers, bounds_of(request), after=request.optional_integer("after") or 0)
    reply = page_reply(page, cursor=page.passed, nothing="nothing more in this thread")
    if removed is None:
        return reply
    from agent_chat.records.tombstone import to_json as tombstone_fields

    fields = {key: value for key, value in tombstone_fields(removed).items() if key in SHOWN_OF_PRUNED}
    head = f"#{removed.seq} of {removed.sender} was pruned; what answers it:\n"
    return reply.replace(data={**reply.data, "pruned": fields}, text=lambda: head + reply.as_text())


def search(request: Request) -> Reply:
    """Finds messages by their words."""
    channel = channel_of(request)
    words = request.texts("words")
    sender = request.optional_text("sender")
    page = reading.search(
        channel,
        words,
        bounds_of(request),
        sender=sender,
        topic=request.optional_text("topic"),
        since=_since(request),
        after=request.optional_integer("after") or 0,
    )

    def text(page: Page) -> str:
        found = message_text.snippets(page.stored, words, channel.name, page.doubled)
        return found + (f"more: agent-chat search … --after {page.passed}\n" if page.has_more else "")

    return page_reply(page, cursor=page.passed, nothing=f"nothing found in {channel.name}", text=text)


def _since(request: Request) -> Callable[[str], bool] | None:
    """Returns the test that `--since` asks for: an ISO 8601 date or time, or a span such as 2h before now."""
    from agent_chat import timestamps

    text = request.optional_text("since")
    if text is None:
        return None
    try:
        limit = request.workspace.clock.now() - timestamps.parse_span(text)
    except timestamps.TimestampError:
        try:
            limit = timestamps.parse(text, date_alone=True)
        except timestamps.TimestampError as error:
            raise ChatError("USAGE", f"--since: {error}; or a span such as 90m, 2h, 3d") from None

    def is_since(created: str) -> bool:
        try:
            return bool(timestamps.parse(created) >= limit)
        except timestamps.TimestampError:
            return True  # a message whose time cannot be read is rather shown than hidden

    return is_since


def inbox(request: Request) -> Reply:
    """Counts an agent's unread messages in every channel."""
    from agent_chat.operations.inbox import inbox as look

    agent = agent_text(request)
    looked, failures = look(request.workspace, agent)
    entries = [entry for entry in looked if entry.unread]
    shown = [{"channel": e.channel, "unread": e.unread, "from": list(e.senders), "oldest": e.oldest} for e in entries]
    lines = [f"{e.channel}: {e.unread} unread from {', '.join(e.senders)}, oldest #{e.oldest}" for e in entries]
    reply = Reply(
        data={**request.workspace.where(), "channels": shown},
        text="\n".join(lines) or ("" if failures else f"nothing unread for {safe_line(agent)}"),
        warnings=tuple(entry.warning for entry in looked if entry.warning),
    )
    return after_failures(reply, failures)


def ack(request: Request) -> Reply:
    """Moves an agent's cursor."""
    channel = channel_of(request)
    agent = reader_of(request, channel)
    reset = request.optional_integer("reset")
    target = request.optional_text("seq")
    if (target is None) == (reset is None):
        raise ChatError("USAGE", "give a number to move to, or --reset N", next="agent-chat ack --help")
    numbers = channel.messages.numbers()
    seq = reset if reset is not None else messages.number_in(str(target))
    if seq is None:
        seq = messages.find(channel, numbers, str(target)).message.seq
    late = reading.late_below_cursor(channel, agent, numbers, reset=reset)
    now, previous = reading.acknowledge(channel, agent, seq, reset=reset is not None, numbers=numbers, late=late)
    line = f"{agent} at #{now} in {channel.name} (was #{previous})"
    announced = late_line(channel, late)
    return Reply(
        data={**channel.where(), "cursor": now, "previous": previous},
        text=line,
        summary=line,
        warnings=(announced,) if announced else (),
    )


def claim(request: Request) -> Reply:
    """Takes a marker."""
    from agent_chat.operations.markers import claim as take

    channel = channel_of(request)
    claimed = take(channel, request.text("marker"), agent_text(request))
    line = f"claimed {claimed.marker} as {claimed.claimed_as} (#{claimed.seq})"
    return Reply(
        data={
            **channel.where(),
            "marker": claimed.marker,
            "claimed_as": claimed.claimed_as,
            "seq": claimed.seq,
        },
        text=line,
        summary=line,
    )
