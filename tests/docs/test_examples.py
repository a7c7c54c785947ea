"""What the documentation teaches about bodies is safe: a quoted heredoc, never text that the shell reads first."""

from __future__ import annotations

import re

import pytest

from agent_chat.cli.commands import COMMANDS
from agent_chat.cli.help import command_help
from tests.docs.pages import blocks, markdown
from tests.tidy import tree

SHELLS = ("sh", "console", "bash", "shell")
HEREDOC = re.compile(r"<<-?\s*(\S+)")
BODY = re.compile(r"--body[ =]")


def examples() -> list[tuple[str, str]]:
    """Where each shell example stands, and its text."""
    found = [
        (f"{block.page}:{block.line}", "\n".join(block.lines)) for page in markdown() for block in blocks(page, *SHELLS)
    ]
    found += [(name, tree.text_of(name)) for name in tree.files() if name.startswith("examples/")]
    found += [
        (f"help of {row.name}", command_help(row).partition("Give long text")[2]) for row in COMMANDS if row.notes
    ]
    return found


@pytest.mark.parametrize(("where", "text"), examples(), ids=lambda value: value if len(value) < 40 else "")
def test_a_body_comes_from_a_quoted_heredoc(where: str, text: str) -> None:
    assert not BODY.search(text), f"{where}: give the body with --body-file"
    unquoted = [word for word in HEREDOC.findall(text) if not re.fullmatch(r"'\w+'", word)]
    assert unquoted == [], f"{where}: the shell would read this heredoc first"
    if "--body-file -" in text:
        assert HEREDOC.search(text), f"{where}: show where the body comes from"


def test_no_double_quoted_text_holds_what_a_shell_would_run() -> None:
    for where, text in examples():
        code = "\n".join(line for line in text.splitlines() if not line.startswith(">"))
        code = re.sub(r"<<-?'(\w+)'\n.*?\n\1\b", "", code, flags=re.DOTALL)
        assert not re.search(r'--(?:title|body|topic)[ =]"[^"]*[`]', code), where


def test_the_help_of_post_teaches_the_heredoc() -> None:
    post = next(row for row in COMMANDS if row.path == ("post",))
    assert "--body-file - <<'EOF'" in command_help(post)
