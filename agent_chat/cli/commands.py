"""The table of commands: one row each, in the order in which help shows them.

A row names its handler as "module:function"; `main` loads it only when the command runs, so a row costs nothing but
its text. What several commands take alike is declared once, above the table.
"""

from __future__ import annotations

from agent_chat.cli import (
    event_table,
    host_table,
    lock_table,
    owner_table,
    session_table,
    state_table,
    task_table,
)
from agent_chat.cli.arguments import (
    AFTER,
    AFTER_CURSOR,
    AGENT,
    CHANNEL,
    INTERVAL,
    LEVELS,
    LIMIT,
    MAX_BYTES,
    PEEK,
    ROLES,
    SENDER,
    SEQ,
    SHELLS,
    SKIP_FROM,
    SKIP_TOPIC,
    TOPIC,
    WORK_TREE,
)
from agent_chat.cli.command import HELP, VERSION, Argument, Command

CHANNELS = "agent_chat.cli.channel_commands"
MESSAGES = "agent_chat.cli.message_commands"
WAITING = "agent_chat.cli.waiting_commands"
HEALTH = "agent_chat.cli.health_commands"

INIT = Command(
    path=("init",),
    summary="Makes a channel; refuses one that exists.",
    handler=f"{CHANNELS}:init",
    mutates=True,
    notes="With --members the channel is closed: others must join before they post, read or are written to.",
    arguments=(
        CHANNEL,
        Argument(name="members", spellings=("--members",), metavar="A,B", kind="names", help="its agents"),
        Argument(name="humans", spellings=("--humans",), metavar="A,B", kind="names", help="its people"),
        Argument(name="topic", spellings=("--topic",), metavar="TEXT", help="what it is about"),
        Argument(name="owner", spellings=("--owner",), metavar="NAME", help="whose channel it is"),
        Argument(name="level", spellings=("--level",), metavar="LEVEL", choices=LEVELS, help="its level"),
        WORK_TREE.replace(help="the work tree whose paths are locked here"),
    ),
)

POST = Command(
    path=("post",),
    summary="Publishes one message and prints its number and file.",
    handler=f"{MESSAGES}:post",
    speaks=True,
    mutates=True,
    notes="""\
The body comes from --body, --body-file or standard input; without any the title is all there is.
Give long text through a quoted heredoc, so that the shell leaves back-ticks and $ alone:
  agent-chat post dev --from alice --title "Schema draft" --body-file - <<'EOF'
  `id` becomes a UUID.
  EOF""",
    arguments=(
        CHANNEL,
        SENDER,
        Argument(name="title", spellings=("--title",), metavar="TEXT", required=True, help="one line"),
        Argument(name="to", spellings=("--to",), metavar="A,B", kind="names", help="for whom (else for all)"),
        Argument(name="body", spellings=("--body",), metavar="TEXT", help="the text"),
        Argument(name="body_file", spellings=("--body-file",), metavar="FILE", help="the text; - is standard input"),
        Argument(name="reply", spellings=("--reply",), metavar="SEQ", help="the message answered: number or file name"),
        TOPIC.replace(help="its topic; a reply has its parent's"),
        Argument(name="status", spellings=("--status",), metavar="LABEL", help="such as decision, blocker, resolved"),
        Argument(
            name="ref",
            spellings=("--ref",),
            metavar="REF",
            repeatable=True,
            help="what it is about: path:FILE or commit:[REPO@]HASH; may be repeated",
        ),
        Argument(
            name="key",
            spellings=("--key",),
            metavar="KEY",
            help="makes a retry safe: the same key and content are posted once",
        ),
        Argument(
            name="if_seq",
            spellings=("--if-seq",),
            metavar="SEQ",
            kind="integer",
            minimum=0,
            help="refuse if the channel has moved past this number",
        ),
    ),
)

READ = Command(
    path=("read",),
    summary="Prints what is new for an agent, oldest first, then moves its cursor.",
    handler=f"{MESSAGES}:read",
    speaks=True,
    mutates=True,
    notes="If the output may be cut (by head, say), use --peek and then ack.",
    arguments=(
        CHANNEL,
        AGENT,
        LIMIT,
        MAX_BYTES,
        PEEK,
        Argument(
            name="all", spellings=("--all",), flag=True, help="also what is for others, one's own, and what is skipped"
        ),
        SKIP_TOPIC,
        SKIP_FROM,
        AFTER_CURSOR,
    ),
)

WAIT = Command(
    path=("wait",),
    summary="Blocks until there is something for an agent; prints it as read does.",
    handler=f"{WAITING}:wait",
    speaks=True,
    mutates=True,
    notes="What was there before the call counts. Exit status 1: the time ran out; call again.",
    arguments=(
        Argument(name="channels", metavar="channel", many=True, help="one or more channels"),
        AGENT,
        Argument(
            name="timeout",
            spellings=("--timeout",),
            metavar="SECONDS",
            kind="seconds",
            default=110.0,
            help="how long to wait; 0 looks once",
        ),
        INTERVAL,
        PEEK,
        SKIP_TOPIC,
        SKIP_FROM,
        AFTER_CURSOR,
        Argument(
            name="reply_to",
            spellings=("--reply-to",),
            metavar="SEQ",
            help="end only on a reply to this message: number or file name",
        ),
        Argument(
            name="task",
            spellings=("--task",),
            metavar="ID",
            help="end when this task is done, cancelled or ready; prints the task, no messages",
        ),
        Argument(
            name="path",
            spellings=("--path",),
            metavar="PATH",
            help="end when no lock of another holds this path; prints no messages",
        ),
        WORK_TREE,
        LIMIT,
        MAX_BYTES,
    ),
)

