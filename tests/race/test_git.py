"""A root under git: clones that both post, merges, and checkouts under a reader's feet lose no message in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import Trap, Worker, environment
from tests.support.roots import Root, age_file, make_root, message_text

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
SETTINGS = ("user.name=nobody", "user.email=nobody@example.invalid", "init.defaultBranch=main", "gc.auto=0")


def git(folder: Path, *arguments: str) -> str:
    """Runs git, with no configuration of the machine or the user."""
    options = [word for setting in SETTINGS for word in ("-c", setting)]
    variables = environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
    command = ["git", *options, "-C", str(folder), *arguments]
    done = subprocess.run(command, env=variables, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout.decode()


def commit(root: Root, what: str) -> None:
    git(root.path, "add", "-A")
    git(root.path, "commit", "-q", "-m", what)


@pytest.fixture
def origin(tmp_path: Path) -> Root:
    """A root under git with two messages, which bob has read."""
    root = make_root(tmp_path / "origin")
    root.post("one")
    root.post("two")
    root.titles("bob")
    git(tmp_path, "init", "-q", str(root.path))
    commit(root, "start")
    return root


def clone(origin: Root, name: str) -> Root:
    git(origin.path.parent, "clone", "-q", str(origin.path), name)
    return Root(origin.path.parent / name)


def merge(into: Root, other: Root) -> None:
    git(into.path, "pull", "-q", "--no-rebase", "--no-edit", str(other.path), "main")


def two_clones_that_posted(origin: Root) -> tuple[Root, Root]:
    """Two clones with two messages each under the numbers 3 and 4."""
    left, right = clone(origin, "left"), clone(origin, "right")
    for root, sender in ((left, "alice"), (right, "zoe")):
        root.post("first", sender=sender)
        root.post("second", sender=sender)
    return left, right


def test_git_tracks_messages_and_leaves_alone_what_belongs_to_one_machine(origin: Root) -> None:
    assert git(origin.path, "ls-files").split() == [
        ".gitattributes",
        ".gitignore",
        "dev/0001-alice-one.md",
        "dev/0002-alice-two.md",
        "dev/_meta.json",
    ]
    (origin.channel() / ".cache" / "tmp-1").touch()
    assert sorted(git(origin.path, "status", "--porcelain", "--ignored").splitlines()) == [
        "!! .lock",
        "!! dev/.cache/",
        "!! dev/.cursors/",
        "!! dev/.lock",
    ]


def test_a_fresh_clone_reads_posts_and_is_healthy(origin: Root) -> None:
    copy = clone(origin, "copy")
    assert copy.doctor() == {}
    assert copy.titles("bob") == ["one", "two"]
    assert copy.post("three") == 3
    assert copy.doctor() == {}


def test_messages_of_one_number_are_delivered_together(origin: Root) -> None:
    left, right = two_clones_that_posted(origin)
    commit(left, "left")
    commit(right, "right")
    merge(left, right)
    page = left.must("read", "dev", "--as", "carol", "--json", "--limit", "3").json
    assert [message["seq"] for message in page["messages"]] == [1, 2]
    page = left.must("read", "dev", "--as", "carol", "--json", "--limit", "3").json
    assert [message["file"] for message in page["messages"]] == ["0003-alice-first.md", "0003-zoe-first.md"]
    text = left.must("read", "dev", "--as", "carol").out
    assert [line.split(" | ")[-1] for line in text.splitlines() if line.startswith("#")] == [
        "post dev --reply 0004-alice-second.md",
        "post dev --reply 0004-zoe-second.md",
    ]
    refused = left.run("post", "dev", "--from", "bob", "--title", "answer", "--reply", "3", "--json")
    assert (refused.status, refused.json["error"]["code"]) == (2, "MESSAGE_AMBIGUOUS")
    assert refused.json["error"]["files"] == ["0003-alice-first.md", "0003-zoe-first.md"]
    left.must("post", "dev", "--from", "bob", "--title", "answer", "--reply", "0003-zoe-first.md")
    assert left.must("show", "dev", "0003-zoe-first.md", "--json").json["message"]["from"] == "zoe"


def test_what_a_merge_brings_below_a_cursor_is_announced_once_by_name_and_delivered_after_a_repair(
    origin: Root,
) -> None:
    left, right = two_clones_that_posted(origin)
    left.titles("bob")
    left.titles("carol")
    commit(left, "left")
    commit(right, "right")
    merge(left, right)
    late = ["0003-zoe-first.md", "0004-zoe-second.md"]
    assert left.read("bob")["late"] == late
    text = left.must("read", "dev", "--as", "carol").out
    assert text == f"late: arrived below the cursor: {', '.join(late)}; agent-chat show dev FILE\n"
    for agent in ("bob", "carol"):
        again = left.read(agent)
        assert again["messages"] == []
        assert "late" not in again

    found = left.doctor()
    assert {name: sorted(each["id"] for each in findings) for name, findings in found.items()} == {
        name: ["message.late", "message.unique"] for name in late
    }
    assert all("doctor dev --fix" in each["remedy"] for findings in found.values() for each in findings)

    left.run("doctor", "dev", "--fix")
    assert left.doctor() == {}
    assert sorted(path.name for path in left.channel().glob("0*.md"))[2:] == [
        "0003-alice-first.md",
        "0004-alice-second.md",
        "0005-zoe-first.md",
        "0006-zoe-second.md",
    ]
    assert "\nwas: 3\n" in (left.channel() / "0005-zoe-first.md").read_text()
    for agent in ("bob", "carol"):
        assert [message["file"] for message in left.read(agent)["messages"]] == [
            "0005-zoe-first.md",
            "0006-zoe-second.md",
        ]
    # The repair goes back to the other clone as a commit like any other.
    commit(left, "repair")
    merge(right, left)
    assert right.doctor() == {}
    assert right.titles("dave") == ["one", "two", "first", "second", "first", "second"]


@pytest.mark.slow
def test_a_wait_ends_for_what_a_merge_brings_below_the_cursor(origin: Root) -> None:
    left, right = two_clones_that_posted(origin)
    left.titles("bob")
    commit(left, "left")
    commit(right, "right")
    with Worker(left.path) as waiter:
        waiter.give("wait", "dev", "--as", "bob", "--timeout", "20", "--interval", "0.05", "--json")
        time.sleep(0.1)
        merge(left, right)
        seen = waiter.take().json
        # A checkout brings one file after the other: what was still missing is announced by the next call.
        late = [*seen["late"], *left.read("bob").get("late", [])]
    assert late == ["0003-zoe-first.md", "0004-zoe-second.md"]


@pytest.mark.slow
def test_a_repair_that_was_killed_half_way_is_finished_by_the_next(origin: Root) -> None:
    left, right = two_clones_that_posted(origin)
    commit(left, "left")
    commit(right, "right")
    merge(left, right)
    with Worker(left.path, Trap("remove", "0003-zoe-first.md")) as fixer:
        fixer.give("doctor", "dev", "--fix", "--json")
        fixer.wait_until_stopped()
        fixer.kill()
    left.run("doctor", "dev", "--fix")
    assert left.doctor() == {}
    assert left.titles("carol") == ["one", "two", "first", "second", "first", "second"]


def branches(root: Root, count: int, body: str) -> dict[str, list[str]]:
    """Makes two branches with `count` messages of their own each, and returns their files by branch."""
    found: dict[str, list[str]] = {}
    for branch, sender in (("red", "alice"), ("blue", "zoe")):
        git(root.path, "checkout", "-q", "-b", branch, "main")
        for number in range(count):
            root.post(f"{branch} {number}", sender=sender, body=f"{branch} {number}\n{body}end\n")
        commit(root, branch)
        found[branch] = sorted(path.name for path in root.channel().glob(f"*-{sender}-{branch}-*.md"))
    assert all(len(files) == count for files in found.values())
    return found


def test_sets_of_messages_that_change_places_below_a_cursor_are_noticed(origin: Root) -> None:
    files = branches(origin, 3, "")
    assert [message["file"] for message in origin.read()["messages"]] == files["blue"]
    git(origin.path, "checkout", "-q", "red")
    assert origin.read()["late"] == files["red"]
    assert "late" not in origin.read()


def test_sets_that_change_places_between_a_look_and_the_storing_of_the_cursor_are_noticed(origin: Root) -> None:
    files = branches(origin, 3, "")
    with Worker(origin.path, Trap("open_lock", "bob.lock")) as slow:
        slow.give("read", "dev", "--as", "bob", "--json")
        slow.wait_until_stopped()
        git(origin.path, "checkout", "-q", "red")
        slow.resume()
        assert [message["file"] for message in slow.take().json["messages"]] == files["blue"]
    assert origin.read().get("late") == files["red"]


def test_a_young_file_that_ends_with_a_page_may_still_grow(origin: Root) -> None:
    """A checkout writes into the file that it made, and a cut after any line is a message as well."""
    whole = message_text(3, "zoe", "large", "0123456789\n" * 2000)
    start = len(message_text(3, "zoe", "large", ""))
    half = whole[: start + (8192 - start) // 11 * 11]
    half += "\n" * (8192 - len(half))
    path = origin.plant("0003-zoe-x.md", half, age=0)
    assert origin.read("bob")["held"].startswith("0003-zoe-x.md: ")
    age_file(path, 3)
    assert origin.titles("bob", "--peek") == ["large"]
    origin.plant("0003-zoe-x.md", whole, age=0)
    assert [message["body"] for message in origin.read("bob")["messages"]] == ["0123456789\n" * 2000]


def watch(root: Root, over: threading.Event, reader: Worker) -> list[dict[str, Any]]:
    """Reads in a loop until the checkouts have ended, and then what is left."""
    replies: list[dict[str, Any]] = []
    while True:
        last = over.is_set()
        done = reader.call("read", "dev", "--as", "bob", "--json")
        assert done.status == 0, done
        replies.append(done.json)
        if last and not done.json["has_more"]:
            return replies


def check_nothing_is_lost(origin: Root, rounds: int, count: int) -> None:
    """Checks out two branches in turn beside a reader, and counts what it was shown or told."""
    body = "0123456789\n" * 28_000
    files = branches(origin, count, body)
    over = threading.Event()

    def change() -> None:
        try:
            for number in range(rounds):
                git(origin.path, "checkout", "-q", ("red", "blue")[number % 2])
                time.sleep(0.03)
        finally:
            over.set()

    with Worker(origin.path) as reader:
        changer = threading.Thread(target=change)
        changer.start()
        replies = watch(origin, over, reader)
        changer.join()
        replies += watch(origin, over, reader)
    told: set[str] = set()
    for reply in replies:
        told |= set(reply.get("late", ()))
        for message in reply["messages"]:
            told.add(message["file"])
            if message["seq"] > 2:
                assert message["body"] == f"{message['title']}\n{body}end\n"
    for branch in ("red", "blue"):
        assert set(files[branch]) - told == set()


def test_checkouts_beside_a_reader_lose_no_message_in_silence(origin: Root) -> None:
    check_nothing_is_lost(origin, rounds=6, count=4)


@pytest.mark.slow
def test_many_checkouts_beside_a_reader_lose_no_message_in_silence(origin: Root) -> None:
    check_nothing_is_lost(origin, rounds=40, count=12)
