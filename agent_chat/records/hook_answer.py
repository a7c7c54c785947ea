"""What a host makes of a hook's answer, and whether the hook did what it is for: a pure judgement, strict as the host.

`heard` reads an answer as the host at hand does: what that host would drop is not heard (docs/hosts.md). `judged` holds
it against a canary: mail for one agent, and a file that another one holds. So nothing here is taken from the code that
makes the answers.
"""

from __future__ import annotations

from agent_chat.records import json_codec
from agent_chat.records.shown_text import safe_line
from agent_chat.records.value import Value

OK, FAILED, NOT_RUN = "ok", "failed", "not run"
GUARD, STOP, WAIT = "pre-tool-use", "stop", "wait"
_CONTEXT = ("session-start", "prompt", "post-tool-batch")
_PLAIN_HOSTS = ("claude", "codex", "opencode", "omp", "pi")
_EXTENSIONS = ("opencode", "omp", "pi")
_NAMES = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "post-tool-batch": "PostToolBatch"}
_GEMINI_NAMES = {"session-start": "SessionStart", "prompt": "BeforeAgent"}
# Codex drops an answer that holds any other key (seen with 0.171).
_CODEX_KEYS = {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
_CODEX_NESTED = {"hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext", "updatedInput"}
_MAX_SHOWN = 160
_WAKING = 2


class Ran(Value):
    """How a line ended: its status, None where it took too long, and the beginning of what it wrote."""

    status: int | None
    output: bytes = b""
    errors: bytes = b""


class Canary(Value):
    """What a hook is tried with: an agent, how many messages are unread for it, and who holds the file it edits."""

    agent: str
    unread: int
    holder: str


class Verdict(Value):
    """What became of one hook: `outcome` is OK or FAILED, `detail` what came back."""

    outcome: str
    detail: str = ""


class Heard(Value):
    """What a host hears in an answer; `fault` says why it would hear nothing of what is there."""

    context: str = ""
    refusal: str = ""
    hold: str = ""
    fault: str = ""


def judged(host: str, event: str, ran: Ran, canary: Canary, *, seconds: float) -> Verdict:
    """Returns whether the hook of an event did what it is for."""
    errors = first_line(ran.errors)
    if ran.status is None:
        return Verdict(outcome=FAILED, detail=f"no answer within {seconds:.0f} s")
    if event == WAIT:
        woke = ran.status == _WAKING and _count(canary) in ran.errors.decode("utf-8", "replace")
        return Verdict(outcome=OK) if woke else _failed(f"status {ran.status}, which wakes nobody", errors)
    if ran.status != 0:
        return _failed(f"status {ran.status}", errors)
    if not ran.output.strip():
        return _failed("said nothing", errors)
    try:
        text = ran.output.decode("utf-8")
    except UnicodeDecodeError:
        return Verdict(outcome=FAILED, detail=f"{len(ran.output)} bytes that are no UTF-8")
    found = heard(host, event, text)
    if found.fault:
        return Verdict(outcome=FAILED, detail=f"{found.fault}: {_bounded(text)}")
    if event == GUARD:
        if found.refusal and canary.holder in found.refusal:
            return Verdict(outcome=OK, detail="refused the canary edit")
        said = found.refusal or found.context
        return Verdict(outcome=FAILED, detail=f"did not refuse the canary edit: {_bounded(said or text)}")
    said = found.hold if event == STOP else found.context
    if _count(canary) in said:
        return Verdict(outcome=OK)
    what = "did not hold the session" if event == STOP and not said else "did not tell the canary's mail"
    return Verdict(outcome=FAILED, detail=f"{what}: {_bounded(said or text)}")


def heard(host: str, event: str, text: str) -> Heard:
    """Returns what a host hears in the output of a hook that ended with status 0."""
    is_json = text.lstrip().startswith("{") if host != "codex" else text.lstrip()[:1] in ("{", "[")
    if event in _CONTEXT[:2] and host in _PLAIN_HOSTS and not (is_json and host not in _EXTENSIONS):
        return Heard(context=text.strip())
    try:
        fields = json_codec.object_of(json_codec.decode(text.strip().encode("utf-8")))
    except json_codec.JsonError:
        return Heard(fault=f"is no JSON object, which {host} wants here")
    nested = fields.get("hookSpecificOutput")
    inner = nested if isinstance(nested, dict) else {}
    if host == "codex":
        unknown = sorted((set(fields) - _CODEX_KEYS) | (set(inner) - _CODEX_NESTED))
        if unknown:
            return Heard(fault=f"codex drops the whole answer for the key {unknown[0]!r}")
        if event == STOP and nested is not None:
            return Heard(fault="codex drops an answer with hookSpecificOutput here")
    found = _context(host, event, fields, inner) if event in _CONTEXT else _decision(host, event, fields, inner)
    return found if found != Heard() else Heard(fault=f"holds nothing that {host} obeys here")


def first_line(data: bytes) -> str:
    """Returns the first line of some output that is not empty, bounded and safe to show."""
    for line in data.decode("utf-8", "replace").splitlines():
        if line.strip():
            return _bounded(line)
    return ""


def _context(host: str, event: str, fields: dict[str, object], inner: dict[str, object]) -> Heard:
    """Returns the text for the model in an answer that is JSON."""
    if host == "copilot":
        return Heard(context=_text(fields, "additionalContext"))
    if host == "cursor":
        return Heard(context=_text(fields, "additional_context") if event == "session-start" else "")
    name = (_GEMINI_NAMES if host == "gemini" else _NAMES).get(event)
    return Heard(context=_text(inner, "additionalContext") if inner.get("hookEventName") == name else "")


def _decision(host: str, event: str, fields: dict[str, object], inner: dict[str, object]) -> Heard:
    """Returns the refusal or the hold in an answer, else what else it tells the model."""
    if event == STOP:
        if host == "cursor":
            return Heard(hold=_text(fields, "followup_message"))
        wanted = ("decision", "deny") if host == "gemini" else ("decision", "block")
        holds = fields.get("block") is True if host in _EXTENSIONS else fields.get(wanted[0]) == wanted[1]
        message = _text(fields, "message" if host in _EXTENSIONS else "systemMessage")
        return Heard(hold=_text(fields, "reason") if holds else "", context=message)
    if host == "gemini":
        denies = fields.get("decision") == "deny"
        return Heard(refusal=_text(fields, "reason") if denies else "", context=_text(fields, "systemMessage"))
    if host == "cursor":
        denies = fields.get("permission") == "deny"
        message = _text(fields, "agent_message")
        return Heard(refusal=message if denies else "", context="" if denies else message)
    if host in _EXTENSIONS:
        return Heard(
            refusal=_text(fields, "reason") if fields.get("block") is True else "", context=_text(fields, "note")
        )
    if inner.get("hookEventName") != "PreToolUse":
        return Heard()
    denies = inner.get("permissionDecision") == "deny"
    reason = _text(inner, "permissionDecisionReason") if denies else ""
    return Heard(refusal=reason, context=_text(inner, "additionalContext"))


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _count(canary: Canary) -> str:
    return f"{canary.unread} unread for {canary.agent}"


def _failed(what: str, errors: str) -> Verdict:
    return Verdict(outcome=FAILED, detail=f"{what}: {errors}" if errors else what)


def _bounded(text: str) -> str:
    line = safe_line(text.strip())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}… ({len(text.encode('utf-8', 'replace'))} bytes)"
