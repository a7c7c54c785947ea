"""The settings of a host, a JSON text: our hooks put in, known again and taken out, with all else as it was.

`wired` and `unwired` are inverse to each other, byte for byte (`json_edit` says how). Which hooks a host needs is left
to the callers; which of those that are there are ours is told by their lines.
"""

from __future__ import annotations

from agent_chat.records import json_edit
from agent_chat.records.hook_line import event_of
from agent_chat.records.json_edit import ARRAY, OBJECT, STRING, Document, Edit, JsonEditError
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.json_edit import Item, Node

HOOKS = "hooks"
COMMAND = "command"
VERSION = ("version", 1)


class HostHooks(Value):
    """The hooks that a host needs: for each of its events the elements of that event's list, in order.

    `versioned`: a new file says of which version it is.
    """

    host: str
    events: tuple[tuple[str, tuple[dict[str, object], ...]], ...]
    versioned: bool = False


def made(wanted: HostHooks) -> str:
    """Returns the text of a file that holds these hooks and nothing else."""
    value: dict[str, object] = {HOOKS: {event: list(elements) for event, elements in wanted.events}}
    if wanted.versioned:
        value[VERSION[0]] = VERSION[1]
    return json_edit.rendered(value) + "\n"


def wired(text: str, wanted: HostHooks) -> str:
    """Returns the text with the wanted hooks in it, and no others of ours; it is unchanged if it holds just these.

    Raises JsonEditError if the text is no JSON with comments, or `hooks` or one of the events is something else.
    """
    document = Document(text)
    _require_room(document, wanted)
    if _present(document, wanted.host) == {event: list(elements) for event, elements in wanted.events}:
        return text
    left, is_nothing = _without(document, wanted.host)
    if is_nothing:
        return made(wanted).rstrip("\n") + text[document.root.end :]
    document = Document(left)
    hooks = document.member(document.root, HOOKS)
    if hooks is None:
        value: object = {event: list(elements) for event, elements in wanted.events}
        members: list[tuple[str | None, object]] = [(HOOKS, value)]
        if wanted.versioned and document.member(document.root, VERSION[0]) is None:
            members.append(VERSION)
        return document.apply(document.insertions(document.root, members))
    edits: list[Edit] = []
    members = []
    for event, elements in wanted.events:
        there = document.member(hooks.node, event)
        if there is None:
            members.append((event, list(elements)))
        else:
            edits += document.insertions(there.node, [(None, element) for element in elements])
    if members:
        edits += document.insertions(hooks.node, members)
    return document.apply(edits)


def unwired(text: str, host: str) -> str | None:
    """Returns the text without our hooks; None where it holds nothing else and was made here."""
    document = Document(text)
    left, is_nothing = _without(document, host)
    return None if is_nothing else left


def made_member(group: str, key: str, value: str) -> str:
    """Returns the text of a file that holds one member, in an object that is a member itself, and nothing else."""
    return json_edit.rendered({group: {key: value}}) + "\n"


def with_member(text: str, group: str, key: str, value: str) -> str:
    """Returns the text with a member in an object of that name.

    Raises JsonEditError if the text is no JSON with comments, or the member is there with another value.
    """
    document = Document(text)
    there = _member_of(document, group, key)
    if there is not None and there[0] == value:
        return text
    if there is not None:
        raise JsonEditError(f"line {there[1]}: {key} is {there[0]!r} already")
    outer = document.member(document.root, group)
    if outer is None:
        return document.apply(document.insertions(document.root, [(group, {key: value})]))
    return document.apply(document.insertions(outer.node, [(key, value)]))


def without_member(text: str, group: str, key: str, value: str) -> str | None:
    """Returns the text without that member if it has that value; None where it holds nothing else and was made here."""
    document = Document(text)
    there = _member_of(document, group, key)
    outer = document.member(document.root, group)
    if there is None or outer is None or there[0] != value:
        return text
    place = next(place for place, item in enumerate(outer.node.items) if item.key == key)
    left, is_nothing = _taken_out(document, outer, [place], [], None)
    return None if is_nothing else left


def _member_of(document: Document, group: str, key: str) -> tuple[object, int] | None:
    """Returns the value of a member in an object of that name, and its line."""
    if document.root.kind != OBJECT:
        raise JsonEditError("it is no object")
    outer = document.member(document.root, group)
    if outer is None:
        return None
    if outer.node.kind != OBJECT:
        raise JsonEditError(f"line {document.line_of(outer.node)}: {group} is no object")
    inner = document.member(outer.node, key)
    return None if inner is None else (document.value(inner.node), document.line_of(inner.node))


