"""docs/hosts.md names every host, every event of a hook, and every variable that hooks obey."""

from __future__ import annotations

import re

from agent_chat.hooks import hosts
from agent_chat.hooks.call import EVENTS
from tests.tidy import tree

PAGE = "docs/hosts.md"
# How the page writes the hosts that `--host` names.
WRITTEN = {
    "claude": "Claude Code",
    "codex": "Codex",
    "copilot": "Copilot CLI",
    "gemini": "Gemini CLI",
    "cursor": "Cursor",
    "opencode": "OpenCode",
    "omp": "OMP",
    "pi": "Pi",
}


def test_it_names_every_host() -> None:
    text = tree.text_of(PAGE)
    assert set(WRITTEN) == set(hosts.HOSTS)
    assert [name for name in WRITTEN.values() if name not in text] == []


def test_it_names_every_event() -> None:
    text = tree.text_of(PAGE)
    assert [event for event in EVENTS if f"| `{event}` |" not in text and f"`hook {event}`" not in text] == []


def test_it_names_the_variables_that_hooks_obey_and_no_others() -> None:
    named = set(re.findall(r"AGENT_CHAT_[A-Z]+", tree.text_of(PAGE)))
    sources = "".join(tree.modules("agent_chat").values())
    obeyed = set(re.findall(r'variable\("(AGENT_CHAT_[A-Z]+)"\)', sources))
    assert obeyed <= named
    assert [name for name in named if name not in sources] == []
