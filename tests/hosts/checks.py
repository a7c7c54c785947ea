"""Runs the checks against the clients that are named: `python3 -m tests.hosts.checks --work DIR claude=PROGRAM …`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Callable, TypeVar

from tests.hosts import claude_scenes, scenes, wake_scenes
from tests.hosts.clients import CLIENTS, Claude, Client
from tests.hosts.report import Report
from tests.hosts.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

AnyClient = TypeVar("AnyClient", bound=Client)

PLUGIN = Path(__file__).resolve().parents[2]
CLAUDE_SCENES = (
    claude_scenes.hooks_run,
    claude_scenes.skill_names_the_program,
    claude_scenes.notice_between_tools,
    claude_scenes.pause_is_no_stop,
    wake_scenes.person_at_a_terminal,
    wake_scenes.program_that_feeds_it,
    wake_scenes.single_prompt,
)


def main(words: Sequence[str]) -> int:
    """Plays every scene with every client; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder for homes, projects and chat roots")
    parser.add_argument("--paths", type=Path, action="append", default=[], help="where a client finds its interpreter")
    parser.add_argument("clients", nargs="+", metavar="NAME=PROGRAM")
    options = parser.parse_args(words)
    programs = dict(each.split("=", 1) for each in options.clients)
    report = Report()
    for kind in CLIENTS:
        if programs.get(kind.name):
            _check(kind, Path(programs[kind.name]), options.work, options.paths, report)
    print(f"{report.passed} ok, {report.failed} failed")
    return 1 if report.failed else 0


def _check(kind: type[Client], program: Path, work: Path, paths: Sequence[Path], report: Report) -> None:
    client = kind(program, Stage(work / kind.name, PLUGIN, paths))
    version = client.call("--version")
    print(
        f"-- {kind.name}: {version.output.strip().splitlines()[0] if version.output.strip() else version}", flush=True
    )
    if isinstance(client, Claude):
        _play(claude_scenes.validated, client, report)
        _play(claude_scenes.installed, client, report)
    else:
        _play(scenes.installed, client, report)
    for scene in scenes.scenes_of(client):
        _play(scene, client, report)
    if isinstance(client, Claude):
        for claude_scene in CLAUDE_SCENES:
            _play(claude_scene, client, report)
        alone = Claude(program, Stage(work / "claude skill folder", PLUGIN, paths))
        _play(claude_scenes.skill_folder, alone, report)


def _play(scene: Callable[[AnyClient, Report], None], client: AnyClient, report: Report) -> None:
    """Plays one scene; its name is the subject of what it says."""
    with report.about(f"{client.name}, {scene.__name__.replace('_', ' ')}"):
        scene(client, report)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
