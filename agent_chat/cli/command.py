"""What a command is, what it is asked and what it answers: Command, Argument, Request, Reply.

The rows of `commands.COMMANDS` are made of these. The parser, the help texts, the shell completion and
docs/commands.md are read off them, so a command is described once. A handler takes a `Request` and returns a
`Reply`; it does not print, exit or catch. What a reply prints, and when, is left to `main`.
"""

from __future__ import annotations

from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Callable

PROGRAM = "agent-chat"


class Argument(Value):
    """One argument of a command: an option if it has spellings, else a positional.

    `kind` says what a value becomes: "text" and "names" (a comma list that the handler splits) stay text,
    "integer" is an int between `minimum` and `maximum`, "seconds" a non-negative finite float.
    """

    name: str
    spellings: tuple[str, ...] = ()
    metavar: str = ""
    help: str = ""
    default: object = None
    required: bool = False
    repeatable: bool = False
    flag: bool = False
    many: bool = False
    optional: bool = False
    kind: str = "text"
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    hidden: bool = False

    @property
    def label(self) -> str:
        """The argument as messages name it: `--title`, `<channel>`."""
        return self.spellings[0] if self.spellings else f"<{self.metavar or self.name}>"

    @property
    def placeholder(self) -> str:
        """The word that stands for the value of an option: `TEXT`, `bash|zsh|fish`."""
        return self.metavar or "|".join(self.choices) or self.name.upper()

    @property
    def absent(self) -> object:
        """What the request holds where the caller did not give the argument."""
        if self.flag:
            return False
        if (self.repeatable or self.many) and self.default is None:
            return ()
        return self.default


class Command(Value):
    """One row of the table: what is typed, what it is for, what it takes, and the function that carries it out.

    An `unlisted` one is typed by programs alone, and the help of the program leaves it out. One that `speaks` shows or
    publishes text, so the owner's switch closes it.
    """

    path: tuple[str, ...]
    summary: str
    arguments: tuple[Argument, ...] = ()
    handler: str
    notes: str = ""
    mutates: bool = False
    speaks: bool = False
    unlisted: bool = False

    @property
    def name(self) -> str:
        """The command as it is typed: `task claim`."""
        return " ".join(self.path)

    @property
    def positionals(self) -> tuple[Argument, ...]:
        """The arguments that are told by their place, in that order."""
        return tuple(argument for argument in self.arguments if not argument.spellings)

    @property
    def options(self) -> tuple[Argument, ...]:
        """The arguments that are told by a spelling."""
        return tuple(argument for argument in self.arguments if argument.spellings)


class Request:
    """One call: its command, and a value for every argument of the command, given or not.

    `given` names the arguments that the caller wrote. `main` fills `environment`, `stdin` and `workspace` before it
    calls the handler. An accessor that does not fit the argument's declaration is a mistake of ours.
    """

    environment: Mapping[str, str]
    stdin: Any
    workspace: Any

    def __init__(
        self,
        command: Command,
        values: dict[str, object],
        *,
        root: str | None = None,
        as_json: bool = False,
        given: frozenset[str] = frozenset(),
    ) -> None:
        self.command = command
        self.values = values
        self.root = root
        self.as_json = as_json
        self.given = given
        self.environment = {}
        self.stdin = None
        self.workspace = None

    def text(self, name: str) -> str:
        """Returns the text of an argument that is there."""
        value = self.values[name]
        assert isinstance(value, str), name
        return value

    def optional_text(self, name: str) -> str | None:
        """Returns the text of an argument, None where it was not given."""
        return None if self.values[name] is None else self.text(name)

    def integer(self, name: str) -> int:
        """Returns the whole number of an argument that is there."""
        value = self.values[name]
        assert isinstance(value, int), name
        return value

    def optional_integer(self, name: str) -> int | None:
        """Returns the whole number of an argument, None where it was not given."""
        return None if self.values[name] is None else self.integer(name)

    def seconds(self, name: str) -> float:
        """Returns the seconds of an argument that is there."""
        value = self.values[name]
        assert isinstance(value, (int, float)), name
        return float(value)

    def flag(self, name: str) -> bool:
        """Returns whether a flag was given."""
        value = self.values[name]
        assert isinstance(value, bool), name
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Returns the texts of an argument that may come more than once, in the order given."""
        value = self.values[name]
        assert isinstance(value, tuple), name
        return value


class Reply(Value):
    """The answer to a request: a JSON form, a text form, and the exit status.

    `text` may be a function, called only when text is what will be printed. `after` runs once stdout was flushed:
    a cursor is stored there. `summary` is the line for stderr should stdout be gone after a change was made. A reply
    that also carries an `error` did part of its work: what it has is printed, then the error. A reply with a `stream`
    is that many JSON documents, one a line, and `data` only where something must be said beside them. One with
    `following` replies is those, each shown before the next is asked for, until one fails.
    """

    data: dict[str, object]
    text: Callable[[], str] | str
    status: int = 0
    warnings: tuple[str, ...] = ()
    after: Callable[[], None] | None = None
    summary: str = ""
    error: Exception | None = None
    stream: tuple[dict[str, object], ...] | None = None
    following: Iterator[Reply] | None = None

    def as_text(self) -> str:
        """Returns the text form, made now if it was not made yet."""
        return self.text if isinstance(self.text, str) else self.text()


JSON = Argument(name="json", spellings=("--json",), flag=True, help="answer in JSON")
ROOT = Argument(
    name="root",
    spellings=("--root",),
    metavar="DIR",
    help="where the channels are (else $AGENT_CHAT_ROOT, ~/agent-chat)",
)
SHOW_HELP = Argument(name="help", spellings=("--help", "-h"), flag=True, help="show this help")
SHOW_VERSION = Argument(name="version", spellings=("--version",), flag=True, help="show the version", hidden=True)
GLOBALS = (JSON, ROOT, SHOW_HELP, SHOW_VERSION)

HELP = Command(
    path=("help",),
    summary="Shows the commands, or how one is used.",
    arguments=(Argument(name="words", metavar="command", many=True, optional=True, help="such as: post"),),
    handler="agent_chat.cli.help:run",
)
VERSION = Command(path=("version",), summary="Shows the version.", handler="agent_chat.cli.help:version")
