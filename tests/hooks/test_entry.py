"""The promise of all hooks: whatever happens, something is printed that the host obeys, and the process ends with 0."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import threading
from _thread import start_new_thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agent_chat.hooks import entry
from agent_chat.hooks.call import Answer, Call
from tests.hooks.desk import Desk
from tests.support.cli import SILENT, stdin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 20.0
NO_TIME = "there was no time to look"


class Run:
    """Runs of the entry on threads of the test, whose process seems to end when the entry ends it.

    The entry is a copy of the module: its watchdog may outlive the test, and must never end the real process.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        spec = importlib.util.spec_from_file_location("entry_that_ends_nothing", entry.__file__)
        assert spec is not None
        assert spec.loader is not None
        self.entry: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.entry)
        ours = SimpleNamespace(_exit=self.exit, environ=variables)
        vars(self.entry).update(os=ours, gc=SimpleNamespace(disable=lambda: None))
        self.variables = variables
        self.out: Any = io.StringIO()
        self.err: Any = io.StringIO()
        self.stdin: Any = None
        self.ended = threading.Event()
        self.release = threading.Event()
        self.status: int | None = None

    def exit(self, status: int) -> None:
        """Ends the thread that calls it, as a process would end; the first call counts."""
        if not self.ended.is_set():
            self.status = status
            self.ended.set()
        raise SystemExit  # which such a thread ends with in silence

    def __call__(self, *words: str) -> tuple[int | None, str, str]:
        """Runs a hook; returns its status, what it printed and what it noted."""
        return self.carry_out(self.entry.run, list(words))

    def carry_out(self, act: Callable[..., object], *arguments: Any) -> tuple[int | None, str, str]:
        """Runs something that does not return."""
        with pytest.MonkeyPatch.context() as patch:
            for name, stream in (("stdin", self.stdin), ("stdout", self.out), ("stderr", self.err)):
                patch.setattr(sys, name, stream)
            start_new_thread(act, arguments)
            assert self.ended.wait(PATIENCE), "it did not end"
        texts = [each.getvalue() if isinstance(each, io.StringIO) and not each.closed else "" for each in self.both]
        return self.status, texts[0], texts[1]

    @property
    def both(self) -> tuple[Any, Any]:
        """The streams that are written to."""
        return self.out, self.err


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run for bob, who has one unread message, on a work tree that is all locked by carol."""
    desk = Desk(tmp_path)
    desk.post("alice")
    desk.held(".", actor="carol")
    run = Run({"AGENT_CHAT_ROOT": str(desk.root), "AGENT_CHAT_NAME": "bob"})
    with stdin_of(json.dumps({"session_id": "s-1", "cwd": str(desk.tree)}).encode()) as run.stdin:
        yield run
        run.release.set()


@pytest.fixture
def hurried(run: Run) -> Run:
    """A run whose time is up after a moment."""
    run.entry.ANSWER_SECONDS, run.entry.LEAVE_SECONDS = 0.01, 0.05
    return run


def stuck(run: Run, result: Any = None) -> Callable[..., Any]:
    """What does not come back before the process has ended."""

    def act(*_: Any, **__: Any) -> Any:
        run.release.wait(PATIENCE)
        return result

    return act


def raising(error: BaseException) -> Callable[..., Any]:
    def act(*_: Any, **__: Any) -> Any:
        raise error

    return act


def test_in_ordinary_times_it_prints_the_answer(run: Run) -> None:
    status, out, err = run("stop", "--host", "claude")
    assert (status, err) == (0, "")
    assert "1 unread for bob" in json.loads(out)["systemMessage"]


def test_from_the_console_it_takes_the_words_of_the_process(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["stop_inbox.py", "--host", "codex", "--frobnicate"])
    status, out, err = run.carry_out(run.entry.run_from_console, "stop")
    assert (status, err) == (0, "agent-chat: hook: '--frobnicate' is not understood\n")
    assert "1 unread for bob" in out


def test_the_waiter_alone_ends_with_2(run: Run) -> None:
    status, out, err = run("wait", "--host", "claude", "--timeout", "0")
    assert (status, out) == (2, "")
    assert "agent-chat: 1 unread for bob" in err
    assert err.count("\n") == 1


# -- mistakes ----------------------------------------------------------------------------------------------------------

MISTAKES = [
    ZeroDivisionError("x\ny"),
    RecursionError(),
    MemoryError(),
    SystemExit(2),
    KeyboardInterrupt(),
    GeneratorExit(),
]


@pytest.mark.parametrize("error", MISTAKES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("event", ["stop", "pre-tool-use", "session-start"])
def test_a_mistake_of_ours_is_a_line_and_status_0(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, event: str
) -> None:
    monkeypatch.setattr(Call, "answer", raising(error))
    status, out, err = run(event, "--host", "claude")
    assert status == 0
    assert type(error).__name__ in err
    assert err.count("\n") == 1
    assert (type(error).__name__ in out) == (event != "stop")


def test_with_strict_a_mistake_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.variables["AGENT_CHAT_GUARD"] = "strict"
    monkeypatch.setattr(Call, "answer", raising(ZeroDivisionError("x")))
    status, out, _ = run("pre-tool-use", "--host", "gemini")
    assert (status, json.loads(out)["decision"]) == (0, "deny")


def test_when_debugging_a_mistake_comes_with_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.variables["AGENT_CHAT_DEBUG"] = "1"
    monkeypatch.setattr(Call, "answer", raising(ZeroDivisionError("x")))
    status, _, err = run("stop", "--host", "claude")
    assert status == 0
    assert "Traceback" in err


@pytest.mark.parametrize("name", ["__init__", "gave_up", "is_unbounded"])
def test_a_mistake_before_or_behind_that_is_a_line_and_status_0(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Call, "answer", raising(ValueError("first")))
    monkeypatch.setattr(Call, name, raising(ZeroDivisionError("second")))
    if name == "is_unbounded":
        monkeypatch.setattr(Call, name, property(raising(ZeroDivisionError("second"))))
    status, out, err = run("pre-tool-use")
    assert (status, out) == (0, "")
    assert "ZeroDivisionError: second" in err


def test_where_no_thread_can_be_started_it_is_a_line_and_status_0(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.entry, "start_new_thread", raising(RuntimeError("can't start new thread")))
    status, _, err = run("stop", "--host", "claude")
    assert status == 0
    assert err.count("\n") <= 1


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("kind", ["none", "closed", "full"])
def test_where_nothing_can_be_printed_the_status_is_0(run: Run, stream: str, kind: str) -> None:
    broken: Any = None
    if kind == "closed":
        broken = io.StringIO()
        broken.close()
    elif kind == "full":
        broken = SimpleNamespace(write=raising(OSError(28, "No space left on device")), flush=lambda: None)
    setattr(run, stream[3:], broken)
    status, out, err = run("stop", "--host", "claude", "--frobnicate")
    assert status == 0
    assert out == "" if stream == "stdout" else "systemMessage" in out
    assert err == "" if stream == "stderr" else "frobnicate" in err


# -- time --------------------------------------------------------------------------------------------------------------


def test_the_times_are_those_that_the_page_promises() -> None:
    assert entry.ANSWER_SECONDS < entry.LEAVE_SECONDS < 2


@pytest.mark.parametrize("event", ["session-start", "prompt", "pre-tool-use"])
def test_what_takes_too_long_is_answered_without_having_looked(
    hurried: Run, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    monkeypatch.setattr(Call, "answer", stuck(hurried, Answer(output="late")))
    status, out, err = hurried(event, "--host", "claude")
    assert status == 0
    assert NO_TIME in out
    assert NO_TIME in err
    assert "late" not in hurried.out.getvalue()


@pytest.mark.parametrize("event", ["stop", "post-tool-batch"])
def test_what_takes_too_long_where_nobody_asked_is_silent(
    hurried: Run, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    hurried.variables["AGENT_CHAT_STOP"] = "block"
    monkeypatch.setattr(Call, "answer", stuck(hurried, Answer(output="late")))
    status, out, err = hurried(event, "--host", "claude")
    assert (status, out) == (0, "")
    assert NO_TIME in err


def test_with_strict_what_takes_too_long_is_refused(hurried: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried.variables["AGENT_CHAT_GUARD"] = "strict"
    monkeypatch.setattr(Call, "answer", stuck(hurried))
    status, out, _ = hurried("pre-tool-use", "--host", "claude")
    assert (status, json.loads(out)["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")


def test_a_disk_that_does_not_answer_is_not_waited_for(hurried: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_chat.storage.filesystem.FileSystem.list_folder", stuck(hurried, []))
    status, out, err = hurried("prompt", "--host", "claude")
    assert (status, NO_TIME in out, NO_TIME in err) == (0, True, True)


def test_a_host_that_sends_nothing_is_not_waited_for(hurried: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with stdin_of(SILENT) as stream:
        hurried.stdin = stream
        status, out, _ = hurried("pre-tool-use", "--host", "claude")
    assert (status, NO_TIME in out) == (0, True)


@pytest.mark.parametrize("answered", [True, False], ids=["in time", "too late"])
def test_a_reader_that_takes_nothing_is_not_waited_for(
    hurried: Run, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    """Whoever prints, the answer or the watchdog: somebody else ends the process."""
    if not answered:
        monkeypatch.setattr(Call, "answer", stuck(hurried))
    hurried.out = SimpleNamespace(write=stuck(hurried), flush=lambda: None)
    assert hurried("prompt", "--host", "claude")[0] == 0


def test_the_waiter_may_take_as_long_as_it_likes(hurried: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def waiting(call: Call) -> Answer:
        assert not hurried.ended.wait(0.2)
        return Answer(status=2)

    monkeypatch.setattr(Call, "answer", waiting)
    assert hurried("wait") == (2, "", "")


def test_it_prints_one_answer_and_no_more(hurried: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """However close the answer and the end of the time are."""
    began = threading.Event()

    def late(call: Call) -> Answer:
        began.wait(0.01)
        return Answer(output="answer\n")

    monkeypatch.setattr(Call, "answer", late)
    status, out, _ = hurried("prompt", "--host", "claude")
    assert status == 0
    assert out == "answer\n" or (NO_TIME in out and out.count("\n") == 1 and "answer" not in out)
