"""Starts agent-chat from a checkout, a skill folder or a plugin: `python /path/to/chat.py <command>`."""

import os
import sys

if sys.version_info < (3, 9):
    # Plain enough for any Python to parse: the reader gets this line, not a SyntaxError from a module.
    sys.stderr.write("agent-chat: needs Python 3.9 or newer, this is %d.%d\n" % sys.version_info[:2])
    sys.exit(2)

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # not there under `python -P` or `-I`
from agent_chat.cli.main import main_from_console

if __name__ == "__main__":
    main_from_console()
