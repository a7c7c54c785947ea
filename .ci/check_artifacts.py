"""Checks what the sdist and the wheel hold: `check_artifacts.py <files>`."""

from __future__ import annotations

import sys
import tarfile
import zipfile

SDIST_NEEDS = (
    "README.md",
    "LICENSE",
    "chat.py",
    "agent_chat/__main__.py",
    "tests/conftest.py",
    "docs/architecture.md",
    # What makes it a plugin, and a skill.
    ".claude-plugin/marketplace.json",
    ".claude-plugin/plugin.json",
    "SKILL.md",
    "bin/agent-chat",
    "commands/inbox.md",
    "hooks/edit_guard.py",
    "hooks/hooks.json",
    "skills/agent-chat/SKILL.md",
)


def main() -> None:
    """Ends with a line about the first thing that is wrong, else with one that says what was looked at."""
    for path in sys.argv[1:]:
        if path.endswith(".whl"):
            with zipfile.ZipFile(path) as wheel:
                names = wheel.namelist()
            strangers = [name for name in names if not name.startswith(("agent_chat/", "agent_chat_plugin-"))]
            if strangers:
                sys.exit(f"the wheel holds more than the package: {', '.join(strangers)}")
            if "agent_chat/py.typed" not in names:
                sys.exit("the wheel lacks agent_chat/py.typed")
        else:
            with tarfile.open(path) as sdist:
                names = [name.partition("/")[2] for name in sdist.getnames()]
            missing = [name for name in SDIST_NEEDS if name not in names]
            if missing:
                sys.exit(f"the sdist lacks {', '.join(missing)}")
        print(f"{path.rpartition('/')[2]}: {len(names)} files, as they should be")


main()
