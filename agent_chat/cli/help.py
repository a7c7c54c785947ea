"""The texts that explain the commands, read off the table: help, usage lines and docs/commands.md.

Short, because an agent pays for each word. Loaded only when somebody asks, or got the use of a command wrong.
"""

from __future__ import annotations

from agent_chat import __version__
from agent_chat.cli.command import GLOBALS, PROGRAM, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_chat.cli.command import Argument, Command, Request

WIDTH = 100
WIDEST_LABEL = 26

INTRODUCTION = "Coding agents and people talk through Markdown files in shared folders."
STATUSES = (
    "Exit status: 0 done; 1 a negative answer (wait ran out, doctor found something); 2 an error; 70 a bug of ours; "
    "130 interrupted."
)


def run(request: Request) -> Reply:
    """Answers `help` and `--help`: the text for a command, a group of commands, or the program."""
    from agent_chat.cli.commands import COMMANDS

    text = help_for(request.texts("words"), COMMANDS)
    return Reply(data={"help": text}, text=text)


def version(_request: Request) -> Reply:
    """Answers `version` and `--version`."""
    return Reply(data={"version": __version__}, text=f"{PROGRAM} {__version__}\n")


def help_for(words: tuple[str, ...], commands: Sequence[Command]) -> str:
    """Returns the help for the words of a command; a word that is none is the error that the command would be."""
    from agent_chat.cli.suggestions import unknown_command

    for depth in range(1, len(words) + 1):
        if not any(row.path[:depth] == words[:depth] for row in commands):
            raise unknown_command(words[: depth - 1], words[depth - 1], commands)
    rows = [row for row in commands if row.path[: len(words)] == words]
    if not words:
        return program_help(commands)
    exact = [row for row in rows if row.path == words]
    others = [row for row in rows if row.path != words]
    parts = [command_help(row) for row in exact]
    if others:
        parts.append(group_help(words, others))
    return "\n".join(parts)


def usage(command: Command) -> str:
    """Returns the form of a command on one line, required options first, optional parts in brackets."""
    return " ".join(_usage_parts(command))


def program_help(commands: Sequence[Command]) -> str:
    """Returns the help of the program: a line for each command, and one for each group of commands."""
    lines = [f"{PROGRAM} <command> …", INTRODUCTION, ""]
    groups: dict[str, list[str]] = {}
    for row in commands:
        if row.unlisted:
            continue
        if len(row.path) == 1:
            lines += _entry(_call(row), row.summary)
        else:
            groups.setdefault(row.path[0], []).append(" ".join(row.path[1:]))
    for group, names in groups.items():
        lines += _entry(f"{group} …", ", ".join(names))
    lines += [
        "",
        *_wrap(f"{_globals()} work with every command; {PROGRAM} <command> --help explains one."),
        *_wrap(STATUSES),
    ]
    return _joined(lines)


def group_help(path: tuple[str, ...], commands: Iterable[Command]) -> str:
    """Returns the help of a group of commands such as `task`: a line for each."""
    lines = [f"{PROGRAM} {' '.join(path)} <command> …", ""]
    for row in commands:
        lines += _entry(_call(row), row.summary)
    return _joined(lines)


def command_help(command: Command) -> str:
    """Returns the help of a command: its form, what it does, a line for each argument, notes."""
    lines = [*_wrap(*_usage_parts(command)), command.summary]
    visible = [argument for argument in command.arguments if not argument.hidden]
    if visible:
        lines.append("")
    for argument in visible:
        lines += _entry(_term(argument), _explained(argument))
    if command.notes:
        # Examples stand at the margin: a heredoc that is copied with an indent would not end.
        lines += ["", *(line[2:] if line.startswith("  ") else line for line in command.notes.splitlines())]
    lines += ["", f"Always: {_globals()}."]
    return _joined(lines)


