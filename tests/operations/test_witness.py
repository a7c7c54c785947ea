"""Whether a message comes from the session that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.operations.witness import Witness
from tests.support.cli import failing, plant, workspace_on
from tests.support.tokens import plant_session, session

if TYPE_CHECKING:
    from pathlib import Path

OWN = session()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant_session(tmp_path)
    plant_session(tmp_path, 2, "alice", ended=1.0)
    return tmp_path


def test_a_session_vouches_for_its_agent_and_name_over_its_connection_alone(root: Path) -> None:
    witness = Witness(workspace_on(root))
    other = session(2, "alice")
    assert witness.verifies("bob", OWN.name, OWN.connection)
    assert witness.verifies("BOB", OWN.name.upper(), OWN.connection)
    assert witness.verifies("alice", other.name, other.connection)
    for sender, name, connection in (
        ("alice", OWN.name, OWN.connection),
        ("bob", other.name, OWN.connection),
        ("bob", OWN.name, other.connection),
        ("bob", OWN.name, OWN.connection[:15]),
        ("bob", OWN.name, ""),
        ("bob", "", OWN.connection),
        ("bob", OWN.name, "../../x"),
    ):
        assert not witness.verifies(sender, name, connection)
    assert witness.faults == []


def test_any_session_of_a_connection_vouches_also_beside_a_damaged_one(root: Path) -> None:
    plant_session(root, 3, "carol", id=f"{OWN.connection}-2", connection=OWN.connection, name="helper")
    path = plant(root / "_sessions" / f"{OWN.id}.json", "{")
    witness = Witness(workspace_on(root))
    assert witness.verifies("carol", "helper", OWN.connection)
    assert not witness.verifies("bob", OWN.name, OWN.connection)
    (fault,) = witness.faults
    assert fault.startswith(f"{path}: ")


@pytest.mark.parametrize("primitive", ["read_file", "list_folder"])
def test_what_cannot_be_looked_at_vouches_for_nothing_and_says_so(root: Path, primitive: str) -> None:
    witness = Witness(failing(root, at=1, only=(primitive,), forever=True))
    assert not witness.verifies("bob", OWN.name, OWN.connection)
    assert len(witness.faults) == 1
    assert not witness.verifies("bob", OWN.name, OWN.connection)
    assert len(witness.faults) == 1


def test_a_root_without_sessions_vouches_for_nobody(tmp_path: Path) -> None:
    witness = Witness(workspace_on(tmp_path))
    assert not witness.verifies("bob", OWN.name, OWN.connection)
    assert witness.faults == []
