"""What must hold in every client that runs our hooks: the edit guard and the Stop hook, in the real agent loop."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.hosts.clients import PATCH, Codex
from tests.hosts.loopback import Move
from tests.hosts.stage import CHANNEL, EDITED, OTHER, SELF, TEXT

if TYPE_CHECKING:
    from typing import Callable

    from tests.hosts.clients import Client
    from tests.hosts.report import Report

    Scene = Callable[[Client, Report], None]

HOLD = {"AGENT_CHAT_STOP": "block"}
# A title must not reach a model by way of a hook.
TITLE = "secret-title"


def installed(client: Client, report: Report) -> None:
    """The plugin installs from its folder, and the client shows its skill."""
    for done in client.install():
        report.expect(" ".join(done.words[1:4]), done.status == 0, done)
    # Codex shows what the model gets to see; Copilot has a list.
    words = ("debug", "prompt-input", "hi") if isinstance(client, Codex) else ("skill", "list")
    listed = client.call(*words)
    # A phrase of its description: the name is in paths too.
    report.expect("lists the skill", listed.status == 0 and "coding-agent sessions" in listed.output, listed)


def doctor_knows(client: Client, report: Report) -> None:
    """The doctor finds the plugin where the client has put it, and every hook of it does what it is for."""
    stage = client.stage
    stage.new_scene()
    client.turn([])
    done = stage.run([sys.executable, str(stage.plugin / "chat.py"), "doctor", "--hosts", "--json"])
    found = {each["host"]: each for each in json.loads(done.output.splitlines()[-1])["hosts"]}
    host = found[client.name]
    report.expect("is wired by the plugin", [each["by"] for each in host["wired"]] == ["plugin"], done)
    outcomes = {each["event"]: each["outcome"] for each in host["hooks"]}
    report.expect("has hooks that work", len(outcomes) > 3 and {*outcomes.values()} == {"ok"}, done)
    report.expect("was seen to run them", bool(host["last_ran"]), done)


def locked_file_stays(client: Client, report: Report) -> None:
    """The guard refuses the edit of what another agent holds, says who holds it, and lets it through afterwards."""
    stage = client.stage
    stage.new_scene()
    stage.lock()
    refused = client.turn(client.edit())
    report.expect("ends well although an edit was refused", refused.done.status == 0, refused)
    report.expect("leaves a file alone that another agent has locked", stage.file.read_text() == TEXT, refused)
    told = "\n".join(refused.news[1:])
    report.expect(
        "tells the model who holds it and why", f"locked by {OTHER}" in told and "rewriting it" in told, refused
    )

    stage.unlock()
    free = client.turn(client.edit())
    report.expect("edits the file once it is unlocked", stage.file.read_text() == EDITED, free)
    report.expect("says nothing of locks then", f"locked by {OTHER}" not in "\n".join(free.news), free)

    stage.new_scene()
    stage.chat("lock", CHANNEL, "src/a.txt", "--as", SELF)
    own = client.turn(client.edit())
    report.expect("edits a file that its own agent has locked", stage.file.read_text() == EDITED, own)


def shell_is_warned(client: Client, report: Report) -> None:
    """What a command will write cannot be known for certain, so it runs, and the model is told."""
    stage = client.stage
    stage.new_scene()
    stage.lock()
    turn = client.turn([client.shell("printf 'one\\nTWO\\nthree\\n' > src/a.txt")])
    report.expect("runs a command that writes what another agent has locked", stage.file.read_text() == EDITED, turn)
    report.expect("tells the model who holds it", f"locked by {OTHER}" in "\n".join(turn.news[1:]), turn)
    quiet = client.turn([client.shell("cat src/a.txt")])
    report.expect("says nothing where a command only reads", f"locked by {OTHER}" not in "\n".join(quiet.news), quiet)


def unread_is_told(client: Client, report: Report) -> None:
    """The first request holds how much is unread, and from whom; no title."""
    client.stage.new_scene()
    client.stage.post(TITLE)
    turn = client.turn([Move()])
    first = turn.news[0] if turn.news else ""
    report.expect("tells the model what is unread", f"{CHANNEL} 1 ({OTHER})" in first, turn)
    report.expect("tells no title", TITLE not in first, turn)
    report.expect("goes on by itself no further", len(turn.news) == 1, turn)
    # It is the session's start and the prompt that tell it.
    report.expect("tells it at most twice", first.count(f"{CHANNEL} 1 ({OTHER})") <= 2, turn)


def stop_holds_once(client: Client, report: Report) -> None:
    """With AGENT_CHAT_STOP=block the session goes on once for what is unread, not for what comes after that."""
    stage = client.stage
    stage.new_scene()
    none = client.turn([Move()], HOLD)
    report.expect("stops when nothing is unread", len(none.news) == 1, none)

    stage.post(TITLE)
    held = client.turn([Move()], HOLD)
    report.expect("goes on exactly once when something is unread", len(held.news) == 2, held)
    reason = held.news[-1]
    report.expect("is told why it goes on", f"{CHANNEL} 1 ({OTHER})" in reason and TITLE not in reason, held)

    more = client.turn([Move(), Move(meanwhile=lambda: stage.post(TITLE))], HOLD)
    report.expect("stops although a message came in while it went on", len(more.news) == 2, more)

    stage.chat("read", CHANNEL, "--as", SELF)
    read = client.turn([Move()], HOLD)
    report.expect("stops when all is read", len(read.news) == 1, read)

    during = client.turn([Move(meanwhile=lambda: stage.post(TITLE))], HOLD)
    report.expect("goes on once for what came in during the turn", len(during.news) == 2, during)


def stop_holds_nothing_by_itself(client: Client, report: Report) -> None:
    """Without AGENT_CHAT_STOP the session stops whatever came in."""
    stage = client.stage
    stage.new_scene()
    turn = client.turn([Move(meanwhile=lambda: stage.post(TITLE))])
    report.expect("stops with a message unread", len(turn.news) == 1, turn)


def nobody_in_particular(client: Client, report: Report) -> None:
    """A session without a name is told so, and a file that somebody holds is not guarded against it in silence."""
    stage = client.stage
    stage.new_scene()
    stage.lock()
    turn = client.turn(client.edit(), {"AGENT_CHAT_NAME": ""})
    report.expect("is told that it has no name", bool(turn.news) and "has no name" in turn.news[0], turn)
    told = "\n".join(turn.news[1:])
    report.expect("is told that an edit was not checked", stage.file.read_text() == EDITED and OTHER in told, turn)
    stage.file.write_text(TEXT, encoding="utf-8")
    strict = client.turn(client.edit(), {"AGENT_CHAT_NAME": "", "AGENT_CHAT_GUARD": "strict"})
    report.expect(
        "is refused then with AGENT_CHAT_GUARD=strict", "strict refuses" in "\n".join(strict.news[1:]), strict
    )


def patch_by_way_of_the_shell(client: Client, report: Report) -> None:
    """Codex applies a patch itself that the model gives to its shell."""
    stage = client.stage
    stage.new_scene()
    stage.lock()
    turn = client.turn([client.shell(f"apply_patch <<'EOF'\n{PATCH}\nEOF")])
    told = "\n".join(turn.news[1:])
    report.expect("guards a patch that goes by way of the shell", stage.file.read_text() == TEXT, turn)
    report.expect("tells the model who holds it", f"locked by {OTHER}" in told, turn)


def scenes_of(client: Client) -> list[Scene]:
    """Returns what is played with a client."""
    every: list[Scene] = [
        doctor_knows,
        locked_file_stays,
        shell_is_warned,
        unread_is_told,
        stop_holds_once,
        stop_holds_nothing_by_itself,
        nobody_in_particular,
    ]
    if isinstance(client, Codex):
        every.append(patch_by_way_of_the_shell)
    return every
