"""What a person decides for everybody in a root: whether chat is on, how long messages stay, that a channel goes.

Each decision is a line of the log before it comes about, so none is without one; a second line says where it did not.
Who is a person, and that the value was typed again, is told by the caller.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.records import owner_log, owner_settings
from agent_chat.records.owner_log import Entry
from agent_chat.records.value import Value
from agent_chat.storage import layout, owner_changes, owner_store
from agent_chat.storage.channel import open_channel
from agent_chat.storage.deleted_channels import leftovers, sweep_all
from agent_chat.storage.journal import JOURNALS
from agent_chat.storage.publication import LockLostError, NotTakenBackError, exists
from agent_chat.storage.root_lock import RootLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from agent_chat.records.owner_settings import OwnerSettings
    from agent_chat.storage.channel import Mutation
    from agent_chat.storage.workspace import Workspace


class Deleted(Value):
    """A channel that was deleted: its name, how many messages went, and what of deleted ones could not be removed."""

    channel: str
    messages: int
    warnings: tuple[str, ...]


def set_access(workspace: Workspace, who: str, *, on: bool) -> OwnerSettings:
    """Switches chat on or off; returns the settings after that.

    Fails with OWNER_SETTINGS_INVALID where those before cannot be read: what a person wrote is never lost.
    """
    return _change(workspace, who, owner_log.ACCESS, lambda before: before.replace(access=on))


def set_retention(workspace: Workspace, who: str, days: int | None) -> OwnerSettings:
    """Sets for how many days messages stay, None for good; returns the settings after that, fails as `set_access`."""
    return _change(workspace, who, owner_log.RETENTION, lambda before: before.replace(retention_days=days))


def _change(workspace: Workspace, who: str, what: str, plan: Callable[[OwnerSettings], OwnerSettings]) -> OwnerSettings:
    workspace.require_root()
    with RootLock(workspace):
        before = owner_store.load(workspace)
        after = plan(before)
        entry = _entry(workspace, who, what, _value(before, what), _value(after, what))

        def store() -> None:
            owner_changes.store(workspace, after)

        _carry_out(workspace, entry, store, lambda: _value(owner_store.load(workspace), what))
    return after


def _value(settings: OwnerSettings, what: str) -> object:
    return owner_settings.to_json(settings)["access" if what == owner_log.ACCESS else "retention_days"]


def _entry(workspace: Workspace, who: str, what: str, was: object, now: object, channel: str = "") -> Entry:
    at, account = workspace.clock.timestamp(), workspace.account
    return Entry(at=at, who=who, account=account, what=what, was=was, now=now, channel=channel)


def _carry_out(workspace: Workspace, entry: Entry, act: Callable[[], None], stands: Callable[[], object]) -> None:
    """Does what a person decided, after it was logged; where that fails the log says so, and what `stands` now."""
    try:
        owner_changes.note(workspace, entry)
        act()
    except (OSError, ChatError, KeyboardInterrupt) as error:
        reason = error.message if isinstance(error, ChatError) else str(error) or "interrupted"
        try:
            owner_changes.note(workspace, entry.replace(now=stands(), failed=reason))
        except (OSError, ChatError) as another:
            message = f"{reason}; nor does {layout.OWNER_LOG} say that it failed: {another}"
            raise ChatError("IO_ERROR", message, next=workspace.call("owner"), where=workspace.where()) from error
        raise


def delete_channel(workspace: Workspace, name: str, who: str) -> Deleted:
    """Deletes a channel with all that is in it, and what is left of those that were deleted before.

    Fails with the code of a journal while an entry of it is pending, with CHANNEL_BUSY, or as `open_channel`; then the
    channel is as it was. Once its folder is renamed it is gone; what cannot be removed of it is a warning.
    """
    workspace.require_root()
    with RootLock(workspace):
        channel = open_channel(workspace, name)
        with channel.mutation(actor=who) as mutation:
            mutation.require_settled(*JOURNALS)
            messages = len(mutation.numbers())
            entry = _entry(workspace, who, owner_log.CHANNEL, f"{messages} messages", "deleted", channel.name)

            def stands() -> object:
                return entry.was if exists(workspace.files, channel.layout.meta) else entry.now

            _carry_out(workspace, entry, lambda: _move_away(mutation), stands)
        _, warnings = sweep_all(workspace)
    return Deleted(channel=channel.name, messages=messages, warnings=tuple(warnings))


def sweep(workspace: Workspace) -> bool:
    """Removes what is left of deleted channels; tells whether there was something, and none of it is left."""
    if not leftovers(workspace):
        return False
    with RootLock(workspace):
        gone, failures = sweep_all(workspace)
    return bool(gone) and not failures


def _move_away(mutation: Mutation) -> None:
    channel = mutation.channel
    workspace = channel.workspace
    try:
        mutation.move_away(layout.deleted(workspace.root, workspace.ids.fresh()))
    except LockLostError as error:
        raise channel.refusal("CHANNEL_BUSY", f"{error}; nothing was deleted") from None
    except NotTakenBackError as error:
        raise channel.refusal("IO_ERROR", str(error.strerror), call="doctor --fix") from error
