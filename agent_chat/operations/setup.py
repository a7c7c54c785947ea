"""Setting up a host: which of its files get what, and what is left for the user to do.

The changes of files are planned and carried out by `file_changes`; what stands in them is of `host_files`.
"""

from __future__ import annotations

from agent_chat.errors import ChatError
from agent_chat.operations import host_extensions, wiring
from agent_chat.operations.file_changes import Part
from agent_chat.operations.host_files import Extension, HookSettings, Leftover, RootLine, RootVariable, Whole
from agent_chat.records import json_codec
from agent_chat.records.hook_line import OWN_ROOT, Program
from agent_chat.records.json_edit import is_strict
from agent_chat.records.value import Value
from agent_chat.storage import layout
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.operations.file_changes import Change, Content, Place
    from agent_chat.operations.wiring import Host

ENV_FILE = ".gemini/.env"


class Wish(Value):
    """What is to be set up: the host, how hooks start us, the file for it, the root that they look at, and the waiter.

    `in_project`: the file is a project's, not one for all projects of the user. `own_root` is where the project's own
    root is, or would be.
    """

    host: Host
    program: Program
    path: str
    in_project: bool = True
    own_root: str = ""
    root: str = ""
    wake: bool = False


class Outcome(Value):
    """What was done: the changes, and what is left to the user."""

    changes: tuple[Change, ...]
    next: tuple[str, ...] = ()


def main_part(wish: Wish) -> Part:
    """Returns the part that calls our hooks."""
    content: Content
    if wish.host.events:
        content = HookSettings(hooks=wiring.hooks_of(wish.host, wish.program, root=wish.root, wake=wish.wake))
    else:
        content = Extension(text=host_extensions.text(wish.host.name, wish.program, wish.root))
    return Part(path=wish.path, content=content)


def set_up(place: Place, wish: Wish) -> Outcome:
    """Wires a host; what an earlier call wired otherwise gives way."""
    put = [main_part(wish)]
    taken: list[Part] = []
    if wish.root:
        put = [*_root_parts(), *put, *_variable_parts(wish)]
    elif wish.in_project:
        taken = _variable_parts(wish)
    left = _real(place.plan((), taken))
    changes = [*place.plan(put), *left]
    place.carry_out(changes)
    steps = _next_steps(wish, changes)
    if left:
        steps.append(f"{OWN_ROOT}/ is wired no more; if it should be, add --root-here")
    return Outcome(changes=tuple(changes), next=tuple(steps))


def make_root(place: Place) -> tuple[Change, ...]:
    """Makes the project's own root, for hosts that are wired later or not at all."""
    changes = place.plan(_root_parts())
    place.carry_out(changes)
    return tuple(changes)


def take_out(place: Place, wish: Wish) -> Outcome:
    """Takes out all that `set_up` ever wired for a host.

    The project's own root goes if nothing is in it, and no other host is wired to it.
    """
    changes = place.plan((), [main_part(wish)])
    if wish.in_project:
        changes += _real(place.plan((), _variable_parts(wish)))
    steps: list[str] = []
    if wish.in_project and any(change.before != change.after for change in changes) and not _is_wired(place, wish.host):
        gone = _plan_without_root(place)
        changes += gone or []
        if gone is None:
            steps.append(f"delete {OWN_ROOT}/ if nobody needs it: there is more in it than setup made")
    place.carry_out(changes)
    return Outcome(changes=tuple(changes), next=tuple(steps))


def _is_wired(place: Place, taken_out: Host) -> bool:
    """Tells whether another host of the project is wired to the project's own root."""
    others = [host for host in wiring.HOSTS.values() if host is not taken_out]
    return any(place.mentions(path, OWN_ROOT) for host in others for path in (host.project, host.local) if path)


def _real(changes: list[Change]) -> list[Change]:
    """Returns the changes that change anything."""
    return [change for change in changes if change.before != change.after]


def printed(wish: Wish) -> list[tuple[str, str]]:
    """Returns the path and text of each file that would be made where there is none."""
    parts = [main_part(wish)]
    if wish.root:
        parts += [part for part in _variable_parts(wish) if not part.optional]
    return [(part.path, part.content.made()) for part in parts]


def _root_parts() -> list[Part]:
    """Returns the files by which a root under git tells git what to leave alone."""
    return [Part(path=f"{OWN_ROOT}/{name}", content=Whole(text=text)) for name, text in layout.GIT_FILES.items()]


def _variable_parts(wish: Wish) -> list[Part]:
    """Returns the parts that name the root to the shells of a host's agents, where it has a file for that."""
    if wish.host.local:
        return [Part(path=wish.host.local, content=RootVariable(root=wish.own_root))]
    if wish.host.name == "gemini":
        # Gemini reads only the first file of variables that it finds: a new one would hide the user's.
        return [Part(path=ENV_FILE, content=RootLine(root=wish.own_root), optional=True)]
    return []


def _plan_without_root(place: Place) -> list[Change] | None:
    """Returns the changes by which a project's own root goes, if there is one; None if there is more than we know."""
    try:
        names = place.names_in(OWN_ROOT)
        if not names:
            return []
        if not set(layout.GIT_FILES) <= set(names) <= {*layout.GIT_FILES, layout.LOCK, layout.HOOKS}:
            return None
        gone = [name for name in names if name == layout.LOCK]
        if layout.HOOKS in names:
            gone += [f"{layout.HOOKS}/{name}" for name in place.names_in(f"{OWN_ROOT}/{layout.HOOKS}")]
        leftovers = [Part(path=f"{OWN_ROOT}/{name}", content=Leftover(), ends=False) for name in gone]
        changes = place.plan((), [*leftovers, *_root_parts()])
    except ChatError as error:
        if error.code == "SETUP_IO_ERROR":
            raise
        return None
    return changes if all(change.after is None for change in changes) else None


def _next_steps(wish: Wish, changes: list[Change]) -> list[str]:
    """Returns what is left to the user, a line each."""
    steps: list[str] = []
    main = next(change for change in changes if change.path == wish.path)
    if wish.host.name in wiring.STRICT_JSON and not is_strict(main.after or b"{}"):
        steps.append(
            f"take the comments out of {wish.path}, and commas too many: {wish.host.name} drops the whole file"
        )
    if wish.host.name == "codex" and main.before != main.after:
        steps.append("codex runs a hook only once it is trusted: start codex here and trust ours in /hooks")
    if not wish.root:
        return steps
    if wish.host.name == "codex":
        value = json_codec.encode(wish.root)
        steps.append(f"add to ~/.codex/config.toml, under [shell_environment_policy.set]: AGENT_CHAT_ROOT = {value}")
    elif wish.host.events and not any(_is_root_set(change, wish) for change in changes):
        steps.append(f"before you start {wish.host.name}: export AGENT_CHAT_ROOT={shell_word(wish.root)}")
    return steps


def _is_root_set(change: Change, wish: Wish) -> bool:
    """Tells whether a change leaves a file that names the root to the agents' shells."""
    return change.path in (wish.host.local, ENV_FILE) and change.after is not None
