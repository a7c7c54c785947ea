"""Documents that people wrote, and names of every script, go in and come out byte for byte."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_chat.records import frontmatter
from tests.support.cli import DANGER, Result, run

if TYPE_CHECKING:
    from collections.abc import Iterator

MEBIBYTE = 1 << 20
SAMPLE = 40
ENOUGH = 50


def documents() -> Iterator[Path]:
    """Every text document of the running Python's installation: its library and its packages."""
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "data")}
    roots = {Path(place) / "" for place in (*places, sys.prefix, sys.base_prefix) if place}
    seen: set[Path] = set()
    for root in sorted(roots, key=lambda path: len(path.parts)):
        if root in (Path("/"), Path("/usr"), Path("/usr/local")) or any(root.is_relative_to(other) for other in seen):
            continue
        seen.add(root)
        for path in sorted(root.rglob("*")):
            if path.suffix in (".md", ".rst", ".txt") and path.is_file() and not path.is_symlink():
                yield path


def usable(paths: Iterator[Path], limit: int | None = None) -> list[tuple[Path, bytes]]:
    """Those that a message can hold: valid UTF-8 without NUL, not empty, at most 1 MiB."""
    found: list[tuple[Path, bytes]] = []
    for path in paths:
        data = path.read_bytes()
        if not 0 < len(data) <= MEBIBYTE or b"\0" in data:
            continue
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        found.append((path, data))
        if limit is not None and len(found) >= limit:
            break
    return found


def title_of(data: bytes) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in data.decode("utf-8").splitlines() if line.strip()]
    return lines[0][:1000] if lines else "untitled"


def stored(root: Path, result: Result) -> tuple[str, bytes]:
    """The title and the body in the file that a post has made."""
    assert result.status == 0, result
    header, body = frontmatter.split((root / "dev" / result.json["file"]).read_bytes())
    title = frontmatter.parse(header).values["title"]
    assert isinstance(title, str)
    return title, body


def go_in_and_out(root: Path, path: Path, data: bytes) -> None:
    """Posts a document by file and by standard input and compares what is stored and what is read."""
    title = title_of(data)
    wanted = data if data.endswith(b"\n") else data + b"\n"
    post = ["post", "dev", "--from", "alice", "--title", title, "--json"]
    by_file = run([*post, "--body-file", str(path)], root)
    by_stdin = run(post, root, stdin=data)
    for result in (by_file, by_stdin):
        assert stored(root, result) == (title, wanted), path
    reply = run(["read", "dev", "--as", "bob", "--json"], root).json
    while reply["has_more"]:
        more = run(["read", "dev", "--as", "bob", "--json"], root).json
        reply = {**more, "messages": reply["messages"] + more["messages"]}
    shown = [(message["title"], message["body"].encode()) for message in reply["messages"]]
    assert shown == [(title, wanted)] * 2, path
    text = run(["show", "dev", str(by_file.json["seq"])], root).stdout
    assert not set(text) & DANGER
    assert sum(not line.startswith("  ") for line in text.split("\n") if line) == 1


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run(["init", "dev"], tmp_path)
    return tmp_path


def test_a_sample_of_documents_goes_in_and_out(root: Path) -> None:
    found = usable(documents(), limit=SAMPLE)
    if len(found) < SAMPLE:
        pytest.skip(f"only {len(found)} documents here")
    for path, data in found:
        go_in_and_out(root, path, data)


@pytest.mark.slow
def test_every_document_goes_in_and_out(root: Path) -> None:
    found = usable(documents())
    if len(found) < ENOUGH:
        pytest.skip(f"only {len(found)} documents here")
    # A root for each hundred: what is tested here is the text, not the length of a channel.
    for start in range(0, len(found), 100):
        part = root / f"{start}"
        run(["init", "dev"], part)
        for path, data in found[start : start + 100]:
            go_in_and_out(part, path, data)
        assert run(["doctor"], part).status == 0


TEXTS = {
    "Ukrainian": ("Оленка", "Їжак і ґанок: план міграції"),
    "Japanese": ("さくら", "設計 草案：データベースの移行"),
    "Malay": ("Azlan", "Rancangan pemindahan, dengan é dan “petikan”"),
    "Jawi": ("ازلان", "رنچاڠن ڤميندهن"),
    "Arabic": ("علي", "خطة الترحيل: النسخة ٢"),
    "Hindi": ("नेहा", "प्रवासन योजना"),
    "emoji": ("robot", "🎉 done 👩‍💻 🇺🇦"),
    "combining marks": ("e\u0301lodie", "z\u0335a\u0310l\u0324g\u0330o\u0360"),
    "marks of direction": ("dana", "\u200fשלום\u200e \u202eabc\u202c \u2067x\u2069"),
    "escapes": ("mallory", "\x1b[31mred\x1b[0m \x07 \x9b2J \r\n---\nseq: 7"),
    "separators": ("paul", "a\u2028b\u2029c\x85d\x0be\x0cf"),
    "byte order mark": ("bom", "\ufefftitle"),
    "quotes": ("quinn", "'\"\\ # [x] {y}: z, & * ! | > % @ `"),
    "words of YAML": ("yes", "null"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_script_goes_in_and_out(root: Path, name: str) -> None:
    agent, text = TEXTS[name]
    data = f"{text}\n\n{text}\n".encode()
    posted = run(["post", "dev", "--from", agent, "--title", text, "--to", "bob", "--json"], root, stdin=data)
    assert stored(root, posted) == (text, data)
    (message,) = run(["read", "dev", "--as", "bob", "--json"], root).json["messages"]
    assert (message["title"], message["body"].encode()) == (text, data)
    assert message["from"] == ("élodie" if name == "combining marks" else agent)
    found = run(["search", "dev", text.split()[0], "--json"], root).json["messages"]
    assert [each["seq"] for each in found] == [1]
    reply = run(["post", "dev", "--from", "bob", "--to", agent, "--reply", "1", "--title", text, "--json"], root)
    assert reply.status == 0
    assert run(["inbox", "--as", agent, "--json"], root).json["channels"][0]["unread"] == 1
    for command in (["read", "dev", "--as", agent], ["channels"], ["peek", "dev"], ["thread", "dev", "1"]):
        result = run(command, root)
        assert result.status == 0
        assert not set(result.stdout) & DANGER
    assert run(["doctor"], root).stdout == "no findings\n"
