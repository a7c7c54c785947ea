"""One channel: lock-free reads, and `mutation()`, the only way in which its files change.

Writers exclude each other with the channel's kernel lock, which dies with its process. A message is written beside the
channel, synced, and given its final name in one step, so it appears complete or not at all; the folder is synced before
anybody is told. Cursors have locks of their own (`cursor_store`).
"""

from __future__ import annotations

from errno import EISDIR
from os import name as system

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.records import channel_meta
from agent_chat.records import message as message_record
from agent_chat.storage import layout, publication
from agent_chat.storage.channel_folders import channel_names
from agent_chat.storage.cursor_store import CursorStore
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import NotOrdinaryError, is_file, is_folder
from agent_chat.storage.journal import journal_error
from agent_chat.storage.message_store import MessageStore
from agent_chat.storage.seen_store import SeenStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from agent_chat.records.channel_meta import ChannelMeta
    from agent_chat.records.message import Message
    from agent_chat.storage.journal import Journal
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.workspace import Workspace

LOCK_SECONDS = 10.0
# A cursor is a trace of a number that was used, unless it is so far ahead that it can only be damaged.
CURSOR_LEAD = 1_000_000


class Channel:
    """One channel of a root, found by name; case does not matter."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace = workspace
        self.name = name
        self.layout = layout.ChannelLayout(workspace.root, name)
        self.messages = MessageStore(workspace, self.layout)
        self.cursors = CursorStore(workspace, self.layout, name)
        self.seen = SeenStore(workspace, self.layout)
        self._meta: ChannelMeta | None = None

    @property
    def meta(self) -> ChannelMeta:
        """The channel's record as first read; fails with CHANNEL_NOT_FOUND, CHANNEL_DAMAGED or CHANNEL_VERSION."""
        if self._meta is None:
            self.require_meta()
        assert self._meta is not None
        return self._meta

    def require_meta(self) -> None:
        """Fails as `meta` does unless the channel's record can be read."""
        self._meta = self.read_meta()

    def read_meta(self) -> ChannelMeta:
        """Reads the channel's record afresh."""
        try:
            data = self.workspace.files.read_file(self.layout.meta, channel_meta.MAX_BYTES)
            return channel_meta.parse(data)
        except FileNotFoundError:
            raise ChatError(
                "CHANNEL_NOT_FOUND",
                f"no channel {names.quoted(self.name)} in {self.workspace.describe()}",
                next=self.workspace.call("channels"),
                near=(self.name, ()),
                where=self.where(),
            ) from None
        except channel_meta.LaterVersionError as error:
            raise ChatError("CHANNEL_VERSION", f"{self.layout.meta}: {error}", where=self.where()) from None
        except (channel_meta.MetaError, NotOrdinaryError) as error:
            raise ChatError(
                "CHANNEL_DAMAGED",
                f"{self.layout.meta} is damaged: {error}",
                next=self.workspace.call(f"doctor {self.name}"),
                where=self.where(),
            ) from None

    def taken_back(self) -> list[int]:
        """Returns the numbers of messages that were taken back, which may have been seen."""
        return publication.taken_back(self.workspace.files.list_if_there(self.layout.cache))

    def highest_used(self, numbers: Numbers, taken_back: list[int]) -> int:
        """Returns the highest number of which anything is a trace; 0 where there is none."""
        plausible = numbers.latest + CURSOR_LEAD
        cursors = [cursor.seq for cursor in self.cursors.every().values() if cursor and cursor.seq <= plausible]
        return max(numbers.highest_trace(), *cursors, *taken_back, 0)

    def where(self) -> dict[str, object]:
        """Returns the fields of a reply that say which root and channel it is about."""
        return {**self.workspace.where(), "channel": self.name}

    def refusal(
        self,
        code: str,
        message: str,
        *,
        call: str | None = None,
        near: tuple[str, tuple[str, ...]] | None = None,
        **details: object,
    ) -> ChatError:
        """Returns an error about this channel; `call` are the words of the command that the caller can run next."""
        next_call = None if call is None else self.workspace.call(call)
        return ChatError(code, message, next=next_call, near=near, where=self.where(), **details)

    def require_settled(self, *journals: Journal, actor: str = "") -> None:
        """Refuses to go on while an entry of one of some journals is pending, with that journal's code."""
        for journal in journals:
            for place in (journal.entry, journal.foreign):
                if publication.exists(self.workspace.files, self.layout.record(place)):
                    raise self.refusal(
                        journal.pending,
                        f"an interrupted change is pending in {self.name}/{place}",
                        call=f"{journal.recovery} {self.name} --as {actor or 'NAME'}",
                    )

    def mutation(
        self,
        journal: Journal | None = None,
        *,
        pending: bool = False,
        actor: str = "",
        seconds: float | None = None,
    ) -> Mutation:
        """Returns the context in which the channel may be changed, by one process at a time.

        With a journal the codes of its errors are that journal's, and it refuses to begin while an entry of it is
        pending, unless `pending` says that one may be. `actor` is who would run the recovery, `seconds` how long others
        are waited for.
        """
        return Mutation(self, journal, pending=pending, actor=actor, seconds=seconds)


