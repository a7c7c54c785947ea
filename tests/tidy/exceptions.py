"""Every exception from the rules, each with its reason. A rule that needs many is the wrong rule."""

from __future__ import annotations

# Module -> what it may import inside a function -> why.
LATE_IMPORTS = {
    "agent_chat.__init__": {
        "agent_chat": "the stores are loaded by whoever asks for them, not by every command",
    },
    "agent_chat.names": {
        "unicodedata": "ASCII names, the everyday case, need not pay for it",
    },
    "agent_chat.hooks.call": {
        "agent_chat.operations.sessions": "few sessions have a token, and telling whose it is costs a hash",
    },
    "agent_chat.hooks.entry": {
        "agent_chat": "nothing may be loaded before the promise of status 0 is in force",
        "traceback": "for debugging alone",
    },
    "agent_chat.hooks.guard": {
        "agent_chat.hooks.judgement": "nearly always nothing is locked, and then nothing is judged",
    },
    "agent_chat.hooks.payload": {
        "json": "for what tools write and records may not hold, and for what is too long",
    },
    "agent_chat.storage.file_digest": {
        "hashlib": "files are hashed for those who name one, and for nobody else",
    },
    "agent_chat.storage.message_store": {
        "agent_chat.storage.tombstone_store": "few channels have tombstones, and every command would pay for them",
    },
    "agent_chat.operations.reading": {
        "agent_chat.operations.lost": "the same",
    },
    "agent_chat.operations.messages": {
        "agent_chat.records.ref": "few messages have refs",
    },
    "agent_chat.operations.session_memory": {
        "hashlib": "for ids that are longer than any host's",
    },
}

# Module -> slow module that it may import all the same -> why.
EVERYDAY_IMPORTS = {
    "agent_chat.records.json_codec": {
        "json": "the way back for an interpreter without the built-in scanner",
    },
}

# Module -> functions of `os` that only it needs -> why.
OS_FUNCTIONS = {
    "agent_chat.storage.workspace": {
        "os.urandom": "ids are made here",
        "os.getrandom": "ids are made here",
        "os.getuid": "the account of a message is the user that the system knows",
        "os.geteuid": "the account of a message is the user that the system knows",
        "os.getlogin": "as above, on Windows, where it asks the system and not the terminal",
    },
    "agent_chat.storage.project_files": {
        "os.chmod": "the part of the seam that hosts' files need and the chat root does not",
        "os.chown": "as above",
        "os.geteuid": "as above",
        "os.rmdir": "as above",
    },
    "agent_chat.cli.output": {
        "os.write": "it prints",
        "os.open": "a closed pipe is replaced by the null device, or the interpreter complains at its end",
        "os.O_WRONLY": "as above",
        "os.dup2": "as above",
        "os.close": "as above",
    },
}

# Module -> function in which an error may vanish -> why.
SILENT_ERRORS = {
    "agent_chat.cli.output": {
        "note": "when stderr itself is gone there is nobody left to tell",
    },
}

# Module -> why it may catch everything.
CATCHES_EVERYTHING = {
    "agent_chat.cli.main": "the one place where a bug becomes a message and an exit status",
    "agent_chat.hooks.entry": "the same for hooks, whose hosts take any other status than 0 for a refusal",
}
