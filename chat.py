"""Starts agent-chat from a checkout, a skill folder or a plugin: `python /path/to/chat.py <command>`."""

import os
import sys

if sys.version_info < (3, 9):  # plain enough for any Python to parse: a line to read, not a SyntaxError from a module
    sys.stderr.write("agent-chat: needs Python 3.9 or newer, this is %d.%d\n" % sys.version_info[:2])
    words = [word for before, word in zip(sys.argv, sys.argv[1:]) if before != "--root" and word[:1] != "-"]
    sys.exit(0 if words[:1] == ["hook"] else 2)  # hosts take a hook's 2 for "block"

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # not there under `python -P` or `-I`
from agent_chat.cli.main import main_from_console

if __name__ == "__main__":
    main_from_console()
