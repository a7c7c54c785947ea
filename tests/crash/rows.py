"""The table of what is crashed: a row for each way in which a command changes files. A new command adds rows here.

A row says how its root comes about, what is called, and what may be seen between the old state and the new one. What is
changed through a journal has its rows in `task_rows` and `lock_rows`, the state of a channel in `state_rows`.
"""

from __future__ import annotations

import os
from binascii import crc32
from pathlib import Path
from typing import TYPE_CHECKING

from tests.crash import lock_rows, state_rows, task_rows
from tests.crash.row import HOUR, Row, plant
from tests.support.cli import message_file
from tests.support.tokens import plant_session
from tests.support.workspaces import START

if TYPE_CHECKING:
    from tests.support.staging import Stage
    from tests.support.views import RootView

# Past a term of 14 days, and not past two.
PAST_THE_TERM = 20 * 86_400.0
TEXT = "A sentence that a torn file would break in the middle.\n" * 6


def nothing(stage: Stage) -> None:
    """Leaves the root out altogether."""


def another_channel(stage: Stage) -> None:
    """Makes a root with a channel of another name."""
    stage.must("init", "ops")


def empty_channel(stage: Stage) -> None:
    """Makes a channel without messages."""
    stage.must("init", "dev", "--topic", "what is built")


def closed_channel(stage: Stage) -> None:
    """Makes a channel that knows alice and bob."""
    stage.must("init", "dev", "--members", "alice,bob")


def conversation(stage: Stage) -> None:
    """Makes a channel with three messages, one of them bob's own."""
    empty_channel(stage)
    for sender, title in (("alice", "First"), ("bob", "Second"), ("alice", "Third")):
        stage.must("post", "dev", "--from", sender, "--title", title, "--body", TEXT)


def half_read(stage: Stage) -> None:
    """Adds bob's cursor at the second message."""
    conversation(stage)
    stage.must("ack", "dev", "2", "--as", "bob")


def all_read(stage: Stage) -> None:
    """Adds bob's cursor at the last message."""
    conversation(stage)
    stage.must("read", "dev", "--as", "bob")


def keyed(stage: Stage) -> None:
    """Adds the message that the row with a repeated key posts again."""
    conversation(stage)
    stage.must(*KEYED)


def late_arrival(stage: Stage) -> None:
    """Adds, below bob's cursor and after it was stored, a message that came from elsewhere; and one above it."""
    all_read(stage)
    plant(stage, "0002-carol-late.md", message_file(2, "carol", "Late", TEXT), at=START + 60)
    plant(stage, "0004-carol-new.md", message_file(4, "carol", "New", TEXT), at=START + 60)


def late_unique(stage: Stage) -> None:
    """Leaves a gap below bob's cursor, into which a message comes later on."""
    empty_channel(stage)
    for seq in (1, 3):
        plant(stage, f"{seq:04d}-alice-m.md", message_file(seq, "alice", f"M{seq}", TEXT), at=START - HOUR)
    stage.must("read", "dev", "--as", "bob")
    plant(stage, "0002-carol-late.md", message_file(2, "carol", "Late", TEXT), at=START + 60)


def duplicates(stage: Stage) -> None:
    """Has two messages under one number, as a git merge leaves them."""
    conversation(stage)
    plant(stage, "0003-carol-other.md", message_file(3, "carol", "Other", TEXT), at=START - HOUR)


def stale_temporary(stage: Stage) -> None:
    """Has a temporary whose writer died two hours ago."""
    conversation(stage)
    plant(stage, os.path.join(".cache", "tmp-dead"), b"half of a mess", at=START - 2 * HOUR)


def marker(stage: Stage) -> None:
    """Has a marker that can be claimed."""
    conversation(stage)
    plant(stage, "task-12.md", b"what is to be done\n", at=START - HOUR)


def announced(stage: Stage) -> None:
    """Has two events among other messages, and one that is malformed."""
    conversation(stage)
    stage.must(*ANNOUNCE, "--detail", "writing")
    stage.must("event", "post", "dev", "--from", "bob", "--type", "capability", "--harness", "omp")
    malformed = message_file(6, "carol", body="{", status="event.status")
    plant(stage, "0006-carol-event.md", malformed, at=START - HOUR)


def first_person(stage: Stage) -> None:
    """Has people in it, and nothing that they decided."""
    conversation(stage)
    stage.must("join", "dev", "--as", "carol", "--role", "human")


def peopled(stage: Stage) -> None:
    """Has people in it, and settings of its owner."""
    first_person(stage)
    stage.must("owner", "retention", "90", "--as", "carol")


def two_channels(stage: Stage) -> None:
    """Has another channel with all that a channel can hold, which may be deleted."""
    peopled(stage)
    stage.must("init", "ops")
    stage.must("post", "ops", "--from", "alice", "--title", "First", "--body", TEXT)
    stage.must("read", "ops", "--as", "bob")
    stage.must("task", "create", "ops", "T", "--from", "alice", "--title", "t")
    stage.must("lock", "ops", "a.txt", "--as", "alice")


