"""The command prune, and the run of retention that follows commands which change something, once an hour."""

from __future__ import annotations

from agent_chat.cli.acting import after_failures
from agent_chat.cli.command import Reply
from agent_chat.cli.output import Progress
from agent_chat.errors import ChatError
from agent_chat.operations import retention
from agent_chat.operations.keeping import Term
from agent_chat.records.shown_text import safe_line
from agent_chat.storage import git_trees
from agent_chat.storage.channel import Channel, open_channel
from agent_chat.storage.channel_folders import channel_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.retention import Pruned
    from agent_chat.storage.workspace import Workspace

    Found = list[tuple[str, Pruned]]


def prune(request: Request) -> Reply:
    """Removes what is older than the owner's term, in one channel or in all."""
    workspace = request.workspace
    workspace.require_root()
    term = retention.term_of(workspace)
    named = request.optional_text("channel")
    dry_run = request.flag("dry_run")
    if named is not None:
        channels = [open_channel(workspace, named)]
    else:
        channels = [Channel(workspace, name) for name in channel_names(workspace)]
    found: Found = []
    failures: list[tuple[str, ChatError | OSError]] = []
    with Progress() as show:
        for channel in channels:
            try:
                pruned = retention.prune(channel, term, dry_run=dry_run, progress=show)
                found.append((channel.name, pruned))
                failures += [(channel.name, pruned.error)] if pruned.error is not None else []
            except (ChatError, OSError) as error:
                if named is not None:
                    raise
                failures.append((channel.name, error))  # the other channels are pruned all the same
    in_git = git_trees.tree_around(workspace) is not None
    where = {"channel": channels[0].name} if named is not None else {}
    reply = Reply(
        data={
            **where,
            "removed": [{"channel": name, "seq": seq} for name, pruned in found for seq in pruned.removed],
            "kept": [
                {"channel": name, "seq": kept.seq, "reason": kept.reason}
                for name, pruned in found
                for kept in pruned.kept
            ],
            "dry_run": dry_run,
            "git_history": in_git,
        },
        text=lambda: _text(found, dry_run=dry_run, in_git=in_git),
        summary="" if dry_run else f"{sum(len(pruned.removed) for _, pruned in found)} messages removed",
    )
    return after_failures(reply, failures)


def _text(found: Found, *, dry_run: bool, in_git: bool) -> str:
    lines: list[str] = []
    for name, pruned in found:
        if not pruned.removed and not pruned.kept:
            continue
        lines.append(f"{name}: {len(pruned.removed)} {'would go' if dry_run else 'removed'}")
        reasons: dict[str, int] = {}
        for kept in pruned.kept:
            reasons[kept.reason] = reasons.get(kept.reason, 0) + 1
        lines += [f"  kept: {count} {safe_line(reason)}" for reason, count in sorted(reasons.items())]
    if in_git and any(pruned.removed for _, pruned in found):
        lines.append("git keeps their text in its history: the root lies in a work tree")
    failed = any(pruned.error is not None for _, pruned in found)
    return "\n".join(lines) or ("" if failed else "nothing is due")


def prune_hourly(workspace: Workspace, channels: list[str], days: int) -> list[str]:
    """Removes a batch of what is due in some channels, each at most once an hour; returns what failed."""
    failed: list[str] = []
    term = Term(days=days, now=workspace.clock.now())
    for name in channels:
        try:
            pruned = retention.prune_hourly(open_channel(workspace, name), term)
            error = pruned.error if pruned is not None else None
        except (ChatError, OSError) as failure:
            # The command may have deleted it, or somebody else did meanwhile.
            error = None if getattr(failure, "code", "") == "CHANNEL_NOT_FOUND" else failure
        if error is not None:
            failed.append(f"not all messages of {name} that are due were removed: {error}")
    return failed
