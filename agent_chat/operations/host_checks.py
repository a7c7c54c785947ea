"""What is tried with the hooks of a host, and what is said about it: the part of `doctor --hosts` that starts nothing.

`trial_of` tells what a host would start for a line, in a canary's room; whoever starts it hands back how it ended. A
`Report` says "guarded" only of a refusal that was provoked and seen, where nothing is known to keep the host from
calling that hook.
"""

from __future__ import annotations

from agent_chat.operations import host_trust, wiring
from agent_chat.operations.host_wirings import BROKEN, BY_PLUGIN, NOTE, UNSURE, Fault, manual
from agent_chat.records import host_payload, json_codec
from agent_chat.records.hook_answer import FAILED, GUARD, NOT_RUN, OK
from agent_chat.records.host_payload import Scene
from agent_chat.records.value import Value
from agent_chat.storage import layout
from agent_chat.storage.filesystem import is_folder
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_chat.operations.canary import CanaryRoom
    from agent_chat.operations.hook_traces import Trace
    from agent_chat.operations.host_sources import Sources
    from agent_chat.operations.host_wirings import Found, Line, Places, Wiring
    from agent_chat.storage.workspace import Workspace

SECONDS = 10.0
PLUGIN_PYTHONS = ("python3", "python")
PLUGIN_HOSTS = ("claude", "codex", "copilot")
NOT_WIRED, NEVER = "not wired", "never ran for this root"
UNTRIED = "what cursor obeys is known from its documentation alone"
ALL_TOOLS = ("", "*", ".*")
# What a host's own hooks and shells are told by, and a canary's must not be.
OURS = "AGENT_CHAT_"


class Trial(Value):
    """What is started for one line: the line, what it reads, in which folder, with which variables of its own."""

    line: str
    payload: bytes
    folder: str
    variables: dict[str, str]


class Hook(Value):
    """What became of one hook: OK, FAILED or NOT_RUN, and what came back; `path` is that of its wiring."""

    event: str
    outcome: str
    detail: str
    path: str


class Report(Value):
    """What is known of one host."""

    host: str
    found: bool
    wirings: tuple[Wiring, ...]
    hooks: tuple[Hook, ...]
    faults: tuple[Fault, ...]
    last: Trace | None = None

    @property
    def is_mentioned(self) -> bool:
        """Whether there is more to say of it than that it is not there."""
        return self.found or bool(self.wirings or self.faults)

    @property
    def works(self) -> bool:
        """Whether nothing that is wired is known not to work."""
        broken = any(fault.weight == BROKEN for fault in self.faults)
        return not broken and all(hook.outcome == OK for hook in self.hooks)

    @property
    def guarded(self) -> bool:
        """Whether a refusal was seen, of a line that the host itself runs, and nothing keeps the host from it."""
        refused = any(hook.event == GUARD and hook.outcome == OK for hook in self.hooks)
        runs_lines = bool(wiring.HOSTS[self.host].events)
        return refused and runs_lines and all(fault.weight == NOTE for fault in self.faults)

    @property
    def next(self) -> tuple[str, ...]:
        """The next steps, each once."""
        return tuple(dict.fromkeys(fault.next for fault in self.faults if fault.next))


def trial_of(host: str, wired: Wiring, line: Line, room: CanaryRoom, *, token: str, time: str, pid: int) -> Trial:
    """Returns what a host starts for a line; `token` makes it a session of its own."""
    session = f"canary-{token}"
    scene = Scene(session=session, turn=f"{session}-1", folder=room.project, file=room.file, time=time, pid=pid)
    ours = {
        "AGENT_CHAT_ROOT": room.root,
        "AGENT_CHAT_NAME": room.canary.agent,
        "AGENT_CHAT_STOP": "block",
    }
    payload = host_payload.payload(host, line.name, line.event, scene)
    return Trial(
        line=line.known.on(host, room.root) if line.known is not None else line.text,
        payload=json_codec.encode(payload).encode("utf-8", "surrogateescape"),
        folder=wired.plugin if host == "copilot" and wired.plugin else room.project,
        variables={**host_payload.variables(host, scene, wired.plugin), **ours},
    )


def is_inherited(name: str) -> bool:
    """Tells whether a hook of a canary inherits a variable."""
    return not name.startswith(OURS) and name not in host_payload.OF_SESSIONS


def pythons_of(line: Line) -> tuple[str, ...]:
    """Returns the interpreters by which a line starts us, in its order; none where it needs none of them."""
    return line.known.pythons if line.known is not None else PLUGIN_PYTHONS


