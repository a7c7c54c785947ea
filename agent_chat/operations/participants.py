"""Who takes part in a channel: the acting agent, recipients, and how their names are spelled."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.channel_meta import ChannelMeta
    from agent_chat.storage.channel import Channel
    from agent_chat.storage.message_numbers import Numbers


def participant(channel: Channel, text: str) -> str:
    """Returns a name as the channel spells it; a closed channel refuses one that it does not know (AGENT_UNKNOWN)."""
    return known_as(channel, channel.meta, names.agent_name(text))


def known_as(channel: Channel, meta: ChannelMeta, name: str) -> str:
    """Returns a checked name as a channel record spells it; AGENT_UNKNOWN where the channel is closed to it."""
    spelled = meta.spelled(name)
    if spelled is not None:
        return spelled
    if meta.closed:
        closed = ", which is closed" if channel.meta.closed else ""
        raise channel.refusal(
            "AGENT_UNKNOWN",
            f"{names.quoted(name)} is not in {channel.name}{closed} ({channel.workspace.describe()})",
            call=f"join {channel.name} --as {name}",
            near=(name, meta.members + meta.humans),
        )
    return name


def recipients(channel: Channel, sender: str, text: str | None) -> tuple[str, ...]:
    """Returns the recipients that `--to` names, empty for all; fails unless each can receive the message."""
    if text is None:
        return ()
    found: list[str] = []
    everyone = False
    for part in text.split(","):
        word = part.strip()
        word = word[1:] if word.startswith("@") else word
        if names.fold(word) == "all":
            everyone = True
            continue
        name = participant(channel, word)
        if not names.contains(found, name):
            found.append(name)
    if everyone:
        return ()
    if all(names.same(name, sender) for name in found):
        raise ChatError(
            "MESSAGE_NO_RECIPIENT", f"{sender} would be the only recipient, and nobody receives its own messages"
        )
    return tuple(found)


def first_spelling(channel: Channel, numbers: Numbers, sender: str) -> str:
    """Returns a sender's name as its first message in the channel spelled it, else as given.

    Only file names are searched, so that it costs nearly nothing; a hit is confirmed by reading the message.
    """
    if channel.meta.spelled(sender) is not None:
        return sender
    for file in numbers.spelled_otherwise(sender):
        for stored in channel.messages.stored_in((file,)):
            if names.same(stored.message.sender, sender):
                return stored.message.sender
    return sender
