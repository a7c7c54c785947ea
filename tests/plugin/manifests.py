"""The files that make the checkout a plugin: its manifests, hooks, commands and skills."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.tidy import tree

MANIFESTS = (".claude-plugin/plugin.json", ".claude-plugin/marketplace.json")
HOOKS = "hooks/hooks.json"
SKILLS = ("SKILL.md", "skills/agent-chat/SKILL.md")


def document(name: str) -> dict[str, Any]:
    """The JSON object in a file of the checkout."""
    found = json.loads(tree.text_of(name))
    assert isinstance(found, dict)
    return found


def commands() -> list[str]:
    """The slash commands."""
    return [name for name in tree.files() if name.startswith("commands/")]


def front_matter(name: str) -> tuple[dict[str, Any], str]:
    """The front matter of a Markdown file and its body."""
    start, head, body = tree.text_of(name).split("---\n", 2)
    assert start == "", f"{name} begins with its front matter"
    found = yaml.safe_load(head)
    assert isinstance(found, dict)
    return found, body


def hook_lines() -> dict[str, str]:
    """Event -> the one command line that hooks.json has for it."""
    found = {}
    for event, groups in document(HOOKS)["hooks"].items():
        ((handler,),) = [group["hooks"] for group in groups]
        found[event] = handler["command"]
    return found
