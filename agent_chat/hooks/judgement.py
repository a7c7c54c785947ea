"""The judgement on a tool that touches paths: who holds them, and what is said about it."""

from __future__ import annotations

from agent_chat import names
from agent_chat.cli.root import expanded
from agent_chat.errors import ChatError
from agent_chat.hooks.hosts import OMP, PI, Said
from agent_chat.hooks.shell_writes import writes_of
from agent_chat.operations.guarded_paths import holders
from agent_chat.records.shown_text import shortened
from agent_chat.storage import real_place
from agent_chat.storage.work_tree import current_folder, is_absolute
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.hooks.call import Call
    from agent_chat.hooks.tool_calls import Touched
    from agent_chat.operations.guarded_paths import Held
    from agent_chat.storage.channel_folders import Lockable

# In bytes: with what is said around them a refusal stays below 1,000.
MAX_PATH = 160
MAX_REASON = 80


def judge(call: Call, what: Touched, lockable: Lockable) -> Said:
    """Returns the refusal of an edit, or a note about what may be one, where others hold what it touches."""
    guesses = what.guesses
    if what.command:
        writes = writes_of(what.command)
        guesses = (*writes.paths, ".") if writes.tree else writes.paths
    if not (what.paths or guesses):
        return Said()
    agent, fault = _agent(call)
    held, faults = _held_by_others(call, what.paths, agent, lockable)
    if held and agent:
        return Said(refusal=_refusal(call, agent, held))
    if held:
        why = f"{_what(held[0], held[0].asked)}, and this session has no name{fault}, so it may be its own"
        return call.unlooked(why)
    if faults:
        return call.unlooked("; ".join(faults[:2]))
    perhaps, _ = _held_by_others(call, guesses, agent, lockable)
    return Said(context=_note("command" if what.command else "call", perhaps)) if perhaps else Said()


def _held_by_others(
    call: Call, texts: tuple[str, ...], agent: str, lockable: Lockable
) -> tuple[list[Held], tuple[str, ...]]:
    """Returns which of some paths others hold, and what could not be looked at."""
    if not texts:
        return [], ()
    paths = [_absolute(call, text) for text in texts]
    variable = call.variable("AGENT_CHAT_WORKSPACE")
    found = holders(call.workspace, lockable, paths, folder=_folder(call), variable=variable)
    return [held for held in found.held if not (agent and names.same(held.owner, agent))], found.faults


def _agent(call: Call) -> tuple[str, str]:
    """Returns the agent's name, "" where there is none, and what is wrong with it."""
    try:
        return call.agent, ""
    except ChatError as error:
        return "", f" ({error.message})"


def _folder(call: Call) -> str:
    folder = call.payload.folder
    return folder if is_absolute(folder) else current_folder()


def _absolute(call: Call, text: str) -> str:
    """Returns a path as the host means it: from the session's folder, not from that of this process.

    The tools of Pi, and of OMP which is made of it, take `@` before a path, `~`, and any Unicode space for a plain one.
    """
    if call.host in (OMP, PI):
        text = expanded("".join(" " if sign.isspace() else sign for sign in text[text.startswith("@") :]))
    if real_place.WINDOWS:
        text = text.replace("\\", "/")
    return text if text.startswith("/") or text[1:2] == ":" else f"{_folder(call)}/{text}"


def _what(held: Held, path: str) -> str:
    """Returns who holds what, for how long and why."""
    reason = f": '{shortened(held.reason, MAX_REASON)}'" if held.reason else ""
    return f"{shortened(path, MAX_PATH)} is locked by {held.owner} in {held.channel}, {held.left}{reason}"


def _refusal(call: Call, agent: str, others: list[Held]) -> str:
    first = others[0]
    more = f" ({len(others) - 1} more of its paths are locked too.)" if len(others) > 1 else ""
    wait = call.command(f"wait {first.channel} --path {shell_word(first.asked)} --as {agent}")
    if not wait:
        wait = call.command(f"locks {first.channel}") or f"agent-chat locks {first.channel}"
    ask = call.command(f"post {first.channel} --from {agent} --to {first.owner} --title 'May I edit it?'")
    return (
        f"agent-chat: {_what(first, first.asked)}.{more} Work on something else meanwhile, or wait for it: {wait}"
        f"{ask and f', or ask: {ask}'}. Do not change it by other means."
    )


def _note(noun: str, others: list[Held]) -> str:
    more = f", and {len(others) - 1} more" if len(others) > 1 else ""
    held = _what(others[0], others[0].paths)
    return f"agent-chat: this {noun} may change what others hold: {held}{more}. Leave that as it is."
