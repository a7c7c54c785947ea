"""What a shell command plainly writes to: a table of commands as agents type them, and that any text is taken apart."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.hooks.shell_words import END, READS, WORD, WRITES, tokens
from agent_chat.hooks.shell_writes import MAX_COMMAND, MAX_PATHS, Writes, writes_of

WRITTEN: list[tuple[str, Any]] = [
    # redirections
    ("echo a > b", "b"),
    ("echo a>b", "b"),
    ("echo a >> b", "b"),
    ("echo a >| b", "b"),
    ("echo a &> b", "b"),
    ("echo a &>> b", "b"),
    ("echo a >& b", "b"),
    ("> b", "b"),
    ("2> err make", "err"),
    ("make >out 2>err", "out err"),
    ("make 2>&1 >log", "log"),
    ("cat <in >out", "out"),
    ("cat > 'my file'", ("my file",)),
    ('cat > "my file"', ("my file",)),
    ("cat > my\\ file", ("my file",)),
    ("cat > a'b c'd", ("ab cd",)),
    ("cat <<'EOF' > b\nhello\nEOF", "b"),
    ("cat > b <<EOF\nhello\nEOF", "b"),
    ("echo a > шлях/Zoë.md", "шлях/Zoë.md"),
    ("(make; true) > b", "b"),
    ("{ make; } > b", "b"),
    ("make | sort > b", "b"),
    # commands that change files
    ("tee b", "b"),
    ("make | tee -a b", "b"),
    ("rm b", "b"),
    ("rm -rf b c", "b c"),
    ("rm -- b", "b"),
    ("mv a b", "a b"),
    ("cp a b", "a b"),
    ("ln -s a b", "a b"),
    ("touch b", "b"),
    ("truncate -s0 b", "b"),
    ("install a b", "a b"),
    ("shred b", "b"),
    ("rmdir b", "b"),
    ("dd if=a of=b", "b"),
    ("/bin/rm b", "b"),
    ("sudo rm b", "b"),
    ("FOO=1 BAR=2 rm b", "b"),
    ("env FOO=1 rm b", "b"),
    ("time nice nohup rm b &", "b"),
    ("command rm b", "b"),
    ("if true; then rm b; else rm c; fi", "b c"),
    ("for f in x; do rm b; done", "b"),
    ("! rm b", "b"),
    ("true && rm b || rm c", "b c"),
    ("(cd x && rm b); rm c", "x/b c"),
    ("cd x; echo >b; cd /y && rm c", "x/b /y/c"),
    ("git -C x checkout b", "x/b"),
    ("x=$(rm b)", "b"),
    ("rm b\nrm c", "b c"),
    ("rm b; rm b", "b"),
    ("Remove-Item b", "b"),
    ("Set-Content b", "b"),
    # git
    ("git checkout -- b", "b"),
    ("git checkout HEAD b", "HEAD b"),
    ("git restore b", "b"),
    ("git rm b", "b"),
    ("git mv a b", "a b"),
]
WHOLE_TREE = [
    "git stash",
    "git reset --hard",
    "git checkout",
    "git pull",
    "git merge",
    "git clean -fdx",
    "make && git stash",
]
NOTHING = [
    "",
    "ls -la",
    "cat a",
    "cat < a",
    "grep -r x .",
    "git status",
    "git diff a",
    "git log --oneline",
    "git commit -am x",
    "git add a",
    "make 2>&1",
    "make >/dev/null",
    "make > /dev/null 2>&1",
    "make >&2",
    "make 2>&-",
    "rm",
    "FOO=1",
    "echo '> a'",
    'echo ">a"',
    "echo \\>a",
    "echo 'rm a'",
    "sed s/a/b/ f",
    "perl -ne print f",
    "python run.py --out a",
    "sudo",
    "&&",
    "'",
    '"',
    "\\",
    ">",
    ">>&",
    "2>",
    "((",
]


@pytest.mark.parametrize(("command", "paths"), WRITTEN)
def test_what_a_command_plainly_writes_to_is_found(command: str, paths: str | tuple[str, ...]) -> None:
    assert writes_of(command) == Writes(paths=paths if isinstance(paths, tuple) else tuple(paths.split()))


@pytest.mark.parametrize("command", WHOLE_TREE)
def test_what_may_change_the_whole_work_tree_is_told(command: str) -> None:
    assert writes_of(command) == Writes(tree=True)


@pytest.mark.parametrize("command", NOTHING)
def test_what_only_reads_or_says_something_writes_nothing(command: str) -> None:
    assert writes_of(command) == Writes()


@pytest.mark.parametrize(
    "command", ["sed -i s/a/b/ f", "sed -i.bak s/a/b/ f", "sed --in-place s/a/b/ f", "perl -i -pe x f"]
)
def test_an_edit_in_place_writes_to_its_file(command: str) -> None:
    assert "f" in writes_of(command).paths


def test_so_many_paths_are_named_and_no_more() -> None:
    names = [f"f{number}" for number in range(2 * MAX_PATHS)]
    assert writes_of("rm " + " ".join(names)).paths == tuple(names[:MAX_PATHS])


def test_the_end_of_a_long_command_is_not_looked_at() -> None:
    assert writes_of("rm a\n" + " " * MAX_COMMAND + "rm b").paths == ("a",)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ('a \'b c\' "d\\"e"', [(WORD, "a"), (WORD, "b c"), (WORD, 'd"e')]),
        ("a;b|c&d", [(WORD, "a"), (END, ";"), (WORD, "b"), (END, "|"), (WORD, "c"), (END, "&"), (WORD, "d")]),
        ("a 2>b <c", [(WORD, "a"), (WRITES, "b"), (READS, "c")]),
        ("a2>b", [(WORD, "a2"), (WRITES, "b")]),
        ("''", [(WORD, "")]),
        (">;b", [(END, ";"), (WORD, "b")]),
    ],
)
def test_a_command_is_taken_apart_as_a_shell_does(command: str, found: list[tuple[str, str]]) -> None:
    assert list(tokens(command)) == found


SIGNS = st.text(st.sampled_from("ab12 \t\n'\"\\>|&;<(){}=-#$`/é\ud800") | st.characters())


@given(SIGNS)
def test_any_text_is_taken_apart(command: str) -> None:
    found = writes_of(command)
    assert all(isinstance(path, str) and path for path in found.paths)
    assert all(kind in (WORD, END, WRITES, READS) for kind, _ in tokens(command))


@pytest.mark.parametrize(
    "part",
    [
        ">",
        "1>",
        ">&",
        "'",
        '"',
        "\\",
        "A=1 ",
        "sudo ",
        "a>",
        "9",
        "(",
        "&>",
        "<<",
        "rm a;",
        "git stash;",
        "$(",
        "\ud800",
    ],
)
def test_the_longest_command_takes_a_moment(part: str) -> None:
    command = part * (MAX_COMMAND // len(part))
    began = time.process_time()
    writes_of(command)
    # A few milliseconds; by the square of the length it would be seconds.
    assert time.process_time() - began < 0.5
