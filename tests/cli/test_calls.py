"""Calls from the outside: statuses, who acts, which root, near words, and that nothing typed is a bug of ours."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_chat.cli.command import GLOBALS
from agent_chat.cli.commands import COMMANDS
from agent_chat.storage import workspace as workspace_module
from tests.cli.json_calls import CALLS, ONCE, WITHOUT_ROOT, make_root, prepare, variables_of
from tests.cli.leasing import tree_beside
from tests.support.cli import CLOSED, DANGER, NULL, FakeClock, Result, Stdin, plant, run, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_chat.cli.command import Command


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    run(["init", "dev"], path)
    run(["init", "ops", "--members", "alice,bob"], path)
    run(["post", "dev", "--from", "alice", "--title", "one"], path)
    plant(path / "dev" / "task-1.md")
    run(["init", "work"], path)
    run(["task", "create", "work", "t-1", "--from", "alice", "--title", "t"], path)
    return path


# --- exit statuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        ([], 2),
        (["--help"], 0),
        (["help"], 0),
        (["help", "post"], 0),
        (["--version"], 0),
        (["version"], 0),
        (["nosuch"], 2),
        (["--nosuch"], 2),
        (["read"], 2),
        (["channels"], 0),
        (["roster", "dev"], 0),
        (["read", "dev", "--as", "bob"], 0),
        (["inbox", "--as", "nobody"], 0),
        (["search", "dev", "nowhere"], 0),
        (["wait", "dev", "--as", "alice", "--timeout", "0"], 1),
        (["wait", "dev", "--as", "zoe", "--timeout", "0", "--peek"], 0),
        (["wait", "dve", "--as", "bob"], 2),
        (["wait", "ops", "--as", "eve"], 2),
        (["wait", "dev", "--as", "bob", "--reply-to", "77"], 2),
        (["task"], 2),
        (["task", "nosuch"], 2),
        (["task", "--help"], 0),
        (["task", "list", "work"], 0),
        (["task", "ready", "work"], 0),
        (["task", "show", "work", "t-1"], 0),
        (["task", "show", "work", "t-9"], 2),
        (["task", "update", "work", "t-1", "--as", "bob", "--title", "t"], 0),
        (["task", "release", "work", "t-1", "--as", "bob"], 0),
        (["task", "done", "work", "t-1", "--as", "bob"], 2),
        (["task", "renew", "work", "t-1", "--as", "bob"], 2),
        (["task", "recover-pending", "work", "--as", "bob"], 0),
        (["task", "recover-pending", "work", "--as", "bob", "--resolve-publication", "rollback"], 2),
        (["check", "work", "free.py"], 0),
        (["check", "work", "held.py"], 1),
        (["check", "work", "free.py", "held.py", "--as", "bob"], 1),
        (["check", "work", "held.py", "--as", "alice"], 0),
        (["check", "work", "../held.py"], 2),
        (["locks", "work"], 0),
        (["lock", "work", "held.py", "--as", "bob"], 2),
        (["unlock", "work", "free.py", "--as", "bob"], 2),
        (["recover-pending", "work", "--as", "bob"], 0),
        (["wait", "work", "--as", "bob", "--task", "t-1", "--timeout", "0"], 0),
        (["wait", "work", "--as", "bob", "--task", "t-9", "--timeout", "0"], 2),
        (["wait", "work", "--as", "bob", "--path", "held.py", "--timeout", "0"], 1),
        (["wait", "work", "--as", "bob", "--path", "free.py", "--timeout", "0"], 0),
        (["doctor"], 0),
        (["completion", "bash"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_status(root: Path, argv: list[str], status: int) -> None:
    variables = tree_beside(root)
    if "held.py" in argv:
        run(["lock", "work", "held.py", "--as", "alice"], root, environment=variables)
    for form in ([], ["--json"]):
        result = run([*argv, *form], root, environment=variables)
        assert result.status == status
        if form:
            document = result.json
            assert ("error" in document) is (status == 2)
        elif status == 2:
            assert result.stdout == ""
            assert result.stderr.startswith("agent-chat: ")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_answers_help_in_short_whatever_else_is_wrong(command: Command, tmp_path: Path) -> None:
    for argv in ([*command.path, "--help"], ["--help", *command.path], [*command.path, "--nosuch", "-h"]):
        result = run(argv, tmp_path / "none")
        assert (result.status, result.stderr) == (0, "")
        assert 3 <= result.stdout.count("\n") <= 40
        assert result.stdout.startswith(f"agent-chat {command.name}")
    assert run(["help", *command.path], tmp_path / "none").stdout == result.stdout
    assert not (tmp_path / "none").exists()


def test_doctor_with_findings_is_a_negative_answer(root: Path) -> None:
    plant(root / "dev" / "notes.txt")
    assert run(["doctor"], root).status == run(["doctor", "--json"], root).status == 1


def test_a_bug_of_ours_is_seventy_and_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_chat.cli.channel_commands.channels", lambda request: 1 // 0)
    result = run(["channels"], root)
    assert (result.status, result.stdout) == (70, "")
    assert result.stderr.startswith("agent-chat: INTERNAL: ZeroDivisionError: ")
    assert "Traceback" not in result.stderr
    assert "Traceback" in run(["channels"], root, environment={"AGENT_CHAT_DEBUG": "1"}).stderr


def test_interrupted_is_130(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(request: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agent_chat.cli.channel_commands.channels", interrupt)
    assert run(["channels"], root) == Result(130, "", "")


def test_a_closed_standard_output_loses_nothing(root: Path) -> None:
    result = run(["read", "dev", "--as", "bob"], root, stdout_closed=True)
    assert (result.status, result.code) == (2, "OUTPUT_FAILED")
    assert run(["inbox", "--as", "bob", "--json"], root).json["channels"][0]["unread"] == 1
    result = run(["post", "dev", "--from", "bob", "--title", "two"], root, stdout_closed=True)
    assert "posted #2 dev/0002-bob-two.md, but the reply could not be written" in result.stderr


# --- who acts, and where --------------------------------------------------------------------------------------------


def test_an_agent_is_named_by_option_before_variable_and_empty_counts_as_unset(root: Path) -> None:
    run(["read", "dev", "--as", "zoe"], root)
    for option in ("--as", "--from", "--owner", "--actor"):
        named = run(["inbox", option, "zoe"], root, environment={"AGENT_CHAT_NAME": "bob"})
        assert named.stdout == "nothing unread for zoe\n"
    assert "dev: 1 unread" in run(["inbox"], root, environment={"AGENT_CHAT_NAME": "bob"}).stdout
    for environment in ({}, {"AGENT_CHAT_NAME": ""}):
        assert run(["inbox"], root, environment=environment).code == "AGENT_MISSING"
    assert run(["inbox", "--as", ""], root).code == "AGENT_INVALID"
    for name in ("../x", "a\nb", "all", "\x1b[31m", "\udcff", "x" * 300):
        assert run(["inbox"], root, environment={"AGENT_CHAT_NAME": name}).status == 2


def test_a_root_is_named_by_option_before_variable_before_default(root: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    os.environ["HOME"], before = home, os.environ["HOME"]
    try:
        for argv, environment, where in (
            (["--root", str(root), "channels"], {"AGENT_CHAT_ROOT": "/nowhere"}, (str(root), "option")),
            (["channels", "--root", str(root)], {}, (str(root), "option")),
            (["channels"], {"AGENT_CHAT_ROOT": str(root)}, (str(root), "variable")),
            (["--root", "", "channels"], {"AGENT_CHAT_ROOT": str(root)}, (str(root), "variable")),
            (["channels"], {"AGENT_CHAT_ROOT": "~/x"}, (f"{home}/x", "variable")),
            (["channels"], {"AGENT_CHAT_ROOT": ""}, (f"{home}/agent-chat", "default")),
            (["channels"], {}, (f"{home}/agent-chat", "default")),
            (["channels", "--root", "~"], {}, (home, "option")),
        ):
            result = run([*argv, "--json"], environment=environment)
            document = result.json.get("error", result.json)
            assert (document["root"], document["root_from"]) == where
            if result.status:
                text = run(argv, environment=environment).stderr
                assert f"root {where[0]} ({where[1]})" in text
        assert not Path(home).exists()
    finally:
        os.environ["HOME"] = before


@pytest.mark.usefixtures("seated")
@pytest.mark.parametrize("name", CALLS)
def test_every_reply_says_which_root_was_used(tmp_path: Path, name: str) -> None:
    """All but the texts about the program itself, which look at no root; `--json` stands before or after."""
    root = make_root(tmp_path / "root")
    call = prepare(root, name)
    for argv in (["--json", *call], [*call, "--json"]):
        result = run(argv, root, environment=variables_of(root, call))
        if name in ONCE and argv[-1] == "--json":
            assert result.status == 2  # it was done before
            continue
        assert result.status == 0, result
        if name not in WITHOUT_ROOT:
            assert (result.json["root"], result.json["root_from"]) == (str(root), "variable")
        for channel in {"dev", "work", "fresh"}.intersection(argv):
            assert result.json["channel"] == channel


@pytest.mark.parametrize(
    ("argv", "near"),
    [
        (["raed", "dev"], "did you mean read?"),
        (["read", "dve", "--as", "bob"], "did you mean dev?"),
        (["read", "dev", "--sa", "bob"], "did you mean --as?"),
        (["read", "ops", "--as", "bbo"], "did you mean bob?"),
        (["post", "ops", "--from", "alice", "--title", "t", "--to", "bobb"], "did you mean bob?"),
        (["claim", "dev", "task-l.md", "--as", "bob"], "did you mean task-1.md?"),
        (["join", "dve", "--as", "bob"], "did you mean dev?"),
        (["help", "psot"], "did you mean post?"),
        (["task", "clami", "work", "t-1", "--as", "bob"], "did you mean task claim?"),
        (["task", "claim", "work", "t-l", "--as", "bob"], "did you mean t-1?"),
        (["task", "claim", "wrok", "t-1", "--as", "bob"], "did you mean work?"),
        (["task", "done", "work", "t-1", "--fecne", "1"], "did you mean --fence?"),
        (["task", "update", "work", "t-1", "--as", "bob", "--status", "opne"], "did you mean open?"),
        (["task", "create", "work", "t-3", "--from", "al", "--title", "t", "--depends-on", "t1"], "did you mean t-1?"),
        (["unlcok", "work", "a", "--as", "bob"], "did you mean unlock?"),
        (["unlock", "work", "scr/a.py", "--as", "bob"], "did you mean src/a.py?"),
        (["locks", "wrok"], "did you mean work?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_word_is_answered_with_the_near_one(root: Path, argv: list[str], near: str) -> None:
    if "unlock" in argv:
        run(["lock", "work", "src/a.py", "--as", "bob"], root, environment=tree_beside(root))
    result = run(argv, root)
    assert (result.status, result.stdout) == (2, "")
    assert near in result.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ["rea", "dev"],
        ["read", "dev", "--lim", "3", "--as", "b"],
        ["read", "dev", "--a=b"],
        ["task", "claim", "work", "t-1", "--as", "bob", "--lease-sec", "3"],
        ["lock", "work", "a", "--as", "bob", "--reas", "r"],
        ["loc", "work"],
    ],
)
def test_nothing_is_abbreviated(root: Path, argv: list[str]) -> None:
    assert run(argv, root).code == "USAGE"


def test_an_empty_answer_means_that_there_is_nothing(root: Path) -> None:
    """Who is not known, or where, is never told as quiet."""
    for argv in (
        ["read", "ops", "--as", "bobb"],
        ["read", "nowhere", "--as", "bob"],
        ["inbox", "--as", "b b"],
        ["--root", str(root / "x"), "inbox", "--as", "bob"],
        ["search", "nowhere", "x"],
    ):
        result = run(argv, root)
        assert (result.status, result.stdout) == (2, "")


# --- whatever is typed ----------------------------------------------------------------------------------------------

NASTY = [
    *("", " ", "-", "--", "../x", "..", "/", "a/b", "\x1b[2J", "a\nb", "\0", "a\0b", "\udcff", "\ud800", "x" * 300),
    *(
        "字" * 100,
        "\u202e",
        "😀",
        "con",
        "all",
        "system",
        "0",
        "-1",
        "1",
        "#1",
        "99999999999999999999",
        "1e9",
        "nan",
        "~",
    ),
    *("dev", "ops", "DEV", "alice", "bob", "task-1.md", "0001-alice-one.md", "path:x", "2h", "2026-01-01", "%s", "{}"),
    *("a,b", "@bob", "--json", "--root", "--as", "/dev/null"),
]
WORDS = st.one_of(
    st.sampled_from(NASTY),
    st.sampled_from(sorted({word for row in COMMANDS for word in row.path})),
    st.sampled_from(sorted({s for row in COMMANDS for a in (*row.options, *GLOBALS) for s in a.spellings})),
    st.text(st.characters(), max_size=6),
)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line that goes far: a command, most of its positionals, some of its options, a few words anywhere."""
    row = draw(st.sampled_from(COMMANDS))
    argv = list(row.path)
    for argument in row.positionals:
        good = ["dev"] if argument.name.startswith("channel") else ["1", "t-1", "src/a.py", "task-1.md", "bash", "one"]
        argv += draw(st.lists(st.sampled_from(good) | WORDS, min_size=1, max_size=2 if argument.many else 1))
    for argument in draw(st.lists(st.sampled_from(row.options or GLOBALS), max_size=5, unique=True)):
        argv.append(draw(st.sampled_from(argument.spellings)))
        if not argument.flag:
            argv.append(draw(st.sampled_from(["alice", "bob", "1", "0.5", "t-1", "x"]) | WORDS))
    for word in draw(st.lists(WORDS, max_size=2)):
        argv.insert(draw(st.integers(0, len(argv))), word)
    return argv


