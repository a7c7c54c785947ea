"""Starts agent-chat as a module: `python -m agent_chat <command>`."""

import sys

if sys.version_info < (3, 9):
    # Plain enough for any Python to parse: the reader gets this line, not a SyntaxError from a module.
    sys.stderr.write("agent-chat: needs Python 3.9 or newer, this is %d.%d\n" % sys.version_info[:2])
    sys.exit(2)

from agent_chat.cli.main import main_from_console

if __name__ == "__main__":
    main_from_console()
