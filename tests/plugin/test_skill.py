"""The skill and the slash commands: one text in both places, fit for every host, short, and true."""

from __future__ import annotations

import re

import pytest

from agent_chat.cli.command import GLOBALS
from agent_chat.cli.commands import COMMANDS
from agent_chat.errors import CODES, KINDS
from tests.docs.pages import outside_of_blocks
from tests.plugin.manifests import SKILLS, commands, front_matter
from tests.tidy import tree

PORTABLE = {"name", "description", "license", "compatibility", "metadata"}
SPAN = re.compile(r"`([^`]+)`")
NAMES = {row.path[0] for row in COMMANDS}
BYTES_PER_TOKEN = 3.5  # English and code have more; so this counts too many


def test_the_skill_is_one_text_in_both_places() -> None:
    first, second = [(tree.ROOT / name).read_bytes() for name in SKILLS]
    assert first == second


def test_its_front_matter_is_portable() -> None:
    fields, _ = front_matter(SKILLS[1])
    assert {"name", "description"} <= {*fields} <= PORTABLE
    assert fields["name"] == SKILLS[1].split("/")[-2]
    assert len(fields["description"]) < 1024
    assert len(fields["compatibility"]) <= 500
    for words in ("Use when", "Not for", "another agent", "wait", "hand off", "lock", "inbox"):
        assert words in fields["description"]


def test_it_is_short() -> None:
    text = tree.text_of(SKILLS[0])
    assert len(text.splitlines()) < 500
    assert len(text.encode()) / BYTES_PER_TOKEN < 5000
    assert len(text.encode()) / BYTES_PER_TOKEN < 3500, "every word is paid for by everyone who uses it"


def test_it_works_in_a_skill_folder_and_in_a_plugin() -> None:
    """In a skill folder hosts replace only ${CLAUDE_SKILL_DIR}, which is two folders deeper in a plugin."""
    text = tree.text_of(SKILLS[0])
    assert '"${CLAUDE_SKILL_DIR}/chat.py"' in text
    assert '"${CLAUDE_SKILL_DIR}/../../chat.py"' in text
    assert "CLAUDE_PLUGIN_ROOT" not in text


def test_it_tells_what_to_do_on_every_kind_of_refusal() -> None:
    rows = re.findall(r"(?m)^\| ([^|]+?) \| [^|]+ \|$", tree.text_of(SKILLS[0]))
    assert [row for row in rows if row in KINDS] == list(KINDS)
    codes = {span for row in rows for span in SPAN.findall(row) if re.fullmatch(r"[A-Z]+(?:_[A-Z]+)+", span)}
    assert codes <= {*CODES}
    assert len(codes) >= 8


@pytest.mark.parametrize("name", [SKILLS[0], *commands()])
def test_it_names_commands_and_options_that_are_there(name: str) -> None:
    arguments = [*GLOBALS, *(each for row in COMMANDS for each in row.arguments)]
    known = {spelling for each in arguments for spelling in each.spellings}
    wrong = []
    for span in SPAN.findall(outside_of_blocks(name)):
        words = span.split()
        if words[0] in ("agent-chat", "chat") and words[1:] and words[1] not in NAMES:
            wrong.append(span)
        wrong += [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    assert wrong == []


@pytest.mark.parametrize("name", commands())
def test_a_slash_command_leaves_the_users_text_to_the_model(name: str) -> None:
    """No shell ever reads $ARGUMENTS: it stands in prose, and no `!` block runs anything before the model looks."""
    fields, body = front_matter(name)
    assert {*fields} == {"description", "argument-hint", "disable-model-invocation"}
    assert len(fields["description"]) < 100
    assert body.count("$ARGUMENTS") == outside_of_blocks(name).count("$ARGUMENTS") == 1
    assert not [span for span in SPAN.findall(body) if "ARGUMENTS" in span]
    assert not re.search(r"(?m)!`|^\s*```!|\$\d", body)
    assert 'python3 "${CLAUDE_PLUGIN_ROOT}/chat.py"' in body


def test_there_are_four_slash_commands() -> None:
    assert commands() == [f"commands/{name}.md" for name in ("claim", "inbox", "post", "state")]
