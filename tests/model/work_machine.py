"""What every step of the model of work needs: a channel on a disk that can fail, and what must hold after it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from hypothesis.stateful import RuleBasedStateMachine, invariant

from agent_chat.errors import ChatError
from agent_chat.operations import channels, doctor, lock_views, messages, path_locks, reading, task_views, tasks
from agent_chat.operations.messages import Draft
from agent_chat.records import journal_entry
from agent_chat.records import message as message_record
from agent_chat.storage import filesystem, work_tree
from agent_chat.storage.channel import Channel
from agent_chat.storage.journal import JOURNALS
from agent_chat.storage.message_numbers import seq_of
from agent_chat.storage.workspace import Ids, Workspace
from tests.model import views
from tests.model.lock_reference import PATHS, Locks, meet
from tests.model.work_reference import Now, RefusedError, Step, Task, Tasks
from tests.support.cli import Crash, FaultyFiles
from tests.support.leases import BootClock

if TYPE_CHECKING:
    from agent_chat.records.locked_path import Located
    from agent_chat.storage.journal import Journal

AGENTS = ("alice", "bob", "carol")
LONG_AGO = 1_000_000_000.0  # before any file that a test makes, so that no temporary is ever stale


class Fault(NamedTuple):
    """What an operation meets: at its n-th primitive, or its n-th that writes, a crash or an errno.

    With `forever` all primitives after it fail too.
    """

    at: int
    code: int | None
    writing: bool
    forever: bool


class Post(NamedTuple):
    """One message file."""

    file: str
    seq: int
    sender: str
    title: str
    status: str
    body: str

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes it that message, whatever its number."""
        return self.sender, self.title, self.body


class Pending(NamedTuple):
    """An interrupted change: which record it is about, and that record as it will not be."""

    key: str
    undecided: Any
    is_out: bool


class TwoClocks(BootClock):
    """A clock of which the wall clock may be set back; what measures goes on by the clock of the boot."""

    def monotonic(self) -> float:
        """The clock of the boot."""
        return self._boot

    def sleep(self, seconds: float) -> None:
        """Turns both clocks."""
        self.turn(seconds)


