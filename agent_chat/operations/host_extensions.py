"""The programs of ours that some hosts load in the place of lines: OpenCode, OMP and Pi.

Each starts this program for an event, gives it what the host told as JSON, waits three seconds at most, and does with
the answer what its host can do. Only a refusal reaches the host as an error. The first line of a file says whose it is
and has a checksum of the rest: a file that its user has changed since is neither replaced nor removed.
"""

from __future__ import annotations

import zlib

from agent_chat.records import json_codec
from agent_chat.records.hook_line import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.hook_line import Program

_MARK = "// agent-chat extension "

_ASK = """\
const MILLISECONDS = 3000;

// Starts agent-chat for one event; answers with what it printed, with nothing when it fails or takes too long.
function ask(event, payload) {
  return new Promise((done) => {
    let child, timer, text = "";
    const end = (answer) => { clearTimeout(timer); done(answer); };
    try {
      const words = [...COMMAND.slice(1), "hook", event, "--host", HOST];
      child = spawn(COMMAND[0], words, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
      timer = setTimeout(() => { child.kill("SIGKILL"); end(""); }, MILLISECONDS);
      child.on("error", () => end(""));
      child.on("close", (code) => end(code === 0 ? text.trim() : ""));
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (part) => { if (text.length < 65536) text += part; });
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify(payload));
    } catch {
      child?.kill("SIGKILL");
      end("");
    }
  });
}

// Both events may say the same; once is enough.
const joined = (texts) => [...new Set(texts)].filter(Boolean).join("\\n");

async function decide(event, payload) {
  try {
    return JSON.parse((await ask(event, payload)) || "{}") ?? {};
  } catch {
    return {};
  }
}
"""

_OPENCODE = """
export const AgentChat = async ({ client, directory }) => {
  const greeted = new Set(), children = new Set(), held = new Set(), ours = new Set(), notes = new Map();
  const about = (name, id, more) => ({ hook_event_name: name, session_id: id ?? "", cwd: directory, ...more });

  async function stop(id) {
    const again = held.has(id);
    const answer = await decide("stop", about("Stop", id, { stop_hook_active: again }));
    if (answer.block && answer.reason && !again) {
      held.add(id);
      ours.add(id);
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: answer.reason }] } });
    } else if (answer.message) {
      await client.tui.showToast({ body: { message: answer.message, variant: "info" } });
    }
  }

  return {
    event: async ({ event }) => {
      try {
        const info = event.properties?.info;
        if (event.type === "session.created" && info?.parentID) children.add(info.id);
        const id = event.properties?.sessionID;
        if (event.type === "session.idle" && id && !children.has(id)) await stop(id);
      } catch {}
    },
    "chat.message": async (input, output) => {
      try {
        const id = input.sessionID;
        if (children.has(id) || ours.delete(id)) return;
        held.delete(id);
        const texts = [];
        if (!greeted.has(id)) texts.push(await ask("session-start", about("SessionStart", id)));
        greeted.add(id);
        texts.push(await ask("prompt", about("UserPromptSubmit", id)));
        const text = joined(texts);
        const last = output.parts[output.parts.length - 1];
        if (!text || !last) return;
        const { id: part, sessionID, messageID } = last;
        output.parts.push({ id: part + "z", sessionID, messageID, type: "text", synthetic: true, text });
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      if (READERS.has(input.tool)) return;
      const more = { tool_name: input.tool, tool_input: output?.args ?? {} };
      const answer = await decide("pre-tool-use", about("PreToolUse", input.sessionID, more));
      if (answer.block && answer.reason) throw new Error(answer.reason);
      if (answer.note) notes.set(input.callID, answer.note);
    },
    "tool.execute.after": async (input, output) => {
      const note = notes.get(input.callID);
      notes.delete(input.callID);
      if (note && typeof output?.output === "string") output.output += "\\n\\n" + note;
    },
    "shell.env": async (_input, output) => {
      if (ROOT && output?.env) output.env.AGENT_CHAT_ROOT = ROOT;
    },
  };
};
"""

