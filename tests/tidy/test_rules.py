"""Each rule can fail, and lets pass what it should: small sources, good and bad."""

from __future__ import annotations

import sys

import pytest

from tests.tidy import exceptions
from tests.tidy.import_rules import import_cycles
from tests.tidy.rules import RULES

RECORD, STORE, SEAM = "agent_chat.records.claim", "agent_chat.storage.channel", "agent_chat.storage.filesystem"
LOCK, WORKSPACE, NOUN = "agent_chat.storage.file_lock", "agent_chat.storage.workspace", "agent_chat.operations.tasks"
MAIN, OUTPUT, HANDLER = "agent_chat.cli.main", "agent_chat.cli.output", "agent_chat.cli.task_commands"
PLACE, NAMED = "agent_chat.storage.real_place", "agent_chat.storage.named_files"
INIT, START, NAMES = "agent_chat.__init__", "agent_chat.__main__", "agent_chat.names"

CHECKING = "if TYPE_CHECKING:\n    "
CAUGHT = "try:\n    act()\nexcept {}:\n    {}"
DEFERRED = "from __future__ import annotations\n"

BAD = [
    ("import_direction", RECORD, "from agent_chat.storage import channel"),
    ("import_direction", RECORD, "from ..storage.channel import Channel"),
    ("import_direction", "agent_chat.records.__init__", "from .. import cli"),
    ("import_direction", STORE, "def f():\n    import agent_chat.operations.tasks"),
    ("import_direction", NAMES, CHECKING + "from agent_chat.records.claim import Claim"),
    ("import_direction", NOUN, "try:\n    pass\nfinally:\n    import agent_chat.cli.main"),
    ("import_direction", NOUN, "from agent_chat import LeaseStore"),
    ("import_direction", "agent_chat.misc", ""),
    ("import_direction", INIT, "from agent_chat import names"),
    ("late_imports", NOUN, "def f():\n    import os"),
    ("late_imports", NOUN, "class C:\n    async def f(self):\n        if 1:\n            from os import path"),
    ("late_imports", NAMES, "def f():\n    import string"),
    ("everyday_imports", RECORD, "import dataclasses"),
    ("everyday_imports", HANDLER, "try:\n    from json import loads\nexcept ImportError:\n    pass"),
    ("everyday_imports", STORE, "import collections.abc"),
    ("everyday_imports", STORE, "if not TYPE_CHECKING:\n    import typing"),
    ("everyday_imports", STORE, CHECKING + "pass\nelse:\n    import typing"),
    ("chat_is_no_module", NOUN, "import chat"),
    ("chat_is_no_module", NOUN, "def f():\n    from chat import x"),
    ("disk", STORE, "import os\nos.replace(a, b)"),
    ("disk", STORE, "import os as system\nf = system.unlink"),
    ("disk", STORE, "from os import scandir as look"),
    ("disk", STORE, "from os import path as p\np.exists(a)"),
    ("disk", STORE, "from os.path import realpath"),
    ("disk", STORE, "import posixpath\nposixpath.isfile(a)"),
    ("disk", STORE, "import os\ngetattr(os, 'remove')(a)"),
    ("disk", STORE, "import os\nos.urandom(8)"),
    ("disk", NOUN, "with open(a) as f: pass"),
    ("disk", NOUN, "import io\nio.open(a)"),
    ("disk", NOUN, "import fcntl"),
    ("disk", HANDLER, "def f():\n    import shutil"),
    ("disk", HANDLER, "import os\nos.write(1, b'')"),
    ("disk", HANDLER, "def f():\n    from pathlib import Path\n    return Path(a).read_text()"),
    ("reading", PLACE, "import os\nos.open(a, os.O_WRONLY)"),
    ("reading", PLACE, "import os\nos.open(a, os.O_RDONLY | os.O_CREAT)"),
    ("reading", NAMED, "import os\nos.open(a, os.O_RDWR)"),
    ("reading", NAMED, "import os\nos.listdir(a)"),
    ("reading", PLACE, "import os\nos.open(a, 1)"),
    ("reading", PLACE, "from os import open\nopen(a, b | 64)"),
    ("reading", PLACE, "import os\ngetattr(os, 'unlink')(a)"),
    ("reading", PLACE, "from os import mkdir as look"),
    ("reading", PLACE, "open(a)"),
    ("reading", PLACE, "import io\nio.open(a, 'w')"),
    ("reading", PLACE, "import shutil"),
    ("reading", PLACE, "from pathlib import Path"),
    ("reading", PLACE, "import fcntl\nfcntl.flock(a, b)"),
    ("reading", PLACE, "import fcntl\nfcntl.ioctl(a, _SET_FLAGS, b)"),
    *[
        ("reading", PLACE, f"import os\nos.{name}(a)")
        for name in (
            "mkdir makedirs rename replace unlink remove rmdir link symlink chmod chown utime truncate ftruncate write"
            " mkfifo mknod setxattr removexattr copy_file_range sendfile posix_fallocate"
        ).split()
    ],
    ("environment", NOUN, "import sys\nsys.argv"),
    ("environment", STORE, "from sys import stderr"),
    ("environment", SEAM, "import os\nos.environ['HOME']"),
    ("environment", SEAM, "import os\nos.path.expanduser(a)"),
    ("environment", NOUN, "raise SystemExit(2)"),
    ("environment", NOUN, "answer = input()"),
    ("printing", HANDLER, "print('x')"),
    ("printing", MAIN, "import sys\nsys.stderr.write('x')"),
    ("printing", MAIN, "import sys as s\ns.stdout.buffer.write(b'x')"),
    ("printing", MAIN, "import os\nos.write(2, b'x')"),
    ("printing", NOUN, "import logging\nlogging.getLogger()"),
    ("printing", MAIN, "import traceback\ntraceback.print_exc()"),
    ("clock_and_ids", NOUN, "import time\ntime.time_ns()"),
    ("clock_and_ids", LOCK, "from time import monotonic"),
    ("clock_and_ids", LOCK, "import time\ntime.sleep(1)"),
    ("clock_and_ids", RECORD, "from time import gmtime\ngmtime()"),
    ("clock_and_ids", HANDLER, "import datetime as d\nd.datetime.now()"),
    ("clock_and_ids", HANDLER, "from datetime import date\ndate.today()"),
    ("clock_and_ids", SEAM, "import os\nos.urandom(8)"),
    ("clock_and_ids", NOUN, "import uuid"),
    ("clock_and_ids", NOUN, "from secrets import token_hex"),
    ("module_size", NOUN, "x = 1\n" * 401),
    ("function_size", NOUN, "@cached\ndef f():\n" + "    x = 1\n" * 59),
    ("function_size", NOUN, "class C:\n    def f(self):\n" + "        x = 1\n" * 60),
    ("docstrings", NOUN, "x = 1"),
    ("docstrings", NOUN, '"""Says."""\ndef f(): pass'),
    ("docstrings", NOUN, '"""Says."""\nclass C: pass'),
    ("docstrings", NOUN, '"""Says."""\nclass C:\n    """Says."""\n    async def f(self): pass'),
    ("docstrings", NOUN, '"""Says."""\nif 1:\n    pass\nelse:\n    def f(): pass'),
    ("deferred_annotations", NOUN, "def f(): pass"),
    ("deferred_annotations", NOUN, "from __future__ import division\nx: int = 1"),
    ("silent_errors", NOUN, CAUGHT.format("OSError", "pass")),
    (
        "silent_errors",
        NOUN,
        "for x in y:\n    " + CAUGHT.format("(ValueError, OSError)", "continue").replace("\n", "\n    "),
    ),
    ("silent_errors", NOUN, "def f():\n    " + CAUGHT.format("IOError as e", "return None").replace("\n", "\n    ")),
    ("silent_errors", NOUN, "def f():\n    " + CAUGHT.format("OSError", "return []").replace("\n", "\n    ")),
    ("silent_errors", MAIN, CAUGHT.format("Exception", "...")),
    ("silent_errors", MAIN, CAUGHT.format("builtins.OSError", "'why'")),
    ("silent_errors", NOUN, "import contextlib\nwith contextlib.suppress(OSError): act()"),
    ("catch_alls", NOUN, CAUGHT.format("Exception", "log()")),
    ("catch_alls", NOUN, CAUGHT.format("BaseException as e", "raise Other() from e")),
    ("catch_alls", NOUN, "try:\n    act()\nexcept:\n    undo()"),
    ("catch_alls", NOUN, CAUGHT.format("(ValueError, Exception)", "undo()")),
]