def leftovers(stage: Stage) -> None:
    """Has what a killed call left of a channel that was deleted."""
    two_channels(stage)
    for name in ("audit", "0001-alice-m.md"):
        path = os.path.join(stage.root, ".deleted-1", name, name)
        os.makedirs(os.path.dirname(path))
        with open(path, "wb") as stream:
            stream.write(b"half of a channel")


def seen_later(stage: Stage) -> None:
    """Has bob come by when the first messages were due."""
    seen = b'{"at": %d, "waits": ""}' % (START + PAST_THE_TERM)
    plant(stage, os.path.join(".cache", "seen-bob"), b"1 %08x\n" % crc32(seen) + seen, at=START)


def owned(stage: Stage, *, stamped: float | None) -> None:
    """Sets a term, and, unless no run of retention was made, the time of the last."""
    with open(os.path.join(stage.root, "_owner.json"), "w", encoding="ascii") as stream:
        stream.write('{"schema_version": 1, "retention_days": 14}')
    if stamped is not None:
        digits = str(int(stamped)).encode()
        head = f"1 {crc32(digits):08x}\n".encode()
        plant(stage, os.path.join(".cache", "retention.stamp"), head + digits, at=START)


def due(stage: Stage) -> None:
    """Has messages that are due after 20 days, of which bob, whose cursor is new, has not read the third."""
    half_read(stage)
    seen_later(stage)
    owned(stage, stamped=START + PAST_THE_TERM)


def pruned(stage: Stage) -> None:
    """Has messages that were removed, one that was kept, and a reply to what was removed."""
    half_read(stage)
    seen_later(stage)
    owned(stage, stamped=None)
    answer = stage.call("prune", "dev", turned=PAST_THE_TERM)
    assert [each["seq"] for each in answer.data["removed"]] == [1, 2]
    stage.must("post", "dev", "--from", "alice", "--title", "Late answer", "--reply", "2", "--key", "k-2")
    owned(stage, stamped=START)


def in_session(stage: Stage) -> None:
    """Has a session of bob that has not ended."""
    conversation(stage)
    stage.token = plant_session(Path(stage.root))


def _started_again(view: RootView, old: RootView, new: RootView) -> bool:
    """Starting a session once more makes another one; the first in a root writes .gitignore before."""
    made = list(new.sessions)
    for each in old.sessions:
        made.remove(each)
    more = list(view.sessions)
    for each in old.sessions:
        more.remove(each)
    return set(more) <= set(made) and view._replace(sessions=(), ignores=True) == old._replace(
        sessions=(), ignores=True
    )


def _only_the_list_of_ignored_files(view: RootView, old: RootView, new: RootView) -> bool:
    """Making the first channel of a root writes .gitignore before the channel is there."""
    return view == old._replace(ignores=True)


def _renamed_but_not_announced(view: RootView, old: RootView, new: RootView) -> bool:
    """A claim whose audit message is missing is completed by its owner's next call."""
    channel = old.channels["dev"]
    claimed = channel._replace(others=new.channels["dev"].others)
    return view == old._replace(channels={**old.channels, "dev": claimed})


def _under_both_numbers(view: RootView, old: RootView, new: RootView) -> bool:
    """A message gets its new number before it loses the old one."""
    both = {**old.channels["dev"].messages, **new.channels["dev"].messages}
    return view == old._replace(channels={**old.channels, "dev": old.channels["dev"]._replace(messages=both)})


def _posted_again(view: RootView, old: RootView, new: RootView) -> bool:
    """A post without a key is posted once more by calling again."""
    was, channel = new.channels["dev"].messages, view.channels["dev"]
    more = [item for name, item in channel.messages.items() if name not in was]
    posted = [item.replace(seq=0) for name, item in was.items() if name not in old.channels["dev"].messages]
    kept = new == view._replace(channels={"dev": channel._replace(messages=was)})
    return kept and was.items() <= channel.messages.items() and [item.replace(seq=0) for item in more] == posted


def _pruned_in_part(view: RootView, old: RootView, new: RootView) -> bool:
    """What is gone has a tombstone and was to go; the rest is as it was."""
    channel, before = view.channels["dev"], old.channels["dev"]
    gone = before.messages.keys() - channel.messages.keys()
    left = {name: item for name, item in before.messages.items() if name not in gone}
    rest = channel._replace(messages=before.messages, removed=before.removed)
    goal = new.channels["dev"]
    told = gone <= channel.removed <= goal.removed
    return told and goal.messages.items() <= left.items() and channel.messages == left and rest == before


