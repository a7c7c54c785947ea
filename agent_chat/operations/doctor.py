"""The doctor: looks at every file of a root and names each invariant of docs/format.md that is broken, with a remedy.

The doctor changes nothing; what can be mended without losing anything is mended by `mending`, when asked for. The
invariants are in `findings`; messages, cursors and events are looked at by `message_checks`, caches by `cache_checks`,
tasks, claims, path locks, their journals and their history by `record_checks`, what persons decide by `owner_checks`,
sessions by `session_checks`.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import CODES, ChatError
from agent_chat.operations import cache_checks, markers, message_checks, owner_checks, record_checks, session_checks
from agent_chat.operations.findings import LOCK_LOOKS, LOCK_SECONDS, Finding, check_kind, unreadable
from agent_chat.records import channel_meta
from agent_chat.records.value import Value
from agent_chat.storage import layout, publication, real_place
from agent_chat.storage.channel import Channel
from agent_chat.storage.channel_folders import may_be_channel
from agent_chat.storage.file_lock import FileLock
from agent_chat.storage.filesystem import NotOrdinaryError, is_file, is_folder, is_link, path_of
from agent_chat.storage.message_store import Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_chat.records.tombstone import Tombstone
    from agent_chat.storage.message_numbers import Numbers
    from agent_chat.storage.workspace import Workspace

    Progress = Callable[[str, int, int], None]


class Examined(Value):
    """A channel's messages as the doctor found them: what it read, and which files arrived below a cursor."""

    channel: Channel
    numbers: Numbers
    stored: tuple[Stored, ...]
    late: tuple[str, ...]
    findings: tuple[Finding, ...]


def check_root(workspace: Workspace) -> Iterator[Finding]:
    """Yields what is wrong with the root itself."""
    files = workspace.files
    if not files.writable(workspace.root):
        yield Finding(
            id="root.writable",
            path=workspace.root,
            message="the root cannot be written",
            remedy="set another root, or change its permissions",
        )
    yield from check_kind(files, layout.root_lock(workspace.root))
    yield from session_checks.check(workspace)
    seen: dict[str, str] = {}
    for name in sorted(files.list_folder(workspace.root)):
        folder = layout.join(workspace.root, name)
        if names.fault_of_name(name) is not None:
            continue
        status = files.status(folder)
        if is_link(status):
            yield Finding(
                id="root.channels", path=folder, message="it is a link, which nothing follows", remedy="move it away"
            )
        if not is_folder(status):
            continue
        if not may_be_channel(workspace, name):
            yield Finding(
                id="root.channels",
                path=folder,
                message="it has no _meta.json, so it is no channel",
                remedy=workspace.call(f"init {name}") + ", or move the folder away",
            )
            continue
        folded = names.fold(name)
        if folded in seen:
            yield Finding(
                id="root.case",
                path=folder,
                message=f"the channel {seen[folded]} has the same name but for case",
                remedy="rename one of the folders",
            )
        seen[folded] = name
    for name in layout.GIT_FILES if seen else ():
        path = layout.join(workspace.root, name)
        if not publication.exists(files, path):
            yield Finding(
                id="root.ignore",
                path=path,
                message=f"there is no {name}",
                remedy=workspace.call("doctor --fix") + " writes it",
            )
    yield from owner_checks.check(workspace)


def examine(channel: Channel, progress: Progress | None = None) -> Examined:
    """Looks at one channel and returns all findings; an unreadable file is a finding, never an end."""
    findings = [*_looked_at(channel, _check_meta(channel)), *_looked_at(channel, _check_places(channel))]
    try:
        numbers = channel.messages.numbers()
    except OSError as error:
        findings.append(unreadable(path_of(error) or channel.layout.folder, error, id="message.file"))
        return Examined(
            channel=channel, numbers=channel.messages.nothing(), stored=(), late=(), findings=tuple(findings)
        )
    stored: list[Stored] = []
    for done, (seq, files) in enumerate(numbers.after(0)):
        if progress is not None:
            progress(channel.name, done, len(numbers))
        unit, found = message_checks.check_unit(channel, seq, files)
        stored += unit
        findings += found
    findings += _looked_at(channel, message_checks.check_numbers(channel, numbers))
    late, found = message_checks.check_cursors(channel, numbers, stored)
    findings += found
    removed = _removed(channel, numbers, findings)
    findings += message_checks.check_parents(channel, stored, removed)
    if numbers.removed is not None:
        findings += _looked_at(channel, message_checks.check_tombstones(channel, stored, removed))
    findings += message_checks.check_events(channel, stored)
    findings += _looked_at(channel, _check_others(channel, numbers, stored))
    findings += _looked_at(channel, _check_temporaries(channel))
    findings += _looked_at(channel, cache_checks.check(channel, stored))
    findings += record_checks.check(channel, numbers, stored, {finding.path for finding in findings}, removed)
    return Examined(channel=channel, numbers=numbers, stored=tuple(stored), late=tuple(late), findings=tuple(findings))


def _removed(channel: Channel, numbers: Numbers, findings: list[Finding]) -> list[Tombstone]:
    """Returns what is kept of the messages that retention removed; where that cannot be read, it is a finding."""
    try:
        return channel.messages.tombstones.load() if numbers.removed is not None else []
    except OSError as error:
        findings.append(unreadable(path_of(error) or channel.layout.folder, error, id="message.file"))
        return []


