"""The line of ours in a file of variables: put in, taken out, and not mistaken for anybody else's."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records.env_file import EnvFileError, with_variable, without_variable

LINES = st.lists(st.sampled_from(["A=1", "# comment", "", "export B='x y'", "C=", "\u2028=x", "ROOT_2=/x"]), max_size=4)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(LINES, ENDS, st.booleans(), st.sampled_from(["", "\ufeff"]), st.sampled_from(["/r", "/пр $o'j", "/a'b`c $d"]))
def test_the_line_is_put_in_and_taken_out_again(lines: list[str], end: str, last: bool, mark: str, root: str) -> None:
    text = mark + end.join(lines) + (end if last and lines else "")
    changed = with_variable(text, "ROOT", root)
    assert without_variable(changed, "ROOT") == text
    assert with_variable(changed, "ROOT", root) == changed
    assert with_variable(with_variable(text, "ROOT", "/older"), "ROOT", root) == changed
    assert without_variable(text, "ROOT") == text
    assert root in changed


@pytest.mark.parametrize("line", ["ROOT=/theirs", "export ROOT = '/theirs'", ' ROOT="/theirs"'])
def test_the_line_of_somebody_else_stays(line: str) -> None:
    text = f"A=1\n{line}\n"
    assert without_variable(text, "ROOT") == text
    assert with_variable(text, "ROOT", "/theirs") == text
    with pytest.raises(EnvFileError, match="line 2: ROOT is set already"):
        with_variable(text, "ROOT", "/ours")


@pytest.mark.parametrize("root", ["/a'b`c\"d", "/a'b`c\\d", "/a\nb"])
def test_what_has_no_quotes_is_refused(root: str) -> None:
    with pytest.raises(EnvFileError):
        with_variable("", "ROOT", root)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="dotenv's own pattern needs a JavaScript engine")
@pytest.mark.parametrize("root", ["/r", "/пр $HOME o'j # x", '/a"b', "/a'b`c $d", "/a'b"])
def test_dotenv_reads_what_was_meant(root: str) -> None:
    """The pattern is that of dotenv 17, by which Gemini CLI reads such a file."""
    script = r"""
const text = require("fs").readFileSync(0, "utf8");
const VALUE = /\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+/;
const START = /(?:^|^)\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)/;
const LINE = new RegExp(`${START.source}(${VALUE.source})?\\s*(?:#.*)?(?:$|$)`, "mg");
const found = {};
let match;
while ((match = LINE.exec(text)) != null) {
  let value = (match[2] || "").trim();
  const quote = value[0];
  value = value.replace(/^(['"`])([\s\S]*)\1$/mg, "$2");
  if (quote === '"') value = value.replace(/\\n/g, "\n").replace(/\\r/g, "\r");
  found[match[1]] = value;
}
console.log(JSON.stringify(found));
"""
    text = with_variable("A=1\nB='x'\n", "ROOT", root)
    done = subprocess.run(["node", "-e", script], input=text, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"ROOT": root, "A": "1", "B": "x"}
