"""Refs: what a message that is posted keeps of what it points to, and how that stands when somebody looks.

"Could not look" is `unknown` with a reason, never `missing`. What others wrote is looked at here, on the reader's
machine: so little is read, of ordinary files alone, and no work is done for refs without end.
"""

from __future__ import annotations

import os

from agent_chat.errors import ChatError
from agent_chat.names import quoted
from agent_chat.operations.messages import checked_ref
from agent_chat.records import ref as ref_record
from agent_chat.records.value import Value
from agent_chat.storage import real_place, work_tree
from agent_chat.storage.file_digest import DigestError, TooLargeError, sha256_of
from agent_chat.storage.git_objects import GitObjects
from agent_chat.storage.git_pack import CannotTellError
from agent_chat.storage.named_files import NotOrdinaryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_chat.records.ref import Ref
    from agent_chat.storage.workspace import Workspace

MAX_BYTES = 1 << 30  # of one file when it is posted, and of all files together when they are looked at
MAX_LOOKED_AT = 200
SAME, CHANGED, MISSING, THERE, UNKNOWN = "same", "changed", "missing", "there", "unknown"
STATES = (SAME, CHANGED, MISSING, THERE, UNKNOWN)
_NO_REPOSITORY = "no repository at hand"


class Kept(Value):
    """What a message keeps: its refs as they are stored, and what the sender should know of them."""

    refs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Looked(Value):
    """How a ref stands: one of `STATES`; the reason is that of `unknown`."""

    ref: str
    state: str
    reason: str = ""


def keep(workspace: Workspace, typed: Iterable[str]) -> Kept:
    """Returns what a message keeps of the refs that its sender typed.

    Fails with MESSAGE_INVALID for what is no ref, MESSAGE_REF_UNREADABLE for a path that is no ordinary file of at most
    1 GiB that can be read.
    """
    refs: list[str] = []
    warnings: list[str] = []
    objects = GitObjects(workspace.files)
    for text in typed:
        ref = checked_ref(text)
        if ref.kind == ref_record.PATH:
            kept = _kept_file(workspace, ref)
        else:
            kept = _kept_commit(ref)
            if _look_at_commit(objects, kept).state == MISSING:
                where = f"in {kept.place}" if kept.place else "in the repository at hand"
                warnings.append(f"{quoted(kept.text, limit=200)}: there is no such object {where}; posted all the same")
        if kept.text not in refs:
            refs.append(kept.text)
    return Kept(refs=tuple(refs), warnings=tuple(warnings))


def look(workspace: Workspace, texts: Iterable[str]) -> list[Looked]:
    """Returns how each ref of a message stands now, on this machine."""
    objects = GitObjects(workspace.files)
    left = MAX_BYTES
    found: list[Looked] = []
    for number, text in enumerate(texts):
        ref = ref_record.parse(text)
        if number >= MAX_LOOKED_AT:
            looked = Looked(ref=text, state=UNKNOWN, reason=f"only the first {MAX_LOOKED_AT} are looked at")
        elif ref is None:
            looked = Looked(ref=text, state=UNKNOWN, reason="not of the form of a ref")
        elif ref.kind == ref_record.COMMIT:
            looked = _look_at_commit(objects, ref)
        else:
            looked, size = _look_at_file(workspace, ref, left)
            left -= size
        found.append(looked.replace(ref=text))
    return found


def _here() -> str:
    """Returns the current folder as the UTF-8 that its bytes are, whatever the locale says."""
    return os.fsencode(work_tree.current_folder()).decode("utf-8", "surrogateescape")


# -- files -------------------------------------------------------------------------------------------------------------


def _kept_file(workspace: Workspace, ref: Ref) -> Ref:
    """Returns the ref to a file with its absolute path and its hash, which must be the one that was typed, if any."""
    try:
        path = real_place.normal_path(ref.place, _here)
        digest = sha256_of(workspace.files, path, MAX_BYTES)[0] if _is_on_this_machine(path) else ""
    except TooLargeError:
        raise _unreadable(ref, "it is larger than 1 GiB; name a smaller one, or a commit") from None
    except (OSError, DigestError, ChatError) as error:
        raise _unreadable(ref, _reason(error)) from None
    if not digest:
        raise _unreadable(ref, "its path is none of this machine")
    if ref.hash not in ("", digest):
        raise _unreadable(ref, "its SHA-256 is not the one that was given")
    return ref.replace(place=path, hash=digest)


def _unreadable(ref: Ref, why: str) -> ChatError:
    return ChatError("MESSAGE_REF_UNREADABLE", f"{quoted(ref.place, limit=200)}: {why}", path=ref.place)


def _look_at_file(workspace: Workspace, ref: Ref, left: int) -> tuple[Looked, int]:
    """Returns how a file stands and how many bytes of it were read, at most `left`."""
    looked = Looked(ref="", state=UNKNOWN)
    if not _is_on_this_machine(ref.place):
        return looked.replace(reason="no absolute path on this machine"), 0
    try:
        if not ref.hash:
            workspace.files.read_part(ref.place, 0, 0)
            return looked.replace(reason="no hash was recorded"), 0
        digest, size = sha256_of(workspace.files, ref.place, left)
    except (FileNotFoundError, NotADirectoryError):
        return looked.replace(state=MISSING), 0
    except TooLargeError:
        why = "larger than 1 GiB" if left == MAX_BYTES else "the files together are larger than 1 GiB"
        return looked.replace(reason=why), 0
    except (OSError, DigestError) as error:
        return looked.replace(reason=_reason(error)), 0
    return looked.replace(state=SAME if digest == ref.hash else CHANGED), size


def _is_on_this_machine(path: str) -> bool:
    """Tells whether a path is absolute; on Windows also on a drive, or others could have it log on to their server."""
    return work_tree.is_absolute(path) and (os.sep == "/" or path[1:2] == ":")


def _reason(error: Exception) -> str:
    """Returns why something could not be looked at, without its path."""
    if isinstance(error, NotOrdinaryError):
        return "no ordinary file"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


# -- commits -----------------------------------------------------------------------------------------------------------


def _kept_commit(ref: Ref) -> Ref:
    """Returns the ref to a commit with the absolute path of its repository where that is a folder here."""
    if not ref.place:
        return ref
    try:
        path = real_place.normal_path(ref.place, _here)
        return ref.replace(place=path) if _is_on_this_machine(path) and real_place.is_folder(path) else ref
    except (OSError, ChatError):
        return ref  # a name like any other


def _look_at_commit(objects: GitObjects, ref: Ref) -> Looked:
    looked = Looked(ref="", state=UNKNOWN, reason=_NO_REPOSITORY)
    try:
        folder = ref.place or _here()
        if not _is_on_this_machine(folder) or not real_place.is_folder(folder):
            return looked
        repository = objects.repository_around(folder)
        if not repository:
            return looked
        return looked.replace(state=THERE if objects.holds(repository, ref.hash) else MISSING, reason="")
    except (OSError, CannotTellError, ChatError) as error:
        return looked.replace(reason=_reason(error))
