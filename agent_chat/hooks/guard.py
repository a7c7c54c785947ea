"""The edit guard: refuses the edit of a path that another agent holds, in the words that help most.

It never allows anything: silence leaves the decision where it was. When it cannot look the edit goes on, and the model
is told so; with AGENT_CHAT_GUARD=strict it is refused then. Nearly always nothing is locked, so that is found out
first, and what judges paths is loaded when something is.
"""

from __future__ import annotations

from agent_chat.hooks.hosts import Said
from agent_chat.hooks.tool_calls import touched
from agent_chat.storage.channel_folders import may_hold_locks, names_like_channels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.hooks.call import Call


def pre_tool_use(call: Call) -> Said:
    """Judges a tool that is about to run by every path that it touches."""
    if call.payload.fault or not call.payload.fields:
        return call.unlooked(call.payload.fault or "the host sent nothing")
    said = _judged(call)
    if call.payload.is_cut and not said.refusal:
        return call.unlooked("the host sent more than is read of it")
    return said


def _judged(call: Call) -> Said:
    what = touched(call.payload.tool, call.payload.tool_input)
    if what.is_nothing:
        return Said()
    lockable = may_hold_locks(call.workspace, names_like_channels(call.workspace, call.channels))
    if not (lockable.channels or lockable.faults):
        return Said()
    from agent_chat.hooks.judgement import judge

    return judge(call, what, lockable)
