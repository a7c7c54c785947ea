"""The command watch: shows messages as they arrive, until it is interrupted; for who can keep a program running."""

from __future__ import annotations

from agent_chat.cli import output
from agent_chat.cli.acting import agent_text, bounds_of, guard_of, skips_of
from agent_chat.cli.command import Reply
from agent_chat.cli.page_reply import late_line, lost_line, message_fields, page_text, page_warnings, vouched_page
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

# So often, in seconds, it looks which channels there are, and whether it may still show them.
ROUND_SECONDS = 5.0


def watch(request: Request) -> Reply:
    """Shows what is new for an agent, and goes on; each cursor moves once its page was shown."""
    return Reply(data={}, text="", following=_Watcher(request).parts())


class _Watcher:
    """One call of watch: the channels that it names, else all that are open to the agent.

    Of all channels one that fails is told of once, and the others are watched on; it is looked at again each round.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._workspace = request.workspace
        self._clock = self._workspace.clock
        self._named = agent_text(request)
        self._after = request.optional_integer("after")
        channels = [open_channel(self._workspace, text) for text in request.texts("channels")]
        self._names = list(dict.fromkeys(channel.name for channel in channels))
        if self._after is not None and len(self._names) != 1:
            raise ChatError("USAGE", "--after goes with one channel", next="agent-chat watch --help")
        self._skips = skips_of(request)
        self._guard = guard_of(request)
        self._bounds = bounds_of(request)
        self._interval = max(request.seconds("interval"), 0.01)
        self._watched: list[tuple[Channel, str]] = []
        self._waiting: waiting.Waiting | None = None
        self._failed: dict[str, str] = {}
        self._given_up: dict[str, ChatError] = {}
        self._told: set[tuple[str, str]] = set()
        self._round_ends = now = self._clock.monotonic()
        self._deadline: float | None = None
        if request.values["timeout"] is not None:
            self._deadline = now + request.seconds("timeout")

    def parts(self) -> Iterator[Reply]:
        """Yields what is to be shown, page by page; each is shown before the next is looked for."""
        try:
            while True:
                if self._clock.monotonic() >= self._round_ends:
                    self._begin_round()
                outcome = self._wait()
                yield from self._warnings(outcome)
                yield from self._passed_over(outcome)
                if outcome.pages:
                    self._guard()
                    yield from self._shown(outcome)
                if self._deadline is not None and self._clock.monotonic() >= self._deadline:
                    return
        finally:
            self._stop()

    def _begin_round(self) -> None:
        """Looks which channels there are to watch."""
        self._guard()
        if output.reader_has_gone():
            raise output.OutputFailedError("its reader has gone", broken_pipe=True)
        self._round_ends = self._clock.monotonic() + ROUND_SECONDS
        self._told = {(name, text) for name, text in self._told if not name or self._failed.get(name) == text}
        self._failed = {}
        for name, error in self._given_up.items():
            self._fail(name, error)
        found: list[tuple[Channel, str]] = []
        for name in self._names or channel_names(self._workspace):
            if name in self._given_up:
                continue
            channel = Channel(self._workspace, name)
            try:
                found.append((channel, participant(channel, self._named)))
            except (ChatError, OSError) as error:
                if self._names:
                    raise
                if getattr(error, "code", "") not in ("AGENT_UNKNOWN", "CHANNEL_NOT_FOUND"):
                    self._fail(name, error)
        self._watch(found)

    def _fail(self, name: str, error: Exception) -> None:
        self._failed[name] = f"{name} is not watched: {error}"

    def _watch(self, found: list[tuple[Channel, str]]) -> None:
        """Watches these channels from now on; what is known of those that were watched before is kept."""
        if [(channel.name, agent) for channel, agent in found] == [(c.name, agent) for c, agent in self._watched]:
            return
        before, self._watched = self._waiting, found
        self._stop()
        if found:
            asked = waiting.Request(
                channels=tuple(channel for channel, _ in found),
                agents=tuple(agent for _, agent in found),
                timeout=0.0,
                interval=self._interval,
                bounds=self._bounds,
                after=self._after,
                skips=self._skips,
                guard=self._guard,
                tolerant=not self._names,
            )
            self._waiting = waiting.Waiting(asked, before)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.end()
        self._waiting = None

    def _wait(self) -> waiting.Outcome:
        """Waits until something is there, or the round is over."""
        ends = self._round_ends if self._deadline is None else min(self._round_ends, self._deadline)
        left = max(ends - self._clock.monotonic(), 0.0)
        if self._waiting is not None:
            return self._waiting.round(left)
        self._clock.sleep(min(left, self._interval))
        nothing = f"no channel of {self._workspace.describe()} is open to {self._named} yet"
        return waiting.Outcome(pages=(), timed_out=True, warnings=() if self._failed else (nothing,))

    def _warnings(self, outcome: waiting.Outcome) -> Iterator[Reply]:
        """Yields, each once, what must be said of channels that fail, and of the watch itself."""
        for name, error in outcome.failed:
            self._fail(name, error)
        if outcome.failed:
            self._watch([each for each in self._watched if each[0].name not in self._failed])
        said = [*self._failed.items(), *(("", text) for text in outcome.warnings)]
        for name, text in said:
            if (name, text) not in self._told:
                self._told.add((name, text))
                where = self._workspace.where()
                yield Reply(data={**where, "channel": name} if name else where, text="", stream=(), warnings=(text,))

    def _passed_over(self, outcome: waiting.Outcome) -> Iterator[Reply]:
        """Yields what shows nothing and moves the cursor over what is skipped, or not for the agent."""
        if self._after is not None or not outcome.over:
            return
        spelled = {channel.name: agent for channel, agent in self._watched}

        def advance() -> None:
            for page in outcome.over:
                self._advance(page, spelled[page.channel.name])

        yield Reply(data=self._workspace.where(), text="", stream=(), after=advance)

    def _shown(self, outcome: waiting.Outcome) -> Iterator[Reply]:
        """Yields each page with the agent as its channel spells it, then goes on behind them."""
        several = not self._names or len(self._watched) > 1
        for page, (channel, agent) in zip(outcome.pages, self._watched):
            tolerated = page.error is not None and not self._names
            if page.error is not None and tolerated:
                self._fail(channel.name, page.error)
            yield self._part(page.replace(error=None) if tolerated else page, agent, several=several)
        assert self._waiting is not None
        self._waiting.go_on(outcome)
        self._watch([each for each in self._watched if each[0].name not in self._failed])

    def _advance(self, page: Page, agent: str) -> None:
        """Moves a cursor; of all channels one whose cursor cannot be stored is watched no more, and told of."""
        try:
            reading.advance(page, agent)
        except ChatError as error:
            if self._names:
                raise
            self._given_up[page.channel.name] = error  # or the same would be shown in each round
            self._fail(page.channel.name, error)

    def _part(self, page: Page, agent: str, *, several: bool) -> Reply:
        """Returns one page as what is to be shown next; the cursor moves then, unless --after looks elsewhere."""
        channel = page.channel
        shown, doubts = vouched_page(page)
        late = late_line(channel, page.late)
        documents = tuple({**channel.where(), **message_fields(item)} for item in shown.stored)

        def text() -> str:
            part = page_text(shown.replace(has_more=False))  # what follows comes by itself
            return f"== {channel.name}\n{part}" if part and several else part

        warnings = (*page_warnings(page), *doubts)
        return Reply(
            data=channel.where(),
            stream=documents,
            text=text,
            warnings=(*filter(None, (late, lost_line(page).strip())), *warnings) if self._request.as_json else warnings,
            after=None if self._after is not None else lambda: self._advance(page, agent),
            error=page.error,
        )
