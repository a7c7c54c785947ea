"""The scripts of the hooks: any Python can parse them, and they end with status 0 whatever happens."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.tidy import tree

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = [name for name in tree.files() if name.startswith("hooks/") and name.endswith(".py")]
STARTERS = [*SCRIPTS, "chat.py"]
# What Python 2.7 or an early 3 cannot parse, as far as a script of a few lines may be tempted to use it.
TOO_NEW = (
    ast.JoinedStr,
    ast.AnnAssign,
    ast.NamedExpr,
    ast.AsyncFunctionDef,
    ast.Await,
    ast.Starred,
    ast.Nonlocal,
    ast.YieldFrom,
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_short_and_imports_next_to_nothing(name: str) -> None:
    source = tree.text_of(name)
    imported = [
        alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for alias in node.names
    ]
    assert len(source.splitlines()) <= 15
    assert imported == ["os", "sys"]
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]


def test_the_scripts_differ_in_their_docstring_and_event_alone() -> None:
    """What they say five times has to be said before anything can be imported; who mends one mends all."""
    texts = [tree.text_of(name) for name in SCRIPTS]
    assert len({*texts}) == 5
    assert len({re.sub(r'run_from_console\("[a-z-]+"\)', "", text.partition("\n")[2]) for text in texts}) == 1


@pytest.mark.parametrize("name", STARTERS)
def test_any_python_can_parse_it(name: str) -> None:
    source = tree.text_of(name)
    assert source.isascii()
    assert too_new(source) == []


@pytest.mark.parametrize(
    "source",
    ['f"{a}"', "a: int = 1", "def f(a: int): pass", "def f(*, a): pass", "raise A from b", "print('a', file=b)"],
)
def test_what_is_too_new_would_be_found(source: str) -> None:
    assert too_new(source)


def too_new(source: str) -> list[str]:
    """What an old Python cannot parse, each with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        wrong = isinstance(node, TOO_NEW) or (isinstance(node, ast.Raise) and node.cause is not None)
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            wrong = bool(node.args.kwonlyargs or node.returns or any(each.annotation for each in arguments))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            wrong = True
        if wrong:
            found.append(f"line {getattr(node, 'lineno', 0)}: {type(node).__name__}")
    return found


# --- carried out ----------------------------------------------------------------------------------------------------


def run(script: str, root: Path | None, *, python: str = sys.executable, own: bool = False) -> tuple[int, str, str]:
    """Runs a script with a root of the plugin, or none; with `own` the script of that root, and no variable."""
    path = (root if own and root else tree.ROOT) / script
    variables = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    if root is not None:
        variables["CLAUDE_PLUGIN_ROOT"] = "" if own else str(root)
    done = subprocess.run(
        [python, "-B", str(path)],
        env=variables,
        input="{}",
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A plugin of one script whose program says who called."""
    root = tmp_path / "plugin"
    (root / "hooks").mkdir(parents=True)
    (root / "agent_chat" / "hooks").mkdir(parents=True)
    shutil.copy(tree.ROOT / SCRIPTS[0], root / "hooks")
    for name in ("__init__.py", "hooks/__init__.py"):
        (root / "agent_chat" / name).write_text("", encoding="utf-8")
    entry(root, "import os\n\ndef run_from_console(event):\n    os.write(1, b'ran ' + event.encode())")
    return root


def entry(root: Path, source: str) -> None:
    """Writes the module that the scripts call."""
    (root / "agent_chat" / "hooks" / "entry.py").write_text(source + "\n", encoding="utf-8")


def test_the_root_is_that_of_the_variable_else_the_scripts_own(plugin: Path, tmp_path: Path) -> None:
    said = (0, "ran post-tool-batch", "")
    assert run(SCRIPTS[0], plugin) == said
    assert run(SCRIPTS[0], plugin, own=True) == said
    if sys.platform != "win32":
        (tmp_path / "linked").symlink_to(plugin / SCRIPTS[0])
        done = subprocess.run([sys.executable, "-I", "-S", str(tmp_path / "linked")], capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"ran post-tool-batch")


@pytest.mark.parametrize(
    "source",
    [
        "raise RuntimeError('first\\nsecond')",
        "def run_from_console(event): raise SystemError(event)",
        "def nothing_of_the_kind(): pass",
        "this is no Python",
    ],
)
def test_a_damaged_package_is_one_line_and_status_0(plugin: Path, source: str) -> None:
    entry(plugin, source)
    status, out, err = run(SCRIPTS[0], plugin)
    assert (status, out) == (0, "")
    assert err.startswith("agent-chat: hook not run: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "source", ["raise SystemExit(2)", "raise KeyboardInterrupt", "import sys; sys.stderr = None; 1 / 0"]
)
def test_what_ends_a_program_ends_with_status_0(plugin: Path, source: str) -> None:
    entry(plugin, source)
    assert run(SCRIPTS[0], plugin) == (0, "", "")


def test_an_unresolved_root_is_one_line_and_status_0(tmp_path: Path) -> None:
    status, out, err = run(SCRIPTS[0], tmp_path)
    assert (status, out) == (0, "")
    assert err.startswith("agent-chat: hook not run: ")
    assert f"agent_chat in {tmp_path}" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["hook", "stop"], 0),
        (["--json", "--root", "hook", "hook", "stop"], 0),
        (["--root=x", "hook"], 0),
        (["post", "dev", "--title", "hook"], 2),
        (["--root", "hook", "post"], 2),
        ([], 2),
    ],
)
def test_on_an_old_python_chat_ends_with_0_for_a_hook_and_2_else(
    words: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 1))
    monkeypatch.setattr(sys, "argv", ["chat.py", *words])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(tree.ROOT / "chat.py"))
    assert ended.value.code == status
    assert capsys.readouterr().err == "agent-chat: needs Python 3.9 or newer, this is 3.8\n"


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.8"])
def test_a_real_old_python_says_what_is_needed(version: str) -> None:
    python = interpreter(version)
    for name in STARTERS:
        status, out, err = run(name, None, python=python)
        assert (status, out) == (2 if name == "chat.py" else 0, "")
        assert err.startswith("agent-chat: ")
        assert f"this is {version}" in err
        assert err.count("\n") == 1


def interpreter(version: str) -> str:
    """An interpreter of some version, behind the launcher of pyenv too; the test is skipped where there is none."""
    launcher = shutil.which(f"python{version}")
    if not launcher:
        pytest.skip(f"no Python {version} here")
    call = [launcher, "-c", "import sys; print(sys.executable)"]
    variables = {**os.environ, "PYENV_VERSION": version}
    done = subprocess.run(call, env=variables, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.skip(f"no Python {version} here")
    return done.stdout.strip()
