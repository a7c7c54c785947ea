"""Reading: a bounded page of what is new for an agent, and where its cursor goes once the page was shown.

A cursor passes, in the order of numbers, over messages that are on the page or are not for the agent, and stops before
the first that it cannot pass: one that does not fit, one that is still being written, one that cannot be read.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.late import Late, arrivals, is_for
from agent_chat.operations.skipping import NOTHING, Skips
from agent_chat.records.value import Value
from agent_chat.storage.message_numbers import Numbers
from agent_chat.storage.message_store import Refused, Stored, Unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_chat.operations.lost import Lost
    from agent_chat.records.message import Message
    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.channel import Channel

    Measure = Callable[[Stored], int]

DEFAULT_LIMIT = 50
DEFAULT_MAX_BYTES = 24_000
AUDITS_BETWEEN = 100
NOTHING_LATE = Late()


class Bounds(Value):
    """How much a page may hold: messages, and bytes as `measure` counts them.

    Audit messages do not count as messages, and after `audit_run` of them in a row take no more room.
    """

    limit: int
    max_bytes: int
    measure: Measure
    audit_run: int | None = None

    def size_of(self, items: Iterable[Stored], run: int = 0) -> tuple[int, int]:
        """Returns how many bytes messages take after `run` audit messages in a row, and the run that they end."""
        size = 0
        for item in items:
            run = run + 1 if item.message.is_audit else 0
            if self.audit_run is None or run <= self.audit_run:
                size += self.measure(item)
        return size, run


class Page(Value):
    """What one look at a channel gives.

    `passed` is the number up to which everything was shown or did not concern the agent; `skipped` of those were for it
    and left out because it skips their topics or senders. `late` is what arrived at or below the cursor since it was
    stored, `lost` what retention removed before the agent read it. `held` says why the page ends before an unfinished
    file. `ahead` says that the cursor, or the point asked for, is past the last message. `doubled` are numbers that
    several messages carry.
    """

    channel: Channel
    stored: tuple[Stored, ...]
    start: int
    passed: int
    latest: int
    numbers: Numbers
    has_more: bool = False
    late: Late = NOTHING_LATE
    lost: Lost | None = None
    held: str = ""
    ahead: str = ""
    set_aside: tuple[str, ...] = ()
    error: OSError | None = None
    doubled: frozenset[int] = frozenset()
    skipped: int = 0

    @property
    def speaks(self) -> bool:
        """Whether somebody says something on it: audit messages are not speech."""
        return any(not item.message.is_audit for item in self.stored)


def read_page(
    channel: Channel,
    agent: str,
    bounds: Bounds,
    *,
    after: int | None,
    everything: bool = False,
    looked: int = 0,
    since: int | None = None,
    skips: Skips = NOTHING,
) -> Page:
    """Returns what is new for an agent, from its cursor or, with `after`, from another point; with `everything` all.

    `looked` is a number up to which the caller has looked before and found nothing: nothing there is opened again.
    `since` is where the cursor was when the caller began; another session of the name may have moved it on.
    """
    cursor = channel.cursors.load(agent) if after is None else None
    start = after if after is not None else cursor.seq if cursor else 0
    start = max(start if since is None else min(start, since), looked)
    numbers = channel.messages.numbers(keep=True)
    skips = NOTHING if everything else skips
    skipped = 0

    def wanted(stored: Stored) -> bool:
        nonlocal skipped
        if everything or not stored.message.is_for(agent):
            return everything
        left_out = skips.leave_out(stored.message)
        skipped += left_out
        return not left_out

    def concerns(message: Message) -> bool:
        nonlocal skipped
        if not message.is_for(agent):
            return False
        left_out = skips.leave_out(message)
        skipped += left_out
        return not left_out

    page = _fill(channel, numbers, start, wanted, bounds)
    if numbers.highest_removed > start:
        if not (page.has_more or page.held or page.error):
            page = page.replace(passed=max(page.passed, numbers.latest))  # over what was removed at the end, too
        from agent_chat.operations.lost import lost_between

        page = page.replace(lost=lost_between(channel, agent, numbers, start, page.passed, skips))
    late = arrivals(channel, concerns, cursor, numbers)
    if skipped:
        page = page.replace(skipped=skipped)
    ahead = why_ahead(channel, agent, start, numbers, own=after is None)
    if not (late.stale or ahead):
        return page
    set_aside = page.set_aside + late.set_aside
    return page.replace(late=late, ahead=ahead, error=page.error or late.error, set_aside=set_aside)


def why_ahead(channel: Channel, agent: str, start: int, numbers: Numbers, *, own: bool = True) -> str:
    """Returns what to say of a point past the last message, "" of any other; `own` if it is the agent's cursor."""
    if start <= numbers.latest or start <= channel.messages.numbers().latest:
        return ""  # at the second look: another reader may have moved on after the first
    last = f"the last message of {channel.name} is #{numbers.latest}"
    if not own:
        return f"{last}, nothing is after #{start}"
    mend = channel.workspace.call(f"ack {channel.name} --reset {numbers.latest} --as {agent}")
    return f"the cursor of {agent} is at #{start}, but {last}; if that is wrong: {mend}"


