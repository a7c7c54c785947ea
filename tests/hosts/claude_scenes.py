"""What only Claude Code has: its validator, skill folders, and notices between tools."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.hosts.clients import Claude, hook_outputs
from tests.hosts.loopback import Move
from tests.hosts.scenes import HOLD, TITLE
from tests.hosts.stage import CHANNEL, OTHER

if TYPE_CHECKING:
    from tests.hosts.report import Report

EVENTS = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolBatch", "Stop"}
SCRIPT = re.compile(r'\$\{CLAUDE_PLUGIN_ROOT\}/([^"\s]+)')
UNREAD = f"{CHANNEL} 1 ({OTHER})"


def validated(claude: Claude, report: Report) -> None:
    """The manifests pass, and the scripts that the hooks name are there, which the validator does not check."""
    plugin = claude.stage.plugin
    for options in (["--strict"], ["--profile", "directory"]):
        done = claude.call("plugin", "validate", *options, str(plugin))
        report.expect(f"plugin validate {' '.join(options)}", done.status == 0, done)
    done = claude.call("plugin", "validate", "--json", str(plugin))
    found = json.loads(done.output)
    hooks = found["provides"]["hooks"]
    report.expect("finds a hook for each event", {hook["event"] for hook in hooks} == EVENTS, done)
    named = {name for hook in hooks for name in SCRIPT.findall(hook["command"])}
    lacking = [name for name in named if not (plugin / name).is_file()]
    report.expect("finds each hook's script", bool(named) and not lacking, f"named: {named}, not there: {lacking}")
    report.expect("finds the skill", "agent-chat:agent-chat" in found["provides"]["skills"], done)


def installed(claude: Claude, report: Report) -> None:
    """The plugin installs from a folder and is listed without errors."""
    for done in claude.install():
        report.expect(" ".join(done.words[1:4]), done.status == 0, done)
    done = claude.call("plugin", "list", "--json")
    ours = [each for each in json.loads(done.output) if each["id"] == "agent-chat@agent-chat"]
    listed = len(ours) == 1 and ours[0]["enabled"] and not ours[0].get("errors")
    report.expect("lists the plugin as enabled, without errors", listed, done)
    details = claude.call("plugin", "details", "agent-chat")
    report.expect("tells what is in it", all(event in details.output for event in EVENTS), details)


def hooks_run(claude: Claude, report: Report) -> None:
    """The hooks really run, before a session and before a prompt, and say what is unread."""
    claude.stage.new_scene()
    claude.stage.post(TITLE)
    log = claude.stage.folder / "debug.log"
    done = claude.call("--init-only", "--debug-file", str(log))
    text = log.read_text(encoding="utf-8")
    report.expect(
        "--init-only runs SessionStart, which says what is unread", UNREAD in text and TITLE not in text, text
    )
    done = claude.call("-p", "hi", *Claude.EVENTS)
    for event in ("SessionStart", "UserPromptSubmit"):
        printed = hook_outputs(done, event)
        report.expect(f"-p runs {event}, which says what is unread", len(printed) == 1 and UNREAD in printed[0], done)


def skill_names_the_program(claude: Claude, report: Report) -> None:
    """The skill's text names a `chat.py` that is there."""
    claude.stage.new_scene()
    turn = claude.turn([Move(tool="Skill", given={"skill": "agent-chat"})])
    told = "\n".join(turn.news[1:])
    programs = re.findall(r'python3 "([^"]+chat\.py)"', told)
    report.expect("loads the skill", bool(programs), turn)
    there = [name for name in programs if Path(name).is_file()]
    report.expect("names a chat.py that is there", bool(there), programs)


def skill_folder(claude: Claude, report: Report) -> None:
    """The skill works as a plain folder under ~/.claude/skills too, hooks included."""
    stage = claude.stage
    folder = stage.home / ".claude" / "skills" / "agent-chat"
    folder.mkdir(parents=True)
    for name in ("SKILL.md", "chat.py"):
        shutil.copy(stage.plugin / name, folder / name)
    for name in ("agent_chat", "hooks", ".claude-plugin"):
        shutil.copytree(stage.plugin / name, folder / name)
    done = claude.call("plugin", "list", "--json")
    report.expect("is found", "agent-chat@skills-dir" in done.output, done)
    hooks_run(claude, report)
    skill_names_the_program(claude, report)


def notice_between_tools(claude: Claude, report: Report) -> None:
    """A message that comes in during a turn is told after the next tools, once."""
    stage = claude.stage
    stage.new_scene()

    nothing = claude.shell("true")
    meanwhile = replace(nothing, meanwhile=lambda: stage.post(TITLE))
    turn = claude.turn([nothing, meanwhile, nothing, nothing])
    told = [at for at, news in enumerate(turn.news) if OTHER in news]
    report.expect("tells of a message once, after the tools during which it came", told == [2], turn)
    report.expect("tells how much and from whom, no title", UNREAD in turn.news[2] and TITLE not in turn.news[2], turn)


def pause_is_no_stop(claude: Claude, report: Report) -> None:
    """A session that only waits for a command in its background is not held; it is when that has ended."""
    claude.stage.new_scene()
    claude.stage.post(TITLE)
    slow = {"command": "sleep 2", "description": "slow", "run_in_background": True}
    turn = claude.turn([Move(tool="Bash", given=slow)], HOLD)
    held = [at for at, news in enumerate(turn.news) if "Stop hook feedback" in news]
    # The first two are the prompt and the tool's answer, the third tells that the command has ended.
    report.expect("is held once, after the end of what ran", held == [3], turn)
