"""One call of every command, the fields that scripts rely on, and running them with --json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.cli import leasing
from tests.support import schemas
from tests.support.cli import Result, message_file, plant, run
from tests.support.tokens import plant_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

PAGE = "messages latest_seq has_more next_after cursor"
CHANGED = "task seq"
GRANTED = "task claim seq"
LOCKED = "lock seq"
OWNER = "access retention_days"
STATE = "schema_version topic as_of decisions open_tasks blockers owners path_locks verification incomplete warnings"

# One call of each command that works in the root that `make_root` makes, after those of FIRST.
CALLS: dict[str, tuple[str, ...]] = {
    "init": ("init", "fresh", "--members", "alice,bob", "--humans", "carol", "--topic", "t", "--owner", "alice"),
    "channels": ("channels",),
    "roster": ("roster", "dev"),
    "join": ("join", "dev", "--as", "dora", "--role", "subordinate"),
    "leave": ("leave", "dev", "--as", "dora"),
    "post": ("post", "dev", "--from", "bob", "--title", "t", "--reply", "1", "--ref", f"path:{__file__}", "--key", "k"),
    "read": ("read", "dev", "--as", "bob"),
    "wait": ("wait", "dev", "--as", "bob", "--timeout", "0", "--after", "0"),
    "watch": ("watch", "dev", "--as", "bob", "--timeout", "0", "--after", "1"),
    "peek": ("peek", "dev", "-n", "2"),
    "show": ("show", "dev", "1"),
    "thread": ("thread", "dev", "1"),
    "inbox": ("inbox", "--as", "bob"),
    "ack": ("ack", "dev", "1", "--as", "bob"),
    "search": ("search", "dev", "text"),
    "claim": ("claim", "dev", "task-1.md", "--as", "bob"),
    "task create": ("task", "create", "work", "t-2", "--from", "alice", "--title", "t", "--depends-on", "t-1"),
    "task list": ("task", "list", "work"),
    "task ready": ("task", "ready", "work"),
    "task show": ("task", "show", "work", "t-1"),
    "task update": ("task", "update", "work", "t-1", "--as", "bob", "--title", "u", "--branch", "b"),
    "task claim": ("task", "claim", "work", "t-1", "--as", "bob"),
    "task renew": ("task", "renew", "work", "t-1", "--as", "bob", "--lease-seconds", "0.5"),
    "task done": ("task", "done", "work", "t-1", "--as", "bob"),
    "task block": ("task", "block", "work", "t-1", "--as", "bob"),
    "task release": ("task", "release", "work", "t-1", "--as", "bob"),
    "task cancel": ("task", "cancel", "work", "t-1", "--as", "alice"),
    "task recover": ("task", "recover", "work", "t-1", "--as", "carol", "--reason", "bob is gone"),
    "task recover-pending": ("task", "recover-pending", "work", "--as", "bob"),
    "lock": ("lock", "work", "src/a.py", "docs/", "--as", "bob", "--reason", "tidying"),
    "renew-lock": ("renew-lock", "work", "src/a.py", "--as", "bob"),
    "check": ("check", "work", "src/b.py", "--as", "bob"),
    "unlock": ("unlock", "work", "src/a.py", "--as", "bob"),
    "locks": ("locks", "work"),
    "recover": ("recover", "work", "src/a.py", "--as", "carol", "--reason", "bob is gone"),
    "recover-pending": ("recover-pending", "work", "--as", "bob"),
    "state": ("state", "work"),
    "compact": ("compact", "work"),
    "event post": ("event", "post", "dev", "--from", "bob", "--type", "status", "--harness", "omp", "--status", "busy"),
    "event read": ("event", "read", "dev"),
    "session start": ("session", "start", "--as", "bob", "--harness", "omp"),
    "session end": ("session", "end"),
    "session show": ("session", "show"),
    "owner": ("owner",),
    "owner access": ("owner", "access", "off", "--as", "carol"),
    "owner retention": ("owner", "retention", "30", "--as", "carol"),
    "channel delete": ("channel", "delete", "dev", "--as", "carol"),
    "doctor": ("doctor", "dev"),
    "prune": ("prune", "old"),
    "hook": ("hook", "session-start", "--host", "claude"),
    "setup": ("setup", "claude", "--print"),
    "completion": ("completion", "bash"),
    "help": ("help", "post"),
    "version": ("version",),
}
HELD, LOCK = CALLS["task claim"], CALLS["lock"]
FIRST = {
    "leave": CALLS["join"],
    "task renew": HELD,
    "task done": HELD,
    "task block": HELD,
    "task release": HELD,
    "task recover": HELD,
    "renew-lock": LOCK,
    "unlock": LOCK,
    "recover": LOCK,
    "event read": CALLS["event post"],
}
UNDER_A_SESSION = ("session end", "session show")
# The leases that these take over are granted by a clock of the past.
LONG_AGO = ("task recover", "recover")
ONCE = ("init", "claim", "leave", "task create", "task claim", "task recover", "unlock", "recover", "channel delete")

FIELDS = {
    "init": "channel path members",
    "channels": "channels",
    "roster": "members humans topic messages open",
    "post": "seq file repeated summoned missed",
    "read": PAGE,
    "wait": f"{PAGE} timed_out",
    "peek": PAGE,
    "search": PAGE,
    "thread": PAGE,
    "show": "message refs",
    "inbox": "channels",
    "ack": "cursor previous",
    "claim": "marker claimed_as seq",
    "task create": CHANGED,
    "task list": "tasks",
    "task ready": "tasks",
    "task show": "task ready waiting_for",
    "task update": CHANGED,
    "task claim": GRANTED,
    "task renew": GRANTED,
    "task done": CHANGED,
    "task block": CHANGED,
    "task release": CHANGED,
    "task cancel": CHANGED,
    "task recover": GRANTED,
    "task recover-pending": "outcome transaction",
    "lock": LOCKED,
    "renew-lock": LOCKED,
    "check": "conflicts",
    "unlock": LOCKED,
    "locks": "locks",
    "recover": LOCKED,
    "recover-pending": "outcome transaction",
    "state": STATE,
    "compact": f"{STATE} file seq",
    "event post": "seq file event",
    "session start": "session token",
    "session end": "session",
    "session show": "session",
    "owner": OWNER,
    "owner access": OWNER,
    "owner retention": OWNER,
    "channel delete": "channel messages",
    "doctor": "findings fixed",
    "prune": "removed kept dry_run git_history",
    "setup": "host files next",
    "hook": "event host output notes",
}
WITHOUT_ROOT = ("completion", "help", "hook", "version")


def make_root(folder: Path) -> Path:
    """Makes a root with a channel `dev` with two messages of alice and a marker, and one `work` with a task."""
    for call in (("init", "dev"), ("post", "dev", "--from", "alice", "--title", "one", "--body", "text")):
        answer(folder, *call)
    answer(folder, "post", "dev", "--from", "alice", "--title", "two", "--to", "bob", "--status", "decision")
    plant(folder / "dev" / "task-1.md")
    answer(folder, "init", "work", "--humans", "carol")
    answer(folder, "task", "create", "work", "t-1", "--from", "alice", "--title", "t")
    return folder


def prepare(root: Path, name: str) -> tuple[str, ...]:
    """Makes the root fit for a command's call, which is returned."""
    if name == "prune":
        answer(root, "init", "old")
        plant(root / "old" / "0001-alice-m.md", message_file(1, created="2020-01-01T00:00:00Z"))
        plant(root / "_owner.json", '{"schema_version": 1, "retention_days": 14}')
    if name in LONG_AGO:
        assert leasing.call(root, *FIRST[name]).status == 0
    elif name in FIRST:
        answer(root, *FIRST[name])
    return CALLS[name]


def answer(root: Path, *call: str, workspace: Workspace | None = None, expect: int = 0) -> dict[str, Any]:
    """Runs a call with --json; returns its document, which was checked against the schema of the command."""
    done = run([*call, "--json"], root, workspace=workspace, environment=variables_of(root, call))
    return document_of(done, call, expect=expect)


def variables_of(root: Path, call: Sequence[str]) -> dict[str, str]:
    """The environment of a call: a work tree of its own, and a token where it is about the caller's session."""
    variables = leasing.tree_beside(root)
    if schemas.command_in(call) in UNDER_A_SESSION:
        token = plant_session(root) if root.exists() else f"0123456789abcdef-1.{'0' * 64}"
        variables["AGENT_CHAT_TOKEN"] = token
    return variables


def document_of(done: Result, call: Sequence[str], *, expect: int = 0) -> dict[str, Any]:
    """The one document that a call wrote, checked."""
    assert (done.status, done.stderr) == (expect, ""), done
    lines = done.stdout.split("\n")
    assert len(lines) == 2, done.stdout
    assert lines[1] == ""
    document = json.loads(lines[0])
    assert isinstance(document, dict)
    schemas.check_reply(schemas.command_in(call), document)
    return document