GOOD = [
    ("import_direction", HANDLER, "from agent_chat import __version__\nfrom agent_chat.records import claim"),
    ("import_direction", RECORD, "from .value import Value\nimport agent_chat.errors"),
    ("import_direction", INIT, "def __getattr__(name):\n    from agent_chat.operations import tasks"),
    ("late_imports", HANDLER, "def f():\n    import difflib"),
    ("late_imports", NAMES, "def f():\n    import unicodedata"),
    ("late_imports", NOUN, "def f():\n    pass\nif 1:\n    import os"),
    ("everyday_imports", NOUN, CHECKING + "from typing import Any"),
    ("everyday_imports", HANDLER, "def f():\n    import difflib"),
    ("everyday_imports", "agent_chat.records.json_codec", "import json"),
    ("standard_library_only", NOUN, "import os, agent_chat.names\n" + CHECKING + "import typing_extensions"),
    ("chat_is_no_module", NOUN, "import agent_chat.names"),
    ("disk", SEAM, "import os, fcntl\nos.replace(a, b)\nopen(a)"),
    ("disk", STORE, "import os\nfrom os import path\npath.join(os.fspath(a), os.sep)\nfiles.open(a).stat()"),
    ("disk", WORKSPACE, "import os\nos.urandom(8)"),
    ("disk", HANDLER, "import os\nos.path.abspath(os.environ['X'])"),
    ("disk", HANDLER, "from pathlib import PurePath\nPurePath(a).name"),
    ("reading", PLACE, "import os, fcntl\nos.lstat(a)\nos.open(a, os.O_RDONLY)\nfcntl.ioctl(a, _GET_FLAGS, b)"),
    ("reading", PLACE, "from os import path\npath.join(a, os.sep)"),
    ("reading", NAMED, "import os\nos.read(os.open(a, os.O_RDONLY), 9)"),
    ("reading", SEAM, "import os\nos.unlink(a)"),
    ("environment", MAIN, "import os, sys\nsys.exit(os.environ['X'])"),
    ("environment", NOUN, "import sys\nsys.platform\nplan.argv\ninput = 1"),
    ("printing", OUTPUT, "print('x')"),
    ("printing", START, "import sys\nsys.stderr.write('x')"),
    ("printing", SEAM, "import os\nos.write(f, b'x')"),
    ("printing", MAIN, "import sys\nsys.stdout.flush()\nout.print()"),
    ("clock_and_ids", WORKSPACE, "import os, time\ntime.time()\nos.urandom(8)"),
    (
        "clock_and_ids",
        NOUN,
        "import datetime\ndatetime.timedelta(seconds=1)\nimport time\ntime.gmtime(0)\nworkspace.time()",
    ),
    ("module_size", NOUN, "x = 1\n" * 400),
    ("function_size", NOUN, "def f():\n" + "    x = 1\n" * 59),
    ("docstrings", NOUN, '"""Says."""\ndef _f(): pass\nclass _C:\n    def g(self): pass'),
    ("docstrings", NOUN, '"""Says."""\n@overload\ndef f(): ...\ndef f():\n    """Says."""\n    def g(): pass'),
    ("docstrings", NOUN, '"""Says."""\nclass P(Protocol):\n    """Says."""\n    def f(self): ...'),
    ("deferred_annotations", NOUN, DEFERRED + "def f(): pass"),
    ("deferred_annotations", NOUN, '"""Only words."""\nX = 1'),
    ("silent_errors", NOUN, CAUGHT.format("FileNotFoundError", "pass")),
    ("silent_errors", OUTPUT, "def note():\n    " + CAUGHT.format("OSError", "return").replace("\n", "\n    ")),
    ("silent_errors", NOUN, CAUGHT.format("OSError as e", "raise Damaged() from e")),
    ("catch_alls", MAIN, CAUGHT.format("Exception", "report()")),
    ("catch_alls", NOUN, CAUGHT.format("BaseException", "undo()\n    raise")),
]


