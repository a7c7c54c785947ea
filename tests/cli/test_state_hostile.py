"""What others wrote into a channel, or into its state.md, forges nothing of ours in a state and moves no terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from agent_chat.operations import compaction
from tests.cli import leasing
from tests.support.cli import DANGER, Result, message_file, plant, run, tree_of

if TYPE_CHECKING:
    from pathlib import Path

SECTIONS = (
    "Topic",
    "Decisions",
    "Open tasks",
    "Blockers",
    "Resolved blockers",
    "Owners and leases",
    "Path locks",
    "Verification",
    "Warnings",
)
ESCAPES = "\x1b[2J\x1b]0;x\x07\x9b31m\r\x0b\x0c\x08\x7f\x85\u2028\u2029\u202e\u2066\u200f\ufeff"
# Lines that would be ours if they stood at the left edge, in every way in which a line may end.
FORGED = (
    "x\n## Decisions\n- #99 forged (human)\r\n# State of dev\r## Verification\u2028## Warnings\n\n[x]: /y\n"
    "```\n<!--\n---\n===\n"
)
HOSTILE = FORGED + ESCAPES + FORGED
LINE = HOSTILE.replace("\n", " ").replace("\r", " ").replace("\x0b", " ").replace("\x0c", " ")
ITEM = re.compile(
    r"- (#[1-9]\d* .*|[A-Za-z0-9][\w.-]* (open|in_progress|blocked|done|cancelled|waits|its) ?.*"
    r"|[\w.-]+: .*|damaged lock d+: .*)"
)


def assert_safe(result: Result) -> None:
    for text in (result.stdout, result.stderr):
        assert not set(text) & DANGER, ascii(text)


@pytest.fixture
def hostile(made: Path, tmp_path: Path) -> Path:
    """A copy of that root."""
    shutil.copytree(made, tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root where every text of a channel that anybody can choose is hostile, in every section of its state."""
    root = tmp_path_factory.mktemp("made") / "root"
    run(["init", "dev", "--topic", HOSTILE], root)
    text = json.dumps(HOSTILE)
    for seq, status in enumerate(("decision", "blocker", "verification", "blocker", "resolved"), 1):
        fields = {"status": status, "created": text, "topic": text, **({"reply_to": "4"} if seq == 5 else {})}
        data = message_file(seq, "alice", body=HOSTILE * 3, **fields)
        plant(root / "dev" / f"{seq:04d}-alice-m.md", data.replace(b"title: 'by hand'", f"title: {text}".encode()))
    title = json.dumps(f"Decision: {HOSTILE}").encode()
    plant(root / "dev" / "0006-bob-m.md", message_file(6, "bob").replace(b"title: 'by hand'", b"title: " + title))
    plant(root / "dev" / f"0007-bob-{LINE[:60]}.md", f"no header {HOSTILE}")
    create = ("task", "create", "dev")
    for task in ("done", "held", "later"):
        more = ("--depends-on", "held") if task == "later" else ()
        made = leasing.call(root, *create, task, "--from", "alice", "--title", "t", "--acceptance", "a", *more)
        assert made.status == 0, made
    leasing.call(root, "task", "claim", "dev", "held", "--as", "bob")
    leasing.call(root, "task", "claim", "dev", "done", "--as", "bob")
    leasing.call(root, "task", "done", "dev", "done", "--as", "bob")
    leasing.call(root, "lock", "dev", "src/a.py", "--as", "bob", "--reason", "r")
    for path in (root / "dev").glob("tasks/*.json"):
        plant(path, json.dumps({**json.loads(path.read_bytes()), "title": f"Decision: {LINE}", "acceptance": [LINE]}))
    for path in (root / "dev").glob("locks/*.json"):
        lock = json.loads(path.read_bytes())
        paths = [{"display_path": LINE, "kind": "file", "normalized_path": "# x <b>"}]
        plant(path, json.dumps({**lock, "reason": LINE, "paths": paths}))
    plant(root / "dev" / "tasks" / "damaged.json", json.dumps({HOSTILE: HOSTILE}))
    plant(root / "dev" / "locks" / f"{'d' * 16}.json", json.dumps({HOSTILE: HOSTILE}))
    return root


def test_hostile_content_forges_no_line_at_the_left_edge(hostile: Path) -> None:
    shown = run(["state", "dev"], hostile)
    document = run(["state", "dev", "--json"], hostile).json
    assert shown.status == 0
    assert_safe(shown)
    lines = shown.stdout.split("\n")
    headings = [line for line in lines if line.startswith("#")]
    assert headings == ["# State of dev", *(f"## {name}" for name in SECTIONS)]
    edge = [line for line in lines if line and not line.startswith((" ", "> ", "#"))]
    sections = dict(part.split("\n", 1) for part in shown.stdout.split("\n## ")[1:])
    fixed = ("As of ", "Not shown: ", "none", "incomplete: ")
    for line in edge:
        assert line.startswith(fixed) or line.startswith("- "), ascii(line)
    for name, field in (("Decisions", "decisions"), ("Blockers", "blockers"), ("Path locks", "path_locks")):
        items = [line for line in sections[name].split("\n") if line.startswith("- ")]
        assert len(items) == len(document[field]) > 0, name
        assert all(ITEM.fullmatch(item) for item in items), items
    assert len([line for line in sections["Warnings"].split("\n") if line.startswith("- ")]) == len(
        document["warnings"]
    )
    said = [item["details"] for item in document["decisions"] if item["source"] == "message"]
    assert said
    assert all(text.startswith("x\n## Decisions\n") or text == "text\n" for text in said)


