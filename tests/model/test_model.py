"""Any sequence of operations, crashes and failing disks leaves what a simple reference says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from agent_chat.operations import channels, doctor, keeping, markers, messages, reading, retention
from agent_chat.operations.lost import Lost
from agent_chat.operations.mending import mend
from agent_chat.operations.messages import Draft
from agent_chat.operations.skipping import Skips
from tests.model.machine import AGENTS, TICK, Machine
from tests.model.reference import Reference
from tests.operations.room import bounds
from tests.support.cli import Crash, message_file

if TYPE_CHECKING:
    from agent_chat.operations.reading import Page

HALF_DAY = 43_200
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
agents = st.sampled_from(AGENTS)
names = st.sampled_from(["dev", "ops"])


class Talk(Machine):
    """Talk in two channels, one open and one closed."""

    @initialize()
    def make_channels(self) -> None:
        """Both channels are there from the start, with a gap in the numbers below the cursors of alice and bob."""
        for name, members in (("dev", None), ("ops", "alice,bob")):
            meta = channels.plan_channel(name, members=members, humans=None, topic=None, owner=None, level=None)
            channels.create(self.workspace(), meta)
            self.model[name] = Reference(members=tuple(members.split(",")) if members else ())
            for seq in (1, 3):
                (self.root / name / f"{seq:04d}-carol-hand.md").write_bytes(message_file(seq, "carol", self.title()))
            self.model[name].messages = self.on_disk(name)
            self.model[name].named = set(self.model[name].messages)
        self.settle()
        for name, agent in (("dev", "alice"), ("dev", "bob"), ("ops", "bob")):
            reading.acknowledge(self.channel(name), agent, 3)
            self.model[name].store(agent, 3, self.ticks, late=[])
        self.settle()

    @rule(name=st.sampled_from(["DEV", "ops"]))
    def init_again(self, name: str) -> None:
        """A name that is taken stays as it is."""
        meta = channels.plan_channel(name, members=None, humans=None, topic=None, owner=None, level=None)
        self.attempt(lambda: channels.create(self.workspace(faulty=True), meta), expected=("CHANNEL_EXISTS",))
        self.settle()

    @rule(name=names, agent=agents, leave=st.booleans())
    def join_or_leave(self, name: str, agent: str, leave: bool) -> None:
        """Who is in a channel changes as a whole or not at all."""
        model = self.model[name]
        known = agent in model.members
        wanted = [m for m in model.members if m != agent] if leave else [*model.members, *([] if known else [agent])]
        act = channels.leave if leave else (lambda channel, who: channels.join(channel, who, None))
        expected = ("AGENT_UNKNOWN",) if leave and not known else ()
        done, _ = self.attempt(lambda: act(self.channel(name, faulty=True), agent), expected=expected)
        actual = list(self.channel(name).meta.members)
        assert actual == wanted if done else actual in (wanted, model.members)
        assert self.channel(name).meta.closed is model.closed
        model.members = actual
        self.settle()

    @rule(
        name=names,
        sender=agents,
        to=st.none() | st.lists(agents, min_size=1, max_size=3, unique=True),
        reply=st.booleans(),
        keyed=st.booleans(),
        behind=st.sampled_from([None, 0, 1]),
    )
    def post(self, name: str, sender: str, to: list[str] | None, reply: bool, keyed: bool, behind: int | None) -> None:
        """A message is there as a whole with the next number, or not at all."""
        model = self.model[name]
        unique = [said for _, unit in model.units(0) if len(unit) == 1 for said in unit]
        title = self.title()
        draft = Draft(
            sender=sender,
            title=title,
            body=f"{title}\n",
            to=",".join(to) if to is not None else None,
            reply=str(unique[-1].seq) if reply and unique and not keyed else None,
            key=title if keyed else None,
            if_seq=max(model.highest - behind, 0) if behind is not None else None,
        )
        expected: tuple[str, ...] = ()
        if not all(model.knows(agent) for agent in (sender, *(to or ()))):
            expected = ("AGENT_UNKNOWN", "MESSAGE_NO_RECIPIENT")
        elif to == [sender]:
            expected = ("MESSAGE_NO_RECIPIENT",)
        elif behind and model.highest:
            expected = ("CHANNEL_MOVED",)
        done, result = self.attempt(lambda: messages.post(self.channel(name, faulty=True), draft), expected=expected)
        came = self.adopt(name, may_come=set() if expected else {title})
        if done:
            assert [(said.seq, said.file, said.sender, said.to) for said in came] == [
                (result.seq, result.file, sender, tuple(to or ()))
            ]
            if keyed:
                self.keyed.append((name, draft))
        elif not isinstance(result, Crash) and getattr(result, "code", "") != "MESSAGE_PUBLICATION_UNKNOWN":
            assert came == []
        self.settle()

    @precondition(lambda self: self.keyed)
    @rule(data=st.data())
    def post_again(self, data: st.DataObject) -> None:
        """A retry with its key gives the number that the message has."""
        name, draft = data.draw(st.sampled_from(self.keyed))
        if self.model[name].knows(draft.sender) and all(
            map(self.model[name].knows, (draft.to or draft.sender).split(","))
        ):
            done, result = self.attempt(lambda: messages.post(self.channel(name, faulty=True), draft))
            assert self.adopt(name, may_come=set()) == []
            if done:
                assert result.repeated
                assert {**self.model[name].removed, **self.model[name].messages}[result.file].title == draft.title
        self.settle()

    @rule(
        name=names,
        agent=agents,
        limit=st.sampled_from([1, 2, 50]),
        everything=st.booleans(),
        peek=st.booleans(),
        skip=st.none() | agents,
    )
    def read(self, name: str, agent: str, limit: int, everything: bool, peek: bool, skip: str | None) -> None:
        """A page shows what the reference says, and the cursor moves over just that and what is skipped."""
        skipped = () if skip is None else (skip,)
        model = self.model[name]
        if not model.knows(agent):
            return
        wanted = model.page(agent, limit, everything=everything, skipped=skipped)
        late, cursor = model.late(agent, () if everything else skipped), model.cursor(agent)

        def act() -> Page:
            channel = self.channel(name, faulty=True)
            skips = Skips(senders=skipped)
            page = reading.read_page(channel, agent, bounds(limit), after=None, everything=everything, skips=skips)
            if page.error is not None:
                raise page.error
            assert [stored.file for stored in page.stored] == wanted.files
            assert (page.passed, page.has_more, list(page.late.files)) == (wanted.passed, wanted.has_more, late)
            assert (page.held, page.set_aside) == ("", ())
            lost = model.lost(agent, page.passed, () if everything else skipped)
            assert page.lost == (Lost(count=len(lost), first=lost[0], last=lost[-1]) if lost else None)
            if not peek:
                reading.advance(page, agent)
            return page

        done, page = self.attempt(act)
        stored = self.channel(name).cursors.load(agent)
        if done and not peek and (wanted.passed > cursor.seq or page.late.stale):
            model.store(agent, wanted.passed, self.ticks, late=late)
        elif not done and stored is not None and (stored.seq, stored.late) != (cursor.seq, tuple(cursor.announced)):
            assert stored.seq == wanted.passed
            model.store(agent, wanted.passed, self.ticks, late=late)
        self.settle()

    @rule(name=names, agent=agents, share=st.integers(0, 4), reset=st.booleans())
    def acknowledge(self, name: str, agent: str, share: int, reset: bool) -> None:
        """A cursor moves forward, and back only by a reset; past the end it does not go."""
        model = self.model[name]
        cursor = model.cursor(agent)
        seq = model.highest * share // 3
        expected = ("CURSOR_AHEAD",) if seq > model.highest else ()
        late = [file for file in model.late(agent) if not reset or model.messages[file].seq <= seq]

        def act() -> tuple[int, int]:
            channel = self.channel(name, faulty=True)
            numbers = channel.messages.numbers()
            told = reading.late_below_cursor(channel, agent, numbers, reset=seq if reset else None)
            assert list(told.files) == late
            return reading.acknowledge(channel, agent, seq, reset=reset, numbers=numbers, late=told)

        done, result = self.attempt(act, expected=expected)
        moves = reset or seq >= cursor.seq
        if done:
            assert result == (seq if moves else cursor.seq, cursor.seq)
        stored = self.channel(name).cursors.load(agent)
        changed = stored is not None and (stored.seq, stored.late) != (cursor.seq, tuple(cursor.announced))
        if done or changed:
            assert (stored.seq if stored else 0) == (seq if moves else cursor.seq)
            if moves:
                model.store(agent, seq, self.ticks, late=late, back=reset)
            elif late:
                model.announce(agent, late)
        self.settle()

    @rule(name=names, number=st.integers(1, 3), agent=agents)
    def claim(self, name: str, number: int, agent: str) -> None:
        """A marker has one owner and one audit message, however often its claim was interrupted."""
        model = self.model[name]
        marker, claimed = f"task-{number}.md", f"task-{number}.CLAIMED-{agent}.md"
        if marker not in model.free and marker not in model.claimed:
            (self.root / name / marker).write_bytes(b"x\n")
            model.free.add(marker)
        title = f"marker.claimed {number}"
        audited = any(said.title == title for said in model.messages.values())
        expected: tuple[str, ...] = ()
        if not model.knows(agent):
            expected = ("AGENT_UNKNOWN",)
        elif marker in model.claimed and (model.claimed[marker] != agent or audited):
            expected = ("MARKER_CLAIMED",)
        done, result = self.attempt(
            lambda: markers.claim(self.channel(name, faulty=True), marker, agent), expected=expected
        )
        came = self.adopt(name, may_come=set() if expected else {title})
        assert len(came) <= 1
        if (self.root / name / claimed).exists():
            assert not expected or model.claimed.get(marker) == agent
            model.free.discard(marker)
            model.claimed[marker] = agent
        if done:
            assert (result.claimed_as, [result.seq]) == (claimed, [said.seq for said in came])
            assert model.claimed[marker] == agent
        self.settle()

    @rule(name=names, sender=agents, to=st.none() | agents, share=st.integers(1, 4), suffix=st.sampled_from(["", "-b"]))
    def arrive(self, name: str, sender: str, to: str | None, share: int, suffix: str) -> None:
        """A message comes by hand or by git, with a number that is free, taken, or below somebody's cursor.

        Never twice under one name: what a repair moved away, and comes back, is taken for what was there.
        """
        model = self.model[name]
        seq = max(model.highest * share // 3, 1) if share < 4 else model.highest + 1
        file = f"{seq:04d}-{sender}-hand{suffix}.md"
        if file not in model.named:
            model.named.add(file)
            title = self.title()
            fields = {"to": to} if to is not None else {}
            (self.root / name / file).write_bytes(message_file(seq, sender, title, **fields))
            model.messages[file] = self.on_disk(name)[file]
        self.settle()

    @rule(name=names, kind=st.sampled_from(["notes.md", "0001-x (conflict).md", ".0001-x.md.swp", "folder", "x.md~"]))
    def foreign_file(self, name: str, kind: str) -> None:
        """A file that is no message is never delivered and never in the way."""
        path = self.root / name / kind
        if kind == "folder":
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(b"# Notes\n")
        self.model[name].foreign.add(kind)
        self.settle()

    @rule(name=names)
    def repair(self, name: str) -> None:
        """A repair gives new numbers to what needs them, in order, and loses nothing, also when it is interrupted."""
        model = self.model[name]
        moving = model.moving()
        titles = sorted(said.title for said in model.messages.values())

        def act() -> list[str]:
            channel = self.channel(name, faulty=True)
            examined = doctor.examine(channel)
            done = mend(channel, examined)
            if any("cannot be read" in f.message or "Errno" in f.message for f in examined.findings):
                raise OSError("what the doctor could not read it has told, and left as it is")
            return done

        done, _ = self.attempt(act)
        # Where a cursor could not be read, another file of a number may have moved than the reference would move.
        may = moving if done else [*moving, *(said for _, unit in model.units(0) if len(unit) > 1 for said in unit)]
        came = self.adopt(name, may_come={said.title for said in may}, may_go={said.file for said in may})
        left = sorted(said.title for said in model.messages.values())
        assert set(left) == set(titles)
        if done:
            assert not model.doubled()
            assert not model.waiting()
            assert {said.title for said in came} <= {said.title for said in moving}
            assert mend(self.channel(name), doctor.examine(self.channel(name))) == []
        self.settle()

    @rule(name=names, half_days=st.sampled_from([0, 0, 1, 2, 3, 5]))
    def prune(self, name: str, half_days: int) -> None:
        """What is due goes, unless something waits for it, and nothing else; what is gone has its tombstone."""
        for _ in range(half_days):
            self.ticks += HALF_DAY // TICK
            self.clock.turn(HALF_DAY)
        model = self.model[name]
        sent = {file: self.sent_at(name, file) for file in model.messages}
        seen = {agent: at for agent in AGENTS for at in [self.seen_at(name, agent)] if at is not None}
        wanted = model.leaving(sent, seen, self.clock.now(), 2 * HALF_DAY)
        term = keeping.Term(days=1, now=self.clock.now())
        before = dict(model.messages)
        done, result = self.attempt(lambda: retention.prune(self.channel(name, faulty=True), term))
        assert self.adopt(name, may_come=set(), may_go=wanted) == []
        told = {each.file for each in self.channel(name).messages.tombstones.load()}
        assert before.keys() - model.messages.keys() <= told <= wanted | model.removed.keys()
        model.removed.update((file, before[file]) for file in told if file in before)
        if done and result.error is None:
            assert before.keys() - model.messages.keys() == wanted
            assert len(result.removed) == len(wanted)
        self.settle()

    @precondition(lambda self: self.fault is None)
    @rule(at=st.integers(1, 25), code=st.sampled_from([None, None, 5, 28, 13]))
    def order_a_fault(self, at: int, code: int | None) -> None:
        """The next operation dies at its n-th primitive, or that primitive fails."""
        self.fault = (at, code)


TestModel = Talk.TestCase
TestModel.settings = settings(
    settings.default,
    max_examples=300 if NIGHTLY else 25,
    stateful_step_count=60 if NIGHTLY else 30,
)
