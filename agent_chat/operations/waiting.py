"""Waiting: block until something for an agent is there, without costing anything meanwhile.

Level-triggered: what was there before the wait began ends it at once, and every look starts from the stored cursor, so
no wake-up can be lost between two calls. The folder's own time tells whether a look is needed at all.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations import presence, reading
from agent_chat.operations.skipping import NOTHING, Skips
from agent_chat.records.message import is_renumbered
from agent_chat.records.value import Value
from agent_chat.storage.message_store import SETTLING_SECONDS, Stored, Unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from agent_chat.operations.reading import Bounds, Page
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.workspace import Clock

DEFAULT_TIMEOUT = 110.0
DEFAULT_INTERVAL = 0.2
# Not every file system moves a folder's time when a file comes, so it is listed now and then all the same.
LONGEST_TRUST_SECONDS = 5.0
GUARD_SECONDS = 0.5


class Request(Value):
    """What is waited for. `agents` has the agent as each channel spells it; `reply_to` is a message of the only one, or
    what retention kept of it.

    `guard` is asked twice a second, and before anything is shown; it fails where the wait may not go on. Who is
    `tolerant` is told of a channel that cannot be looked at, and goes on with the others.
    """

    channels: tuple[Channel, ...]
    agents: tuple[str, ...]
    timeout: float
    interval: float
    bounds: Bounds
    after: int | None = None
    reply_to: Stored | Tombstone | None = None
    skips: Skips = NOTHING
    guard: Callable[[], None] | None = None
    tolerant: bool = False

    @property
    def waits(self) -> str:
        """What is waited for, in words."""
        return presence.MESSAGES if self.reply_to is None else f"a reply to #{self.answered}"

    @property
    def answered(self) -> int:
        """The number of the message whose reply is waited for, 0 where none is."""
        if self.reply_to is None:
            return 0
        return self.reply_to.message.seq if isinstance(self.reply_to, Stored) else self.reply_to.seq


class Guarded:
    """Sleeps, and asks a guard twice a second, whatever the interval of the wait is."""

    def __init__(self, clock: Clock, guard: Callable[[], None] | None) -> None:
        self._clock = clock
        self._guard = guard
        self._next = clock.monotonic() + GUARD_SECONDS

    def sleep(self, seconds: float) -> None:
        """Sleeps so long; fails as soon as the guard does."""
        until = self._clock.monotonic() + seconds
        left = seconds
        while left > 0:
            self._clock.sleep(left if self._guard is None else min(left, GUARD_SECONDS))
            now = self._clock.monotonic()
            if now >= self._next:
                self.ask()
                self._next = now + GUARD_SECONDS
            left = until - now

    def ask(self) -> None:
        """Asks the guard now."""
        if self._guard is not None:
            self._guard()


class Outcome(Value):
    """What ended the wait: pages to show, and replies that were read before and are shown again.

    `failed` are channels that could not be looked at, by name, for who is tolerant; nothing else is told then. When the
    time ran out, `over` has pages of which nothing is to be shown: what lies there is skipped, or not for the agent,
    and its cursor may pass over it.
    """

    pages: tuple[Page, ...]
    again: tuple[Stored, ...] = ()
    timed_out: bool = False
    warnings: tuple[str, ...] = ()
    failed: tuple[tuple[str, ChatError | OSError], ...] = ()
    over: tuple[Page, ...] = ()


class _FailedError(Exception):
    """A channel could not be looked at."""

    def __init__(self, channel: Channel, error: ChatError | OSError) -> None:
        super().__init__(channel.name)
        self.channel = channel
        self.error = error


class _Watch:
    """One channel being waited on: how far it was looked through, and whether a new look is needed.

    `page` is what the last look found, if it looked from the cursor; such a page can be shown as it is. `since` is
    where the cursor was at the first look, or where the last page ended: what another session of the same name reads
    meanwhile is shown here too.
    """

    def __init__(self, channel: Channel, agent: str, request: Request) -> None:
        self.channel = channel
        self.agent = agent
        self.page: Page | None = None
        self.since: int | None = None
        self.ahead = ""
        self.after = request.after
        self._request = request
        self._over: Page | None = None
        self._position = 0
        self._known = (0, 0)
        self._folder_time = -1
        self._settled = False
        self._looked_at = 0.0
        self._awaited = request.reply_to if isinstance(request.reply_to, Stored) else None
        self.parents = reading.own_numbers(request.reply_to) if request.reply_to is not None else set()

    def has_something(self) -> bool:
        """Looks, if the folder changed since the last look or may have; True when the wait should end."""
        workspace = self.channel.workspace
        before = workspace.clock.now()
        try:
            folder_time = workspace.files.status(self.channel.layout.folder).st_mtime_ns
        except FileNotFoundError:
            self.channel.read_meta()
            raise
        self.page = None
        recently = workspace.clock.monotonic() - self._looked_at < LONGEST_TRUST_SECONDS
        if self._settled and recently and folder_time == self._folder_time:
            return False
        self._looked_at = workspace.clock.monotonic()
        self._folder_time = folder_time
        # Clocks of file systems are coarse: a time that is younger than this may hide a later change.
        self._settled = before - folder_time / 1e9 > SETTLING_SECONDS
        return self._has_reply() if self._request.reply_to is not None else self._look()

    def go_on(self, page: Page) -> None:
        """Goes on behind a page that was shown."""
        self.since = page.passed
        if self.after is not None:
            self.after = page.passed
        self._over = None
        self._position = 0
        self._settled = False

    def take_over(self) -> Page | None:
        """Returns what is passed over since this was asked last, None where nothing is."""
        page = self._over
        if page is None or page.passed <= page.start:
            return None
        self._over = page.replace(start=page.passed)
        return page

    def _pass_over(self, page: Page) -> None:
        """Notes how far nothing is to be shown; what must be said of a page keeps it from being passed over."""
        if page.late.stale or page.set_aside or page.lost is not None or page.error is not None:
            return
        over = self._over
        if over is not None and page.start > over.passed:
            return  # what lies between is still to be shown
        end = page.stored[0].message.seq - 1 if page.stored else page.passed
        start = page.start if over is None else over.start
        self._over = page.replace(stored=(), start=start, passed=max(end, start))

    def _look(self) -> bool:
        if self._position and self.after is None and self.since is not None:
            cursor = self.channel.cursors.seq(self.agent)
            if cursor < self.since:  # somebody has moved it back
                self.since, self._position = cursor, 0
        page = self._read_page()
        if self.since is None and self.after is None:
            self.since = page.start
        if page.numbers.known_at(self._position) != self._known:
            # A merge or a hand put a file where we had looked before.
            self._position = 0
            page = self._read_page()
        if self._position == 0:
            self.page = page
        self._pass_over(page)
        late = page.late.wakes
        while page.has_more and not (page.speaks or page.held or page.error):
            # A page full of audit messages, which wake nobody: what matters is what comes after them.
            self._position = page.passed
            page = self._read_page()
            self._pass_over(page)
        if page.held or page.late.held:
            self._settled = False
        self._position = page.passed
        self._known = page.numbers.known_at(page.passed)
        self.ahead = page.ahead
        return late or page.speaks or page.error is not None

    def read_page(self, bounds: Bounds) -> Page:
        """Reads what there is to show."""
        return reading.read_page(
            self.channel, self.agent, bounds, after=self.after, since=self.since, skips=self._request.skips
        )

    def _read_page(self) -> Page:
        request = self._request
        return reading.read_page(
            self.channel,
            self.agent,
            request.bounds,
            after=self.after,
            looked=self._position,
            since=self.since,
            skips=request.skips,
        )

    def _has_reply(self) -> bool:
        """Looks for an answer to the message that is waited on, at or below the cursor too."""
        store = self.channel.messages
        numbers = store.numbers()
        first = min(self.parents)
        position = max(first, self._position if numbers.known_at(self._position) == self._known else 0)
        for seq, files in numbers.after(position):
            unit = store.load_unit(seq, files)
            if any(isinstance(item, Unfinished) for item in unit):
                self._settled = False
                break
            for item in unit:
                if isinstance(item, Stored):
                    if self._awaited is not None and is_renumbered(item.message, self._awaited.message):
                        self._awaited = item  # while we wait
                        self.parents.add(item.message.seq)
                    if is_reply(item, self.parents, self.agent, self._request.skips):
                        return True
            position = seq
        self._position = position
        self._known = numbers.known_at(position)
        return False


def is_reply(stored: Stored, parents: Container[int | None], agent: str, skips: Skips = NOTHING) -> bool:
    """Tells whether a message answers one of some numbers, is for an agent and not skipped by it."""
    message = stored.message
    if message.reply_to is None or message.reply_to not in parents:
        return False
    return message.is_for(agent) and not skips.leave_out(message)


def wait(request: Request) -> Outcome:
    """Blocks until something for the agent is there or the time is up; never sleeps past the deadline.

    Fails as the request's guard does, and with CHANNEL_NOT_FOUND once a channel is deleted.
    """
    waiting = Waiting(request)
    try:
        return waiting.round(request.timeout)
    finally:
        waiting.end()


class Waiting:
    """A wait of one round or of many, until `end`; what was looked through in one round is not opened in the next.

    One that takes over from `before` knows what that knew, of the channels in which both wait.
    """

    def __init__(self, request: Request, before: Waiting | None = None) -> None:
        watches: Sequence[_Watch] = () if before is None else before.watches
        known = {(each.channel.name, each.agent): each for each in watches}
        self._request = request
        self._clock = request.channels[0].workspace.clock
        self.watches: list[_Watch] = [
            known.get((channel.name, agent)) or _Watch(channel, agent, request)
            for channel, agent in zip(request.channels, request.agents)
        ]
        self._guarded = Guarded(self._clock, request.guard)
        self._there = presence.Presence(request.channels, request.agents, request.waits)

    def round(self, timeout: float) -> Outcome:
        """Blocks until something for the agent is there or the time is up."""
        deadline = self._clock.monotonic() + timeout
        warnings = self._there.warnings
        while True:
            try:
                looks = [self._looked(watch) for watch in self.watches]
                if any(looks):
                    self._guarded.ask()
                    return _outcome(self._request, self.watches, warnings)
            except _FailedError as failure:
                if not self._request.tolerant:
                    raise failure.error from None
                return Outcome(pages=(), failed=((failure.channel.name, failure.error),))
            left = deadline - self._clock.monotonic()
            if left <= 0:
                ahead = tuple(watch.ahead for watch in self.watches if watch.ahead)
                over = tuple(page for page in map(_Watch.take_over, self.watches) if page is not None)
                return Outcome(pages=(), timed_out=True, warnings=warnings + ahead, over=over)
            self._guarded.sleep(min(left, self._request.interval))
            self._there.beat()

    def _looked(self, watch: _Watch) -> bool:
        try:
            return watch.has_something()
        except FileNotFoundError as error:
            raise _FailedError(watch.channel, _why_gone(watch.channel) or error) from error
        except (ChatError, OSError) as error:
            raise _FailedError(watch.channel, error) from error

    def go_on(self, outcome: Outcome) -> None:
        """Has the next round begin behind what was shown."""
        for watch, page in zip(self.watches, outcome.pages):
            watch.go_on(page)

    def end(self) -> None:
        """Shows the agent as waiting no more."""
        self._there.end()


def _why_gone(channel: Channel) -> ChatError | None:
    """Returns what to say of a channel in which a file is missing, None where it is still there."""
    try:
        channel.read_meta()
    except ChatError as error:
        return error
    return None


def _outcome(request: Request, watches: Sequence[_Watch], warnings: tuple[str, ...]) -> Outcome:
    """Reads the pages to show; the bounds hold for all channels together."""
    pages: list[Page] = []
    bounds = request.bounds
    shown = False
    for watch in watches:
        page = watch.page if not shown else None
        if page is None:
            room = bounds.replace(limit=max(bounds.limit, 1), max_bytes=max(bounds.max_bytes, 1))
            try:
                page = watch.read_page(room)
            except (ChatError, OSError) as error:
                raise _FailedError(watch.channel, error) from error
        speech = sum(1 for item in page.stored if not item.message.is_audit)
        size = bounds.size_of(page.stored)[0]
        if shown and page.stored and (speech > bounds.limit or size > bounds.max_bytes):
            # The room is used up: what is here is left for the next call.
            page = page.replace(
                stored=(), passed=page.start, has_more=True, set_aside=(), late=reading.NOTHING_LATE, lost=None
            )
        else:
            bounds = bounds.replace(limit=bounds.limit - speech, max_bytes=bounds.max_bytes - size)
            shown = shown or bool(page.stored)
        pages.append(page)
    again = _read_before(request, watches[0], pages[0]) if request.reply_to is not None else ()
    return Outcome(pages=tuple(pages), again=again, warnings=warnings)


def _read_before(request: Request, watch: _Watch, page: Page) -> tuple[Stored, ...]:
    """Returns the replies that were read before, as many of the first as the bounds let in."""
    parents = watch.parents
    shown = {stored.file for stored in page.stored}
    found: list[Stored] = []
    size = 0
    for stored in reading.scan(page.channel, page.numbers, min(parents)):
        if stored.message.seq > page.start or len(found) >= request.bounds.limit:
            break
        if is_reply(stored, parents, request.agents[0], request.skips) and stored.file not in shown:
            size += request.bounds.measure(stored)
            if found and size > request.bounds.max_bytes:
                break
            found.append(stored)
    return tuple(found)
