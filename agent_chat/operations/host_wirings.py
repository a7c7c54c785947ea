"""What calls our hooks in each host, found in its files: the plugin, the settings of the project, those of the user.

Nothing is run here, and nothing written. What keeps a host from calling our hooks, or makes it call them twice, is a
`Fault` with the next step.
"""

from __future__ import annotations

from agent_chat.operations import host_extensions, host_plugins
from agent_chat.operations.host_extensions import ExtensionError
from agent_chat.operations.host_oddities import MIN_MILLISECONDS, oddity_of
from agent_chat.operations.host_plugins import HOOKS, below, sections
from agent_chat.operations.host_sources import SourceError, fields_of, items_of, text_of
from agent_chat.operations.wiring import STRICT_JSON
from agent_chat.records.hook_line import event_of
from agent_chat.records.json_edit import is_strict
from agent_chat.records.known_line import SCRIPTS, Known, event_of_plugin, known, known_in_extension
from agent_chat.records.value import Value
from agent_chat.storage import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_chat.operations.host_plugins import Plugin
    from agent_chat.operations.host_sources import Sources
    from agent_chat.operations.wiring import Host

BY_PLUGIN, BY_PROJECT, BY_USER = "plugin", "project", "user"
BROKEN, UNSURE, NOTE = "broken", "unsure", "note"
# Hosts that take the files of a project from the top of its repository too (seen with Codex 0.171).
LOOK_UPWARD = ("codex", "copilot", "opencode")
# The folder of a host in a project and that of its user, by which it is found where its program is not on PATH.
FOLDERS = {
    "claude": (".claude", ("CLAUDE_CONFIG_DIR", ".claude")),
    "codex": (".codex", ("CODEX_HOME", ".codex")),
    "copilot": ("", ("COPILOT_HOME", ".copilot")),
    "gemini": (".gemini", ("", ".gemini")),
    "cursor": (".cursor", ("", ".cursor")),
    "opencode": (".opencode", ("", ".config/opencode")),
    "omp": (".omp", ("", ".omp")),
    "pi": (".pi", ("", ".pi")),
}


class Fault(Value):
    """Something that is to be told of a host, and what to do about it.

    `weight`: hooks are BROKEN by it, or it leaves it UNSURE whether the host runs them, or it is a NOTE.
    """

    text: str
    next: str = ""
    weight: str = BROKEN


class Line(Value):
    """A line that a host runs: the host's event and ours, the text, and where it stands among the event's.

    `known` is what a line of settings is made of; one of the plugin has none. `matcher` names the tools that it is run
    for, `time` is the time-out as it is written. `oddity` is what else stands around it that we did not write, and that
    may keep the host from running it, or from obeying it.
    """

    name: str
    event: str
    text: str
    group: int = 0
    handler: int = 0
    known: Known | None = None
    matcher: str = ""
    time: object = None
    oddity: str = ""


class Wiring(Value):
    """One place that makes a host call our hooks: by what, which file or folder, and its lines.

    `plugin` is the folder of the plugin and `id` what its host calls it. `in_project`: it came with the project.
    """

    by: str
    path: str
    lines: tuple[Line, ...] = ()
    faults: tuple[Fault, ...] = ()
    plugin: str = ""
    id: str = ""
    in_project: bool = False
    root_set: str = ""

    @property
    def root(self) -> str:
        """The root that its lines name, else the one that the host's settings set; "" where nothing names one."""
        named = (line.known.root for line in self.lines if line.known is not None)
        return next(filter(None, named), self.root_set)


