"""Topics at the command line: which are allowed, and how replies inherit them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.roots import Root, make_root

if TYPE_CHECKING:
    from pathlib import Path


# Letters and digits all of them, but not those of a topic.
FOREIGN = ("\u00e4", "\uff41", "\u0663", "\u0442\u0435\u043c\u0430")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return make_root(tmp_path / "root")


def post(root: Root, *arguments: str) -> int:
    done = root.run("post", "dev", "--from", "alice", "--title", "t", *arguments, "--json")
    return 0 if done.status else int(done.json["seq"])


def topic_of(root: Root, seq: int) -> str | None:
    found = root.must("show", "dev", str(seq), "--json").json["message"].get("topic")
    return None if found is None else str(found)


@pytest.mark.parametrize(
    "topic", ["a", "0", "a" * 100, "a.b_c/d-e", "0-9", "a..", "a//b", "release/1.2", "a-", "x" + "-" * 99]
)
def test_a_topic_that_is_allowed_is_kept_as_it_is(root: Root, topic: str) -> None:
    assert topic_of(root, post(root, "--topic", topic)) == topic
    assert root.titles("bob", "--skip-topic", topic) == []


@pytest.mark.parametrize(
    "topic",
    ["", "a" * 101, "A", "aB", ".a", "_a", "/a", "-a", "a\n", "\na", "a b", "a\t", "a\0", "a,b", "#a", *FOREIGN],
)
@pytest.mark.parametrize("command", ["post", "read", "wait", "watch"])
def test_any_other_is_refused(root: Root, topic: str, command: str) -> None:
    calls = {
        "post": ("post", "dev", "--from", "alice", "--title", "t", "--topic", topic),
        "read": ("read", "dev", "--as", "bob", "--skip-topic", topic),
        "wait": ("wait", "dev", "--as", "bob", "--timeout", "0", "--skip-topic", topic),
        "watch": ("watch", "dev", "--as", "bob", "--timeout", "0", "--skip-topic", topic),
    }
    done = root.run(*calls[command], "--json")
    assert (done.status, done.json["error"]["code"]) == (2, "MESSAGE_INVALID")
    assert not list(root.channel().glob("0*.md"))


def test_replies_inherit_the_topic_at_any_depth(root: Root) -> None:
    seq = post(root, "--topic", "ci")
    for _ in range(6):
        seq = post(root, "--reply", str(seq))
        assert topic_of(root, seq) == "ci"
    assert post(root, "--reply", str(seq), "--topic", "ci") == seq + 1
    refused = root.run("post", "dev", "--from", "alice", "--title", "t", "--reply", "1", "--topic", "other", "--json")
    assert refused.json["error"]["code"] == "MESSAGE_TOPIC_MISMATCH"
    assert root.titles("bob", "--skip-topic", "ci") == []


def test_without_a_topic_it_is_general(root: Root) -> None:
    plain = post(root)
    assert topic_of(root, plain) is None
    assert post(root, "--reply", str(plain), "--topic", "general") == plain + 1
    assert post(root, "--reply", str(plain), "--topic", "ci") == 0
    said = post(root, "--topic", "general")
    assert post(root, "--reply", str(said)) == said + 1
    assert root.titles("bob", "--skip-topic", "general") == []


@pytest.mark.parametrize("name", ["", "a b", "..", "x/y", "con"])
def test_a_sender_that_can_be_nobody_is_refused(root: Root, name: str) -> None:
    done = root.run("read", "dev", "--as", "bob", "--skip-from", name, "--json")
    assert (done.status, done.json["error"]["code"]) == (2, "AGENT_INVALID")


def test_a_read_of_skipped_messages_alone_says_so_and_ends(root: Root) -> None:
    post(root, "--topic", "ci")
    done = root.must("read", "dev", "--as", "bob", "--skip-topic", "ci")
    assert done.out == "nothing new for bob in dev (at #1, 1 skipped)\n"
    assert root.cursor() == 1
    assert root.must("read", "dev", "--as", "bob").out == "nothing new for bob in dev (at #1)\n"
