"""One call of a hook: its arguments, the host's payload, who asks, and the answer in that host's form.

Handlers work out what is to be said; everything that can go wrong on the way ends here, as a sentence.
"""

from __future__ import annotations

from agent_chat.cli.output import to_json
from agent_chat.cli.root import open_root, recoded
from agent_chat.errors import ChatError
from agent_chat.hooks import hosts, payload
from agent_chat.hooks.hosts import Said
from agent_chat.names import agent_name, fault_of_name, fold, normal_form, quoted
from agent_chat.records.shown_text import shortened
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_chat.hooks.payload import Payload
    from agent_chat.storage.workspace import Workspace

WAIT_SECONDS = 3600.0
# In bytes.
MAX_WHY = 300
MAX_COMMAND = 240
HANDLERS = {
    hosts.SESSION_START: "agent_chat.hooks.inbox:session_start",
    hosts.PROMPT: "agent_chat.hooks.inbox:prompt",
    hosts.STOP: "agent_chat.hooks.inbox:stop",
    hosts.PRE_TOOL_USE: "agent_chat.hooks.guard:pre_tool_use",
    hosts.POST_TOOL_BATCH: "agent_chat.hooks.inbox:post_tool_batch",
    hosts.WAIT: "agent_chat.hooks.waiter:wait",
}
EVENTS = tuple(HANDLERS)
# The same events by the names that hosts have for them, without case and hyphens.
_OTHER_NAMES = {
    **{event.replace("-", ""): event for event in EVENTS},
    "session": hosts.SESSION_START,
    "userpromptsubmit": hosts.PROMPT,
    "userpromptsubmitted": hosts.PROMPT,
    "beforesubmitprompt": hosts.PROMPT,
    "beforeagent": hosts.PROMPT,
    "agentstop": hosts.STOP,
    "afteragent": hosts.STOP,
    "beforetool": hosts.PRE_TOOL_USE,
    "beforeshellexecution": hosts.PRE_TOOL_USE,
    "beforemcpexecution": hosts.PRE_TOOL_USE,
    "edit": hosts.PRE_TOOL_USE,
    "guard": hosts.PRE_TOOL_USE,
}


class Answer(Value):
    """What a hook prints: `output` for the host, `notes` on stderr, a line each; and its status."""

    output: str = ""
    notes: tuple[str, ...] = ()
    status: int = 0


