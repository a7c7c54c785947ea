"""Pages: thousands of unread messages of any size come once each, in order, within the bounds of a page."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import message_file
from tests.support.roots import Root

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = 10_000
LIMIT, MAX_BYTES = 50, 24_000
LARGE = 60_000


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Root:
    """A channel of messages from a few bytes to more than a page, in topics and from senders of all kinds."""
    path = tmp_path_factory.mktemp("crowded") / "root"
    root = Root(path)
    root.must("init", "dev")
    sizes = random.Random(1)
    for seq in range(1, MESSAGES + 1):
        size = LARGE if seq % 997 == 0 else sizes.choice((0, 10, 200, 900, 5000))
        sender = "bot" if seq % 5 == 0 else "alice"
        body = f"{seq} " + "x" * size + "\n"
        data = message_file(seq, sender, f"m{seq}", body, topic="ci" if seq % 7 == 0 else "api")
        (path / "dev" / f"{seq:04d}-{sender}-m{seq}.md").write_bytes(data)
    return root


def pages(root: Root, agent: str, *options: str) -> list[dict[str, Any]]:
    """What `read` shows until nothing more is there; a `wait` before each page would end at once."""
    found: list[dict[str, Any]] = []
    while True:
        found.append(root.must("read", "dev", "--as", agent, "--json", *options).json)
        if not found[-1]["has_more"]:
            return found
        assert len(found) <= MESSAGES, "it never ends"


@pytest.mark.slow
@pytest.mark.parametrize("skips", [(), ("--skip-topic", "ci", "--skip-from", "bot")])
def test_each_of_ten_thousand_is_shown_once_in_order(crowded: Root, skips: tuple[str, ...]) -> None:
    agent = f"bob{len(skips)}"
    found = pages(crowded, agent, *skips)
    shown = [message["seq"] for page in found for message in page["messages"]]
    wanted = [seq for seq in range(1, MESSAGES + 1) if not skips or (seq % 5 and seq % 7)]
    assert shown == wanted
    for page in found:
        sizes = [len(message["body"].encode()) for message in page["messages"]]
        assert len(sizes) <= LIMIT
        assert sum(sizes) <= MAX_BYTES or len(sizes) == 1
        assert page["latest_seq"] == MESSAGES
        assert page["cursor"] == page["next_after"]
    assert [page["has_more"] for page in found] == [True] * (len(found) - 1) + [False]
    assert crowded.must("read", "dev", "--as", agent, "--json", *skips).json["messages"] == []


@pytest.mark.slow
def test_a_wait_ends_at_once_while_there_is_more(crowded: Root) -> None:
    seen: list[int] = []
    for _ in range(30):
        reply = crowded.must("wait", "dev", "--as", "carol", "--timeout", "60", "--json", "--limit", "7").json
        assert reply["has_more"]
        assert not reply["timed_out"]
        seen += [message["seq"] for message in reply["messages"]]
    assert seen == list(range(1, len(seen) + 1))


def test_a_page_of_skipped_messages_alone_ends_read_and_wait(tmp_path: Path) -> None:
    root = Root(tmp_path / "root")
    root.must("init", "dev")
    for seq in range(1, 121):
        (root.path / "dev" / f"{seq:04d}-bot-m.md").write_bytes(message_file(seq, "bot", "m", topic="ci"))
    waited = root.run("wait", "dev", "--as", "bob", "--skip-topic", "ci", "--timeout", "0", "--json")
    assert (waited.status, waited.json["timed_out"], waited.json["messages"]) == (1, True, [])
    reply = root.must("read", "dev", "--as", "carol", "--skip-from", "bot", "--json").json
    assert (reply["messages"], reply["skipped"], reply["cursor"], reply["has_more"]) == ([], 120, 120, False)
    everything = root.must("read", "dev", "--as", "carol", "--all", "--after", "0", "--limit", "1000", "--json").json
    assert len(everything["messages"]) == 120
