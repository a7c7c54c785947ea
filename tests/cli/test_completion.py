"""Completion: the scripts load in their shells and offer what the table holds."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from agent_chat.cli.arguments import LEVELS, ROLES, SHELLS
from agent_chat.cli.command import Argument, Command
from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.completion import run, script
from agent_chat.cli.parser import parse

if TYPE_CHECKING:
    from pathlib import Path

TABLE = (
    *COMMANDS,
    Command(path=("chore", "claim"), summary="Claims.", handler="x:claim", arguments=(Argument(name="channel"),)),
    Command(path=("chore", "list"), summary="Lists.", handler="x:list"),
)
NEXT = {row.path[0] for row in TABLE}
READ = {"--as", "--from", "--owner", "--actor", "--limit", "--max-bytes", "--peek", "--all", "--after"}
READ |= {"--skip-topic", "--skip-from"}
ALWAYS = {"--json", "--root", "--help"}
CHANNELS = {"dev", "devops", "dév", "план"}

# The words of a line, the last one being completed, and what is offered.
LINES: list[tuple[list[str], set[str]]] = [
    (["po"], {"post"}),
    (["--json", "po"], {"post"}),
    (["--root", "/nowhere", "po"], {"post"}),
    (["--root", "/nowhere", "read", ""], set()),
    (["read", "de"], {"dev", "devops"}),
    (["read", ""], CHANNELS),
    (["read", "dev", ""], set()),
    (["read", "dev", "--"], READ | ALWAYS),
    (["read", "--as", "bob", "de"], {"dev", "devops"}),
    (["read", "dev", "--as", "bob", "--li"], {"--limit"}),
    (["read", "dev", "--as", ""], set()),
    (["join", "dev", "--role", ""], set(ROLES)),
    (["join", "dev", "--role", "hu"], {"human"}),
    (["init", "x", "--level", ""], set(LEVELS)),
    (["post", "dev", "--title", "--bo"], set()),
    (["wait", "dev", "dev"], {"dev", "devops"}),
    (["chore", ""], {"claim", "list"}),
    (["chore", "claim", "dévx"], set()),
    (["chore", "claim", "dév"], {"dév"}),
    (["task", "re"], {"ready", "renew", "release", "recover", "recover-pending"}),
    (["task", "claim", "de"], {"dev", "devops"}),
    (["task", "done", "dev", "t-1", "--f"], {"--from", "--fence"}),
    (["task", "recover-pending", "dev", "--resolve-publication", ""], {"rollback", "published"}),
    (["recov"], {"recover", "recover-pending"}),
    (["locks", "de"], {"dev", "devops"}),
    (["check", "--tt"], set()),
    (["completion", ""], set(SHELLS)),
    (["help", "rea"], {"read"}),
    (["read", "--", "--"], set()),
    (["--", "po"], {"post"}),
]
IDS = [" ".join(line) for line, _ in LINES]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with four channels, and folders that only look like some: their names are no channel names."""
    folder = tmp_path / "a root"
    bad = (
        "has space",
        "$(touch pwned)",
        "`touch pwned`",
        "it's",
        "-dash",
        "semi;colon",
        "[glob]",
        "back\\slash",
        "a\nb",
    )
    for name in (*CHANNELS, *bad):
        (folder / name).mkdir(parents=True)
        (folder / name / "_meta.json").write_text("{}")
    (folder / "notes").mkdir()
    return folder


