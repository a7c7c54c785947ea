"""Where our plugin is installed in the hosts that have plugins, told by the files that they keep about it.

Seen with Claude Code 2.1.332, Codex 0.171 and Copilot CLI 1.0.102: from a folder, from a repository, for a user, for a
project, as a folder of skills, disabled, and gone (docs/hosts.md).
"""

from __future__ import annotations

from agent_chat.operations.host_sources import SourceError, Sources, fields_of, items_of, text_of
from agent_chat.records.known_line import PLUGIN
from agent_chat.records.value import Value
from agent_chat.storage import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANIFEST = ".claude-plugin/plugin.json"
MARKETPLACE = ".claude-plugin/marketplace.json"
HOOKS = "hooks/hooks.json"


class Plugin(Value):
    """An installed plugin of ours: what its host calls it, the folder that its hooks are run from, whether it is on.

    `in_project`: the project's own files brought it, and not the user.
    """

    id: str
    folder: str
    enabled: bool = True
    in_project: bool = False


def below(folder: str, relative: str) -> str:
    """Returns the path of what lies below a folder, named with slashes."""
    for name in relative.split("/"):
        folder = layout.join(folder, name) if name not in ("", ".") else folder
    return folder


def of_claude(sources: Sources, config: str, project: str) -> Iterator[Plugin]:
    """Yields the plugin as Claude Code has it: from a marketplace, else as a folder among the skills."""
    files = [below(config, "settings.json")]
    if project:
        files += [below(project, ".claude/settings.json"), below(project, ".claude/settings.local.json")]
    enabled: dict[str, object] = {}
    for path in files:
        enabled.update(_enabled(_lenient(sources, path)))
    installed = fields_of(sources.fields(below(config, "plugins/installed_plugins.json")).get("plugins"))
    markets = sources.fields(below(config, "plugins/known_marketplaces.json"))
    found = False
    for id_, entries in installed.items():
        name, _, market = id_.partition("@")
        for entry in map(fields_of, items_of(entries)) if name == PLUGIN else ():
            if text_of(entry.get("projectPath")) not in ("", project):
                continue
            known = fields_of(markets.get(market))
            folder = text_of(entry.get("installPath"))
            if text_of(fields_of(known.get("source")).get("source")) == "directory":
                folder = _in_marketplace(sources, text_of(known.get("installLocation"))) or folder
            found = True
            yield Plugin(id=id_, folder=folder, enabled=enabled.get(id_) is True)
            break
    if not found:
        yield from _of_skills(sources, below(config, "skills"), in_project=False)
        if project:
            yield from _of_skills(sources, below(project, ".claude/skills"), in_project=True)


def _of_skills(sources: Sources, folder: str, *, in_project: bool) -> Iterator[Plugin]:
    for name in sources.names_in(folder):
        place = layout.join(folder, name)
        if text_of(sources.fields(below(place, MANIFEST)).get("name")) == PLUGIN:
            yield Plugin(id=f"{PLUGIN}@skills-dir", folder=place, in_project=in_project)


def of_codex(sources: Sources, config: str) -> Iterator[Plugin]:
    """Yields the plugin as Codex has it: a copy, with a section in its configuration."""
    text = sources.text(below(config, "config.toml")) or ""
    cache = below(config, "plugins/cache")
    for section, lines in sections(text):
        name, _, market = section.removeprefix("plugins.").strip("\"'").partition("@")
        if not section.startswith("plugins.") or name != PLUGIN:
            continue
        folder = below(cache, f"{market}/{PLUGIN}")
        versions = sources.names_in(folder)
        version = max(versions, key=_by_number, default="")
        id_ = f"{name}@{market}"
        yield Plugin(id=id_, folder=below(folder, version), enabled=lines.get("enabled") != "false")


def of_copilot(sources: Sources, config: str) -> Iterator[Plugin]:
    """Yields the plugin as Copilot CLI has it: a copy, or read live from a folder."""
    settings = sources.fields(below(config, "settings.json"))
    markets = fields_of(settings.get("extraKnownMarketplaces"))
    for id_, on in _enabled(settings).items():
        source = fields_of(fields_of(markets.get(id_.partition("@")[2])).get("source"))
        if text_of(source.get("source")) == "directory":
            path = text_of(source.get("path"))
            yield Plugin(id=id_, folder=_in_marketplace(sources, path) or path, enabled=on is True)
    copies = sources.fields(below(config, "config.json")).get("installedPlugins")
    for entry in map(fields_of, items_of(copies)):
        if text_of(entry.get("name")) == PLUGIN:
            market = text_of(entry.get("marketplace"))
            id_ = f"{PLUGIN}@{market}" if market else PLUGIN
            enabled = entry.get("enabled") is not False and _enabled(settings).get(id_) is not False
            yield Plugin(id=id_, folder=text_of(entry.get("cache_path")), enabled=enabled)


def sections(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the tables of a TOML text with their simple values as they are written: enough for a host's own file."""
    name = ""
    values: dict[str, str] = {}
    for line in [*map(str.strip, text.splitlines()), "["]:
        if line.startswith("["):
            if name:
                yield name, values
            name, values = line[: line.rfind("]")].strip("[] "), {}
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition(" = " if " = " in line else "=")
            value = value.strip()
            sign = value[:1] if value[:1] in ('"', "'") else ""
            end = value.find(sign, 1) + 1 if sign else 0
            values[key.strip()] = value[:end] if end else value if value[:1] == "{" else value.partition("#")[0].strip()


def _enabled(settings: Mapping[str, object]) -> dict[str, object]:
    listed = fields_of(settings.get("enabledPlugins"))
    return {id_: on for id_, on in listed.items() if id_.partition("@")[0] == PLUGIN}


def _lenient(sources: Sources, path: str) -> Mapping[str, object]:
    """Returns the object in a settings file, an empty one where it cannot be read: whoever looks for hooks says so."""
    try:
        return sources.fields(path)
    except SourceError:
        return {}


def _in_marketplace(sources: Sources, folder: str) -> str:
    """Returns the folder of our plugin in that of a marketplace; "" where it is not named there."""
    listed = sources.fields(below(folder, MARKETPLACE)).get("plugins")
    for entry in map(fields_of, items_of(listed)):
        if text_of(entry.get("name")) == PLUGIN:
            return below(folder, text_of(entry.get("source")))
    return ""


def _by_number(version: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isascii() and part.isdigit() else -1, part) for part in version.split(".")]
