"""Home folders as real clients leave them when our plugin was installed: Claude Code, Codex, Copilot CLI.

The files are those that Claude Code 2.1.332, Codex 0.171 and Copilot CLI 1.0.102 wrote into an empty home folder.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.tidy import tree

if TYPE_CHECKING:
    from pathlib import Path

ID = "agent-chat@agent-chat"
PLUGIN_FILES = (".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "hooks/hooks.json")
SCRIPTS = ("session_inbox", "prompt_inbox", "edit_guard", "batch_inbox", "stop_inbox")
CODEX_EVENTS = ("session_start", "user_prompt_submit", "pre_tool_use", "stop")


def write(path: Path, content: Any) -> Path:
    """Writes a file and its folders: text as it is, everything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((content if isinstance(content, str) else json.dumps(content, indent=2)).encode("utf-8"))
    return path


def plugin(folder: Path) -> Path:
    """The files of the plugin that its hosts look at; its program is not there."""
    for name in (*PLUGIN_FILES, *(f"hooks/{script}.py" for script in SCRIPTS)):
        write(folder / name, tree.text_of(name))
    return folder


def claude(
    home: Path, folder: Path, *, source: str = "directory", project: Path | None = None, enabled: bool | None = True
) -> None:
    """As `claude plugin install` leaves it; with a project as with `--scope project`."""
    config = home / ".claude"
    copy = config / "plugins" / "cache" / "agent-chat" / "agent-chat" / "0.1.0"
    place = (
        {"source": "directory", "path": str(folder)} if source == "directory" else {"source": "git", "url": "https://x"}
    )
    location = folder if source == "directory" else config / "plugins" / "marketplaces" / "agent-chat"
    entry = {"scope": "project" if project else "user", "installPath": str(copy), "version": "0.1.0"}
    if project:
        entry["projectPath"] = str(project)
    write(config / "plugins" / "installed_plugins.json", {"version": 2, "plugins": {ID: [entry]}})
    write(
        config / "plugins" / "known_marketplaces.json",
        {"agent-chat": {"source": place, "installLocation": str(location)}},
    )
    settings: dict[str, Any] = {"extraKnownMarketplaces": {"agent-chat": {"source": place}}}
    if enabled is not None:
        settings["enabledPlugins"] = {ID: enabled}
    write((project / ".claude" if project else config) / "settings.json", settings)
    if source != "directory":
        plugin(copy)


def codex(home: Path, *, version: str = "0.1.0", enabled: bool = True, trusted: tuple[str, ...] = CODEX_EVENTS) -> Path:
    """As `codex plugin add` leaves it, and its user with `/hooks`; returns the plugin's folder."""
    config = home / ".codex"
    lines = ["[marketplaces.agent-chat]", 'source_type = "local"', 'source = "/x"', ""]
    lines += [f'[plugins."{ID}"]', f"enabled = {str(enabled).lower()}", "", "[hooks.state]"]
    for event in trusted:
        lines += ["", f'[hooks.state."{ID}:hooks/hooks.json:{event}:0:0"]', 'trusted_hash = "sha256:00"']
    write(config / "config.toml", "\n".join(lines) + "\n")
    return plugin(config / "plugins" / "cache" / "agent-chat" / "agent-chat" / version)


def copilot(home: Path, folder: Path, *, live: bool = True, enabled: bool = True) -> Path:
    """As `copilot plugin install` leaves it: live from a folder, or a copy; returns the plugin's folder."""
    config = home / ".copilot"
    place = {"source": "directory", "path": str(folder)} if live else {"source": "git", "url": "https://x"}
    markets = {"agent-chat": {"source": place}}
    write(config / "settings.json", {"extraKnownMarketplaces": markets, "enabledPlugins": {ID: enabled}})
    if live:
        return folder
    copy = config / "installed-plugins" / "agent-chat" / "agent-chat"
    entry = {"name": "agent-chat", "marketplace": "agent-chat", "cache_path": str(copy), "enabled": enabled}
    text = json.dumps({"installedPlugins": [entry]}, indent=2)
    write(config / "config.json", f"// User settings belong in settings.json.\n{text}\n")
    return plugin(copy)
