"""What a path lock is on: one path of the work tree, as it is stored, compared and read back.

What is refused here is refused on every platform, so that a record means the same wherever it is read. A path that was
found in a work tree (`Located`) knows how names compare there; a stored one (`LockedPath`) does not, and is always
compared with a located one. Finding paths is left to `storage/work_tree.py`.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Names = tuple[str, ...]
    Elsewhere = Callable[[str], Iterable[tuple[Names, Names, Names]]]

FILE, DIRECTORY = "file", "directory"
WHOLE = "."  # the normalized path of the work tree itself
MAX_PATH_BYTES = 4096
MAX_COMPONENT_CHARACTERS = 255

# How the file system of a folder compares names: as they are, without regard to Unicode forms, or to case and forms.
EXACT, FORM, CASE = "", "form", "case"

_FIELDS = ("display_path", "kind", "normalized_path")
_GLOB = "*?["
# Default_Ignorable_Code_Point of the Unicode Character Database: file systems that fold names leave them out.
_IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


class PathError(ValueError):
    """A value that is no stored path; the message says why."""


class LockedPath(Value):
    """One path of a lock: relative to its work tree, with `/`, `.` for all of it; and as the caller wrote it.

    `tree` is the real path of that work tree where it was located; it stands once in a lock's record, as `workspace`.
    """

    normalized_path: str
    display_path: str
    kind: str
    tree: str = ""


def _nowhere(_tree: str) -> tuple[()]:
    """Stands for a path of which no other name is known."""
    return ()


class Located(Value):
    """A path of a call as it was found in a work tree.

    `parts` are the components of its normalized path, none for the whole work tree; `folds` say for each how the
    folder that it stands in compares names: "" (as they are), "form" or "case" (which is case and form). `elsewhere`
    returns, for another work tree, the other ways in which this path can be compared with paths of that one: this
    path's names, those that the other tree's paths begin with, and how names compare.
    """

    path: LockedPath
    parts: tuple[str, ...]
    folds: tuple[str, ...]
    elsewhere: Elsewhere = _nowhere


def parts_of(normalized_path: str) -> tuple[str, ...]:
    """Returns the components of a normalized path; the whole work tree has none."""
    return () if normalized_path == WHOLE else tuple(normalized_path.split("/"))


# -- what may be locked ------------------------------------------------------------------------------------------------


def has_glob(text: str) -> bool:
    """Tells whether a path holds characters that shells expand; here they are ordinary, and the caller may be told."""
    return any(character in text for character in _GLOB)


def fault_of_path(text: str) -> str | None:
    """Returns why a path is refused by its text alone, on every platform, or None when nothing is wrong.

    A component like `c:x` is refused, since Windows would leave the work tree for another drive; any other colon is an
    ordinary character, of which file names on POSIX are made (`work_tree` refuses it on Windows, where `a.py:x` is a
    part of the file `a.py`).
    """
    fault = _fault_of_characters(text)
    if fault:
        return fault
    for component in text.split("/"):
        fault = None if component in ("", ".", "..") else _fault_of_component(component)
        if fault:
            return fault
    return None


def _fault_of_characters(text: str) -> str | None:
    if not text:
        return "it is empty"
    if not text.isprintable():
        for character in text:
            code = ord(character)
            if code < 32 or 127 <= code < 160:
                return f"it holds the control character {character!a}"
            if 0xD800 <= code < 0xE000:
                return "it is no valid Unicode"
    if "\\" in text:
        return "it holds a backslash; write /"
    if len(text.encode("utf-8")) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    return None


def _fault_of_component(component: str) -> str | None:
    if component[-1] in ". ":
        return f"{names.quoted(component)} ends in a dot or a space, which Windows would leave out"
    if _has_drive(component):
        return f"{names.quoted(component)} begins with a drive letter"
    if names.is_device(component):
        return f"Windows keeps the name {names.quoted(component)} for a device"
    if len(component) > MAX_COMPONENT_CHARACTERS:
        return f"a name in it is longer than {MAX_COMPONENT_CHARACTERS} characters"
    return None


def _has_drive(component: str) -> bool:
    return component[1:2] == ":" and component[0].isascii() and component[0].isalpha()


# -- comparing ---------------------------------------------------------------------------------------------------------


def same_name(one: str, other: str, fold: str) -> bool:
    """Tells whether two names are one name in a folder that compares them by `fold`."""
    if one == other:
        return True
    if fold == CASE:
        return _folded(one) == _folded(other)
    return fold == FORM and names.normal_form(_visible(one)) == names.normal_form(_visible(other))


def folded_key(normalized_path: str) -> str:
    """Returns a text by which paths can be told apart cheaply, before `meets` is asked.

    It ends in `/` and is empty for the whole work tree: two paths meet under no comparison unless the key of one begins
    with the key of the other, and are never the same unless the keys are equal.
    """
    return "" if normalized_path == WHOLE else _folded(normalized_path) + "/"


def as_located(stored: LockedPath) -> Located:
    """Returns a stored path as if it were located where names compare by case and form: more meets it."""
    parts = parts_of(stored.normalized_path)
    place = names_of(stored.tree) + parts
    return Located(
        path=stored,
        parts=parts,
        folds=(CASE,) * len(parts),
        elsewhere=lambda tree: [(place, names_of(tree), (CASE,) * len(place))] if stored.tree else [],
    )


def fault_of_tree(path: str) -> str | None:
    """Returns why a record cannot name a work tree, or None when it can: it must be text without control characters."""
    for character in path:
        if character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff":
            return f"it holds {character!a}"
    return None


def names_of(path: str) -> tuple[str, ...]:
    """Returns the names that an absolute path is made of, those of Windows too."""
    return tuple(name for name in path.replace("\\", "/").split("/") if name)


def _aligned(located: Located, stored: LockedPath, *, certain: bool = False) -> Iterator[tuple[Names, Names, Names]]:
    """Yields the components of two paths in each way in which they may be on one file, with how names compare.

    Relative paths mean the same file in every copy of a project, so they count unless the caller has to be `certain`.
    Where two work trees lie in each other, or are of one repository, what they have in common tells.
    """
    parts = parts_of(stored.normalized_path)
    alike = not stored.tree or not located.path.tree or stored.tree == located.path.tree
    if alike or not certain:
        yield located.parts, parts, located.folds
    if not alike:
        for mine, its, folds in located.elsewhere(stored.tree):
            yield mine, its + parts, folds


def _begin_alike(one: tuple[str, ...], other: tuple[str, ...], folds: tuple[str, ...]) -> bool:
    return all(map(same_name, one, other, folds))


def meets(located: Located, stored: LockedPath, *, certain: bool = False) -> bool:
    """Tells whether two locks would be on one file: the paths are the same, or one leads through the other.

    The kinds do not matter: a lock on what once was, or is somewhere else, a file holds what is in the folder too. Who
    has to be `certain` does not take files for one because two unrelated work trees have the same path.
    """
    return any(_begin_alike(*ways) for ways in _aligned(located, stored, certain=certain))


def same(located: Located, stored: LockedPath) -> bool:
    """Tells whether the stored path is exactly that one, neither its parent nor its child."""
    ways = _aligned(located, stored, certain=True)
    return any(len(each[0]) == len(each[1]) and _begin_alike(*each) for each in ways)


def covers(stored: Iterable[LockedPath], located: Located) -> bool:
    """Tells whether one of the stored paths holds every file that the located one means.

    A file holds nothing but itself; so a folder, or what lies in it, is covered by a folder alone.
    """
    for path in stored:
        for ways in _aligned(located, path, certain=True):
            missing = len(ways[0]) - len(ways[1])
            alike = missing == 0 and located.path.kind == FILE
            if (alike or (missing >= 0 and path.kind == DIRECTORY)) and _begin_alike(*ways):
                return True
    return False


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else names.fold(_visible(text))


def _visible(text: str) -> str:
    """Returns a text without the characters that file systems which fold names leave out."""
    if text.isascii():
        return text
    return "".join(c for c in text if c.isascii() or not any(low <= ord(c) <= high for low, high in _IGNORABLE))


# -- on disk -----------------------------------------------------------------------------------------------------------


def to_json(path: LockedPath) -> dict[str, object]:
    """Returns a path as records and replies hold it."""
    return {"display_path": path.display_path, "kind": path.kind, "normalized_path": path.normalized_path}


def parse_path(value: object) -> LockedPath:
    """Returns the path that a record holds; fails with PathError.

    Names that are refused in a call, such as those of devices, are accepted: another program may lock them.
    """
    if not isinstance(value, dict) or sorted(map(str, value)) != list(_FIELDS):
        raise PathError(f"a path must be an object of {', '.join(_FIELDS)}")
    normalized, display, kind = value["normalized_path"], value["display_path"], value["kind"]
    if not isinstance(normalized, str) or not isinstance(display, str):
        raise PathError("normalized_path and display_path must be text")
    if kind not in (FILE, DIRECTORY):
        raise PathError("kind must be file or directory")
    fault = _fault_of_stored(normalized)
    if fault:
        raise PathError(f"normalized_path {names.quoted(normalized)} is refused: {fault}")
    return LockedPath(normalized_path=normalized, display_path=display, kind=kind)


def _fault_of_stored(normalized: str) -> str | None:
    fault = _fault_of_characters(normalized)
    if fault or normalized == WHOLE:
        return fault
    components = normalized.split("/")
    if not all(components) or "." in components or ".." in components:
        return "it is not relative and normal"
    if any(map(_has_drive, components)):
        return "it begins with a drive letter"
    return None
