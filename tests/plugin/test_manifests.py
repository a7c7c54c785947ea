"""The manifests are valid, agree with the program about its version, and name what is there."""

from __future__ import annotations

import re

import pytest

import agent_chat
from tests.plugin.manifests import HOOKS, MANIFESTS, document
from tests.tidy import tree

PLUGIN, MARKETPLACE = MANIFESTS


def test_all_versions_are_that_of_the_program() -> None:
    (entry,) = document(MARKETPLACE)["plugins"]
    assert {document(PLUGIN)["version"], entry["version"]} == {agent_chat.__version__}
    assert re.search(rf"(?m)^(## \[|Version ){re.escape(agent_chat.__version__)}\b", tree.text_of("CHANGELOG.md"))


def test_the_marketplace_is_its_own_plugin() -> None:
    market, plugin = document(MARKETPLACE), document(PLUGIN)
    (entry,) = market["plugins"]
    assert (market["name"], entry["name"], plugin["name"], entry["source"]) == (*["agent-chat"] * 3, "./")
    assert market["owner"]["name"] == plugin["author"]["name"]
    assert entry["description"] == plugin["description"]
    assert {plugin["license"], entry["license"]} == {"MIT"}
    assert 'license = "MIT"' in tree.text_of("pyproject.toml")


def test_the_manifest_leaves_the_default_folders_to_the_host() -> None:
    """hooks/hooks.json is loaded by itself: named once more it would run twice, or not at all."""
    assert not {"hooks", "skills", "commands"} & {*document(PLUGIN)}


@pytest.mark.parametrize("name", [*MANIFESTS, HOOKS])
def test_no_manifest_names_a_place_of_somebodys_machine(name: str) -> None:
    assert not re.search(r'(?<![\w}])/(?:home|Users|usr|opt|tmp)/|[A-Z]:\\\\|"~', tree.text_of(name))
    if name == HOOKS:
        assert agent_chat.__version__ not in tree.text_of(name)


def test_what_a_plugin_needs_goes_into_the_sdist() -> None:
    folders = re.findall(r'(?m)^  "/([\w.*-]+)",$', tree.text_of("pyproject.toml"))
    assert {".claude-plugin", "agent_chat", "chat.py", "commands", "hooks", "skills", "*.md"} <= {*folders}
