"""The files of a project or a home folder in which hosts look for their settings: what `setup` may write.

The seam of the chat root for another folder, with the same audit: no link below that folder is followed. Beside that it
gives a file that replaces another one the permissions of that one.
"""

from __future__ import annotations

import errno
import os
import stat

from agent_chat.storage.filesystem import FileSystem, NotOrdinaryError

WRITING = ("write_like",)


class ProjectFiles(FileSystem):
    """The real file system below a folder that is no chat root."""

    def read_if_there(self, path: str, limit: int) -> bytes | None:
        """Returns the bytes of a file as `read_file` does, None where it or its folder is missing."""
        try:
            return self.read_file(path, limit)
        except FileNotFoundError:
            return None

    def write_like(self, path: str, data: bytes, other: str) -> None:
        """Writes and syncs a new file that is to replace another one, whose permissions and owner it gets."""
        self.write_new(path, data)
        try:
            status = self.status(other)
            if not stat.S_ISREG(status.st_mode):
                raise NotOrdinaryError(errno.EINVAL, "no ordinary file", other)
            native = self._checked(path)
            if os.name != "nt" and os.geteuid() == 0:
                os.chown(native, status.st_uid, status.st_gid, follow_symlinks=False)
            os.chmod(native, stat.S_IMODE(status.st_mode))
        except OSError:
            self.remove(path)
            raise
