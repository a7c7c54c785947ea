"""Many processes that start sessions at once: each gets an id and a secret of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.processes import PATIENCE, Cli, finish
from tests.support.roots import make_root
from tests.support.tokens import plant_session, session

if TYPE_CHECKING:
    from pathlib import Path

STARTERS = 8


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["each without a token", "all under one token"])
def test_sessions_that_are_started_at_once_get_ids_of_their_own(tmp_path: Path, *, shared: bool) -> None:
    root = tmp_path / "root"
    make_root(root)
    cli = Cli(root, AGENT_CHAT_TOKEN=plant_session(root) if shared else "")
    started = [cli.start("session", "start", "--as", "bob", "--name", "twin", "--json") for _ in range(STARTERS)]
    ended = [finish(process, timeout=PATIENCE) for process in started]
    assert [done.status for done in ended] == [0] * STARTERS, ended
    made = [done.json["session"] for done in ended]
    assert len({each["id"] for each in made}) == len({done.json["token"] for done in ended}) == STARTERS
    connections = {each["connection"] for each in made}
    if shared:
        assert connections == {session().connection}
        assert {each["id"] for each in made} == {f"{session().connection}-{number}" for number in range(2, 10)}
    else:
        assert len(connections) == STARTERS
    # Of two namesakes at least one is told of the other.
    assert sum("warnings" in done.json for done in ended) >= STARTERS - 1
    assert {path.suffix for path in (root / "_sessions").iterdir()} == {".json"}
    for done in ended:
        acting = Cli(root, AGENT_CHAT_TOKEN=done.json["token"])
        assert acting.must("session", "show", "--json").json["session"] == done.json["session"]
