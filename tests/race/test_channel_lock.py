"""A writer that stops, dies or lingers with the channel's lock: who waits how long, and what is left."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli, Trap, Worker
from tests.support.roots import make_root, tree

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "WUNTRACED"), reason="no SIGSTOP here")
POST = ("post", "dev", "--from", "alice", "--title", "mine", "--json")
# Where the holder stops: before its temporary, before and after the message has its name, before the folder's sync.
PLACES = [
    Trap("write_new", "tmp-"),
    Trap("link", ".md"),
    Trap("link", ".md", after=True),
    Trap("sync_folder", "dev"),
    Trap("sync_folder", "dev", after=True),
]
NAMES = ["before-temporary", "before-link", "after-link", "before-sync", "after-sync"]


@pytest.mark.parametrize(
    "place", [PLACES[1], pytest.param(PLACES[3], marks=pytest.mark.slow)], ids=[NAMES[1], NAMES[3]]
)
def test_a_stopped_holder_makes_others_fail_with_its_id_and_ends_well_when_resumed(tmp_path: Path, place: Trap) -> None:
    root = make_root(tmp_path / "root")
    with Worker(root.path, place) as holder, Worker(root.path, Trap(lock_seconds=0.3)) as other:
        holder.give(*POST)
        holder.wait_until_stopped()
        refused = other.call("post", "dev", "--from", "bob", "--title", "his", "--json")
        error = refused.json["error"]
        assert (refused.status, error["code"], error["kind"]) == (2, "CHANNEL_BUSY", "busy")
        if sys.platform == "linux":
            assert f"process {holder.pid} " in error["message"]
        assert 0.3 <= refused.seconds < 2
        # Readers take no lock.
        assert other.call("read", "dev", "--as", "carol", "--json").seconds < 1
        holder.resume()
        mine = holder.take()
        his = other.call("post", "dev", "--from", "bob", "--title", "his", "--json")
    assert (mine.status, mine.json["seq"], his.status, his.json["seq"]) == (0, 1, 0, 2)
    assert root.doctor("dev") == {}


@pytest.mark.parametrize("place", PLACES, ids=NAMES)
def test_a_killed_holder_frees_the_lock_at_once_and_no_number_is_used_twice(tmp_path: Path, place: Trap) -> None:
    root = make_root(tmp_path / "root")
    root.post("first")
    with Worker(root.path, place) as holder:
        holder.give(*POST)
        holder.wait_until_stopped()
        holder.kill()
    began = time.monotonic()
    seq = root.post("next")
    assert time.monotonic() - began < 1
    messages = root.read("carol")["messages"]
    assert [message["seq"] for message in messages] == list(range(1, seq + 1))
    assert seq == (3 if place.primitive != "write_new" and (place.after or place.primitive == "sync_folder") else 2)
    assert root.titles("dave")[-1] == "next"
    assert root.doctor() == {}


@pytest.mark.slow
def test_a_holder_stopped_for_longer_than_the_time_out_makes_whole_commands_fail_in_ten_seconds(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    cli = Cli(root.path)
    with Worker(root.path, Trap("link", ".md")) as holder:
        holder.give(*POST)
        holder.wait_until_stopped()
        began = time.monotonic()
        others = [cli.start("post", "dev", "--from", name, "--title", name) for name in ("bob", "carol", "dave")]
        found = cli.run("doctor", "dev")
        for other in others:
            out, err = other.communicate(timeout=20)
            line = err.decode().splitlines()[0]
            assert (other.returncode, out) == (2, b"")
            assert line.startswith("agent-chat: CHANNEL_BUSY: dev was locked")
            if sys.platform == "linux":
                assert f"by process {holder.pid} for 10 s" in line
        assert 9.5 < time.monotonic() - began < 12
        assert found.status == 1
        assert "channel.lock" in found.out
        holder.resume()
        assert holder.take().json["seq"] == 1
    assert root.post("after") == 2
    assert root.doctor() == {}


def test_a_stopped_reader_that_holds_its_cursor_lets_writers_and_other_readers_go_on(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.post("one")
    with Worker(root.path, Trap("replace", "bob.txt")) as reader:
        reader.give("read", "dev", "--as", "bob", "--json")
        reader.wait_until_stopped()
        assert root.post("two") == 2
        assert root.titles("carol") == ["one", "two"]
        reader.resume()
        assert [message["title"] for message in reader.take().json["messages"]] == ["one"]
    assert root.titles("bob") == ["two"]


@pytest.mark.parametrize("content", [b"", b"xx", b"\0" * 300, b'{"pid": 999999}\n'])
def test_what_the_lock_file_holds_does_not_matter(tmp_path: Path, content: bytes) -> None:
    root = make_root(tmp_path / "root")
    root.plant(".lock", content)
    began = time.monotonic()
    assert root.post("one") == 1
    assert time.monotonic() - began < 1


def test_a_lock_file_that_was_deleted_while_it_was_held_does_not_let_two_in(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    with Worker(root.path, Trap("link", ".md")) as holder:
        holder.give(*POST)
        holder.wait_until_stopped()
        (root.channel() / ".lock").unlink()
        # Another lock file, another lock: numbers stay unique all the same, since a name is never replaced.
        assert root.post("his", sender="bob") == 1
        holder.resume()
        mine = holder.take()
    assert mine.status in (0, 2)
    names = [name for name in tree(root.channel()) if name.endswith(".md")]
    assert len(names) == 2 - (mine.status == 2)
    assert len(root.titles("carol")) == len(names)
