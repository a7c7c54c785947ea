"""A glance counts what `read` would show and `inbox` counts, with what it kept from the last one and without."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_chat.operations import glance as glancing
from agent_chat.operations.glance import Glance
from tests.hooks.glance_room import AUDIT, GlanceRoom, Unread
from tests.support.cli import FaultyFiles, workspace_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIXTURES = Path(__file__).parents[1] / "fixtures" / "other-program"


@pytest.fixture(autouse=True)
def everything_is_worth_keeping() -> Iterator[None]:
    """Makes a glance keep what it counted in rooms as small as these."""
    with patch.object(glancing, "WORTH_KEEPING", 0):
        yield


@pytest.fixture
def room(tmp_path: Path) -> GlanceRoom:
    """A room of one channel."""
    return GlanceRoom(tmp_path / "root")


def agreed(room: GlanceRoom, agent: str = "bob") -> dict[str, Unread]:
    """What a glance sees by what it kept, and again from nothing; both are what is there."""
    wanted = room.wanted(agent)
    assert room.seen(agent) == wanted
    assert room.seen(agent) == wanted
    hooks = room.root / "_hooks"
    hooks.rename(room.root / "_kept")
    assert room.seen(agent) == wanted
    shutil.rmtree(hooks, ignore_errors=True)
    (room.root / "_kept").rename(hooks)
    return wanted


# -- what counts -------------------------------------------------------------------------------------------------------


def test_nothing_is_nothing(room: GlanceRoom, tmp_path: Path) -> None:
    assert agreed(room) == {}
    assert glancing.glance(workspace_on(tmp_path / "nowhere"), "bob") == Glance(counts=(), failures=())


def test_what_is_for_others_or_ones_own_or_audit_does_not_count(room: GlanceRoom) -> None:
    room.post("alice")
    room.post("carol", to="bob,alice")
    room.post("alice", to="carol")
    room.post("bob")
    room.plant(5, "carol", status=AUDIT)
    room.plant(6, "zed", mentions="[bob]", to="[carol]")
    assert agreed(room) == {"dev": Unread(3, ("alice", "carol", "zed"))}
    assert agreed(room, "carol") == {"dev": Unread(4, ("alice", "bob", "zed"))}


def test_the_cursor_counts_and_a_cursor_that_goes_back_counts_again(room: GlanceRoom) -> None:
    room.post("alice", count=5)
    room.read(limit=3)
    assert agreed(room) == {"dev": Unread(2, ("alice",))}
    room.read()
    assert agreed(room) == {}
    room.reset(1)
    assert agreed(room) == {"dev": Unread(4, ("alice",))}


def test_every_channel_counts_by_itself(tmp_path: Path) -> None:
    room = GlanceRoom(tmp_path / "root", "dev", "ops", "Team-Ї")
    room.post("alice")
    room.post("carol", channel="Team-Ї", count=2)
    assert agreed(room) == {"dev": Unread(1, ("alice",)), "Team-Ї": Unread(2, ("carol",))}
    assert set(room.seen(only=frozenset(("team-ї", "nowhere")))) == {"Team-Ї"}
    assert room.glance(only=frozenset()).counts == ()


def test_a_closed_channel_counts_for_its_members_alone_however_they_are_spelled(room: GlanceRoom) -> None:
    room.make("closed", members="Bob,alice")
    room.post("alice", channel="closed")
    assert agreed(room) == {"closed": Unread(1, ("alice",))}
    assert agreed(room, "carol") == {}


def test_what_arrives_below_the_cursor_counts_as_late(room: GlanceRoom) -> None:
    room.post("alice", count=3)
    room.read()
    room.plant(2, "zed")
    assert agreed(room) == {"dev": Unread(0, (), 1)}
    room.plant(1, "carol", status=AUDIT)
    room.post("alice")
    assert agreed(room) == {"dev": Unread(1, ("alice",), 2)}
    room.read()
    assert agreed(room) == {}


def test_what_arrives_late_for_others_does_not_count(room: GlanceRoom) -> None:
    room.post("alice", count=3)
    room.read()
    room.plant(2, "zed", to="[carol]")
    assert agreed(room) == {}


def test_a_message_that_got_another_number_counts_once(room: GlanceRoom) -> None:
    room.post("alice", count=3)
    room.read()
    room.plant(2, "zed")
    assert agreed(room) == {"dev": Unread(0, (), 1)}
    (room.root / "dev" / "0002-zed-m.md").unlink()
    room.plant(4, "zed", was="2")
    assert agreed(room) == {"dev": Unread(1, ("zed",))}


def test_files_of_one_number_count_each_and_copies_do_not(room: GlanceRoom) -> None:
    room.plant(1, "alice")
    room.plant(1, "carol")
    room.plant(1, "alice", name="0001-copy-of-it.md")
    room.plant(2, "alice", name="0002-alice-m.sync-conflict-x.md")
    assert agreed(room) == {"dev": Unread(2, ("alice", "carol"))}


def test_a_file_that_is_no_message_does_not_count(room: GlanceRoom) -> None:
    room.post("alice")
    path = room.root / "dev" / "0002-alice-m.md"
    path.write_bytes(b"\xff no message")
    (room.root / "dev" / "0003-alice-m.md").mkdir()
    room.settle()
    room.post("alice")
    assert agreed(room) == {"dev": Unread(2, ("alice",))}


def test_a_channel_that_was_made_anew_is_another_one(room: GlanceRoom) -> None:
    room.post("alice", count=4)
    room.read(limit=2)
    assert agreed(room) == {"dev": Unread(2, ("alice",))}
    room.remake()
    assert agreed(room) == {}
    room.post("carol", count=4)
    assert agreed(room) == {"dev": Unread(4, ("carol",))}


def test_a_channel_that_went_and_one_that_came_are_noticed(room: GlanceRoom) -> None:
    room.post("alice")
    assert agreed(room) == {"dev": Unread(1, ("alice",))}
    room.make("ops")
    room.post("carol", channel="ops")
    shutil.rmtree(room.root / "dev")
    room.settle()
    assert agreed(room) == {"ops": Unread(1, ("carol",))}


def test_a_message_that_went_does_not_count_any_more(room: GlanceRoom) -> None:
    room.post("alice", count=3)
    assert agreed(room) == {"dev": Unread(3, ("alice",))}
    next((room.root / "dev").glob("0002-*")).unlink()
    room.settle()
    assert agreed(room) == {"dev": Unread(2, ("alice",))}


def test_so_many_senders_are_named(room: GlanceRoom) -> None:
    for number in range(glancing.MAX_SENDERS + 5):
        room.plant(number + 1, f"sender-{number}")
    [count] = room.glance().counts
    assert (count.unread, len(count.senders)) == (glancing.MAX_SENDERS + 5, glancing.MAX_SENDERS)


def test_channels_of_another_program_are_read_as_they_are(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES, tmp_path / "root")
    room = GlanceRoom(tmp_path / "root", "dev")
    assert agreed(room, "ben") == {
        "garden": Unread(3, ("ada", "cleo")),
        "review": room.wanted("ben")["review"],
    }


# -- what is on its way ------------------------------------------------------------------------------------------------


def test_what_comes_after_an_unfinished_message_waits_with_it_and_is_seen_when_it_is_whole(room: GlanceRoom) -> None:
    room.post("alice", count=3)
    path = next((room.root / "dev").glob("0002-*"))
    whole = room.tear(path)
    room.clock.turn(-20.0 + 11.0)  # a second after it was torn
    assert agreed(room) == {"dev": Unread(1, ("alice",))}
    path.write_bytes(whole)  # in place: the times of the folder stay
    room.settle()
    assert agreed(room) == {"dev": Unread(3, ("alice",))}


def test_an_unfinished_end_is_not_believed_although_the_folder_stays_as_it_is(room: GlanceRoom) -> None:
    """The writer takes longer than a folder needs to settle, and finishes in place."""
    room.post("alice", count=2)
    path = next((room.root / "dev").glob("0002-*"))
    whole = room.tear(path)
    for _ in range(2):
        room.clock.turn(-9.0)
        assert room.seen() == room.wanted() == {"dev": Unread(1, ("alice",))}
        path.write_bytes(whole[:-1])
        room.settle()
    path.write_bytes(whole)
    room.settle()
    assert agreed(room) == {"dev": Unread(2, ("alice",))}


def test_what_stays_torn_is_passed_over_in_the_end(room: GlanceRoom) -> None:
    room.post("alice", count=3)
    room.tear(next((room.root / "dev").glob("0002-*")))
    assert agreed(room) == {"dev": Unread(2, ("alice",))}


# -- what cannot be looked at ------------------------------------------------------------------------------------------


def damage(name: str, data: bytes) -> Callable[[GlanceRoom], None]:
    def act(room: GlanceRoom) -> None:
        (room.root / "dev" / name).parent.mkdir(exist_ok=True)
        (room.root / "dev" / name).write_bytes(data)
        room.settle()

    return act


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (damage("_meta.json", b"{"), "CHANNEL_DAMAGED"),
        (damage("_meta.json", b""), "CHANNEL_DAMAGED"),
        (damage("_meta.json", b'{"schema_version": 99}'), "CHANNEL_VERSION"),
        (damage(".cursors/bob.txt", b"many"), "CURSOR_INVALID"),
        (damage(".cursors/bob.txt", b""), "CURSOR_INVALID"),
    ],
    ids=["meta", "empty meta", "later meta", "cursor", "empty cursor"],
)
def test_a_damaged_channel_is_told_and_hides_no_other(
    room: GlanceRoom, act: Callable[[GlanceRoom], None], code: str
) -> None:
    room.make("ops")
    room.post("carol", channel="ops")
    room.post("alice")
    act(room)
    for _ in range(2):
        found = room.glance()
        assert [(name, getattr(error, "code", "")) for name, error in found.failures] == [("dev", code)]
        assert [(count.channel, count.unread) for count in found.counts] == [("ops", 1)]


@pytest.mark.parametrize("only", ["list_folder", "status", "read_file"])
def test_a_channel_that_the_disk_does_not_give_is_told_and_hides_no_other(room: GlanceRoom, only: str) -> None:
    room.make("ops")
    room.post("carol", channel="ops")
    room.post("alice")
    files = FaultyFiles(str(room.root), room.clock, at=1, code=errno.EIO, only=(only,), where="/dev", forever=True)
    found = glancing.glance(workspace_on(room.root, clock=room.clock, files=files), "bob")
    assert [name for name, error in found.failures if getattr(error, "errno", 0) == errno.EIO] == ["dev"]
    assert [count.channel for count in found.counts] == ["ops"]


def test_a_failure_is_forgotten_once_it_is_over(room: GlanceRoom) -> None:
    room.post("alice")
    meta = room.root / "dev" / "_meta.json"
    whole = meta.read_bytes()
    meta.write_bytes(b"{")
    room.settle()
    assert room.glance().failures
    meta.write_bytes(whole)
    room.settle()
    assert agreed(room) == {"dev": Unread(1, ("alice",))}


def test_a_file_or_a_link_among_the_channels_is_none(room: GlanceRoom) -> None:
    room.post("alice")
    (room.root / "file").write_bytes(b"x")
    (room.root / "empty").mkdir()
    (room.root / "linked").symlink_to(room.root / "dev")
    room.settle()
    assert agreed(room) == {"dev": Unread(1, ("alice",))}
    assert room.glance().failures == ()


# -- whatever happens in a row -----------------------------------------------------------------------------------------

CHANNELS = ("dev", "ops")
AGENTS = st.sampled_from(["alice", "bob", "carol"])
FIELDS: list[dict[str, str]] = [{}, {"status": AUDIT}, {"to": "[bob]"}, {"was": "1"}, {"mentions": "[bob]"}]
# What is edited in place is noticed at the next change of its folder, so no step does that.
STEPS = st.one_of(
    st.tuples(st.just("post"), AGENTS, st.none()),
    st.tuples(st.just("post"), st.just("alice"), st.sampled_from(["bob", "carol", "bob,carol"])),
    st.tuples(st.just("plant"), st.integers(-3, 2), AGENTS, st.sampled_from(FIELDS)),
    st.tuples(st.just("read"), st.sampled_from([1, 2, 50])),
    st.tuples(st.just("reset"), st.integers(0, 5)),
    st.tuples(st.just("remove"), st.integers(0, 9)),
    st.tuples(st.just("half")),
    st.tuples(st.just("remake")),
)


def carry_out(room: GlanceRoom, channel: str, step: tuple[Any, ...]) -> None:
    """Does one step in a channel."""
    files = sorted((room.root / channel).glob("0*.md"))
    highest = max((int(path.name[:4]) for path in files), default=0)
    if step[0] == "post":
        room.post(step[1], to=step[2], channel=channel)
    elif step[0] == "plant":
        seq = max(highest + step[1], 1)
        name = f"{seq:04d}-{step[2]}-by-hand-{len(files)}-{step[1] + 3}.md"
        if name not in [path.name for path in files]:
            room.plant(seq, step[2], channel=channel, name=name, **step[3])
    elif step[0] == "read":
        room.read(limit=step[1], channel=channel)
    elif step[0] == "reset":
        room.reset(step[1], channel=channel)
    elif step[0] == "remake":
        room.remake(channel)
    elif step[0] == "half":
        (room.root / channel / f"{highest + 1:04d}-carol-half-{len(files)}.md").write_bytes(b"---\nseq: ")
        room.settle()
    elif files:
        files[step[1] % len(files)].unlink()
        room.settle()


@settings(max_examples=max(settings().max_examples // 5, 1))
@given(st.lists(st.tuples(st.sampled_from(CHANNELS), STEPS), max_size=12))
def test_a_glance_is_right_whatever_happened_since_the_last_one(steps: list[tuple[str, tuple[Any, ...]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        room = GlanceRoom(Path(folder) / "root", *CHANNELS)
        for channel, step in steps:
            carry_out(room, channel, step)
            assert room.seen() == room.wanted()
        agreed(room)
