"""Settling what an interrupted change left pending, when somebody asks for it."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.participants import participant
from agent_chat.storage import publication, recovery
from agent_chat.storage.filesystem import path_of
from agent_chat.storage.recovery import NOTHING, Settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.journal import Journal

RESOLUTIONS = (recovery.ROLLBACK, recovery.AS_PUBLISHED)


def recover_pending(
    channel: Channel, journal: Journal, actor: str | None, *, resolution: str | None = None, keep: bool = False
) -> Settled:
    """Undoes or finishes what is pending in a journal; it never gives anything to anybody.

    `actor` is None for nobody in particular. With `resolution` something has to be pending. A failure on the way leaves
    the entry pending.
    """
    if resolution is not None and resolution not in RESOLUTIONS:
        raise ChatError(
            journal.invalid, f"the resolution {names.quoted(resolution)} is none of {', '.join(RESOLUTIONS)}"
        )
    name = participant(channel, actor) if actor is not None else "system"
    with channel.mutation(journal, pending=True, actor=name) as mutation:
        try:
            settled = recovery.settle(mutation, journal, actor=name, resolution=resolution, keep=keep)
            audit = channel.layout.record(journal.audit)
            if settled.outcome == NOTHING and publication.exists(mutation.files, audit):
                # Another process may have been killed after it settled it and before that was durable.
                mutation.files.sync_folder(audit)
        except OSError as error:
            path = path_of(error) or channel.layout.folder
            raise channel.refusal(
                journal.recovery_failed,
                f"the recovery failed, and the entry may still be pending: {error.strerror or error}: {path}",
                call=f"{journal.recovery} {channel.name} --as {name}",
            ) from error
    if settled.outcome == NOTHING and resolution is not None:
        raise ChatError(
            journal.not_found,
            f"nothing is pending in {channel.name} ({channel.workspace.describe()}), so there is nothing to resolve",
            next=channel.workspace.call(f"{journal.recovery} {channel.name} --as {name}"),
            where=channel.where(),
        )
    return settled
