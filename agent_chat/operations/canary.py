"""A canary: a root and a project of its own in a temporary folder, in which hooks are tried and nobody works.

An agent that nobody else is has one unread message there, and another one holds a file. All of it is private to the
user, is made through the seam, and is removed with whatever the hooks left in it.
"""

from __future__ import annotations

from agent_chat.operations import channels, messages, path_locks
from agent_chat.operations.leases import Actor
from agent_chat.operations.messages import Draft
from agent_chat.records.hook_answer import Canary
from agent_chat.storage import layout, work_tree
from agent_chat.storage.filesystem import is_folder
from agent_chat.storage.project_files import ProjectFiles
from agent_chat.storage.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.storage.workspace import Clock, Ids

PREFIX = "agent-chat-canary-"
CHANNEL = "canary"
FILE = "canary.txt"
LEASE_SECONDS = "600"


class CanaryRoom:
    """The place of a canary, below a folder for temporary files: its `root`, its `project`, and who is in it.

    `make` and `remove` fail with OSError, or ChatError; whoever makes it removes it, whatever happens.
    """

    def __init__(self, temporary: str, clock: Clock, ids: Ids) -> None:
        token = ids.fresh()
        self.folder = layout.join(temporary, PREFIX + token)
        self.root = layout.join(self.folder, "root")
        self.project = layout.join(self.folder, "project")
        self.file = layout.join(self.project, FILE)
        self.canary = Canary(agent=f"canary-{token[:8]}", unread=1, holder=f"holder-{token[8:]}")
        self._clock, self._ids = clock, ids

    def make(self) -> None:
        """Makes the folders, the channel with one unread message, and the file that the other agent holds."""
        files = ProjectFiles(self.folder, self._clock)
        files.make_root()
        files.make_folder(self.project)
        files.write_new(self.file, b"one\n", sync=False)
        workspace = Workspace(self.root, clock=self._clock, ids=self._ids)
        nobody = {"members": None, "humans": None, "topic": None, "owner": None, "level": None}
        channel = channels.create(workspace, channels.plan_channel(CHANNEL, **nobody))
        actor = Actor(name=self.canary.holder, session=None)
        tree = work_tree.find(workspace, option=None, variable=None, recorded=None, folder=self.project)
        path_locks.lock(channel, actor, [tree.locate(self.file)], lease_seconds=LEASE_SECONDS, why="canary")
        messages.post(channel, Draft(sender=self.canary.holder, title="canary", body="canary\n"))

    def remove(self) -> None:
        """Removes all of it, if it is there; links are removed and not followed."""
        try:
            _remove(ProjectFiles(self.folder, self._clock), self.folder)
        except FileNotFoundError:
            return


def _remove(files: ProjectFiles, folder: str) -> None:
    for name in files.list_folder(folder):
        path = layout.join(folder, name)
        if is_folder(files.status(path)):
            _remove(files, path)
        else:
            files.remove(path)
    files.remove_folder(folder)
