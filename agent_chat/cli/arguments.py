"""Arguments that several rows of the command table take alike."""

from __future__ import annotations

from agent_chat.cli.command import Argument

LEVELS = ("PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED")
ROLES = ("top-level", "subordinate", "human")
SHELLS = ("bash", "zsh", "fish")

CHANNEL = Argument(name="channel", help="the channel's name")
SEQ = Argument(name="seq", help="the message: its number, or its file name")

AGENT = Argument(
    name="agent",
    spellings=("--as", "--from", "--owner", "--actor"),
    metavar="AGENT",
    help="who acts (else $AGENT_CHAT_NAME)",
)
SENDER = AGENT.replace(spellings=("--from", "--as", "--owner", "--actor"))

LIMIT = Argument(
    name="limit",
    spellings=("--limit",),
    metavar="N",
    kind="integer",
    minimum=1,
    maximum=1000,
    default=50,
    help="at most so many messages",
)
MAX_BYTES = Argument(
    name="max_bytes",
    spellings=("--max-bytes",),
    metavar="N",
    kind="integer",
    minimum=1,
    default=24000,
    help="at most so much text; a larger single message comes alone",
)
AFTER = Argument(
    name="after",
    spellings=("--after",),
    metavar="SEQ",
    kind="integer",
    minimum=0,
    help="only messages after this number",
)
AFTER_CURSOR = AFTER.replace(help="from after this number instead of the cursor, which stays")
INTERVAL = Argument(
    name="interval",
    spellings=("--interval",),
    metavar="SECONDS",
    kind="seconds",
    default=0.2,
    help="how often to look where the system gives no signal",
)
SKIP_TOPIC = Argument(
    name="skip_topic",
    spellings=("--skip-topic",),
    metavar="TOPIC",
    repeatable=True,
    help="leave this topic out; may be repeated",
)
SKIP_FROM = Argument(
    name="skip_from",
    spellings=("--skip-from",),
    metavar="NAME",
    repeatable=True,
    help="leave this agent or session out; may be repeated",
)
PEEK = Argument(name="peek", spellings=("--peek",), flag=True, help="leave the cursor where it is")
TOPIC = Argument(name="topic", spellings=("--topic",), metavar="TOPIC", help="only this topic")

# Where `--owner` is a field of its own, it is no spelling of the acting agent.
ACTOR = AGENT.replace(spellings=("--as", "--from", "--actor"))
TASK = Argument(name="task", metavar="id", help="the task's id")
LEASE = Argument(
    name="lease_seconds",
    spellings=("--lease-seconds", "--lease", "--ttl"),
    metavar="SECONDS",
    help="how long, at most 30 days (300)",
)
FENCE = Argument(
    name="fence",
    spellings=("--fence",),
    metavar="N",
    kind="integer",
    minimum=0,
    help="act only if this is still its fence",
)
REASON = Argument(name="reason", spellings=("--reason",), metavar="TEXT", required=True, help="why, in one line")
RESOLVE = Argument(
    name="resolve_publication",
    spellings=("--resolve-publication",),
    metavar="HOW",
    choices=("rollback", "published"),
    help="what another program's marker cannot prove",
)
KEEP = Argument(
    name="keep", spellings=("--keep",), flag=True, help="file a damaged entry and leave the files as they are"
)
WORK_TREE = Argument(
    name="workspace",
    spellings=("--workspace",),
    metavar="DIR",
    help="the work tree (else $AGENT_CHAT_WORKSPACE, the channel's, the git work tree, the current folder)",
)
PATHS = Argument(name="paths", metavar="path", many=True, help="files and folders; a final / means a folder")
LOCK = Argument(name="lock", help="the lock's id, or one of its paths")
