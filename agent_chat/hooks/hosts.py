"""Which host called, and the form in which each of them wants to be answered; the facts are in docs/hosts.md.

What one host obeys another ignores without a word, and Codex drops a whole answer for one key that it does not know.
So every answer is made for the host at hand. None of them ever says "allow": that would skip the user's own permission.
"""

from __future__ import annotations

from agent_chat.cli.output import to_json
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_chat.hooks.payload import Payload

CLAUDE, CODEX, COPILOT, GEMINI, CURSOR = "claude", "codex", "copilot", "gemini", "cursor"
OPENCODE, OMP, PI = "opencode", "omp", "pi"
HOSTS = (CLAUDE, CODEX, COPILOT, GEMINI, CURSOR, OPENCODE, OMP, PI)
# Their hooks are extensions in JavaScript; the one that `setup` writes reads one plain form.
WITH_EXTENSIONS = (OPENCODE, OMP, PI)

SESSION_START, PROMPT, STOP = "session-start", "prompt", "stop"
PRE_TOOL_USE, POST_TOOL_BATCH, WAIT = "pre-tool-use", "post-tool-batch", "wait"
_NAMES = {PRE_TOOL_USE: "PreToolUse", POST_TOOL_BATCH: "PostToolBatch"}
_GEMINI_NAMES = {SESSION_START: "SessionStart", PROMPT: "BeforeAgent"}
# The variable in which a host tells its session's id, to hooks and to whatever a session starts.
_SESSION_VARIABLES = (
    (CLAUDE, "CLAUDE_CODE_SESSION_ID"),
    (GEMINI, "GEMINI_SESSION_ID"),
    (COPILOT, "COPILOT_AGENT_SESSION_ID"),
)


class Said(Value):
    """What a hook has to say, in no host's form.

    `context` is for the model, `message` for the user alone. `refusal` refuses the tool, `hold` keeps the session from
    stopping; both are the reason, for the model.
    """

    context: str = ""
    message: str = ""
    refusal: str = ""
    hold: str = ""


def host_of(environment: Mapping[str, str], payload: Payload) -> str:
    """Returns which host sent a payload; Claude Code, whose form others took over, where nothing tells.

    Variables are inherited by a host that another one's shell started, so what the payload tells goes before them.
    """
    fields = payload.fields
    if "turn_id" in fields or (payload.event == "SessionStart" and "permission_mode" in fields):
        return CODEX
    if "cursor_version" in fields or "conversation_id" in fields:
        return CURSOR
    for host, name in _SESSION_VARIABLES:
        if payload.session and environment.get(name) == payload.session:
            return host
    if "prompt_id" in fields:
        return CLAUDE
    inside_claude = bool(environment.get("CLAUDECODE"))
    dated = "timestamp" in fields  # of those three only Claude Code sends none
    if environment.get("COPILOT_CLI") and (dated or not inside_claude):
        return COPILOT
    if (environment.get("GEMINI_SESSION_ID") or environment.get("GEMINI_CLI")) and (dated or not inside_claude):
        return GEMINI
    if not inside_claude and (environment.get("PLUGIN_ROOT") or environment.get("CODEX_HOME")):
        return CODEX
    return CLAUDE


def answer(host: str, event: str, said: Said, *, native: bool = False) -> str:
    """Returns what a host reads on standard output; empty where there is nothing to say.

    `native` tells that Copilot called by its own names of events and fields, and not by those of Claude Code.
    """
    if said == Said():
        return ""
    if event in (SESSION_START, PROMPT):
        return _context(host, event, said.context)
    fields = _stop(host, said) if event == STOP else _tool(host, event, said, native=native)
    return to_json(fields) + "\n" if fields else ""


def _context(host: str, event: str, text: str) -> str:
    if not text:
        return ""
    if host == COPILOT:
        return to_json({"additionalContext": text}) + "\n"
    if host == GEMINI:
        return to_json(_nested(_GEMINI_NAMES[event], additionalContext=text)) + "\n"
    if host == CURSOR:
        # Before a prompt Cursor takes no context.
        return to_json({"additional_context": text}) + "\n" if event == SESSION_START else ""
    return text + "\n"


def _nested(name: str, **fields: str) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


def _tool(host: str, event: str, said: Said, *, native: bool) -> dict[str, object]:
    if said.refusal:
        if host == GEMINI:
            return {"decision": "deny", "reason": said.refusal}
        if host == CURSOR:
            return {
                "permission": "deny",
                "user_message": said.refusal.partition(". ")[0],
                "agent_message": said.refusal,
            }
        if host in WITH_EXTENSIONS:
            return {"block": True, "reason": said.refusal}
        decision = {"permissionDecision": "deny", "permissionDecisionReason": said.refusal}
        return dict(decision) if native else _nested(_NAMES[event], **decision)
    if not said.context:
        return {}
    if host == GEMINI:
        return {"systemMessage": said.context}
    if host == CURSOR:
        return {"agent_message": said.context}
    if host in WITH_EXTENSIONS:
        return {"note": said.context}
    return {"additionalContext": said.context} if native else _nested(_NAMES[event], additionalContext=said.context)


def _stop(host: str, said: Said) -> dict[str, object]:
    if host == CURSOR:
        return {"followup_message": said.hold} if said.hold else {}
    if host in WITH_EXTENSIONS:
        return {"block": True, "reason": said.hold} if said.hold else {"message": said.message}
    message = {"systemMessage": said.message} if said.message else {}
    if not said.hold:
        return dict(message)
    return {"decision": "deny" if host == GEMINI else "block", "reason": said.hold, **message}
