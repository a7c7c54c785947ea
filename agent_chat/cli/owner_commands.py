"""The commands of a person: owner, owner access, owner retention and channel delete."""

from __future__ import annotations

from agent_chat import names
from agent_chat.cli import terminal
from agent_chat.cli.acting import agent_text, channel_of
from agent_chat.cli.command import Reply
from agent_chat.errors import ChatError
from agent_chat.operations import ownership, persons
from agent_chat.records.owner_settings import MAX_RETENTION_DAYS, OwnerSettings, to_json
from agent_chat.records.shown_text import safe_line
from agent_chat.storage import git_trees, owner_store
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.storage.channel import Channel


def show(request: Request) -> Reply:
    """Shows the settings; anybody may look."""
    request.workspace.require_root()
    return _reply(request, owner_store.load(request.workspace))


def access(request: Request) -> Reply:
    """Switches chat on or off."""
    who = _person(request)
    value = request.text("value")
    owner_store.load(request.workspace)  # what cannot be changed is told before anybody types
    _confirm(request, value, f"switch chat {value} for everybody in {request.workspace.root}", who)
    return _reply(request, ownership.set_access(request.workspace, who, on=value == "on"), changed=True)


def retention(request: Request) -> Reply:
    """Sets how long messages stay."""
    who = _person(request)
    word = request.text("days")
    days = _days(word)
    owner_store.load(request.workspace)
    what = "keep all messages" if days is None else f"remove messages that are older than {days} days"
    _confirm(request, "off" if days is None else str(days), f"{what} in {request.workspace.root}", who)
    return _reply(request, ownership.set_retention(request.workspace, who, days), changed=True)


def _days(word: str) -> int | None:
    if word == "off":
        return None
    days = int(word) if word.isascii() and word.isdigit() and len(word) < 9 else 0
    if not 1 <= days <= MAX_RETENTION_DAYS:
        raise ChatError("USAGE", f"{names.quoted(word)} is no term: off, or days from 1 to {MAX_RETENTION_DAYS}")
    return days


def delete_channel(request: Request) -> Reply:
    """Deletes a channel."""
    who = _person(request)
    channel = _channel(request)
    tree, warnings = _kept_by_git(request)
    messages = len(channel.messages.numbers())
    kept = f"; git keeps what was committed in {safe_line(tree)}" if tree else ""
    _confirm(request, channel.name, f"delete it with {messages} messages and all else in it{kept}", who)
    deleted = ownership.delete_channel(request.workspace, channel.name, who)
    line = f"deleted {deleted.channel} with {deleted.messages} messages{kept}"
    return Reply(
        data={**channel.where(), "messages": deleted.messages, "kept_by_git": tree},
        text=line,
        summary=line,
        warnings=warnings + deleted.warnings,
    )


def _channel(request: Request) -> Channel:
    """Opens the channel; where it is gone, what a call that was interrupted left of it goes too."""
    try:
        return channel_of(request)
    except ChatError as error:
        if error.code == "CHANNEL_NOT_FOUND" and ownership.sweep(request.workspace):
            error.message += "; what was left of a deleted one is removed"
        raise


def _kept_by_git(request: Request) -> tuple[str | None, tuple[str, ...]]:
    """Returns the work tree of git that the root lies in, None where it lies in none, and what must be said besides."""
    try:
        return git_trees.tree_around(request.workspace), ()
    except OSError as error:
        return None, (f"whether git keeps the history of the root cannot be told: {error}",)


def _person(request: Request) -> str:
    """Returns the person who acts, as a channel spells the name; fails where it is none."""
    has_token = bool(request.environment.get("AGENT_CHAT_TOKEN"))
    elsewhere = terminal.missing()
    # What is no person at all is told so before it is asked for its name.
    name = "" if has_token or elsewhere else agent_text(request)
    return persons.require_person(request.workspace, name, has_token=has_token, elsewhere=elsewhere)


def _confirm(request: Request, word: str, purpose: str, who: str) -> None:
    """Fails with ACCESS_NOT_CONFIRMED unless a word is typed again."""
    typed = terminal.ask(f"type {word} to {safe_line(purpose)}: ")
    if typed is not None and names.normal_form(typed.strip()) == word:
        return
    what = "the input ended" if typed is None else f"{names.quoted(typed)} was typed, not {word}"
    words = [*request.command.path, word, "--as", who]
    raise ChatError(
        "ACCESS_NOT_CONFIRMED",
        f"{what}; nothing was changed",
        next=request.workspace.call(" ".join(shell_word(each) for each in words)),
        where=request.workspace.where(),
    )


def _reply(request: Request, settings: OwnerSettings, *, changed: bool = False) -> Reply:
    days = settings.retention_days
    lines = (
        f"chat is {'on' if settings.access else 'off'} in {request.workspace.describe()}",
        "messages stay" if days is None else f"messages go after {days} days",
    )
    text = "\n".join(lines)
    return Reply(
        data={**request.workspace.where(), **to_json(settings)},
        text=text,
        summary="; ".join(lines) if changed else "",
    )