class Call:
    """One call. Its properties fail with ChatError where what the user gave is wrong."""

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], *, workspace: Workspace | None = None
    ) -> None:
        """`workspace` replaces the one that the words and the environment name."""
        self.environment = environment
        self.event = ""
        self.host = ""
        self.timeout = WAIT_SECONDS
        self.as_json = False
        self.payload: Payload = payload.Payload(fields={})
        self.notes: list[str] = []
        self._root: str | None = None
        self._agent: str | None = None
        self._workspace = workspace
        self._parse([recoded(word) for word in words])

    def _parse(self, words: list[str]) -> None:
        """Reads the arguments; what is not understood is noted and passed over."""
        rest = iter(words)
        for word in rest:
            option, equals, value = word.partition("=")
            if option in ("--root", "--host", "--timeout"):
                value = value if equals else next(rest, "")
                if option == "--root":
                    self._root = value
                elif option == "--host":
                    self._set_host(value)
                else:
                    self._set_timeout(value)
            elif word == "--json":
                self.as_json = True
            elif not word.startswith("-") and not self.event:
                plain = word.replace("-", "").replace("_", "").lower()
                self.event = _OTHER_NAMES.get(plain, "")
                if not self.event:
                    self.notes.append(f"hook: {quoted(word)} is no event; there are: {', '.join(EVENTS)}")
            else:
                self.notes.append(f"hook: {quoted(word)} is not understood")
        if not self.event and not self.notes:
            self.notes.append(f"hook: no event was named; there are: {', '.join(EVENTS)}")

    def _set_host(self, word: str) -> None:
        if word.lower() in hosts.HOSTS:
            self.host = word.lower()
        else:
            self.notes.append(f"hook: {quoted(word)} is no host; there are: {', '.join(hosts.HOSTS)}")

    def _set_timeout(self, word: str) -> None:
        try:
            seconds = float(word)
        except ValueError:
            seconds = -1.0
        if 0 <= seconds <= 10 * WAIT_SECONDS:
            self.timeout = seconds
        else:
            self.notes.append(f"hook: {quoted(word)} is no time in seconds")

    # -- what handlers ask -----------------------------------------------------------------------------------------

    @property
    def is_unbounded(self) -> bool:
        """Whether it may take as long as it likes."""
        return self.event == hosts.WAIT

    @property
    def workspace(self) -> Workspace:
        """The root."""
        if self._workspace is None:
            self._workspace = open_root(self._root, self.environment)
        return self._workspace

    def variable(self, name: str) -> str:
        """Returns a variable of the environment as text, "" where it is not set."""
        return recoded(self.environment.get(name, ""))

    @property
    def has_token(self) -> bool:
        """Whether the environment holds a token of one of our sessions, good or not."""
        return bool(self.environment.get("AGENT_CHAT_TOKEN", ""))

    @property
    def agent(self) -> str:
        """The name of the agent whose session this is, that of a token before any other; "" where it has none."""
        if self._agent is None:
            token = self.environment.get("AGENT_CHAT_TOKEN", "")
            if token:
                from agent_chat.operations.sessions import of_token

                self._agent = of_token(self.workspace, token).agent
            else:
                named = self.variable("AGENT_CHAT_NAME")
                self._agent = agent_name(named) if named else ""
        return self._agent

    @property
    def channels(self) -> frozenset[str] | None:
        """The folded names of the channels that hooks keep to, None for all; malformed ones are skipped.

        Where none is left they keep to nothing: a list that nobody can read must not make everything silent.
        """
        listed = [normal_form(part.strip()) for part in self.variable("AGENT_CHAT_CHANNELS").split(",")]
        return frozenset(fold(name) for name in listed if fault_of_name(name) is None) or None

    def command(self, words: str) -> str:
        """Returns a command that finds the same root, for a model to copy; "" where it is too long to say."""
        whole = self.workspace.call(words)
        return whole if len(whole.encode("utf-8")) <= MAX_COMMAND else ""

    # -- the answer ------------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """Reads the payload and returns what is to be printed; only a mistake of ours makes it fail."""
        if not self.event:
            return Answer(notes=tuple(self.notes))
        try:
            self.payload = payload.read(self.workspace.clock.monotonic)
        except (OSError, ValueError, ChatError) as error:
            self.payload = self.payload.replace(fault=f"the host's JSON could not be read: {error}")
        self.host = self.host or hosts.host_of(self.environment, self.payload)
        if self.channels is None and self.variable("AGENT_CHAT_CHANNELS").strip(" ,"):
            self.notes.append("hook: AGENT_CHAT_CHANNELS names no channel, so all are looked at")
        module, _, name = HANDLERS[self.event].partition(":")
        try:
            handler = getattr(__import__(module, fromlist=[name]), name)
            said: Said = handler(self)
        except (ChatError, OSError) as error:
            said = self._failed(str(error))
        return self._rendered(said)

    def gave_up(self, why: str) -> Answer:
        """Returns what is printed when nothing was found out: there was no time, or a mistake of ours."""
        self.host = self.host or hosts.host_of(self.environment, self.payload)
        return self._rendered(self._failed(why))

    def described(self, answer: Answer) -> dict[str, object]:
        """Returns the JSON form of a call and its answer, for those who look into what a hook does."""
        return {
            **self.workspace.where(),
            "event": self.event,
            "host": self.host,
            "output": answer.output,
            "notes": list(answer.notes),
        }

    def _failed(self, why: str) -> Said:
        """Returns what is said when it could not be looked: to the model where it would take silence for "nothing"."""
        self.notes.append(f"hook {self.event}: {why}")
        if self.event in (hosts.SESSION_START, hosts.PROMPT):
            return Said(context=f"agent-chat could not look for messages: {shortened(why, MAX_WHY)}")
        return self.unlooked(why) if self.event == hosts.PRE_TOOL_USE else Said()

    def unlooked(self, why: str) -> Said:
        """Returns what is said when an edit could not be judged: it goes on, or is refused where that was asked for."""
        why = shortened(why, MAX_WHY)
        if self.variable("AGENT_CHAT_GUARD").strip().lower() == "strict":
            return Said(
                refusal=f"agent-chat could not check this edit: {why}. AGENT_CHAT_GUARD=strict refuses it. "
                "Run agent-chat doctor, or ask the user."
            )
        return Said(context=f"agent-chat did not check this edit for locks of others: {why}.")

    def _rendered(self, said: Said) -> Answer:
        if self.event == hosts.WAIT:
            # What the waiter has to say goes to stderr, with the status that wakes a session.
            notes = (*self.notes, said.hold) if said.hold else tuple(self.notes)
            return self._described_if_asked(Answer(notes=notes, status=2 if said.hold else 0))
        native = "toolName" in self.payload.fields and not self.payload.event
        output = hosts.answer(self.host, self.event, said, native=native and self.host == hosts.COPILOT)
        return self._described_if_asked(Answer(output=output, notes=tuple(self.notes)))

    def _described_if_asked(self, answer: Answer) -> Answer:
        return answer.replace(output=to_json(self.described(answer)) + "\n") if self.as_json else answer