@pytest.fixture(scope="module")
def playground() -> Iterator[Path]:
    """A root that all examples share, in a folder of its own where `~` and relative paths end too."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "root"
        patch.chdir(folder)
        patch.setenv("HOME", folder)
        patch.setattr(workspace_module, "Clock", FakeClock)
        run(["init", "dev"], path)
        run(["init", "ops", "--members", "alice,bob"], path)
        run(["post", "dev", "--from", "alice", "--title", "one"], path)
        plant(path / "dev" / "task-1.md")
        run(["task", "create", "dev", "t-1", "--from", "alice", "--title", "t"], path)
        run(["lock", "dev", "src/a.py", "--as", "alice"], path)
        yield path


STDIN = st.sampled_from([NULL, CLOSED]) | st.binary(max_size=40)


@given(lines(), STDIN, st.sampled_from(["", "bob", "../x", "\udcff"]))
@example(["post", "dev", "--from", "a", "--title", "t", "--body-file", "\0"], NULL, "")
@example(["post", "dev", "--from", "a", "--title", "t", "--body-file", "\ud800"], NULL, "")
@example(["channels", "--root", "\ud800"], NULL, "")
@example(["channels", "--root", "\0"], NULL, "")
@example(["channels", "--root", "x" * 300], NULL, "")
@example(["show", "dev", "\ud800"], NULL, "bob")
@example(["read", "\ud800", "--as", "\ud800"], NULL, "")
@example(["task", "create", "dev", "t-2", "--title", "\ud800", "--acceptance", "\0"], NULL, "bob")
@example(["task", "update", "dev", "t-1", "--status", "\ud800", "--owner", "\ud800"], NULL, "bob")
@example(["task", "claim", "dev", "\ud800", "--ttl", "\ud800"], NULL, "bob")
@example(["task", "recover", "dev", "t-1", "--reason", "\udcff"], NULL, "bob")
@example(["lock", "dev", "\udcff", "--reason", "\ud800", "--workspace", "\0"], NULL, "bob")
@example(["unlock", "dev", "\0", "--workspace", "~"], NULL, "bob")
@example(["wait", "dev", "--path", "\ud800", "--task", ""], NULL, "bob")
@example(["init", "x", "--workspace", "\ud800"], NULL, "")
def test_whatever_is_typed_is_done_or_refused(playground: Path, argv: list[str], stdin: Stdin, name: str) -> None:
    """Never a status but 0, 1, 2; never a traceback; with --json always one document and nothing else."""
    text = run(argv, playground, stdin=stdin, environment={"AGENT_CHAT_NAME": name})
    assert text.status in (0, 1, 2), (argv, text)
    assert not set(text.stdout + text.stderr) & DANGER, (argv, text)
    result = run(["--json", *argv], playground, stdin=stdin, environment={"AGENT_CHAT_NAME": name})
    assert result.status in (0, 1, 2), (argv, result)
    if result.stdout.startswith("{"):
        document = json.loads(result.stdout)
        assert isinstance(document, dict)
        assert result.stdout.count("\n") == 1
        assert ("error" in document) is (result.status == 2) or "error: " in result.stderr
    else:
        assert (result.status, result.code) == (2, "USAGE") or not result.stdout, (argv, result)


@pytest.mark.slow
def test_a_real_process_behaves_alike(root: Path) -> None:
    assert run_process(["read", "dev", "--as", "bob"], root).stdout.startswith("#1 alice -> all | one | ")
    assert run_process(["nosuch"], root).status == 2
    assert run_process([], root).status == 2
    assert run_process(["wait", "dev", "--as", "bob", "--timeout", "0"], root).status == 1
