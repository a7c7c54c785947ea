"""The golden table of answers: what each host reads for each event and each thing that may be said."""

from __future__ import annotations

import json
from typing import Any

from agent_chat.hooks.hosts import Said

START, PROMPT, STOP, TOOL, BATCH = "session-start", "prompt", "stop", "pre-tool-use", "post-tool-batch"
EVENTS = (START, PROMPT, STOP, TOOL, BATCH)
SPOKEN = {
    "context": Said(context="C"),
    "refusal": Said(refusal="R"),
    "message": Said(message="M"),
    "hold": Said(hold="H"),
    "hold and message": Said(hold="H", message="M"),
}
# What each event may have to say.
KINDS = {
    START: ("context",),
    PROMPT: ("context",),
    TOOL: ("context", "refusal"),
    BATCH: ("context",),
    STOP: ("message", "hold", "hold and message"),
}


def nested(name: str, **fields: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


TEXT, NOTHING = "C\n", ""
DENY = {"permissionDecision": "deny", "permissionDecisionReason": "R"}
HELD = {
    (STOP, "message"): {"systemMessage": "M"},
    (STOP, "hold"): {"decision": "block", "reason": "H"},
    (STOP, "hold and message"): {"decision": "block", "reason": "H", "systemMessage": "M"},
}
CLAUDE: dict[tuple[str, str], Any] = {
    (START, "context"): TEXT,
    (PROMPT, "context"): TEXT,
    (TOOL, "context"): nested("PreToolUse", additionalContext="C"),
    (TOOL, "refusal"): nested("PreToolUse", **DENY),
    (BATCH, "context"): nested("PostToolBatch", additionalContext="C"),
    **HELD,
}
COPILOT = {**CLAUDE, (START, "context"): {"additionalContext": "C"}, (PROMPT, "context"): {"additionalContext": "C"}}
EXTENSION = {
    (START, "context"): TEXT,
    (PROMPT, "context"): TEXT,
    (TOOL, "context"): {"note": "C"},
    (TOOL, "refusal"): {"block": True, "reason": "R"},
    (BATCH, "context"): {"note": "C"},
    (STOP, "message"): {"message": "M"},
    (STOP, "hold"): {"block": True, "reason": "H"},
    (STOP, "hold and message"): {"block": True, "reason": "H"},
}
GOLDEN: dict[str, dict[tuple[str, str], Any]] = {
    "claude": CLAUDE,
    "codex": CLAUDE,
    "copilot": COPILOT,
    "copilot, native": {
        **COPILOT,
        (TOOL, "context"): {"additionalContext": "C"},
        (TOOL, "refusal"): DENY,
        (BATCH, "context"): {"additionalContext": "C"},
    },
    "gemini": {
        (START, "context"): nested("SessionStart", additionalContext="C"),
        (PROMPT, "context"): nested("BeforeAgent", additionalContext="C"),
        (TOOL, "context"): {"systemMessage": "C"},
        (TOOL, "refusal"): {"decision": "deny", "reason": "R"},
        (BATCH, "context"): {"systemMessage": "C"},
        (STOP, "message"): {"systemMessage": "M"},
        (STOP, "hold"): {"decision": "deny", "reason": "H"},
        (STOP, "hold and message"): {"decision": "deny", "reason": "H", "systemMessage": "M"},
    },
    "cursor": {
        (START, "context"): {"additional_context": "C"},
        (PROMPT, "context"): NOTHING,  # it takes no context there
        (TOOL, "context"): {"agent_message": "C"},
        (TOOL, "refusal"): {"permission": "deny", "user_message": "R", "agent_message": "R"},
        (BATCH, "context"): {"agent_message": "C"},
        (STOP, "message"): NOTHING,  # there is no field for the user alone
        (STOP, "hold"): {"followup_message": "H"},
        (STOP, "hold and message"): {"followup_message": "H"},
    },
    "opencode": EXTENSION,
    "omp": EXTENSION,
    "pi": EXTENSION,
}


def parsed(text: str) -> Any:
    """A JSON document on one line, or the text that it is."""
    if not text.startswith("{"):
        return text
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    return json.loads(text)


def keys(value: Any) -> set[str]:
    """All keys of a document."""
    if not isinstance(value, dict):
        return set()
    return {*value, *(key for each in value.values() for key in keys(each))}


def is_one(form: str, event: str, text: str) -> bool:
    """Whether a text is nothing, or has the form of one of the answers that a host reads for an event."""
    found = parsed(text)
    wanted = [GOLDEN[form][event, kind] for kind in KINDS[event]]
    if isinstance(found, dict):
        return any(isinstance(each, dict) and keys(each) == keys(found) for each in wanted)
    # As text it is context: one line that begins with a letter, or a host may take it for JSON.
    return not found or (TEXT in wanted and found[:1].isalpha() and found.count("\n") == 1 and found.endswith("\n"))
