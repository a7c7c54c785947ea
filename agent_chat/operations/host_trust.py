"""Whether a host is known to trust what calls our hooks: without that it runs none, and mostly says nothing about it.

Told by the files that the hosts keep (seen with Claude Code 2.1.332, Codex 0.171 and Gemini CLI 0.61). Where they do
not tell it is left open, and then nothing may be called guarded.
"""

from __future__ import annotations

from agent_chat.operations.host_plugins import HOOKS, below, sections
from agent_chat.operations.host_sources import SourceError, fields_of, items_of, text_of
from agent_chat.operations.host_wirings import BROKEN, BY_PROJECT, UNSURE, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_chat.operations.host_sources import Sources
    from agent_chat.operations.host_wirings import Places, Wiring

ASKS = "start codex here and trust the hooks of agent-chat: /hooks"


def doubts(sources: Sources, places: Places, host: str, wired: Wiring) -> list[Fault]:
    """Returns what is not known, or known to be missing, of a host's trust in a wiring."""
    try:
        if host == "codex":
            return _of_codex(sources, places, wired)
        if wired.by != BY_PROJECT and not wired.in_project:
            return []
        trusts = {"claude": _claude_trusts, "copilot": _copilot_trusts, "gemini": _gemini_trusts}.get(host)
        if trusts is not None and trusts(sources, places):
            return []
    except SourceError as error:
        return [Fault(text=f"whether {host} trusts this is not known: {error}", weight=UNSURE)]
    if host not in ("claude", "gemini", "copilot"):
        return []
    text = f"{host} runs a project's hooks only once its user trusts the folder; no file says so"
    return [Fault(text=text, next=f"start {host} here and trust the folder, if it asks", weight=UNSURE)]


def _claude_trusts(sources: Sources, places: Places) -> bool:
    config = places.variables.get("CLAUDE_CONFIG_DIR") or places.home
    projects = fields_of(sources.fields(below(config, ".claude.json")).get("projects"))
    return any(
        fields_of(fields).get("hasTrustDialogAccepted") is True and _lies_in(places.project, folder)
        for folder, fields in projects.items()
    )


def _copilot_trusts(sources: Sources, places: Places) -> bool:
    config = sources.fields(below(places.own("copilot"), "config.json"))
    folders = [*items_of(config.get("trusted_folders")), *items_of(config.get("trustedFolders"))]
    return any(_lies_in(places.project, text_of(folder)) for folder in folders if text_of(folder))


def _gemini_trusts(sources: Sources, places: Places) -> bool:
    home = places.variables.get("GEMINI_CLI_HOME") or places.home
    folder = below(home, ".gemini")
    security = fields_of(sources.fields(below(folder, "settings.json")).get("security"))
    if fields_of(security.get("folderTrust")).get("enabled") is False:
        return True
    rules = sources.fields(below(folder, "trustedFolders.json"))
    longest, trusts = -1, False
    for path, rule in rules.items():
        effective = path.rpartition("/")[0] if rule == "TRUST_PARENT" else path
        if _lies_in(places.project, effective) and len(path) > longest:
            longest, trusts = len(path), rule in ("TRUST_FOLDER", "TRUST_PARENT")
    return trusts


def _of_codex(sources: Sources, places: Places, wired: Wiring) -> list[Fault]:
    """Returns what Codex's configuration tells of its trust: by hook, and for a project.

    A hook is trusted by the hash of its line, and one of a plugin by that of all its files too; how they are made is
    not known here. So whether a trust still holds is never known.
    """
    text = sources.text(below(places.own("codex"), "config.toml")) or ""
    tables = dict(sections(text))
    found: list[Fault] = []
    count = _trusted_lines(tables, wired)
    if count < len(wired.lines):
        few = "none" if not count else f"{count} of {len(wired.lines)}"
        found.append(Fault(text=f"codex trusts {few} of the hooks in {wired.path}", next=ASKS, weight=BROKEN))
    else:
        text = "codex trusted these hooks once; whether it does as they are now only codex knows: /hooks"
        found.append(Fault(text=text, weight=UNSURE))
    if wired.by == BY_PROJECT and not any(
        name.startswith("projects.")
        and values.get("trust_level", "").strip("\"'") == "trusted"
        and _lies_in(places.project, _unquoted(name[len("projects.") :]))
        for name, values in tables.items()
    ):
        text = "codex reads the hooks of a project only where it trusts the project"
        found.append(Fault(text=text, next="start codex here and trust the project", weight=UNSURE))
    return found


def _trusted_lines(tables: Mapping[str, Mapping[str, str]], wired: Wiring) -> int:
    """Returns for how many lines of a wiring Codex's configuration holds a trust."""
    known = {
        _unquoted(name[len("hooks.state.") :])
        for name, values in tables.items()
        if name.startswith("hooks.state.") and "trusted_hash" in values and values.get("enabled") != "false"
    }
    # The same as a table within a line.
    inline = tables.get("hooks.state", {})
    known |= {_unquoted(key) for key, value in inline.items() if "trusted_hash" in value}
    start = f"{wired.id}:{HOOKS}" if wired.plugin else wired.path
    return sum(f"{start}:{_snake(line.name)}:{line.group}:{line.handler}" in known for line in wired.lines)


def _snake(name: str) -> str:
    return "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name).lstrip("_")


def _unquoted(key: str) -> str:
    """Returns a key of TOML without its quotes."""
    if key[:1] == '"':
        return key.strip('"').replace('\\"', '"').replace("\\\\", "\\")
    return key.strip("'")


def _lies_in(path: str, folder: str) -> bool:
    """Tells whether a folder is another one or lies in it, by their names."""
    one, other = path.replace("\\", "/").rstrip("/") + "/", folder.replace("\\", "/").rstrip("/") + "/"
    return bool(path) and one.startswith(other)
