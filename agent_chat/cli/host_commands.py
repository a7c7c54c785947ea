"""`doctor --hosts`: what is known of the hosts here, and whether the hooks that they call do what they are for."""

from __future__ import annotations

import os
import sys

from agent_chat.cli.acting import variable
from agent_chat.cli.command import Reply
from agent_chat.cli.hook_runner import EndedBySignal, Runner
from agent_chat.cli.host_text import fields_of, text_of
from agent_chat.errors import ChatError
from agent_chat.names import agent_name
from agent_chat.operations import hook_traces, host_checks, wiring
from agent_chat.operations.canary import CanaryRoom
from agent_chat.operations.host_checks import Hook, Report, Root
from agent_chat.operations.host_plugins import MARKETPLACE, below
from agent_chat.operations.host_sources import SourceError, Sources
from agent_chat.operations.host_wirings import Places, look
from agent_chat.records.hook_answer import FAILED, judged
from agent_chat.records.hook_line import NAME, SCRIPT
from agent_chat.storage import filesystem
from agent_chat.storage.workspace import Workspace, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.host_wirings import Found, Line, Wiring

# The programs by which hosts are found on PATH.
PROGRAMS = {"cursor": ("cursor-agent", "cursor")}
ENDINGS = ("", ".exe", ".cmd", ".bat") if os.name == "nt" else ("",)
# By these variables a host makes itself known to the shells of its agents.
SHELLS = (
    ("CLAUDECODE", "claude"),
    ("COPILOT_CLI", "copilot"),
    ("GEMINI_CLI", "gemini"),
    ("CODEX_THREAD_ID", "codex"),
    ("OPENCODE", "opencode"),
    ("PI_SESSION_ID", "pi"),
)
FOLDER_VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "PI_CODING_AGENT_DIR",
    "XDG_CONFIG_HOME",
)


def doctor_hosts(request: Request) -> Reply:
    """Looks at each host, tries the hooks that are wired, and says what came back; status 1 where something fails."""
    surroundings = _Surroundings(request)
    found = {name: look(surroundings.sources, host, surroundings.places) for name, host in wiring.HOSTS.items()}
    warnings: list[str] = []
    with EndedBySignal():
        hooks = _Trials(surroundings).all(found, warnings)
    reports = [surroundings.report(name, found[name], hooks.get(name, [])) for name in found]
    name, fault = _identity(request)
    root = surroundings.root
    fails = bool(fault) or root.writable is False or not all(report.works for report in reports)
    steps = _steps(request, reports, name, fault, root)
    data: dict[str, object] = {
        **request.workspace.where(),
        "hosts": [fields_of(report) for report in reports],
        "identity": name or None,
        "identity_fault": fault,
        "root_writable": root.writable,
        "root_fault": root.fault,
        "next": steps,
    }
    return Reply(
        data=data,
        text=lambda: text_of(request.workspace, reports, name, fault, root, steps),
        status=1 if fails or warnings else 0,
        warnings=tuple(warnings),
    )


