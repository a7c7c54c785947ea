"""Runs one command line: parse, call the handler, show its reply, turn every error into one line and a status.

The only place that catches everything. Exit statuses: 0 done, 1 a negative answer, 2 an error with a stable code, 70 a
bug of ours, 130 interrupted, 141 the reader of standard output has gone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from agent_chat.cli.command import Reply, Request
    from agent_chat.errors import ChatError
    from agent_chat.storage.workspace import Workspace

ERROR = 2
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141


def main_from_console() -> NoReturn:
    """Runs the process's own command line and exits with its status.

    Everything was written and flushed by then, so the process ends at once: taking the interpreter apart costs about as
    much as a sixth of its start (docs/decisions/0012-exit-at-once.md). A debugging run ends the ordinary way.
    """
    import gc
    import os
    import sys

    words = sys.argv[1:]
    if "hook" in words:
        # Before anything else: a hook ends with 0, whatever happens, and needs nothing of what follows.
        from agent_chat.hooks import entry

        of_hook = entry.hook_words(words)
        if of_hook is not None:
            entry.run(of_hook)

    from agent_chat.cli.root import recoded

    # A call is over before a collection of cycles would pay for itself.
    gc.disable()
    try:
        status = main([recoded(word) for word in words], os.environ)
    except KeyboardInterrupt:
        status = INTERRUPTED
    if os.environ.get("AGENT_CHAT_DEBUG"):
        sys.exit(status)
    os._exit(status)


def main(argv: Sequence[str], environment: Mapping[str, str], *, workspace: Workspace | None = None) -> int:
    """Runs a command line and returns its exit status; `workspace` replaces the one that the request would open."""
    from agent_chat.cli import output
    from agent_chat.cli.root import open_root
    from agent_chat.errors import ChatError

    as_json = False
    command = ""
    request: Request | None = None
    try:
        try:
            request = _request(argv, environment)
            as_json, command = request.as_json, request.command.name
            request.workspace = workspace or open_root(request.root, environment)
            if request.command.speaks and request.workspace.has_owner_settings:
                from agent_chat.operations.access import require_on

                require_on(request.workspace)
            reply = _handler(request)(request)
            if as_json:
                reply = reply.replace(data={**request.workspace.where(), **reply.data})
            status = _show_all(reply, as_json=as_json)
            if status == 0 and request.command.mutates:
                _clean_up(request)
            return status
        except ChatError as error:
            return _refuse(error, argv, command, as_json=as_json)
        except OSError as error:
            return _refuse(_failure(request, error), argv, command, as_json=as_json)
    except output.OutputFailedError as error:
        return _output_failed(error, "")
    except KeyboardInterrupt as error:
        if error.args:
            output.note(f"{output.PROGRAM}: {error}")
        return INTERRUPTED
    except Exception as error:
        return _bug(error, environment)


def _request(argv: Sequence[str], environment: Mapping[str, str]) -> Request:
    from agent_chat.cli.commands import COMMANDS
    from agent_chat.cli.parser import parse

    request = parse(argv, COMMANDS)
    request.environment = environment
    return request


def _handler(request: Request):  # type: ignore[no-untyped-def]
    module, _, name = request.command.handler.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


def _show_all(reply: Reply, *, as_json: bool) -> int:
    """Shows a reply, or those that it is made of as long as they come and nothing fails, and returns the status."""
    if reply.following is None:
        return _show(reply, as_json=as_json)
    for part in reply.following:
        status = _show(part, as_json=as_json)
        if status:
            return status
    return 0


def _show(reply: Reply, *, as_json: bool) -> int:
    """Prints a reply, then does what had to wait until it was printed, and returns the status."""
    from agent_chat.cli import output
    from agent_chat.errors import ChatError

    failure = reply.error
    if isinstance(failure, OSError):
        failure = _io_error(failure)
    if failure is not None:
        assert isinstance(failure, ChatError)
        reply = reply.replace(error=failure)
    try:
        output.show_reply(reply, as_json=as_json)
    except output.OutputFailedError as error:
        return _output_failed(error, reply.summary)
    if reply.after is not None:
        try:
            reply.after()
        except ChatError as error:
            output.show_error(error, as_json=False)
            return ERROR
        except OSError as error:
            output.show_error(_io_error(error), as_json=False)
            return ERROR
    if failure is not None:
        if not as_json:
            output.show_error(failure, as_json=False)
        return ERROR
    return reply.status


def _only_looks(request: Request) -> bool:
    """Tells whether a command that may change something was asked not to, or removes what is due by itself."""
    values = request.values
    if request.command.path in (("doctor",), ("state",)):
        return not (values.get("fix") or values.get("write"))
    return bool(values.get("peek")) or values.get("after") is not None or request.command.path == ("prune",)


def _clean_up(request: Request) -> None:
    """Does what follows a command that changed something and was shown: it fails no more, whatever happens here."""
    from agent_chat.cli import output

    try:
        several, one = request.values.get("channels"), request.values.get("channel")
        named = several if isinstance(several, tuple) else () if one is None else (one,)
        if not named or _only_looks(request) or not request.workspace.has_owner_settings:
            return
        from agent_chat.storage import owner_store

        days = owner_store.load(request.workspace).retention_days
        if days is None:
            return
        from agent_chat.cli.retention_commands import prune_hourly

        failed = prune_hourly(request.workspace, [str(name) for name in named], days)
    except Exception as error:
        failed = [f"{type(error).__name__}: {error}"]
    if failed:
        output.warn("; ".join(failed))


def _refuse(error: ChatError, argv: Sequence[str], command: str, *, as_json: bool) -> int:
    from agent_chat.cli import output
    from agent_chat.cli.parser import wants_json
    from agent_chat.errors import INVALID

    if error.next is None and error.kind == INVALID and command:
        error.next = f"{output.PROGRAM} {command} --help"

    output.show_error(error, as_json=as_json or wants_json(argv))
    return ERROR


def _failure(request: Request | None, error: OSError) -> ChatError:
    """Returns the error that a failed file operation is to the user: perhaps its channel was deleted meanwhile."""
    from agent_chat.errors import ChatError
    from agent_chat.storage.channel import open_channel_unread

    name = request.values.get("channel") if request is not None else None
    if request is not None and isinstance(name, str) and isinstance(error, FileNotFoundError):
        try:
            open_channel_unread(request.workspace, name)
        except ChatError as gone:
            if gone.code == "CHANNEL_NOT_FOUND":
                return gone
        except OSError as another:
            return _io_error(another)
    return _io_error(error)


def _io_error(error: OSError) -> ChatError:
    """Returns the error that a failed file operation is to the user."""
    from errno import errorcode

    from agent_chat.errors import ChatError
    from agent_chat.storage.filesystem import NotOrdinaryError, path_of

    path = path_of(error)
    where = f": {path}" if path is not None else ""
    reason = error.strerror or str(error)
    if isinstance(error, NotOrdinaryError):
        return ChatError("PATH_REFUSED", f"{reason}{where}", path=path)
    name = errorcode.get(error.errno or 0, "")
    return ChatError("IO_ERROR", f"{name} {reason}{where}".strip(), path=path, errno=name or None)


def _output_failed(error: Exception, summary: str) -> int:
    """Says on stderr what was done although it could not be shown; a reader that has gone is told nothing."""
    from agent_chat.cli import output
    from agent_chat.errors import ChatError

    if summary or not getattr(error, "broken_pipe", False):
        done = f"{summary}, but the reply" if summary else "the reply"
        output.show_error(ChatError("OUTPUT_FAILED", f"{done} could not be written to stdout: {error}"), as_json=False)
    return BROKEN_PIPE if getattr(error, "broken_pipe", False) else ERROR


def _bug(error: Exception, environment: Mapping[str, str]) -> int:
    """Reports a mistake of ours in one line; with AGENT_CHAT_DEBUG=1 with its traceback."""
    from agent_chat.cli import output
    from agent_chat.records.shown_text import safe_line

    if environment.get("AGENT_CHAT_DEBUG"):
        from traceback import format_exc

        output.note(format_exc())
    output.note(f"{output.PROGRAM}: INTERNAL: {type(error).__name__}: {safe_line(str(error))}")
    output.note("  next: AGENT_CHAT_DEBUG=1 shows where; look at what is there before you repeat a call that writes")
    return BUG
