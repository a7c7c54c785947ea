"""What a command works with: the root, its file system, the clock and the source of ids, handed to everything.

The only module that reads the clock or makes ids, so that a test can replace both.
"""

from __future__ import annotations

import os
import sys
import time

from agent_chat.errors import ChatError
from agent_chat.records.lease import Moment
from agent_chat.storage import filesystem, layout
from agent_chat.timestamps import format_utc

if sys.platform == "win32":
    pwd = None
else:
    import pwd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.message import Message
    from agent_chat.records.session import Session


class Clock:
    """The system's clocks."""

    _boot_id: str | None = None

    def now(self) -> float:
        """Returns the wall time in POSIX seconds."""
        return time.time()

    def timestamp(self) -> str:
        """Returns the wall time as ISO 8601 in UTC, whole seconds."""
        return format_utc(self.now())

    def moment(self) -> Moment:
        """Returns the instant by wall clock and boot clock, by which leases are judged."""
        if self._boot_id is None:
            self._boot_id = filesystem.boot_id()
        # CLOCK_BOOTTIME goes on while the machine sleeps (clock_gettime(2), Linux); where there is no boot id, wall
        # time decides, and this clock is not looked at.
        boot = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
        return Moment(wall=self.now(), boot_id=self._boot_id, boot=boot)

    def monotonic(self) -> float:
        """Returns seconds of a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleeps."""
        time.sleep(seconds)

    def jitter(self) -> float:
        """Returns a random number in [0, 1), to keep waiting processes from marching in step."""
        return os.urandom(1)[0] / 256


def user_name() -> str:
    """Returns the user of the operating system that runs this program, by name where the system knows one."""
    if pwd is None:
        return os.getlogin()
    user = os.getuid()
    try:
        return str(pwd.getpwuid(user).pw_name)
    except KeyError:
        return str(user)


class Ids:
    """The source of random ids and secrets."""

    def secret(self, size: int) -> bytes:
        """Returns so many bytes that nobody can guess."""
        return os.urandom(size)

    def fresh(self) -> str:
        """Returns 16 hexadecimal digits that nobody else has."""
        return os.urandom(8).hex()


def shell_word(text: str) -> str:
    """Returns a text as a word that a shell passes on unchanged."""
    plain = bool(text) and all(sign.isalnum() or sign in "/._-+:@%" for sign in text)
    return text if plain else "'" + text.replace("'", "'\\''") + "'"


class Workspace:
    """One chat root and the means to work on it; `session` is the one that acts, None where none does."""

    session: Session | None = None

    def __init__(
        self,
        root: str,
        *,
        root_from: str = "option",
        clock: Clock | None = None,
        ids: Ids | None = None,
        files: filesystem.FileSystem | None = None,
        account: str | None = None,
    ) -> None:
        """`root` may be relative; `root_from` says where it came from: option, variable or default."""
        if not filesystem.is_path(root):
            raise ChatError("ROOT_INVALID", f"{root!r} is no path")
        self.root = filesystem.absolute(root)
        self.root_from = root_from
        self._account = account
        self.clock = clock or Clock()
        self.ids = ids or Ids()
        self.files = files or filesystem.FileSystem(self.root, self.clock)

    def describe(self) -> str:
        """Returns the root and where it came from, as "not found" messages say it."""
        return f"root {self.root} ({self.root_from})"

    @property
    def account(self) -> str:
        """The user of the operating system that acts."""
        if self._account is None:
            self._account = user_name()
        return self._account

    def signed(self, message: Message) -> Message:
        """Returns a message signed by who acts: with the user, and with session and connection where there is one."""
        session = self.session
        if session is None:
            return message.replace(account=self.account)
        return message.replace(account=self.account, session=session.name, connection=session.connection)

    @property
    def has_owner_settings(self) -> bool:
        """Whether the owner has decided anything for this root."""
        try:
            self.files.status(layout.owner_settings(self.root))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def require_root(self) -> None:
        """Fails with ROOT_NOT_FOUND or ROOT_INVALID unless the root is there."""
        try:
            status = self.files.root_status()
        except (FileNotFoundError, NotADirectoryError):
            raise ChatError(
                "ROOT_NOT_FOUND",
                f"{self.describe()} does not exist",
                next=self.call("init --help"),
                where=self.where(),
            ) from None
        if not filesystem.is_folder(status):
            raise ChatError("ROOT_INVALID", f"{self.describe()} is no folder", where=self.where())

    def call(self, words: str) -> str:
        """Returns a command that a caller can run as it stands: it finds the same root."""
        if self.root_from != "option":
            return f"agent-chat {words}"
        return f"agent-chat --root {shell_word(self.root)} {words}"

    def where(self) -> dict[str, object]:
        """Returns the fields of a reply that say which root was used."""
        return {"root": self.root, "root_from": self.root_from}