def _fill(channel: Channel, numbers: Numbers, start: int, wanted: Callable[[Stored], bool], bounds: Bounds) -> Page:
    """Fills a page with the wanted messages above a number."""
    found: list[Stored] = []
    set_aside: list[str] = []
    doubled: set[int] = set()
    count = size = run = 0
    passed = start
    page = Page(channel=channel, stored=(), start=start, passed=start, latest=numbers.latest, numbers=numbers)
    changes: dict[str, object] = {}
    for seq, files in numbers.after(start):
        try:
            unit = channel.messages.load_unit(seq, files)
        except OSError as error:
            changes = {"error": error, "has_more": True}
            break
        unfinished = [item for item in unit if isinstance(item, Unfinished)]
        if unfinished:
            changes = {"held": f"{unfinished[0].file}: {unfinished[0].reason}", "has_more": True}
            break
        here = [item for item in unit if isinstance(item, Stored) and wanted(item)]
        speech = sum(1 for item in here if not item.message.is_audit)
        length, run = bounds.size_of(here, run)
        if here and ((found and size + length > bounds.max_bytes) or (count and count + speech > bounds.limit)):
            changes = {"has_more": True}
            break
        if sum(1 for item in unit if isinstance(item, Stored)) > 1:
            doubled.add(seq)
        found += here
        count += speech
        size += length
        set_aside += [f"{item.file}: {item.reason}" for item in unit if isinstance(item, Refused)]
        passed = seq
    return page.replace(
        stored=tuple(found), set_aside=tuple(set_aside), passed=passed, doubled=frozenset(doubled), **changes
    )


