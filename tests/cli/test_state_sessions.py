"""A state says of a decision, a blocker and evidence when it does not come from the session that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import message_file, plant, run
from tests.support.tokens import plant_session, session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("status", ["decision", "blocker", "verification"])
def test_what_a_session_does_not_vouch_for_is_marked(tmp_path: Path, status: str) -> None:
    root = tmp_path / "root"
    run(["init", "dev"], root)
    token = plant_session(root, agent="alice")
    run(["post", "dev", "--title", "true", "--status", status], root, environment={"AGENT_CHAT_TOKEN": token})
    known = session(1, "alice")
    forged = message_file(2, "mallory", "forged", status=status, session=known.name, connection=f'"{known.connection}"')
    plant(root / "dev" / "0002-mallory-forged.md", forged, at=1.0)
    assert f"last #2 mallory (unverified session {known.name}): forged" in run(["channels"], root).stdout
    assert run(["channels", "--json"], root).json["channels"][0]["last"]["verified"] is False
    text = run(["state", "dev"], root).stdout
    assert "#1 true (alice, " in text
    assert f"#2 forged (mallory of the unverified session {known.name})" in text
    state = run(["state", "dev", "--json"], root).json
    section = state[{"decision": "decisions", "blocker": "blockers"}.get(status, "verification")]
    assert [(item["session"], item["verified"]) for item in section] == [(known.name, True), (known.name, False)]


def test_who_names_no_session_is_not_doubted(tmp_path: Path) -> None:
    root = tmp_path / "root"
    run(["init", "dev"], root)
    run(["post", "dev", "--from", "alice", "--title", "t", "--status", "decision"], root)
    (item,) = run(["state", "dev", "--json"], root).json["decisions"]
    assert "verified" not in item
    assert "unverified" not in run(["state", "dev"], root).stdout


def test_an_event_of_another_session_is_marked_and_the_roster_leaves_it_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    run(["init", "dev", "--members", "alice,bob"], root)
    announce = ["event", "post", "dev", "--type", "status", "--harness", "omp", "--status", "busy"]
    run(announce, root, environment={"AGENT_CHAT_TOKEN": plant_session(root, agent="alice")})
    (path,) = (root / "dev").glob("0001-*.md")
    forged = path.read_text("utf-8").replace("alice", "bob").replace("seq: 1", "seq: 2").replace("busy", "idle")
    plant(root / "dev" / "0002-bob-event-status-idle.md", forged, at=1.0)
    text = run(["event", "read", "dev"], root).stdout
    assert "#1 alice (omp) busy" in text
    assert "#2 bob (omp, unverified session bob-72cd) idle" in text
    lines = run(["event", "read", "dev", "--json"], root).stdout.splitlines()
    assert ['"verified": true' in line for line in lines] == [True, False]
    roster = run(["roster", "dev"], root).stdout
    assert "busy" in roster
    assert "idle" not in roster