def report(
    sources: Sources,
    places: Places,
    found: Found,
    host: str,
    hooks: Sequence[Hook],
    *,
    on_path: bool,
    last: Trace | None,
    root: str,
    plugin: str,
) -> Report:
    """Returns all that is known of a host; `plugin` is the folder from which ours can be installed, "" for none.

    `last` is the trace in the root that the wiring names, else in `root`, which is "" where there is none yet.
    """
    faults = [*(fault for wired in found.wirings for fault in wired.faults), *found.faults]
    is_here = on_path or found.at_home
    for wired in found.wirings:
        doubts = host_trust.doubts(sources, places, host, wired)
        # A project may be wired for hosts that its user does not have: they can trust nothing, and nobody minds.
        faults += doubts if is_here else [fault.replace(next="", weight=UNSURE) for fault in doubts]
        faults += [*_gaps(host, wired), *_unmatched(host, wired)]
        if wired.root not in ("", root):
            step = f"export AGENT_CHAT_ROOT={shell_word(wired.root)}"
            faults.append(
                Fault(text=f"its hooks look at {wired.root}, and not at the root of this call", next=step, weight=NOTE)
            )
    if host == "cursor" and found.wirings:
        faults.append(Fault(text=UNTRIED, weight=UNSURE))
    if len(found.wirings) > 1:
        faults.append(_twice(host, found.wirings))
    if last is not None and last.fault:
        faults.append(Fault(text=last.fault, weight=NOTE))
    is_found = on_path or found.there
    if is_found and not found.wirings and not faults:
        faults.append(Fault(text=NOT_WIRED, next=install(host, plugin), weight=NOTE))
    if found.wirings and is_here and last is None and root and not any(fault.next for fault in faults):
        faults.append(Fault(text=NEVER, next=f"start {host} with AGENT_CHAT_NAME, and give it a prompt", weight=NOTE))
    return Report(host=host, found=is_found, wirings=found.wirings, hooks=tuple(hooks), faults=tuple(faults), last=last)


def install(host: str, plugin: str) -> str:
    """Returns the command that wires a host: by the plugin where it has plugins and ours is at hand."""
    if plugin and host in PLUGIN_HOSTS:
        add = "add" if host == "codex" else "install"
        return f"{host} plugin marketplace add {plugin} && {host} plugin {add} agent-chat@agent-chat"
    return f"agent-chat setup {host}"


def _gaps(host: str, wired: Wiring) -> list[Fault]:
    """Returns the events that a wiring leaves out."""
    there = {line.event for line in wired.lines}
    events = [event.ours for event in wiring.HOSTS[host].events if event.ours not in there]
    if not wired.lines or not events:
        return []
    step = "" if wired.by == BY_PLUGIN else manual(host, wired.by)
    return [Fault(text=f"{wired.path} has no hook for {', '.join(events)}", next=step, weight=NOTE)]


def _unmatched(host: str, wired: Wiring) -> list[Fault]:
    """Returns what is said of a guard that a host may not call for the edit that was tried."""
    step = "" if wired.by == BY_PLUGIN else manual(host, wired.by)
    return [
        Fault(text=f"{wired.path} names {line.matcher} as the tools of {line.name}", next=step, weight=UNSURE)
        for line in wired.lines
        if line.event == GUARD
        and line.matcher not in ALL_TOOLS
        and host_payload.tool_of(host) not in line.matcher.split("|")
    ]


def _twice(host: str, wirings: Sequence[Wiring]) -> Fault:
    """Returns what is said of a host that is wired more than once."""
    extra = next((wired for wired in reversed(wirings) if wired.by != BY_PLUGIN), None)
    step = manual(host, extra.by, "--remove") if extra is not None else f"{host} plugin uninstall {wirings[-1].id}"
    return Fault(text="wired more than once, so all is said so often", next=step, weight=NOTE)


def not_run(line: Line, wired: Wiring, why: str) -> Hook:
    """Returns what is said of a hook that was not tried."""
    return Hook(event=line.event, outcome=NOT_RUN, detail=why, path=wired.path)


def failed(hook: Hook, why: str) -> Hook:
    """Returns a hook that failed, with the cause that was found for it."""
    return hook.replace(outcome=FAILED, detail=f"{hook.detail}; {why}" if hook.detail else why)


# -- the root ----------------------------------------------------------------------------------------------------------


class Root(Value):
    """Whether files can be made in the root: None where there is none yet. `fault` says why not."""

    writable: bool | None
    fault: str = ""


def try_root(workspace: Workspace) -> Root:
    """Writes a file into the root and removes it again; makes no root."""
    files = workspace.files
    try:
        if not is_folder(files.root_status()):
            return Root(writable=False, fault="is no folder")
    except (FileNotFoundError, NotADirectoryError):
        return Root(writable=None, fault="does not exist yet")
    except OSError as error:
        return Root(writable=False, fault=error.strerror or str(error))
    path = layout.temporary_in(workspace.root, workspace.ids.fresh())
    try:
        files.write_new(path, b"agent-chat doctor --hosts\n", sync=False)
        files.remove(path)
    except OSError as error:
        return Root(writable=False, fault=error.strerror or str(error))
    return Root(writable=True)