class Places(Value):
    """Where to look: the home folder and the project, "" for none, and the variables that name other folders.

    `at_home`: the project is the home folder, by whatever path, so that what is there is the user's.
    """

    home: str
    project: str
    variables: Mapping[str, str]
    at_home: bool = False

    @property
    def _at_home(self) -> bool:
        return self.at_home or self.project == self.home

    def named(self, variable: str, relative: str) -> str:
        """Returns the folder that a variable names, else one below the home folder; "" where neither is there."""
        chosen = self.variables.get(variable, "") if variable else ""
        return chosen or (below(self.home, relative) if self.home else "")

    def own(self, host: str) -> str:
        """Returns the folder that a host keeps for its user."""
        return self.named(*FOLDERS[host][1])

    def in_project(self, relative: str) -> str:
        """Returns the path of something in the project, "" where there is none, or it is the home folder."""
        return below(self.project, relative) if self.project and relative and not self._at_home else ""

    def user_file(self, host: Host) -> str:
        """Returns the user's file of a host."""
        variable, relative, name = host.user
        folder = self.named(variable, relative)
        return below(folder, name) if folder else ""


class Found(Value):
    """What was found of a host in files: what wires it, and what else is to be told.

    `at_home`: it has a folder among the user's; `there`: there, or in the project, which may have come with it.
    """

    there: bool
    at_home: bool = False
    wirings: tuple[Wiring, ...] = ()
    faults: tuple[Fault, ...] = ()


def look(sources: Sources, host: Host, places: Places) -> Found:
    """Returns what the files of a host tell."""
    wirings: list[Wiring] = []
    faults: list[Fault] = []
    for source in (_plugins, _settings):
        try:
            for each in source(sources, host, places):
                (wirings if isinstance(each, Wiring) else faults).append(each)  # type: ignore[arg-type]
        except SourceError as error:
            faults.append(Fault(text=str(error), next="mend that file, or its permissions"))
    if wirings:
        # A plugin that is off is as it should be where something else wires the host.
        faults = [fault.replace(next="") if fault.weight == NOTE else fault for fault in faults]
        faults += _switched_off(sources, host, places)
        root_set = _root_set(sources, host, places)
        wirings = [wired.replace(root_set=root_set) for wired in wirings]
    at_home = _is_folder(sources, places.own(host.name))
    there = at_home or _is_folder(sources, places.in_project(FOLDERS[host.name][0]))
    return Found(there=there, at_home=at_home, wirings=tuple(wirings), faults=tuple(faults))


def _is_folder(sources: Sources, path: str) -> bool:
    try:
        return bool(path) and sources.is_folder(path)
    except SourceError:
        return True  # it may not be looked into, so it is there


def manual(host: str, by: str, *options: str) -> str:
    """Returns the call of setup for a place."""
    return " ".join(["agent-chat setup", host, *options, *(["--user"] if by == BY_USER else [])])


# -- the plugin --------------------------------------------------------------------------------------------------------


def _plugins(sources: Sources, host: Host, places: Places) -> Iterator[Wiring | Fault]:
    """Yields the plugin in a host that has plugins."""
    config = places.own(host.name)
    if not config or host.name not in ("claude", "codex", "copilot"):
        return
    if host.name == "claude":
        found = host_plugins.of_claude(sources, config, places.project if places.in_project(".") else "")
    else:
        find = host_plugins.of_codex if host.name == "codex" else host_plugins.of_copilot
        found = find(sources, config)
    for plugin in found:
        if not plugin.enabled:
            enable = f"{host.name} plugin {'add' if host.name == 'codex' else 'enable'} {plugin.id}"
            yield Fault(text=f"the plugin {plugin.id} is switched off", next=enable, weight=NOTE)
        else:
            yield _plugin(sources, host, plugin)


