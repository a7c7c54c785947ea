"""The command setup."""

from __future__ import annotations

import os

from agent_chat.cli.acting import variable
from agent_chat.cli.command import Reply
from agent_chat.cli.own_program import own_program
from agent_chat.errors import ChatError
from agent_chat.names import quoted
from agent_chat.operations import setup as operations
from agent_chat.operations import wiring
from agent_chat.operations.file_changes import CHANGED, CREATED, DELETED, REMOVED, UNCHANGED, Place
from agent_chat.operations.setup import Outcome, Wish
from agent_chat.records.hook_line import NAME, OWN_ROOT, Program
from agent_chat.records.shown_text import safe_line
from agent_chat.storage import filesystem
from agent_chat.storage.project_files import ProjectFiles
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.cli.command import Request
    from agent_chat.operations.file_changes import Change
    from agent_chat.operations.wiring import Host

WORDS = {CREATED: "wrote", CHANGED: "wrote", UNCHANGED: "unchanged", REMOVED: "cleaned", DELETED: "deleted"}
PRINTED = "printed"


def setup(request: Request) -> Reply:
    """Wires our hooks into a host, takes them out, or prints what it would write."""
    named = request.optional_text("host")
    if named is None:
        return _root_alone(request)
    host = wiring.HOSTS[named]
    _require_options(request, host)
    folder, path, start = _place_of(request, host)
    wish = Wish(
        host=host,
        program=Program() if request.flag("remove") else own_program(request),
        path=path,
        in_project=not request.flag("user"),
        own_root=os.path.join(folder, OWN_ROOT),
        root=os.path.join(folder, OWN_ROOT) if request.flag("root_here") else "",
        wake=request.flag("wake"),
    )
    _require_text(wish)
    if request.flag("print"):
        return _printed(wish, start)
    workspace = request.workspace
    files = ProjectFiles(folder, workspace.clock)
    manual = f"{NAME} setup {host.name} --print" + (" --user" if request.flag("user") else "")
    place = Place(files, workspace.clock, workspace.ids, start=start, manual=manual)
    if request.flag("remove"):
        return _reply(host, place, operations.take_out(place, wish))
    outcome = operations.set_up(place, wish)
    if request.root and not wish.root:
        outcome = outcome.replace(next=(*outcome.next, _export(host.name, workspace.root)))
    return _reply(host, place, outcome)


def _root_alone(request: Request) -> Reply:
    """Makes the project's own root without wiring a host."""
    others = [name for name in ("print", "remove", "user", "wake") if request.flag(name)]
    if others or not request.flag("root_here"):
        raise ChatError("USAGE", f"setup needs a host: {', '.join(wiring.HOSTS)}", next=f"{NAME} setup --help")
    folder = _project()
    workspace = request.workspace
    place = Place(
        ProjectFiles(folder, workspace.clock), workspace.clock, workspace.ids, start="", manual=f"mkdir {OWN_ROOT}"
    )
    changes = operations.make_root(place)
    export = _export("a host", os.path.join(folder, OWN_ROOT))
    return _reply(None, place, Outcome(changes=changes, next=(export,)))


def _export(host: str, root: str) -> str:
    return f"before you start {host}: export AGENT_CHAT_ROOT={shell_word(root)}"


def _require_options(request: Request, host: Host) -> None:
    """Fails unless the options go together, and with the host."""
    if request.flag("wake") and host.name != "claude":
        raise ChatError("SETUP_OPTION_INVALID", f"{host.name} cannot be woken: --wake is for claude")
    for one, other in (("user", "root_here"), ("print", "remove")):
        if request.flag(one) and request.flag(other):
            labels = [argument.label for argument in request.command.arguments if argument.name in (one, other)]
            raise ChatError("SETUP_OPTION_INVALID", f"{' and '.join(labels)} do not go together")


def _require_text(wish: Wish) -> None:
    """Fails unless what stands in settings has UTF-8, as settings do."""
    for path in (wish.root, wish.program.script, wish.program.executable):
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise ChatError("SETUP_PLACE_INVALID", f"{quoted(path)} is a path that is no UTF-8") from None


# -- where -------------------------------------------------------------------------------------------------------------


def _project() -> str:
    """Returns the current folder."""
    try:
        return filesystem.absolute(".")
    except FileNotFoundError:
        raise ChatError("SETUP_PLACE_INVALID", "the current folder is gone") from None


def _place_of(request: Request, host: Host) -> tuple[str, str, str]:
    """Returns the folder that files are written in, the host's file in it, and what the user sees before that."""
    if not request.flag("user"):
        return _project(), host.project, ""
    named, below, name = host.user
    chosen = variable(request, named) if named else ""
    if chosen:
        folder = filesystem.absolute(chosen)
        if below:
            folder, last = os.path.split(folder)
            name = f"{last}/{name}"
        return folder, name, folder.rstrip(os.sep) + os.sep
    # An empty HOME is none: Python would take it for the top of the file system.
    home = variable(request, "HOME") if "HOME" in request.environment else os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ChatError("SETUP_PLACE_INVALID", "there is no home folder")
    return filesystem.absolute(home), f"{below}/{name}".lstrip("/"), "~/"


# -- replies -----------------------------------------------------------------------------------------------------------


def _printed(wish: Wish, start: str) -> Reply:
    files = [(start + path, text) for path, text in operations.printed(wish)]
    return Reply(
        data={
            "host": wish.host.name,
            "files": [{"path": path, "change": PRINTED, "text": text} for path, text in files],
            "next": [],
        },
        text="\n".join([f"{safe_line(path)}:\n{text}" for path, text in files]),
    )


def _reply(host: Host | None, place: Place, outcome: Outcome) -> Reply:
    files = [(place.shown(path), word) for path, word in _words(outcome.changes).items()]
    name = host.name if host is not None else None
    lines = [f"{WORDS[word]} {path}" for path, word in files] or [f"nothing of ours is set up for {name}"]
    summary = "; ".join(lines)
    return Reply(
        data={
            "host": name,
            "files": [{"path": path, "change": word} for path, word in files],
            "next": list(outcome.next),
        },
        text="\n".join([safe_line(line) for line in [*lines, *[f"next: {step}" for step in outcome.next]]]),
        summary=summary if any(word != UNCHANGED for _, word in files) else "",
    )


def _words(changes: tuple[Change, ...]) -> dict[str, str]:
    """Returns what was done, by path; the files of the project's own root are told as one."""
    words: dict[str, str] = {}
    for change in changes:
        path = f"{OWN_ROOT}/" if change.path.startswith(f"{OWN_ROOT}/") else change.path
        if change.before is not None or change.after is not None:
            words[path] = change.word if words.get(path, UNCHANGED) == UNCHANGED else words[path]
    return words
