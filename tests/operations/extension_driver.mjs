// Loads an extension and plays its host: node extension_driver.mjs HOST EXTENSION; prints what the host was told.
import { pathToFileURL } from "node:url";

const [host, file] = process.argv.slice(2);
const module = await import(pathToFileURL(file));
const told = [];
const tell = (name, value) => told.push([name, value ?? null]);

async function tried(act) {
  try {
    return (await act()) ?? null;
  } catch (error) {
    return { thrown: error.message };
  }
}

async function opencode() {
  const client = {
    session: { promptAsync: async (call) => tell("promptAsync", call) },
    tui: { showToast: async (call) => tell("toast", call.body.message) },
  };
  const hooks = await module.AgentChat({ client, directory: "/project" });
  const message = async (id) => {
    const output = { parts: [{ id: "prt_1", sessionID: id, messageID: "msg_1", type: "text", text: "hi" }] };
    tell("chat.message", await tried(() => hooks["chat.message"]({ sessionID: id }, output)));
    tell("parts", output.parts.slice(1));
  };
  const use = async (tool, args) => {
    const call = { tool, sessionID: "s", callID: "c" };
    tell(`before ${tool}`, await tried(() => hooks["tool.execute.before"](call, { args })));
    const output = { output: "done" };
    await hooks["tool.execute.after"](call, output);
    tell(`after ${tool}`, output.output);
  };
  const idle = async (id) => {
    tell("idle", await tried(() => hooks.event({ event: { type: "session.idle", properties: { sessionID: id } } })));
  };
  await message("s");
  await message("s");
  await use("read", { filePath: "/project/locked" });
  await use("write", { filePath: "/project/locked" });
  await use("bash", { command: "true" });
  await idle("s");
  await message("s"); // the prompt of our own
  await idle("s");
  await message("s");
  await idle("s");
  await hooks.event({ event: { type: "session.created", properties: { info: { id: "child", parentID: "s" } } } });
  await message("child");
  await idle("child");
  const output = { env: { A: "1" } };
  await hooks["shell.env"]({}, output);
  tell("env", output.env);
  tell("odd", await tried(() => hooks.event({ event: { type: "session.idle" } })));
  tell("odd", await tried(() => hooks["chat.message"]({}, {})));
  tell("odd", await tried(() => hooks["tool.execute.after"]({}, undefined)));
}

async function pi() {
  const handlers = {};
  module.default({ on: (name, handler) => (handlers[name] = handler) });
  const context = {
    cwd: "/project",
    sessionManager: { getSessionId: () => "s" },
    ui: { notify: (text) => tell("notify", text) },
  };
  const emit = async (name, event = {}, ctx = context) => tell(name, await tried(() => handlers[name](event, ctx)));
  const use = async (toolName, input) => {
    await emit("tool_call", { toolCallId: "c", toolName, input });
    await emit("tool_result", { toolCallId: "c", toolName, content: [{ type: "text", text: "done" }] });
  };
  const stop = host === "omp" ? "session_stop" : "agent_before_settle";
  const settled = { outcome: "completed", entries: [{ type: "custom" }] };
  await emit("session_start");
  await emit("before_agent_start");
  await emit("before_agent_start");
  await use("read", { path: "/project/locked" });
  await use("write", { path: "/project/locked" });
  await use("bash", { command: "true" });
  await emit(stop, settled);
  await emit("before_agent_start", { prompt: "Go on: 2 unread" });
  await emit(stop, settled);
  await emit("before_agent_start", { prompt: "hi" });
  await emit(stop, { ...settled, outcome: "aborted", stop_hook_active: true });
  const child = { ...context, agent: { kind: "sub" } };
  await emit("before_agent_start", {}, child);
  await emit(stop, settled, child);
  await emit("session_start", {}, {});
  tell("env", process.env.AGENT_CHAT_ROOT);
}

await (host === "opencode" ? opencode() : pi());
process.stdout.write(JSON.stringify(told));
