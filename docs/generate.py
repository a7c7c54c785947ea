"""Writes the pages that are read off the code: `python docs/generate.py` writes them, `--check` only compares.

docs/commands.md comes from the table of commands, docs/errors.md from the table of codes, and the list of modules in
docs/architecture.md from the first line of each module's docstring.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from agent_chat.cli.commands import COMMANDS  # noqa: E402
from agent_chat.cli.help import reference  # noqa: E402
from agent_chat.errors import CODES, KINDS  # noqa: E402

BEGIN = "<!-- modules: written by docs/generate.py -->"
END = "<!-- end of modules -->"
# The order in which a reader meets the layers, from what is typed down to what is written.
LAYERS = (
    ("", "Start, and what every layer may use"),
    ("cli", "cli: what is typed and what is shown"),
    ("hooks", "hooks: what hosts call"),
    ("operations", "operations: what can be done"),
    ("storage", "storage: disk, clock and ids"),
    ("records", "records: values and their text"),
)


def pages() -> dict[str, str]:
    """Returns the text that each generated page must have, by its path in the checkout."""
    return {
        "docs/commands.md": reference(COMMANDS),
        "docs/errors.md": errors(),
        "docs/architecture.md": architecture((ROOT / "docs/architecture.md").read_text(encoding="utf-8")),
    }


def errors() -> str:
    """Returns docs/errors.md: every kind and every code, as tables."""
    lines = [
        "# Errors",
        "",
        "An error is one line on stderr, `agent-chat: CODE: what happened`, and mostly a second, `  next: …`, with a",
        'command to run. With `--json` it is `{"error": {"code", "kind", "message", "next", …}}` on stdout. The exit',
        "status is 2. A code never changes its meaning.",
        "",
        "This page is made from the table of codes; a test keeps it true.",
        "",
        "## Kinds",
        "",
        "The kind says what to do without reading further.",
        "",
        "| kind | what to do |",
        "|---|---|",
    ]
    lines += [f"| {kind} | {_cell(advice)} |" for kind, advice in KINDS.items()]
    lines += ["", "## Codes", "", "| code | kind | cause | next |", "|---|---|---|---|"]
    lines += [f"| `{code}` | {kind} | {_cell(cause)} | {_cell(step)} |" for code, (kind, cause, step) in CODES.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Returns a text as it may stand in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def architecture(page: str) -> str:
    """Returns docs/architecture.md with its list of modules renewed; what people wrote around it stays."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"docs/architecture.md must hold {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{modules()}\n{END}{after}"


def modules() -> str:
    """Returns the list of modules, layer by layer: a line each, with the first line of its docstring."""
    lines: list[str] = []
    for layer, title in LAYERS:
        folder = ROOT / "agent_chat" / layer
        found = sorted(folder.glob("*.py"))
        if found:
            lines += ["", f"### {title}", ""]
        for path in found:
            docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            first = docstring.partition("\n")[0]
            lines.append(f"- `{path.relative_to(ROOT).as_posix()}` — {first}")
    return "\n".join([*lines, ""])


def main() -> None:
    """Writes each page that differs, or with `--check` says which do and fails."""
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: python docs/generate.py [--check]")
    stale = []
    for name, text in pages().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.write_bytes(text.encode("utf-8"))
    if check and stale:
        sys.exit(f"not up to date: {', '.join(stale)}; run: python docs/generate.py")
    if stale:
        sys.stdout.write(f"wrote {', '.join(stale)}\n")


if __name__ == "__main__":
    main()
