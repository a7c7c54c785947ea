"""Turns the words of a command line into a Request, driven by the table of commands.

The rules are few. `--json`, `--root` and `--help` work anywhere; other options follow their command. An option that
takes a value takes the next word whatever it looks like, or what follows its `=`. Nothing is abbreviated, `--` ends
the options, and an empty word is a word like any other. A mistake is a `ChatError` that names the near word and a
command to run next.

One pass reads every word and keeps the first mistake for later, because a caller who asks for help gets help, and
one who asks for JSON gets the mistake as JSON.
"""

from __future__ import annotations

from agent_chat.cli.command import GLOBALS, HELP, JSON, ROOT, SHOW_HELP, SHOW_VERSION, VERSION, Request
from agent_chat.cli.suggestions import GROUP_CODES, help_line, near, unknown_command
from agent_chat.errors import ChatError
from agent_chat.names import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_chat.cli.command import Argument, Command

LONGEST_NUMBER = 15
"""Digits that a number may have; every such number is exact as a float too."""


def parse(argv: Sequence[str], commands: Sequence[Command]) -> Request:
    """Returns the request that a command line makes.

    Help and version are requests too, for the built-in rows HELP and VERSION. Raises `ChatError` with code USAGE,
    or the code of the group whose sub-command is unknown.
    """
    scan = _Scan(argv, commands)
    if scan.stray is not None:
        raise unknown_command(scan.path, scan.stray, commands)
    if scan.asks(SHOW_HELP):
        return Request(HELP, {"words": scan.path}, as_json=scan.asks(JSON))
    if scan.error is not None:
        raise scan.error
    if scan.asks(SHOW_VERSION):
        return Request(VERSION, {}, as_json=scan.asks(JSON))
    if scan.command is None:
        raise _missing_command(scan.path, commands)
    values = _option_values(scan)
    values.update(_positional_values(scan.command, scan))
    root = values.pop(ROOT.name, None)
    for argument in GLOBALS:
        values.pop(argument.name, None)
    given = frozenset(values)
    missing = [a for a in scan.command.arguments if a.name not in given and _is_required(a)]
    if missing:
        raise _missing_arguments(scan.command, missing)
    for argument in scan.command.arguments:
        values.setdefault(argument.name, argument.absent)
    return Request(scan.command, values, root=str(root) if root else None, as_json=scan.asks(JSON), given=given)


def wants_json(argv: Sequence[str], commands: Sequence[Command] | None = None) -> bool:
    """Returns whether a command line asks for JSON, also where it has mistakes; without `commands`, by our table."""
    if commands is None:
        from agent_chat.cli.commands import COMMANDS

        commands = COMMANDS
    return _Scan(argv, commands).asks(JSON)


class _Scan:
    """One pass over the words: the command, its words and options, and the first mistake.

    Options are found in the row of the command. Where the command is not known (yet, or at all) they are looked up
    in the whole table, so that their values are still told from options.
    """

    def __init__(self, argv: Sequence[str], commands: Sequence[Command]) -> None:
        self.commands = commands
        self.path: tuple[str, ...] = ()
        self.command: Command | None = None
        self.settled = False
        self.stray: str | None = None
        self.words: list[tuple[str, str]] = []
        self.options: list[tuple[Argument, str, str]] = []
        self.error: ChatError | None = None
        waiting: tuple[Argument, str] | None = None
        plain = False
        hint = ""
        for token in argv:
            if waiting is not None:
                argument, spelling = waiting
                self.options.append((argument, spelling, token))
                hint = f"{spelling} took {quoted(token)} as its value" if token.startswith("--") else ""
                waiting = None
                continue
            if plain or token == "-" or not token.startswith("-"):
                self._word(token, hint)
            elif token == "--":
                plain = True
            else:
                waiting = self._option(token)
            hint = ""
        self._settle()
        if waiting is not None:
            self._mistake(f"{waiting[1]} needs a value: {waiting[1]} {waiting[0].placeholder}")

    def asks(self, flag: Argument) -> bool:
        """Tells whether a global flag was given."""
        return any(argument is flag for argument, _, _ in self.options)

    def _word(self, word: str, hint: str) -> None:
        """Takes a word that is no option: the command's path goes on as long as it can."""
        if not self.settled:
            longer = (*self.path, word)
            if any(row.path[: len(longer)] == longer for row in self.commands):
                self.path = longer
                return
            self._settle()
            # A group such as `owner` is a command by itself, too; a word that it does not take is meant as one of its.
            alone = self.command is not None and not self.command.positionals
            if self.command is None or (alone and any(self._is_below(row) for row in self.commands)):
                self.stray = word
        self.words.append((word, hint))

    def _is_below(self, row: Command) -> bool:
        return len(row.path) > len(self.path) and row.path[: len(self.path)] == self.path

    def _settle(self) -> None:
        """Ends the path; what it names is the command."""
        if not self.settled:
            self.settled = True
            self.command = next((row for row in self.commands if row.path == self.path), None)

    def _option(self, token: str) -> tuple[Argument, str] | None:
        """Takes an option; returns it where its value must follow."""
        spelling, equals, value = token, "", ""
        argument = self._find(token)
        if argument is None and "=" in token:
            spelling, equals, value = token.partition("=")
            argument = self._find(spelling)
        if argument is None:
            self._unknown_option(spelling)
        elif argument.flag and equals:
            self._mistake(f"{spelling} takes no value, but was given {quoted(value)}")
        elif argument.flag or equals:
            self.options.append((argument, spelling, value))
        else:
            return argument, spelling
        return None

    def _find(self, spelling: str) -> Argument | None:
        """Returns the argument that has a spelling; an option of the command also ends the command's path."""
        for argument in GLOBALS:
            if spelling in argument.spellings and not (argument is SHOW_VERSION and self.path):
                return argument
        if any(row.path == self.path for row in self.commands):
            self._settle()
        rows = self.commands if self.command is None else (self.command,)
        for row in rows:
            for argument in row.arguments:
                if spelling in argument.spellings:
                    if self.command is None:
                        self._mistake(f"{spelling} must come after the command")
                    return argument
        return None

    def _unknown_option(self, spelling: str) -> None:
        """Notes an option that does not exist."""
        if self.error is None:
            arguments = (*GLOBALS, *(self.command.arguments if self.command else ()))
            suggestion = near(spelling, (s for a in arguments if not a.hidden for s in a.spellings))
            hint = f"did you mean {suggestion}?" if suggestion else "a word that begins with a dash goes after --"
            self._mistake(f"unknown option {quoted(spelling)}; {hint}")

    def _mistake(self, message: str) -> None:
        """Keeps the first mistake."""
        if self.error is None:
            self.error = _usage_error(message, self.path)


