"""A room with tasks: the operations on them with the least words, and what their records and audit messages say."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Callable

from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse
from agent_chat.errors import ChatError
from agent_chat.operations import claims, task_views, tasks
from agent_chat.operations.leases import Actor
from agent_chat.operations.task_views import TaskView
from agent_chat.operations.tasks import Changed, TaskChanges
from agent_chat.records import claim as claim_record
from agent_chat.records import task as task_record
from tests.operations.room import Room
from tests.operations.room import refused as refused_by_code
from tests.support.cli import workspace_on
from tests.support.leases import BootClock
from tests.support.recording import RecordingFileSystem

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.records.claim import Claim
    from agent_chat.records.message import Message
    from agent_chat.records.task import Task


class TaskRoom(Room):
    """A root with one channel, and the clock of a machine that can be booted anew; nothing is synced."""

    clock: BootClock

    def __init__(self, root: Path, **fields: Any) -> None:
        super().__init__(root, **fields)
        self.clock = BootClock()
        self.workspace = workspace_on(root, clock=self.clock, files=RecordingFileSystem(str(root), self.clock))
        self.channel = self.reopened()

    def create(self, id: str = "T-1", actor: str = "alice", **fields: Any) -> Changed:
        """Makes a task."""
        return tasks.create(self.reopened(), actor, id, TaskChanges(**{"title": "t", **fields}))

    def update(self, id: str = "T-1", actor: str = "alice", **fields: Any) -> Changed:
        """Changes fields of a task."""
        return tasks.update(self.reopened(), actor, id, TaskChanges(**fields))

    def claim(self, id: str = "T-1", actor: str = "bob", *, lease: str | None = None, **who: Any) -> Changed:
        """Claims a task."""
        return claims.claim(self.reopened(), id, Actor(name=actor, **who), lease)

    def act(self, command: str, id: str = "T-1", actor: str = "bob", **who: Any) -> Changed:
        """Runs one of renew, done, release, block, cancel and recover."""
        more = (who.pop("why", "it ran out"),) if command == "recover" else ()
        lease = (who.pop("lease"),) if "lease" in who else ()
        run: Callable[..., Changed] = getattr(claims, command)
        return run(self.reopened(), id, Actor(name=actor, **who), *more, *lease)

    def view(self, id: str = "T-1") -> TaskView:
        """A task as it is shown."""
        return task_views.show(self.reopened(), id, self.clock.moment())[0]

    def every(self) -> dict[str, TaskView]:
        """All tasks as they are shown, by id."""
        return {view.task.id: view for view in task_views.every(self.reopened(), self.clock.moment()).views}

    def warnings(self) -> tuple[str, ...]:
        """What is said beside the list of tasks."""
        return task_views.every(self.reopened(), self.clock.moment()).told.warnings

    def ready(self) -> list[str]:
        """The ids of the tasks that are listed as ready."""
        return [id for id, view in self.every().items() if view.ready]

    def task(self, id: str = "T-1") -> Task:
        """A task's record on disk."""
        return task_record.parse((self.folder / "tasks" / f"{id}.json").read_bytes())

    def claims(self) -> dict[str, Claim]:
        """All claims on disk, by file name."""
        return {
            path.name: claim_record.parse(path.read_bytes()) for path in sorted((self.folder / "claims").glob("*.json"))
        }

    def task_fence(self, id: str = "T-1") -> int | None:
        """The fence of the one claim on a task."""
        (claim,) = (each for each in self.claims().values() if each.task_id == id)
        return claim.fence

    def put(self, place: str, data: bytes) -> None:
        """Writes a record by hand."""
        path = self.folder / place
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)

    def at(self, status: str, id: str = "T-1", owner: str = "bob") -> None:
        """Makes a task of a status, without a claim."""
        self.create(id, owner=owner)
        for step in {"open": (), "done": ("in_progress", "done")}.get(status, (status,)):
            self.update(id, status=step)

    def audit(self) -> Message:
        """The last message."""
        return self.message(self.channel.messages.numbers().highest)

    def told(self) -> dict[str, Any]:
        """What the last audit message tells."""
        body = json.loads(self.audit().body)
        assert isinstance(body, dict)
        return body

    def state(self) -> dict[str, bytes]:
        """Every file of the channel that is no lock and no cache."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in paths if path.name != ".lock" and ".cache" not in path.parts}


def refused(code: str, act: Callable[[], object], room: TaskRoom | None = None) -> ChatError:
    """The error of an action that must be refused: nothing changed, and what it says to do next can be run."""
    before = room.state() if room is not None else None
    error = refused_by_code(code, act)
    if room is not None:
        assert room.state() == before
    if error.next is not None:
        words = shlex.split(error.next)
        assert words[0] == "agent-chat"
        parse(words[1:], COMMANDS)
        assert "NAME" not in words
    return error


def next_of(error: ChatError) -> str:
    """The command that a refusal names, without the program's name."""
    assert error.next is not None
    return error.next[len("agent-chat ") :]