def _require_room(document: Document, wanted: HostHooks) -> None:
    """Fails unless our hooks can be put in."""
    if document.root.kind != OBJECT:
        raise JsonEditError("it is no object")
    hooks = document.member(document.root, HOOKS)
    if hooks is None:
        return
    if hooks.node.kind != OBJECT:
        raise JsonEditError(f"line {document.line_of(hooks.node)}: {HOOKS} is no object")
    for event, _ in wanted.events:
        there = document.member(hooks.node, event)
        if there is not None and there.node.kind != ARRAY:
            raise JsonEditError(f"line {document.line_of(there.node)}: {HOOKS}.{event} is no array")


def _present(document: Document, host: str) -> dict[str | None, list[object]]:
    """Returns the hooks of ours that are there, by event; None stands for one in a group with somebody else's."""
    hooks = document.member(document.root, HOOKS)
    found: dict[str | None, list[object]] = {}
    for member in hooks.node.items if hooks is not None else ():
        for item in member.node.items if member.node.kind == ARRAY else ():
            ours, others = _handlers(document, item.node, host)
            if ours:
                found.setdefault(member.key, []).append(None if others else document.value(item.node))
    return found


def _without(document: Document, host: str) -> tuple[str, bool]:
    """Returns the text without our hooks, and whether nothing is left that was not made here."""
    hooks = document.member(document.root, HOOKS) if document.root.kind == OBJECT else None
    if hooks is None or hooks.node.kind != OBJECT:
        return document.text, False
    gone: list[int] = []
    edits: list[Edit] = []
    for place, member in enumerate(hooks.node.items):
        array = member.node
        whole: list[int] = []
        for index, item in enumerate(array.items if array.kind == ARRAY else ()):
            ours, others = _handlers(document, item.node, host)
            if ours and not others:
                whole.append(index)
            elif ours:
                group = _last(item.node, HOOKS)
                assert group is not None
                edits += document.removals(group.node, ours)
        if whole and len(whole) == len(array.items) and document.is_made(array):
            gone.append(place)
        else:
            edits += document.removals(array, whole)
    return _taken_out(document, hooks, gone, edits, VERSION)


def _taken_out(
    document: Document, outer: Item, gone: list[int], edits: list[Edit], follower: tuple[str, object] | None
) -> tuple[str, bool]:
    """Returns the text after edits and without some members of an object, and without that too if it was made here.

    The member `follower` goes with it. Also tells whether nothing else is left of a file that was made here.
    """
    root = document.root
    if not gone or len(gone) < len(outer.node.items) or not document.is_made(outer.node):
        return document.apply([*edits, *document.removals(outer.node, gone)]), False
    place = root.items.index(outer)
    places = [place]
    if follower is not None and len(root.items) > place + 1:
        after = root.items[place + 1]
        if (after.key, document.text[after.node.start : after.node.end]) == (follower[0], str(follower[1])):
            places.append(place + 1)
    around = document.text[: root.start].lstrip(json_edit.BYTE_ORDER_MARK) + document.text[root.end :]
    is_nothing = len(places) == len(root.items) and document.is_made(root) and not around.strip(" \t\r\n")
    return document.apply(document.removals(root, places)), is_nothing


def _handlers(document: Document, element: Node, host: str) -> tuple[list[int], int]:
    """Returns which handlers of an element are ours, and how many are not; an element may be a handler itself."""
    if element.kind != OBJECT:
        return [], 1
    if _is_ours(document, element, host):
        return [0], 0
    group = _last(element, HOOKS)
    handlers = group.node.items if group is not None and group.node.kind == ARRAY else ()
    ours = [place for place, item in enumerate(handlers) if _is_ours(document, item.node, host)]
    return ours, len(handlers) - len(ours)


def _is_ours(document: Document, handler: Node, host: str) -> bool:
    command = _last(handler, COMMAND) if handler.kind == OBJECT else None
    return command is not None and command.node.kind == STRING and bool(event_of(document.value(command.node), host))


def _last(node: Node, key: str) -> Item | None:
    """Returns the member with a key that counts where there are several: the last."""
    return next((item for item in reversed(node.items) if item.key == key), None)
