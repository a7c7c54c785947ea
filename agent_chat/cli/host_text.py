"""What `doctor --hosts` says: a few lines on each host that is there, and the same in JSON."""

from __future__ import annotations

from agent_chat.operations.host_checks import NEVER, NOT_WIRED
from agent_chat.operations.host_wirings import BY_PLUGIN, BY_PROJECT, BY_USER
from agent_chat.operations.wiring import HOSTS
from agent_chat.records.hook_answer import GUARD, OK
from agent_chat.records.shown_text import safe_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.operations.host_checks import Hook, Report, Root
    from agent_chat.storage.workspace import Workspace

WORDS = {BY_PLUGIN: "the plugin", BY_PROJECT: "the project's settings", BY_USER: "the user's settings"}


def fields_of(report: Report) -> dict[str, object]:
    """Returns what is known of a host, for JSON."""
    last = report.last if report.last is not None and not report.last.fault else None
    return {
        "host": report.host,
        "found": report.found,
        "wired": [{"by": wired.by, "path": wired.path} for wired in report.wirings],
        "last_ran": None if last is None else {"at": last.at, "agent": last.agent, "version": last.version},
        "hooks": [
            {"event": hook.event, "outcome": hook.outcome, "detail": hook.detail, "path": hook.path}
            for hook in report.hooks
        ],
        "guarded": report.guarded,
        "faults": [fault.text for fault in report.faults],
        "next": list(report.next),
    }


def text_of(
    workspace: Workspace, reports: Sequence[Report], name: str, fault: str, root: Root, steps: Sequence[str]
) -> str:
    """Returns the whole answer; `name` and `fault` are of the identity, `steps` are of no single host."""
    lines: list[str] = []
    for report in reports:
        if report.is_mentioned:
            lines += _block(report)
    absent = [report.host for report in reports if not report.is_mentioned]
    if absent:
        lines.append(f"not found: {', '.join(absent)}")
    lines.append(f"identity: {name or (f'invalid: {fault}' if fault else 'none')}")
    state = {True: "writable", False: f"not writable: {root.fault}", None: root.fault}[root.writable]
    lines.append(f"root: {workspace.root} ({workspace.root_from}), {state}")
    lines += [f"next: {step}" for step in steps]
    return "\n".join(map(safe_line, lines))


def _block(report: Report) -> list[str]:
    """Returns the lines on one host."""
    wired = [f"wired by {WORDS[each.by]} ({each.path})" for each in report.wirings]
    words = ["found" if report.found else "not found", *(wired or [NOT_WIRED])]
    if report.last is not None and not report.last.fault:
        by = f" as {report.last.agent}" if report.last.agent else " without a name"
        words.append(f"last ran {report.last.at[:16].replace('T', ' ')}Z{by}")
    elif report.wirings:
        words.append(NEVER)
    lines = [f"{report.host}: {', '.join(words)}"]
    for each in report.wirings:
        start = f"by {WORDS[each.by]}: " if len(report.wirings) > 1 else ""
        lines += [
            f"  {start}{said}" for said in _said([hook for hook in report.hooks if hook.path == each.path], report)
        ]
    lines += [f"  {fault.text}" for fault in report.faults if fault.text not in (NOT_WIRED, NEVER)]
    return [*lines, *[f"  next: {step}" for step in report.next]]


def _said(hooks: Sequence[Hook], report: Report) -> list[str]:
    """Returns what became of the hooks of one wiring: those that work in one line, the others by what came back."""
    fine = [f"{hook.event} ok" for hook in hooks if hook.outcome == OK and hook.event != GUARD]
    fine += [_guard(hook, report) for hook in hooks if hook.outcome == OK and hook.event == GUARD]
    bad: dict[str, list[str]] = {}
    for hook in hooks:
        if hook.outcome != OK:
            bad.setdefault(f"{hook.outcome}: {hook.detail}", []).append(hook.event)
    said = [f"{', '.join(events)} {what}" for what, events in bad.items()]
    return [", ".join(fine), *said] if fine else said


def _guard(hook: Hook, report: Report) -> str:
    """Returns what is said of a guard that refused."""
    if not HOSTS[report.host].events:
        return f"edit guard: its command {hook.detail}, the extension itself was not run"
    return f"edit guard: {hook.detail}{' (guarded)' if report.guarded else ''}"
