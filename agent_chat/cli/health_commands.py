"""The command doctor."""

from __future__ import annotations

from agent_chat.cli.acting import after_failures
from agent_chat.cli.command import Reply
from agent_chat.cli.output import Progress
from agent_chat.errors import ChatError
from agent_chat.operations import doctor as operations
from agent_chat.operations.mending import mend, mend_root, mend_sessions
from agent_chat.records.shown_text import safe_line
from agent_chat.storage.channel import Channel, open_channel_unread
from agent_chat.storage.channel_folders import channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.findings import Finding


def doctor(request: Request) -> Reply:
    """Checks a channel or all of them, or the hosts; status 1 when something is found."""
    if request.flag("hosts"):
        return _hosts(request)
    workspace = request.workspace
    named = request.optional_text("channel")
    workspace.require_root()
    fixed: list[str] = []
    findings: list[Finding] = []
    failures: list[tuple[str, ChatError | OSError]] = []
    if named is not None:
        channels = [open_channel_unread(workspace, named)]
    else:
        channels = [Channel(workspace, name) for name in channel_names(workspace)]
    with Progress() as show:
        for channel in channels:
            examined = operations.examine(channel, show)
            if request.flag("fix") and not any(f.id == "channel.meta" for f in examined.findings):
                mended: list[str] = []
                try:
                    mend(channel, examined, mended)
                except (ChatError, OSError) as error:
                    # What could not be mended is still told, and the other channels are still looked at.
                    failures.append((channel.name, error))
                fixed += [f"{channel.name}: {line}" for line in mended]
                if mended:
                    examined = operations.examine(channel, show)
            findings += examined.findings
    if request.flag("fix"):
        try:
            mend_root(workspace, fixed)
            if named is None:
                fixed += mend_sessions(workspace)
        except (ChatError, OSError) as error:
            failures.append((workspace.root, error))
    findings = [*operations.check_root(workspace), *findings]
    where = {**workspace.where(), **({"channel": channels[0].name} if named is not None else {})}
    reply = Reply(
        data={**where, "findings": [_fields(finding) for finding in findings], "fixed": fixed},
        text=lambda: _text(findings, fixed),
        status=1 if findings else 0,
        summary="; ".join(fixed),
    )
    return after_failures(reply, failures)


def _hosts(request: Request) -> Reply:
    """Looks at the hosts, which takes modules that no other command needs."""
    from agent_chat.cli.host_commands import doctor_hosts

    for name in ("channel", "fix"):
        if name in request.given:
            label = next(argument.label for argument in request.command.arguments if argument.name == name)
            raise ChatError("USAGE", f"--hosts looks at no channel: leave {label} out")
    return doctor_hosts(request)


def _fields(finding: Finding) -> dict[str, object]:
    return {
        "id": finding.id,
        "severity": finding.severity,
        "path": finding.path,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def _text(findings: list[Finding], fixed: list[str]) -> str:
    lines = [f"fixed: {safe_line(line)}" for line in fixed]
    for finding in findings:
        lines.append(f"{finding.severity} {finding.id}: {safe_line(finding.path)}: {safe_line(finding.message)}")
        lines.append(f"  remedy: {safe_line(finding.remedy)}")
    return "\n".join(lines) or "no findings"
