"""The table of commands and the help texts made from it: consistent, short, complete."""

from __future__ import annotations

import re
import subprocess

import pytest

from agent_chat import __version__
from agent_chat.cli import help as help_texts
from agent_chat.cli.command import GLOBALS, Argument, Command
from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse
from agent_chat.errors import ChatError

CHORES = (
    Command(path=("relay",), summary="Runs a relay.", handler="x:relay"),
    Command(path=("relay", "wait"), summary="Waits.", handler="x:relay_wait"),
    Command(
        path=("chore", "claim"),
        summary="Claims a chore.",
        handler="x:claim",
        arguments=(
            Argument(name="id"),
            Argument(name="secret", spellings=("--secret",), hidden=True, metavar="X"),
        ),
    ),
    Command(path=("chore", "list"), summary="Lists chores.", handler="x:list"),
)


def test_the_table_is_consistent() -> None:
    assert len({row.path for row in COMMANDS}) == len(COMMANDS)
    for row in COMMANDS:
        names = [argument.name for argument in (*row.arguments, *GLOBALS)]
        assert len(set(names)) == len(names), row.name
        spellings = [s for argument in (*row.arguments, *GLOBALS) for s in argument.spellings]
        assert len(set(spellings)) == len(spellings), row.name
        assert row.handler.count(":") == 1
        for place, argument in enumerate(row.positionals):
            last = place == len(row.positionals) - 1
            assert last or not (argument.many or argument.optional), f"{row.name}: only the last may vary in number"
        for argument in row.options:
            assert argument.flag or argument.choices or argument.metavar, f"{row.name} {argument.label}"
            assert not (argument.required and argument.default is not None)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_a_command(command: Command) -> None:
    text = help_texts.command_help(command)
    lines = text.splitlines()
    assert len(lines) <= 44
    assert max(map(len, lines)) <= help_texts.WIDTH
    assert all(line == line.rstrip() and line.isprintable() for line in lines)
    assert text.endswith("\n")
    assert command.summary in lines
    for argument in (*command.arguments, *GLOBALS):
        for name in argument.spellings[:4] if argument in command.arguments else argument.spellings[:1]:
            assert argument.hidden or name in text, name
    for argument in command.positionals:
        assert any(line.startswith(f"  {argument.label} ") for line in lines)
    for argument in command.arguments:
        assert argument.help or argument.choices, argument.name
        assert not argument.help.endswith(".")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_summary(command: Command) -> None:
    assert command.summary.endswith(".")
    assert "\n" not in command.summary
    assert len(command.summary) <= help_texts.WIDTH - help_texts.WIDEST_LABEL - 2


def test_usage() -> None:
    forms = {row.name: help_texts.usage(row) for row in COMMANDS}
    assert forms["channels"] == "agent-chat channels"
    assert forms["peek"] == "agent-chat peek <channel> [-n N] [--max-bytes N]"
    assert forms["ack"] == "agent-chat ack <channel> [<seq>] [--as AGENT] [--reset SEQ]"
    assert forms["doctor"] == "agent-chat doctor [<channel>] [--fix] [--hosts]"
    assert forms["post"].startswith("agent-chat post <channel> --title TEXT [--from AGENT] ")
    assert forms["wait"].startswith("agent-chat wait <channel>… ")
    assert help_texts.usage(CHORES[2]) == "agent-chat chore claim <id>"


def test_help_of_the_program() -> None:
    text = help_texts.program_help((*COMMANDS, *CHORES))
    lines = text.splitlines()
    assert len(help_texts.program_help(COMMANDS).splitlines()) <= 48
    assert max(map(len, lines)) <= help_texts.WIDTH
    for row in COMMANDS:
        if row.unlisted:
            continue
        word = row.path[0] if len(row.path) == 1 else row.path[1].rstrip(",")
        assert any(word in re.split(r"[ ,]+", line) for line in lines), row.name
    assert "  chore …                   claim, list" in lines


def test_help_of_words() -> None:
    table = (*COMMANDS, *CHORES)
    assert help_texts.help_for((), table) == help_texts.program_help(table)
    assert help_texts.help_for(("read",), table).startswith("agent-chat read <channel> ")
    group = help_texts.help_for(("chore",), table)
    assert "Claims a chore." in group
    assert "Lists chores." in group
    assert "--secret" not in help_texts.help_for(("chore", "claim"), table)
    group = help_texts.help_for(("task",), table)
    assert all(row.summary.split()[0] in group for row in COMMANDS if row.path[0] == "task")
    both = help_texts.help_for(("relay",), table)
    assert "Runs a relay." in both
    assert "relay wait" in both
    for words in (("raed",), ("read", "dev"), ("turn",), ("",)):
        with pytest.raises(ChatError) as caught:
            help_texts.help_for(words, table)
        assert caught.value.code == "USAGE"


def test_handlers() -> None:
    reply = help_texts.run(parse(["post", "--help"], COMMANDS))
    assert (
        reply.as_text() == reply.data["help"] == help_texts.command_help(next(r for r in COMMANDS if r.name == "post"))
    )
    assert help_texts.run(parse(["help", "post"], COMMANDS)) == reply
    reply = help_texts.version(parse(["--version"], COMMANDS))
    assert reply.as_text() == f"agent-chat {__version__}\n"
    assert reply.data == {"version": __version__}
    assert reply.status == 0


def test_reference() -> None:
    text = help_texts.reference((*COMMANDS, *CHORES))
    lines = text.splitlines()
    for row in (*COMMANDS, *CHORES):
        assert lines.count(f"## {row.name}") == 1
    assert text == help_texts.reference((*COMMANDS, *CHORES))
    assert "--secret" not in text
    assert sum(line.startswith("```") for line in lines) % 2 == 0
    assert "\n\n\n" not in text


def test_the_example_of_post_runs_as_it_is_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The heredoc can be copied: it ends, and the shell leaves its back-ticks alone."""
    post = next(row for row in COMMANDS if row.name == "post")
    lines = help_texts.command_help(post).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("agent-chat post dev"))
    example = "\n".join(lines[start : lines.index("EOF") + 1])
    shell = f'agent-chat() {{ printf "%s|" "$@"; cat; }}\n{example}\n'
    try:
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("no bash here")
    words, _, body = done.stdout.rpartition("|")
    request = parse(words.split("|"), COMMANDS)
    assert request.text("body_file") == "-"
    assert body == "`id` becomes a UUID.\n"