def shell(name: str, program: str, root: Path, *words: str) -> str:
    """Runs a program in a shell, with the table's script at its side, in a folder that must stay empty."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} here")
    folder = root.parent
    (folder / "script").write_text(script(name, TABLE), encoding="utf-8")
    (folder / "program").write_text(program, encoding="utf-8")
    (folder / "work").mkdir(exist_ok=True)
    bare = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    done = subprocess.run(
        [path, *bare, str(folder / "program"), str(folder / "script"), *words],
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "AGENT_CHAT_ROOT": str(root), "LC_ALL": "C.UTF-8"},
        cwd=folder / "work",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((folder / "work").iterdir())
    return done.stdout


BASH = """\
source "$1"; shift
COMP_WORDS=(agent-chat "$@") COMP_CWORD=$#
_agent_chat
for word in "${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done
"""


def bash(root: Path, *words: str) -> set[str]:
    return set(shell("bash", BASH, root, *words).splitlines())


@pytest.mark.parametrize(("line", "expected"), LINES, ids=IDS)
def test_bash(root: Path, line: list[str], expected: set[str]) -> None:
    assert bash(root, *line) == expected


def test_bash_offers_all_commands(root: Path) -> None:
    assert bash(root, "") == NEXT


def test_bash_makes_a_word_of_the_equals_sign(root: Path) -> None:
    assert bash(root, "join", "dev", "--role", "=") == set(ROLES)
    assert bash(root, "join", "dev", "--role", "=", "hu") == {"human"}
    assert bash(root, "join", "--role", "=", "human", "de") == {"dev", "devops"}
    assert bash(root, "--root", "=", str(root), "read", "de") == {"dev", "devops"}


def test_bash_offers_files(root: Path) -> None:
    (root.parent / "body one.md").touch()
    assert bash(root, "post", "dev", "--body-file", f"{root.parent}/bod") == {f"{root.parent}/body one.md"}


def test_bash_finds_the_root(root: Path) -> None:
    home = root.parent
    program = f"export AGENT_CHAT_ROOT=\n{BASH}"
    assert shell("bash", program, root, "read", "") == ""
    root.rename(home / "agent-chat")
    assert set(shell("bash", program, root, "read", "de").splitlines()) == {"dev", "devops"}
    program = f"export AGENT_CHAT_ROOT='~/agent-chat'\n{BASH}"
    assert set(shell("bash", program, root, "read", "de").splitlines()) == {"dev", "devops"}
    program = f"export AGENT_CHAT_ROOT=/nowhere\n{BASH}"
    assert set(shell("bash", program, root, "--root", "~/agent-chat", "read", "de").splitlines()) == {"dev", "devops"}


def test_bash_is_registered(root: Path) -> None:
    assert shell("bash", 'source "$1"; complete -p agent-chat', root) == "complete -F _agent_chat agent-chat\n"


# Outside its line editor zsh has no completion; these stand for what the function calls, `compadd` with its filter.
ZSH = """\
compdef() { print -r -- "compdef $*" }
compset() { [[ $1 == -P ]] }
_files() { print FILES }
compadd() { shift; for word in "$@"; do [[ $word == ${${words[CURRENT]}##--*=}* ]] && print -r -- $word; done; true }
source $1 >/dev/null; shift
words=(agent-chat "$@") CURRENT=$(($# + 1))
_agent_chat
"""


@pytest.mark.parametrize(("line", "expected"), [*LINES, (["join", "a", "--role=hu"], {"human"})])
def test_zsh(root: Path, line: list[str], expected: set[str]) -> None:
    assert set(shell("zsh", ZSH, root, *line).splitlines()) == expected


def test_zsh_offers_files(root: Path) -> None:
    assert shell("zsh", ZSH, root, "post", "dev", "--body-file", "x") == "FILES\n"


FISH = """\
source $argv[1]
complete -C (string join ' ' -- agent-chat $argv[2..-1])
"""


@pytest.mark.parametrize(("line", "expected"), [*LINES, (["join", "a", "--role=hu"], {"--role=human"})])
def test_fish(root: Path, line: list[str], expected: set[str]) -> None:
    assert set(shell("fish", FISH, root, *line).splitlines()) == expected


@pytest.mark.parametrize("name", SHELLS)
def test_structure(name: str) -> None:
    """Where the shell is not there, the least: everything of the table is in it, and no placeholder is left."""
    text = script(name, TABLE)
    for row in TABLE:
        for word in (*row.path, *(s for a in row.options for s in a.spellings)):
            assert word in text
        for argument in row.arguments:
            # What goes into a script unquoted is plain.
            assert all(c.isascii() and (c.isalnum() or c in "-_.") for s in argument.choices for c in s)
    assert "agent-chat" in text.splitlines()[0]
    for place in ("@SHARED@", "@NEXT@", "@OPTIONS@", "@VALUES@", "@POSITIONALS@"):
        assert place not in text


def test_reply() -> None:
    reply = run(parse(["completion", "bash"], COMMANDS))
    assert reply.data == {"shell": "bash", "script": script("bash", COMMANDS)}
    assert reply.as_text() == script("bash", COMMANDS)