class Mutation:
    """The right to change a channel, held while its kernel lock is held."""

    def __init__(
        self, channel: Channel, journal: Journal | None, *, pending: bool, actor: str, seconds: float | None = None
    ) -> None:
        self.channel = channel
        self.files = channel.workspace.files
        self._layout = channel.layout
        self._journal = journal
        self._pending = pending
        self._actor = actor
        self._seconds = LOCK_SECONDS if seconds is None else seconds
        self._withdrawn: list[int] = []
        self._highest = 0
        self._lock = FileLock(self.files, self._layout.lock, channel.workspace.clock)

    def __enter__(self) -> Mutation:
        channel = self.channel
        try:
            acquired = self._lock.acquire(self._seconds)
        except FileNotFoundError as error:
            channel.read_meta()  # it may have been deleted since it was opened
            raise self._translated(error) from error
        except OSError as error:
            raise self._translated(error) from error
        if not acquired:
            raise ChatError(
                self._journal.busy if self._journal is not None else "CHANNEL_BUSY",
                f"{channel.name} was locked{self._lock.holder()} for {self._seconds:.0f} s",
                where=channel.where(),
            )
        begun = False
        try:
            if self._journal is not None and not self._pending:
                self.require_settled(self._journal)
            begun = True
        except OSError as error:
            raise self._translated(error) from error
        finally:
            if not begun:
                self._lock.release()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock.held:
            self._lock.release()
        if self._journal is not None and isinstance(error, OSError):
            raise self._translated(error) from error

    def _translated(self, error: OSError) -> OSError | ChatError:
        """Returns an error as the journal's commands tell it."""
        return error if self._journal is None else journal_error(self.channel, self._journal, error)

    def require_settled(self, *journals: Journal) -> None:
        """Refuses to go on while an entry of one of some journals is pending, with that journal's code."""
        assert self._lock.held
        self.channel.require_settled(*journals, actor=self._actor)

    @property
    def holds_lock(self) -> bool:
        """Whether the lock is still held: after a deletion of its file another process may hold the new one."""
        return self._lock.is_on_disk()

    def numbers(self) -> Numbers:
        """Lists the channel; under the lock one listing is enough."""
        assert self._lock.held
        return self.channel.messages.numbers(keep=True)

    def next_seq(self, numbers: Numbers | None = None) -> int:
        """Returns the next free number; `numbers` are those that were listed under this lock."""
        assert self._lock.held
        if numbers is None:
            numbers = self.numbers()
        self._highest = numbers.latest
        self._withdrawn = self.channel.taken_back()
        seq = self.channel.highest_used(numbers, self._withdrawn) + 1
        if seq > names.MAX_SEQ:
            raise self.channel.refusal(
                "CHANNEL_DAMAGED", f"{self.channel.name} has no numbers left: the highest trace is {seq - 1}"
            )
        return seq

    def publish(self, draft: Message, numbers: Numbers | None = None) -> tuple[int, str]:
        """Gives a draft the next number and makes it durable and visible; returns its number and file name.

        `numbers` are those that were listed under this lock. On an error nothing was published, but for
        MESSAGE_PUBLICATION_UNKNOWN, which says that this cannot be told.
        """
        message = draft.replace(seq=self.next_seq(numbers))
        file_name = names.message_file_name(message.seq, message.sender, message.title)
        try:
            self.publish_as(file_name, message.seq, message_record.render(message))
        except publication.LockLostError:
            raise self.channel.refusal(
                "CHANNEL_BUSY", f"{self._layout.lock} was deleted while it was held; nothing was posted"
            ) from None
        except publication.NotTakenBackError as error:
            channel = self.channel
            raise ChatError(
                "MESSAGE_PUBLICATION_UNKNOWN",
                f"publishing {file_name} failed and could not be taken back: {error.strerror}",
                next=channel.workspace.call(f"show {channel.name} {message.seq}"),
                seq=message.seq,
                where=channel.where(),
            ) from error
        return message.seq, file_name

    def publish_as(self, file_name: str, seq: int, data: bytes, *, stays: bool = False) -> None:
        """Makes a message durable and visible under the number that `next_seq` gave.

        Fails with OSError, after which nothing of it is left: but for NotTakenBackError, which says that this cannot be
        told; LockLostError says that the lock is no longer held. With `stays` a message that was visible stays so.
        """
        assert self._lock.held
        for number in self._withdrawn:
            if number <= self._highest:
                # A later message is visible by now: that is trace enough.
                self.files.remove(self._layout.taken_back(number))
        temporary = self.write_temporary(data)
        publication.name_new(
            self.files,
            temporary,
            self._layout.file(file_name),
            aside=self._layout.taken_back(seq),
            stays=stays,
            holds_lock=self._lock.is_on_disk,
        )

    def replace_meta(self, meta: ChannelMeta) -> None:
        """Replaces the channel's record, durably."""
        assert self._lock.held
        publication.replace(self.files, self.write_temporary(channel_meta.render(meta)), self._layout.meta)
        self.files.sync_folder(self._layout.folder)

    def replace_derived(self, name: str, data: bytes) -> None:
        """Replaces a file that is derived from others, durably: it is the old one or the new one, never a part."""
        assert self._lock.held
        assert name in layout.DERIVED
        self._remove_leftovers(derived=True)
        target = self._layout.file(name)
        if self._is_folder(target):
            raise NotOrdinaryError(EISDIR, "a folder stands where an ordinary file belongs", target)
        temporary = self._layout.derived_temporary(name, self.channel.workspace.ids.fresh())
        self.files.write_new(temporary, data)
        publication.replace(self.files, temporary, target)
        self.files.sync_folder(self._layout.folder)

    def _is_folder(self, path: str) -> bool:
        try:
            return is_folder(self.files.status(path))
        except FileNotFoundError:
            return False

    def rename(self, name: str, new_name: str) -> None:
        """Renames a file of the channel to a name that nothing has, durably."""
        assert self._lock.held
        if publication.exists(self.files, self._layout.file(new_name)):
            raise FileExistsError(f"{new_name} exists already")
        self.files.replace(self._layout.file(name), self._layout.file(new_name))
        self.files.sync_folder(self._layout.folder)

    def remove(self, name: str) -> None:
        """Removes a file of the channel, durably."""
        for error in self.remove_each([name]).values():
            raise error

    def remove_each(self, file_names: Sequence[str]) -> dict[str, OSError]:
        """Removes files of the channel, durably; returns what kept some, and none of the others, from being removed."""
        assert self._lock.held
        failed: dict[str, OSError] = {}
        for name in file_names:
            try:
                self.files.remove(self._layout.file(name))
            except OSError as error:
                failed[name] = error
        self.files.sync_folder(self._layout.folder)
        return failed

    def move_away(self, target: str) -> None:
        """Renames the folder of the channel, durably: from then on there is no such channel.

        On an error the channel is as it was, but for NotTakenBackError, which says that it is gone all the same.
        """
        assert self._lock.held
        if not self._lock.is_on_disk():
            raise publication.LockLostError(f"the lock of {self._layout.folder} was deleted while it was held")
        if system == "nt":
            self._lock.release()  # there no folder is renamed in which a file is open
        self.files.replace(self._layout.folder, target)
        try:
            self.files.sync_folder(self.channel.workspace.root)
        except OSError as error:
            try:
                self.files.replace(target, self._layout.folder)
            except OSError:
                reason = (
                    f"{self.channel.name} is gone, but may be back after a loss of power: {error.strerror or error}"
                )
                raise publication.NotTakenBackError(error.errno, reason, target) from error
            raise

    def remove_leftovers(self) -> None:
        """Removes the temporaries that writers that died left behind, those of derived files too."""
        assert self._lock.held
        self._remove_leftovers(derived=True)

    def write_temporary(self, data: bytes) -> str:
        """Writes a temporary, after removing what writers that died left behind."""
        assert self._lock.held
        self._remove_leftovers()
        return publication.write_temporary(self.channel.workspace, self._layout, data)

    def _remove_leftovers(self, *, derived: bool = False) -> None:
        for leftover in publication.stale_temporaries(self.channel.workspace, self._layout, derived=derived):
            self.files.remove(leftover)


def open_channel(workspace: Workspace, text: str) -> Channel:
    """Returns a channel by name, case aside; fails as `open_channel_unread` and as `meta`."""
    channel = open_channel_unread(workspace, text)
    channel.require_meta()
    return channel


def open_channel_unread(workspace: Workspace, text: str) -> Channel:
    """Returns a channel by name without reading its record; CHANNEL_INVALID, ROOT_NOT_FOUND or CHANNEL_NOT_FOUND."""
    name = names.channel_name(text)
    channel = Channel(workspace, name)
    try:
        if publication.exists(workspace.files, channel.layout.meta):
            return channel
    except NotADirectoryError:
        workspace.require_root()
    except NotOrdinaryError:
        if not is_file(workspace.files.status(channel.layout.folder)):
            raise
    known = channel_names(workspace)
    spelled = names.spelling(known, name)
    if spelled is not None:
        return Channel(workspace, spelled)
    raise ChatError(
        "CHANNEL_NOT_FOUND",
        f"no channel {names.quoted(name)} in {workspace.describe()}",
        next=workspace.call("channels"),
        near=(name, tuple(known)),
        where=workspace.where(),
    )
