"""What each host sends to a hook: payloads and variables as they were seen, made up for a canary (docs/hosts.md)."""

from __future__ import annotations

from agent_chat.records.value import Value

# By these a host, or a session of one, is known. A process that a host's shell started has inherited them.
OF_SESSIONS = (
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "PLUGIN_ROOT",
    "COPILOT_CLI",
    "COPILOT_PLUGIN_ROOT",
    "COPILOT_AGENT_SESSION_ID",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
)
_TURNS = {"claude": "prompt_id", "codex": "turn_id", "cursor": "generation_id"}
_TOOLS = {
    "codex": "apply_patch",
    "gemini": "replace",
    "cursor": "Write",
    "opencode": "edit",
    "omp": "edit",
    "pi": "edit",
}
_SENDS_TRANSCRIPT = ("claude", "codex", "gemini")


class Scene(Value):
    """What a payload is about: a session, its project's folder, a file in it that is to be edited, and when.

    `turn` is another id; `time` is as hosts write it; `pid` is that of the process that stands for the host.
    """

    session: str
    turn: str
    folder: str
    file: str
    time: str
    pid: int = 0


def payload(host: str, name: str, event: str, scene: Scene) -> dict[str, object]:
    """Returns what a host sends for an event of its own name; `event` is ours."""
    if host == "cursor":
        common: dict[str, object] = {"conversation_id": scene.session, "cursor_version": "2.0", "model": "canary"}
        common["workspace_roots"] = [scene.folder]
    else:
        common = {"session_id": scene.session, "cwd": scene.folder}
    if host in _SENDS_TRANSCRIPT:
        common["transcript_path"] = f"{scene.folder}/transcript.jsonl"
    if host in ("copilot", "gemini"):
        common["timestamp"] = scene.time
    if host in _TURNS and event != "session-start":
        common[_TURNS[host]] = scene.turn
    if host == "codex" or (host == "claude" and event != "session-start"):
        common["permission_mode"] = "default"
    return {**common, "hook_event_name": name, **_of_event(host, event, scene)}


def _of_event(host: str, event: str, scene: Scene) -> dict[str, object]:
    """Returns the fields that an event has beside the common ones."""
    if event == "session-start":
        return {"source": "new" if host == "copilot" else "startup"}
    if event == "prompt":
        return {"prompt": "canary"}
    if event == "pre-tool-use":
        return {"tool_name": tool_of(host), "tool_input": _edit(host, scene)}
    if event == "post-tool-batch":
        return {"tool_calls": [{"tool_name": "Read", "tool_input": {"file_path": scene.file}, "tool_response": ""}]}
    if host == "cursor":
        return {"status": "completed", "loop_count": 0}
    if host == "copilot":
        return {"stop_reason": "end_turn", "stop_hook_active": False}
    return {"stop_hook_active": False, **({"background_tasks": []} if host == "claude" else {})}


def tool_of(host: str) -> str:
    """Returns the name of the tool by which a host edits a file."""
    return _TOOLS.get(host, "Edit")


def _edit(host: str, scene: Scene) -> dict[str, object]:
    """Returns the arguments of that tool."""
    if host == "codex":
        name = scene.file.replace("\\", "/").rpartition("/")[2]
        return {"command": f"*** Begin Patch\n*** Update File: {name}\n@@\n-one\n+two\n*** End Patch"}
    if host == "copilot":
        return {"path": scene.file, "old_str": "one", "new_str": "two"}
    if host == "gemini":
        return {"file_path": scene.file, "old_string": "one", "new_string": "two"}
    if host == "cursor":
        return {"file_path": scene.file, "content": "two"}
    if host == "opencode":
        return {"filePath": scene.file, "oldString": "one", "newString": "two"}
    if host in ("omp", "pi"):
        return {"path": scene.file, "oldText": "one", "newText": "two"}
    return {"file_path": scene.file, "old_string": "one", "new_string": "two", "replace_all": False}


def variables(host: str, scene: Scene, plugin: str = "") -> dict[str, str]:
    """Returns the variables that a host sets for its hooks; `plugin` is the folder of the plugin, where it has them."""
    found = {
        "claude": {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": scene.session, "CLAUDE_PID": str(scene.pid)},
        "copilot": {"COPILOT_CLI": "1"},
        "gemini": {"GEMINI_SESSION_ID": scene.session},
    }.get(host, {})
    if host in ("claude", "copilot", "gemini"):
        found["CLAUDE_PROJECT_DIR"] = scene.folder
    if plugin:
        found["CLAUDE_PLUGIN_ROOT"] = plugin
        if host != "claude":
            found["PLUGIN_ROOT"] = plugin
        if host == "copilot":
            found["COPILOT_PLUGIN_ROOT"] = plugin
    return found