_PI = """
export default function agentChat(pi) {
  let greeting = "", held = "";
  const notes = new Map();
  if (ROOT) process.env.AGENT_CHAT_ROOT = ROOT;

  function about(name, ctx, more) {
    let id = "";
    try { id = ctx.sessionManager.getSessionId() ?? ""; } catch {}
    return { hook_event_name: name, session_id: id, cwd: ctx?.cwd ?? process.cwd(), ...more };
  }

  function show(ctx, text) {
    try { ctx.ui.notify(text, "info"); } catch {}
  }

  const isChild = (ctx) => ctx?.agent?.kind === "sub";

  pi.on("session_start", async (_event, ctx) => {
    held = "";
    greeting = isChild(ctx) ? "" : await ask("session-start", about("SessionStart", ctx));
  });

  pi.on("before_agent_start", async (event, ctx) => {
    // OMP begins again with what held it: that is no prompt of the user.
    if (isChild(ctx) || (held && String(event?.prompt).includes(held))) return undefined;
    held = "";
    const text = joined([greeting, await ask("prompt", about("UserPromptSubmit", ctx))]);
    greeting = "";
    return text ? { message: { customType: "agent-chat", content: text, display: true } } : undefined;
  });

  pi.on("tool_call", async (event, ctx) => {
    if (READERS.has(event.toolName)) return undefined;
    const more = { tool_name: event.toolName, tool_input: event.input ?? {} };
    const answer = await decide("pre-tool-use", about("PreToolUse", ctx, more));
    if (answer.block && answer.reason) return { block: true, reason: answer.reason };
    if (answer.note) notes.set(event.toolCallId, answer.note);
    return undefined;
  });

  pi.on("tool_result", async (event) => {
    const note = notes.get(event.toolCallId);
    notes.delete(event.toolCallId);
    if (!note || !Array.isArray(event.content)) return undefined;
    return { content: [...event.content, { type: "text", text: note }] };
  });

  async function stop(ctx, active) {
    if (isChild(ctx)) return "";
    const again = Boolean(held) || active;
    const answer = await decide("stop", about("Stop", ctx, { stop_hook_active: again }));
    if (answer.message) show(ctx, answer.message);
    held = !again && answer.block && answer.reason ? answer.reason : held;
    return again ? "" : held;
  }
"""

_ENDS = {
    "omp": """
  pi.on("session_stop", async (event, ctx) => {
    const reason = await stop(ctx, Boolean(event?.stop_hook_active));
    return reason ? { decision: "block", reason } : undefined;
  });
}
""",
    "pi": """
  pi.on("agent_before_settle", async (event, ctx) => {
    if (event?.outcome !== "completed") return undefined;
    const reason = await stop(ctx, false);
    if (!reason) return undefined;
    const entry = { type: "custom_message", customType: "agent-chat", content: reason, display: true };
    return { entries: [...(event.entries ?? []), entry], continue: true };
  });
}
""",
}

_READERS = {
    "opencode": "read grep glob list ls lsp webfetch websearch codesearch todowrite todoread question skill task",
    "omp": "read grep find ls search fetch web_search todo todo_write ask task wait recall",
    "pi": "read grep find ls",
}


class ExtensionError(ValueError):
    """The file is not one of ours, or not as it was written; its text is fit for a user."""


def text(host: str, program: Program, root: str = "") -> str:
    """Returns the extension of a host, which starts a program and, with a root, names that one to shells."""
    command = [program.executable or NAME]
    if program.script:
        command = [*program.python.split(" "), "-I", "-S", program.script]
    if root:
        command += ["--root", root]
    readers = json_codec.encode(_READERS[host].split())
    head = (
        'import { spawn } from "node:child_process";',
        "",
        f"const COMMAND = {json_codec.encode(command)};",
        f'const HOST = "{host}";',
        f"const ROOT = {json_codec.encode(root)};",
        "// What only reads needs no answer; every other tool, those of MCP servers too, may write.",
        f"const READERS = new Set({readers});",
        "",
    )
    body = "\n".join(head) + _ASK + (_OPENCODE if host == "opencode" else _PI + _ENDS[host])
    return f"{_MARK}{_checksum(body)}, made by `agent-chat setup {host}`; with --remove it goes\n{body}"


def require_ours(text: str) -> None:
    """Fails unless a text is one that was made here, by this version or another, and is as it was made."""
    first, _, body = text.replace("\r\n", "\n").partition("\n")
    if not first.startswith(_MARK):
        raise ExtensionError("the file is not ours")
    if first[len(_MARK) :].partition(",")[0] != _checksum(body):
        raise ExtensionError("the file was changed since it was made")


def _checksum(body: str) -> str:
    return f"{zlib.crc32(body.rstrip().encode('utf-8')):08x}"