class CountedIds(Ids):
    """Ids that are the same in each run."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> str:
        """The next one."""
        self.count += 1
        return f"{self.count:016x}"


class WorkMachine(RuleBasedStateMachine):
    """One channel; what is not on the real disk is in `self.records`, as it is shown and as a recovery leaves it."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="agent-chat-model-"))
        self.clock, self.ids = TwoClocks(LONG_AGO), CountedIds()
        self.fault: Fault | None = None
        self.records: dict[str, Any] = {journal.name: {} for journal in JOURNALS}
        self.pending: dict[str, Pending] = {}
        self.posts: dict[str, Post] = {}
        self.told = {journal.name: 0 for journal in JOURNALS}
        self.highest = 0
        self.titles = 0
        (self.root / "tree" / "src" / "deep").mkdir(parents=True)
        (self.root / "tree" / "src" / "a.py").write_bytes(b"x\n")
        meta = channels.plan_channel("dev", members=None, humans=None, topic=None, owner=None, level=None)
        channels.create(self.workspace(), meta)
        self.folder = self.root / "chat" / "dev"
        tree = work_tree.find(
            self.workspace(), option=str(self.root / "tree"), variable=None, recorded=None, folder=str(self.root)
        )
        self.located: dict[str, Located] = {text: tree.locate(text) for text in PATHS}
        for agent in AGENTS:  # so that the channel knows how each is spelled
            messages.post(self.channel(), Draft(sender=agent, title=self.title(), body=""))
        self.adopt()

    def teardown(self) -> None:
        """Removes the root."""
        shutil.rmtree(self.root)

    # -- the means -----------------------------------------------------------------------------------------------

    def workspace(self, files: FaultyFiles | None = None) -> Workspace:
        """The workspace of a call."""
        return Workspace(str(self.root / "chat"), clock=self.clock, ids=self.ids, files=files)

    def channel(self) -> Channel:
        """The channel on a disk that works."""
        return Channel(self.workspace(), "dev")

    def locate(self, text: str) -> Located:
        """Where a path of a call lies."""
        known = self.located.get(text)
        if known is None:
            raise ChatError("PATH_LOCK_NOT_FOUND", "no path of the model")
        return known

    @property
    def now(self) -> Now:
        """This instant."""
        return Now(self.clock.now(), self.clock.moment().boot)

    @property
    def tasks(self) -> Tasks:
        """The rules over the tasks as they are shown."""
        return Tasks(self.records["tasks"])

    @property
    def locks(self) -> Locks:
        """The rules over the locks as they are shown."""
        return Locks(self.records["locks"])

    def title(self) -> str:
        """A title that no other message has."""
        self.titles += 1
        return f"t{self.titles}"

    def attempt(self, act: Callable[[Channel], Any]) -> tuple[Any, bool]:
        """Carries out an operation on a disk with the fault that was ordered; returns its result or error.

        And whether the fault hit it; one that did not is spent all the same.
        """
        fault, self.fault = self.fault or Fault(0, None, False, False), None
        only = filesystem.WRITING if fault.writing else (*filesystem.READING, *filesystem.WRITING)
        root = str(self.root / "chat")
        files = FaultyFiles(root, self.clock, at=fault.at, code=fault.code, only=only, forever=fault.forever)
        try:
            result = act(Channel(self.workspace(files), "dev"))
        except (Crash, ChatError, OSError) as error:
            if not files.fired and not isinstance(error, ChatError):
                raise
            return error, files.fired
        return result, files.fired

    def adopt(self, *, gone: set[str] = frozenset()) -> list[Post]:  # type: ignore[assignment]
        """Takes over the messages that came, if their numbers are new; only what may be gone is gone."""
        listed = {path.name: path for path in self.folder.iterdir() if seq_of(path.name)}
        assert self.posts.keys() - listed.keys() <= gone
        self.posts = {file: post for file, post in self.posts.items() if file in listed}
        came = [self._post(listed[file]) for file in sorted(listed.keys() - self.posts.keys())]
        assert all(post.seq > self.highest for post in came)
        self.posts.update((post.file, post) for post in came)
        self.highest = max((self.highest, *(post.seq for post in came)))
        return came

    def _post(self, path: Path) -> Post:
        seq = seq_of(path.name)
        assert seq is not None
        message = message_record.parse(path.read_bytes(), seq=seq)
        return Post(path.name, seq, message.sender, message.title, message.status or "", message.body)

    def entry(self, journal: Journal) -> journal_entry.Entry | None:
        """The pending entry of a journal on the disk."""
        path = self.folder / journal.entry
        return journal_entry.parse(path.read_bytes()) if path.exists() else None

    # -- changes of records ----------------------------------------------------------------------------------------

    def change(self, journal: Journal, plan: Callable[[int, str], Step], act: Callable[[Channel], Any]) -> Any:
        """Carries out a change, which must do what the reference plans; interrupted, all of it or nothing.

        `plan` is given the number of the audit message and the id of a new lock, when they are known. Returns the
        result where there is one.
        """
        code, step = "", Step("", None)
        before = self.records[journal.name]
        try:
            step = plan(0, "")
        except RefusedError as error:
            code = error.code
        if journal.name in self.pending:
            code = code if code == "TASK_INVALID_UPDATE" else journal.pending
        was_open, fault = self.entry(journal), self.fault
        result, hit = self.attempt(act)
        came = self.adopt()
        failed = isinstance(result, (Crash, ChatError, OSError))
        entry = self.entry(journal)
        if code or not step.event:
            assert (came, entry) == ([], was_open)
            assert failed or not code
            assert hit or getattr(result, "code", "") == code
            self.fault = None if hit else fault  # it waits for a call that gets somewhere
            return None if failed else result
        assert hit or not failed, result
        assert len(came) <= 1
        if came or entry is not None:
            seq = came[0].seq if came else seq_of(entry.message_file) if entry is not None else 0
            id = came[0].title.rpartition(" ")[2] if came else entry.target if entry is not None else ""
            step = plan(seq or 0, id)
        self._judge(journal, result, entry, came, forever=fault is not None and fault.forever)
        after = {**before, step.key: step.record}
        if step.record is None:
            del after[step.key]
        if entry is not None:
            self.pending[journal.name] = Pending(step.key, (before if came else after).get(step.key), bool(came))
        if came:
            self._audited(came[0], step, result)
            self.records[journal.name] = after
            self.told[journal.name] += 1
        return None if failed else result

    def _judge(
        self, journal: Journal, result: Any, entry: journal_entry.Entry | None, came: list[Post], *, forever: bool
    ) -> None:
        """Whether what a call left is what its result or its error says; after a crash there is nothing to say.

        Where the disk is gone for good, nobody can tell whether something is pending.
        """
        if isinstance(result, Crash):
            return
        code = getattr(result, "code", "") if isinstance(result, (ChatError, OSError)) else None
        if code is None:
            assert (entry, len(came)) == (None, 1)
        elif code == journal.rollback_failed:
            assert entry is not None or forever
        elif code == journal.cleanup_failed:
            assert entry is not None or forever
            assert came
        else:
            assert (entry, came) == (None, []), code

    def _audited(self, post: Post, step: Step, result: Any) -> None:
        """The one message of a change tells of it, and the reply is what became of the record."""
        target = step.record.id if step.record is not None else step.key
        assert (post.status, post.title) == (step.event, f"{step.event} {target}")
        fields = views.body_of(post.body)
        assert fields["event"] == step.event
        if isinstance(result, tasks.Changed):
            assert isinstance(step.record, Task)
            hold = views.hold_of(result.claim) or (step.record.hold if step.event == "task.updated" else None)
            assert (views.task_of(result.task, hold), result.seq) == (step.record, post.seq)
            assert (fields["status"], fields["owner"]) == (result.task.status, result.task.owner)
        elif isinstance(result, path_locks.Locked):
            assert step.record in (None, views.lock_of(result.lock))
            assert (result.lock.lock_id, result.seq) == (target, post.seq)
            assert fields["owner"] == result.lock.owner

    # -- what holds after each step --------------------------------------------------------------------------------

    @invariant()
    def records_and_reference_agree(self) -> None:
        """What is shown is what the reference says, also of what is pending; nobody holds what another holds."""
        self._tasks_agree()
        self._locks_agree()
        for journal in JOURNALS:
            path = self.folder / journal.entry
            assert path.exists() == (journal.name in self.pending)
            if journal.name not in self.pending:
                assert views.raw_records(self.folder, journal) == self.records[journal.name]
            filed = len(list(path.parent.glob("[!.]*"))) if path.parent.exists() else 0
            unfiled = self.pending[journal.name].is_out if journal.name in self.pending else False
            assert filed == self.told[journal.name] - unfiled
        assert self.locks.overlaps(self.now) == []

    def _tasks_agree(self) -> None:
        listed = task_views.every(self.channel(), self.clock.moment())
        found, warnings = listed.views, listed.told.warnings
        pending = self.pending.get("tasks")
        assert len(warnings) == (pending is not None)
        assert {
            each.task.id.upper(): views.task_of(each.task, views.hold_of(each.claim)) for each in found
        } == self.records["tasks"]
        for view in found:
            key = view.task.id.upper()
            task = self.records["tasks"][key]
            changes = pending is not None and key == pending.key and pending.undecided != task
            assert view.pending == changes
            assert view.ready == (self.tasks.ready(task, self.now) and not view.pending)
            assert [(each.id, each.status) for each in view.waiting_for] == self.tasks.waits(task)
            assert task.hold is None or (task.owner, task.status in ("in_progress", "blocked")) == (
                task.hold.owner,
                True,
            )

    def _locks_agree(self) -> None:
        every = lock_views.every(self.channel())
        pending = self.pending.get("locks")
        held = {pending.key} if pending is not None else set()
        assert len(every.warnings) == (pending is not None)
        locks = self.records["locks"]
        assert {each.id: each.lock and views.lock_of(each.lock) for each in every.locks} == locks
        assert {each.id for each in every.locks if each.pending} <= held
        known = dict(locks)
        if pending is not None and pending.undecided is not None:
            known.setdefault(pending.key, pending.undecided)
        text = sorted(PATHS)[self.titles % len(PATHS)]
        for agent in (None, *AGENTS):
            found = lock_views.check(self.channel(), [self.located[text]], agent)
            met = {id: lock.hold for id, lock in known.items() if meet(lock, [PATHS[text]])}
            wanted = {id for id, hold in met.items() if hold.owner != agent or not hold.runs(self.now)}
            assert {each.id for each in found.locks} == wanted
            assert {each.id for each in found.locks if each.pending} <= held
            moment = self.clock.moment()
            assert all(each.has_run_out(moment) != known[each.id].hold.runs(self.now) for each in found.locks)

    @invariant()
    def messages_and_doctor_agree(self) -> None:
        """Every message is there once, audit messages are nobody's unread ones, and the doctor finds just what is."""
        assert self.adopt() == []
        for agent in AGENTS:
            wanted = [post.file for post in sorted(self.posts.values(), key=lambda post: (post.seq, post.file))]
            wanted = [file for file in wanted if self.posts[file].sender != agent and not self.posts[file].status]
            assert [stored.file for stored in reading.unread(self.channel(), agent)] == wanted
        found = {(each.id, Path(each.path).relative_to(self.folder).as_posix()) for each in self.examined().findings}
        wanted_findings = {("message.unique", file) for file in self.doubled()}
        wanted_findings |= {("journal.pending", f"{name}/audit/.pending.md") for name in self.pending}
        assert found == wanted_findings

    def examined(self) -> doctor.Examined:
        """What the doctor finds."""
        return doctor.examine(self.channel())

    def doubled(self) -> set[str]:
        """The files that share a number with an earlier name."""
        first: dict[int, str] = {}
        for file in sorted(self.posts):
            first.setdefault(self.posts[file].seq, file)
        return self.posts.keys() - set(first.values())
