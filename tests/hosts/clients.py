"""The clients: how each is made to load the plugin, to take a turn against a stub, and to edit a file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.hosts.anthropic_stub import AnthropicStub
from tests.hosts.loopback import Move
from tests.hosts.responses_stub import ResponsesStub

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from tests.hosts.loopback import Stub
    from tests.hosts.stage import Done, Stage

PROMPT = "please do it"
PATCH = "*** Begin Patch\n*** Update File: src/a.txt\n@@\n one\n-two\n+TWO\n three\n*** End Patch"


@dataclass(frozen=True)
class Turn:
    """A turn that a client took: how it ended, and what each request told the model that it had not known before."""

    done: Done
    news: Sequence[str]

    def __str__(self) -> str:
        told = "\n".join(f"-- request {at} --\n{news[-1500:]}" for at, news in enumerate(self.news))
        return f"{self.done}\n{told}"


class Client(ABC):
    """A client on a stage."""

    name = ""
    stub: type[Stub]

    def __init__(self, program: Path, stage: Stage) -> None:
        self.program = program
        self.stage = stage

    def call(self, *words: str, more: Mapping[str, str] | None = None) -> Done:
        """Runs the client as it is, without a model behind it."""
        return self.stage.run([str(self.program), *words], {**self.settings(), **(more or {})})

    def turn(self, moves: Sequence[Move], more: Mapping[str, str] | None = None) -> Turn:
        """Gives the client a prompt in a new session, with a model that makes these moves."""
        with self.stub(moves) as stub:
            words, settings = self.words_of_turn(stub.url)
            done = self.call(*words, more={**settings, **(more or {})})
        return Turn(done, stub.news())

    def edit(self) -> list[Move]:
        """The moves of a model that edits the stage's file."""
        return [*self.moves_of_edit(str(self.stage.file)), Move()]

    def settings(self) -> dict[str, str]:
        """Variables that every call gets."""
        return {}

    @abstractmethod
    def install(self) -> list[Done]:
        """Adds the plugin's folder as a marketplace, installs the plugin, lists what is there."""

    @abstractmethod
    def words_of_turn(self, url: str) -> tuple[list[str], dict[str, str]]:
        """Returns arguments and variables for one turn with the model at an address."""

    @abstractmethod
    def moves_of_edit(self, path: str) -> list[Move]:
        """The moves up to the edit itself."""

    @abstractmethod
    def shell(self, command: str) -> Move:
        """The move of a model that runs a command."""


class Claude(Client):
    """Claude Code."""

    name = "claude"
    stub = AnthropicStub
    EVENTS = ("--output-format", "stream-json", "--verbose", "--include-hook-events")

    def settings(self) -> dict[str, str]:
        """A configuration of its own; no update, no statistics."""
        return {
            "CLAUDE_CONFIG_DIR": str(self.stage.home / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def install(self) -> list[Done]:
        """In place: a local marketplace is read where it lies."""
        return [
            self.call("plugin", "marketplace", "add", str(self.stage.plugin), "--json"),
            self.call("plugin", "install", "agent-chat@agent-chat", "--json"),
        ]

    def words_of_turn(self, url: str) -> tuple[list[str], dict[str, str]]:
        """Everything that the script does is allowed; that an edit is refused is then the plugin's doing."""
        allowed = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash Edit Write Read Skill")
        return ["-p", PROMPT, *allowed, *self.EVENTS], self.model_at(url)

    def model_at(self, url: str) -> dict[str, str]:
        """The variables that name a model's address."""
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}

    def moves_of_edit(self, path: str) -> list[Move]:
        """It edits only what it has read."""
        change = {"file_path": path, "old_string": "two", "new_string": "TWO"}
        return [Move(tool="Read", given={"file_path": path}), Move(tool="Edit", given=change)]

    def shell(self, command: str) -> Move:
        """Its shell wants to know what for."""
        return Move(tool="Bash", given={"command": command, "description": "a test"})


def hook_outputs(done: Done, event: str) -> list[str]:
    """Returns what the hooks of an event printed, as Claude Code tells it with --include-hook-events."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    return [
        str(line["stdout"]) + str(line["stderr"])
        for line in lines
        if line.get("subtype") == "hook_response" and line.get("hook_event") == event
    ]


class Codex(Client):
    """Codex CLI. It runs no hook that the user has not trusted; here the trust is taken for granted."""

    name = "codex"
    stub = ResponsesStub

    def settings(self) -> dict[str, str]:
        """A configuration of its own."""
        home = self.stage.home / ".codex"
        home.mkdir(exist_ok=True)
        return {"CODEX_HOME": str(home)}

    def install(self) -> list[Done]:
        """It copies the plugin."""
        return [
            self.call("plugin", "marketplace", "add", str(self.stage.plugin), "--json"),
            self.call("plugin", "add", "agent-chat@agent-chat", "--json"),
        ]

    def words_of_turn(self, url: str) -> tuple[list[str], dict[str, str]]:
        """The model's name decides which tools are offered: with this one, `apply_patch`."""
        provider = f'{{name = "stub", base_url = "{url}/v1", wire_api = "responses"}}'
        words = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-s", "danger-full-access"]
        model = ["-m", "gpt-5.5", "-c", "model_provider=stub", "-c", f"model_providers.stub={provider}"]
        return [*words, *model, PROMPT], {}

    def moves_of_edit(self, path: str) -> list[Move]:
        """A patch, with the path as models write it: from the project on."""
        return [Move(tool="apply_patch", given=PATCH)]

    def shell(self, command: str) -> Move:
        """To hooks it calls this tool `Bash`."""
        return Move(tool="exec_command", given={"cmd": command})


class Copilot(Client):
    """Copilot CLI."""

    name = "copilot"
    stub = AnthropicStub

    def install(self) -> list[Done]:
        """In place: a local marketplace is read where it lies."""
        return [
            self.call("plugin", "marketplace", "add", str(self.stage.plugin)),
            self.call("plugin", "install", "agent-chat@agent-chat"),
        ]

    def words_of_turn(self, url: str) -> tuple[list[str], dict[str, str]]:
        """A provider of one's own, which needs no login."""
        return ["-p", PROMPT, "--allow-all-tools"], {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": url,
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "claude-sonnet-4.5",
        }

    def moves_of_edit(self, path: str) -> list[Move]:
        """One call of its editing tool."""
        return [Move(tool="edit", given={"path": path, "old_str": "two", "new_str": "TWO"})]

    def shell(self, command: str) -> Move:
        """Its shell wants to know what for."""
        return Move(tool="bash", given={"command": command, "description": "a test"})


CLIENTS: tuple[type[Client], ...] = (Claude, Codex, Copilot)
