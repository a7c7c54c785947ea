"""Links, folders and files that may not be read, in the place of each file that a pending entry names.

Whoever looks at other tasks goes on; the recovery says what is wrong and names a next step that is not itself, and
--keep is a way out of what no permission and no disk can mend.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
from typing import TYPE_CHECKING, Callable, TypeVar

from tests.crash.interrupted import interrupted
from tests.crash.task_rows import CLAIM, PENDING, SETTLE, tasks
from tests.support import tally
from tests.support.recording import RecordingFileSystem, Step
from tests.support.staging import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from agent_chat.storage.workspace import Clock
    from tests.support.staging import Answer, FilesMaker

T = TypeVar("T")

LINK, FOLDER, DENIED = "a link", "a folder", "not readable"
KINDS = (LINK, FOLDER, DENIED)
MESSAGE = "0004-bob-lease-claimed-t.md"
PLACES = (PENDING, "tasks/T.json", "claims/T.bob.json", MESSAGE)
OTHERS = (("task", "list", "dev"), ("task", "ready", "dev"), ("task", "show", "dev", "U"), ("locks", "dev"))


class _DenyingFileSystem(RecordingFileSystem):
    """May not read one file; root, who runs tests as well, may read all that really is there."""

    def __init__(self, root: str, clock: Clock, *, path: str) -> None:
        super().__init__(root, clock)
        self._path = path

    def around(self, step: Step, act: Callable[[], T], part: Callable[[float], None] | None) -> T:
        if step.name in ("read_file", "append") and step.args[0] == self._path and os.path.exists(self._path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self._path)
        return act()


def check_odd_file(folder: Path, at: tuple[str, int], place: str, kind: str) -> list[str]:
    """Puts something odd in the place of a file of an interrupted claim, and asks everybody."""
    stage = Stage(str(folder / "root"))
    tasks(stage)
    interrupted(stage, CLAIM, at)
    path = os.path.join(stage.root, "dev", place)
    files = _make_odd(path, kind, folder)
    tally.count("odd files")
    found = [text for words in OTHERS for text in _of_look(words, stage.call(*words, files=files), path)]
    doctor = stage.call("doctor", files=files)
    findings = [(str(each["id"]), str(each["path"])) for each in doctor.data.get("findings", ())]
    told = any(id in ("journal.pending", "journal.valid") for id, _ in findings)
    if not told and not (place == PENDING and kind == DENIED and any(at.endswith(PENDING) for _, at in findings)):
        found.append(f"the doctor finds {findings}")
    refused = stage.call(*SETTLE, files=files)
    if refused.status == 0:
        return found
    hint = str(refused.data["error"]["next"])
    if kind == DENIED:  # to be mended; then the call is the same
        return (
            found if path in refused.out or place in refused.out else [*found, f"it does not say what: {refused.out}"]
        )
    if not hint.endswith(" --keep"):
        found.append(f"the recovery says {refused.out}")
    kept = stage.call(*SETTLE, "--keep", files=files)
    after = stage.call(*SETTLE, files=files)
    if kept.data.get("outcome") != "kept" or after.data.get("outcome") != "nothing pending":
        found.append(f"--keep is answered with {kept.status} {kept.out}, then {after.out}")
    return found


def _make_odd(path: str, kind: str, folder: Path) -> FilesMaker:
    if kind == DENIED:
        return functools.partial(_DenyingFileSystem, path=path)
    if os.path.exists(path):
        shutil.move(path, folder / "aside")
    if kind == LINK:
        os.symlink(folder / "aside", path)
    else:
        os.mkdir(path)
    return RecordingFileSystem


def _of_look(words: tuple[str, ...], answer: Answer, path: str) -> list[str]:
    """One odd file stops nobody who looks at others, but the entry that may not be read: what it tells is not known."""
    what = " ".join(words)
    if path.endswith(PENDING) and answer.status == 2 and words[0] == "task":
        return [] if answer.data["error"].get("path") == path else [f"{what} does not say what: {answer.out}"]
    if answer.status != 0:
        return [f"{what} is answered with {answer.status} {answer.out}"]
    warned = " ".join(answer.data.get("warnings", ()))
    return [] if words[0] == "locks" or "pending" in warned else [f"{what} does not tell of what is pending"]