WATCH = Command(
    path=("watch",),
    summary="Prints messages for an agent as they arrive, until interrupted.",
    handler="agent_chat.cli.watch_commands:watch",
    speaks=True,
    mutates=True,
    notes="Cursors move as read moves them. With --json each message is a document on a line of its own.",
    arguments=(
        Argument(name="channels", metavar="channel", many=True, optional=True, help="the channels (else all)"),
        AGENT,
        SKIP_TOPIC,
        SKIP_FROM,
        AFTER_CURSOR,
        Argument(name="timeout", spellings=("--timeout",), metavar="SECONDS", kind="seconds", help="end after so long"),
        INTERVAL,
        LIMIT,
        MAX_BYTES,
    ),
)

COMMANDS: tuple[Command, ...] = (
    INIT,
    Command(
        path=("channels",),
        summary="Lists all channels with members and last message.",
        handler=f"{CHANNELS}:channels",
    ),
    Command(
        path=("roster",),
        summary="Shows who is in a channel, who waits now, and who was seen when.",
        handler="agent_chat.cli.roster_command:roster",
        arguments=(CHANNEL,),
    ),
    Command(
        path=("join",),
        summary="Makes an agent a member of a channel.",
        handler=f"{CHANNELS}:join",
        mutates=True,
        arguments=(
            CHANNEL,
            AGENT,
            Argument(name="role", spellings=("--role",), metavar="ROLE", choices=ROLES, help="as what it joins"),
        ),
    ),
    Command(
        path=("leave",),
        summary="Takes an agent off the members of a channel.",
        handler=f"{CHANNELS}:leave",
        mutates=True,
        arguments=(CHANNEL, AGENT),
    ),
    POST,
    READ,
    WAIT,
    WATCH,
    Command(
        path=("peek",),
        summary="Prints the last messages of a channel; moves no cursor.",
        handler=f"{MESSAGES}:peek",
        speaks=True,
        arguments=(CHANNEL, LIMIT.replace(name="number", spellings=("-n", "--number"), default=3), MAX_BYTES),
    ),
    Command(
        path=("show",),
        summary="Prints one message, whoever it is for, and whether its refs still match.",
        handler=f"{MESSAGES}:show",
        speaks=True,
        arguments=(CHANNEL, SEQ),
    ),
    Command(
        path=("thread",),
        summary="Prints a message and its replies, whoever they are for.",
        handler=f"{MESSAGES}:thread",
        speaks=True,
        arguments=(CHANNEL, SEQ, LIMIT, MAX_BYTES, AFTER),
    ),
    Command(
        path=("inbox",),
        summary="Counts an agent's unread messages, one line a channel; moves no cursor.",
        handler=f"{MESSAGES}:inbox",
        speaks=True,
        arguments=(AGENT,),
    ),
    Command(
        path=("ack",),
        summary="Moves an agent's cursor to a message: all up to it counts as read.",
        handler=f"{MESSAGES}:ack",
        mutates=True,
        notes="A cursor never goes back but by --reset.",
        arguments=(
            CHANNEL,
            SEQ.replace(optional=True),
            AGENT,
            Argument(
                name="reset",
                spellings=("--reset",),
                metavar="SEQ",
                kind="integer",
                minimum=0,
                help="move the cursor back to this number",
            ),
        ),
    ),
    Command(
        path=("search",),
        summary="Finds the messages that hold all words; moves no cursor.",
        handler=f"{MESSAGES}:search",
        speaks=True,
        notes="Finding nothing is exit status 0.",
        arguments=(
            CHANNEL,
            Argument(name="words", metavar="word", many=True, help="what to look for"),
            Argument(name="sender", spellings=("--from",), metavar="AGENT", help="only from this agent"),
            TOPIC,
            Argument(name="since", spellings=("--since",), metavar="WHEN", help="only created at or after this time"),
            LIMIT,
            MAX_BYTES,
            AFTER,
        ),
    ),
    Command(
        path=("claim",),
        summary="Takes a marker file task-<id>.md of a channel; one agent wins.",
        handler=f"{MESSAGES}:claim",
        mutates=True,
        arguments=(CHANNEL, Argument(name="marker", help="such as task-12.md"), AGENT),
    ),
    *task_table.ROWS,
    *lock_table.ROWS,
    *state_table.ROWS,
    *event_table.ROWS,
    *session_table.ROWS,
    *owner_table.ROWS,
    Command(
        path=("doctor",),
        summary="Checks a channel, or all, and names each finding with its remedy.",
        handler=f"{HEALTH}:doctor",
        mutates=True,
        notes="Exit status 1: there are findings, or with --hosts something that is wired does not work.",
        arguments=(
            CHANNEL.replace(optional=True, help="only this channel"),
            Argument(name="fix", spellings=("--fix",), flag=True, help="repair what can be repaired without loss"),
            Argument(
                name="hosts",
                spellings=("--hosts",),
                flag=True,
                help="look at the hosts and no channel, and run each hook that is wired once",
            ),
        ),
    ),
    Command(
        path=("prune",),
        summary="Removes messages older than the owner's term; a tombstone of each stays.",
        handler="agent_chat.cli.retention_commands:prune",
        mutates=True,
        notes="This also happens by itself, once an hour, after commands that change something.",
        arguments=(
            CHANNEL.replace(optional=True, help="only this channel"),
            Argument(name="dry_run", spellings=("--dry-run",), flag=True, help="say what would go, and remove nothing"),
        ),
    ),
    *host_table.ROWS,
    Command(
        path=("completion",),
        summary="Prints a completion script for a shell.",
        handler="agent_chat.cli.completion:run",
        notes="Bash: source <(agent-chat completion bash). Fish: agent-chat completion fish | source.",
        arguments=(Argument(name="shell", choices=SHELLS, help="the shell"),),
    ),
    HELP,
    VERSION,
)