def _plugin(sources: Sources, host: Host, plugin: Plugin) -> Wiring:
    faults: list[Fault] = []
    lines: list[Line] = []
    path = below(plugin.folder, HOOKS)
    again = f"install it again: {host.name} plugin {'add' if host.name == 'codex' else 'install'} {plugin.id}"
    try:
        if sources.text(path) is None:
            faults.append(Fault(text=f"{path} is missing", next=again))
        lines = list(_lines(sources.fields(path), host, in_plugin=True))
        faults += [Fault(text=f"{path}: {line.name} {line.oddity}", next=again) for line in lines if line.oddity]
        for script in [SCRIPTS[line.event] for line in lines]:
            if not sources.is_file(below(plugin.folder, f"hooks/{script}.py")):
                faults.append(Fault(text=f"{below(plugin.folder, f'hooks/{script}.py')} is missing", next=again))
        if not lines and not faults:
            faults.append(Fault(text=f"{path} holds no line of ours", next=again))
    except SourceError as error:
        faults.append(Fault(text=str(error), next=again))
    return Wiring(
        by=BY_PLUGIN,
        path=plugin.folder,
        lines=tuple(lines),
        faults=tuple(faults),
        plugin=plugin.folder,
        id=plugin.id,
        in_project=plugin.in_project,
    )


# -- settings ----------------------------------------------------------------------------------------------------------


def _settings(sources: Sources, host: Host, places: Places) -> Iterator[Wiring | Fault]:
    """Yields what the settings of the project and of the user hold of ours."""
    files = [(BY_PROJECT, _project_file(sources, host, places)), (BY_PROJECT, places.in_project(host.local))]
    for by, path in [*files, (BY_USER, places.user_file(host))]:
        if not path:
            continue
        try:
            if sources.text(path) is None:
                continue
            found = _of_file(sources, host, by, path) if host.events else _of_extension(sources, host, by, path)
        except SourceError as error:
            yield Fault(text=str(error), next=f"mend it, or see {manual(host.name, by, '--print')}")
            continue
        if found is not None:
            yield found


def _root_set(sources: Sources, host: Host, places: Places) -> str:
    """Returns the root that the settings of a host set for what it starts, "" where they set none."""
    if host.name != "claude":
        return ""
    for path in (places.in_project(host.local), places.in_project(host.project), places.user_file(host)):
        try:
            found = text_of(fields_of(sources.fields(path).get("env")).get("AGENT_CHAT_ROOT")) if path else ""
        except SourceError:
            continue  # told where hooks were looked for
        if found:
            return found
    return ""


def _project_file(sources: Sources, host: Host, places: Places) -> str:
    """Returns the file of a host in the project: of some, that of the folder above which they look up to the top."""
    path = places.in_project(host.project)
    folder = places.project
    if not path or host.name not in LOOK_UPWARD:
        return path
    while not sources.is_file(below(folder, host.project)):
        above = folder.rpartition(layout.SEPARATOR)[0]
        if not above or folder == places.home or sources.real(below(folder, ".git")) is not None:
            return path
        folder = above
    return below(folder, host.project)


def _of_file(sources: Sources, host: Host, by: str, path: str) -> Wiring | None:
    lines = list(_lines(sources.fields(path), host, in_plugin=False))
    if not lines:
        return None
    faults = []
    again = manual(host.name, by)
    if host.name in STRICT_JSON and not is_strict((sources.text(path) or "").encode("utf-8", "surrogatepass")):
        text = f"{path} has comments, or a comma too many, so {host.name} drops it as a whole"
        faults.append(Fault(text=text, next=f"take them out of {path}"))
    if len({line.known.root for line in lines if line.known is not None}) > 1:
        faults.append(Fault(text=f"{path}: its lines look at different roots", next=again))
    for line in lines:
        if line.known is None:
            faults.append(Fault(text=f"{path}: its line for {line.name} was changed, so it is not run", next=again))
        elif host.name == "gemini" and isinstance(line.time, int) and line.time < MIN_MILLISECONDS:
            faults.append(Fault(text=f"{path}: {line.name} gets {line.time} milliseconds", next=again))
        elif line.oddity:
            faults.append(Fault(text=f"{path}: {line.name} {line.oddity}", next=again))
    missing = dict.fromkeys(filter(None, (_missing(sources, line.known) for line in lines)))
    faults += [Fault(text=f"{path} calls {program}, which is missing", next=again) for program in missing]
    return Wiring(by=by, path=path, lines=tuple(lines), faults=tuple(faults), in_project=by == BY_PROJECT)


