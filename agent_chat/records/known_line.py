"""Which lines and programs in the files of hosts are ours to run: those that come out again when they are made anew.

`hook_line.event_of` knows a line of ours among those of others, to put it in order. To run one takes more: a project
may come from anybody, and what stands in its files is run here without the question that its host would ask. So a line
is known only if every byte of it is what we would write.
"""

from __future__ import annotations

from agent_chat.records import hook_line, json_codec
from agent_chat.records.hook_line import NAME, SCRIPT, Program
from agent_chat.records.value import Value

PLUGIN = "agent-chat"
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
SCRIPTS = {
    "session-start": "session_inbox",
    "prompt": "prompt_inbox",
    "pre-tool-use": "edit_guard",
    "post-tool-batch": "batch_inbox",
    "stop": "stop_inbox",
}
_PLUGIN_LINE = (
    'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/hooks/{0}.py"'
    ' || python -I -S "${{CLAUDE_PLUGIN_ROOT}}/hooks/{0}.py" || exit 0'
)
_PYTHONS = ("python3", "python", "py -3")
_COMMAND = "const COMMAND = "


class Known(Value):
    """A line of ours, taken apart: the event, how it starts us, and the root that it names, "" for none."""

    event: str
    program: Program
    root: str = ""

    @property
    def pythons(self) -> tuple[str, ...]:
        """The interpreters that it tries."""
        return (self.program.python,) if self.program.script else ()

    def on(self, host: str, root: str) -> str:
        """Returns the line for a host; where it names a root, it names this one."""
        return hook_line.line(self.program, self.event, host, root if self.root else "")


def known(text: str, host: str) -> Known | None:
    """Returns a line of a host's settings taken apart, None where it is not exactly one of ours."""
    event = hook_line.event_of(text, host)
    if not event:
        return None
    words = hook_line.words_of(text)
    words = words[6:] if words[0] == "test" else words
    command = words[: words.index("hook")] if "hook" in words else []
    for found in _started(command):
        line = found.replace(event=event)
        if hook_line.line(line.program, event, host, line.root) == text:
            return line
    return None


def known_in_extension(text: str) -> Known | None:
    """Returns how an extension of ours starts us, None where it does not say so as ours do; the event is left empty."""
    for line in text.splitlines():
        if line.startswith(_COMMAND) and line.endswith(";"):
            try:
                value = json_codec.decode(line[len(_COMMAND) : -1].encode("utf-8", "surrogatepass"))
            except json_codec.JsonError:
                return None
            words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
            return next(iter(_started(words)), None)
    return None


def event_of_plugin(text: object) -> str:
    """Returns the event of a line of our plugin, empty for every other text."""
    return next((event for event, script in SCRIPTS.items() if _PLUGIN_LINE.format(script) == text), "")


def _started(words: list[str]) -> list[Known]:
    """Returns what the words before `hook` may mean: a program, and the root that it is told."""
    root = ""
    if len(words) > 2 and words[-2] == "--root":
        words, root = words[:-2], words[-1]
    found: list[Known] = []
    if len(words) == 1:
        name = words[0].replace("\\", "/").rpartition("/")[2]
        if name in (NAME, f"{NAME}.exe"):
            executable = "" if words[0] == NAME else words[0]
            found.append(Known(event="", program=Program(executable=executable), root=root))
    for python in _PYTHONS:
        starts = [*python.split(), "-I", "-S"]
        if words[:-1] == starts and words[-1].replace("\\", "/").rpartition("/")[2] == SCRIPT:
            found.append(Known(event="", program=Program(script=words[-1], python=python), root=root))
    return found
