"""The waiter: wakes an idle session of Claude Code when something new is there for its agent.

The host starts it in the background and lets the session rest. It ends with status 2 and a line on stderr when there is
mail that the session was not woken for before, and with 0 when its session, its time or its turn is over, or the owner
has switched chat off: there is one waiter for a session, and it does not outlive the host's process (docs/hosts.md).
"""

from __future__ import annotations

import os

from agent_chat.errors import ChatError
from agent_chat.hooks import hosts
from agent_chat.hooks.hosts import Said
from agent_chat.hooks.inbox import NOT_ORDERS, unread_text
from agent_chat.operations.access import is_on
from agent_chat.operations.glance import glance
from agent_chat.operations.session_memory import HELD, SessionMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.hooks.call import Call

# A folder is looked at so often; what is looked at costs a call for each channel and nothing else.
LOOK_SECONDS = 1.0


def wait(call: Call) -> Said:
    """Waits until something new is unread; says nothing when there is nobody to wake."""
    if call.host != hosts.CLAUDE or call.payload.is_of_a_helper or not call.agent:
        return Said()
    if call.variable("CLAUDE_CODE_SESSION_ATTENDED") == "0" and call.variable("AGENT_CHAT_WAIT") != "always":
        return Said()  # `claude -p` would wait for the waiter instead of resting (seen with 2.1.332)
    memory = SessionMemory(call.workspace, call.agent, call.payload.session)
    lock = memory.waiter()
    if lock is None:
        call.notes += memory.faults
        return Said()  # another waits for this session already, or nothing can be remembered
    try:
        return _until_mail(call, memory)
    finally:
        lock.release()
        call.notes += memory.faults


def _until_mail(call: Call, memory: SessionMemory) -> Said:
    clock = call.workspace.clock
    deadline = clock.monotonic() + call.timeout
    host = _Host(call)
    while host.is_there():
        try:
            if not is_on(call.workspace):
                break
            found = glance(call.workspace, call.agent, only=call.channels)
            if found.counts and memory.note(HELD, found.counts):
                return Said(hold=f"{unread_text(call, call.agent, found)} {NOT_ORDERS}")
            if memory.faults:
                break  # who cannot remember whom it woke must wake nobody
        except (ChatError, OSError) as error:
            call.notes.append(str(error))
            return Said()
        left = deadline - clock.monotonic()
        if left <= 0:
            break
        clock.sleep(min(LOOK_SECONDS, left))
    return Said()


class _Host:
    """The host's process."""

    def __init__(self, call: Call) -> None:
        named = call.variable("CLAUDE_PID")
        self._pid = int(named) if named.isascii() and named.isdigit() and len(named) < 10 else 0
        self._parent = os.getppid()

    def is_there(self) -> bool:
        """Tells whether it still runs, as far as that can be told here."""
        if os.name == "nt":
            return True  # a signal of 0 would end the process there; the time that it may wait is bounded
        if os.getppid() != self._parent:
            return False
        if not self._pid:
            return True
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