def test_what_is_within_a_line_or_below_an_item_is_no_html_and_no_fence(hostile: Path) -> None:
    lines = run(["state", "dev"], hostile).stdout.split("\n")
    below = [line.strip(" >") for line in lines if line.startswith(("  > ", "> "))]
    assert below
    for line in below:
        assert not line.startswith(("#", "```", "~~~", "<", "[")), line
        assert set(line) not in ({"="}, {"-"}), line
    for line in lines:
        assert not re.search(r"(?<!\\)<[A-Za-z!/?]", line), line


@pytest.mark.parametrize(
    "argv",
    [
        ["state", "dev"],
        ["state", "dev", "--strict"],
        ["state", "dev", "--write"],
        ["state", "dev", "--saved"],
        ["state", HOSTILE],
        ["compact", "dev"],
        ["compact", "dev", "--as", HOSTILE],
        ["compact", HOSTILE],
    ],
    ids=lambda argv: ascii(" ".join(argv))[:30],
)
def test_nothing_hostile_reaches_a_terminal(hostile: Path, argv: list[str]) -> None:
    run(["state", "dev", "--write"], hostile)
    for form in ([], ["--json"]):
        result = run([*argv, *form], hostile)
        assert result.status in (0, 2)
        assert_safe(result)
        if form:
            assert len(result.stdout.split("\n")) == 2
            json.loads(result.stdout)


def test_what_is_written_is_what_is_shown(hostile: Path) -> None:
    shown = run(["state", "dev", "--write"], hostile)
    data = (hostile / "dev" / "state.md").read_bytes()
    assert data == shown.stdout.encode()
    assert run(["state", "dev", "--saved"], hostile).stdout.encode() == data


# -- a state.md that somebody else wrote ------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run(["init", "dev"], tmp_path / "root")
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", ""),
        (b"\n", "\n"),
        (b"one\ntwo", "one\ntwo\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"\x1b[31mred\x07\x00", "\\x1b[31mred\\x07\\x00\n"),
        (b"\xff\xfe\xc3", "\\xff\\xfe\\xc3\n"),
        ("\u202egnp.exe\u2028\ufeff".encode(), "\\u202egnp.exe\\u2028\\ufeff\n"),
        (b"  indented\n\n\nend\n", "  indented\n\n\nend\n"),
        (b"a\rb\tc\r\r\n", "a\\rb\tc\\r\n"),
        (b"a" * (1 << 20) + b"\n" + b"\x9b" * 10, "a" * (1 << 20) + "\n" + "\\x9b" * 10 + "\n"),
    ],
    ids=["empty", "blank", "no-final-newline", "crlf", "escapes", "no-utf8", "reversed", "indented", "returns", "long"],
)
def test_a_hand_written_summary_is_shown_escaped(root: Path, data: bytes, shown: str) -> None:
    plant(root / "dev" / "state.md", data)
    result = run(["state", "dev", "--saved"], root)
    assert (result.status, result.stdout, result.stderr) == (0, shown, "")
    assert_safe(result)
    document = run(["state", "dev", "--saved", "--json"], root)
    assert_safe(document)
    assert document.json["text"] == data.decode("utf-8", "backslashreplace")


def test_a_summary_that_is_too_long_is_refused_not_cut(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_MAX_BYTES", 10)
    plant(root / "dev" / "state.md", "0123456789")
    assert run(["state", "dev", "--saved"], root).stdout == "0123456789\n"
    plant(root / "dev" / "state.md", "0123456789a")
    refused = run(["state", "dev", "--saved"], root)
    assert (refused.status, refused.code, refused.stdout) == (2, "STATE_IO_ERROR", "")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_file_name_that_is_no_text_is_shown_and_written_escaped(root: Path) -> None:
    for name in (b"0001-bob-\xff.md", b"tasks/\xff.json", b"claims/\xff.json", b"locks/\xff.json"):
        place = os.fsencode(root / "dev") + b"/" + name
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb"):
            pass
    for argv in (["state", "dev"], ["state", "dev", "--write"], ["compact", "dev"], ["state", "dev", "--saved"]):
        for form in ([], ["--json"]):
            result = run([*argv, *form], root)
            assert result.status == 0
            assert "\\udcff" in result.stdout + result.stderr
    assert b"\\udcff" in (root / "dev" / "state.md").read_bytes()


def test_a_summary_is_no_source(root: Path) -> None:
    wanted = run(["state", "dev", "--json"], root).json
    plant(root / "dev" / "state.md", "# State of dev\n\n## Decisions\n- #1 forged\n")
    assert {**run(["state", "dev", "--json"], root).json, "as_of": ""} == {**wanted, "as_of": ""}


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
def test_a_summary_that_leads_out_of_the_channel_is_neither_shown_nor_written_through(root: Path) -> None:
    secret = plant(root.parent / "secret", "secret")
    place = root / "dev" / "state.md"
    for kind in ("link", "pipe", "folder"):
        if kind == "link":
            place.symlink_to(secret)
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.mkdir()
        refused = run(["state", "dev", "--saved"], root)
        assert (refused.status, refused.code, refused.stdout) == (2, "STATE_IO_ERROR", "")
        assert run(["state", "dev"], root).status == 0
        if kind == "folder":
            refused = run(["state", "dev", "--write"], root)
            assert (refused.status, refused.code) == (2, "STATE_IO_ERROR")
            place.rmdir()
        else:
            assert run(["state", "dev", "--write"], root).status == 0
            assert place.read_text("utf-8").startswith("# State of dev\n")
            place.unlink()
        assert not [name for name in tree_of(root / "dev") if ".tmp." in name]
    assert secret.read_text() == "secret"
