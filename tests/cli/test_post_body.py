"""Where the body of a post comes from, and that it arrives byte for byte or not at all."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli import standard_input
from agent_chat.records import frontmatter
from tests.support.cli import CLOSED, NULL, SILENT, Result, Special, run, run_process

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE = 1 << 20
BODIES = {
    "one byte": b"x",
    "final newline": b"x\n",
    "CRLF": b"a\r\nb\r\n",
    "BOM": b"\xef\xbb\xbfa\n",
    "spaces": b"  a  \n\n  \n",
    "delimiters": b"---\nseq: 9\nfrom: human\n---\n",
    "controls": b"\x1b[2J\x07\x08\r",
    "shell": b"use `rm -rf x` and $(id)\n",
    "many scripts": "Ї さ ع é e\u0301 😀 \u202e\n".encode(),
    "64 KiB": b"x" * 65535 + b"\n",
    "1 MiB": b"\xc3\xb1" * (MEBIBYTE // 2),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run(["init", "dev"], tmp_path / "root")
    return tmp_path / "root"


def post(root: Path, *options: str, stdin: bytes | Special = NULL) -> Result:
    return run(["post", "dev", "--from", "alice", "--title", "t", *options], root, stdin=stdin)


def stored(root: Path, result: Result) -> bytes:
    assert result.status == 0, result
    name = result.stdout.strip().rpartition("/")[2]
    return frontmatter.split((root / "dev" / name).read_bytes())[1]


def nothing_posted(root: Path) -> bool:
    return not list((root / "dev").glob("0*.md")) and not list((root / "dev" / ".cache").iterdir())


@pytest.mark.parametrize("name", BODIES)
def test_a_body_arrives_byte_for_byte(root: Path, tmp_path: Path, name: str) -> None:
    data = BODIES[name]
    wanted = data if data.endswith(b"\n") else data + b"\n"
    file = tmp_path / "body"
    file.write_bytes(data)
    assert stored(root, post(root, stdin=data)) == wanted
    assert stored(root, post(root, "--body-file", "-", stdin=data)) == wanted
    assert stored(root, post(root, "--body-file", str(file))) == wanted
    assert stored(root, post(root, "--body", data.decode())) == wanted
    shown = run(["show", "dev", "4", "--json"], root).json["message"]["body"]
    assert shown.encode() == wanted


@pytest.mark.parametrize("options", [[], ["--body-file", "-"]])
@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "MESSAGE_EMPTY", "is empty"),
        (b"x" * (MEBIBYTE + 1), "MESSAGE_TOO_LARGE", "1048576 bytes"),
        (b"x" * (MEBIBYTE * 3), "MESSAGE_TOO_LARGE", "1048576 bytes"),
        (b"abc\xff", "MESSAGE_NOT_TEXT", "at byte 3"),
        ("x".encode("utf-16"), "MESSAGE_NOT_TEXT", "at byte 0"),
        ("né".encode("latin-1"), "MESSAGE_NOT_TEXT", "at byte 1"),
        (b"\xed\xa0\x80", "MESSAGE_NOT_TEXT", "at byte 0"),
        (b"ab\0c", "MESSAGE_NOT_TEXT", "NUL at character 2"),
    ],
    ids=["empty", "1 MiB + 1", "3 MiB", "invalid", "UTF-16", "Latin-1", "surrogate", "NUL"],
)
def test_a_body_that_is_refused(
    root: Path, tmp_path: Path, options: list[str], data: bytes, code: str, words: str
) -> None:
    file = tmp_path / "body"
    file.write_bytes(data)
    for result in (post(root, *options, stdin=data), post(root, "--body-file", str(file))):
        assert (result.status, result.code) == (2, code)
        assert words in result.stderr
        assert nothing_posted(root)


def test_without_a_body_the_title_is_the_message(root: Path) -> None:
    for nothing in (CLOSED, NULL):
        assert stored(root, post(root, stdin=nothing)) == b""


@pytest.mark.parametrize("nothing", [CLOSED, NULL])
def test_a_body_that_was_asked_for_is_never_nothing(root: Path, nothing: Special) -> None:
    result = post(root, "--body-file", "-", stdin=nothing)
    assert (result.status, result.code) == (2, "MESSAGE_EMPTY")
    assert post(root, "--body", "").code == "MESSAGE_EMPTY"
    assert post(root, "--body", "x", "--body-file", "y").code == "USAGE"
    assert nothing_posted(root)


@pytest.mark.skipif(os.name == "nt", reason="Windows looks ahead with a thread")
def test_a_silent_pipe_is_an_error_and_never_a_hang(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_input, "SILENT_SECONDS", 0.05)
    began = time.monotonic()
    result = post(root, stdin=SILENT)
    assert time.monotonic() - began < 5
    assert (result.status, result.code) == (2, "MESSAGE_BODY_SILENT")
    assert nothing_posted(root)


def test_body_options_leave_a_silent_pipe_alone(root: Path) -> None:
    assert stored(root, post(root, "--body", "x", stdin=SILENT)) == b"x\n"


def test_a_body_file_that_is_none_is_named(root: Path, tmp_path: Path) -> None:
    for path, name in ((tmp_path / "missing", "No such file"), (tmp_path, "Is a directory")):
        result = post(root, "--body-file", str(path))
        assert (result.status, result.code) == (2, "MESSAGE_FILE_UNREADABLE")
        assert name in result.stderr
        assert str(path) in result.stderr
    for odd in ("", "a\0b", "\ud800"):
        assert post(root, "--body-file", odd).status == 2
    assert nothing_posted(root)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_body_file_may_be_a_pipe(root: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"piped\n")
    os.close(writing)
    try:
        assert stored(root, post(root, "--body-file", f"/dev/fd/{reading}")) == b"piped\n"
    finally:
        os.close(reading)


@pytest.mark.parametrize("value", ["-x", "--force push?", "-1 on this", "-", "--", "--json", "--help"])
def test_a_value_may_begin_with_a_dash(root: Path, value: str) -> None:
    result = run(["post", "dev", "--from", "alice", "--title", value, "--body", value], root)
    assert stored(root, result) == value.encode() + b"\n"
    assert run(["show", "dev", "1", "--json"], root).json["message"]["title"] == value


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="bytes of POSIX")
def test_bytes_of_a_real_command_line_are_utf_8_whatever_the_locale(root: Path) -> None:
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    title = "Überblick – 概要"
    argv: list[str | bytes] = ["post", "dev", "--from", "Їжак", "--title", title.encode()]
    assert run_process(argv, root, stdin="тіло\n".encode(), environment=environment).status == 0
    result = run_process(["read", "dev", "--as", "bob"], root, environment=environment)
    assert result.stdout.startswith(f"#1 Їжак -> all | {title} | ")
    assert "  тіло\n" in result.stdout
    broken = run_process(["post", "dev", "--from", "a", "--title", b"x\xff"], root, environment=environment)
    assert (broken.status, broken.code) == (2, "MESSAGE_NOT_TEXT")
