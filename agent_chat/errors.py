"""Every stable code, its kind, its cause and its next step, in one table, and the one exception that carries a code.

A code is a promise to scripts: it never changes its meaning. The kind tells a caller what to do without reading prose.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

INVALID = "invalid input"
CONFLICT = "conflict"
NOT_FOUND = "not found"
RECOVERY = "recovery needed"
BUSY = "busy"
DENIED = "denied"
DAMAGED = "damaged"

KINDS: dict[str, str] = {
    INVALID: "correct the call",
    CONFLICT: "take other work, or wait",
    NOT_FOUND: "check the name",
    RECOVERY: "run the recovery that the hint names",
    BUSY: "make the same call later",
    DENIED: "stop: a rule forbids it",
    DAMAGED: "stop: a person must look",
}

# code: (kind, what causes it, what to do next)
CODES: dict[str, tuple[str, str, str]] = {
    "USAGE": (INVALID, "The command line is wrong.", "read the help of the command"),
    "IO_ERROR": (BUSY, "The operating system refused or failed a file operation; nothing was lost.", "mend what the message names, then repeat the call"),
    "OUTPUT_FAILED": (BUSY, "Standard output is closed, full or broken, so the reply was not shown in full. The message says what was done before.", "repeat a reading call; look before repeating a writing one"),
    "ROOT_NOT_FOUND": (NOT_FOUND, "The chat root does not exist. Reading never makes one.", "check --root and $AGENT_CHAT_ROOT, or make a channel with init"),
    "ROOT_INVALID": (INVALID, "The chat root is no folder, or its path cannot be used.", "give another --root"),
    "PATH_REFUSED": (DAMAGED, "A file of the channel is a symbolic link, or no ordinary file or folder, where one of ours belongs.", "look at the path that the message names and move it away"),
    "CHANNEL_INVALID": (INVALID, "The channel name breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "CHANNEL_NOT_FOUND": (NOT_FOUND, "There is no such channel in this root.", "list the channels, or make one with init"),
    "CHANNEL_EXISTS": (CONFLICT, "A channel of that name exists already.", "use it, or choose another name"),
    "CHANNEL_BUSY": (BUSY, "Another process held the channel's lock for the whole time that we waited.", "make the same call again"),
    "CHANNEL_LOCK_UNAVAILABLE": (DENIED, "The file system of the root cannot lock files, so writers cannot exclude each other.", "put the root on a local file system"),
    "CHANNEL_DAMAGED": (DAMAGED, "The channel's _meta.json cannot be read as one.", "run doctor on the channel"),
    "CHANNEL_VERSION": (DAMAGED, "The channel was written by a later version of agent-chat.", "update agent-chat"),
    "CHANNEL_MOVED": (CONFLICT, "The channel has moved past the number given with --if-seq; nothing was posted.", "read what came, then decide again"),
    "AGENT_MISSING": (INVALID, "No acting agent was named.", "add --as NAME or set AGENT_CHAT_NAME"),
    "AGENT_INVALID": (INVALID, "An agent name breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "AGENT_RESERVED": (INVALID, "The names all and system are reserved.", "choose another name"),
    "AGENT_UNKNOWN": (NOT_FOUND, "The channel does not know that agent, and is closed to those whom it does not know.", "check the spelling, or join"),
    "MESSAGE_NOT_FOUND": (NOT_FOUND, "There is no such message in the channel.", "peek shows the last messages"),
    "MESSAGE_AMBIGUOUS": (CONFLICT, "Several files carry that number (a git merge does this).", "name the file, or let doctor --fix renumber"),
    "MESSAGE_DAMAGED": (DAMAGED, "The file of that number is no valid message.", "run doctor on the channel"),
    "MESSAGE_EMPTY": (INVALID, "The body is empty.", "give a body, or no body option for a message that is its title alone"),
    "MESSAGE_TOO_LARGE": (INVALID, "The title or the body is larger than a message may be.", "post a summary and name the file"),
    "MESSAGE_NOT_TEXT": (INVALID, "The text is no valid UTF-8, or holds a NUL.", "convert it to UTF-8"),
    "MESSAGE_INVALID": (INVALID, "A field of the message breaks its rule.", "correct the option that the message names"),
    "MESSAGE_BODY_SILENT": (INVALID, "Standard input stayed open and silent, so there was no body to post.", "use --body, --body-file F, or --body-file - to wait for the pipe"),
    "MESSAGE_FILE_UNREADABLE": (INVALID, "The file given with --body-file cannot be read.", "check its path and permissions"),
    "MESSAGE_NO_RECIPIENT": (INVALID, "The only recipient is the sender, who never receives its own messages.", "name somebody else, or leave --to out"),
    "MESSAGE_KEY_CONFLICT": (CONFLICT, "The key was used for another content by the same sender.", "use a new key for new content"),
    "MESSAGE_STATUS_RESERVED": (DENIED, "That status is kept for audit messages.", "use another --status"),
    "MESSAGE_TOPIC_MISMATCH": (CONFLICT, "A reply has the topic of its parent; another one was given.", "leave --topic out"),
    "MESSAGE_PUBLICATION_UNKNOWN": (RECOVERY, "The message may or may not stay visible: the disk failed while it was published and could not be taken back.", "look for it before posting again"),
    "CURSOR_INVALID": (DAMAGED, "The agent's cursor file holds no number.", "set it with ack --reset"),
    "CURSOR_AHEAD": (INVALID, "The number is past the channel's last message.", "acknowledge a message that exists"),
    "CURSOR_NOT_STORED": (BUSY, "The messages were shown but the cursor could not be stored; they will be shown again.", "repeat with ack once the cause is mended"),
    "MARKER_INVALID": (INVALID, "Only files named task-<id>.md can be claimed.", "name such a file"),
    "MARKER_NOT_FOUND": (NOT_FOUND, "There is no such marker file in the channel.", "list the channel's folder"),
    "MARKER_CLAIMED": (CONFLICT, "Another agent has claimed the marker.", "take another one"),
    "MARKER_AUDIT_FAILED": (RECOVERY, "The marker is claimed but its audit message could not be posted.", "make the same call again: it completes the claim"),
}  # fmt: skip


class ChatError(Exception):
    """An error that a user can meet: a stable code, one line of what happened, and the next step.

    `next` is a command that the caller can run, where there is one. `where` says which root and channel it is about;
    with `details` it makes the extra fields of the JSON form.
    `near` is what was typed and the names it may have been meant as; the command line turns it into a suggestion.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        next: str | None = None,  # noqa: A002 - the word of the JSON reply
        near: tuple[str, tuple[str, ...]] | None = None,
        where: Mapping[str, object] | None = None,
        **details: object,
    ) -> None:
        super().__init__(message)
        assert code in CODES, code
        self.code = code
        self.message = message
        self.next = next
        self.near = near
        self.details = {**(where or {}), **details}

    @property
    def told(self) -> str:
        """What happened, and, where no command follows, what the table says to do about it."""
        return self.message if self.next else f"{self.message}; {CODES[self.code][2]}"

    @property
    def kind(self) -> str:
        """The kind of this error's code, a key of `KINDS`."""
        return CODES[self.code][0]
