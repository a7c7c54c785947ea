"""Long work shows on a terminal how far it is; nothing of it is left there, whatever ends the work."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli import output
from agent_chat.cli.main import main
from agent_chat.errors import ChatError
from tests.support.cli import message_file, plant, run

if TYPE_CHECKING:
    from pathlib import Path

CLEARED = "\r\x1b[K"
HALF_WAY = f"{CLEARED}dev: 500 of 501"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a channel in which something was decided."""
    run(["init", "dev", "--topic", "t"], tmp_path / "root")
    run(["post", "dev", "--from", "alice", "--title", "Decision: files", "--body", "why"], tmp_path / "root")
    return tmp_path / "root"


class Terminal(io.StringIO):
    """A terminal as standard error; with `gone` one that nobody has open any more."""

    gone = False

    def isatty(self) -> bool:
        """It is one."""
        return True

    def write(self, text: str) -> int:
        """Takes the text, or fails as a terminal does that has hung up."""
        if self.gone:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().write(text)


def at_terminal(terminal: Terminal, root: Path, *argv: str) -> tuple[int, str]:
    """Runs a command whose standard error is a terminal; returns its status and what it shows elsewhere."""
    with contextlib.redirect_stderr(terminal), contextlib.redirect_stdout(io.StringIO()) as shown:
        status = main(argv, {"AGENT_CHAT_ROOT": str(root)})
    return status, shown.getvalue()


@pytest.fixture
def many(root: Path) -> Path:
    """The same root with 501 messages."""
    for seq in range(2, 502):
        plant(root / "dev" / f"{seq:04d}-alice-m.md", message_file(seq))
    return root


@pytest.mark.slow
def test_a_terminal_is_shown_how_far_it_is_and_keeps_nothing_of_it(many: Path) -> None:
    for argv in (["state", "dev"], ["state", "dev", "--write"], ["compact", "dev", "--no-audit"]):
        terminal = Terminal()
        status, shown = at_terminal(terminal, many, *argv)
        assert (status, terminal.getvalue()) == (0, HALF_WAY + CLEARED)
        assert shown
        assert "\x1b" not in shown


@pytest.mark.slow
def test_a_refusal_stands_on_a_line_of_its_own(many: Path) -> None:
    plant(many / "dev" / "0502-bob-x.md", "x")
    for argv in (["state", "dev", "--strict"], ["compact", "dev", "--strict"]):
        terminal = Terminal()
        assert at_terminal(terminal, many, *argv) == (2, "")
        written = terminal.getvalue()
        assert written.startswith(f"{CLEARED}dev: 500 of 502{CLEARED}agent-chat: STATE_MALFORMED_SOURCE: ")
        assert written.count(CLEARED) == 2


def test_whatever_ends_it_nothing_of_it_is_left() -> None:
    for end in (None, KeyboardInterrupt(), ChatError("STATE_IO_ERROR", "x"), OSError()):
        with contextlib.redirect_stderr(Terminal()) as terminal, contextlib.suppress(type(end) if end else ValueError):
            with output.Progress() as show:
                assert show is not None
                show("dev", 500, 900)
                show("dev", 501, 900)
                if end is not None:
                    raise end
            assert end is None, "it is raised on"
        assert terminal.getvalue() == f"{CLEARED}dev: 500 of 900{CLEARED}"


def test_who_is_no_terminal_is_shown_nothing(root: Path) -> None:
    for nobody in (None, io.StringIO()):
        with contextlib.redirect_stderr(nobody), output.Progress() as show:
            assert show is None
        assert nobody is None or nobody.getvalue() == ""


@pytest.mark.parametrize("argv", [["state", "dev"], ["state", "dev", "--write"], ["compact", "dev"]])
def test_a_terminal_that_has_hung_up_keeps_nothing_from_being_done(root: Path, argv: list[str]) -> None:
    terminal = Terminal()
    terminal.gone = True
    status, shown = at_terminal(terminal, root, *argv)
    assert status == 0
    assert shown
    assert (root / "dev" / "state.md").exists() == (argv != ["state", "dev"])


@pytest.mark.slow
def test_a_terminal_that_has_hung_up_is_no_unreadable_channel(many: Path) -> None:
    terminal = Terminal()
    terminal.gone = True
    status, shown = at_terminal(terminal, many, "compact", "dev")
    assert (status, shown.partition(":")[0]) == (0, "wrote state.md of dev (#502)")
