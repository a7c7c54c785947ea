"""What stands in the files of hosts: each kind of content put in and taken out, as text; no disk.

`setup` reads the files, asks these, and carries out what they say.
"""

from __future__ import annotations

from agent_chat.operations import host_extensions
from agent_chat.records import env_file, hook_settings
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.hook_settings import HostHooks

VARIABLE = "AGENT_CHAT_ROOT"
ENV = "env"


class HookSettings(Value):
    """The hooks in a host's JSON settings."""

    hooks: HostHooks

    def made(self) -> str:
        """Returns the text of a file that holds nothing else."""
        return hook_settings.made(self.hooks)

    def put(self, text: str) -> str:
        """Returns a text with this in it."""
        return hook_settings.wired(text, self.hooks)

    def take(self, text: str) -> str | None:
        """Returns a text without this, None where nothing is left of a file that was made."""
        # A file that cannot hold a line of ours need not be one that can be read.
        return hook_settings.unwired(text, self.hooks.host) if f"--host {self.hooks.host}" in text else text


class RootVariable(Value):
    """The variable with the root among those that a host's JSON settings set for its shells."""

    root: str

    def made(self) -> str:
        """Returns the text of a file that holds nothing else."""
        return hook_settings.made_member(ENV, VARIABLE, self.root)

    def put(self, text: str) -> str:
        """Returns a text with this in it."""
        return hook_settings.with_member(text, ENV, VARIABLE, self.root)

    def take(self, text: str) -> str | None:
        """Returns a text without this, None where nothing is left of a file that was made."""
        return hook_settings.without_member(text, ENV, VARIABLE, self.root) if VARIABLE in text else text


class RootLine(Value):
    """The line with the root in a file of variables."""

    root: str

    def made(self) -> str:
        """Returns the text of a file that holds nothing else."""
        return self.put("")

    def put(self, text: str) -> str:
        """Returns a text with this in it."""
        return env_file.with_variable(text, VARIABLE, self.root)

    def take(self, text: str) -> str | None:
        """Returns a text without this."""
        return env_file.without_variable(text, VARIABLE)


class Whole(Value):
    """A whole file of ours that its user may have changed since: then it stays."""

    text: str

    def made(self) -> str:
        """Returns the text of the file."""
        return self.text

    def put(self, text: str) -> str:
        """Returns the text that is there."""
        return text

    def take(self, text: str) -> str | None:
        """Returns None where the text is ours, else the text."""
        return None if text.rstrip("\n") == self.text.rstrip("\n") else text


class Leftover(Value):
    """A file that came about while what we set up was used; nobody sets it up."""

    def made(self) -> str:
        """Returns nothing: it is never made."""
        return ""

    def put(self, text: str) -> str:
        """Returns the text that is there."""
        return text

    def take(self, _text: str) -> str | None:
        """Returns None: it goes."""
        return None


class Extension(Value):
    """A program of ours that a host loads."""

    text: str

    def made(self) -> str:
        """Returns the text of the file."""
        return self.text

    def put(self, text: str) -> str:
        """Returns the text of the file, in the place of an older one; fails if it is somebody else's."""
        host_extensions.require_ours(text)
        body = text.replace("\r\n", "\n").rstrip("\n")
        if body == self.text.rstrip("\n"):
            return text
        return self.text.rstrip("\n") + "\n" * (len(text) - len(text.rstrip("\n")))

    def take(self, text: str) -> str | None:
        """Returns None: nothing is left; fails if the file is somebody else's."""
        host_extensions.require_ours(text)
        return None
