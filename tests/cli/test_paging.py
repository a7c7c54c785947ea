"""Paging: ten thousand unread messages come page by page, each once, in order, within the bounds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import message_file
from tests.support.roots import Root, make_root

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 10_000
LARGEST = 30_000


def planted(path: Path, count: int) -> Root:
    """A channel of messages of mixed size, every seventh not for bob, some larger than a page."""
    root = make_root(path)
    for seq in range(1, count + 1):
        body = "x" * (LARGEST if seq % 997 == 0 else seq * 37 % 900) + "\n"
        fields = {"to": "carol"} if seq % 7 == 0 else {}
        (root.channel() / f"{seq:04d}-alice-m.md").write_bytes(message_file(seq, body=body, **fields))
    return root


def pages(root: Root, command: tuple[str, ...], *, wanted: int) -> list[list[dict[str, Any]]]:
    """Calls a command until it says that no more follows, and checks what each page says of itself."""
    found: list[list[dict[str, Any]]] = []
    while True:
        reply = root.must(*command, "dev", "--as", "bob", "--json").json
        messages = reply["messages"]
        found.append(messages)
        assert messages, "a page of nothing while more follows"
        assert len(messages) <= 50
        assert len(messages) == 1 or sum(len(each["body"]) for each in messages) <= 24_000
        assert reply["cursor"] == reply["next_after"] == root.cursor()
        assert reply["next_after"] >= messages[-1]["seq"]
        assert reply["latest_seq"] == wanted
        if not reply["has_more"]:
            return found


def for_bob(count: int) -> list[int]:
    return [seq for seq in range(1, count + 1) if seq % 7]


@pytest.mark.parametrize("command", [("read",), ("wait", "--timeout", "0")], ids=["read", "wait"])
@pytest.mark.parametrize("count", [400, pytest.param(COUNT, marks=pytest.mark.slow)])
def test_each_comes_once_in_order_within_the_bounds(tmp_path: Path, command: tuple[str, ...], count: int) -> None:
    root = planted(tmp_path / "root", count)
    found = pages(root, command, wanted=count)
    assert [message["seq"] for page in found for message in page] == for_bob(count)
    assert root.cursor() == count
    assert root.titles() == []


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_a_page_of_text_keeps_to_its_bytes(tmp_path: Path, json: tuple[str, ...]) -> None:
    root = planted(tmp_path / "root", 120)
    done = root.must("read", "dev", "--as", "bob", "--max-bytes", "3000", *json)
    assert 0 < len(done.out.encode()) < 3600
    if not json:
        assert done.out.splitlines()[-1].startswith("more: ")


@pytest.mark.slow
def test_a_wait_while_more_follows_returns_at_once(tmp_path: Path) -> None:
    root = planted(tmp_path / "root", COUNT)
    expected = 1
    for _ in range(3):
        began = time.monotonic()
        reply = root.must("wait", "dev", "--as", "bob", "--timeout", "20", "--json").json
        assert time.monotonic() - began < 2
        assert reply["has_more"]
        assert reply["messages"][0]["seq"] == expected
        expected = next(seq for seq in for_bob(COUNT) if seq > reply["next_after"])


@pytest.mark.slow
def test_ten_thousand_that_are_skipped_are_one_page_of_nothing(tmp_path: Path) -> None:
    root = planted(tmp_path / "root", COUNT)
    root.post("at last", sender="carol")
    done = root.must("wait", "dev", "--as", "bob", "--skip-from", "alice", "--timeout", "20", "--json").json
    assert ([each["title"] for each in done["messages"]], done["has_more"]) == (["at last"], False)
    assert (done["skipped"], done["cursor"]) == (len(for_bob(COUNT)), COUNT + 1)
