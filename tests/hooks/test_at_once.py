"""Identical hooks at the same time, as where a plugin and settings of a user both wire them: one acts, none is torn."""

from __future__ import annotations

import itertools
import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.hooks.running import Case, Office, print_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="they are started by a shell of POSIX"),
]
PAIRS = 50


def pair(office: Office, event: str, sent: dict[str, object]) -> list[str]:
    """What two hooks print that run at the same time."""
    case = Case(sent=json.dumps(sent).encode())
    running = [office.start(event, "claude", case, script=script) for script in (True, False)]
    ended = [each.finish() for each in running]
    assert [each.status for each in ended] == [0, 0]
    assert [each.err for each in ended] == ["", ""]
    return [each.out for each in ended]


def memory_of(office: Office, session: str) -> dict[str, object]:
    path = office.root / "_hooks" / f"bob.id-{session}.session"
    return dict(json.loads(path.read_bytes()))


def test_of_two_that_would_hold_one_does(tmp_path: Path) -> None:
    office = Office(tmp_path)
    for number in range(1, PAIRS + 1):
        before = print_of(office.root)
        found = pair(office, "stop", {"session_id": "s-1", "stop_hook_active": False})
        assert sorted("block" in out for out in found) == [False, True], number
        assert all("systemMessage" in json.loads(out) for out in found)
        assert print_of(office.root) == before
        highest = max(int(path.name[:4]) for path in office.folder.glob("0*.md"))
        held = memory_of(office, "s-1")["held"]
        assert isinstance(held, dict)
        assert held["dev"][0] in (highest, 1)  # an audit message may be the last
        office.post("alice")
    assert [path.name for path in (office.root / "_hooks").iterdir() if path.name.startswith("tmp-")] == []


def test_of_two_in_new_sessions_each_holds_once(tmp_path: Path) -> None:
    """The file of a session is made by whoever comes first."""
    office = Office(tmp_path)
    for number in range(PAIRS // 2):
        found = pair(office, "stop", {"session_id": f"s-{number}", "stop_hook_active": False})
        assert sorted("block" in out for out in found) == [False, True], number


def test_of_two_before_one_prompt_and_between_the_same_tools_one_speaks(tmp_path: Path) -> None:
    office = Office(tmp_path)
    for number in range(PAIRS // 2):
        found = pair(office, "post-tool-batch", {"session_id": "s-1"})
        assert sorted(map(bool, found)) == [False, True], number
        found = pair(office, "prompt", {"session_id": "s-1", "prompt_id": f"p-{number}"})
        assert sorted(map(bool, found)) == [False, True], number
        office.post("alice")


def test_hooks_of_many_sessions_and_events_do_not_disturb_each_other(tmp_path: Path) -> None:
    office = Office(tmp_path)
    calls = list(itertools.product(("stop", "prompt", "session-start"), range(6)))
    for _ in range(3):
        running = [
            office.start(event, "claude", Case(sent=json.dumps({"session_id": f"s-{number}"}).encode()), script=True)
            for event, number in calls
        ]
        ended = [each.finish() for each in running]
        assert [each.err for each in ended] == [""] * len(calls)
        assert all("unread for bob" in each.out for each in ended)
        held = [number for (event, number), each in zip(calls, ended) if "block" in each.out]
        assert sorted(held) == list(range(6))
        office.post("alice")
