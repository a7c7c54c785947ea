"""Files of hosts on a disk that fails, dies or holds something else: whole, old or new, and an error that says why."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from typing import TYPE_CHECKING, Any, Callable

import pytest

from agent_chat.errors import ChatError
from agent_chat.operations import file_changes, setup
from agent_chat.storage import filesystem
from agent_chat.storage.filesystem import FileSystem
from tests.support.cli import Crash, FakeClock, plant
from tests.support.projects import FaultyProject, Project, words

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
SETTINGS = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"
THEIRS = b'{"hooks": {"Stop": [{"hooks": []}]}} // mine'


def nothing(project: Project) -> None:
    """Leaves the project empty."""


def theirs(project: Project) -> None:
    """Has settings of its user in both files."""
    plant(project.folder / SETTINGS, THEIRS)
    plant(project.folder / LOCAL, b"{}")


def wired(project: Project) -> None:
    """Is set up already, by an older line."""
    project.set_up("claude", root_here=True, wake=True)


def wired_beside(project: Project) -> None:
    """Is set up already, in files of its user."""
    theirs(project)
    project.set_up("claude", root_here=True)


Act = Callable[..., Any]
CALLS: list[tuple[str, Callable[[Project], None], Act]] = [
    ("first", nothing, lambda project, **more: project.set_up("claude", root_here=True, **more)),
    ("beside others", theirs, lambda project, **more: project.set_up("claude", root_here=True, **more)),
    ("again", wired, lambda project, **more: project.set_up("claude", **more)),
    ("remove", wired, lambda project, **more: project.take_out("claude", **more)),
    ("remove beside others", wired_beside, lambda project, **more: project.take_out("claude", **more)),
    ("extension", nothing, lambda project, **more: project.set_up("omp", user=True, **more)),
]
IDS = [name for name, _, _ in CALLS]


def made(folder: Path, prepare: Callable[[Project], None]) -> Project:
    """A project as it is before the call."""
    project = Project(folder)
    prepare(project)
    return project


def without_temporaries(tree: dict[str, tuple[int, bytes]]) -> dict[str, tuple[int, bytes]]:
    """What a project holds, without what a killed call may leave beside the files."""
    return {name: entry for name, entry in tree.items() if not name.endswith(".tmp")}


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is synced is on the disk anyway as long as no power is lost."""
    monkeypatch.setattr(filesystem, "_sync", lambda descriptor: None)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize(("name", "prepare", "act"), CALLS, ids=IDS)
def test_a_failure_changes_nothing(
    tmp_path: Path, name: str, prepare: Callable[[Project], None], act: Act, code: int
) -> None:
    for number in itertools.count(1):
        project = made(tmp_path / f"{number}", prepare)
        before = project.tree()
        files = FaultyProject(str(project.folder), FakeClock(), at=number, code=code)
        error = refusal(act, project, files)
        if error is None:
            assert not files.fired
            break
        assert error.code == "SETUP_IO_ERROR"
        assert error.message.endswith(os.strerror(code)), "nothing is left that had to be named"
        assert project.tree() == before, files.calls[-5:]
    assert number > 8


def refusal(act: Act, project: Project, files: FaultyProject) -> ChatError | None:
    """The error of a call on a disk that may fail."""
    try:
        act(project, files=files)
    except ChatError as error:
        return error
    return None


@pytest.mark.parametrize(("name", "prepare", "act"), CALLS, ids=IDS)
def test_a_disk_that_fails_for_good_leaves_whole_files_and_names_what_it_left(
    tmp_path: Path, name: str, prepare: Callable[[Project], None], act: Act
) -> None:
    whole = made(tmp_path / "whole", prepare)
    old = whole.tree()
    act(whole)
    new = whole.tree()
    writing = ("write_new", "write_like", "replace", "remove", "remove_folder", "make_folder", "sync_folder")
    for number in itertools.count(1):
        project = made(tmp_path / f"{number}", prepare)
        files = FaultyProject(str(project.folder), FakeClock(), at=number, code=errno.EIO, only=writing, forever=True)
        error = refusal(act, project, files)
        if error is None:
            assert not files.fired
            break
        assert error.code == "SETUP_IO_ERROR"
        for path, entry in without_temporaries(project.tree()).items():
            assert _same(entry, old.get(path), project) or _same(entry, new.get(path), project), path


def _same(entry: tuple[int, bytes], other: tuple[int, bytes] | None, project: Project) -> bool:
    """Whether a file holds the same, but for the folder of the project that stands in it."""
    name = project.folder.name.encode()
    return other is not None and entry[1].replace(b"/" + name + b"/", b"/whole/") == other[1]


