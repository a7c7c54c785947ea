"""Watch in the test's own process, with a clock that it turns: what is shown and told, and what an idle one costs."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.cli import output
from agent_chat.storage.channel import Channel
from agent_chat.storage.message_store import MessageStore
from tests.support.cli import FakeClock, FaultyFiles, Result, message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from pathlib import Path


class Acting(FakeClock):
    """A clock that does something when it is turned past an instant."""

    def __init__(self) -> None:
        super().__init__()
        self.due: list[tuple[float, Callable[[], object]]] = []

    def at(self, seconds: float, act: Callable[[], object]) -> None:
        self.due.append((self.now() + seconds, act))

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        while self.due and self.due[0][0] <= self.now():
            self.due.pop(0)[1]()


class Room:
    """A root that is watched by bob."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Acting()

    def run(self, *arguments: str, **options: Any) -> Result:
        return run(arguments, self.path, workspace=workspace_on(self.path, clock=self.clock, **options))

    def must(self, *arguments: str) -> Result:
        done = self.run(*arguments)
        assert done.status == 0, done
        return done

    def post(self, title: str, channel: str = "dev", *more: str) -> None:
        self.must("post", channel, "--from", "alice", "--title", title, *more)

    def watch(self, *arguments: str, timeout: float = 20, **options: Any) -> Result:
        return self.run("watch", *arguments, "--as", "bob", "--timeout", str(timeout), **options)

    def cursor(self, channel: str = "dev") -> int:
        return Channel(workspace_on(self.path), channel).cursors.seq("bob")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(tmp_path)
    made.must("init", "dev")
    return made


def titles(done: Result) -> list[str]:
    return [line.split(" | ")[1] for line in done.stdout.splitlines() if line.startswith("#")]


def test_messages_are_shown_as_they_arrive_and_the_cursor_moves(room: Room) -> None:
    room.post("before")
    room.clock.at(1, lambda: room.post("soon"))
    room.clock.at(12, lambda: room.post("later"))
    done = room.watch("dev")
    assert (done.status, titles(done), done.stderr) == (0, ["before", "soon", "later"], "")
    assert room.cursor() == 3
    assert room.watch("dev", timeout=1).stdout == ""


def test_what_does_not_fit_follows_at_once(room: Room) -> None:
    for number in range(7):
        room.post(f"t{number}")
    slept = len(room.clock.slept)
    done = room.watch("dev", "--limit", "2", timeout=0.1)
    assert titles(done) == [f"t{number}" for number in range(7)]
    assert "more:" not in done.stdout
    assert len(room.clock.slept) - slept <= 2


def test_after_shows_from_elsewhere_and_moves_no_cursor(room: Room) -> None:
    for number in range(1, 4):
        room.post(f"t{number}")
    room.clock.at(7, lambda: room.post("t4"))
    done = room.watch("dev", "--after", "1")
    assert (titles(done), room.cursor()) == (["t2", "t3", "t4"], 0)
    for wrong in ((), ("dev", "ops")):
        room.run("init", "ops")
        assert room.watch(*wrong, "--after", "1").code == "USAGE"


def test_all_channels_are_watched_those_that_are_made_meanwhile_too(room: Room) -> None:
    def make() -> None:
        room.must("init", "new")
        room.post("in new", "new")

    room.clock.at(2, make)
    room.clock.at(9, lambda: room.post("in dev"))
    done = room.watch()
    assert done.stdout.splitlines()[0] == "== new"
    assert titles(done) == ["in new", "in dev"]
    assert done.stderr == ""


def test_a_channel_that_is_closed_to_the_agent_is_left_out(room: Room) -> None:
    room.must("init", "closed", "--members", "alice,carol")
    room.post("secret", "closed")
    room.post("open")
    assert titles(room.watch()) == ["open"]
    assert room.watch("closed").code == "AGENT_UNKNOWN"


def test_a_channel_that_is_deleted_meanwhile_ends_no_watch_of_all(room: Room) -> None:
    room.must("init", "gone")
    room.clock.at(2, lambda: shutil.rmtree(room.path / "gone"))
    room.clock.at(9, lambda: room.post("still here"))
    assert titles(room.watch()) == ["still here"]


def test_a_channel_that_is_deleted_ends_a_watch_that_names_it(room: Room) -> None:
    room.must("init", "gone")
    room.clock.at(2, lambda: shutil.rmtree(room.path / "gone"))
    assert room.watch("dev", "gone").code == "CHANNEL_NOT_FOUND"


