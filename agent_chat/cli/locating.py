"""Where the paths of a call lie: the work tree that it is about, as option, environment and channel name it."""

from __future__ import annotations

from agent_chat.cli.acting import expanded, variable
from agent_chat.storage import work_tree
from agent_chat.storage.journal import OF_LOCKS, journal_error
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.records.locked_path import Located
    from agent_chat.storage.channel import Channel


class Locator:
    """Finds the paths of a call in its work tree, which is looked for when the first path is."""

    def __init__(self, request: Request, channel: Channel) -> None:
        self._request = request
        self._channel = channel
        self._tree: work_tree.WorkTree | None = None

    def __call__(self, text: str) -> Located:
        """Returns where a path lies; fails as `work_tree` does, and with PATH_LOCK_STORAGE_ERROR."""
        try:
            if self._tree is None:
                self._tree = self._find()
            return self._tree.locate(text)
        except OSError as error:
            raise journal_error(self._channel, OF_LOCKS, error) from error

    @property
    def words(self) -> str:
        """The words by which another command finds the same work tree; none where it needs none."""
        named = expanded(self._request.optional_text("workspace"))
        return f" --workspace {shell_word(named)}" if named else ""

    def _find(self) -> work_tree.WorkTree:
        return work_tree.find(
            self._request.workspace,
            option=expanded(self._request.optional_text("workspace")),
            variable=expanded(variable(self._request, "AGENT_CHAT_WORKSPACE")),
            recorded=self._channel.meta.workspace,
            folder=work_tree.current_folder(),
        )