def advance(page: Page, agent: str) -> None:
    """Stores an agent's cursor where a page ended; to be called once the page was shown and flushed."""
    channel = page.channel
    channel.seen.note(agent)
    if page.passed <= page.start and not page.late.stale:
        return
    try:
        late = page.late
        channel.cursors.store(
            agent, page.passed, page.numbers, late=late.files, unknown=late.unsettled, since=late.since
        )
    except (OSError, ChatError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise channel.refusal(
            "CURSOR_NOT_STORED",
            f"shown, but the cursor of {agent} in {channel.name} could not be stored: {reason}",
            call=f"ack {channel.name} {page.passed} --as {agent}",
        ) from error


def unread(channel: Channel, agent: str) -> list[Stored]:
    """Returns the messages for an agent above its cursor, audit messages left out: what counts as unread."""
    start = channel.cursors.seq(agent)
    found: list[Stored] = []
    for stored in scan(channel, channel.messages.numbers(), start):
        if stored.message.is_for(agent) and not stored.message.is_audit:
            found.append(stored)
    return found


def scan(channel: Channel, numbers: Numbers, after: int) -> Iterable[Stored]:
    """Yields the valid messages above a number, in order."""
    for seq, files in numbers.after(after):
        yield from channel.messages.stored(seq, files)


def last(channel: Channel, count: int, bounds: Bounds) -> Page:
    """Returns the last messages of a channel, whoever they are for, with the audit messages between them.

    Older ones are left out when they do not fit, or behind a hundred audit messages.
    """
    numbers = channel.messages.numbers()
    found: list[Stored] = []
    doubled: set[int] = set()
    size = speech = audits = run = 0
    start = numbers.highest
    for seq, files in numbers.before(numbers.highest + 1):
        if speech >= count or audits >= AUDITS_BETWEEN:
            break
        here = channel.messages.stored(seq, files)
        length, run = bounds.size_of(here, run)
        if found and here and size + length > bounds.max_bytes:
            break
        if len(here) > 1:
            doubled.add(seq)
        found[:0] = here
        size += length
        said = sum(1 for item in here if not item.message.is_audit)
        speech += said
        audits += len(here) - said
        start = seq - 1
    return Page(
        channel=channel,
        stored=tuple(found),
        start=start,
        passed=numbers.latest,
        latest=numbers.latest,
        numbers=numbers,
        doubled=frozenset(doubled),
    )


def thread(channel: Channel, root: Stored | Tombstone, numbers: Numbers, bounds: Bounds, *, after: int = 0) -> Page:
    """Returns a message and what answers it, at any depth, oldest first; a renumbered one by its old number too.

    Of a message that retention removed what answers it is left.
    """
    start = min(own_numbers(root)) - 1
    every = list(scan(channel, numbers, start))
    gone = channel.messages.tombstones.load() if numbers.removed is not None else []
    members = own_numbers(root)
    files = {root.file}
    grown = True
    while grown:
        # A message that was renumbered comes after its answers, so one pass is not always enough.
        grown = False
        for removed in gone:  # what answers one of them is in the thread all the same
            if removed.reply_to in members and removed.seq not in members:
                members |= own_numbers(removed)
                grown = True
        for stored in every:
            if stored.message.reply_to in members and stored.file not in files:
                files.add(stored.file)
                members |= own_numbers(stored)
                grown = True

    def wanted(stored: Stored) -> bool:
        return stored.file in files and stored.message.seq > after

    return _fill(channel, numbers, start, wanted, bounds)


def own_numbers(item: Stored | Tombstone) -> set[int]:
    """Returns the numbers by which a message may be answered: its own, and those that it had before."""
    message = item.message if isinstance(item, Stored) else item
    return {message.seq, *message.was}


def search(
    channel: Channel,
    words: Iterable[str],
    bounds: Bounds,
    *,
    sender: str | None = None,
    topic: str | None = None,
    since: Callable[[str], bool] | None = None,
    after: int = 0,
) -> Page:
    """Returns the messages that hold every word, case aside, in title, body, sender or topic."""
    needles = [names.normal_form(word).casefold() for word in words]

    def wanted(stored: Stored) -> bool:
        message = stored.message
        if sender is not None and not names.same(message.sender, sender):
            return False
        if topic is not None and (message.topic or "general") != topic:
            return False
        if since is not None and not since(message.created):
            return False
        text = names.normal_form("\n".join((message.title, message.sender, message.topic, message.body))).casefold()
        return all(needle in text for needle in needles)

    return _fill(channel, channel.messages.numbers(), after, wanted, bounds)


def late_below_cursor(channel: Channel, agent: str, numbers: Numbers, *, reset: int | None = None) -> Late:
    """Returns what arrived below an agent's cursor unannounced.

    With `reset` those that will be above it are left out: they are unread again.
    """
    cursor = channel.cursors.load(agent, damaged_as_none=reset is not None)
    late = arrivals(channel, is_for(agent), cursor, numbers)
    if reset is None:
        return late
    below = set(numbers.names_up_to(reset))
    return late.replace(
        files=tuple(name for name in late.files if name in below),
        unsettled=tuple(name for name in late.unsettled if name in below),
        unnamed=0,
    )


def acknowledge(
    channel: Channel,
    agent: str,
    seq: int,
    *,
    reset: bool = False,
    numbers: Numbers | None = None,
    late: Late = NOTHING_LATE,
) -> tuple[int, int]:
    """Moves an agent's cursor to a number, back only with `reset`; returns where it is now and where it was.

    `late` is what the caller announces, as `late_below_cursor` found them in `numbers`.
    """
    if numbers is None:
        numbers = channel.messages.numbers()
    if seq > numbers.latest:
        raise channel.refusal(
            "CURSOR_AHEAD",
            f"the last message of {channel.name} is #{numbers.latest}",
            call=f"peek {channel.name}",
            latest_seq=numbers.latest,
        )
    cursor = channel.cursors.load(agent, damaged_as_none=reset)
    previous = cursor.seq if cursor else 0
    now = channel.cursors.store(
        agent, seq, numbers, late=late.files, unknown=late.unsettled, since=late.since, back=reset
    )
    channel.seen.note(agent)
    return now, previous
