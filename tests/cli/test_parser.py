"""The parser: what each form of a command line means, and that every mistake is told as one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat.cli.command import GLOBALS, HELP, VERSION, Argument, Command, Request
from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.parser import parse, wants_json
from agent_chat.cli.suggestions import near
from agent_chat.errors import ChatError

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKS = (
    *COMMANDS,
    Command(path=("chore", "claim"), summary="Claims.", handler="x:claim", arguments=(Argument(name="id"),)),
    Command(path=("chore", "create"), summary="Creates.", handler="x:create"),
    Command(path=("turn", "end"), summary="Ends.", handler="x:end"),
    # A command that is also the beginning of another one.
    Command(path=("relay",), summary="Relays.", handler="x:relay", arguments=(Argument(name="event", optional=True),)),
    Command(path=("relay", "wait"), summary="Waits.", handler="x:wait"),
)


def refused(*argv: str, commands: tuple[Command, ...] = COMMANDS) -> ChatError:
    with pytest.raises(ChatError) as caught:
        parse(argv, commands)
    return caught.value


def parsed(*argv: str) -> Request:
    return parse(argv, TASKS)


# --- what is understood ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "command", "expected"),
    [
        (["read", "dev"], "read", {"channel": "dev", "agent": None, "limit": 50, "peek": False, "max_bytes": 24000}),
        (["read", "dev", "--as", "bob", "--peek"], "read", {"agent": "bob", "peek": True}),
        (["read", "--as", "bob", "dev"], "read", {"agent": "bob", "channel": "dev"}),
        (["read", "dev", "--limit=7", "--after", "+3"], "read", {"limit": 7, "after": 3}),
        (["read", "dev", "--limit", "0012"], "read", {"limit": 12}),
        (["read", "dev", "--from", "bob", "--as", "bob"], "read", {"agent": "bob"}),
        (["read", "dev", "--limit", "5", "--limit=05"], "read", {"limit": 5}),
        (["read", "dev", "--peek", "--peek"], "read", {"peek": True}),
        (["read", "-"], "read", {"channel": "-"}),
        (["read", ""], "read", {"channel": ""}),
        (["read", "--", "--limit"], "read", {"channel": "--limit"}),
        (["--", "read", "dev"], "read", {"channel": "dev"}),
        (["post", "dev", "--title", "-1"], "post", {"title": "-1", "body": None, "ref": ()}),
        (["post", "dev", "--title", "t", "--body", "-x"], "post", {"body": "-x"}),
        (["post", "dev", "--title", "t", "--body", "--json"], "post", {"body": "--json"}),
        (["post", "dev", "--title", "t", "--body", "--help"], "post", {"body": "--help"}),
        (["post", "dev", "--title", "t", "--body", "--"], "post", {"body": "--"}),
        (["post", "dev", "--title", "t", "--body", ""], "post", {"body": ""}),
        (["post", "dev", "--title", "t", "--body="], "post", {"body": ""}),
        (["post", "dev", "--title=a=b"], "post", {"title": "a=b"}),
        (["post", "dev", "--title", "t", "--ref", "a", "--ref", "a", "--ref=b"], "post", {"ref": ("a", "a", "b")}),
        (["post", "dev", "--title", "t", "--to", "a,b", "--to", "c"], "post", {"to": "a,b,c"}),
        (["init", "dev", "--owner", "al", "--level", "INTERNAL"], "init", {"owner": "al", "level": "INTERNAL"}),
        (["wait", "a", "b", "c"], "wait", {"channels": ("a", "b", "c"), "timeout": 110.0, "interval": 0.2}),
        (["wait", "a", "--timeout", "0"], "wait", {"timeout": 0.0}),
        (["wait", "a", "--timeout=.5"], "wait", {"timeout": 0.5}),
        (["peek", "dev", "-n=2", "--number", "2"], "peek", {"number": 2}),
        (["ack", "dev"], "ack", {"seq": None, "reset": None}),
        (["ack", "dev", "#12"], "ack", {"seq": "#12"}),
        (["search", "dev", "--", "-x", "--json"], "search", {"words": ("-x", "--json")}),
        (["search", "dev", "a", "--from", "bob", "b"], "search", {"words": ("a", "b"), "sender": "bob"}),
        (["doctor"], "doctor", {"channel": None, "fix": False}),
        (["chore", "claim", "12"], "chore claim", {"id": "12"}),
        (["chore", "--json", "claim", "12"], "chore claim", {"id": "12"}),
        (["task", "done", "--fence", "7", "dev", "12"], "task done", {"task": "12", "fence": 7}),
        (["task", "create", "a", "b", "--title=-1", "--owner", "x"], "task create", {"title": "-1", "owner": "x"}),
        (["task", "create", "a", "b", "--title", "t", "--created-by", "x"], "task create", {"agent": "x"}),
        (["task", "claim", "a", "b", "--ttl", "-1"], "task claim", {"task": "b", "lease_seconds": "-1"}),
        (["lock", "dev", "a", "--lease", "9", "b/"], "lock", {"paths": ("a", "b/"), "lease_seconds": "9"}),
        (["check", "dev", "--", "-x"], "check", {"paths": ("-x",), "agent": None}),
        (["recover", "a", "b", "--reason", "--json"], "recover", {"reason": "--json"}),
        (["relay", "wait"], "relay wait", {}),
        (["relay", "stop"], "relay", {"event": "stop"}),
        (["relay", "--json"], "relay", {"event": None}),
        (["help", "task", "claim"], "help", {"words": ("task", "claim")}),
        (["help"], "help", {"words": ()}),
        (["version"], "version", {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_form(line: list[str], command: str, expected: dict[str, object]) -> None:
    request = parsed(*line)
    assert request.command.name == command
    assert {name: request.values.get(name, "missing") for name in expected} == expected
    assert request.values.keys() == {argument.name for argument in request.command.arguments}


def test_given_names_what_was_written() -> None:
    assert parsed("read", "dev", "--limit", "50").given == {"channel", "limit"}


def test_accessors() -> None:
    request = parsed("wait", "a", "b", "--timeout", "3", "--peek", "--as", "bob", "--limit", "4")
    assert request.texts("channels") == ("a", "b")
    assert request.seconds("timeout") == 3.0
    assert request.flag("peek") is True
    assert request.text("agent") == request.optional_text("agent") == "bob"
    assert request.optional_text("reply_to") is None
    assert (request.integer("limit"), request.optional_integer("after")) == (4, None)


@pytest.mark.parametrize("place", range(4))
def test_json_and_root_anywhere(place: int) -> None:
    for extra in (["--json", "--root", "/r"], ["--root=/r", "--json"]):
        line = ["post", "dev", "--title=t", "--peek"][:3]
        line[place:place] = extra
        request = parsed(*line)
        assert (request.as_json, request.root) == (True, "/r")
        assert request.given == {"channel", "title"}


def test_root_given_twice() -> None:
    assert parsed("--root", "/r", "channels", "--root=/r").root == "/r"
    assert "--root" in refused("--root", "/r", "channels", "--root=/s").message
    # An empty root counts as none.
    assert parsed("--root", "", "channels").root is None
    assert parsed("--root", "", "channels", "--root", "/r").root == "/r"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["--help"], ()),
        (["-h"], ()),
        (["--help", "post"], ("post",)),
        (["post", "--help"], ("post",)),
        (["post", "-h", "--json"], ("post",)),
        (["post", "--bogus", "--title", "x", "--help"], ("post",)),
        (["post", "dev", "extra", "--help"], ("post",)),
        (["task", "--help"], ("task",)),
        (["task", "claim", "--help"], ("task", "claim")),
        (["--bogus", "--help"], ()),
        (["--version", "--help"], ()),
        (["help", "--help"], ("help",)),
    ],
)
def test_help_wins(line: list[str], words: tuple[str, ...]) -> None:
    request = parsed(*line)
    assert request.command is HELP
    assert request.texts("words") == words
    assert request.as_json is ("--json" in line)


def test_help_after_two_dashes_is_a_word() -> None:
    assert parsed("search", "dev", "--", "--help").values["words"] == ("--help",)


@pytest.mark.parametrize("line", [["--version"], ["--json", "--version"], ["--version", "read", "dev"]])
def test_version(line: list[str]) -> None:
    assert parsed(*line).command is VERSION


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message", "following"),
    [
        ([], "no command given", "agent-chat --help"),
        (["--json"], "no command given", "agent-chat --help"),
        (["pots", "dev"], "unknown command 'pots'; did you mean post?", "agent-chat post --help"),
        (["POST", "dev"], "unknown command 'POST'; did you mean post?", "agent-chat post --help"),
        ([""], "unknown command ''", "agent-chat --help"),
        (["zzzzzz", "--help"], "unknown command 'zzzzzz'", "agent-chat --help"),
        (["turn"], "turn needs one of: end", "agent-chat turn --help"),
        (["turn", "edn"], "unknown command 'turn edn'; did you mean turn end?", "agent-chat turn end --help"),
        (["read", "dev", "--peak"], "unknown option '--peak'; did you mean --peek?", "agent-chat read --help"),
        (
            ["read", "dev", "-1"],
            "unknown option '-1'; a word that begins with a dash goes after --",
            "agent-chat read --help",
        ),
        (["read", "dev", "--peek=1"], "--peek takes no value, but was given '1'", "agent-chat read --help"),
        (["read", "dev", "--json="], "--json takes no value, but was given ''", "agent-chat read --help"),
        (["read", "dev", "--limit"], "--limit needs a value: --limit N", "agent-chat read --help"),
        (["channels", "--root"], "--root needs a value: --root DIR", "agent-chat channels --help"),
        (
            ["read", "dev", "--limit", "x"],
            "--limit takes a whole number from 1 to 1000, not 'x'",
            "agent-chat read --help",
        ),
        (["read", "dev", "--as", "a", "--from=b"], "--from 'b' contradicts the 'a' given before it", None),
        (["read", "dev", "--limit", "1", "--limit", "2"], "--limit '2' contradicts the '1' given before it", None),
        (["--as", "bob", "read", "dev"], "--as must come after the command", "agent-chat --help"),
        (["post", "dev"], "post needs --title", "agent-chat post <channel> --title TEXT "),
        (["post"], "post needs <channel>, --title", "agent-chat post <channel> --title TEXT "),
        (["wait"], "wait needs <channel>", "agent-chat wait <channel>… "),
        (["search", "dev"], "search needs <word>", "agent-chat search <channel> <word>… "),
        (
            ["post", "dev", "--title", "hello", "world"],
            "unexpected 'world': quote a value of several words",
            "agent-chat post --help",
        ),
        (
            ["post", "dev", "--body", "--title", "T"],
            "unexpected 'T': --body took '--title' as its value",
            "agent-chat post --help",
        ),
        (
            ["join", "dev", "--role", "boss"],
            "--role takes top-level or subordinate or human, not 'boss'",
            "agent-chat join --help",
        ),
        (["completion", "ksh"], "<shell> takes bash or zsh or fish, not 'ksh'", "agent-chat completion --help"),
        (["read", "--version"], "unknown option '--version'; a word that begins with a dash goes after --", None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistake(line: list[str], message: str, following: str | None) -> None:
    error = refused(*line, commands=TASKS)
    assert error.code == "USAGE"
    assert error.message == message
    assert following is None or (error.next or "").startswith(following)


def test_unknown_task_command_has_its_own_code() -> None:
    for line in (["task"], ["task", "clam", "12"], ["task", "--json"], ["task", ""]):
        assert refused(*line, commands=TASKS).code == "TASK_INVALID_COMMAND"
    assert refused("task", "clam").next == "agent-chat task claim --help"
    assert refused("task", "claim", commands=TASKS).code == "USAGE"


NO_INTEGERS = ["", "+", "-", "1.0", "1e3", "0x1", "1_0", " 1", "1 ", "١", "²", "0", "1001", "-1", "9" * 5000, "\ud800"]
NO_SECONDS = ["", ".", "-1", "+1", "1e3", "inf", "nan", "1_0", " 1", "1..2", "1.2.3", "٣", "9" * 5000, "0x1", "\ud800"]


@pytest.mark.parametrize("text", NO_INTEGERS, ids=lambda text: ascii(text[:9]))
def test_no_whole_number(text: str) -> None:
    assert "whole number" in refused("read", "dev", "--limit", text).message


@pytest.mark.parametrize("text", NO_SECONDS, ids=lambda text: ascii(text[:9]))
def test_no_seconds(text: str) -> None:
    assert "number of seconds" in refused("wait", "dev", "--timeout", text).message


def test_messages_are_one_printable_line() -> None:
    for word in ("a\nb\x1b[31m", "\ud800", "\0", "x" * 100_000):
        for line in ([word], ["read", "a", word], ["read", "a", f"--{word}"], ["read", "a", "--limit", word]):
            message = refused(*line).message
            assert message.isprintable()
            assert len(message) < 200


# --- near words, no abbreviations -----------------------------------------------------------------------------------


def mistyped(word: str) -> Iterator[str]:
    """Yields a word with one letter dropped, and with two neighbours swapped; leading dashes stay."""
    start = len(word) - len(word.lstrip("-"))
    for at in range(start, len(word)):
        yield word[:at] + word[at + 1 :]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def test_near_command() -> None:
    for row in COMMANDS:
        *above, last = row.path
        names = {each.path[len(above)] for each in COMMANDS if list(each.path[:-1][: len(above)]) == above}
        others = " ".join(["", *names - {last}])  # what one of them begins with may mean that one
        for typed in {word for word in mistyped(last) if f" {word}" not in others} - {last}:
            error = refused(*above, typed)
            assert (f"did you mean {row.name}?" in error.message, error.next) == (True, f"agent-chat {row.name} --help")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_near_option_and_no_abbreviation(command: Command) -> None:
    known = {s for a in (*command.options, *GLOBALS) for s in a.spellings}
    for spelling in known - {"--version"}:
        for typed in set(mistyped(spelling)) - known:
            if len(typed.lstrip("-")) > 1:  # of a single letter nobody can tell
                assert f"did you mean {spelling}?" in refused(*command.path, typed).message, typed
        for length in range(3, len(spelling)):
            prefix = spelling[:length]
            if prefix not in known:
                for line in ([prefix], [prefix, "x"], [f"{prefix}=x"]):
                    assert "unknown option" in refused(*command.path, *line).message


def test_near_prefers_the_shortest_that_was_begun() -> None:
    assert near("--ti", ("--timeout", "--title", "--to")) == "--title"
    assert near("--TITLE", ("--title",)) == "--title"
    assert near("xyzzy", ("post", "read")) is None
    assert near("", ("post",)) is None
    assert near("--", ("--title",)) is None


# --- --json of a line with mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["--json"], True),
        (["nosuch", "--json"], True),
        (["nosuch", "--title", "--json"], False),
        (["nosuch", "--peek", "--json"], True),
        (["read", "dev", "--limit", "--json"], False),
        (["read", "dev", "--limit=x", "--json"], True),
        (["read", "dev", "--bogus", "--json"], True),
        (["--title", "--json", "post"], False),
        (["--root", "--json", "channels"], False),
        (["read", "--", "--json"], False),
        (["read", "--json", "--"], True),
        (["--json=yes"], False),
        ([], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wants_json(line: list[str], expected: bool) -> None:
    assert wants_json(line) is expected
    assert wants_json(line, COMMANDS) is expected


# --- whatever is typed ----------------------------------------------------------------------------------------------

SPELLINGS = sorted({s for row in TASKS for a in (*row.options, *GLOBALS) for s in a.spellings})
WORDS = st.one_of(
    st.sampled_from(sorted({word for row in TASKS for word in row.path})),
    st.sampled_from(SPELLINGS),
    st.sampled_from(
        ["", "-", "--", "---", "--=", "=", "-=x", "\0", "\ud800", "--\udcff", "1", "-1", "a,b", "é", "e\u0301"]
    ),
    st.builds("{}={}".format, st.sampled_from(SPELLINGS), st.text(max_size=5)),
    st.text(st.characters(), max_size=8),
)
LINES = st.lists(WORDS, max_size=9) | st.builds(
    lambda row, rest: [*row.path, *rest], st.sampled_from(TASKS), st.lists(WORDS, max_size=8)
)


def outcome(line: list[str]) -> Request | ChatError:
    try:
        return parse(line, TASKS)
    except ChatError as error:
        return error


@given(LINES)
@example(["read", "--limit", "9" * 5000])
@example(["--", "--", "--"])
def test_whatever_is_typed(line: list[str]) -> None:
    """A line is a request that fits its command, or a mistake that is told; both agree on what `--json` means."""
    request = outcome(line)
    as_json = wants_json(line, TASKS)
    if isinstance(request, ChatError):
        assert request.code in ("USAGE", "TASK_INVALID_COMMAND")
        assert request.message.isprintable()
        assert request.next
        return
    assert request.as_json is as_json
    assert request.command in TASKS
    assert request.values.keys() == {argument.name for argument in request.command.arguments}
    for argument in request.command.arguments:
        value = request.values[argument.name]
        if argument.flag:
            assert isinstance(value, bool)
        elif argument.many or argument.repeatable:
            assert isinstance(value, tuple)
        elif value is not None:
            assert isinstance(value, {"integer": int, "seconds": float}.get(argument.kind, str))


@given(st.text(), st.sampled_from(["--title", "--body", "--body-file", "--reply", "--key"]))
def test_every_text_is_a_value(text: str, spelling: str) -> None:
    """An option that takes a text takes any text, in both forms."""
    rest = [] if spelling == "--title" else ["--title", "t"]
    name = spelling[2:].replace("-", "_")
    assert parse(["post", "dev", *rest, spelling, text], COMMANDS).values[name] == text
    assert parse(["post", "dev", *rest, f"{spelling}={text}"], COMMANDS).values[name] == text


def test_understanding_a_line_loads_nothing_slow() -> None:
    code = (
        "import sys; from agent_chat.cli.commands import COMMANDS; from agent_chat.cli.parser import parse;"
        "parse(['post', 'dev', '--as', 'bob', '--title=t', '--json'], COMMANDS);"
        "slow = 're json typing argparse difflib textwrap collections enum functools dataclasses contextlib'.split();"
        "print([name for name in slow if name in sys.modules])"
    )  # -S: what the site module loads is not ours
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
