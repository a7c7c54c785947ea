"""Reads Python source for the rules: findings, imports, and the dotted name of everything that is used."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "agent_chat"


class Finding(NamedTuple):
    """One breach of one rule."""

    module: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.module.replace('.', '/')}.py:{self.line}: {self.text}"


class Import(NamedTuple):
    """One imported name: `from a import b as c` has target `a.b` and binds `c`."""

    line: int
    target: str
    bound: str
    bound_to: str
    late: bool
    checking: bool


def within(name: str, prefix: str) -> bool:
    """Whether a dotted name is the prefix or lies below it."""
    return name == prefix or name.startswith(prefix + ".")


def layer_of(module: str) -> str:
    """The first part below the package: `cli` of `agent_chat.cli.main`; empty for a stranger."""
    parts = module.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""


def imports_of(module: str, source: str) -> list[Import]:
    """Everything that a module imports, in order; a package's module name ends in `__init__`."""
    return list(_imports(module, ast.parse(source).body, late=False, checking=False))


def _imports(module: str, body: list[ast.stmt], *, late: bool, checking: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                bound_to = alias.name if alias.asname else first
                yield Import(node.lineno, alias.name, alias.asname or first, bound_to, late, checking)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            for alias in node.names:
                target = f"{origin}.{alias.name}" if alias.name != "*" else origin
                yield Import(node.lineno, target, alias.asname or alias.name, target, late, checking)
        elif isinstance(node, ast.If):
            positive = _is_type_checking(node.test)
            negative = isinstance(node.test, ast.UnaryOp) and _is_type_checking(node.test.operand)
            yield from _imports(module, node.body, late=late, checking=checking or positive)
            yield from _imports(module, node.orelse, late=late, checking=checking or negative)
        else:
            inside = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for inner in _bodies(node):
                yield from _imports(module, inner, late=inside, checking=checking)


def _origin(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    base = module.split(".")[: -node.level]
    return ".".join([*base, node.module] if node.module else base)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
    return name == "TYPE_CHECKING"


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(node, field, None)
        if isinstance(inner, list):
            yield inner
    for field in ("handlers", "cases"):  # of `try` and of `match`
        for part in getattr(node, field, ()):
            yield part.body


def uses_of(module: str, source: str) -> list[tuple[int, str]]:
    """Lines and dotted names of all that a module uses: `os.replace`, however it was imported, `builtins.open`.

    Names are looked up through the module's imports without regard to scope; what was never imported or assigned is
    taken for a builtin. `from os import replace` counts as a use of `os.replace`, `import os` as none of anything.
    A call without arguments counts twice, the second time with its parentheses: `time.gmtime()` reads the clock.
    """
    imported = [each for each in imports_of(module, source) if not each.checking]
    bindings = {each.bound: each.bound_to for each in imported}
    found = [(each.line, each.target) for each in imported if each.bound_to == each.target and "." in each.target]
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        bare_call = isinstance(node, ast.Call) and not node.args and not node.keywords
        base = node.func if isinstance(node, ast.Call) and bare_call else node
        chain: list[str] = []
        while isinstance(base, ast.Attribute):
            chain.insert(0, base.attr)
            base = base.value
        if isinstance(base, ast.Name):
            if isinstance(base.ctx, ast.Load):
                root = bindings.get(base.id, f"builtins.{base.id}")
                name = ".".join([root, *chain])
                found += [(base.lineno, name), (base.lineno, f"{name}()")] if bare_call else [(base.lineno, name)]
        else:
            pending.extend(ast.iter_child_nodes(base))
    return sorted(found)