def test_an_agent_that_is_taken_off_a_closed_channel_sees_no_more(room: Room) -> None:
    room.must("init", "closed", "--members", "alice,bob")
    room.clock.at(2, lambda: room.must("leave", "closed", "--as", "bob"))
    room.clock.at(9, lambda: room.post("secret", "closed"))
    done = room.watch("closed")
    assert (done.stdout, done.code) == ("", "AGENT_UNKNOWN")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "record": lambda folder: (folder / "_meta.json").write_text("{"),
    "cursor": lambda folder: plant(folder / ".cursors" / "bob.txt", "x\n"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_one_that_is_damaged_is_told_of_once_and_the_others_are_watched(room: Room, what: str) -> None:
    room.must("init", "bad")
    room.post("unseen", "bad")
    DAMAGE[what](room.path / "bad")
    room.clock.at(12, lambda: room.post("in dev"))
    slept = len(room.clock.slept)
    done = room.watch(timeout=30)
    assert (done.status, titles(done)) == (0, ["in dev"])
    assert [line[:41] for line in done.stderr.splitlines()] == ["agent-chat: warning: bad is not watched: "[:41]]
    assert len(room.clock.slept) - slept < 30 / 0.2 + 30
    lines = room.watch("--json", timeout=10).stdout.splitlines()
    assert len(lines) == 1
    assert '"channel": "bad"' in lines[0]


def test_one_that_is_mended_is_watched_again(room: Room) -> None:
    room.must("init", "bad")
    room.post("at last", "bad")
    meta = room.path / "bad" / "_meta.json"
    good = meta.read_bytes()
    meta.write_text("{")
    room.clock.at(7, lambda: meta.write_bytes(good))
    assert titles(room.watch()) == ["at last"]


@pytest.mark.parametrize("code", [5, 13])
def test_a_message_that_cannot_be_read_now_ends_a_watch_of_its_channel_and_stays_unread(room: Room, code: int) -> None:
    room.post("one")
    room.post("two")
    room.must("init", "ops")
    room.post("three", "ops")

    def files() -> FaultyFiles:
        return FaultyFiles(
            str(room.path), room.clock, at=1, code=code, only=("read_file",), where="0002-", forever=True
        )

    done = room.watch(files=files(), timeout=12)
    assert (done.status, titles(done), room.cursor()) == (0, ["one", "three"], 1)
    assert done.stderr.count("dev is not watched") == 1
    done = room.watch("dev", files=files(), timeout=12)
    assert (done.status, done.code, room.cursor()) == (2, "IO_ERROR", 1)
    assert titles(room.watch("dev")) == ["two"]


def test_what_is_skipped_is_not_shown_and_passed_over_with_the_next(room: Room) -> None:
    room.post("build", "dev", "--topic", "ci")
    room.clock.at(6, lambda: room.post("help"))
    assert titles(room.watch("dev", "--skip-topic", "ci")) == ["help"]
    assert room.cursor() == 2


def test_an_idle_watch_opens_nothing_twice_and_is_not_busy(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    for seq in range(1, 40):
        plant(room.path / "dev" / f"{seq:04d}-alice-m.md", message_file(seq, to="carol"))
    opened: list[int] = []
    load = MessageStore.load_unit

    def counted(store: MessageStore, seq: int, files: Any) -> Any:
        opened.append(seq)
        return load(store, seq, files)

    monkeypatch.setattr(MessageStore, "load_unit", counted)
    slept = len(room.clock.slept)
    done = room.watch(timeout=120)
    assert (done.stdout, done.stderr) == ("", "")
    assert sorted(opened) == list(range(1, 40))
    assert len(room.clock.slept) - slept <= 120 / 0.2 + 120 / 5 + 1


def test_a_cursor_that_is_past_the_end_is_told_of_once(room: Room) -> None:
    room.post("one")
    plant(room.path / "dev" / ".cursors" / "bob.txt", "9\n")
    done = room.watch("dev")
    assert done.stdout == ""
    assert done.stderr.count("the cursor of bob is at #9") == 1


def test_a_root_without_an_open_channel_is_told_of(room: Room) -> None:
    (room.path / "dev" / "_meta.json").unlink()
    done = room.watch(timeout=11)
    assert done.stderr.count("no channel of root") == 1
    assert room.watch("--json").json["warnings"]
    assert run(("watch", "--as", "bob"), room.path / "nowhere").code == "ROOT_NOT_FOUND"


def test_a_cursor_that_cannot_be_stored_ends_it_and_the_page_comes_again(room: Room) -> None:
    room.post("one")
    files = FaultyFiles(str(room.path), room.clock, at=1, code=28, only=("replace",), where="bob.txt", forever=True)
    done = room.watch("dev", files=files)
    assert (done.status, done.code, titles(done)) == (2, "CURSOR_NOT_STORED", ["one"])
    assert titles(room.watch("dev")) == ["one"]


def test_chat_that_is_switched_off_ends_it_before_more_is_shown(room: Room) -> None:
    def off() -> None:
        plant(room.path / "_owner.json", '{"access": false, "schema_version": 1}')
        plant(room.path / "dev" / "0001-alice-m.md", message_file(1))

    room.clock.at(2, off)
    done = room.watch("dev")
    assert (done.status, done.stdout) == (2, "")
    assert done.code in ("ACCESS_DISABLED", "OWNER_SETTINGS_INVALID")


def test_a_session_that_ended_watches_no_more(room: Room) -> None:
    started = room.must("session", "start", "--as", "bob").stdout
    token = next(iter(re.findall(r"[0-9A-Za-z_-]+\.[0-9A-Za-z_-]{16,}", started)))
    signed = {"AGENT_CHAT_ROOT": str(room.path), "AGENT_CHAT_TOKEN": token}

    def end() -> None:
        run(("session", "end"), environment=signed, workspace=workspace_on(room.path, clock=room.clock))

    room.clock.at(2, end)
    room.clock.at(9, lambda: room.post("too late"))
    workspace = workspace_on(room.path, clock=room.clock)
    done = run(("watch", "dev", "--timeout", "20"), environment=signed, workspace=workspace)
    assert (done.stdout, done.code) == ("", "SESSION_ENDED")


def test_a_reader_that_has_gone_is_noticed_while_nothing_comes(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = iter([False, False, True])
    monkeypatch.setattr(output, "reader_has_gone", lambda: next(gone))
    done = room.watch("dev", timeout=100)
    assert (done.status, done.stderr) == (141, "")
    assert sum(room.clock.slept) < 12
