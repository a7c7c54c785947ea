"""What a tool is about to touch: the edit tools of every host, patches in every form, and the tools that only read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.hooks.payload import Payload
from agent_chat.hooks.tool_calls import Touched, patched_paths, touched
from tests.hooks import payloads


def patch(*paths: str, how: str = "Update") -> str:
    return "*** Begin Patch\n" + "".join(f"*** {how} File: {path}\n@@\n-a\n+b\n" for path in paths) + "*** End Patch"


# -- the edit tools of each host ---------------------------------------------------------------------------------------

EDITS = [
    # Claude Code
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
    ("Write", {"file_path": "a", "content": "x"}),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "path", "new_string": "y"}]}),
    ("NotebookEdit", {"notebook_path": "a", "new_source": "x"}),
    # Copilot: by the names of Claude, and by its own
    ("Edit", {"path": "a", "old_str": "x", "new_str": "y"}),
    ("Write", {"path": "a", "file_text": "x"}),
    ("edit", {"path": "a", "old_str": "x", "new_str": "y"}),
    ("create", {"path": "a", "file_text": "x"}),
    ("str_replace_editor", {"command": "str_replace", "path": "a", "old_str": "x"}),
    ("str_replace_editor", {"command": "create", "path": "a"}),
    ("str_replace_editor", {"command": "insert", "path": "a"}),
    # Gemini
    ("replace", {"file_path": "a", "instruction": "x", "old_string": "x", "new_string": "y"}),
    ("write_file", {"file_path": "a", "content": "x"}),
    # Cursor
    ("Write", {"file_path": "a", "content": "x"}),
    ("Delete", {"path": "a"}),
    ("edit_file", {"target_file": "a", "code_edit": "x"}),
    ("delete_file", {"target_file": "a"}),
    ("search_replace", {"file_path": "a", "old_string": "x"}),
    ("edit_notebook", {"target_notebook": "a"}),
    # OpenCode, OMP, Pi
    ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}),
    ("write", {"filePath": "a", "content": "x"}),
    ("edit", {"path": "a", "edits": []}),
    ("hashline_edit", {"path": "a"}),
    # editors
    ("create_file", {"filePath": "a"}),
    ("insert_edit_into_file", {"filePath": "a"}),
    ("replace_string_in_file", {"filePath": "a"}),
    ("multi_replace_string_in_file", {"replacements": [{"filePath": "a", "oldString": "x"}]}),
]


@pytest.mark.parametrize(("tool", "arguments"), EDITS)
def test_the_path_of_an_edit_is_found_whatever_it_is_called(tool: str, arguments: dict[str, Any]) -> None:
    assert touched(tool, arguments) == Touched(paths=("a",))


@pytest.mark.parametrize("name", [name for name in payloads.NAMES if payloads.event_of(name) == "pre-tool-use"])
def test_what_hosts_really_sent_touches_what_it_says(name: str) -> None:
    sent = Payload(fields=payloads.read(name))
    found = touched(sent.tool, sent.tool_input)
    if name.endswith(("Bash", "run_shell_command")):
        assert found == Touched(command=str(sent.tool_input["command"]))
    else:
        end = "c.txt" if name.endswith("Write") else "a.txt"
        where = "src/" if "codex" in name else "/home/user/project/src/"
        assert found == Touched(paths=(where + end,))


def test_every_path_of_an_edit_of_several_files_counts_once() -> None:
    arguments = {"edits": [{"file_path": "a"}, {"file_path": "b"}, {"file_path": "a", "new_path": "c"}]}
    assert touched("MultiEdit", arguments).paths == ("a", "b", "c")
    assert touched("move_file", {"source": "a", "destination": "b"}).paths == ("a", "b")
    assert touched("write_files", {"files": [{"path": "a", "content": "path"}, {"path": "b"}]}).paths == ("a", "b")
    assert touched("delete_files", {"paths": ["a", "b", ""]}).paths == ("a", "b")


@pytest.mark.parametrize("arguments", [{}, {"file_path": ""}, {"file_path": 5}, {"file_path": None}, {"content": "a"}])
def test_an_edit_that_names_no_path_touches_nothing_that_is_known(arguments: dict[str, Any]) -> None:
    assert touched("Edit", arguments).is_nothing


def test_a_path_may_be_an_address_of_a_file() -> None:
    assert touched("edit", {"uri": "file:///p/a"}).paths == ("/p/a",)


# -- patches -----------------------------------------------------------------------------------------------------------


def test_a_patch_names_what_it_changes_makes_removes_and_moves() -> None:
    text = (
        "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n@@ def f\n-x\n+y\n"
        "*** Add File: new file.txt\n+one\n*** Delete File: /p/gone\n*** Update File: src/a.py\n*** End Patch\n"
    )
    assert patched_paths(text) == ["src/a.py", "src/b.py", "new file.txt", "/p/gone"]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", []),
        ("*** Begin Patch\n*** End Patch", []),
        ("*** Update File:\n*** Update File:   ", []),
        ("*** Update File: a\r\n*** Delete File: b\r\n", ["a", "b"]),
        ("*** Begin Patch\n  *** Update File:   a  \n@@\n-x\n+y\n", ["a"]),  # Codex passes over such blanks
        ("*** Begin Patch\n *** Delete File: a\n *** Add File: b\n+x\n", ["a", "b"]),
        ("*** Update File: шлях/Zoë 🦊.md", ["шлях/Zoë 🦊.md"]),
        ("+*** Update File: a", []),  # a line that the patch adds
        ("-*** Update File: a", []),
    ],
)
def test_a_patch_is_read_line_by_line(text: str, paths: list[str]) -> None:
    assert patched_paths(text) == paths


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"command": patch("a", "b")}),
        ("apply_patch", {"command": ["apply_patch", patch("a", "b")]}),
        ("apply_patch", {"input": patch("a", "b")}),
        ("apply_patch", {"patchText": patch("a", "b")}),
        ("applyPatch", {"patch": patch("a", "b")}),
        ("ApplyPatch", {"patch_text": patch("a", "b")}),
        ("patch", {"patchText": patch("a", "b")}),
        ("mcp__editor__apply_patch", {"patch": patch("a", "b")}),
    ],
)
def test_a_tool_that_patches_touches_the_paths_of_its_patch(tool: str, arguments: dict[str, Any]) -> None:
    assert touched(tool, arguments) == Touched(paths=("a", "b"))


HEREDOC = f"apply_patch <<'EOF'\n{patch('a')}\nEOF\n"
SHELLS = ["Bash", "bash", "exec_command", "shell", "local_shell", "run_shell_command", "PowerShell"]


@pytest.mark.parametrize("tool", SHELLS)
def test_a_patch_through_a_shell_is_an_edit(tool: str) -> None:
    """Codex carries it out itself, and tells its hooks that a shell runs."""
    assert touched(tool, {"command": HEREDOC}) == Touched(paths=("a",))


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (f"cd src && {HEREDOC}", "src/a"),
        (f"cd src/ && {HEREDOC}", "src/a"),
        (f"cd ./src; {HEREDOC}", "./src/a"),
        (f"cd src\n{HEREDOC}", "src/a"),
        (f"cd src && cd deep && {HEREDOC}", "src/deep/a"),
        (f"cd /abs && {HEREDOC}", "/abs/a"),
        (f"cd src && cd /abs && {HEREDOC}", "/abs/a"),
        (f"cd 'src' && {HEREDOC}", "src/a"),
        (f'cd "my src" && {HEREDOC}', "my src/a"),
        (f"cd 'мій src' && {HEREDOC}", "мій src/a"),
        (f"cd my\\ src && {HEREDOC}", "my src/a"),
        (f"(cd src && {HEREDOC})", "src/a"),
        (f"echo cd other && {HEREDOC}", "a"),
        (f"true && {HEREDOC}", "a"),
        (f"apply_patch '{patch('a')}'", "a"),
        (f"applypatch <<X\n{patch('a')}\nX", "a"),
    ],
)
def test_a_patch_after_a_change_of_folder_is_relative_to_it(command: str, path: str) -> None:
    assert [each.replace("//", "/") for each in touched("Bash", {"command": command}).paths] == [path]


def test_an_absolute_path_of_a_patch_stays_as_it_is() -> None:
    assert touched("Bash", {"command": f"cd src && apply_patch <<'E'\n{patch('/p/a')}\nE"}).paths == ("/p/a",)


def test_a_second_patch_of_a_command_is_judged_too() -> None:
    command = f"{HEREDOC}\ncd sub && apply_patch <<'E'\n{patch('b')}\nE"
    assert touched("Bash", {"command": command}) == Touched(paths=("a", "sub/b"))


@pytest.mark.parametrize("mark", ["*** Begin Patch", "*** End Patch"])
def test_marks_within_the_lines_of_a_patch_do_not_end_it(mark: str) -> None:
    text = f"*** Begin Patch\n*** Add File: a\n+{mark}\n*** Update File: b\n@@\n {mark}\n-x\n*** Delete File: c\n"
    text += "*** End Patch"
    for tool, command in (("apply_patch", text), ("Bash", f"cd src && apply_patch <<'E'\n{text}\nE")):
        folder = "src/" if tool == "Bash" else ""
        assert touched(tool, {"command": command}) == Touched(paths=tuple(folder + name for name in "abc"))


@pytest.mark.parametrize("words", [["bash", "-lc", HEREDOC], ["apply_patch", patch("a")]])
def test_a_command_may_be_a_list_of_words(words: list[str]) -> None:
    assert touched("shell", {"command": words}) == Touched(paths=("a",))
    assert touched("shell", {"command": ["git", "stash"]}) == Touched(command="git stash")


@pytest.mark.parametrize("command", [f"cat <<'E' >notes\n{patch('a')}\nE", f"echo '{patch('a')}'", "git apply x"])
def test_the_text_of_a_patch_that_nobody_applies_is_a_command(command: str) -> None:
    assert touched("Bash", {"command": command}) == Touched(command=command)


@pytest.mark.parametrize("key", ["command", "cmd", "script", "input", "code"])
def test_a_shell_gets_its_command_by_several_names(key: str) -> None:
    assert touched("Bash", {key: "rm x"}) == Touched(command="rm x")
    assert touched("Bash", {key: ""}).is_nothing


# -- tools of servers, tools that read, and tools that nobody knows ----------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "paths"),
    [
        ("mcp__filesystem__write_file", {"path": "/p/a"}, ("/p/a",)),
        ("mcp__filesystem__edit_file", {"path": "/p/a", "edits": [{"oldText": "x"}]}, ("/p/a",)),
        ("mcp__filesystem__move_file", {"source": "/p/a", "destination": "/p/b"}, ("/p/a", "/p/b")),
        ("mcp__files__writeFile", {"uri": "file:///p/a"}, ("/p/a",)),
        ("mcp__files__delete", {"path": "C:\\p\\a"}, ("C:\\p\\a",)),
        # What a server is called tells nothing.
        ("mcp__text-edit__read_file", {"path": "/p/a"}, ()),
        ("mcp__write-server__list_files", {"path": "/p"}, ()),
        ("mcp__tracker__create_issue", {"title": "/p/a"}, ()),
        ("mcp__filesystem__read_file", {"path": "/p/a"}, ()),
        ("mcp__filesystem__read_text_file", {"path": "/p/a"}, ()),
        ("mcp__filesystem__list_directory", {"path": "/p"}, ()),
        ("mcp__filesystem__search_files", {"path": "/p", "pattern": "x"}, ()),
        ("mcp__filesystem__get_file_info", {"path": "/p/a"}, ()),
    ],
)
def test_a_tool_of_a_server_is_told_by_its_name(tool: str, arguments: dict[str, Any], paths: tuple[str, ...]) -> None:
    assert touched(tool, arguments) == Touched(paths=paths)


@pytest.mark.parametrize(
    ("tool", "arguments", "guesses"),
    [
        ("mcp__github__create_or_update_file", {"path": "README.md", "content": "x"}, ("README.md",)),
        ("mcp__serena__replace_content", {"relative_path": "src/a.py"}, ("src/a.py",)),
        ("mcp__jetbrains__replace_text_in_file", {"pathInProject": "src/a.py"}, ("src/a.py",)),
        ("mcp__serena__read_file", {"relative_path": "src/a.py"}, ()),
    ],
)
def test_where_a_server_takes_relative_paths_from_is_guessed(
    tool: str, arguments: dict[str, Any], guesses: tuple[str, ...]
) -> None:
    """An issue tracker's are not on this machine."""
    assert touched(tool, arguments) == Touched(guesses=guesses)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        *[(name, {"file_path": "a", "path": "a"}) for name in "Read View Grep Glob LS NotebookRead ReadFile".split()],
        *[(name, {"path": "a"}) for name in "read_file read_many_files list_dir grep_search file_search view".split()],
        ("read", {"filePath": "a"}),
        ("list_directory", {"dir_path": "a", "path": "a"}),
        ("search_file_content", {"pattern": "x", "path": "a"}),
        ("open_file", {"path": "a"}),
        ("str_replace_editor", {"command": "view", "path": "a"}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a"}),
        ("TodoWrite", {"todos": [{"content": "write a"}]}),
        ("Task", {"prompt": "edit a", "description": "x"}),
        ("WebFetch", {"url": "file:///p/a"}),
        ("AskUserQuestion", {"questions": []}),
        ("", {"file_path": "a"}),
        ("frobnicate", {"file_path": "a"}),
        ("редагувати", {"file_path": "a"}),
    ],
)
def test_a_tool_that_reads_or_that_nobody_knows_touches_nothing(tool: str, arguments: dict[str, Any]) -> None:
    assert touched(tool, arguments).is_nothing


# -- whatever it is ----------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["a", HEREDOC, patch("a"), "file://"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "command", "edits", "file_path", "patch"]) | st.text(), inner, max_size=3
        )
    ),
    max_leaves=12,
)
TOOLS = st.sampled_from(["Edit", "Bash", "apply_patch", "mcp__x__write", "shell", "Read"]) | st.text()


@given(TOOLS, st.dictionaries(st.sampled_from(["command", "path", "input", "files"]) | st.text(), VALUES))
def test_nothing_makes_it_fail(tool: str, arguments: dict[str, Any]) -> None:
    found = touched(tool, arguments)
    assert all(isinstance(path, str) for path in found.paths)
    assert isinstance(found.command, str)


def test_what_lies_deep_in_arguments_is_looked_for_so_far_and_no_further() -> None:
    deep: Any = "a"
    for _ in range(5000):
        deep = [deep]
    assert touched("Edit", {"path": deep}).paths == ()
    assert touched("Edit", {"a": {"b": {"path": "c"}}}).paths == ("c",)
