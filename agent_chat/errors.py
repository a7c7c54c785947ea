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
    "CHANNEL_BUSY": (BUSY, "Another process held the lock of the channel, or of the root, for the whole time that we waited.", "make the same call again"),
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
    "SESSION_TOKEN_INVALID": (DENIED, "AGENT_CHAT_TOKEN is set and is no token: <id>.<secret>.", "start a session and export the token that it prints, or unset AGENT_CHAT_TOKEN"),
    "SESSION_UNKNOWN": (DENIED, "The token in AGENT_CHAT_TOKEN is of no session in this root.", "start a session and export the token that it prints, or unset AGENT_CHAT_TOKEN"),
    "SESSION_ENDED": (DENIED, "The session of the token in AGENT_CHAT_TOKEN has ended.", "start a session and export the token that it prints, or unset AGENT_CHAT_TOKEN"),
    "SESSION_IDENTITY": (DENIED, "A command under a session's token acts as that session's agent; another one was named.", "leave the name out; to act as another agent, start a session for it"),
    "SESSION_MISSING": (INVALID, "The command is about the caller's session, and AGENT_CHAT_TOKEN is not set.", "set AGENT_CHAT_TOKEN to the token that session start printed"),
    "SESSION_INVALID": (INVALID, "The name or the harness of a session breaks its rule.", "correct --name or --harness"),
    "SESSION_NOT_FOUND": (NOT_FOUND, "There is no session of that id in this root.", "check the id, which session start told"),
    "SESSION_INVALID_RECORD": (DAMAGED, "The record of a session cannot be read. Only this session is concerned.", "run doctor; or start a session without AGENT_CHAT_TOKEN"),
    "RECORD_VERSION": (DAMAGED, "A task, claim, lock or journal entry was written by a later version of agent-chat.", "update agent-chat"),
    "TASK_INVALID_COMMAND": (INVALID, "There is no such task command.", "read agent-chat task --help"),
    "TASK_INVALID_ARGUMENT": (INVALID, "A task's id, title or another of its fields breaks its rule.", "correct the argument that the message names"),
    "TASK_INVALID_CHANNEL": (INVALID, "The channel name breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "TASK_CHANNEL_NOT_FOUND": (NOT_FOUND, "There is no such channel in this root.", "list the channels, or make one with init"),
    "TASK_NOT_FOUND": (NOT_FOUND, "The channel has no task of that id.", "list the tasks"),
    "TASK_ALREADY_EXISTS": (CONFLICT, "The channel has a task of that id; case does not matter.", "use it, or choose another id"),
    "TASK_INVALID_STATUS": (INVALID, "There is no such task status.", "use open, in_progress, blocked, done or cancelled"),
    "TASK_INVALID_UPDATE": (INVALID, "The update names no field, or both sets and clears one.", "name what is to change"),
    "TASK_INVALID_TRANSITION": (CONFLICT, "A task of that status cannot get the wanted one; done and cancelled are final.", "show the task"),
    "TASK_DEPENDENCY_NOT_READY": (CONFLICT, "The task depends on others that are not done.", "take another task, or wait for those"),
    "TASK_UNKNOWN_DEPENDENCY": (INVALID, "A task that is depended on does not exist.", "create it first, or correct the id"),
    "TASK_DEPENDENCY_CYCLE": (INVALID, "The task would depend on itself, directly or through others.", "leave out the dependency that the message names"),
    "TASK_PATH_OUTSIDE_WORKSPACE": (DAMAGED, "The folder of the tasks or of their journal is a link or no folder, so it may lead out of the channel.", "move it away"),
    "TASK_INVALID_RECORD": (DAMAGED, "The file of a task is no valid record. Only this task is concerned.", "run doctor on the channel"),
    "TASK_LOCK_TIMEOUT": (BUSY, "Another process held the channel's lock for the whole time that we waited; nothing was changed.", "make the same call again"),
    "TASK_IO_ERROR": (BUSY, "The operating system refused or failed a file operation; the tasks are as they were.", "mend what the message names, then repeat the call"),
    "TASK_AUDIT_FAILED": (BUSY, "The audit message could not be published, so the change was undone.", "mend what the message names, then repeat the call"),
    "LEASE_CONFLICT": (CONFLICT, "Somebody holds the task.", "take another task, or wait for this one"),
    "LEASE_RECOVERY_REQUIRED": (RECOVERY, "The lease has run out, or its end is implausible. It is never taken over in silence.", "recover the task with a reason"),
    "LEASE_OWNER_MISMATCH": (CONFLICT, "The claim belongs to another agent, another session, or was granted anew since the given fence.", "show the task; take another one"),
    "LEASE_NOT_EXPIRED": (CONFLICT, "The lease is still running, so it cannot be recovered.", "wait for its end, or ask its owner to release it"),
    "LEASE_NOT_FOUND": (NOT_FOUND, "The task has no claim.", "claim it first"),
    "LEASE_INCONSISTENT": (DAMAGED, "Several claim files hold one task, or the claim and the task name different owners.", "run doctor on the channel"),
    "LEASE_MUTATION_REQUIRED": (CONFLICT, "Owner and status of a claimed task change only through its claim.", "use done, block, release, cancel or recover"),
    "LEASE_INVALID_OWNER": (INVALID, "The name of the acting agent breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "LEASE_INVALID_TASK_ID": (INVALID, "The task id breaks the rules for ids.", "use letters, digits, '.', '_' and '-'"),
    "LEASE_INVALID_CHANNEL": (INVALID, "The folder given to the library is no channel.", "give the folder of a channel"),
    "LEASE_INVALID_REASON": (INVALID, "A recovery needs a reason of one line.", "say why with --reason"),
    "LEASE_INVALID_DURATION": (INVALID, "A lease is a positive number of seconds, at most 30 days.", "correct --lease-seconds"),
    "LEASE_INVALID_TIMESTAMP": (DAMAGED, "A time in a claim is none. Only this task is concerned.", "run doctor on the channel"),
    "LEASE_INVALID_RECORD": (DAMAGED, "The file of a claim is no valid record. Only this task is concerned.", "run doctor on the channel"),
    "LEASE_REQUIRED_FIELD_MISSING": (DAMAGED, "A claim lacks a field. Only this task is concerned.", "run doctor on the channel"),
    "LEASE_UNKNOWN_FIELD": (DAMAGED, "A claim has a field that no version known here writes.", "update agent-chat, or run doctor on the channel"),
    "LEASE_RECORD_ID_MISMATCH": (DAMAGED, "A claim names another task, owner or channel than its file name.", "run doctor on the channel"),
    "LEASE_STORAGE_INVALID": (DAMAGED, "The folder of the claims is no folder.", "move it away; it is made anew"),
    "LEASE_PATH_OUTSIDE_WORKSPACE": (DAMAGED, "The folder of the claims is a link, so it may lead out of the channel.", "move it away; it is made anew"),
    "LEASE_TRANSACTION_PENDING": (RECOVERY, "An earlier change of the tasks was interrupted and is not decided yet.", "run task recover-pending"),
    "LEASE_TRANSACTION_CLEANUP_FAILED": (RECOVERY, "The change is made and announced, but its journal entry could not be filed.", "run task recover-pending; do not repeat the call"),
    "LEASE_TRANSACTION_PUBLICATION_UNKNOWN": (RECOVERY, "Another program left a change of which nothing proves whether it was announced.", "look, then repeat with --resolve-publication rollback or published"),
    "LEASE_TRANSACTION_INVALID": (DAMAGED, "The pending entry is damaged, or a file is neither as before nor as after it.", "look at it; recover-pending --keep files it and leaves the files as they are"),
    "LEASE_TRANSACTION_NOT_FOUND": (NOT_FOUND, "Nothing is pending, so there is nothing to resolve.", "leave --resolve-publication out"),
    "LEASE_TRANSACTION_RECOVERY_FAILED": (RECOVERY, "The recovery itself failed; the entry is still pending.", "mend what the message names, then run task recover-pending again"),
    "LEASE_AUDIT_FAILED": (BUSY, "The audit message could not be published, so the change was undone.", "mend what the message names, then repeat the call"),
    "LEASE_AUDIT_ROLLBACK_FAILED": (RECOVERY, "The change failed and could not be undone yet.", "mend what the message names, then run task recover-pending"),
    "PATH_LOCK_INVALID_PATH": (INVALID, "The path cannot be locked.", "correct the path that the message names"),
    "PATH_LOCK_PATH_OUTSIDE_WORKSPACE": (INVALID, "The path leads out of the work tree, or into the chat root.", "name a path in the work tree"),
    "PATH_LOCK_CONFLICT": (CONFLICT, "Somebody holds one of the paths; none was locked.", "edit something else, or wait for them"),
    "PATH_LOCK_RECOVERY_REQUIRED": (RECOVERY, "The lock has run out, or its end is implausible. It is never taken over in silence.", "recover the lock with a reason"),
    "PATH_LOCK_OWNER_MISMATCH": (CONFLICT, "The lock belongs to another agent, another session, or was granted anew since the given fence.", "list the locks"),
    "PATH_LOCK_NOT_FOUND": (NOT_FOUND, "There is no lock of that id or exact path.", "list the locks"),
    "PATH_LOCK_NOT_STALE": (CONFLICT, "The lock is still running, so it cannot be recovered.", "wait for its end, or ask its owner to unlock"),
    "PATH_LOCK_INVALID_OWNER": (INVALID, "The name of the acting agent breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "PATH_LOCK_INVALID_LOCK_ID": (DAMAGED, "A lock's id is none, or is not that of its file name. Only this lock is concerned.", "run doctor on the channel"),
    "PATH_LOCK_INVALID_CHANNEL": (INVALID, "The channel name breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "PATH_LOCK_INVALID_REASON": (INVALID, "A recovery needs a reason of one line; a lock may have one.", "correct --reason"),
    "PATH_LOCK_INVALID_DURATION": (INVALID, "A lease is a positive number of seconds, at most 30 days.", "correct --lease-seconds"),
    "PATH_LOCK_INVALID_TIMESTAMP": (DAMAGED, "A time in a lock is none. Only this lock is concerned.", "run doctor on the channel"),
    "PATH_LOCK_INVALID_RECORD": (DAMAGED, "The file of a lock is no valid record; its paths count as held.", "run doctor on the channel"),
    "PATH_LOCK_STORAGE_INVALID": (DAMAGED, "The folder of the locks is a link or no folder.", "move it away; it is made anew"),
    "PATH_LOCK_STORAGE_ERROR": (BUSY, "The operating system refused or failed a file operation; the locks are as they were.", "mend what the message names, then repeat the call"),
    "PATH_LOCK_TIMEOUT": (BUSY, "Another process held the channel's lock for the whole time that we waited; nothing was changed.", "make the same call again"),
    "PATH_LOCK_TRANSACTION_PENDING": (RECOVERY, "An earlier change of the locks was interrupted and is not decided yet.", "run recover-pending"),
    "PATH_LOCK_TRANSACTION_CLEANUP_FAILED": (RECOVERY, "The change is made and announced, but its journal entry could not be filed.", "run recover-pending; do not repeat the call"),
    "PATH_LOCK_TRANSACTION_INVALID": (DAMAGED, "The pending entry is damaged, or a file is neither as before nor as after it.", "look at it; recover-pending --keep files it and leaves the files as they are"),
    "PATH_LOCK_AUDIT_FAILED": (BUSY, "The audit message could not be published, so the change was undone.", "mend what the message names, then repeat the call"),
    "PATH_LOCK_AUDIT_ROLLBACK_FAILED": (RECOVERY, "The change failed and could not be undone yet.", "mend what the message names, then run recover-pending"),
    "STATE_INVALID_CHANNEL": (INVALID, "The channel name breaks the rules for names.", "use letters, digits, '.', '_' and '-'"),
    "STATE_CHANNEL_NOT_FOUND": (NOT_FOUND, "There is no such channel in this root.", "list the channels, or make one with init"),
    "STATE_INVALID_RECORD": (DAMAGED, "With --strict: a record of the channel, a task, a claim or a lock is damaged, so the state would not be whole.", "run doctor on the channel, or leave --strict out"),
    "STATE_MALFORMED_SOURCE": (DAMAGED, "With --strict: a file named as a message is none, so the state might not be whole.", "run doctor on the channel, or leave --strict out"),
    "STATE_RECORD_NOT_FOUND": (NOT_FOUND, "The channel has no state.md yet.", "write it with compact"),
    "STATE_IO_ERROR": (BUSY, "The operating system refused or failed a file operation; state.md is as it was, or whole and new.", "mend what the message names, then repeat the call"),
    "STATE_AUDIT_FAILED": (RECOVERY, "The message that says so could not be posted; state.md is written.", "mend what the message names, then compact again"),
    "EVENT_INVALID_RECORD": (DAMAGED, "The body of an event is JSON, but no object. Only this event is concerned.", "show its message, and tell its sender"),
    "EVENT_UNSUPPORTED_VERSION": (DAMAGED, "The schema_version of an event is not 1. Only this event is concerned.", "update agent-chat if it is later"),
    "EVENT_INVALID_TYPE": (INVALID, "There is no such type of event.", "use capability or status"),
    "EVENT_UNKNOWN_FIELD": (INVALID, "An event of that type has no such field.", "leave it out, or correct the type"),
    "EVENT_REQUIRED_FIELD_MISSING": (INVALID, "An event lacks a field that its type must have.", "give the field that the message names"),
    "EVENT_INVALID_TEXT": (INVALID, "The agent, harness or detail of an event breaks its rule.", "correct the field that the message names"),
    "EVENT_INVALID_TIMESTAMP": (DAMAGED, "The ts of an event is no time with an offset. Only this event is concerned.", "show its message, and tell its sender"),
    "EVENT_INVALID_PRIMITIVES": (INVALID, "The primitives of an event are no list of one or more texts.", "name at least one, or leave --primitives out for all"),
    "EVENT_DUPLICATE_PRIMITIVE": (INVALID, "An event names a primitive twice.", "name it once"),
    "EVENT_UNKNOWN_PRIMITIVE": (INVALID, "An event names a primitive that this protocol does not have.", "name only those that the message lists"),
    "EVENT_INVALID_STATUS": (INVALID, "There is no such status of an event.", "use ready, busy, idle, blocked or stopped"),
    "EVENT_MALFORMED_BODY": (DAMAGED, "The body of an event's message is no strict JSON. Only this event is concerned.", "show its message, and tell its sender"),
    "EVENT_AGENT_MISMATCH": (DAMAGED, "An event names another agent than the sender of its message, so it proves nothing.", "show its message, and ask its sender"),
    "SETUP_OPTION_INVALID": (INVALID, "The options do not go together, or the host has no such thing.", "leave out the option that the message names"),
    "SETUP_PLACE_INVALID": (INVALID, "The current folder or the home folder cannot be told, or a path is no UTF-8, as it must be in a settings file.", "run it from another folder, or set HOME"),
    "SETUP_PROGRAM_UNKNOWN": (INVALID, "This program was started in a way that a host could not repeat, or from a cache of uvx or pipx run.", "install it and start it as agent-chat, or start it as python chat.py"),
    "SETUP_FILE_INVALID": (DAMAGED, "A file of the host is too large, or cannot be read as its format, or something else stands where our part belongs. Nothing was changed.", "mend the file, or add by hand what --print shows"),
    "SETUP_FILE_REFUSED": (DAMAGED, "A link, a folder or a device stands where a file of the host belongs, or a link where its folder does. Nothing was changed.", "move it away, or add by hand what --print shows"),
    "SETUP_FILE_CONFLICT": (CONFLICT, "Somebody else's file or line stands where ours belongs, or the file was changed while it was being written. Nothing was changed.", "look at the file, then repeat the call"),
    "SETUP_IO_ERROR": (BUSY, "The operating system refused or failed a file operation. The files are as they were, unless the message names one.", "mend what the message names, then repeat the call"),
    "ACCESS_DISABLED": (DENIED, "The owner has switched chat off; nothing is lost. Tasks, path locks, recoveries and doctor still work.", "stop here, and tell the user; the owner switches it on"),
    "OWNER_SETTINGS_INVALID": (DAMAGED, "The owner's settings cannot be read, so nobody can tell whether chat is on.", "stop here, and ask the user to mend _owner.json by hand; removed, it means that chat is on and messages stay"),
    "ACCESS_NOT_A_PERSON": (DENIED, "Only a person decides this: a name in the humans of a channel, at a terminal, without a session token.", "stop here, and ask the user to run it at a terminal, without a session token"),
    "ACCESS_NOT_CONFIRMED": (DENIED, "What was asked for was not typed again, so nothing was changed.", "run the command again, and type what it asks for"),
    "MESSAGE_REF_UNREADABLE": (INVALID, "The file given with --ref path: is missing, cannot be read, is no ordinary file or is larger than 1 GiB; nothing was posted.", "check its path and permissions"),
    "RETENTION_OFF": (DENIED, "The owner has set no term, so messages are kept for good and nothing is pruned.", "leave the messages, or ask the owner for a term"),
    "MESSAGE_PRUNED": (NOT_FOUND, "The message was older than the owner's term and is gone; what is kept of it the error tells.", "see what answered it with thread; a reply to it can still be posted"),
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
