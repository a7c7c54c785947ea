"""The state of a channel is the same bytes for the same files, whoever asks: only the moment "as of" differs."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from typing import TYPE_CHECKING

import pytest

from agent_chat.storage import message_index
from agent_chat.storage.filesystem import FileSystem
from tests.cli import leasing
from tests.support.cli import REPOSITORY, START, FakeClock, message_file, plant, run, workspace_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CHANNEL = "канал-日本"
PEOPLE = ("Оксана", "花子", "José", "Jose\u0301e", "İpek", "zoë")
MANY = 40  # more than are read without a cache
MONTH = str(30 * 24 * 3600)
AS_OF = re.compile(r'(?<=As of )\S+(?=; )|(?<="as_of": ")[^"]+')
TITLES = (
    "Decision: naïve e\u0301 – 概要 😀",
    "[BLOCKER] İstanbul, ıssız 👩‍💻",
    "(verification) नेहा ran it",
    "Evidence: 🇺🇦 ﬁn\u0327al",
)
PYTHONS = ("python3.9", "python3.10", "python3.11", "python3.12", "python3.13")
ODD_PLACES = (
    {"LC_ALL": "C", "TZ": "Asia/Kathmandu", "PYTHONUTF8": "0", "PYTHONHASHSEED": "1"},
    {"LC_ALL": "C", "TZ": "America/St_Johns", "PYTHONUTF8": "1", "PYTHONHASHSEED": "2"},
    {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONUTF8": "0", "PYTHONHASHSEED": "3"},
    {"LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "1", "PYTHONHASHSEED": "4"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns", "PYTHONUTF8": "0", "PYTHONHASHSEED": "5"},
    {"LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "1", "PYTHONIOENCODING": "cp1252", "PYTHONHASHSEED": "6"},
    {"LC_ALL": "C.UTF-8", "TZ": "Pacific/Apia", "PYTHONUTF8": "0", "PYTHONHASHSEED": "7"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict", "PYTHONHASHSEED": "8"},
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a channel that has something in every section, in many scripts, and something damaged."""
    root = tmp_path_factory.mktemp("made") / "root"
    now = FakeClock(time.time())
    leasing.call(root, "init", CHANNEL, "--topic", "тема 話題 e\u0301 🚀")
    for number in range(MANY):
        text = f"{TITLES[number % len(TITLES)]} {number}" if number % 5 == 0 else f"talk {number}"
        body = f"Їжак {number}\n# no heading\nمرحبا e\u0301\u0327 👩‍💻\n" * (1 + number % 3)
        post(root, text, body, PEOPLE[number % len(PEOPLE)])
    post(root, "İs over", "", PEOPLE[0], "--status", "resolved", "--reply", "6")
    for number, task in enumerate(("zeta", "Alpha", "alpha-2", "t-10", "t-9", "lapsed")):
        depends = ("--depends-on", "zeta") if number % 2 else ()
        acceptance = ("--acceptance", "ğ ü ş İ", "--acceptance", "概要")
        title = TITLES[0] if number == 4 else f"Aufgabe ß {number}"
        words = ("task", "create", CHANNEL, task, "--from", "José", "--title", title, *acceptance, *depends)
        assert leasing.call(root, *words).status == 0
    for clock, task, who in ((now, "zeta", "İpek"), (None, "Alpha", "José"), (now, "t-9", "花子")):
        leasing.call(root, "task", "claim", CHANNEL, task, "--as", who, "--lease-seconds", MONTH, clock=clock)
    for clock, path, who in ((now, "src/ü.py", "花子"), (None, "İ/", "zoë"), (now, "docs/", "Оксана")):
        leasing.call(
            root, "lock", CHANNEL, path, "--as", who, "--lease-seconds", MONTH, "--reason", "ß 🚀", clock=clock
        )
    assert leasing.call(root, "task", "done", CHANNEL, "zeta", "--as", "İpek", clock=now).status == 0
    plant(root / CHANNEL / "0001-zed-also.md", message_file(1, "zed", "Decision: a double"))
    (second,) = (root / CHANNEL).glob("0002-*")
    shutil.copy(second, root / CHANNEL / "0002-zed-copy.md")
    plant(root / CHANNEL / "0077-zed-broken.md", "no message")
    plant(root / CHANNEL / "tasks" / "damaged.json", '{"a": 1,}')
    plant(root / CHANNEL / "locks" / f"{'d' * 16}.json", '["ü",]')
    for folder, _, names in os.walk(root):
        for name in names:
            os.utime(os.path.join(folder, name), (START, START))
    return root


