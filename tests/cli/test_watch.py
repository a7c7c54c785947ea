"""watch: messages as they arrive, each on a line of its own with --json; the cursor moves as read moves it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import message_file, plant
from tests.support.roots import Root

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.processes import Done

WATCH = ("watch", "dev", "--as", "bob", "--timeout", "0")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = Root(tmp_path / "root")
    made.must("init", "dev")
    return made


def lines(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def titles(done: Done) -> list[str]:
    return [line["title"] for line in lines(done)]


def test_each_message_is_a_line_and_read_goes_on_behind_it(root: Root) -> None:
    root.post("one")
    root.post("two")
    done = root.must(*WATCH, "--json")
    assert titles(done) == ["one", "two"]
    assert {line["channel"] for line in lines(done)} == {"dev"}
    assert root.titles("bob") == []
    root.post("three")
    assert titles(root.must(*WATCH, "--json")) == ["three"]


def test_as_text_it_shows_what_read_shows(root: Root) -> None:
    root.post("one", body="text")
    peeked = root.must("read", "dev", "--as", "bob", "--peek").out
    assert root.must(*WATCH).out == peeked


def test_after_leaves_the_cursor_alone(root: Root) -> None:
    for title in ("one", "two", "three"):
        root.post(title)
    for seconds in ("0", "0.5"):  # in one round, and in several
        done = root.must("watch", "dev", "--as", "bob", "--timeout", seconds, "--json", "--after", "1")
        assert titles(done) == ["two", "three"]
    assert root.titles("bob") == ["one", "two", "three"]


def test_after_goes_with_one_channel(root: Root) -> None:
    root.must("init", "ops")
    for channels in ((), ("dev", "ops")):
        assert root.run("watch", *channels, "--as", "bob", "--after", "0", "--json").json["error"]["code"] == "USAGE"


def test_more_than_a_page_comes_page_after_page(root: Root) -> None:
    for seq in range(1, 131):
        (root.path / "dev" / f"{seq:04d}-alice-m.md").write_bytes(message_file(seq, "alice", f"m{seq}"))
    done = root.must("watch", "dev", "--as", "bob", "--timeout", "1", "--json")
    assert titles(done) == [f"m{seq}" for seq in range(1, 131)]


def test_without_a_channel_all_are_watched_that_are_open(root: Root) -> None:
    root.must("init", "ops")
    root.must("init", "closed", "--members", "alice,carol")
    for channel in ("dev", "ops", "closed"):
        root.post(f"in {channel}", channel=channel)
    done = root.must("watch", "--as", "bob", "--timeout", "0", "--json")
    assert sorted(titles(done)) == ["in dev", "in ops"]


def test_a_damaged_channel_is_told_of_and_hides_no_other(root: Root) -> None:
    plant(root.path / "bad" / "_meta.json", "{")
    root.post("one")
    done = root.run("watch", "--as", "bob", "--timeout", "0", "--json")
    told = [line for line in lines(done) if "warnings" in line]
    assert [line["title"] for line in lines(done) if "title" in line] == ["one"]
    assert [line["channel"] for line in told] == ["bad"]
    assert done.status == 0


def test_a_channel_that_is_named_and_gone_is_an_error(root: Root) -> None:
    shutil.rmtree(root.path / "dev")
    assert root.run(*WATCH, "--json").json["error"]["code"] == "CHANNEL_NOT_FOUND"


def test_what_is_skipped_is_passed_over(root: Root) -> None:
    root.must("post", "dev", "--from", "alice", "--title", "build", "--topic", "ci")
    root.post("real")
    assert titles(root.must(*WATCH, "--json", "--skip-topic", "ci")) == ["real"]
    assert root.titles("bob") == []


def test_a_cursor_that_cannot_be_stored_hides_no_other_channel(root: Root) -> None:
    root.must("init", "ops")
    for channel in ("dev", "ops"):
        root.post(f"in {channel}", channel=channel)
    (root.path / "dev" / ".cursors" / "bob.txt").mkdir(parents=True)
    done = root.run("watch", "--as", "bob", "--timeout", "6", "--json")
    told = [line for line in lines(done) if "warnings" in line]
    assert [line["title"] for line in lines(done) if "title" in line].count("in ops") == 1
    assert {line["channel"] for line in told} == {"dev"}
    assert len(told) == 1


@pytest.mark.parametrize("command", ["wait", "watch"])
def test_what_is_skipped_alone_is_passed_over(root: Root, command: str) -> None:
    root.must("post", "dev", "--from", "bot", "--title", "build", "--topic", "ci")
    root.must("post", "dev", "--from", "bob", "--title", "own")
    done = root.run(command, "dev", "--as", "bob", "--timeout", "0", "--skip-topic", "ci", "--json")
    if command == "wait":
        assert (done.status, done.json["cursor"], done.json["next_after"]) == (1, 2, 2)
    assert root.must("inbox", "--as", "bob", "--json").json["channels"] == []
    assert root.titles("bob") == []


def test_what_no_wait_shows_is_not_passed_over(root: Root) -> None:
    root.must("task", "create", "dev", "t-1", "--from", "alice", "--title", "t")
    root.must("post", "dev", "--from", "bot", "--title", "build", "--topic", "ci")
    for _ in range(2):
        done = root.run("wait", "dev", "--as", "bob", "--timeout", "0", "--skip-topic", "ci", "--json")
        assert (done.status, done.json["cursor"]) == (1, 0)
    assert root.titles("bob", "--skip-topic", "ci") == ["task.created t-1"]
    for options in (("--peek",), ("--after", "0")):
        root.must("post", "dev", "--from", "bot", "--title", "again", "--topic", "ci")
        assert root.run("wait", "dev", "--as", "bob", "--timeout", "0", "--skip-topic", "ci", *options).status == 1
        assert root.titles("bob") == ["again"]
