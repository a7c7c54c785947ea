"""Any sequence of work, crashes and failing disks leaves what a simple reference says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from agent_chat.errors import ChatError
from agent_chat.operations import claims, doctor, messages, path_locks, tasks
from agent_chat.operations.leases import Actor
from agent_chat.operations.mending import mend
from agent_chat.operations.messages import Draft
from agent_chat.operations.recovery import recover_pending
from agent_chat.operations.tasks import TaskChanges
from agent_chat.storage.journal import JOURNALS, OF_LOCKS, OF_TASKS
from agent_chat.storage.recovery import FINISHED, NOTHING, UNDONE
from tests.model.lock_reference import PATHS
from tests.model.work_machine import AGENTS, Fault, WorkMachine
from tests.model.work_reference import FOLLOWS, Lease, Who, key_of
from tests.support.cli import Crash, message_file

if TYPE_CHECKING:
    from agent_chat.storage.channel import Channel
    from tests.model.work_reference import Hold

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
HOLDER, ITS_OWN, OLD = "holder", "its-own", "old"
ids = st.sampled_from(["T-1", "T-2", "T-3", "t-3", "T-4", "t-5"])
agents = st.sampled_from(AGENTS)
names = st.sampled_from([HOLDER, HOLDER, HOLDER, *AGENTS, "Bob"])
sessions = st.sampled_from([ITS_OWN, ITS_OWN, ITS_OWN, None, None, "one", "two"])
fences = st.sampled_from([None, None, None, ITS_OWN, OLD])
lengths = st.sampled_from([None, None, "30", "90.5", "1000"])
often = st.sampled_from([True, True, True, False])
paths = st.lists(st.sampled_from(sorted(PATHS)), min_size=1, max_size=3)
JOURNAL_OF = {journal.name: journal for journal in JOURNALS}


class Work(WorkMachine):
    """Tasks, claims, path locks and talk in one channel."""

    @initialize()
    def make_tasks(self) -> None:
        """Four tasks are there from the start, three of which depend on each other in a chain."""
        for id, depends_on in (("T-1", ()), ("T-2", ("T-1",)), ("T-3", ()), ("T-4", ("T-2",))):
            self.create(id, "alice", depends_on)

    # -- who, and with what ----------------------------------------------------------------------------------------

    def who(self, name: str, session: str | None, fence: str | None, hold: Hold | None) -> tuple[Actor, Who]:
        """Who asks, in the words of the program and of the reference."""
        name = (hold.owner if hold is not None else "bob") if name == HOLDER else name
        session = (hold.session if hold is not None else None) if session == ITS_OWN else session
        number = {None: None, ITS_OWN: hold.fence if hold is not None else 1, OLD: 2}[fence]
        return Actor(name=name, session=session, fence=number), Who(name.lower(), session, number)

    def some_task(self, data: st.DataObject) -> str:
        """The id of a task, more often of one that somebody holds."""
        held = sorted(task.id for task in self.records["tasks"].values() if task.hold is not None)
        known: bool = bool(held) and data.draw(often)
        id: str = data.draw(st.sampled_from(held) if known else ids)
        return id

    def hold_of_task(self, id: str) -> Hold | None:
        """The claim on a task, if there is one."""
        task = self.records["tasks"].get(key_of(id))
        return task.hold if task is not None else None

    def lease(self, seconds: str | None, seq: int) -> Lease:
        """What a call that grants something gets."""
        return Lease(self.now, None if seconds is None else float(seconds), seq)

    # -- tasks and claims ------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.records["tasks"]) < 6)
    @rule(
        id=st.sampled_from(["t-5", "t-5", "T-6", "T-6", "t-1"]),
        name=st.sampled_from([*AGENTS, "Bob"]),
        depends_on=st.lists(ids, max_size=2),
    )
    def create(self, id: str, name: str, depends_on: tuple[str, ...] | list[str]) -> None:
        """A task is made once."""
        actor, who = self.who(name, None, None, None)
        title = self.title()
        changes = TaskChanges(title=title, depends_on=tuple(depends_on))
        self.change(
            OF_TASKS,
            lambda seq, _: self.tasks.create(id, who, self.now, title, depends_on),
            lambda channel: tasks.create(channel, actor.name, id, changes),
        )

    @rule(
        id=ids,
        name=names,
        title=st.booleans(),
        owner=st.none() | agents,
        depends_on=st.none() | st.lists(ids, max_size=2),
        status=st.none() | st.sampled_from(sorted(FOLLOWS)),
        clear=st.sampled_from([False, False, True]),
    )
    def update(
        self,
        id: str,
        name: str,
        title: bool,
        owner: str | None,
        depends_on: list[str] | None,
        status: str | None,
        clear: bool,
    ) -> None:
        """An update changes what it names, and what is claimed keeps owner and status."""
        actor, _ = self.who(name, None, None, self.hold_of_task(id))
        text = self.title() if title else None
        changes = TaskChanges(
            title=text,
            owner=owner,
            depends_on=None if depends_on is None else tuple(depends_on),
            status=status,
            clear=("owner",) if clear else (),
        )
        self.change(
            OF_TASKS,
            lambda seq, _: self.tasks.update(
                id, self.now, title=text, owner=owner, depends_on=depends_on, status=status, clear=clear
            ),
            lambda channel: tasks.update(channel, actor.name, id, changes),
        )

    @rule(id=ids, name=agents, depends_on=st.lists(ids, min_size=1, max_size=2))
    def depend(self, id: str, name: str, depends_on: list[str]) -> None:
        """A task is made to wait for others, but never, at any depth, for itself."""
        self.update(id, name, False, None, depends_on, None, False)

    @rule(id=ids, name=names, session=sessions, seconds=lengths)
    def claim(self, id: str, name: str, session: str | None, seconds: str | None) -> None:
        """A task that waits for nothing gets into the hands of one agent."""
        actor, who = self.who(name, session, None, self.hold_of_task(id))
        self.change(
            OF_TASKS,
            lambda seq, _: self.tasks.claim(id, who, self.lease(seconds, seq)),
            lambda channel: claims.claim(channel, id, actor, seconds),
        )

    @rule(
        data=st.data(),
        command=st.sampled_from(["claim", "renew", "renew", "recover", "recover"]),
        name=names,
        session=sessions,
        fence=fences,
        seconds=lengths,
    )
    def hold(
        self,
        data: st.DataObject,
        command: str,
        name: str,
        session: str | None,
        fence: str | None,
        seconds: str | None,
    ) -> None:
        """A task stays in the hands of its holder, or, when its lease ran out, gets into those of whoever asks."""
        id = self.some_task(data)
        actor, who = self.who(name, session, fence, self.hold_of_task(id))
        why = (self.title(),) if command == "recover" else ()
        self.change(
            OF_TASKS,
            lambda seq, _: getattr(self.tasks, command)(id, who, self.lease(seconds, seq), *why),
            lambda channel: getattr(claims, command)(channel, id, actor, *why, seconds),
        )

    @rule(
        data=st.data(),
        command=st.sampled_from(["done", "release", "cancel", "block", "block"]),
        name=names,
        session=sessions,
        fence=fences,
    )
    def leave(self, data: st.DataObject, command: str, name: str, session: str | None, fence: str | None) -> None:
        """A task leaves the hands of its holder, or is blocked in them."""
        id = self.some_task(data)
        actor, who = self.who(name, session, fence, self.hold_of_task(id))
        self.change(
            OF_TASKS,
            lambda seq, _: self.tasks.leave(id, who, self.now, command),
            lambda channel: getattr(claims, command)(channel, id, actor),
        )

    # -- path locks ------------------------------------------------------------------------------------------------

    @rule(texts=paths, name=st.sampled_from([*AGENTS, "Bob"]), session=sessions, seconds=lengths)
    def lock(self, texts: list[str], name: str, session: str | None, seconds: str | None) -> None:
        """All paths are locked, or none."""
        actor, who = self.who(name, session, None, None)
        why = texts[0] if len(texts) > 1 else None
        self.change(
            OF_LOCKS,
            lambda seq, id: self.locks.lock(texts, who, self.lease(seconds, seq), id, why),
            lambda channel: path_locks.lock(
                channel, actor, [self.locate(text) for text in texts], lease_seconds=seconds, why=why
            ),
        )

    def target(self, data: st.DataObject) -> tuple[str, Hold | None]:
        """An id or a path by which a lock may be meant, and what is known of its hold."""
        locks = self.records["locks"]
        known: bool = bool(locks) and data.draw(often)
        chosen = locks[data.draw(st.sampled_from(sorted(locks)))] if known else None
        if chosen is None:
            return data.draw(st.sampled_from([*sorted(PATHS), "0123456789abcdef"])), None
        by_path = data.draw(st.booleans())
        text = next(text for text in sorted(PATHS) if PATHS[text] in chosen.paths) if by_path else chosen.id
        return text, chosen.hold

    @precondition(lambda self: self.records["locks"] or self.pending)
    @rule(
        data=st.data(),
        command=st.sampled_from(["renew", "unlock", "recover", "recover"]),
        name=names,
        session=sessions,
        fence=fences,
        seconds=lengths,
    )
    def change_lock(
        self,
        data: st.DataObject,
        command: str,
        name: str,
        session: str | None,
        fence: str | None,
        seconds: str | None,
    ) -> None:
        """A lock is held on to, given back as a whole, or, when it has run out, given to whoever asks with a reason."""
        text, hold = self.target(data)
        actor, who = self.who(name, session, fence, hold)
        why = (self.title(),) if command == "recover" else ()
        more = {} if command == "unlock" else {"lease_seconds": seconds}
        self.change(
            OF_LOCKS,
            lambda seq, _: getattr(self.locks, command)(text, who, self.lease(seconds, seq), *why),
            lambda channel: getattr(path_locks, command)(channel, actor, text, self.locate, *why, **more),
        )

    # -- what was interrupted --------------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(sorted(JOURNAL_OF)),
        actor=st.none() | agents,
        resolution=st.sampled_from([None, None, None, "rollback", "published"]),
        keep=st.booleans(),
    )
    def recover_pending(self, name: str, actor: str | None, resolution: str | None, keep: bool) -> None:
        """A recovery makes of what is pending what everybody was shown; with nothing pending it does nothing."""
        journal, pending = JOURNAL_OF[name], self.pending.get(name)
        result, hit = self.attempt(
            lambda channel: recover_pending(channel, journal, actor, resolution=resolution, keep=keep)
        )
        assert self.adopt() == []
        settled = self.entry(journal) is None
        if isinstance(result, (Crash, ChatError, OSError)):
            nothing = pending is None and resolution is not None
            assert hit or (nothing and getattr(result, "code", "") == journal.not_found)
        else:
            outcome = NOTHING if pending is None else FINISHED if pending.is_out else UNDONE
            assert (result.outcome, settled) == (outcome, True)
        if settled:
            self.pending.pop(name, None)

    @precondition(lambda self: self.pending)
    @rule()
    def recover_all(self) -> None:
        """Whatever is pending is settled, so that work goes on."""
        for name in sorted(self.pending):
            self.recover_pending(name, "carol", None, False)

    @precondition(lambda self: self.fault is None)
    @rule(
        at=st.integers(1, 40),
        code=st.sampled_from([None, None, 5, 28, 13]),
        writing=st.sampled_from([True, True, False]),
        forever=st.booleans(),
    )
    def order_a_fault(self, at: int, code: int | None, writing: bool, forever: bool) -> None:
        """The next operation dies at its n-th primitive, or that one fails, or all from it on do."""
        self.fault = Fault(at, code, writing, forever)

    # -- time ------------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.5, 30, 90.5, 300, 300, 1000]))
    def turn(self, seconds: float) -> None:
        """Time goes by."""
        self.clock.turn(seconds)

    @rule(seconds=st.sampled_from([-3600, 3600]))
    def set_the_clock(self, seconds: int) -> None:
        """Somebody sets the wall clock: no lease ends sooner or later by it."""
        self.clock.step(seconds)

    # -- talk ------------------------------------------------------------------------------------------------------

    @rule(sender=agents)
    def post(self, sender: str) -> None:
        """Messages go on whatever is pending."""
        title = self.title()
        result, hit = self.attempt(
            lambda channel: messages.post(channel, Draft(sender=sender, title=title, body=f"{title}\n"))
        )
        came = [(post.seq, post.file, post.sender, post.title) for post in self.adopt()]
        if isinstance(result, (Crash, ChatError, OSError)):
            assert hit
            unknown = isinstance(result, Crash) or getattr(result, "code", "") == "MESSAGE_PUBLICATION_UNKNOWN"
            assert len(came) <= unknown
        else:
            assert came == [(result.seq, result.file, sender, title)]

    @rule(sender=agents, back=st.integers(0, 3))
    def arrive(self, sender: str, back: int) -> None:
        """A message comes by git under a number that another has: under one of the last, audit messages too."""
        seq = max(self.highest - back, 1)
        title = self.title()
        file = f"{seq:04d}-{sender}-{title}.md"
        (self.folder / file).write_bytes(message_file(seq, sender, title))
        self.posts[file] = self._post(self.folder / file)

    @precondition(lambda self: self.pending)
    @rule(sender=agents, back=st.integers(0, 1))
    def repair_too_early(self, sender: str, back: int) -> None:
        """Somebody wants new numbers while an entry waits for its message."""
        self.arrive(sender, back)
        self.repair()

    @rule()
    def repair(self) -> None:
        """The doctor gives what shares a number another one, but not while an entry waits for its message."""
        moving = self.doubled()
        before = {post.identity for post in self.posts.values()}
        done: Any = None

        def act(channel: Channel) -> list[str]:
            examined = doctor.examine(channel)
            fresh = {each.id for each in examined.findings} - {"message.unique", "journal.pending"}
            if fresh:
                raise OSError("what the doctor could not read it has told, and left as it is")
            return mend(channel, examined)

        done, hit = self.attempt(act)
        came = self.adopt(gone=moving)
        assert {post.identity for post in self.posts.values()} == before
        refused = next((journal.pending for journal in JOURNALS if journal.name in self.pending), None)
        if moving and refused:
            assert isinstance(done, (Crash, ChatError, OSError))
            assert hit or getattr(done, "code", "") == refused
            assert came == []
        elif isinstance(done, (Crash, ChatError, OSError)):
            assert hit
        else:
            assert not self.doubled()


TestModel = Work.TestCase
TestModel.settings = settings(
    settings.default,
    max_examples=400 if NIGHTLY else 25,
    stateful_step_count=80 if NIGHTLY else 30,
)
