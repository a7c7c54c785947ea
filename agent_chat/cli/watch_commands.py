"""The command watch: shows messages as they arrive, until it is interrupted; for who can keep a program running."""

from __future__ import annotations

from agent_chat.cli.acting import agent_text, bounds_of, guard_of, skips_of
from agent_chat.cli.command import Reply
from agent_chat.cli.page_reply import late_line, message_fields, page_text, page_warnings, vouched_page
from agent_chat.errors import ChatError
from agent_chat.operations import reading, waiting
from agent_chat.operations.participants import participant
from agent_chat.storage.channel import Channel, open_channel
from agent_chat.storage.channel_folders import channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.cli.command import Request
    from agent_chat.operations.reading import Page

# A wait ends so often, in seconds, so that channels which were made since are watched too.
ROUND_SECONDS = 5.0


def watch(request: Request) -> Reply:
    """Shows what is new for an agent, and goes on; each cursor moves once its page was shown."""
    return Reply(data={}, text="", following=_Watcher(request).parts())


class _Watcher:
    """One call of watch."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._workspace = request.workspace
        self._named = agent_text(request)
        self._after = request.optional_integer("after")
        self._channels = self._named_channels()
        self._every = not self._channels
        if self._after is not None and len(self._channels) != 1:
            raise ChatError("USAGE", "--after goes with one channel", next="agent-chat watch --help")
        self._skips = skips_of(request)
        self._bounds = bounds_of(request)
        self._failed: dict[str, Exception] = {}
        self._told: dict[str, str] = {}
        self._deadline: float | None = None
        if request.values["timeout"] is not None:
            self._deadline = self._workspace.clock.monotonic() + request.seconds("timeout")

    def _named_channels(self) -> list[Channel]:
        channels: list[Channel] = []
        for text in self._request.texts("channels"):
            channel = open_channel(self._workspace, text)
            if all(channel.name != known.name for known in channels):
                channels.append(channel)
        return channels

    def parts(self) -> Iterator[Reply]:
        """Yields what is to be shown, page by page; each is shown before the next is looked for."""
        while True:
            if self._every:
                self._channels = [Channel(self._workspace, name) for name in channel_names(self._workspace)]
            watched = self._watched()
            for name, failure in self._failures():
                data = {**self._workspace.where(), "channel": name}
                yield Reply(data=data, text="", stream=(), warnings=(f"{name} is not watched: {failure}",))
            for page, agent in self._round(watched):
                yield self._part(page, agent, several=self._every or len(watched) > 1)
            if self._deadline is not None and self._left() <= 0:
                return

    def _round(self, watched: list[tuple[Channel, str]]) -> Iterator[tuple[Page, str]]:
        """Waits for one round; yields what there is to show, each page with the agent as its channel spells it."""
        left = self._left()
        if not watched:
            self._workspace.clock.sleep(min(left, self._interval))
            return
        try:
            outcome = waiting.wait(self._asked(watched, left))
        except ChatError as error:
            if not self._every or error.code != "CHANNEL_NOT_FOUND":
                raise
            return  # it was deleted meanwhile, and the others are still watched
        for page, (_, agent) in zip(outcome.pages, watched):
            yield page, agent

    def _failures(self) -> list[tuple[str, Exception]]:
        """Returns the channels that cannot be watched and were not told of yet; the others are watched all the same."""
        new = [(name, error) for name, error in self._failed.items() if self._told.get(name) != str(error)]
        self._told = {name: str(error) for name, error in self._failed.items()}
        return new

    @property
    def _interval(self) -> float:
        seconds = self._request.seconds("interval")
        return max(seconds, 0.01)

    def _left(self) -> float:
        """Returns how long the next round may take."""
        if self._deadline is None:
            return ROUND_SECONDS
        left: float = self._deadline - self._workspace.clock.monotonic()
        return min(ROUND_SECONDS, max(left, 0.0))

    def _watched(self) -> list[tuple[Channel, str]]:
        """Returns the channels with the agent as each spells it; of all channels those that are open to it."""
        found: list[tuple[Channel, str]] = []
        self._failed = {}
        for channel in self._channels:
            try:
                found.append((channel, participant(channel, self._named)))
            except (ChatError, OSError) as error:
                if not self._every:
                    raise
                if getattr(error, "code", "") not in ("AGENT_UNKNOWN", "CHANNEL_NOT_FOUND"):
                    self._failed[channel.name] = error
        return found

    def _asked(self, watched: list[tuple[Channel, str]], left: float) -> waiting.Request:
        return waiting.Request(
            channels=tuple(channel for channel, _ in watched),
            agents=tuple(agent for _, agent in watched),
            timeout=left,
            interval=self._interval,
            bounds=self._bounds,
            after=self._after,
            skips=self._skips,
            guard=guard_of(self._request),
        )

    def _part(self, page: Page, agent: str, *, several: bool) -> Reply:
        """Returns one page as what is to be shown next; the cursor, or the point of --after, moves then."""
        channel = page.channel
        shown, doubts = vouched_page(page)
        late = late_line(channel, page.late)
        documents = tuple({**channel.where(), **message_fields(item)} for item in shown.stored)

        def text() -> str:
            part = page_text(shown.replace(has_more=False))  # what follows comes by itself
            return f"== {channel.name}\n{part}" if part and several else part

        def advance() -> None:
            if self._after is None:
                reading.advance(page, agent)
            else:
                self._after = page.passed

        warnings = (*page_warnings(page), *doubts)
        return Reply(
            data=channel.where(),
            stream=documents,
            text=text,
            warnings=(late, *warnings) if late and self._request.as_json else warnings,
            after=advance,
            error=page.error,
        )