@pytest.mark.parametrize(("rule", "module", "source"), BAD)
def test_the_rule_finds(rule: str, module: str, source: str) -> None:
    findings = RULES[rule](module, source)
    assert findings
    assert all(each.module == module and each.line and each.text for each in findings)


@pytest.mark.parametrize(("rule", "module", "source"), GOOD)
def test_the_rule_lets_pass(rule: str, module: str, source: str) -> None:
    assert RULES[rule](module, source) == []


def test_each_rule_is_shown_both_ways() -> None:
    assert {rule for rule, _, _ in GOOD} == set(RULES)
    assert {rule for rule, _, _ in BAD} == set(RULES) - {"standard_library_only"}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the list of the library's modules came with Python 3.10")
def test_a_foreign_library_is_found() -> None:
    assert RULES["standard_library_only"](NOUN, "def f():\n    import yaml")


def test_cycles_are_found_through_packages_and_other_modules() -> None:
    sources = {
        "agent_chat.storage.__init__": "",
        "agent_chat.storage.a": "from agent_chat.storage import b",
        "agent_chat.storage.b": "from .c import x",
        "agent_chat.storage.c": "import agent_chat.storage.a",
    }
    (finding,) = import_cycles(sources)
    assert finding.text.startswith("circular import: ")
    assert finding.text.count("->") == 3


def test_a_late_import_or_one_for_the_type_checker_makes_no_cycle() -> None:
    sources = {
        "agent_chat.storage.a": "from agent_chat.storage import b",
        "agent_chat.storage.b": CHECKING + "from agent_chat.storage.a import A\ndef f():\n    from . import a",
    }
    assert import_cycles(sources) == []


@pytest.mark.parametrize(
    "table",
    [exceptions.LATE_IMPORTS, exceptions.EVERYDAY_IMPORTS, exceptions.OS_FUNCTIONS, exceptions.SILENT_ERRORS],
    ids=["late", "slow", "os", "silent"],
)
def test_every_exception_has_a_reason(table: dict[str, dict[str, str]]) -> None:
    assert all(len(reason) > 5 for row in table.values() for reason in row.values())
