"""The command wait."""

from __future__ import annotations

from agent_chat.cli import condition_commands
from agent_chat.cli.acting import agent_text, bounds_of, guard_of, skips_of
from agent_chat.cli.command import Reply
from agent_chat.cli.page_reply import message_fields, page_fields, page_text, page_warnings, vouched, vouched_page
from agent_chat.errors import ChatError
from agent_chat.operations import messages, reading, waiting
from agent_chat.operations.participants import participant
from agent_chat.records.shown_text import safe_line
from agent_chat.storage.channel import open_channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.waiting import Outcome
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_store import Stored

MAX_TIMEOUT = condition_commands.MAX_TIMEOUT


def wait(request: Request) -> Reply:
    """Blocks until something for the agent is there, then shows it; the cursors move once it was shown."""
    channels: list[Channel] = []
    for text in request.texts("channels"):
        channel = open_channel(request.workspace, text)
        if all(channel.name != known.name for known in channels):
            channels.append(channel)
    named = agent_text(request)
    if request.optional_text("task") is not None or request.optional_text("path") is not None:
        return condition_commands.wait(request, channels, named)
    after = request.optional_integer("after")
    agents = tuple(participant(channel, named) for channel in channels)
    asked = waiting.Request(
        channels=tuple(channels),
        agents=agents,
        timeout=min(request.seconds("timeout"), MAX_TIMEOUT),
        interval=max(request.seconds("interval"), 0.01),
        bounds=bounds_of(request),
        after=after,
        reply_to=_reply_to(request, channels),
        skips=skips_of(request),
        guard=guard_of(request),
    )
    outcome = waiting.wait(asked)
    keeps = after is not None or request.flag("peek")

    def advance() -> None:
        failures: list[ChatError] = []
        spelled = {channel.name: agent for channel, agent in zip(channels, agents)}
        for page, agent in ((page, spelled[page.channel.name]) for page in (*outcome.pages, *outcome.over)):
            try:
                reading.advance(page, agent)
            except ChatError as error:
                failures.append(error)  # the other channels were shown too
        if failures:
            raise failures[0]

    return _reply(asked, outcome, keeps=keeps).replace(after=None if keeps else advance)


def _reply_to(request: Request, channels: list[Channel]) -> Stored | Tombstone | None:
    """Returns the message whose reply is waited for, or what retention kept of it; it must be there, or have been."""
    text = request.optional_text("reply_to")
    if text is None:
        return None
    if len(channels) != 1:
        raise ChatError("USAGE", "--reply-to goes with one channel", next="agent-chat wait --help")
    numbers = channels[0].messages.numbers()
    return messages.pruned(channels[0], numbers, text) or messages.find(channels[0], numbers, text)


def _reply(asked: waiting.Request, outcome: Outcome, *, keeps: bool) -> Reply:
    if outcome.timed_out:
        return _timed_out(asked, outcome, keeps=keeps)
    checked = [vouched_page(page) for page in outcome.pages]
    again_shown, doubts = vouched(asked.channels[0].workspace, outcome.again)
    outcome = outcome.replace(pages=tuple(page for page, _ in checked), again=again_shown)
    # One damaged record is told once, however many pages name its session.
    doubts = tuple(dict.fromkeys((*doubts, *(doubt for _, found in checked for doubt in found))))
    single = len(outcome.pages) == 1
    fields: list[dict[str, object]] = []
    for page, agent in zip(outcome.pages, asked.agents):
        kept = page.channel.cursors.seq(agent) if asked.after is not None else page.start
        fields.append(page_fields(page, kept if keeps else page.passed))
    again = [message_fields(stored) for stored in outcome.again]

    def text() -> str:
        shown = [(page.channel.name, page_text(page, outcome.again, moves=not keeps)) for page in outcome.pages]
        if single:
            return shown[0][1]
        return "".join(f"== {name}\n{part}" for name, part in shown if part)

    warnings = (*outcome.warnings, *(text for page in outcome.pages for text in page_warnings(page)), *doubts)
    error = next((page.error for page in outcome.pages if page.error is not None), None)
    if single:
        data = fields[0]
        data["messages"] = [*again, *_list(data["messages"])]
    else:
        data = _joined(fields)
    return Reply(data={**data, "timed_out": False}, text=text, warnings=warnings, error=error)


def _joined(fields: list[dict[str, object]]) -> dict[str, object]:
    """Returns several channels' pages as one reply: messages name their channel, cursors are by channel."""
    data: dict[str, object] = {key: fields[0][key] for key in ("root", "root_from")}
    joined: list[object] = []
    for page in fields:
        for message in _list(page["messages"]):
            assert isinstance(message, dict)
            joined.append({"channel": page["channel"], **message})
    data["messages"] = joined
    data["has_more"] = any(page["has_more"] for page in fields)
    for key in ("latest_seq", "next_after", "cursor", "late", "late_count", "lost", "held", "skipped"):
        values = {str(page["channel"]): page[key] for page in fields if key in page}
        if values:
            data[key] = values
    data["channels"] = [page["channel"] for page in fields]
    return data


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _timed_out(asked: waiting.Request, outcome: Outcome, *, keeps: bool) -> Reply:
    """Returns the negative answer: nothing came, call again."""
    where = ", ".join(channel.name for channel in asked.channels)
    cursors = {c.name: c.cursors.seq(agent) for c, agent in zip(asked.channels, asked.agents)}
    if not keeps:
        cursors.update((page.channel.name, max(page.passed, cursors[page.channel.name])) for page in outcome.over)
    latest = {c.name: c.messages.numbers().latest for c in asked.channels}
    points = cursors if asked.after is None else dict.fromkeys(cursors, asked.after)
    single = len(asked.channels) == 1
    name = asked.channels[0].name
    data: dict[str, object] = {
        **(asked.channels[0].where() if single else asked.channels[0].workspace.where()),
        "messages": [],
        "latest_seq": latest[name] if single else latest,
        "has_more": False,
        "next_after": points[name] if single else points,
        "cursor": cursors[name] if single else cursors,
        "timed_out": True,
    }
    if not single:
        data["channels"] = list(cursors)
    what = f"no reply to #{asked.answered}" if asked.reply_to is not None else "nothing new"
    line = f"{what} for {safe_line(asked.agents[0])} in {where} within {asked.timeout:g} s; call again"
    return Reply(data=data, text=line, status=1, warnings=outcome.warnings)
