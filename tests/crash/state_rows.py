"""The rows of the commands on the state of a channel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.crash.row import HOUR, Row, plant
from tests.crash.task_rows import talk, tasks
from tests.support.cli import message_file
from tests.support.workspaces import START

if TYPE_CHECKING:
    from agent_chat.records.message import Message
    from tests.support.staging import Stage
    from tests.support.views import RootView

MANY = 40  # more than are read without a cache


def meaningful(stage: Stage) -> None:
    """Has something for each section: a decision, blockers, evidence, tasks, a claim and a lock."""
    tasks(stage)
    post = ("post", "dev", "--from", "carol", "--title")
    stage.must(*post, "Decision: files", "--body", "They are the state.")
    stage.must(*post, "CI is red", "--status", "blocker")
    stage.must(*post, "No rights", "--status", "blocker")
    stage.must("post", "dev", "--from", "bob", "--title", "Fixed", "--status", "resolved", "--reply", "5")
    stage.must(*post, "Evidence: all pass", "--body", "312 passed")
    stage.must("task", "claim", "dev", "T", "--as", "bob")
    stage.must("lock", "dev", "src/", "--as", "bob")


def summarized(stage: Stage) -> None:
    """Has a summary that is out of date."""
    meaningful(stage)
    stage.must(*COMPACT)
    stage.must("post", "dev", "--from", "alice", "--title", "Decision: another", "--body", "What is later.")


def leftover(stage: Stage) -> None:
    """Has what a writer of a summary left that died two hours ago, and one that was killed just now."""
    meaningful(stage)
    plant(stage, ".state.md.tmp.dead", b"# Sta", at=START - 2 * HOUR)
    plant(stage, ".state.md.tmp.young", b"# Sta", at=START - 1)


def crowded(stage: Stage) -> None:
    """Has so many messages that what they mean is kept in a cache."""
    stage.must("init", "dev")
    for seq in range(1, MANY + 1):
        title = "Decision: one" if seq == MANY // 2 else "talk"
        plant(stage, f"{seq:04d}-alice-m.md", message_file(seq, "alice", title), at=START - HOUR)


def _incomplete(view: RootView, old: RootView, new: RootView) -> bool:
    """A summary of what could not be read in full says so; nothing else is another."""
    channel = view.channels["dev"]
    says = b"\n## Warnings\n" in (channel.summary or b"")
    return says and view == old._replace(channels={"dev": old.channels["dev"]._replace(summary=channel.summary)})


def _written_not_announced(view: RootView, old: RootView, new: RootView) -> bool:
    """The summary is replaced before its message is posted; calling again posts one more."""
    channel, was, will = (each.channels["dev"] for each in (view, old, new))
    more = [item for name, item in channel.messages.items() if name not in was.messages]
    if not was.messages.items() <= channel.messages.items():
        return False
    (audit,) = (item for name, item in will.messages.items() if name not in was.messages)
    if view != old._replace(channels={"dev": was._replace(summary=channel.summary, messages=channel.messages)}):
        return False
    if b"\n## Warnings\n" in (channel.summary or b""):
        return True  # what could not be read is not counted in the message either
    same = all(_without_number(item) == _without_number(audit) for item in more)
    return same and channel.summary == will.summary


def _without_number(item: Message) -> Message:
    return item.replace(seq=0, body=re.sub(r'"last_seq": \d+', "", item.body))


WRITE = ("state", "dev", "--write")
COMPACT = ("compact", "dev", "--as", "bob")

ROWS: tuple[Row, ...] = (
    Row("state, with a cache", ("state", "dev"), crowded),
    Row("state --write, first", WRITE, meaningful, between=_incomplete),
    Row("state --write, over another", WRITE, summarized, between=_incomplete),
    Row("state --write, beside leftovers", WRITE, leftover, between=_incomplete),
    Row("compact, first", COMPACT, meaningful, between=_written_not_announced, settles=False),
    Row("compact, of talk", COMPACT, talk, between=_written_not_announced, settles=False, quick=True),
    Row("compact, over another", COMPACT, summarized, between=_written_not_announced, settles=False),
)
