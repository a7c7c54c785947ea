"""A path lock: the lease that one agent has on files and folders of the work tree."""

from __future__ import annotations

from agent_chat.records import json_codec, locked_path
from agent_chat.records.lease import Lease
from agent_chat.records.locked_path import LockedPath, parse_path
from agent_chat.records.record_fields import INVALID, SCHEMA_VERSION, RecordError, RecordFields, instant_text
from agent_chat.records.value import Value

END = ".json"
_ID_CHARACTERS = frozenset("0123456789abcdef")
_REQUIRED = (
    "lock_id",
    "channel",
    "owner",
    "paths",
    "expires_at",
    "locked_at",
    "updated_at",
    "previous_owner",
    "previous_expires_at",
    "recovery_reason",
)
_ADDED = ("fence", "lease_seconds", "boot_id", "boot_expires", "session", "reason", "workspace")


class PathLock(Value):
    """One lock; times are POSIX seconds, `fence` is the number of the audit message that granted it.

    Its paths are of one work tree, which the record names as `workspace`: so those of another are told apart.
    """

    lock_id: str
    channel: str
    owner: str
    paths: tuple[LockedPath, ...]
    lease: Lease
    locked_at: float
    previous_owner: str | None = None
    previous_expires_at: float | None = None
    recovery_reason: str | None = None
    fence: int | None = None
    session: str | None = None
    reason: str | None = None


def is_lock_id(text: str) -> bool:
    """Tells whether a text is a lock's id: 16 to 64 lower-case hexadecimal digits."""
    return 16 <= len(text) <= 64 and _ID_CHARACTERS.issuperset(text)


def file_name(lock_id: str) -> str:
    """Returns the file name of a lock."""
    return lock_id + END


def parse(data: bytes) -> PathLock:
    """Returns the lock that a file's bytes hold; fails with RecordError."""
    fields = RecordFields(data, "the lock", required=_REQUIRED, added=_ADDED)
    try:
        paths = tuple(parse_path(item) for item in fields.values("paths"))
    except ValueError as error:
        raise error if isinstance(error, RecordError) else RecordError(INVALID, str(error)) from error
    if not paths:
        raise RecordError(INVALID, "it has no paths")
    tree = fields.optional_text("workspace")
    if tree is not None and locked_path.fault_of_tree(tree):
        raise RecordError(INVALID, "workspace is no path")
    if tree is not None:
        paths = tuple(path.replace(tree=tree) for path in paths)
    lock_id = fields.text("lock_id")
    if not is_lock_id(lock_id):
        raise RecordError(INVALID, "lock_id is none")
    return PathLock(
        lock_id=lock_id,
        channel=fields.text("channel"),
        owner=fields.agent("owner"),
        paths=paths,
        lease=Lease(
            expires=fields.instant("expires_at"),
            granted=fields.instant("updated_at"),
            seconds=fields.optional_number("lease_seconds"),
            boot_id=fields.optional_text("boot_id"),
            boot_expires=fields.optional_number("boot_expires"),
        ),
        locked_at=fields.instant("locked_at"),
        previous_owner=fields.optional_agent("previous_owner"),
        previous_expires_at=fields.optional_instant("previous_expires_at"),
        recovery_reason=fields.optional_text("recovery_reason"),
        fence=fields.optional_integer("fence"),
        session=fields.optional_text("session"),
        reason=fields.optional_text("reason"),
    )


def paths_in(data: bytes) -> tuple[LockedPath, ...]:
    """Returns the paths that can be read in the bytes of a damaged lock: they count as held."""
    try:
        value = json_codec.decode(data)
    except json_codec.JsonError:
        return ()
    items = value.get("paths") if isinstance(value, dict) else None
    tree = value.get("workspace") if isinstance(value, dict) else None
    found: list[LockedPath] = []
    for item in items if isinstance(items, list) else ():
        try:
            found.append(parse_path(item))
        except ValueError:
            found += _guessed(item)
    if isinstance(tree, str) and not locked_path.fault_of_tree(tree):
        found = [path.replace(tree=tree) for path in found]
    return tuple(found)


def _guessed(item: object) -> list[LockedPath]:
    """Returns what a path that breaks the rules most likely means: written as on Windows, or not in its normal form."""
    text = item.get("normalized_path") if isinstance(item, dict) else None
    if not isinstance(text, str):
        return []
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    normalized = "/".join(parts) or locked_path.WHOLE
    try:
        return [parse_path({"normalized_path": normalized, "display_path": text, "kind": locked_path.DIRECTORY})]
    except ValueError:
        return []


def to_json(lock: PathLock) -> dict[str, object]:
    """Returns the fields of a lock's record, in their order."""
    return {
        "schema_version": SCHEMA_VERSION,
        "lock_id": lock.lock_id,
        "channel": lock.channel,
        "owner": lock.owner,
        "paths": [locked_path.to_json(path) for path in lock.paths],
        "expires_at": instant_text(lock.lease.expires),
        "locked_at": instant_text(lock.locked_at),
        "updated_at": instant_text(lock.lease.granted),
        "previous_owner": lock.previous_owner,
        "previous_expires_at": instant_text(lock.previous_expires_at),
        "recovery_reason": lock.recovery_reason,
        "fence": lock.fence,
        "lease_seconds": lock.lease.seconds,
        "boot_id": lock.lease.boot_id,
        "boot_expires": lock.lease.boot_expires,
        "session": lock.session,
        "reason": lock.reason,
        "workspace": lock.paths[0].tree or None,
    }


def render(lock: PathLock) -> bytes:
    """Returns the bytes of a lock's file."""
    return json_codec.canonical(to_json(lock))