def reference(commands: Sequence[Command]) -> str:
    """Returns docs/commands.md: every command with its form, arguments and notes, as Markdown."""
    lines = [
        "# Commands",
        "",
        INTRODUCTION,
        "",
        "This page is made from the table of commands; a test keeps it true.",
        "",
    ]
    lines += [f"- `{_term(argument)}`: {argument.help}." for argument in GLOBALS if not argument.hidden]
    lines += ["", "These work with every command, before or after it. " + STATUSES]
    for row in commands:
        lines += ["", f"## {row.name}", "", row.summary, "", "```text", *_wrap(*_usage_parts(row)), "```"]
        visible = [argument for argument in row.arguments if not argument.hidden]
        if visible:
            lines.append("")
        lines += [f"- `{_term(argument)}`: {_explained(argument)}." for argument in visible]
        if row.notes:
            lines += ["", *_fenced(row.notes)]
    return _joined(lines)


def _usage_parts(command: Command) -> list[str]:
    """Returns the parts of a command's form that a line break must not tear."""
    parts = [" ".join((PROGRAM, *command.path))]
    parts += [_form(argument) for argument in command.positionals]
    visible = [argument for argument in command.options if not argument.hidden]
    parts += [_term(argument) for argument in visible if argument.required]
    parts += [f"[{_term(argument)}]" for argument in visible if not argument.required]
    return parts


def _call(command: Command) -> str:
    """Returns a command with its positionals only."""
    return " ".join((command.name, *(_form(argument) for argument in command.positionals)))


def _form(argument: Argument) -> str:
    """Returns a positional as usage lines show it: `<channel>`, `<word>…`, `[<seq>]`."""
    form = argument.label + ("…" if argument.many else "")
    return f"[{form}]" if argument.optional else form


def _term(argument: Argument) -> str:
    """Returns an argument as lists show it: `<channel>`, `--title TEXT`, `--peek`."""
    if not argument.spellings or argument.flag:
        return argument.label
    return f"{argument.label} {argument.placeholder}"


def _explained(argument: Argument) -> str:
    """Returns what an argument is: its help, then its values, its default and its other spellings."""
    parts = [argument.help] if argument.help else []
    if argument.choices:
        parts.append(", ".join(argument.choices))
    if argument.default is not None:
        shown = f"{argument.default:g}" if isinstance(argument.default, float) else f"{argument.default}"
        limit = "" if argument.maximum is None else f", at most {argument.maximum}"
        parts.append(f"default {shown}{limit}")
    if len(argument.spellings) > 1:
        parts.append(f"also {', '.join(argument.spellings[1:])}")
    return "; ".join(parts)


def _globals() -> str:
    """Returns the options that every command has."""
    return ", ".join(_term(argument) for argument in GLOBALS if not argument.hidden)


def _entry(term: str, explanation: str) -> list[str]:
    """Returns the lines of one entry of a list: the term, and its explanation in a column beside it."""
    from textwrap import wrap

    indent = " " * (WIDEST_LABEL + 2)
    lines = wrap(explanation, WIDTH - len(indent), break_on_hyphens=False, break_long_words=False)
    first = f"  {term}"
    if len(first) >= len(indent):
        return [first, *(indent + line for line in lines)]
    return [f"{first:<{len(indent)}}{lines[0] if lines else ''}".rstrip(), *(indent + line for line in lines[1:])]


def _wrap(*parts: str) -> list[str]:
    """Returns parts filled into lines; a single part is text, of several none is torn."""
    words = parts[0].split(" ") if len(parts) == 1 else parts
    indent = "" if len(parts) == 1 else "  "
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(indent + word)
    return lines


def _fenced(notes: str) -> list[str]:
    """Returns notes as Markdown: their indented lines are code."""
    lines: list[str] = []
    inside = False
    for line in notes.splitlines():
        if line.startswith("  ") != inside:
            inside = not inside
            lines += ["", "```sh"] if inside else ["```", ""]
        lines.append(line[2:] if inside else line)
    return [*lines, "```"] if inside else lines


def _joined(lines: Iterable[str]) -> str:
    """Returns lines as a text that ends with a line break."""
    return "\n".join(lines) + "\n"
