"""Rules about imports: their direction, their place, their price."""

from __future__ import annotations

import sys

from tests.tidy import exceptions
from tests.tidy.source import PACKAGE, Finding, Import, imports_of, layer_of, within

# A module imports from its own rank or a lower one.
RANKS = {
    "errors": 0,
    "names": 0,
    "timestamps": 0,
    "records": 1,
    "storage": 2,
    "operations": 3,
    "cli": 4,
    "hooks": 4,
    "__main__": 5,
    "__init__": 5,
}
DIRECTION = "cli, hooks -> operations -> storage -> records -> errors, names, timestamps"

# Each makes the start of an everyday command measurably slower.
SLOW_MODULES = frozenset(
    "argparse collections contextlib dataclasses datetime difflib enum functools hashlib inspect json pathlib re"
    " shutil subprocess tempfile typing".split()
)


def import_direction(module: str, source: str) -> list[Finding]:
    """Imports go downward only, also those for the type checker and those inside functions."""
    rank = RANKS.get(layer_of(module))
    if rank is None:
        return [Finding(module, 1, f"belongs to no layer ({DIRECTION})")]
    findings = []
    for each in imports_of(module, source):
        if not within(each.target, PACKAGE) or each.target in (PACKAGE, f"{PACKAGE}.__version__"):
            continue
        wanted = RANKS.get(layer_of(each.target))
        if wanted is None:
            findings.append(Finding(module, each.line, f"imports {each.target}, which is no layer ({DIRECTION})"))
        elif wanted > rank:
            findings.append(Finding(module, each.line, f"imports {each.target} from a layer above ({DIRECTION})"))
        elif module == f"{PACKAGE}.__init__" and not each.late and not each.checking:
            findings.append(Finding(module, each.line, f"imports {each.target} for everyone; do it on demand"))
    return findings


def late_imports(module: str, source: str) -> list[Finding]:
    """Imports inside functions are the command line's, where a command pays only for what it uses."""
    if layer_of(module) == "cli":
        return []
    return [
        Finding(module, each.line, f"imports {each.target} inside a function; only cli/ may")
        for each in imports_of(module, source)
        if each.late and not each.checking and not _excused(exceptions.LATE_IMPORTS, module, each)
    ]


def everyday_imports(module: str, source: str) -> list[Finding]:
    """No module loads a slow one while it is being imported itself."""
    return [
        Finding(module, each.line, f"imports {each.target} at module level, which makes every command start slower")
        for each in imports_of(module, source)
        if each.target.split(".")[0] in SLOW_MODULES
        and not each.late
        and not each.checking
        and not _excused(exceptions.EVERYDAY_IMPORTS, module, each)
    ]


def standard_library_only(module: str, source: str) -> list[Finding]:
    """At run time there is nothing but the standard library (its list of modules needs Python 3.10)."""
    known = getattr(sys, "stdlib_module_names", None)
    return [
        Finding(module, each.line, f"imports {each.target}, which is not in the standard library")
        for each in imports_of(module, source)
        if known and not each.checking and each.target.split(".")[0] not in {*known, PACKAGE}
    ]


def chat_is_no_module(module: str, source: str) -> list[Finding]:
    """`chat.py` starts the program; nobody imports it."""
    return [
        Finding(module, each.line, "imports chat.py, which only starts the program")
        for each in imports_of(module, source)
        if within(each.target, "chat")
    ]


def import_cycles(sources: dict[str, str]) -> list[Finding]:
    """No two modules import each other while being imported, directly or through others."""
    graph = {module: _neighbours(module, source, sources) for module, source in sources.items()}
    findings: list[Finding] = []
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            cycle = [*path[path.index(module) :], module]
            findings.append(Finding(module, graph[cycle[0]][cycle[1]], f"circular import: {' -> '.join(cycle)}"))
        elif module not in done:
            for neighbour in graph[module]:
                visit(neighbour, [*path, module])
            done.add(module)

    for module in graph:
        visit(module, [])
    return findings


def _neighbours(module: str, source: str, sources: dict[str, str]) -> dict[str, int]:
    found = {}
    for each in imports_of(module, source):
        if each.late or each.checking or each.target == PACKAGE:
            continue
        parent = each.target.rpartition(".")[0]
        candidates = (each.target, f"{each.target}.__init__", parent, f"{parent}.__init__")
        target = next((name for name in candidates if name in sources), None)
        if target and target != module:
            found[target] = each.line
    return found


def _excused(table: dict[str, dict[str, str]], module: str, each: Import) -> bool:
    return any(within(each.target, prefix) for prefix in table.get(module, {}))
