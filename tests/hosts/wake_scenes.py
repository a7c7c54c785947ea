"""How `hook wait`, started by Claude Code in the background, wakes a session that rests, and when it must not wait."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable

from tests.hosts.anthropic_stub import AnthropicStub
from tests.hosts.claude_scenes import UNREAD
from tests.hosts.loopback import Move
from tests.hosts.scenes import TITLE
from tests.hosts.stage import end_group
from tests.hosts.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.clients import Claude
    from tests.hosts.report import Report

SOON_SECONDS, QUIET_SECONDS = 20.0, 4.0


def person_at_a_terminal(claude: Claude, report: Report) -> None:
    """A session with a person before it, who has gone to lunch."""
    with AnthropicStub() as stub, _terminal(claude, stub.url) as terminal:
        report.expect("shows its prompt", _within(lambda: "❯" in terminal.drawn()), terminal.drawn())
        time.sleep(1)
        terminal.type("hi")
        _is_woken(claude, stub, report)
        # As in a crash: nobody tells the waiter.
        end_group(terminal.process)
        report.expect("leaves no waiter behind", _within(lambda: not _waiters(claude)), _waiters(claude))


def program_that_feeds_it(claude: Claude, report: Report) -> None:
    """A session that a program keeps open; there the waiter has to be asked for with a variable."""
    with AnthropicStub() as stub, _fed(claude, stub.url) as session:
        assert session.stdin
        prompt = {"type": "user", "message": {"role": "user", "content": "hi"}}
        session.stdin.write(json.dumps(prompt).encode() + b"\n")
        session.stdin.flush()
        _is_woken(claude, stub, report)
        end_group(session)
        report.expect("leaves no waiter behind", _within(lambda: not _waiters(claude)), _waiters(claude))


def single_prompt(claude: Claude, report: Report) -> None:
    """In a session for one prompt Claude Code does not put a hook into the background: it must not wait."""
    claude.stage.new_scene()
    words = ["--settings", json.dumps(_settings(claude))]
    with AnthropicStub([Move()]) as stub:
        done = claude.call("-p", "hi", *words, more=claude.model_at(stub.url))
        report.expect("answers at once", done.status == 0 and len(stub.requests) == 1, done)


def _is_woken(claude: Claude, stub: AnthropicStub, report: Report) -> None:
    """The session has taken a prompt; each message from now on is to begin one turn."""
    report.expect("takes its first turn", _within(lambda: len(stub.requests) == 1), stub.news())
    time.sleep(QUIET_SECONDS)
    report.expect("has a waiter in the background", bool(_waiters(claude)), "none is there")
    report.expect("rests as long as nothing comes", len(stub.requests) == 1, stub.news())
    for _ in range(2):
        _is_woken_once(claude, stub, report)
    told = "".join(stub.news()[1:2])
    report.expect("is told what is unread, no title", UNREAD in told and TITLE not in told, told)


def _is_woken_once(claude: Claude, stub: AnthropicStub, report: Report) -> None:
    before = len(stub.requests)
    claude.stage.post(TITLE)
    report.expect("is woken by a message", _within(lambda: len(stub.requests) > before), stub.news())
    time.sleep(QUIET_SECONDS)
    report.expect("is woken once by it", len(stub.requests) == before + 1, stub.news())


def _line(claude: Claude) -> str:
    return f'python3 -I -S "{claude.stage.plugin}/chat.py" hook wait'


def _settings(claude: Claude) -> dict[str, object]:
    # Started again at each Stop, as it is meant to be: it must not wake for the same message again.
    wait = [{"hooks": [{"type": "command", "command": _line(claude), "asyncRewake": True, "timeout": 600}]}]
    return {"hooks": {"SessionStart": wait, "Stop": wait}}


@contextmanager
def _terminal(claude: Claude, url: str) -> Iterator[Terminal]:
    claude.stage.new_scene()
    # What a person has answered when the session is not the first: colours, the key, trust in the folder.
    answers = claude.stage.home / ".claude" / ".claude.json"
    known = json.loads(answers.read_text(encoding="utf-8")) if answers.exists() else {}
    known["hasCompletedOnboarding"] = True
    known["theme"] = "dark"
    known["customApiKeyResponses"] = {"approved": [claude.model_at(url)["ANTHROPIC_API_KEY"]], "rejected": []}
    known.setdefault("projects", {})[str(claude.stage.project)] = {"hasTrustDialogAccepted": True}
    answers.write_text(json.dumps(known), encoding="utf-8")
    words = [str(claude.program), "--settings", json.dumps(_settings(claude))]
    more = {**claude.settings(), **claude.model_at(url), "TERM": "xterm-256color"}
    with Terminal(words, claude.stage.project, claude.stage.environment(more)) as terminal:
        yield terminal


@contextmanager
def _fed(claude: Claude, url: str) -> Iterator[subprocess.Popen[bytes]]:
    claude.stage.new_scene()
    words = ("-p", "--input-format", "stream-json", *claude.EVENTS, "--settings", json.dumps(_settings(claude)))
    session = subprocess.Popen(
        [str(claude.program), *words],
        cwd=claude.stage.project,
        env=claude.stage.environment({**claude.settings(), **claude.model_at(url), "AGENT_CHAT_WAIT": "always"}),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield session
    finally:
        end_group(session)


def _within(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + SOON_SECONDS
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def _waiters(claude: Claude) -> list[str]:
    """Returns the waiters of this run that are there."""
    listed = claude.stage.run(["ps", "-A", "-o", "pid=,args="]).output
    sought = _line(claude).split('"', 1)[1].replace('"', "")
    return [each for each in listed.splitlines() if sought in each.replace('"', "")]
