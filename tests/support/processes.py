"""Commands as processes of their own, workers that run many of them, and workers whose file system stops or kills them.

Every process that is started here is ended here, by its id, and none waits longer than it is told to.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Callable, NamedTuple, cast

from agent_chat.cli.main import main
from agent_chat.storage import channel, filesystem
from agent_chat.storage.workspace import Clock, Workspace
from tests.support import watched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
_SERVE = "from tests.support.processes import serve; serve()"


class Done(NamedTuple):
    """How a command ended: its status (negative: by that signal), what it wrote, and how long it took."""

    status: int
    out: str
    err: str
    seconds: float = 0.0

    @property
    def json(self) -> dict[str, Any]:
        """The reply of a command that was given --json."""
        assert "Traceback" not in self.err, self.err
        return dict(json.loads(self.out))


def environment(home: Path | str = "/nonexistent", **changes: str | None) -> dict[str, str]:
    """A whole environment for a child: nothing of the caller's but the search path; None takes a variable out."""
    found: dict[str, str | None] = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "LC_ALL": "C.UTF-8",
        **{name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP") if name in os.environ},
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


class Cli:
    """The command line of one root, each command as a process of its own."""

    def __init__(self, root: Path, **changes: str | None) -> None:
        self.root = root
        self.command = [sys.executable, "-m", "agent_chat"]
        self.environment = environment(root.parent, AGENT_CHAT_ROOT=str(root), **changes)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Starts a command with nothing to read and its output in pipes, unless `options` say otherwise."""
        given = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": self.environment,
        }
        return subprocess.Popen([*self.command, *arguments], **{**given, **options})

    def run(self, *arguments: str, timeout: float = PATIENCE, feed: bytes | None = None, **options: Any) -> Done:
        """Runs a command to its end."""
        if feed is not None:
            options["stdin"] = subprocess.PIPE
        from tests.support import verdicts  # not by a worker, which starts faster without

        began = time.monotonic()
        with verdicts.judged_files(self.root):
            return finish(self.start(*arguments, **options), timeout=timeout, feed=feed, began=began)

    def must(self, *arguments: str, **options: Any) -> Done:
        """Runs a command that has to succeed."""
        done = self.run(*arguments, **options)
        assert done.status == 0, done
        return done


def finish(
    child: subprocess.Popen[bytes], *, timeout: float = PATIENCE, feed: bytes | None = None, began: float | None = None
) -> Done:
    """Waits for a child to end, and ends it if it does not; what it printed in JSON keeps to its schema."""
    from tests.support import verdicts

    start = time.monotonic() if began is None else began
    try:
        out, err = child.communicate(feed, timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(f"{child.args!r} did not end within {timeout} s: {out!r} {err!r}") from None
    words = cast("list[str]", child.args)
    if "agent_chat" in words:
        verdicts.judge_words(words[words.index("agent_chat") + 1 :], child.returncode, out or b"")
    return Done(child.returncode, (out or b"").decode(), (err or b"").decode(), time.monotonic() - start)


class TooLongError(BaseException):
    """A command that runs in the test's own process did not end in time; nothing that it catches."""


def call(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *,
    workspace: Workspace | None = None,
    timeout: float = PATIENCE,
) -> Done:
    """Runs a command in this process, with streams of its own; stdin is the null device."""
    out, err = io.BytesIO(), io.BytesIO()
    began = time.monotonic()
    with open(os.devnull, encoding="utf-8") as nothing, _limited(timeout), contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.TextIOWrapper(out, encoding="ascii")))
        stack.enter_context(contextlib.redirect_stderr(io.TextIOWrapper(err, encoding="ascii")))
        stack.callback(setattr, sys, "stdin", sys.stdin)
        sys.stdin = nothing
        status = main(arguments, variables, workspace=workspace)
        seconds = time.monotonic() - began
        return Done(status, out.getvalue().decode(), err.getvalue().decode(), seconds)


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Trap(NamedTuple):
    """What happens at the nth call of a primitive of the file system, counted over the paths that hold `path`.

    `action` is stop (SIGSTOP to itself), kill (SIGKILL to itself), or pause for `seconds`. `after`: once the primitive
    was carried out, not before. `lock_seconds` replaces the channel lock's time-out.
    """

    primitive: str = ""
    path: str = ""
    nth: int = 1
    action: str = "stop"
    seconds: float = 0.0
    after: bool = False
    lock_seconds: float = channel.LOCK_SECONDS


