"""What hosts sent in real runs (tests/fixtures/payloads), and the variables that they set for hooks and for shells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "fixtures" / "payloads"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
HOSTS = ("claude", "codex", "copilot", "gemini")
SESSION = "00000001-0000-4000-8000-000000000000"
OUTER = "00000009-0000-4000-8000-000000000000"

# Our event for the name that a host has for it.
EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "PreToolUse": "pre-tool-use",
    "BeforeTool": "pre-tool-use",
    "PostToolBatch": "post-tool-batch",
    "Stop": "stop",
    "SubagentStop": "stop",
    "AfterAgent": "stop",
}

_CLAUDE = {"CLAUDECODE": "1", "CLAUDE_PID": "4242", "AI_AGENT": "claude-code_2-1-332_agent"}
_PLUGIN = {"CLAUDE_PLUGIN_ROOT": "/plugin", "PLUGIN_ROOT": "/plugin"}
_GEMINI = {"GEMINI_PROJECT_DIR": "/p", "GEMINI_CWD": "/p", "GEMINI_PLANS_DIR": "/p/plans", "CLAUDE_PROJECT_DIR": "/p"}
# What a hook of each host finds in its environment.
OF_HOOKS: dict[str, dict[str, Any]] = {
    "claude": {
        **_CLAUDE,
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SESSION_ATTENDED": "1",
        "CLAUDE_PLUGIN_ROOT": "/plugin",
        "CLAUDE_PLUGIN_DATA": "/data",
        "CLAUDE_PROJECT_DIR": "/p",
    },
    "codex": {
        **_PLUGIN,
        "PLUGIN_DATA": "/data",
        "CLAUDE_PLUGIN_DATA": "/data",
        "CODEX_MANAGED_PACKAGE_ROOT": "/codex",
        "CODEX_MANAGED_BY_NPM": "1",
    },
    "copilot": {
        **_PLUGIN,
        "COPILOT_CLI": "1",
        "COPILOT_PLUGIN_ROOT": "/plugin",
        "COPILOT_PROJECT_DIR": "/p",
        "COPILOT_HOOK_DIR": "/plugin/hooks",
        "CLAUDE_PROJECT_DIR": "/p",
    },
    "gemini": {**_GEMINI, "GEMINI_SESSION_ID": SESSION},
}
# What a host sets for the commands of its shell, and so for another host that is started there.
OF_SHELLS: dict[str, dict[str, str]] = {
    "nobody": {},
    "claude": {**_CLAUDE, "CLAUDE_CODE_SESSION_ID": OUTER, "CLAUDE_CODE_CHILD_SESSION": "1"},
    "codex": {
        "CODEX_SESSION_ID": OUTER,
        "CODEX_THREAD_ID": OUTER,
        "CODEX_CI": "1",
        "CODEX_HOME": "/home/user/.codex",
        "CODEX_MANAGED_BY_NPM": "1",
    },
    "copilot": {"COPILOT_CLI": "1", "COPILOT_AGENT_SESSION_ID": OUTER, "COPILOT_MODEL": "x"},
    "gemini": {"GEMINI_CLI": "1", "GEMINI_CLI_NO_RELAUNCH": "true"},
    "opencode": {"OPENCODE": "1", "OPENCODE_PID": "4243"},
}
# How hosts call that have no payload of Claude's form: as documented, and as our own extensions send it.
CURSOR = {"conversation_id": SESSION, "generation_id": "g-1", "cursor_version": "2.0", "workspace_roots": ["/p"]}
COPILOT_NATIVE = {"sessionId": SESSION, "timestamp": 1764531232632, "cwd": "/p"}


def read(name: str, **changes: Any) -> dict[str, Any]:
    """Returns a payload by its name, with some fields changed; `...` takes one away."""
    fields = {**json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")), **changes}
    return {key: value for key, value in fields.items() if value is not ...}


def host_of(name: str) -> str:
    """The host that a payload is of, by its name."""
    return name.partition("-")[0]


def event_of(name: str) -> str:
    """Our event for a payload, by its name."""
    return EVENTS[name.split("-")[1]]
