"""Changes of records that were interrupted: how a row plants one, and what one may look like."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tests.support.recording import BEFORE, KillingFileSystem
from tests.support.staging import NumberedIds

if TYPE_CHECKING:
    from tests.support.journal_views import Records
    from tests.support.staging import Stage
    from tests.support.views import ChannelView, RootView

# Before which primitive, and which of its calls, a change is killed so that it is left in that state.
MIXED = ("replace", 1)  # the first record is as after it, no other
ALL_APPLIED = ("link", -1)  # all records are as after it, and nobody was told
ANNOUNCED = ("append", -1)  # the message is out, and the entry does not say so


def interrupted(stage: Stage, argv: tuple[str, ...], at: tuple[str, int], *, turned: float = 0.0) -> None:
    """Makes a change and kills it where it is told."""
    disk = stage.disk()
    log = stage.must(*argv, turned=turned).files.log
    name, which = at
    places = [n for n, step in enumerate(log, 1) if step.name == name]
    stage.put(disk)
    dying = functools.partial(KillingFileSystem, n=places[which], when=BEFORE)
    assert stage.call(*argv, files=dying, turned=turned, ids=NumberedIds("d")).status is None


def undecided(view: RootView, old: RootView, new: RootView) -> bool:
    """Tells whether a state is that of a change that a recovery has to decide: each file is as before or after it."""
    if set(view.channels) != set(old.channels) or view.ignores != old.ignores:
        return False
    now, was, will = (each.channels["dev"] for each in (view, old, new))
    known = now._replace(messages=was.messages, records=was.records) == was
    return known and bool(now.records.pending) and _is_between(now, was, will)


def _is_between(now: ChannelView, was: ChannelView, will: ChannelView) -> bool:
    told = now.messages == will.messages
    if not told and now.messages != was.messages:
        return False
    records, before, after = now.records, was.records, will.records
    filed = records.filed in (before.filed, after.filed)
    pending = records.pending == before.pending or not before.pending
    return filed and pending and _each_is_one(records, before, after, told=told)


def _each_is_one(records: Records, before: Records, after: Records, *, told: bool) -> bool:
    """Each record is as before or after; once everybody was told, as after, but where nothing had to change."""
    started, ended, here = _every_record(before), _every_record(after), _every_record(records)
    for name in {*started, *ended, *here}:
        allowed = (ended.get(name),) if told and not before.pending else (started.get(name), ended.get(name))
        if here.get(name) not in allowed:
            return False
    return True


def _every_record(records: Records) -> dict[object, object]:
    kinds: tuple[dict[Any, object], ...] = ({**records.tasks}, {**records.claims}, {**records.locks})
    return {name: record for kind in kinds for name, record in kind.items()}
