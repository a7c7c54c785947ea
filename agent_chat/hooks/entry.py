"""The one entry of all hooks, and its promise: status 0 within two seconds, whatever happens; `wait` is the exception.

In several hosts another status blocks the user or the tool, and a hook that hangs stops the session
(docs/hosts.md). So everything runs in here, from the parsing of its arguments on: what fails is told in the host's own
form and ends with 0. Only `wait` ends with 2 when it has something to say, which is how it wakes a session.
"""

from __future__ import annotations

import gc
import os
import sys
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from agent_chat.hooks.call import Answer, Call

# Hosts and users wait for a hook. What takes longer than this is answered without having looked.
ANSWER_SECONDS = 1.5
LEAVE_SECONDS = 1.8


def hook_words(words: Sequence[str]) -> list[str] | None:
    """Returns what follows the command `hook` in a command line, and the global options before it.

    None where another command is meant, or help. What nobody knows before the command is passed over with its value:
    a host must not hear of it.
    """
    at = 0
    known: list[str] = []
    while at < len(words) and words[at].startswith("-"):
        option, equals, _ = words[at].partition("=")
        is_flag = option in ("--json", "--version") or (option != "--root" and words[at + 1 : at + 2] == ["hook"])
        length = 1 if equals or is_flag else 2
        known += words[at : at + length] if option in ("--json", "--root") else []
        at += length
    if at >= len(words) or words[at] != "hook" or "--help" in words or "-h" in words:
        return None
    return [*words[at + 1 :], *known]


def run_from_console(event: str) -> NoReturn:
    """Runs the hook of an event with the process's own arguments; never returns."""
    run([event, *sys.argv[1:]])


def run(words: Sequence[str]) -> NoReturn:
    """Runs a hook: its event and options. Prints what the host reads and ends the process."""
    status = 0
    try:
        gc.disable()  # a hook is over before a collection of cycles would pay for itself
        status = _Run().answer(words)
    except BaseException as error:
        _tell(_bug(error))
        _debug()
    finally:
        os._exit(status)


class _Run:
    """One run: whoever comes first, the answer or the watchdog, prints and ends the process."""

    def __init__(self) -> None:
        self._right_to_print = allocate_lock()
        self._never = allocate_lock()
        self._never.acquire()

    def answer(self, words: Sequence[str]) -> int:
        """Works out the answer, prints it, and returns the status."""
        from agent_chat.hooks.call import Call

        call = Call(words, os.environ)
        try:
            if not call.is_unbounded:
                start_new_thread(self._watch, (call,))
        except RuntimeError:
            call.notes.append("hook: no thread can be made here, so nothing ends this hook but its work")
        try:
            answer = call.answer()
        except BaseException as error:
            answer = call.gave_up(_bug(error))
            _debug()
        if not self._right_to_print.acquire(False):
            self._never.acquire()  # the watchdog is printing, and ends the process
        _show(answer)
        return answer.status

    def _watch(self, call: Call) -> None:
        """Ends the process when its time is up, even while a file system does not answer."""
        self._never.acquire(True, ANSWER_SECONDS)
        try:
            if self._right_to_print.acquire(False):
                start_new_thread(self._leave, ())
                _show(call.gave_up("there was no time to look"))
            else:
                self._never.acquire(True, LEAVE_SECONDS - ANSWER_SECONDS)
        finally:
            os._exit(0)

    def _leave(self) -> None:
        self._never.acquire(True, LEAVE_SECONDS - ANSWER_SECONDS)
        os._exit(0)


def _show(answer: Answer) -> None:
    """Prints an answer; a reader that has gone needs none."""
    from agent_chat.cli.output import OutputFailedError, write_out

    for line in answer.notes:
        _tell(line)
    try:
        write_out(answer.output)
    except OutputFailedError:
        return


def _bug(error: BaseException) -> str:
    """Returns a mistake of ours in words."""
    return f"{type(error).__name__}: {error}"


def _debug() -> None:
    """Shows where the mistake is that is being handled, if AGENT_CHAT_DEBUG asks for it."""
    if os.environ.get("AGENT_CHAT_DEBUG"):
        from traceback import format_exc

        for line in format_exc().splitlines():
            _tell(line)


def _tell(line: str) -> None:
    from agent_chat.cli.output import PROGRAM, note
    from agent_chat.records.shown_text import safe_line

    start = f"{PROGRAM}: "
    note(safe_line(line) if line.startswith(start) else start + safe_line(line))
