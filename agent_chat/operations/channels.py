"""Channels: make one, list them, see and change who is in one."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations.participants import first_spelling
from agent_chat.records import channel_meta
from agent_chat.records.channel_meta import ChannelMeta
from agent_chat.records.value import Value
from agent_chat.storage import layout, publication
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import channel_names
from agent_chat.storage.message_store import newest
from agent_chat.storage.root_lock import RootLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.message_store import Stored
    from agent_chat.storage.workspace import Workspace

MAX_TOPIC_BYTES = 4096


class Overview(Value):
    """A channel in a list: how many messages it has, the highest number, and its last message if it could be read."""

    channel: Channel
    count: int
    latest: int
    last: Stored | None


def plan_channel(
    name: str,
    *,
    members: str | None,
    humans: str | None,
    topic: str | None,
    owner: str | None,
    level: str | None,
    work_tree: str | None = None,
) -> ChannelMeta:
    """Returns the record of a new channel, without the time; one made with members is closed.

    `work_tree` is the absolute path of the work tree whose paths are locked in it.
    """
    people = names.agent_list(humans) if humans is not None else ()
    agents = names.agent_list(members) if members is not None else ()
    for person in people:
        if names.contains(agents, person):
            raise ChatError("AGENT_INVALID", f"{names.quoted(person)} cannot be a member and a human of one channel")
    head = names.agent_name(owner) if owner is not None else ""
    if agents and head and not names.contains(agents + people, head):
        agents += (head,)
    text = topic or ""
    if not _is_text(text) or "\0" in text or len(text.encode("utf-8")) > MAX_TOPIC_BYTES:
        raise ChatError(
            "CHANNEL_INVALID", f"a channel's topic is UTF-8 of at most {MAX_TOPIC_BYTES} bytes, with no NUL"
        )
    if not _is_text(work_tree or ""):
        raise ChatError("CHANNEL_INVALID", f"the work tree {names.quoted(work_tree or '')} has a name that is no UTF-8")
    return ChannelMeta(
        channel=names.channel_name(name),
        members=agents,
        humans=people,
        topic=text,
        closed=members is not None,
        owner=head,
        level=level or "PUBLIC",
        workspace=work_tree or "",
    )


def _is_text(text: str) -> bool:
    """Tells whether a text has UTF-8: words of a command line that have none hold lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def create(workspace: Workspace, meta: ChannelMeta) -> Channel:
    """Makes a channel, durably; fails with CHANNEL_EXISTS, also when two processes make it at once."""
    files = workspace.files
    files.make_root()
    workspace.require_root()
    with RootLock(workspace):
        taken = names.spelling(channel_names(workspace), meta.channel)
        if taken is not None:
            raise ChatError(
                "CHANNEL_EXISTS",
                f"the channel {names.quoted(taken)} exists already in {workspace.describe()}",
                next=workspace.call(f"roster {taken}"),
                where=workspace.where(),
            )
        folder = names.spelling(files.list_folder(workspace.root), meta.channel) or meta.channel
        channel = Channel(workspace, folder)
        files.make_folder(channel.layout.folder)
        files.make_folder(channel.layout.cache)
        files.sync_folder(workspace.root)
        write_git_files(workspace, channel.layout.cache)
        record = meta.replace(channel=folder, created=workspace.clock.timestamp())
        # The record makes the channel: until it is there, a folder of that name is no channel.
        temporary = publication.write_temporary(workspace, channel.layout, channel_meta.render(record))
        publication.name_new(files, temporary, channel.layout.meta)
    return channel


def write_git_files(workspace: Workspace, folder: str) -> list[str]:
    """Writes what the root tells git, each file unless there is one; returns the names of those that were written.

    They come to be in a folder of temporaries, which is made where it is missing.
    """
    files = workspace.files
    written: list[str] = []
    for name, text in layout.GIT_FILES.items():
        target = layout.join(workspace.root, name)
        if not publication.exists(files, target):
            files.make_folder(folder)
            temporary = layout.temporary_in(folder, workspace.ids.fresh())
            files.write_new(temporary, text.encode("ascii"))
            publication.name_new(files, temporary, target)
            written.append(name)
    return written


def overview(channel: Channel, *, speaks: bool = True) -> Overview:
    """Returns what a list says of a channel; the last message is the last valid one among the highest ten.

    Unless it `speaks`, no message is looked at.
    """
    numbers = channel.messages.numbers()
    last: Stored | None = None
    if not speaks:
        return Overview(channel=channel, count=len(numbers), latest=numbers.highest, last=None)
    for tries, (seq, files) in enumerate(numbers.before(numbers.highest + 1)):
        last = newest(channel.messages.stored(seq, files))
        if last is not None or tries >= 10:
            break
    return Overview(channel=channel, count=len(numbers), latest=numbers.latest, last=last)


def join(channel: Channel, agent: str, role: str | None) -> ChannelMeta:
    """Adds an agent or a person to a channel; who is in it already only gets the role."""
    name = names.agent_name(agent)
    with channel.mutation() as mutation:
        meta = channel.read_meta()
        joined = plan_join(meta, first_spelling(channel, mutation.numbers(), name), role)
        if joined != meta:
            mutation.replace_meta(joined)
    return joined


def plan_join(meta: ChannelMeta, name: str, role: str | None) -> ChannelMeta:
    """Returns a channel's record with one more name in it."""
    spelled = meta.spelled(name) or name
    humans = tuple(human for human in meta.humans if not names.same(human, spelled))
    members = tuple(member for member in meta.members if not names.same(member, spelled))
    if role == "human" or (role is None and len(humans) < len(meta.humans)):
        humans = meta.humans if len(humans) < len(meta.humans) else (*humans, spelled)
    else:
        members = meta.members if len(members) < len(meta.members) else (*members, spelled)
    roles = tuple(pair for pair in meta.roles if not names.same(pair[0], spelled) or role is None)
    if role is not None and role != "human":
        roles += ((spelled, role),)
    return meta.replace(members=members, humans=humans, roles=roles)


def leave(channel: Channel, agent: str) -> ChannelMeta:
    """Takes a name out of a channel; its messages and cursor stay. AGENT_UNKNOWN when it is not in it."""
    name = names.agent_name(agent)
    with channel.mutation() as mutation:
        meta = channel.read_meta()
        if meta.spelled(name) is None:
            raise channel.refusal(
                "AGENT_UNKNOWN",
                f"{names.quoted(name)} is not in {channel.name} ({channel.workspace.describe()})",
                near=(name, meta.members + meta.humans),
                call=f"roster {channel.name}",
            )
        left = plan_leave(meta, name)
        mutation.replace_meta(left)
    return left


def plan_leave(meta: ChannelMeta, name: str) -> ChannelMeta:
    """Returns a channel's record without a name."""
    return meta.replace(
        members=tuple(member for member in meta.members if not names.same(member, name)),
        humans=tuple(human for human in meta.humans if not names.same(human, name)),
        roles=tuple(pair for pair in meta.roles if not names.same(pair[0], name)),
    )
