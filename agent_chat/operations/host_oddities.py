"""What stands around a line of ours in the settings of a host, and keeps that host from running it or obeying it.

Seen with Claude Code 2.1.332: with each of these an edit goes through that the line refuses.
"""

from __future__ import annotations

from agent_chat.operations.wiring import SECONDS
from agent_chat.records import hook_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_chat.operations.wiring import Host

MIN_MILLISECONDS = 1000
# What stands around a line of ours, and what may without harm.
_WRITTEN = frozenset("type command hooks matcher loop_limit statusMessage description name".split())


def oddity_of(
    host: Host, name: str, event: str, group: Mapping[str, object], handler: Mapping[str, object], *, in_plugin: bool
) -> str:
    """Returns what is not as we write it around a line of ours, "" where nothing is."""
    meant = [each.name for each in host.events if each.ours == event]
    if meant and name not in meant:
        return f"calls the hook of {meant[0]}"
    if (host.typed or in_plugin) and handler.get("type") != "command":
        return "has a line that is no command"
    if not isinstance(group.get("matcher", ""), str):
        return "has a matcher that is no text"
    unit, usual = ("timeout", SECONDS) if in_plugin else host.timeout or ("", 0)
    time = handler.get(unit)
    least = MIN_MILLISECONDS if usual >= MIN_MILLISECONDS else 1
    if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float)) or time < least):
        return f"has a time-out of {time!r}"
    more = {*handler, *group} - _WRITTEN - {unit}
    more -= {"asyncRewake"} if event == hook_line.WAIT else set()
    return f"has {', '.join(sorted(more))} beside it, which we did not write" if more else ""