@pytest.mark.parametrize(("name", "prepare", "act"), CALLS, ids=IDS)
def test_a_kill_leaves_each_file_old_or_new_and_the_next_call_completes_it(
    tmp_path: Path, name: str, prepare: Callable[[Project], None], act: Act
) -> None:
    for number in itertools.count(1):
        project = made(tmp_path / f"{number}", prepare)
        old = project.tree()
        files = FaultyProject(str(project.folder), FakeClock(), at=number)
        try:
            act(project, files=files)
        except Crash:
            left = project.tree()
        else:
            break
        project.clock.turn(2 * file_changes.STALE_SECONDS)
        for temporary in project.folder.rglob("*.tmp"):
            os.utime(temporary, (0, 0))
        act(project)
        new = project.tree()
        for path, entry in without_temporaries(left).items():
            assert entry in (old.get(path), new.get(path)), path
        assert not [path for path in new if path.endswith(".tmp")]
    assert number > 8


def test_half_a_file_is_never_seen(tmp_path: Path) -> None:
    class Half(FaultyProject):
        """Dies half-way in a write."""

        def write_new(self, path: str, data: bytes, *, sync: bool = True) -> None:
            FileSystem.write_new(self, path, data[: len(data) // 2], sync=sync)
            raise Crash

    project = made(tmp_path / "p", theirs)
    with pytest.raises(Crash):
        project.set_up("claude", files=Half(str(project.folder), FakeClock(), only=()))
    assert (project.folder / SETTINGS).read_bytes() == THEIRS


# -- what is refused ---------------------------------------------------------------------------------------------------

TOO_LARGE = b'{"x": "' + b"y" * file_changes.MAX_BYTES + b'"}'
INVALID = {
    b"": "it is empty",
    b" \n// nothing\n": "it is empty",
    b"{": "line 1: { is never closed",
    b'{\n"a" 1}': "line 2: the key 'a' has no value",
    b'{"a": 1,\n "b": nul}': "line 2: no value: 'nul}'",
    b'{"a": 1} x': "line 1: more after the value",
    b'{"a": 1 "b": 2}': "line 1: a comma is missing",
    b"{'a': 1}": "line 1: no key",
    b'{"a": "b\nc"}': "line 1: a string without an end on its line",
    b'{"a": "\\x"}': "line 1: an escape that is none",
    b'{"a": 01}': "line 1: no value",
    b'{"a": /* }': "line 1: a comment without an end",
    b'{"a": 1} // x\ry': "a carriage return in a comment",
    b"[" * 200 + b"]" * 200: "nested deeper than 100",
    b"[]": "it is no object",
    b"3": "it is no object",
    b'{"hooks": []}': "line 1: hooks is no object",
    b'{"hooks": null}': "line 1: hooks is no object",
    b'{"hooks": {},\n"hooks": {}}': "the key 'hooks' is there twice",
    b'{"hooks": {"Stop": 1}}': "hooks.Stop is no array",
    b'{"hooks": {"Stop": [], "Stop": []}}': "the key 'Stop' is there twice",
    b'{"a": "\xff"}': "byte 7 is no UTF-8",
    "{}".encode("utf-16"): "byte 0 is no UTF-8",
    TOO_LARGE: "it is larger than 1024 KiB",
}


@pytest.mark.parametrize(("data", "why"), INVALID.items(), ids=[f"{number}" for number in range(len(INVALID))])
def test_what_cannot_be_read_is_refused_and_stays(tmp_path: Path, data: bytes, why: str) -> None:
    project = Project(tmp_path / "p")
    plant(project.folder / SETTINGS, data)
    before = project.tree()
    with pytest.raises(ChatError) as caught:
        project.set_up("claude")
    assert caught.value.code == "SETUP_FILE_INVALID"
    assert caught.value.message.startswith(f"{SETTINGS}: ")
    assert why in caught.value.message
    assert caught.value.next == "agent-chat setup x --print"
    assert project.tree() == before
    if "UTF-8" not in why and data != TOO_LARGE:
        assert words(project.take_out("claude")) == {SETTINGS: "unchanged"}, "there is nothing of ours in it"
    assert project.tree() == before


def test_what_was_damaged_since_is_not_touched_when_ours_goes(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    project.set_up("claude")
    path = project.folder / SETTINGS
    path.write_bytes(path.read_bytes()[:-4])
    before = project.tree()
    with pytest.raises(ChatError) as caught:
        project.take_out("claude")
    assert caught.value.code == "SETUP_FILE_INVALID"
    assert project.tree() == before


def _link_to_file(path: Path) -> None:
    plant(path.parent / "elsewhere", "{}")
    path.symlink_to("elsewhere")


def _dangling(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to("nowhere")


def _link_to_folder(path: Path) -> None:
    plant(path.parent.parent / "elsewhere" / path.name, "{}")
    path.parent.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)


IN_THE_WAY: list[Callable[[Path], object]] = [
    _link_to_file,
    _dangling,
    _link_to_folder,
    _pipe,
    lambda path: path.mkdir(parents=True),
    lambda path: plant(path.parent, "a file"),
]


@posix
@pytest.mark.parametrize("host", ["claude", "pi"])
@pytest.mark.parametrize("number", range(len(IN_THE_WAY)))
def test_what_stands_in_the_way_is_refused_and_stays(tmp_path: Path, host: str, number: int) -> None:
    project = Project(tmp_path / "p")
    wish = project.wish(host)
    path = project.folder / wish.path
    if host == "pi":
        path.parent.parent.mkdir()
    IN_THE_WAY[number](path)
    before = project.tree()
    for act in (project.set_up, project.take_out):
        with pytest.raises(ChatError) as caught:
            act(host)
        assert caught.value.code == "SETUP_FILE_REFUSED"
        assert caught.value.next == "agent-chat setup x --print"
        assert project.tree() == before


@posix
@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    plant(project.folder / SETTINGS, "{}")
    (project.folder / ".claude").chmod(0o500)
    try:
        with pytest.raises(ChatError) as caught:
            project.set_up("claude")
        assert caught.value.code == "SETUP_IO_ERROR"
    finally:
        (project.folder / ".claude").chmod(0o700)


@pytest.mark.parametrize("host", ["opencode", "omp", "pi"])
def test_an_extension_that_is_not_ours_or_not_as_it_was_stays(tmp_path: Path, host: str) -> None:
    project = Project(tmp_path / "p")
    path = project.folder / project.wish(host).path
    project.set_up(host)
    text = path.read_text("utf-8")
    for data in ("export default 1\n", "", text.replace("3000", "9000"), text + "more\n"):
        plant(path, data)
        before = project.tree()
        for act in (project.set_up, project.take_out):
            with pytest.raises(ChatError) as caught:
                act(host)
            assert caught.value.code == "SETUP_FILE_CONFLICT"
            assert project.tree() == before
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert words(project.set_up(host)) == {project.wish(host).path: "unchanged"}, "git may have turned its line ends"
    project.take_out(host)
    assert project.tree() == {}


def test_a_file_that_is_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """A host writes its own settings too, whenever its user changes one."""

    class Busy(FaultyProject):
        """Has the host write just before we do."""

        def write_like(self, path: str, data: bytes, other: str) -> None:
            plant(project.folder / SETTINGS, b'{"theme": "new"}')
            super().write_like(path, data, other)

    project = made(tmp_path / "p", theirs)
    with pytest.raises(ChatError) as caught:
        project.set_up("claude", files=Busy(str(project.folder), FakeClock(), only=()))
    assert caught.value.code == "SETUP_FILE_CONFLICT"
    assert (project.folder / SETTINGS).read_bytes() == b'{"theme": "new"}'
    assert len(project.tree()) == 3


@posix
def test_new_files_take_after_the_project_and_old_ones_keep_their_modes(tmp_path: Path) -> None:
    project = Project(tmp_path / "p")
    project.folder.chmod(0o750)
    project.set_up("claude", root_here=True)
    modes = {name: stat.S_IMODE(mode) for name, (mode, _) in project.tree().items()}
    assert modes[".claude"] == modes[".agent-chat"] == 0o750
    assert modes[SETTINGS] == modes[LOCAL] == modes[".agent-chat/.gitignore"] == 0o640


def test_only_old_temporaries_of_ours_are_swept(tmp_path: Path) -> None:
    clock = FakeClock()
    project = Project(tmp_path / "p", clock=clock)
    theirs(project)
    folder = project.folder / ".claude"
    old, young = clock.now() - 2 * file_changes.STALE_SECONDS, clock.now() - 10
    plant(folder / ".settings.json.agent-chat-1.tmp", "half", at=old)
    plant(folder / ".settings.json.agent-chat-2.tmp", "half", at=young)
    plant(folder / ".settings.json.swp", "theirs", at=old)
    project.set_up("claude")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".settings.json.agent-chat-2.tmp",
        ".settings.json.swp",
        "settings.json",
        "settings.local.json",
    ]


def test_what_would_be_too_large_to_be_read_again_is_not_written(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    data = b'{"x": "' + b"y" * (file_changes.MAX_BYTES - 100) + b'"}'
    plant(project.folder / ".claude" / "settings.json", data.decode())
    with pytest.raises(ChatError, match="it would be larger than 1024 KiB"):
        project.set_up("claude")
    assert (project.folder / ".claude" / "settings.json").read_bytes() == data


def test_of_two_calls_that_write_the_same_neither_fails(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    place, part = project.place(), setup.main_part(project.wish("claude"))
    first, second = place.plan([part]), place.plan([part])
    place.carry_out(first)
    place.carry_out(second)
    assert project.set_up("claude").changes[0].word == file_changes.UNCHANGED
