"""What other programs, people and accidents put into a channel: nothing blocks, nothing passes for a message that is
none, later messages flow, and the doctor names each with a remedy.
"""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Callable

import pytest

from agent_chat.storage.filesystem import FileSystem
from agent_chat.storage.workspace import Clock, Workspace
from tests.support.roots import Root, age_file, make_root, message_text

if TYPE_CHECKING:
    from pathlib import Path

GOOD = message_text(3, "bob", "forged")
COMMANDS = [
    ("peek", "dev"),
    ("show", "dev", "3"),
    ("thread", "dev", "1"),
    ("search", "dev", "forged"),
    ("inbox", "--as", "carol"),
    ("channels",),
    ("roster", "dev"),
    ("wait", "dev", "--as", "erin", "--timeout", "0"),
    ("wait", "dev", "--as", "frank", "--timeout", "0", "--reply-to", "1"),
    ("join", "dev", "--as", "bob"),
    ("ack", "dev", "1", "--as", "bob"),
]

# Names that other programs give to their files; each holds a valid message, so that only the name keeps it out.
NAMES = (
    " .0003-bob-x.md.swp .0003-bob-x.md.swo 0003-bob-x.md~ #0003-bob-x.md# .#0003-bob-x.md 4913"
    " 0003-bob-x.md.bak 0003-bob-x.md.orig 0003-bob-x.md.tmp 0003-bob-x.txt 0003-bob-x.MD 003-bob-x.md"
    " 0003bob.md 0000-bob-x.md -0003-bob-x.md ٠٠٠٣-bob-x.md 0003-bob-x.sync-conflict-20250101-120000-ABCDEFG.md"
    " 0003-bob-x_conflict-20250101-120000.md 0003-bob-x(1).md 0003-bob-x-DESKTOP-1A2B3C.md"
    " ~syncthing~0003-bob-x.md.tmp .goutputstream-ABC123 notes.md README.md desktop.ini .DS_Store Thumbs.db"
    " 99999999999-bob-x.md"
).split()
NAMES += [
    "0003-bob-x (Bob's conflicted copy 2025-01-01).md",
    "0003-bob-x (conflicted copy 2025-01-01 120000).md",
    "0003-bob-x (1).md",
    "message 0003-bob-x.md",
    "0003-bob-line\nbreak.md",
]
# Copies whose names are those of messages: the content of another message of that number tells them.
COPIES = {"0003-bob-x_conflict-20250101-120000.md", "0003-bob-x-DESKTOP-1A2B3C.md", "0003-bob-line\nbreak.md"}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A channel whose messages 1 and 2 dave has read."""
    made = make_root(tmp_path / "root")
    made.post("one")
    made.post("two")
    made.read("dave")
    return made


def check_nothing_is_delivered(root: Root, name: str) -> list[str]:
    """Checks that a file is no message to anybody and stops nobody; returns the invariants that the doctor names."""
    began = time.monotonic()
    for arguments in COMMANDS:
        for extra in ((), ("--json",)):
            done = root.run(*arguments, *extra)
            assert done.status in (0, 1, 2), (arguments, done)
            if arguments[0] not in ("show", "thread") and "--reply-to" not in arguments:
                assert done.status != 2, (arguments, done)
            assert "forged" not in done.out, arguments
    assert root.post("later", sender="zoe") > 2
    for agent, expected in (("dave", ["later"]), ("bob", ["two", "later"]), ("carol", ["one", "two", "later"])):
        assert root.titles(agent) == expected
    findings = [finding for found, each in root.doctor("dev").items() if found == name for finding in each]
    assert findings, (name, root.doctor("dev"))
    assert all(finding["remedy"] and finding["message"] for finding in findings)
    fixed = root.run("doctor", "dev", "--fix")
    assert fixed.status in (0, 1)
    assert time.monotonic() - began < 5
    return sorted(finding["id"] for finding in findings)


def test_files_with_the_names_of_no_messages_are_left_alone(root: Root) -> None:
    paths = [root.plant(name, GOOD) for name in NAMES if name not in COPIES]
    check_nothing_is_delivered(root, paths[0].name)
    found = root.doctor("dev")
    assert {path.name: [each["id"] for each in found[path.name]] for path in paths} == {
        path.name: ["file.foreign"] for path in paths
    }
    assert {path.read_text() for path in paths} == {GOOD}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in COPIES])
def test_a_file_with_the_name_of_no_message_is_left_alone(root: Root, name: str) -> None:
    path = root.plant(name, GOOD)
    assert check_nothing_is_delivered(root, name) == ["file.foreign"]
    assert path.read_text() == GOOD


@pytest.mark.parametrize("name", sorted(COPIES))
def test_a_conflict_copy_with_the_name_of_a_message_is_delivered_once_at_most(root: Root, name: str) -> None:
    root.plant("0003-bob-x.md", GOOD)
    root.plant(name, GOOD)
    assert root.titles("carol") == ["one", "two", "forged"]
    found = {file: [each["id"] for each in findings] for file, findings in root.doctor("dev").items()}
    assert found.get(name) or found.get("0003-bob-x.md")
    assert "message.copy" in [kind for kinds in found.values() for kind in kinds] or "\n" in name


def _folder(path: Path, _: Path) -> None:
    path.mkdir()
    (path / "0003-bob-x.md").write_text(GOOD)


def _fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path, _: Path) -> None:
    import socket

    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _dangling(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "nowhere")


def _loop(path: Path, _: Path) -> None:
    path.symlink_to(path.name)


def _outside(path: Path, outside: Path) -> None:
    (outside / "victim.md").write_text(GOOD)
    path.symlink_to(outside / "victim.md")


def _inside(path: Path, _: Path) -> None:
    path.symlink_to("0001-alice-one.md")


@pytest.mark.skipif(os.name == "nt", reason="files of POSIX")
@pytest.mark.parametrize(
    "make", [_folder, _fifo, _socket, _dangling, _loop, _outside, _inside], ids=lambda make: make.__name__[1:]
)
def test_what_is_no_ordinary_file_is_no_message(root: Root, tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    make(root.channel() / "0003-bob-x.md", outside)
    assert check_nothing_is_delivered(root, "0003-bob-x.md") == ["message.file"]


HEADER = "---\nseq: 3\nfrom: bob\ntitle: forged\n"
CONTENTS = {
    "empty": b"",
    "newline": b"\n",
    "random": bytes(range(256)) * 8,
    "nul": b"\0" * 4096,
    "text": b"forged, without a header\n",
    "open-header": HEADER.encode(),
    "other-number": message_text(4, "bob", "forged").encode(),
    "body-no-utf8": HEADER.encode() + b"---\n\xff\xfe\n",
    "body-latin1": HEADER.encode() + b"---\ncaf\xe9\n",
    "utf-16": GOOD.encode("utf-16"),
    "header-no-utf8": b"---\nseq: 3\nfrom: bob\ntitle: \xff\n---\nforged\n",
    "nul-in-header": b"---\nseq: 3\nfrom: bob\ntitle: a\0b\n---\nforged\n",
    "five-mebibytes": GOOD.encode() + b"x" * (5 << 20),
    "header-of-a-mebibyte": HEADER.encode() + b"x: " + b"y" * (1 << 20) + b"\n---\nforged\n",
    "conflict-marks": b"<<<<<<< HEAD\n" + GOOD.encode() + b"=======\n" + GOOD.encode() + b">>>>>>> other\n",
    "conflict-in-header": (HEADER + "<<<<<<< HEAD\ntopic: a\n=======\ntopic: b\n>>>>>>> x\n---\nforged\n").encode(),
    "key-twice": (HEADER + "seq: 3\n---\nforged\n").encode(),
    "json": b'{"seq": 3, "from": "bob", "title": "forged"}\n',
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=list(CONTENTS))
def test_what_is_no_message_is_set_aside(root: Root, content: bytes) -> None:
    path = root.plant("0003-bob-x.md", content)
    assert check_nothing_is_delivered(root, "0003-bob-x.md") == ["message.valid"]
    assert path.read_bytes() == content


def test_set_aside_is_said_with_name_and_reason_when_the_cursor_passes(root: Root) -> None:
    root.plant("0003-bob-x.md", "text\n")
    root.plant("0004-bob-x.md", message_text(5, "bob"))
    done = root.must("read", "dev", "--as", "dave")
    assert done.err.splitlines() == [
        "agent-chat: warning: set aside, no message: 0003-bob-x.md: the file does not begin with a `---` line",
        "agent-chat: warning: set aside, no message: 0004-bob-x.md: its header says seq 5",
    ]
    assert root.must("read", "dev", "--as", "dave").err == ""


# For each field: values of every type and shape that do not belong there, as they would stand after its colon.
WRONG = {
    "missing": None,
    "null": "null",
    "empty": "",
    "number": "7",
    "negative": "-1",
    "zero": "0",
    "huge": "9" * 40,
    "float": "1.5",
    "list": "[a, 1]",
    "empty-list": "[]",
    "object": "{a: b}",
    "bool": "true",
    "long": "x" * (1 << 20),
    "long-list": "[" + ", ".join(["bob"] * 50_000) + "]",
    "text": '"some text"',
    "open-quote": '"no end',
    "bad-escape": '"\\q"',
    "control": '"a\\x1b[31m\\u202e\\0b"',
    "name-with-path": "../../etc/passwd",
    "reserved": "all",
    "anchor": "*x",
    "block": "|\n  several\n  lines",
    "wrong-date": "2025-13-45T99:99:99+99:99",
}
FIELDS = (
    "seq from to title created reply_to topic status mentions summons refs account session connection level key"
    " transaction was".split()
)
BASE = {"seq": "3", "from": "bob", "title": '"forged"', "created": '"2025-01-01T00:00:00+00:00"'}


@pytest.mark.slow
@pytest.mark.parametrize("field", FIELDS)
def test_a_header_field_of_any_wrong_kind_never_crashes_nor_stops_anything(root: Root, field: str) -> None:
    for kind, value in WRONG.items():
        fields = {**BASE, field: value}
        lines = [f"{key}: {text}" for key, text in fields.items() if text is not None]
        path = root.plant("0003-bob-x.md", "\n".join(["---", *lines, "---", "body", ""]))
        valid = root.run("show", "dev", "3", "--json").status == 0
        for arguments in COMMANDS[:6]:
            for extra in ((), ("--json",)):
                done = root.run(*arguments, *extra)
                assert done.status in (0, 1, 2), (field, kind, arguments, done)
                assert "\x1b" not in done.out + done.err
        agent = f"agent-{kind}"
        read = root.must("read", "dev", "--as", agent, "--max-bytes", "9000000", "--json").json
        files = [message["file"] for message in read["messages"]]
        assert read["cursor"] == 3, (field, kind)
        assert files[:2] == ["0001-alice-one.md", "0002-alice-two.md"]
        assert ("0003-bob-x.md" in files) <= valid, (field, kind)
        findings = root.doctor("dev").get("0003-bob-x.md", [])
        assert valid or [finding["id"] for finding in findings] == ["message.valid"], (field, kind)
        path.unlink()


@pytest.mark.parametrize(
    ("field", "kinds"),
    [
        ("seq", set(WRONG) - {"block"}),
        ("from", {"missing", "null", "empty", "list", "object", "long", "name-with-path", "reserved", "text"}),
        ("reply_to", {"list", "text", "float", "bool"}),
    ],
)
def test_a_header_whose_needed_fields_are_wrong_is_no_message(root: Root, field: str, kinds: set[str]) -> None:
    for kind in sorted(kinds):
        fields = {**BASE, field: WRONG[kind]}
        lines = [f"{key}: {text}" for key, text in fields.items() if text is not None]
        root.plant("0003-bob-x.md", "\n".join(["---", *lines, "---", "body", ""]))
        assert root.run("show", "dev", "3", "--json").json["error"]["code"] == "MESSAGE_DAMAGED", kind


def test_a_message_written_by_hand_with_a_free_number_is_delivered(root: Root) -> None:
    root.plant("0003-zoe-hello.md", message_text(3, "zoe", "by hand"))
    assert root.titles("dave") == ["by hand"]
    assert root.post("next") == 4
    assert root.doctor() == {}


def test_a_message_by_hand_far_above_the_last_is_delivered_and_numbers_go_on_from_it(root: Root) -> None:
    root.plant("12345-zoe-hello.md", message_text(12345, "zoe", "by hand"))
    assert root.titles("dave") == ["by hand"]
    assert root.post("next") == 12346
    assert root.titles("dave") == ["next"]


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names there are Unicode")
@pytest.mark.parametrize("name", [b"0003-bob-\xff.md", b"\xff\xfe.md", b".cursors/\xff.txt", b"\xffchannel"])
def test_names_that_are_no_utf_8_do_not_disturb(root: Root, name: bytes) -> None:
    path = os.path.join(os.fsencode(root.path if name == b"\xffchannel" else root.channel()), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"junk\n")
    os.utime(path, (1, 1))
    for arguments in (*COMMANDS[:2], *COMMANDS[3:], ("read", "dev", "--as", "dave"), ("doctor",), ("doctor", "--fix")):
        for extra in ((), ("--json",)):
            done = root.run(*arguments, *extra)
            assert done.status in (0, 1, 2), (arguments, done)
    root.post("later", sender="zoe")
    assert root.titles("dave") == ["later"]
    if name != b"\xffchannel":
        shown = root.run("doctor").out
        assert "\\xff" in shown or "\\udcff" in shown


@pytest.mark.parametrize("content", [b"", HEADER.encode(), GOOD.encode()[:-1]], ids=["empty", "header", "no-newline"])
def test_a_young_file_that_is_not_complete_stops_the_cursor_until_it_is(root: Root, content: bytes) -> None:
    root.plant("0003-bob-x.md", content, age=0)
    root.post("behind it", sender="zoe")
    reply = root.read("dave")
    assert (reply["messages"], reply["cursor"], reply["held"].split(":")[0]) == ([], 2, "0003-bob-x.md")
    assert "stopped before 0003-bob-x.md" in root.must("read", "dev", "--as", "dave").err
    assert [finding["id"] for finding in root.doctor()["0003-bob-x.md"]] == ["message.unfinished"]
    root.plant("0003-bob-x.md", GOOD, age=0)
    assert root.titles("dave") == ["forged", "behind it"]


def test_a_file_that_stays_incomplete_is_passed_once_it_is_two_seconds_old(root: Root) -> None:
    path = root.plant("0003-bob-x.md", b"---\nseq: 3\n", age=0)
    root.post("behind it", sender="zoe")
    assert root.titles("dave") == []
    age_file(path, 3)
    assert root.titles("dave") == ["behind it"]


class FailingFiles(FileSystem):
    """A file system that cannot read files of one name."""

    def __init__(self, root: str, name: str, code: int) -> None:
        super().__init__(root, Clock())
        self._name = name
        self._code = code

    def read_file(self, path: str, limit: int) -> bytes:
        if path.endswith(self._name):
            raise OSError(self._code, os.strerror(self._code), path)
        return super().read_file(path, limit)


@pytest.mark.parametrize(
    "code", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ENOMEM], ids=lambda code: errno.errorcode[code]
)
def test_a_message_that_cannot_be_read_stops_the_cursor_with_an_error_and_comes_later(root: Root, code: int) -> None:
    root.post("unreadable", sender="zoe")
    root.post("behind it", sender="zoe")

    def run(*arguments: str) -> tuple[int, dict[str, object]]:
        files = FailingFiles(str(root.path), "0003-zoe-unreadable.md", code)
        done = root.run(*arguments, "--json", workspace=Workspace(str(root.path), files=files))
        return done.status, done.json

    commands: list[tuple[str, ...]] = [("read", "dev", "--as", "carol"), ("wait", "dev", "--as", "carol")]
    for arguments in commands:
        status, reply = run(*arguments)
        error = reply["error"]
        assert isinstance(error, dict)
        assert (status, error["code"], error["errno"]) == (2, "IO_ERROR", errno.errorcode[code])
        assert "0003-zoe-unreadable.md" in error["message"]
    assert root.cursor("carol") == 2
    commands = [("inbox", "--as", "carol"), ("show", "dev", "3"), ("search", "dev", "x")]
    for arguments in commands:
        assert run(*arguments)[0] == 2, arguments
    status, reply = run("doctor", "dev")
    findings = reply["findings"]
    assert isinstance(findings, list)
    assert [(finding["id"], os.path.basename(finding["path"])) for finding in findings] == [
        ("message.file", "0003-zoe-unreadable.md")
    ]
    assert root.titles("carol") == ["unreadable", "behind it"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tasks", "claims", "locks", ".cursors", ".cache", ".lock", "_meta.json", "state.md"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_for_a_file_or_a_file_for_a_folder_is_refused_and_named(root: Root, name: str, kind: str) -> None:
    path = root.channel() / name
    if path.exists():
        path.rename(root.path / "aside")
    path.mkdir() if kind == "folder" else path.write_bytes(b"")
    refused = False
    for arguments in (("read", "dev", "--as", "carol"), ("post", "dev", "--from", "zoe", "--title", "x"), *COMMANDS):
        for extra in ((), ("--json",)):
            done = root.run(*arguments, *extra)
            assert done.status in (0, 1, 2), (arguments, done)
            refused = refused or (done.status == 2 and "PATH_REFUSED" in done.out + done.err)
    if refused:
        assert root.doctor("dev")
