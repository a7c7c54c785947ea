"""Rules about shape: sizes, docstrings, annotations, and errors that vanish."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.tidy import exceptions
from tests.tidy.source import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE_LINES = 400
FUNCTION_LINES = 60
EVERYTHING = frozenset({"", "Exception", "BaseException"})  # "" is a bare `except:`
ANY_OS_ERROR = EVERYTHING | {"OSError", "IOError", "EnvironmentError", "error"}
NOTHING = ("None", "()", "[]", "{}", "b''")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def module_size(module: str, source: str) -> list[Finding]:
    """A module fits in a reader's head."""
    lines = len(source.splitlines())
    return [Finding(module, lines, f"has {lines} lines, at most {MODULE_LINES}")] if lines > MODULE_LINES else []


def function_size(module: str, source: str) -> list[Finding]:
    """A function fits on a screen, its decorators and docstring included."""
    findings = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, FUNCTIONS):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            lines = (node.end_lineno or first) - first + 1
            if lines > FUNCTION_LINES:
                findings.append(Finding(module, first, f"{node.name} has {lines} lines, at most {FUNCTION_LINES}"))
    return findings


def docstrings(module: str, source: str) -> list[Finding]:
    """Every module, and every public class and function, says what it does."""
    tree = ast.parse(source)
    findings = [] if ast.get_docstring(tree) else [Finding(module, 1, "the module has no docstring")]
    for name, node in _public(tree.body, ""):
        if not ast.get_docstring(node):
            findings.append(Finding(module, node.lineno, f"{name} has no docstring"))
    return findings


def _public(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            # Overloads and setters are documented where the function itself is, methods of a protocol by its class.
            marks = {
                each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in node.decorator_list
            }
            if not node.name.startswith("_") and not marks & {"overload", "setter", "deleter"} and not _is_bare(node):
                yield prefix + node.name, node
                if isinstance(node, ast.ClassDef):
                    yield from _public(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _public([*node.body, *node.orelse], prefix)


def _is_bare(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS) and [ast.unparse(each) for each in node.body] == ["..."]


def deferred_annotations(module: str, source: str) -> list[Finding]:
    """Annotations are not evaluated: they cost no start-up time and may name what is imported for the checker alone."""
    tree = ast.parse(source)
    deferred = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and "annotations" in {a.name for a in node.names}
        for node in tree.body
    )
    code = any(isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.AnnAssign)) for node in ast.walk(tree))
    return [Finding(module, 1, "lacks `from __future__ import annotations`")] if code and not deferred else []


def silent_errors(module: str, source: str) -> list[Finding]:
    """No error of the disk, and nothing broader, turns into silence: "could not look" is not "nothing there"."""
    findings = []
    tree = ast.parse(source)
    excused = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS) and node.name in exceptions.SILENT_ERRORS.get(module, ())
        for inner in ast.walk(node)
    }
    for node in set(ast.walk(tree)) - excused:
        if isinstance(node, ast.ExceptHandler):
            if _caught(node.type) & ANY_OS_ERROR and all(_is_silent(each) for each in node.body):
                caught = ast.unparse(node.type) if node.type else "everything"
                text = f"catches {caught} and says nothing; expect the one error you mean (FileNotFoundError)"
                findings.append(Finding(module, node.lineno, text))
        elif isinstance(node, ast.Call) and any(_caught(each) & ANY_OS_ERROR for each in node.args):
            if ast.unparse(node.func) in ("suppress", "contextlib.suppress"):
                findings.append(Finding(module, node.lineno, "suppresses OSError or more; name the one error you mean"))
    return sorted(findings)


def catch_alls(module: str, source: str) -> list[Finding]:
    """Only `cli/main.py` catches everything; others may do so to clean up, if they raise it again."""
    if module in exceptions.CATCHES_EVERYTHING:
        return []
    return [
        Finding(module, node.lineno, "catches everything and does not end in a bare `raise`; only cli/main.py may")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler) and _caught(node.type) & EVERYTHING and not _raises_again(node)
    ]


def _caught(node: ast.expr | None) -> set[str]:
    if node is None:
        return {""}
    if isinstance(node, ast.Tuple):
        return {name for each in node.elts for name in _caught(each)}
    return {node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)}


def _is_silent(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return):
        return node.value is None or ast.unparse(node.value) in NOTHING
    comment = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return comment or isinstance(node, (ast.Pass, ast.Continue, ast.Break))


def _raises_again(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None
