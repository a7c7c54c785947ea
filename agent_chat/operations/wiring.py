"""What each host needs so that it calls our hooks: its files and, as data, its hooks.

Nothing here looks at a disk. The lines themselves are of `hook_line`, the programs that some hosts want in the place of
lines of `host_extensions`. A row was tried with the host itself where docs/hosts.md says so.
"""

from __future__ import annotations

from agent_chat.records import hook_line
from agent_chat.records.hook_settings import HostHooks
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.hook_line import Program

SECONDS = 10
WAIT_SECONDS = 3600
TOOLS = "Edit|Write|MultiEdit|NotebookEdit|apply_patch|Bash|PowerShell|mcp__.*"


class Event(Value):
    """One event of a host: its name there, ours, and the tools that it is about."""

    name: str
    ours: str
    matcher: str = ""


class Host(Value):
    """How a host is told of hooks.

    `project` is its file in a project. `user` is where its file for all projects is: the variable that names the
    folder, the folder below the home folder that it is otherwise, and the file in it. A host without events has an
    extension: a program of ours. `typed`: a handler says that it is a command. `flat`: handlers are no groups.
    `timeout` is the name of that field and its value. `local` is the personal file in which variables are set.
    """

    name: str
    project: str
    user: tuple[str, str, str]
    events: tuple[Event, ...] = ()
    typed: bool = True
    flat: bool = False
    versioned: bool = False
    timeout: tuple[str, int] | None = None
    local: str = ""


HOSTS = {
    host.name: host
    for host in (
        Host(
            name="claude",
            project=".claude/settings.json",
            user=("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
            events=(
                Event(name="SessionStart", ours="session-start"),
                Event(name="UserPromptSubmit", ours="prompt"),
                Event(name="PreToolUse", ours="pre-tool-use", matcher=TOOLS),
                Event(name="PostToolBatch", ours="post-tool-batch"),
                Event(name="Stop", ours="stop"),
            ),
            timeout=("timeout", SECONDS),
            local=".claude/settings.local.json",
        ),
        Host(
            name="codex",
            project=".codex/hooks.json",
            user=("CODEX_HOME", ".codex", "hooks.json"),
            events=(
                Event(name="SessionStart", ours="session-start"),
                Event(name="UserPromptSubmit", ours="prompt"),
                Event(name="PreToolUse", ours="pre-tool-use", matcher="apply_patch|Edit|Write|Bash|mcp__.*"),
                Event(name="Stop", ours="stop"),
            ),
            timeout=("timeout", SECONDS),
        ),
        Host(
            name="copilot",
            project=".github/hooks/agent-chat.json",
            user=("COPILOT_HOME", ".copilot", "hooks/agent-chat.json"),
            # Its own spellings of these events (sessionStart …) take no text for the model.
            events=(
                Event(name="SessionStart", ours="session-start"),
                Event(name="UserPromptSubmit", ours="prompt"),
                Event(name="PreToolUse", ours="pre-tool-use", matcher=TOOLS),
                Event(name="Stop", ours="stop"),
            ),
            flat=True,
            versioned=True,
            timeout=("timeoutSec", SECONDS),
        ),
        Host(
            name="gemini",
            project=".gemini/settings.json",
            user=("GEMINI_CLI_HOME", "", ".gemini/settings.json"),
            events=(
                Event(name="SessionStart", ours="session-start"),
                Event(name="BeforeAgent", ours="prompt"),
                Event(name="BeforeTool", ours="pre-tool-use", matcher="write_file|replace|run_shell_command|mcp_.*"),
                Event(name="AfterAgent", ours="stop"),
            ),
            timeout=("timeout", SECONDS * 1000),
        ),
        Host(
            name="cursor",
            project=".cursor/hooks.json",
            user=("", ".cursor", "hooks.json"),
            events=(
                Event(name="sessionStart", ours="session-start"),
                Event(name="preToolUse", ours="pre-tool-use", matcher="Write|Delete|Shell|MCP:.*"),
                Event(name="stop", ours="stop"),
            ),
            typed=False,
            flat=True,
            versioned=True,
        ),
        Host(
            name="opencode",
            project=".opencode/plugins/agent-chat.js",
            user=("XDG_CONFIG_HOME", ".config", "opencode/plugins/agent-chat.js"),
        ),
        Host(
            name="omp",
            project=".omp/extensions/agent-chat.ts",
            user=("PI_CODING_AGENT_DIR", ".omp/agent", "extensions/agent-chat.ts"),
        ),
        Host(
            name="pi",
            project=".pi/extensions/agent-chat.ts",
            user=("PI_CODING_AGENT_DIR", ".pi/agent", "extensions/agent-chat.ts"),
        ),
    )
}


# They drop a file with comments or a comma too many as a whole (seen with Claude Code 2.1.332 and Copilot 1.0.102).
STRICT_JSON = ("claude", "codex", "copilot", "cursor")


def hooks_of(host: Host, program: Program, *, root: str = "", wake: bool = False) -> HostHooks:
    """Returns the hooks of a host that takes lines; with a root they look at that one, with `wake` one waits."""
    events: list[tuple[str, tuple[dict[str, object], ...]]] = []
    for event in host.events:
        elements = [_element(host, event, program, root)]
        if wake and event.ours in ("session-start", "stop"):
            waiter = {"asyncRewake": True, "timeout": WAIT_SECONDS}
            command = hook_line.line(program, hook_line.WAIT, host.name, root)
            elements.append({"hooks": [{"type": "command", "command": command, **waiter}]})
        events.append((event.name, tuple(elements)))
    return HostHooks(host=host.name, events=tuple(events), versioned=host.versioned)


def _element(host: Host, event: Event, program: Program, root: str) -> dict[str, object]:
    """Returns what stands in the list of an event: a handler, or a group that holds it."""
    handler: dict[str, object] = {"type": "command"} if host.typed else {}
    handler["command"] = hook_line.line(program, event.ours, host.name, root)
    if host.timeout is not None:
        handler[host.timeout[0]] = host.timeout[1]
    if host.name == "cursor" and event.ours == "stop":
        handler["loop_limit"] = 3
    matcher = {"matcher": event.matcher} if event.matcher else {}
    return {**matcher, **handler} if host.flat else {**matcher, "hooks": [handler]}
