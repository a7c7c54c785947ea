"""The checkout itself is tidy: its modules keep the rules, and its files are where and what they should be."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.tidy import tree
from tests.tidy.import_rules import import_cycles
from tests.tidy.rules import OTHER_RULES, PACKAGE_RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "manager", "managers"}
FOREIGN = re.compile(r"\.\./shared\b|(?<![\w.~})>$-])/(?:work|root)/|\b(?:SPEC|DESIGN)\.md\b")


def complain(findings: Iterable[object]) -> None:
    lines = [str(each) for each in findings]
    assert not lines, "\n" + "\n".join(lines)


@pytest.mark.parametrize("rule", PACKAGE_RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    complain(f for module, source in tree.modules("agent_chat").items() for f in rule(module, source))


@pytest.mark.parametrize("rule", OTHER_RULES, ids=lambda rule: rule.__name__)
def test_tests_and_hooks_keep_the_rule(rule: Rule) -> None:
    complain(f for module, source in tree.modules("tests", "hooks").items() for f in rule(module, source))


def test_no_circular_imports() -> None:
    complain(import_cycles(tree.modules("agent_chat")))


def test_chat_only_starts_the_program() -> None:
    assert len(tree.text_of("chat.py").splitlines()) <= 15


def test_names_say_what_is_in_the_file() -> None:
    stems = {name: name.split("/")[-1].split(".")[0] for name in tree.files() if name.endswith(".py")}
    complain(
        f"{name}: `{word}` says nothing; name the noun"
        for name, stem in stems.items()
        for word in sorted(VAGUE & set(stem.split("_")))
    )


def test_architecture_lists_each_module_with_its_first_line() -> None:
    """A module's first docstring line is its line in docs/architecture.md, and each line there has a module."""
    assert "docs/architecture.md" in tree.files(), "docs/architecture.md is missing"
    listed = dict(re.findall(r"(?m)^ *- `(agent_chat/[\w/]+\.py)` — (.+?) *$", tree.text_of("docs/architecture.md")))
    actual = {
        module.replace(".", "/") + ".py": (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
        for module, source in tree.modules("agent_chat").items()
    }
    lacking = sorted(actual.items() - listed.items())
    complain(
        [f"docs/architecture.md lacks:\n- `{name}` — {line}" for name, line in lacking]
        + [f"docs/architecture.md lists {name}, which does not exist" for name in sorted(listed.keys() - actual.keys())]
    )


def test_no_text_names_a_place_outside_the_checkout() -> None:
    complain(
        f"{name}:{number}: names {found.group()}"
        for name in tree.files()
        if b"\0" not in (tree.ROOT / name).read_bytes()
        for number, line in enumerate((tree.ROOT / name).read_text("utf-8", "replace").splitlines(), 1)
        for found in FOREIGN.finditer(line)
    )


@pytest.mark.parametrize("line", ["see ../|shared/x", "cd /|work/main", '"/|root/x"', "|SPEC|.md says"])
def test_a_place_outside_would_be_found(line: str) -> None:
    """The bars keep these examples from breaking the rule that they show."""
    assert not FOREIGN.search(line)
    assert FOREIGN.search(line.replace("|", ""))


@pytest.mark.parametrize("line", ["{tmp}/roots/x", "<root>/channel/", "at work/", "my/works/tree", "shared locks"])
def test_other_places_are_none_of_its_business(line: str) -> None:
    assert not FOREIGN.search(line)
