"""The text of whole states, byte for byte: a rich channel, an empty one, and one of another program.

REFRESH_GOLDEN=1 writes the files anew; a test whose file was not the same fails all the same, once.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_chat import timestamps
from agent_chat.operations.state import summarize
from agent_chat.operations.state_text import markdown
from agent_chat.storage.channel import Channel
from tests.operations.lock_room import ANNOUNCED
from tests.operations.state_room import StateRoom
from tests.support.cli import FakeClock, workspace_on
from tests.tidy.tree import ROOT

if TYPE_CHECKING:
    from typing import Callable

GOLDEN = Path(__file__).parent / "golden"
REFRESH = "REFRESH_GOLDEN"


def require_same(text: str, file: Path) -> None:
    """Fails unless a text is that of a file; writes it first where that is asked for."""
    data, there = text.encode("utf-8"), file.read_bytes() if file.exists() else None
    if data != there and os.environ.get(REFRESH):
        file.write_bytes(data)
        pytest.fail(f"{file.name} is written anew: look at what changed, and run again without {REFRESH}")
    assert data == there, f"{file.name} is no longer what is shown; if that is meant, {REFRESH}=1 writes it anew"


def rich(base: Path) -> str:
    """A channel with something in every section, as real operations make it."""
    room = StateRoom(base, topic="the parser: what it reads,\n## and what not", members="alice,bob,carol")
    room.say("Plan", "Let us begin.\n")
    room.say(
        "Decision: one file per record", "Because git merges them.\n\n- people can read them\n# no heading\n", "carol"
    )
    room.clock.turn(60)
    room.say("[Decision] no server: <b>none</b>", sender="bob")
    room.say("the old names go", "x" * 700 + "\n", status="decision")
    make_tasks(room)
    room.clock.turn(60)
    room.lock("src/parser.py", "docs/", actor="bob", why="the parser\\<i>", lease="900")
    room.lock("README.md", actor="carol", lease="30")
    ci = room.say("Blocker: CI is red", "see run 12\n", "bob")
    answer = room.say("Re: CI", "looking\n", "carol", reply=str(ci))
    room.say("Re: CI", "mended\n", "carol", reply=str(answer), status="resolved")
    room.say("disk full \x1b[31m", "\n".join(map(str, range(12))), sender="bob", status="blocker")
    room.say("Evidence: усе гаразд ✅", "```\n12 passed\n```\n", "carol")
    room.clock.turn(120)
    room.act("block", "T-1", "bob")
    room.put("0099-bob-x.md", b"no message")
    room.damage("d" * 16, b"{")
    room.leave_pending(ANNOUNCED, "tests/", actor="alice")
    return room.text()


def make_tasks(room: StateRoom) -> None:
    """Tasks of every status, one of them a decision."""
    room.create("T-1", title="Write the parser", acceptance=("reads all fixtures", "is fast"))
    room.create("T-2", title="Decision: which parser", depends_on=("T-1",))
    room.create("T-3", title="Write the docs", depends_on=("T-1", "T-2"), owner="alice")
    room.create("T-4", title="Old idea")
    room.create("T-5", title="Measure", acceptance=("under 100 ms",))
    room.create("T-6", title="Ask")
    room.claim("T-5", "carol")
    room.act("done", "T-5", "carol")
    room.act("cancel", "T-4", "alice")
    room.claim("T-1", "bob", lease="600")


def empty(base: Path) -> str:
    """A channel in which nothing was done."""
    return StateRoom(base).text()


def of_the_other_program(base: Path) -> str:
    """A channel as agent-chat-plugin left it, while its leases ran."""
    shutil.copytree(ROOT / "tests" / "fixtures" / "other-program" / "review", base / "review")
    clock = FakeClock(timestamps.parse("2026-11-30T07:55:00Z"))
    return markdown(summarize(Channel(workspace_on(base, clock=clock), "review")))


CHANNELS: dict[str, Callable[[Path], str]] = {"rich": rich, "empty": empty, "other-program": of_the_other_program}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_state_is_shown_as_it_was(name: str, tmp_path: Path) -> None:
    require_same(CHANNELS[name](tmp_path), GOLDEN / f"{name}.md")


def test_there_is_no_file_of_nothing() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(CHANNELS)


def test_what_is_written_anew_fails_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.md"
    monkeypatch.delenv(REFRESH, raising=False)
    with pytest.raises(AssertionError, match=f"{REFRESH}=1 writes it anew"):
        require_same("a\n", file)
    assert not file.exists()
    monkeypatch.setenv(REFRESH, "1")
    with pytest.raises(pytest.fail.Exception, match="is written anew"):
        require_same("a\n", file)
    require_same("a\n", file)
    with pytest.raises(pytest.fail.Exception, match="is written anew"):
        require_same("b\n", file)
    assert file.read_bytes() == b"b\n"
