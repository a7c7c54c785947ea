"""Where every file of a root and of a channel lives."""

from __future__ import annotations

import os

from agent_chat.names import fold

SEPARATOR = os.sep
META = "_meta.json"
LOCK = ".lock"
CACHE = ".cache"
CURSOR_END = ".txt"
LOCK_END = ".lock"
WAITING_END = ".waiting"
CURSORS = ".cursors"
TEMPORARY_PREFIX = "tmp-"
TAKEN_BACK_PREFIX = "taken-back-"
AUDIT_FOLDER = "audit"
STATE = "state.md"
HOOKS = "_hooks"
OWNER = "_owner.json"
OWNER_LOG = "_owner.log"
SESSIONS = "_sessions"
TOMBSTONES = "tombstones.md"
SEEN_PREFIX = "seen-"
# Before an id: the folder of a channel that was deleted, until nothing of it is left.
DELETED_PREFIX = ".deleted-"
# Between the name of a derived file and an id, while it is on its way to that name.
DERIVED_TEMPORARY = ".tmp."
DERIVED = (STATE,)
PENDING = ".pending.md"
IGNORE_FILE = ".gitignore"
ATTRIBUTES_FILE = ".gitattributes"
# What a root under git does not track: what belongs to one machine, or is not yet decided.
IGNORED = (
    *(".lock", ".cache/", ".cursors/", "*.pending.md", ".state.md.tmp.*", "_hooks/", "_sessions/"),
    *("._owner.json.tmp.*", ".deleted-*/"),
)
# What a root tells git: which files to leave alone, and that all others are to be taken byte for byte.
GIT_FILES = {IGNORE_FILE: "".join(f"{pattern}\n" for pattern in IGNORED), ATTRIBUTES_FILE: "* -text\n"}
FOLDERS = (CACHE, CURSORS, "tasks", "claims", "locks")
OURS = frozenset((META, LOCK, *FOLDERS, STATE, TOMBSTONES))
# Files that agent-chat-plugin keeps in a channel and that are none of ours to judge.
OF_THE_OTHER_PROGRAM = frozenset(("_tasks.lock", ".path-locks.lock"))


def join(folder: str, name: str) -> str:
    """Returns the path of a name in a folder; folders are absolute and normal, so a separator is all it takes."""
    return folder + SEPARATOR + name


def temporary_in(folder: str, token: str) -> str:
    """Returns the path of a temporary in a folder."""
    return join(folder, TEMPORARY_PREFIX + token)


def hooks_folder(root: str) -> str:
    """Returns the folder of what hooks remember."""
    return join(root, HOOKS)


def owner_settings(root: str) -> str:
    """Returns the path of the owner's settings."""
    return join(root, OWNER)


def owner_log(root: str) -> str:
    """Returns the path of the log of what persons decided."""
    return join(root, OWNER_LOG)


def owner_temporary(root: str, token: str) -> str:
    """Returns the path of the owner's settings on their way to their name."""
    return join(root, f".{OWNER}{DERIVED_TEMPORARY}{token}")


def is_owner_temporary(name: str) -> bool:
    """Tells whether a name in a root is that of the owner's settings which have not got their own name yet."""
    return name.startswith(f".{OWNER}{DERIVED_TEMPORARY}")


def deleted(root: str, token: str) -> str:
    """Returns where the folder of a channel goes that is deleted; no channel can have such a name."""
    return join(root, DELETED_PREFIX + token)


def sessions_folder(root: str) -> str:
    """Returns the folder of the sessions' records."""
    return join(root, SESSIONS)


def is_derived_temporary(name: str) -> bool:
    """Tells whether a name is that of a derived file which has not got its own name yet."""
    return name.startswith(tuple(f".{derived}{DERIVED_TEMPORARY}" for derived in DERIVED))


class ChannelLayout:
    """The paths of one channel."""

    def __init__(self, root: str, name: str) -> None:
        self.folder = join(root, name)
        self.meta = join(self.folder, META)
        self.lock = join(self.folder, LOCK)
        self.cache = join(self.folder, CACHE)
        self.cursors = join(self.folder, CURSORS)

    def file(self, name: str) -> str:
        """Returns the path of a message or marker file."""
        return join(self.folder, name)

    def record(self, place: str) -> str:
        """Returns the path of a record or journal entry, whose place below the channel is written with slashes."""
        return join(self.folder, place.replace("/", SEPARATOR))

    def temporary(self, token: str) -> str:
        """Returns the path of a temporary; in the cache, so that writing it leaves the channel folder's times alone."""
        return temporary_in(self.cache, token)

    def derived_temporary(self, name: str, token: str) -> str:
        """Returns the path of a derived file on its way to its name: a sibling, as its readers expect."""
        return join(self.folder, f".{name}{DERIVED_TEMPORARY}{token}")

    def cached(self, name: str) -> str:
        """Returns the path of a file in the cache."""
        return join(self.cache, name)

    def seen(self, agent: str) -> str:
        """Returns the name, in the cache, of the file that tells when an agent was last seen."""
        return SEEN_PREFIX + fold(agent)

    def taken_back(self, seq: int) -> str:
        """Returns where a message goes whose publication failed half-way: a trace that its number was used."""
        return join(self.cache, f"{TAKEN_BACK_PREFIX}{seq:04d}")

    def cursors_file(self, name: str) -> str:
        """Returns the path of a file among the cursors."""
        return join(self.cursors, name)

    def cursor(self, agent: str) -> str:
        """Returns the path of an agent's cursor."""
        return join(self.cursors, fold(agent) + CURSOR_END)

    def cursor_lock(self, agent: str) -> str:
        """Returns the path of the lock under which that cursor is replaced."""
        return join(self.cursors, fold(agent) + LOCK_END)

    def waiting(self, agent: str) -> str:
        """Returns the path of the lock that an agent's `wait` holds while it waits."""
        return join(self.cursors, fold(agent) + WAITING_END)


def root_lock(root: str) -> str:
    """Returns the path of the lock under which channels are made."""
    return join(root, LOCK)