def _option_values(scan: _Scan) -> dict[str, object]:
    """Returns the values of the options that were given, by name."""
    values: dict[str, object] = {}
    for argument, spelling, text in scan.options:
        name = argument.name
        if argument is ROOT and not text:
            continue
        value = True if argument.flag else _converted(argument, spelling, text, scan.path)
        before = values.get(name)
        if argument.repeatable:
            values[name] = (*(before if isinstance(before, tuple) else ()), value)
        elif argument.kind == "names" and before is not None:
            values[name] = f"{before},{value}"
        elif before is not None and before != value:
            message = f"{spelling} {quoted(text)} contradicts the {quoted(str(before))} given before it"
            raise _usage_error(message, scan.path)
        else:
            values[name] = value
    return values


def _positional_values(command: Command, scan: _Scan) -> dict[str, object]:
    """Returns the values of the words that were given, by name."""
    values: dict[str, object] = {}
    left = list(scan.words)
    for argument in command.positionals:
        taken = left if argument.many else left[:1]
        left = left[len(taken) :]
        converted = tuple(_converted(argument, argument.label, word, scan.path) for word, _ in taken)
        if converted:
            values[argument.name] = converted if argument.many else converted[0]
    if left:
        word, hint = left[0]
        raise _usage_error(f"unexpected {quoted(word)}: {hint or 'quote a value of several words'}", scan.path)
    return values


def _converted(argument: Argument, label: str, text: str, path: tuple[str, ...]) -> object:
    """Returns the value that a text stands for; an error names what would be one."""
    if argument.kind == "integer":
        digits = text[1:] if text[:1] in ("+", "-") else text
        if digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER and _fits(argument, int(text)):
            return int(text)
        raise _usage_error(f"{label} takes a whole number{_limits(argument)}, not {quoted(text)}", path)
    if argument.kind == "seconds":
        digits = text.replace(".", "", 1)
        if digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER and _fits(argument, float(text)):
            return float(text)
        raise _usage_error(f"{label} takes a number of seconds{_limits(argument)}, not {quoted(text)}", path)
    if argument.choices and text not in argument.choices:
        raise _usage_error(f"{label} takes {' or '.join(argument.choices)}, not {quoted(text)}", path)
    return text


def _fits(argument: Argument, number: float) -> bool:
    """Tells whether a number is within the argument's limits."""
    return (argument.minimum is None or number >= argument.minimum) and (
        argument.maximum is None or number <= argument.maximum
    )


def _limits(argument: Argument) -> str:
    """Returns an argument's limits in words."""
    low = "" if argument.minimum is None else f" from {argument.minimum}"
    return low if argument.maximum is None else f"{low} {'to' if low else 'up to'} {argument.maximum}"


def _is_required(argument: Argument) -> bool:
    """Tells whether a command cannot run without an argument."""
    return argument.required if argument.spellings else not argument.optional


def _missing_command(path: tuple[str, ...], commands: Iterable[Command]) -> ChatError:
    """Makes the error for a line that ends before its command does."""
    if not path:
        return ChatError("USAGE", "no command given", next=help_line(()))
    depth = len(path)
    known = dict.fromkeys(row.path[depth] for row in commands if row.path[:depth] == path)
    message = f"{' '.join(path)} needs one of: {', '.join(known)}"
    return ChatError(GROUP_CODES.get(path[0], "USAGE"), message, next=help_line(path))


def _missing_arguments(command: Command, missing: Sequence[Argument]) -> ChatError:
    """Makes the error for arguments that a command cannot do without; it shows the whole form of the command."""
    from agent_chat.cli.help import usage

    return ChatError("USAGE", f"{command.name} needs {', '.join(a.label for a in missing)}", next=usage(command))


def _usage_error(message: str, path: tuple[str, ...]) -> ChatError:
    """Makes an error in the use of a command, which that command's help answers."""
    return ChatError("USAGE", message, next=help_line(path))