def post(root: Path, title: str, body: str, sender: str, *more: str) -> None:
    call = ("post", CHANNEL, "--from", sender, "--title", title, "--body", body or "x", *more)
    assert leasing.call(root, *call).status == 0


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy of that root, so long after the last change that a cache is believed."""
    shutil.copytree(made, tmp_path / "root")
    return tmp_path / "root"


def apart(text: str, root: Path) -> str:
    """A text without its moment and without its root."""
    assert len(AS_OF.findall(text)) == 1, text
    return AS_OF.sub("NOW", text).replace(str(root), "ROOT")


def texts(root: Path, *, files: FileSystem | None = None, ahead: float = 100.0) -> list[str]:
    """What `state` says in both forms, and what it writes, in this process."""
    clock = FakeClock(time.time() + ahead)
    workspace = workspace_on(root, clock=clock, files=files)
    found = []
    for form in ([], ["--json"], ["--write"]):
        done = run(["state", CHANNEL, *form], root, workspace=workspace)
        assert (done.status, done.stderr) == (0, "")
        found.append(apart(done.stdout, root))
    assert found[2] == found[0]
    written = (root / CHANNEL / "state.md").read_bytes().decode("utf-8")
    (root / CHANNEL / "state.md").unlink()
    return [*found[:2], apart(written, root)]


def texts_of_process(python: str, root: Path, environment: Mapping[str, str]) -> list[str]:
    """The same by a process of its own."""
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AGENT_CHAT_ROOT": str(root),
        **environment,
    }
    found = []
    for form in ([], ["--json"], ["--write"]):
        command: list[str | bytes] = [python, "-m", "agent_chat", "state", os.fsencode(CHANNEL), *form]
        done = subprocess.run(command, env=variables, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        found.append(apart(done.stdout.decode("utf-8"), root))
    found[2] = apart((root / CHANNEL / "state.md").read_bytes().decode("utf-8"), root)
    return found


def test_there_is_something_in_every_section(root: Path) -> None:
    text, document, written = texts(root)
    assert written == text
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(sections) == 9
    for section in sections:
        assert not section.endswith("\nnone\n\n"), section
    for name in PEOPLE:
        assert unicodedata.normalize("NFC", name) in document


def test_two_calls_say_the_same(root: Path) -> None:
    assert texts(root) == texts(root) == texts(root, ahead=5000)


class Shuffled(FileSystem):
    """A file system that lists a folder in another order each time."""

    chance = random.Random(0)

    def list_folder(self, path: str) -> list[str]:
        names = super().list_folder(path)
        self.chance.shuffle(names)
        return names


def test_the_order_in_which_a_folder_lists_its_files_does_not_matter(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = texts(root)
    for look_at_each in (message_index.LOOK_AT_EACH, MANY - 1):
        monkeypatch.setattr(message_index, "LOOK_AT_EACH", look_at_each)
        for forget in (True, False, True, False):
            if forget:
                shutil.rmtree(root / CHANNEL / ".cache")
            assert texts(root, files=Shuffled(str(root), FakeClock())) == wanted


def test_the_order_in_which_files_were_made_does_not_matter(root: Path, tmp_path: Path) -> None:
    wanted = texts(root)
    copy = tmp_path / "copy"
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_file() and ".cache" not in path.parts:
            plant(copy / path.relative_to(root), path.read_bytes())
    assert texts(copy) == wanted


def test_a_copy_with_other_times_and_inodes_says_the_same(root: Path, tmp_path: Path) -> None:
    wanted = texts(root)
    for name in ("one", "two"):  # with and without the cache, whose marks are those of the other files
        shutil.copytree(root, tmp_path / name, copy_function=shutil.copyfile)
    shutil.rmtree(tmp_path / "two" / CHANNEL / ".cache")
    for name in ("one", "two"):
        assert texts(tmp_path / name) == wanted
        assert texts(tmp_path / name) == wanted


@pytest.mark.parametrize("look_at_each", [message_index.LOOK_AT_EACH, MANY - 1])
def test_a_cache_changes_nothing(root: Path, look_at_each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_index, "LOOK_AT_EACH", look_at_each)
    cache = root / CHANNEL / ".cache"
    caches = [cache / message_index.MESSAGES_FILE]
    if look_at_each < MANY:
        caches.append(cache / message_index.HIGHLIGHTS_FILE)
    wanted = texts(root)
    kept = {path: path.read_bytes() for path in caches}
    assert texts(root) == wanted
    for path in caches:
        path.unlink()
        assert texts(root) == wanted
        for damaged in (b"", b"x", kept[path][:-1], kept[path].replace(b"decision", b"blocker!")):
            path.write_bytes(damaged)
            assert texts(root) == wanted
    shutil.rmtree(cache)
    assert texts(root) == wanted


@pytest.mark.slow
def test_neither_locale_nor_time_zone_nor_hash_seed_changes_a_byte(root: Path) -> None:
    wanted = texts_of_process(sys.executable, root, {})
    assert wanted[0] == wanted[2]
    for environment in ODD_PLACES:
        assert texts_of_process(sys.executable, root, environment) == wanted, environment


def python_called(name: str) -> str | None:
    """The path of another Python, None where there is none; a shim of pyenv needs to be told which versions count."""
    found = shutil.which(name)
    if found is None:
        return None
    variables = dict(os.environ)
    manager = shutil.which("pyenv")
    if manager is not None:
        there = subprocess.run([manager, "versions", "--bare"], capture_output=True, text=True, check=False).stdout
        variables["PYENV_VERSION"] = ":".join(there.split())
    asked = [found, "-c", "import sys; print(sys.executable)"]
    answer = subprocess.run(asked, env=variables, capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


@pytest.mark.slow
@pytest.mark.parametrize("name", PYTHONS)
def test_every_python_writes_the_same_bytes(name: str, root: Path) -> None:
    python = python_called(name)
    if python is None:
        pytest.skip(f"no {name} here")
    wanted = texts_of_process(sys.executable, root, {})
    found = texts_of_process(python, root, {"LC_ALL": "C"})
    assert [text.split("\n") for text in found] == [text.split("\n") for text in wanted]