def _looked_at(channel: Channel, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yields what a check finds; where it cannot look, that is a finding too."""
    try:
        yield from findings
    except OSError as error:
        path = path_of(error) or channel.layout.folder
        yield unreadable(path, error, id="message.file")


def _check_meta(channel: Channel) -> Iterator[Finding]:
    path = channel.layout.meta
    try:
        meta = channel.read_meta()
    except ChatError as error:
        yield Finding(
            id="channel.meta", path=path, message=error.message, remedy="mend the file by hand, or restore it"
        )
        return
    except OSError as error:
        yield Finding(
            id="channel.meta", path=path, message=f"it cannot be read: {error.strerror}", remedy="mend its permissions"
        )
        return
    odd = channel_meta.odd_fields(channel.workspace.files.read_file(path, channel_meta.MAX_BYTES))
    if odd:
        yield Finding(
            id="channel.meta",
            path=path,
            message=f"not as this program writes it: {', '.join(odd)}",
            remedy="mend these fields by hand",
        )
    if not names.same(meta.channel, channel.name):
        yield Finding(
            id="channel.name",
            path=path,
            message=f"it names the channel {names.quoted(meta.channel)}",
            remedy="rename the folder, or correct the field channel",
        )
    if meta.workspace and not real_place.is_folder(meta.workspace):
        yield Finding(
            id="channel.workspace",
            path=path,
            message=f"the work tree {names.quoted(meta.workspace)} is not there; locking a path needs --workspace",
            remedy="restore it, or correct the field workspace",
        )


def _check_places(channel: Channel) -> Iterator[Finding]:
    """Checks the folders and the lock of a channel, and whether it can be written and locked at all."""
    files = channel.workspace.files
    places = channel.layout
    for folder in (places.cache, places.cursors):
        if publication.exists(files, folder) and not is_folder(files.status(folder)):
            yield Finding(
                id="channel.folders",
                path=folder,
                message="it is no real folder",
                remedy="move it away; it is made anew",
            )
    if not files.writable(places.folder):
        yield Finding(
            id="root.writable", path=places.folder, message="it cannot be written", remedy="change its permissions"
        )
    lock = FileLock(files, places.lock, channel.workspace.clock)
    try:
        holders: list[str] = []
        for _ in range(LOCK_LOOKS):
            if lock.acquire(LOCK_SECONDS, create=False):
                lock.release()
                break
            holders.append(lock.holder())
            if len(set(holders)) > 1:
                break  # it goes from one to the next, as in any busy channel
        else:
            yield Finding(
                id="channel.lock",
                path=places.lock,
                message=f"it is held{lock.holder()}",
                remedy="see what that process does; the lock ends with it",
            )
    except FileNotFoundError:
        return  # nobody has written yet
    except NotOrdinaryError as error:
        yield Finding(id="channel.lock", path=places.lock, message=str(error), remedy="move it away; it is made anew")
    except ChatError as error:
        yield Finding(id="channel.lock", path=places.lock, message=error.message, remedy=CODES[error.code][2])
    except OSError as error:
        yield Finding(
            id="channel.lock", path=places.lock, message=str(error), remedy="mend its permissions or the disk"
        )


def _check_others(channel: Channel, numbers: Numbers, stored: list[Stored]) -> Iterator[Finding]:
    """Checks the files that are no messages: markers, and what the layout does not know."""
    claims: dict[str, list[str]] = {}
    for name in sorted(numbers.odd):
        known = name in layout.OURS or name in layout.OF_THE_OTHER_PROGRAM or layout.is_derived_temporary(name)
        if known or markers.task_of(name) is not None:
            yield from _check_ours(channel, name)
            continue
        claimed = markers.parse_claimed(name)
        if claimed is None:
            yield Finding(
                id="file.foreign",
                path=channel.layout.file(name),
                message="it is neither a message nor a file of the channel",
                remedy="move it away; nothing reads it",
            )
        else:
            claims.setdefault(claimed[0], []).append(name)
    audited = {item.message.title for item in stored if item.message.status == markers.STATUS}
    for marker, files in claims.items():
        for extra in files[1:]:
            yield Finding(
                id="marker.unique",
                path=channel.layout.file(extra),
                message=f"{files[0]} claims {marker} too",
                remedy="decide by hand whose it is, and remove the other",
            )
        if f"{markers.STATUS} {markers.task_of(marker)}" not in audited:
            owner = markers.owner_of(marker, files)
            yield Finding(
                id="marker.audited",
                path=channel.layout.file(files[0]),
                message="its audit message is missing",
                remedy=channel.workspace.call(f"claim {channel.name} {marker} --as {owner}") + " completes the claim",
            )


def _check_ours(channel: Channel, name: str) -> Iterator[Finding]:
    """Checks that what has a name of ours is of the right kind; what others checks tell of is left to them."""
    if name in (layout.META, layout.LOCK, layout.CACHE, layout.CURSORS):
        return
    path = channel.layout.file(name)
    status = channel.workspace.files.status(path)
    wants_folder = name in layout.FOLDERS
    if wants_folder and not is_folder(status):
        yield Finding(id="channel.folders", path=path, message="it is no real folder", remedy="move it away")
    elif not wants_folder and not is_file(status):
        yield Finding(id="file.foreign", path=path, message="it is no ordinary file", remedy="move it away")


def _check_temporaries(channel: Channel) -> Iterator[Finding]:
    try:
        stale = publication.stale_temporaries(channel.workspace, channel.layout, derived=True)
    except NotOrdinaryError:
        return  # told already: the cache is no real folder
    for path in stale:
        yield Finding(
            id="temporary.stale",
            path=path,
            message="its writer died more than an hour ago",
            remedy=channel.workspace.call(f"doctor {channel.name} --fix") + " removes it",
        )