class TrappedFileSystem(filesystem.FileSystem):
    """The real file system with one trap in it."""

    def __init__(self, root: str, trap: Trap) -> None:
        super().__init__(root, Clock())
        self._trap = trap
        self._calls = 0
        if trap.primitive:
            setattr(self, trap.primitive, self._trapped(getattr(self, trap.primitive)))

    def _trapped(self, primitive: Callable[..., Any]) -> Callable[..., Any]:
        def act(path: str, *arguments: Any, **options: Any) -> Any:
            # The path that is written: of `link` and `replace` the second one.
            target = arguments[0] if arguments and isinstance(arguments[0], str) else path
            self._calls += self._trap.path in target
            sprung = self._trap.path in target and self._calls == self._trap.nth
            if sprung and not self._trap.after:
                self._spring()
            result = primitive(path, *arguments, **options)
            if sprung and self._trap.after:
                self._spring()
            return result

        return act

    def _spring(self) -> None:
        if self._trap.action == "pause":
            time.sleep(self._trap.seconds)
        else:
            os.kill(os.getpid(), signal.SIGSTOP if self._trap.action == "stop" else signal.SIGKILL)


class Worker:
    """A child that runs the commands which it is given, one after the other, all in its one process."""

    def __init__(self, root: Path, trap: Trap | None = None) -> None:
        variables = environment(root.parent, AGENT_CHAT_ROOT=str(root))
        self._child = subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
        )
        self._send({"root": str(root), "trap": list(trap or Trap())})

    @property
    def pid(self) -> int:
        """The process."""
        return self._child.pid

    def _send(self, data: object) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(data).encode() + b"\n")
        self._child.stdin.flush()

    def give(self, *arguments: str) -> None:
        """Gives a command to be run once those before it have ended."""
        self._send(arguments)

    def take(self) -> Done:
        """Returns how the next of the given commands ended; what the worker saw it do keeps to its schema."""
        from tests.support import verdicts

        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line, f"the worker has ended: {self._child.poll()}"
        answer = json.loads(line)
        verdicts.judge_child(_seen_in(each) for each in answer["seen"])
        return Done(*answer["done"])

    def call(self, *arguments: str) -> Done:
        """Runs a command in the worker."""
        self.give(*arguments)
        return self.take()

    def wait_until_stopped(self) -> None:
        """Returns once the worker has stopped itself."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if pid:
                assert os.WIFSTOPPED(status), status
                return
            time.sleep(0.002)
        raise AssertionError("the worker did not stop itself")

    def resume(self) -> None:
        """Lets a stopped worker go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kills the worker; returns once it is dead."""
        self._child.kill()
        self._child.wait(PATIENCE)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        streams: list[IO[bytes] | None] = [self._child.stdin, self._child.stdout]
        self.kill()
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def serve() -> None:
    """The loop of a worker: a line with its root and trap, then a command a line; answers with a line each."""
    lines = sys.stdin.buffer
    answers = sys.stdout.buffer
    setting = json.loads(lines.readline())
    trap = Trap(*setting["trap"])
    channel.LOCK_SECONDS = trap.lock_seconds
    files = TrappedFileSystem(setting["root"], trap)
    seen: list[watched.Seen] = []
    watched.install(seen.append)
    for line in lines:
        # One file system for all commands, so that the trap counts over them; what it knows of the root may be stale.
        files._trusted = {files.root}
        files._root_status = None
        workspace = Workspace(setting["root"], root_from="variable", files=files, account="you")
        done = call(json.loads(line), os.environ, workspace=workspace)
        answer = {"done": list(done), "seen": [_as_json(each) for each in seen]}
        seen.clear()
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _as_json(seen: watched.Seen) -> list[str]:
    return [part.decode("latin-1") if isinstance(part, bytes) else part for part in seen]


def _seen_in(parts: list[str]) -> watched.Seen:
    if len(parts) == len(watched.Printed._fields):
        return watched.Printed(*parts)
    return watched.Written(parts[0], parts[1], parts[2].encode("latin-1"))
