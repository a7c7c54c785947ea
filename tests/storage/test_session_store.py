"""The files of sessions: which numbers are given, what is listed, and what a reader makes of other things."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.errors import ChatError
from agent_chat.storage.session_store import SessionStore
from tests.support.cli import START, plant, tree_of, workspace_on
from tests.support.tokens import plant_session, session

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.records.session import Session

OWN = session().connection


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    made = SessionStore(workspace_on(tmp_path))
    made.make_folder()
    return made


def child(session_id: str) -> Session:
    return session(id=session_id)


@pytest.mark.parametrize(
    ("there", "given"),
    [
        ((), 1),
        ((1,), 2),
        ((1, 3), 4),
        ((2,), 3),
        ((9, 10), 11),
        ((999_999_999,), 1),
        ((1, 999_999_999), 2),
        ((99_999_999, 100_000_000), 100_000_001),
    ],
)
def test_the_next_session_has_a_number_that_none_has(store: SessionStore, there: tuple[int, ...], given: int) -> None:
    for number in there:
        plant_session(store_root(store), id=f"{OWN}-{number}")
    with store.locked():
        assert store.publish(OWN, child).id == f"{OWN}-{given}"
    assert store.load(f"{OWN}-{given}") == child(f"{OWN}-{given}")


def store_root(store: SessionStore) -> Path:
    from pathlib import Path

    return Path(store.folder).parent


def test_other_things_with_such_names_take_no_numbers_and_stop_nobody(store: SessionStore) -> None:
    folder = store_root(store) / "_sessions"
    for name in (f"{OWN}-x.json", f"{OWN}-07.json", f"{OWN}-.json", f"{OWN}.json", "notes.json", f"{OWN}-5.json.bak"):
        plant(folder / name)
    (folder / f"{OWN}-3.json").mkdir()
    with store.locked():
        assert store.publish(OWN, child).id == f"{OWN}-4"


def test_sessions_are_listed_in_order_of_their_numbers(store: SessionStore) -> None:
    for number in (10, 2, 1):
        plant_session(store_root(store), id=f"{OWN}-{number}")
    plant_session(store_root(store), 2)
    assert store.ids(connection=OWN) == [f"{OWN}-1", f"{OWN}-2", f"{OWN}-10"]
    assert len(store.ids()) == 4


@pytest.mark.parametrize("odd", ["", ".", "..", "../dev/_meta", OWN, f"{OWN}-0", f"{OWN.upper()}-1", "x" * 300, "\0"])
def test_what_is_no_id_is_no_session_and_nothing_is_opened(store: SessionStore, odd: str) -> None:
    assert store.load(odd) is None


def test_what_died_writing_is_removed_by_the_next_who_starts(store: SessionStore) -> None:
    folder = store_root(store) / "_sessions"
    plant(folder / "tmp-old", at=START - 3601)
    plant(folder / "tmp-new", at=START - 3599)
    with store.locked():
        store.publish(OWN, child)
    assert {name for name in tree_of(folder) if name.startswith("tmp-")} == {"tmp-new"}


def test_a_lock_that_others_hold_for_long_is_told(store: SessionStore) -> None:
    with store.locked(), pytest.raises(ChatError) as caught, SessionStore(workspace_on(store_root(store))).locked():
        pass
    assert caught.value.code == "CHANNEL_BUSY"
