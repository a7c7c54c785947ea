"""Deliberate bugs: a piece of a module's source is replaced, and its functions get the code of the new text.

The functions stay the objects that they are, so whoever has imported them already runs the bug too.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support import watched

if TYPE_CHECKING:
    from collections.abc import Iterator


class Edit(NamedTuple):
    """A piece of a module's source, every occurrence of which is replaced by another."""

    module: str
    old: str
    new: str


def moved(*edits: Edit) -> list[str]:
    """Returns which pieces are not found in the source any more, as sentences; runs nothing."""
    sources: dict[str, str] = {}
    found: list[str] = []
    for edit in edits:
        source = sources.get(edit.module) or inspect.getsource(importlib.import_module(edit.module))
        if edit.old not in source:
            found.append(f"{edit.module} has no {edit.old!r} any more: the seeded fault must follow it")
        sources[edit.module] = source.replace(edit.old, edit.new)
    return found


@contextlib.contextmanager
def seeded(*edits: Edit, judged: bool = False) -> Iterator[None]:
    """Makes the program wrong in the way of the edits; fails when a piece is not there, since it has moved then.

    What it prints and writes then is held against the schemas only if it is to be `judged`: who else looks for a bug
    has to notice it by other means.
    """
    undo: list[tuple[types.FunctionType, types.CodeType]] = []
    try:
        for name in dict.fromkeys(edit.module for edit in edits):
            undo += _replace(importlib.import_module(name), [edit for edit in edits if edit.module == name])
        with contextlib.nullcontext() if judged else watched.blind():
            yield
    finally:
        for function, code in undo:
            function.__code__ = code


def _replace(module: types.ModuleType, edits: list[Edit]) -> list[tuple[types.FunctionType, types.CodeType]]:
    source = inspect.getsource(module)
    for edit in edits:
        assert edit.old in source, f"{module.__name__} has no {edit.old!r} any more: the seeded fault must follow it"
        source = source.replace(edit.old, edit.new)
    wrong: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(source, f"seeded fault in {module.__name__}", "exec"), wrong)
    found = dict(_functions(vars(module), module.__name__))
    changed: list[tuple[types.FunctionType, types.CodeType]] = []
    for name, function in _functions(wrong, module.__name__):
        right = found[name]
        changed.append((right, right.__code__))
        right.__code__ = function.__code__
    return changed


def _functions(names: dict[str, Any], module: str) -> Iterator[tuple[str, types.FunctionType]]:
    """Yields the functions that a module defines, those of its classes included."""
    for name, there in list(names.items()):
        value = _unwrapped(there)
        if isinstance(value, types.FunctionType) and value.__module__ == module:
            yield name, value
        elif isinstance(value, type) and value.__module__ == module:
            for part, member in list(vars(value).items()):
                inner = _unwrapped(member.fget if isinstance(member, property) else member)
                if isinstance(inner, types.FunctionType) and inner.__module__ == module:
                    yield f"{name}.{part}", inner


def _unwrapped(value: object) -> object:
    """What the watcher stands before, if it does."""
    return getattr(value, "__wrapped__", value)
