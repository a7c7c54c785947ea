"""The rows of the command table about tasks and claims."""

from __future__ import annotations

from agent_chat.cli.arguments import ACTOR, AGENT, CHANNEL, FENCE, KEEP, LEASE, REASON, RESOLVE, TASK
from agent_chat.cli.command import Argument, Command

TASKS = "agent_chat.cli.task_commands"
CLAIMS = "agent_chat.cli.claim_commands"

TITLE = Argument(name="title", spellings=("--title",), metavar="TEXT", help="what is to be done, one line")
OWNER = Argument(name="owner", spellings=("--owner",), metavar="AGENT", help="whose it is to be")
FIELDS = (
    OWNER,
    Argument(
        name="depends_on",
        spellings=("--depends-on",),
        metavar="ID,ID",
        repeatable=True,
        help="tasks that must be done first; may be repeated",
    ),
    Argument(
        name="files_hint",
        spellings=("--files-hint",),
        metavar="PATH,PATH",
        repeatable=True,
        help="files it is about; may be repeated",
    ),
    Argument(
        name="acceptance",
        spellings=("--acceptance",),
        metavar="TEXT",
        repeatable=True,
        help="when it counts as done; may be repeated; a comma with no space after it separates two",
    ),
    Argument(name="branch", spellings=("--branch",), metavar="NAME", help="its branch"),
)


def _clear(field: str) -> Argument:
    return Argument(name=f"clear_{field}", spellings=(f"--clear-{field}",), flag=True, help=f"leave it without {field}")


def _on_claim(name: str, summary: str, *arguments: Argument, notes: str = "") -> Command:
    """Returns the row of a command on a task that somebody holds or wants to hold."""
    return Command(
        path=("task", name),
        summary=summary,
        handler=f"{CLAIMS}:{name}",
        mutates=True,
        notes=notes,
        arguments=(CHANNEL, TASK, AGENT, *arguments),
    )


ROWS = (
    Command(
        path=("task", "create"),
        summary="Makes a task.",
        handler=f"{TASKS}:create",
        mutates=True,
        arguments=(
            CHANNEL,
            TASK,
            ACTOR.replace(spellings=("--from", "--as", "--actor", "--created-by")),
            TITLE.replace(required=True),
            *FIELDS,
        ),
    ),
    Command(
        path=("task", "list"),
        summary="Lists all tasks: status, owner, lease, what they wait for.",
        handler=f"{TASKS}:list_all",
        arguments=(CHANNEL,),
    ),
    Command(
        path=("task", "ready"),
        summary="Lists the tasks that can be claimed now.",
        handler=f"{TASKS}:ready",
        notes="A task whose lease ran out is listed too; task recover takes it over.",
        arguments=(CHANNEL, AGENT.replace(help="for whom: what is assigned to others is left out")),
    ),
    Command(path=("task", "show"), summary="Shows one task.", handler=f"{TASKS}:show", arguments=(CHANNEL, TASK)),
    Command(
        path=("task", "update"),
        summary="Changes fields of a task.",
        handler=f"{TASKS}:update",
        mutates=True,
        notes="Owner and status of a claimed task change through its claim only.",
        arguments=(
            CHANNEL,
            TASK,
            ACTOR,
            TITLE,
            *FIELDS,
            Argument(
                name="status",
                spellings=("--status",),
                metavar="STATUS",
                help="open, in_progress, blocked, done or cancelled",
            ),
            _clear("owner"),
            _clear("branch"),
        ),
    ),
    _on_claim(
        "claim",
        "Takes a ready task; one agent wins, for as long as the lease runs.",
        LEASE,
        notes="The reply states the fence: give it with --fence to be refused if the claim was lost meanwhile.",
    ),
    _on_claim(
        "renew",
        "Makes the lease run anew from now.",
        LEASE.replace(help="how long, at most 30 days (as before)"),
        FENCE,
    ),
    _on_claim("done", "Marks a task as done and gives its claim back.", FENCE),
    _on_claim("block", "Marks a task as blocked; its claim stays.", FENCE),
    _on_claim("release", "Gives a task back: it is open again, without owner.", FENCE),
    _on_claim(
        "cancel",
        "Cancels a task.",
        FENCE,
        notes="Under a running lease only its holder can; else its owner or creator.",
    ),
    _on_claim("recover", "Takes over a task whose lease ran out, with a reason.", REASON, LEASE, FENCE),
    Command(
        path=("task", "recover-pending"),
        summary="Undoes or finishes an interrupted change of tasks; reassigns nothing.",
        handler=f"{CLAIMS}:recover_pending",
        mutates=True,
        arguments=(CHANNEL, AGENT, RESOLVE, KEEP),
    ),
)
