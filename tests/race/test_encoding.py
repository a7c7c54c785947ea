"""Text of every script under every locale: the same bytes on disk, the same text back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Cli
from tests.support.roots import tree

if TYPE_CHECKING:
    from pathlib import Path

LOCALES = {
    "utf8": {"LC_ALL": "C.UTF-8"},
    "c": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "cp1252": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "cp1252"},
    "ascii": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"},
}
CHANNEL = "канал-日本"
PEOPLE = ["Оксана", "花子", "nurul_ain", "زينب"]
TITLES = ["Нова схема — готово?", "設計の下書き", "Perubahan kod ✓", "مخطط جديد", "🚀 emoji 👩‍💻", "שלום abc"]
BODY = "Їжак, ґанок\n日本語のテキスト\nselamat pagi\nمرحبا بالعالم\n👩‍💻🇺🇦\nlatin1: é ÿ\n"


def _everything(cli: Cli, work: Path) -> list[str]:
    """Runs every command with such text and returns the outputs, without what differs from root to root."""
    cli.must("init", CHANNEL, "--members", ",".join(PEOPLE), "--topic", "тема 話題")
    for number, title in enumerate(TITLES):
        sender = PEOPLE[number % len(PEOPLE)]
        given: tuple[str, ...] = ("--body", BODY)
        if number == 1:
            (work / "текст.md").write_bytes(BODY.encode())
            given = ("--body-file", str(work / "текст.md"))
        elif number == 2:
            given = ("--body-file", "-")
        feed = BODY.encode() if number == 2 else None
        cli.must("post", CHANNEL, "--from", sender, "--title", title, "--key", f"ключ{number}", *given, feed=feed)
    (cli.root / CHANNEL / "task-1.md").write_bytes(BODY.encode())
    commands = [
        ("post", CHANNEL, "--from", "Оксана", "--to", "@花子", "--reply", "2", "--title", "відповідь", "--body", BODY),
        ("claim", CHANNEL, "task-1.md", "--as", "زينب"),
        ("join", CHANNEL, "--as", "Ганна"),
        ("peek", CHANNEL),
        ("show", CHANNEL, "4"),
        ("show", CHANNEL, "0002-花子-設計の下書き.md", "--json"),
        ("thread", CHANNEL, "2"),
        ("search", CHANNEL, "їжак", "--json"),
        ("inbox", "--as", "花子"),
        ("channels",),
        ("roster", CHANNEL, "--json"),
        ("wait", CHANNEL, "--as", "花子", "--timeout", "0", "--limit", "1", "--json"),
        ("read", CHANNEL, "--as", "花子", "--limit", "2"),
        ("ack", CHANNEL, "4", "--as", "花子"),
        ("read", CHANNEL, "--as", "花子", "--json"),
        ("doctor", CHANNEL),
        ("leave", CHANNEL, "--as", "Ганна"),
    ]
    outputs = [cli.must(*words).out for words in commands]
    refused = cli.run("read", CHANNEL, "--as", "Оксанка")
    assert refused.status == 2
    return [text.replace(str(cli.root), "ROOT") for text in (*outputs, refused.err)]


def _without_time(text: str) -> str:
    """Leaves out the times, which differ from run to run."""
    words = (word for word in text.replace('"', " ").split() if ":" not in word or not word[:1].isdigit())
    return " ".join(words)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, bytes]]:
    """Outputs and files under UTF-8."""
    folder = tmp_path_factory.mktemp("utf8")
    cli = Cli(folder / "корінь", **LOCALES["utf8"])
    return _everything(cli, folder), _files(cli)


def _files(cli: Cli) -> dict[str, bytes]:
    """The files of a root, without the lines that hold times and without cursors', presence's and folders' own data."""
    found: dict[str, bytes] = {}
    for name, (_, data) in tree(cli.root).items():
        lines = [line for line in data.split(b"\n") if b"created" not in line]
        found[name] = b"" if ".cursors" in name or "/seen-" in name else b"\n".join(lines)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("locale", [name for name in LOCALES if name != "utf8"])
def test_every_command_does_the_same_under_every_locale(
    tmp_path: Path, locale: str, wanted: tuple[list[str], dict[str, bytes]]
) -> None:
    cli = Cli(tmp_path / "корінь", **LOCALES[locale])
    outputs = _everything(cli, tmp_path)
    assert [_without_time(text) for text in outputs] == [_without_time(text) for text in wanted[0]]
    assert _files(cli) == wanted[1]
    # What one locale wrote the other reads.
    other = Cli(cli.root, **LOCALES["utf8"])
    messages = other.must("read", CHANNEL, "--as", "nurul_ain", "--all", "--json").json["messages"]
    assert [message["title"] for message in messages][: len(TITLES)] == TITLES
    assert {message["body"] for message in messages[: len(TITLES)]} == {BODY}


@pytest.mark.parametrize("locale", ["c", "cp1252"])
def test_text_of_every_script_comes_back_as_it_was(tmp_path: Path, locale: str) -> None:
    cli = Cli(tmp_path / "корінь", **LOCALES[locale])
    cli.must("init", CHANNEL)
    for sender, title in zip(PEOPLE, TITLES):
        cli.must("post", CHANNEL, "--from", sender, "--title", title, "--body", BODY)
    messages = cli.must("read", CHANNEL, "--as", "bob", "--json").json["messages"]
    assert [(message["from"], message["title"]) for message in messages] == list(zip(PEOPLE, TITLES))
    assert {message["body"] for message in messages} == {BODY}
    assert (tmp_path / "корінь" / CHANNEL / "0001-Оксана-нова-схема-готово.md").read_bytes().endswith(BODY.encode())


@pytest.mark.parametrize("locale", ["utf8", "c"])
def test_text_from_the_environment_means_the_same(tmp_path: Path, locale: str) -> None:
    cli = Cli(tmp_path / "корінь", **LOCALES[locale], AGENT_CHAT_NAME="花子")
    cli.must("init", CHANNEL)
    cli.must("post", CHANNEL, "--title", "x")
    assert list((tmp_path / "корінь" / CHANNEL).glob("0001-花子-x.md"))


@pytest.mark.parametrize(
    ("data", "where"),
    [(b"ok\xff\xfe", "byte 2"), ("текст".encode("utf-16"), "byte 0"), (b"caf\xe9", "byte 3")],
    ids=["bytes", "utf-16", "latin-1"],
)
def test_a_body_that_is_no_utf_8_is_refused_with_its_place(tmp_path: Path, data: bytes, where: str) -> None:
    cli = Cli(tmp_path / "root")
    cli.must("init", "dev")
    (tmp_path / "body").write_bytes(data)
    done = cli.run("post", "dev", "--from", "a", "--title", "t", "--body-file", str(tmp_path / "body"))
    assert (done.status, done.err.split(":")[1].strip()) == (2, "MESSAGE_NOT_TEXT")
    assert where in done.err
    assert list((tmp_path / "root" / "dev").glob("0*")) == []
