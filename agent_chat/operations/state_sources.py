"""What the state of a channel is made of, each source read by itself: one that cannot be read hides no other."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import BUSY, DAMAGED, ChatError
from agent_chat.operations import lock_views, task_records, task_views
from agent_chat.records.task import FINAL
from agent_chat.storage.journal import CLAIMS, OF_TASKS
from agent_chat.storage.message_index import MessageIndex
from agent_chat.storage.record_store import RecordStore
from agent_chat.timestamps import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_chat.operations.lock_records import StoredLock
    from agent_chat.operations.task_records import StoredClaim
    from agent_chat.operations.task_views import TaskView
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_index import Known, Progress
    from agent_chat.storage.record_store import Told

CHANNEL = "channel"
MESSAGE = "message"
TASK = "task"
LOCK = "lock"


class Sources:
    """The sources of one state. `warnings` name what was left out, `partial` from which of the sources it was.

    With `strict` nothing is left out: the first that would be is refused instead. `notes` concern this call alone.
    """

    def __init__(self, channel: Channel, *, strict: bool) -> None:
        self._channel = channel
        self._strict = strict
        self.now = channel.workspace.clock.moment()
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.partial: set[str] = set()

    def topic(self) -> str | None:
        """Returns the channel's topic, None where its record cannot be read; fails with CHANNEL_VERSION."""
        try:
            return self._channel.read_meta().topic
        except ChatError as error:
            if error.code in ("CHANNEL_VERSION", "CHANNEL_NOT_FOUND"):
                raise
            self._left_out(CHANNEL, "STATE_INVALID_RECORD", f"{error.code}: {error.message}", cause=error)
        except OSError as error:
            reason = f"_meta.json cannot be read: {error.strerror or error}"
            self._left_out(CHANNEL, "STATE_IO_ERROR", reason, cause=error)
        return None

    def messages(self, *, exact: bool, store: bool, progress: Progress | None) -> Known:
        """Returns what the messages mean; fails with OSError where the channel cannot be listed."""
        index = MessageIndex(self._channel)
        known = index.load(exact=exact, store=store, progress=progress)
        for fault in known.faults:
            text = f"{'not read' if fault.passing else 'set aside, no message'}: {fault.file}: {fault.reason}"
            if fault.is_copy:
                self.warnings.append(text)
            else:
                self._left_out(MESSAGE, "STATE_IO_ERROR" if fault.passing else "STATE_MALFORMED_SOURCE", text)
        self.notes += index.warnings
        return known

    def tasks(self) -> tuple[TaskView, ...] | None:
        """Returns all tasks, None where they cannot be read; claims that are on none of them are named."""
        try:
            found = task_views.every(self._channel, self.now)
            claims = list(self._stray_claims(found.views))
        except ChatError as error:
            self._unread(TASK, "tasks", error)
            return None
        self._told(TASK, found.told)
        for text in claims:
            if self._placeless(text) not in self.warnings:
                self._left_out(TASK, "STATE_INVALID_RECORD", text)
        return found.views

    def _stray_claims(self, views: Sequence[TaskView]) -> Iterator[str]:
        """Yields what is wrong with claims that no open task shows, or shows otherwise than it tells itself."""
        records = RecordStore(self._channel, OF_TASKS)
        by_id = {names.fold(view.task.id): view for view in views}
        for name in records.names(CLAIMS):
            place = f"{CLAIMS}/{name}"
            try:
                data = records.read(place)
                stored = task_records.parse_claim(records, place, data) if data is not None else None
            except ChatError as error:
                if error.kind != DAMAGED:
                    raise
                yield f"{error.code}: {error.message}"
                continue
            if stored is not None:
                yield from self._stray(records, stored, by_id.get(names.fold(stored.claim.task_id)))

    def _stray(self, records: RecordStore, stored: StoredClaim, view: TaskView | None) -> Iterator[str]:
        """Yields why a sound claim is on no task that it could be on; a change under way may have just made it."""
        claim, where = stored.claim, f"{self._channel.name}/{stored.place}"
        if view is None or view.task.status in FINAL:
            try:
                there = task_records.find_task(records, claim.task_id)
            except ChatError as error:
                if error.kind != DAMAGED:
                    raise
                return  # the task is named itself
            gone = there is None or there.task.status in FINAL
            if gone and records.read(stored.place) == stored.data:
                how = "not there" if there is None else there.task.status
                yield f"{where}: {claim.owner} holds task {claim.task_id}, which is {how}"
        elif view.claim == claim and view.task.lease_expires_at != claim.lease.expires:
            again = task_records.find_task(records, claim.task_id)
            said = again.task.lease_expires_at if again is not None else claim.lease.expires
            if said != claim.lease.expires and records.read(stored.place) == stored.data:
                until = format_utc(said) if said is not None else "never"
                yield f"{where}: the lease ends {format_utc(claim.lease.expires)}, by its task {until}"

    def locks(self) -> tuple[StoredLock, ...] | None:
        """Returns all path locks, damaged ones included, None where they cannot be read."""
        try:
            found = lock_views.every(self._channel)
        except ChatError as error:
            self._unread(LOCK, "path locks", error)
            return None
        self._told(LOCK, found.told)
        return found.locks

    def _told(self, source: str, told: Told) -> None:
        """Takes note of what reading records told: that something is pending is no fault while it can be decided."""
        for text in told.pending:
            if told.undecidable:
                self._left_out(source, "STATE_INVALID_RECORD", text)
            else:
                self.warnings.append(self._placeless(text))
        for text in told.faults:
            self._left_out(source, "STATE_INVALID_RECORD", text)

    def _unread(self, source: str, what: str, error: ChatError) -> None:
        """Takes note of records none of which could be read."""
        code = "STATE_IO_ERROR" if error.kind == BUSY else "STATE_INVALID_RECORD"
        self._left_out(source, code, f"the {what} cannot be read: {error.code}: {error.message}", cause=error)

    def _left_out(self, source: str, code: str, text: str, *, cause: Exception | None = None) -> None:
        """Takes note of what was left out, or refuses to go on without it."""
        text = self._placeless(text)
        if self._strict:
            call = f"doctor {self._channel.name}"
            raise self._channel.refusal(code, f"not in the state: {text}", call=call) from cause
        self.warnings.append(text)
        self.partial.add(source)

    def _placeless(self, text: str) -> str:
        """Returns a warning without the place of the root: wherever that lies, the state is the same."""
        channel = self._channel
        return text.replace(channel.workspace.call(""), "agent-chat ").replace(channel.layout.folder, channel.name)
