"""The edit guard: refuses the edit of a path that another agent holds, in the words that help most.

It never allows anything: silence leaves the decision where it was. When it cannot look the edit goes on, and the model
is told so; with AGENT_CHAT_GUARD=strict it is refused then. Nearly always nothing is locked, so that is found out
first, and what judges paths is loaded when something is.
"""

from __future__ import annotations

from agent_chat.hooks.call import MAX_WHY
from agent_chat.hooks.hosts import Said
from agent_chat.hooks.tool_calls import touched
from agent_chat.records.shown_text import shortened
from agent_chat.storage.channel_folders import may_be_channels, may_hold_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.hooks.call import Call


def pre_tool_use(call: Call) -> Said:
    """Judges a tool that is about to run by every path that it touches."""
    if call.payload.fault:
        return unlooked(call, call.payload.fault)
    said = _judged(call)
    if call.payload.is_cut and not said.refusal:
        return unlooked(call, "the host sent more than is read of it")
    return said


def _judged(call: Call) -> Said:
    what = touched(call.payload.tool, call.payload.tool_input)
    if what.is_nothing:
        return Said()
    lockable = may_hold_locks(call.workspace, may_be_channels(call.workspace, call.channels))
    if not (lockable.channels or lockable.faults):
        return Said()
    judgement = __import__("agent_chat.hooks.judgement", fromlist=["judge"])
    said: Said = judgement.judge(call, what, lockable)
    return said


def unlooked(call: Call, why: str) -> Said:
    """Returns what is said when an edit could not be judged: it goes on, or is refused where that was asked for."""
    why = shortened(why, MAX_WHY)
    if call.variable("AGENT_CHAT_GUARD").strip().lower() == "strict":
        return Said(
            refusal=f"agent-chat could not check this edit: {why}. AGENT_CHAT_GUARD=strict refuses it. "
            "Run agent-chat doctor, or ask the user."
        )
    return Said(context=f"agent-chat did not check this edit for locks of others: {why}.")