def _missing(sources: Sources, line: Known | None) -> str:
    """Returns the path of a program that a line names and that is not there."""
    path = (line.program.script or line.program.executable) if line is not None else ""
    return path if path and not sources.is_file(path) else ""


def _of_extension(sources: Sources, host: Host, by: str, path: str) -> Wiring:
    """Returns the wiring that a program of ours in a host is; its lines are what it does."""
    again = manual(host.name, by)
    text = sources.text(path) or ""
    started = known_in_extension(text)
    try:
        host_extensions.require_ours(text)
    except ExtensionError as error:
        return Wiring(by=by, path=path, faults=(Fault(text=f"{path}: {error}", next=f"move it away, then {again}"),))
    if started is None:
        return Wiring(by=by, path=path, faults=(Fault(text=f"{path} does not say how it starts us", next=again),))
    names = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-tool-use": "PreToolUse",
        "stop": "Stop",
    }
    lines = [Line(name=name, event=event, text="", known=started.replace(event=event)) for event, name in names.items()]
    program = _missing(sources, started)
    faults = (Fault(text=f"{path} calls {program}, which is missing", next=again),) if program else ()
    return Wiring(by=by, path=path, lines=tuple(lines), faults=faults, in_project=by == BY_PROJECT)


def _lines(settings: Mapping[str, object], host: Host, *, in_plugin: bool) -> Iterator[Line]:
    """Yields the lines of ours in settings, as far as the host has such an event."""
    events = {event.name for event in host.events}
    for name, elements in fields_of(settings.get("hooks")).items():
        for group, element in enumerate(items_of(elements) if name in events else ()):
            outer = fields_of(element)
            alone = [element] if host.flat and not in_plugin else []
            for place, handler in enumerate(items_of(outer["hooks"]) if "hooks" in outer else alone):
                fields = fields_of(handler)
                text = text_of(fields.get("command"))
                event = event_of_plugin(text) if in_plugin else event_of(text, host.name)
                if event:
                    time = fields.get(host.timeout[0]) if host.timeout else None
                    yield Line(
                        name=name,
                        event=event,
                        text=text,
                        group=group,
                        handler=place,
                        known=None if in_plugin else known(text, host.name),
                        matcher=text_of(outer.get("matcher")),
                        time=time,
                        oddity=oddity_of(host, name, event, outer, fields, in_plugin=in_plugin),
                    )


# -- what keeps a host from calling ------------------------------------------------------------------------------------


def _switched_off(sources: Sources, host: Host, places: Places) -> Iterator[Fault]:
    """Yields what the settings of a host say against all hooks."""
    if host.name in ("claude", "copilot", "gemini"):
        for path in (places.in_project(host.project), places.in_project(host.local), places.user_file(host)):
            try:
                settings = sources.fields(path) if path else {}
            except SourceError:
                continue  # told where hooks were looked for
            if settings.get("disableAllHooks", False) is not False:
                yield Fault(text=f"{path} has disableAllHooks", next=f"take disableAllHooks out of {path}")
            config = fields_of(settings.get("hooksConfig")) if host.name == "gemini" else {}
            if config.get("enabled") is False:
                yield Fault(text=f"{path} has hooksConfig.enabled false", next=f"set it to true in {path}")
            if any(event_of(text_of(each), host.name) for each in items_of(config.get("disabled"))):
                yield Fault(text=f"{path} has hooks of ours in hooksConfig.disabled", next=f"take them out of {path}")
    if host.name == "codex":
        path = below(places.own("codex"), "config.toml")
        try:
            text = sources.text(path) or ""
        except SourceError:
            return
        for section, values in sections(text):
            if section == "features":
                for feature in ("hooks", "plugins"):
                    if values.get(feature) == "false":
                        yield Fault(text=f"{path} has {feature} = false", next=f"set features.{feature} to true")