class _Surroundings:
    """Where this call was made: folders, variables, PATH, and the program itself."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.workspace = request.workspace
        self.sources = Sources(self.workspace.clock)
        self.root = host_checks.try_root(self.workspace)
        project = _current_folder()
        named = {name: os.path.join(project, variable(request, name)) for name in FOLDER_VARIABLES}
        home = self._home()
        self.places = Places(
            home=home,
            project=project,
            at_home=self._is_same(project, home),
            variables={
                name: os.path.normpath(folder)
                for name, folder in named.items()
                if variable(request, name) and os.path.isabs(folder)
            },
        )
        self.package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    def _is_same(self, one: str, other: str) -> bool:
        try:
            return bool(one and other) and self.sources.real(one) == self.sources.real(other)
        except SourceError:
            return one == other

    def _home(self) -> str:
        home = variable(self.request, "HOME") if "HOME" in self.request.environment else os.path.expanduser("~")
        return filesystem.absolute(home) if os.path.isabs(home) else ""

    def temporary(self) -> str:
        """Returns the folder for temporary files."""
        for name in ("TMPDIR", "TEMP", "TMP"):
            folder = variable(self.request, name)
            if os.path.isabs(folder) and _has_utf8(folder) and self._is_folder(folder):
                return filesystem.absolute(folder)
        return filesystem.absolute(os.sep + "tmp")

    def _is_folder(self, path: str) -> bool:
        try:
            return self.sources.is_folder(path)
        except SourceError:
            return False

    def _is_file(self, path: str) -> bool:
        try:
            return self.sources.is_file(path)
        except SourceError:
            return False

    def on_path(self, *programs: str) -> str:
        """Returns where the first of some programs is found on PATH, "" where none is."""
        for folder in variable(self.request, "PATH").split(os.pathsep):
            for name in programs:
                for ending in ENDINGS:
                    path = os.path.join(folder, name + ending)
                    if os.path.isabs(folder) and self._is_file(path):
                        return path
        return ""

    def report(self, host: str, found: Found, hooks: list[Hook]) -> Report:
        """Returns all that is known of a host."""
        market = self.package if self._is_file(below(self.package, MARKETPLACE)) else ""
        named = next((wired.root for wired in found.wirings if wired.root), "")
        there = self.workspace.root if self.root.writable is not None else ""
        return host_checks.report(
            self.sources,
            self.places,
            found,
            host,
            hooks,
            on_path=bool(self.on_path(*PROGRAMS.get(host, (host,)))),
            last=hook_traces.last(Workspace(named) if named else self.workspace, host),
            root=there,
            plugin=shell_word(market) if market else "",
        )

    def fault_of_program(self, wired: Wiring, line: Line) -> str:
        """Returns why the program of a line is not started, "" where it may be.

        A project may come from anybody. What its files name is started only by its host, which asks its user first;
        but for this very program, and for the name that the user's own PATH leads to.
        """
        program = wired.plugin
        if line.known is not None:
            program = line.known.program.script or line.known.program.executable or self.on_path(NAME)
            if not program:
                return f"{NAME} is not on PATH"
        if not wired.in_project:
            return ""
        own = [self.package, os.path.join(self.package, SCRIPT), os.path.abspath(sys.argv[0] if sys.argv else "")]
        try:
            real = self.sources.real(program) or program
            project = self.sources.real(self.places.project) or self.places.project
            if real in [self.sources.real(path) for path in own]:
                return ""
        except SourceError as error:
            return str(error)
        by_name = line.known is not None and not (line.known.program.script or line.known.program.executable)
        if by_name and not real.startswith(project.rstrip(os.sep) + os.sep):
            return ""
        return f"{program} is named by this project's files, which may come from anybody"


class _Trials:
    """The trials of one call, all in one canary's room, which is made for the first and removed in any case."""

    def __init__(self, surroundings: _Surroundings) -> None:
        self._surroundings = surroundings
        self._workspace = surroundings.workspace
        self._runner = Runner(surroundings.request.environment)

    def all(self, found: dict[str, Found], warnings: list[str]) -> dict[str, list[Hook]]:
        """Returns what became of each line that is wired, by host; `warnings` get what could not be removed."""
        if not any(wired.lines for each in found.values() for wired in each.wirings):
            return {}
        room = CanaryRoom(self._surroundings.temporary(), self._workspace.clock, self._workspace.ids)
        why = ""
        try:
            try:
                room.make()
            except (OSError, ChatError) as error:
                why = f"no place to try it: {getattr(error, 'strerror', None) or error}"
            return {
                host: [self._tried(host, wired, line, room, why) for wired in each.wirings for line in wired.lines]
                for host, each in found.items()
            }
        finally:
            try:
                room.remove()
            except (OSError, ChatError, RecursionError) as error:  # a hook may leave a tree of any depth
                warnings.append(f"{room.folder} could not be removed: {error}")

    def _tried(self, host: str, wired: Wiring, line: Line, room: CanaryRoom, why: str) -> Hook:
        """Returns what became of one line."""
        if line.known is None and not wired.plugin:
            why = why or "the line is not as setup writes it"
        program = (line.known.program.script or line.known.program.executable) if line.known is not None else wired.path
        why = why or next((f.text for f in wired.faults if f.text.endswith("missing") and program in f.text), "")
        why = why or self._surroundings.fault_of_program(wired, line)
        if why:
            return host_checks.not_run(line, wired, why)
        clock = self._workspace.clock
        trial = host_checks.trial_of(
            host, wired, line, room, token=self._workspace.ids.fresh(), time=clock.timestamp(), pid=os.getpid()
        )
        ran = self._runner.run(trial)
        verdict = judged(host, line.event, ran, room.canary, seconds=host_checks.SECONDS)
        hook = Hook(event=line.event, outcome=verdict.outcome, detail=verdict.detail, path=wired.path)
        if hook.outcome == FAILED and not ran.output:
            cause = self._runner.fault_of_pythons(host_checks.pythons_of(line), room.project)
            return host_checks.failed(hook, cause) if cause else hook
        return hook


def _has_utf8(path: str) -> bool:
    """Tells whether a path can stand in what a host sends, which is JSON."""
    return path.encode("utf-8", "replace").decode("utf-8") == path


def _current_folder() -> str:
    try:
        return filesystem.absolute(".")
    except FileNotFoundError:
        return ""  # it is gone; then there is no project


def _identity(request: Request) -> tuple[str, str]:
    """Returns the name in AGENT_CHAT_NAME, "" where there is none, and what is wrong with it."""
    named = variable(request, "AGENT_CHAT_NAME")
    if not named:
        return "", ""
    try:
        return agent_name(named), ""
    except ChatError as error:
        return "", error.message


def _steps(request: Request, reports: list[Report], name: str, fault: str, root: Root) -> list[str]:
    """Returns the next steps that are of no single host."""
    steps: list[str] = []
    wired = [report.host for report in reports if report.wirings]
    if fault or not name:
        host = wired[0] if wired else "claude"
        steps.append(f"start the host with a name: AGENT_CHAT_NAME=alice {host}")
    if root.writable is False:
        inside = [host for shell, host in SHELLS if request.environment.get(shell)]
        steps.append(f"{NAME} setup {[*inside, *wired, 'claude'][0]} --root-here")
    elif root.writable is None:
        steps.append(request.workspace.call("init CHANNEL"))
    return steps