def _read_in_part(view: RootView, old: RootView, new: RootView) -> bool:
    """A reader's cursor stops before what could not be read."""
    channel = view.channels["dev"]
    at, start, end = (each.channels["dev"].cursors.get("bob.txt", (0, ()))[0] for each in (view, old, new))
    return start <= at <= end and view == new._replace(
        channels={"dev": new.channels["dev"]._replace(cursors=channel.cursors)}
    )


POST = ("post", "dev", "--from", "alice", "--title", "Hello", "--body", TEXT)
KEYED = (*POST, "--key", "k-1")
INIT = ("init", "dev", "--members", "alice,bob,dave", "--topic", "what is built")
ANNOUNCE = ("event", "post", "dev", "--from", "alice", "--type", "status", "--harness", "omp", "--status", "busy")
DELETE = ("channel", "delete", "ops", "--as", "carol")
START_SESSION = ("session", "start", "--as", "alice", "--name", "desk")
FIX = ("doctor", "dev", "--fix")

ROWS: tuple[Row, ...] = (
    Row(
        "init, first in a root",
        INIT,
        nothing,
        between=_only_the_list_of_ignored_files,
        refusals=("CHANNEL_EXISTS",),
        quick=True,
    ),
    Row("init, second in a root", INIT, another_channel, refusals=("CHANNEL_EXISTS",)),
    Row("join", ("join", "dev", "--as", "carol", "--role", "subordinate"), closed_channel, other="alice"),
    Row("leave", ("leave", "dev", "--as", "bob"), closed_channel, refusals=("AGENT_UNKNOWN",), other="alice"),
    Row("post, first in a channel", POST, empty_channel, between=_posted_again, settles=False, quick=True),
    Row("post, a reply", (*POST, "--reply", "2"), conversation, between=_posted_again, settles=False),
    Row("post, without hard links", POST, conversation, between=_posted_again, settles=False, links=False),
    Row("post, with a key", KEYED, conversation),
    Row("post, with a key that was used", KEYED, keyed),
    Row(
        "read, first time",
        ("read", "dev", "--as", "bob"),
        conversation,
        between=_read_in_part,
        durable=False,
        reader="bob",
        quick=True,
    ),
    Row(
        "read, from a cursor",
        ("read", "dev", "--as", "bob"),
        half_read,
        between=_read_in_part,
        durable=False,
        reader="bob",
    ),
    Row(
        "read, with late arrivals",
        ("read", "dev", "--as", "bob"),
        late_arrival,
        between=_read_in_part,
        durable=False,
        reader="bob",
    ),
    Row(
        "wait, one there",
        ("wait", "dev", "--as", "bob", "--timeout", "0"),
        half_read,
        between=_read_in_part,
        durable=False,
        reader="bob",
    ),
    Row("ack", ("ack", "dev", "2", "--as", "bob"), conversation, durable=False, quick=True),
    Row("ack, back", ("ack", "dev", "--reset", "1", "--as", "bob"), all_read, durable=False),
    Row(
        "claim",
        ("claim", "dev", "task-12.md", "--as", "alice"),
        marker,
        between=_renamed_but_not_announced,
        refusals=("MARKER_CLAIMED",),
        quick=True,
    ),
    Row("event post", ANNOUNCE, conversation, between=_posted_again, settles=False),
    Row("doctor, duplicate", FIX, duplicates, between=_under_both_numbers, keeps_messages=False),
    Row("doctor, late", FIX, late_unique, between=_under_both_numbers, keeps_messages=False),
    Row("doctor, stale temporary", FIX, stale_temporary),
    Row("watch", ("watch", "dev", "--as", "bob", "--timeout", "0"), half_read, between=_read_in_part, durable=False),
    Row("session start, first in a root", START_SESSION, nothing, between=_started_again, settles=False),
    Row("session start", START_SESSION, in_session, between=_started_again, settles=False, quick=True),
    Row("session end", ("session", "end"), in_session, refusals=("SESSION_ENDED",)),
    Row("owner access, first in a root", ("owner", "access", "off", "--as", "carol"), first_person),
    Row("owner access", ("owner", "access", "off", "--as", "carol"), peopled),
    Row("owner retention", ("owner", "retention", "off", "--as", "carol"), peopled, quick=True),
    Row("channel delete", DELETE, two_channels, refusals=("CHANNEL_NOT_FOUND",), keeps_messages=False),
    Row("channel delete, leftovers", DELETE, leftovers, refusals=("CHANNEL_NOT_FOUND",), keeps_messages=False),
    Row(
        "prune",
        ("prune", "dev"),
        due,
        between=_pruned_in_part,
        keeps_messages=False,
        turned=PAST_THE_TERM,
        quick=True,
    ),
    *task_rows.ROWS,
    *lock_rows.ROWS,
    *state_rows.ROWS,
)

QUICK = tuple(row for row in ROWS if row.quick)


def name_of(row: Row) -> str:
    """Returns the name under which a row is shown."""
    return row.name
